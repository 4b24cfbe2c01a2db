"""Whose a message is, whether it ends an older one, and what excludes what: pure decisions on words."""

import pytest

from ricordo.chat.past import ends, is_of_another, is_opposed
from ricordo.chat.question import folded, memory_question
from ricordo.people.facts.statements import corrected_sentence


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Where do I live?", "My brother lives in Rome."),
        ("Where do I live?", "I wish I lived in Paris."),
        ("Where do I live?", "I'm thinking of moving to Berlin."),
        ("How old am I?", "My sister is 30."),
        ("Where do I work?", "My husband works as a plumber."),
        ("do i have a horse", "mia has a horse called pepper"),
        ("Am I allergic to penicillin?", "My sister Laura is allergic to penicillin."),
        ("Do I have a parrot?", "My dog is called Rex and my brother has a parrot called Kiwi."),
        ("Is my brother allergic to nuts?", "I'm allergic to nuts."),
        ("What is my favourite colour?", "My sister's favourite colour is red."),
        ("Dove vivo?", "Ho un fratello che vive a Roma."),
        ("Io sono allergica alle noci?", "Mio marito è allergico alle noci."),
        ("come si chiama mio fratello?", "ieri ho incontrato Paolo, il fratello di Lucia"),
        ("Che cosa studio?", "Il mio coinquilino studia legge."),
        ("mi piace il jazz?", "Gli piacciono il jazz e la salsa piccante."),
        ("ho un cane?", "vorrei un cane"),
    ],
)
def test_what_another_is_or_has_is_not_the_users(question: str, said: str) -> None:
    """The subject and the possessor of a clause tell whose it is; wishes tell nothing of what is."""
    assert is_of_another(said, memory_question(question))


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Where do I live?", "My brother and I live in Rome."),
        ("Am I vegetarian?", "My wife and I are vegetarian."),
        ("Do I have any dogs?", "We have two dogs."),
        ("When do I start work?", "Work starts at nine."),
        ("when's my exam again", "actually they moved the exam to the 21st of january"),
        ("does mrs patel still owe me money?", "mrs patel paid up, she don't owe me owt now"),
        ("Where does my brother live?", "My brother lives in Rome."),
        ("when will I go to Rome?", "I'm planning to go to Rome in May"),
        ("How many hives have I got now?", "She took two hives. I've kept two, for now."),
        ("Dove vivo?", "Io e mia moglie viviamo a Trento."),
        ("che lavoro fa Davide?", "il suo fidanzato si chiama Davide e fa il falegname"),
        ("Che dose di sertralina prendo?", "oggi il medico l'ha aumentata a 75 mg"),
    ],
)
def test_what_the_user_is_or_has_is_theirs(question: str, said: str) -> None:
    """A subject that holds the user, and a message about what the question is about, belong to them."""
    assert not is_of_another(said, memory_question(question))


@pytest.mark.parametrize(
    ("old", "new", "question", "ended"),
    [
        ("I have a cat called Biscuit.", "Biscuit died last night.", "Do I have a cat?", True),
        ("My exam is on Monday.", "The exam has been cancelled.", "When is my exam?", True),
        ("I'm married to Paul.", "Paul and I got divorced.", "Am I married?", True),
        ("I'm vegetarian.", "I started eating meat again.", "Am I vegetarian?", True),
        ("I'm vegetarian.", "I don't eat meat.", "Am I vegetarian?", False),
        ("I have a dog called Rex.", "My neighbour's dog died.", "Do I have a dog?", False),
        ("My appointment is on Friday.", "My mother's appointment was cancelled.", "When is my appointment?", False),
        ("My brother Tom lives in Leeds.", "Tom no longer plays chess.", "Where does Tom live?", False),
        ("Ho un cane che si chiama Rex.", "Non ho più il cane.", "Ho un cane?", True),
        ("Vado in palestra il martedì.", "Ho smesso di andare in palestra.", "Quando vado in palestra?", True),
        ("La visita è venerdì.", "La visita di mia madre è stata annullata.", "Quando è la visita?", False),
    ],
)
def test_an_end_names_what_ended(old: str, new: str, question: str, *, ended: bool) -> None:
    """What is sold, cancelled or dead ends what was told of it, not what was told of another's."""
    assert ends(new, old, memory_question(question), next_to=False) is ended


def test_right_after_a_message_a_pronoun_ends_it() -> None:
    """ "I paid it" ends what the message right before it tells, and no other."""
    asked = memory_question("Do I still have to pay the rent?")
    told = "I have to pay the rent by Friday."
    assert ends("I paid it this morning.", told, asked, next_to=True)
    assert not ends("I paid it this morning.", told, asked, next_to=False)


def test_opposites_answer_no_question_for_each_other() -> None:
    """Opening hours do not tell when a shop closes, unless both are told."""
    asked = folded("When does the shop close?")
    assert is_opposed(asked, "The shop opens at nine.")
    assert not is_opposed(asked, "The shop opens at nine and closes at six.")
    assert is_opposed(folded("Quando torniamo?"), "Partiamo il 6 settembre")
    assert not is_opposed(folded("Quanto avrei da parte dopo un anno?"), "arrivo al 20 con l'acqua alla gola")


@pytest.mark.parametrize(
    ("before", "said", "whole", "kept"),
    [
        ("il mio colore preferito è il blu", "anzi verde", "il mio colore preferito è il verde", True),
        ("My rent is 650 euros.", "Actually, 680.", "My rent is 680 euros.", True),
        ("ho il dentista lunedì", "anzi martedì alle 15", "ho il martedì alle 15", False),
        ("the plumber comes at 8", "no wait, at 10", "the plumber comes at 8 at 10", False),
        ("My gym is called FitBox.", "It is called FitHub.", "My gym is called FitHub.", False),
    ],
)
def test_a_correction_replaces_one_thing(before: str, said: str, whole: str, *, kept: bool) -> None:
    """The sentence that a correction means is read only where all else that was said is still in it."""
    metadata = {"act": "statement", "standalone": whole, "references": [{"text": before}]}
    assert corrected_sentence(said, metadata) == (whole if kept else "")
