"""Which phrases of the talk a question needs, by the trained scorer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.followups.antecedents import named, pairs, scored, shipped_scorer, two_sides
from ricordo.followups.candidates import follow
from ricordo.followups.parse import misspelt, refers_back
from ricordo.followups.phrases import has_meaning, nearest
from ricordo.followups.reference import PastTurn, Talk
from ricordo.followups.resolve import resolve
from ricordo.languages.english import FOLLOWUPS as ENGLISH
from ricordo.languages.italian import FOLLOWUPS as ITALIAN
from ricordo.languages.text import split_words

VASA = PastTurn(
    1,
    "Why did the Vasa sink?",
    "The Swedish warship Vasa sank in 1628 because she was top-heavy. A test had been stopped by Admiral Fleming.",
)
BREEDS = PastTurn(
    1,
    "Should we get a Labrador or a Vizsla?",
    "Labradors are easygoing, Vizslas need hours of running. Both are good with children.",
)
messages = st.text(st.sampled_from("abcdeàùAB ,.?'\n12"), max_size=60)


@given(messages, messages, messages)
def test_every_added_word_was_said(question: str, query: str, answer: str) -> None:
    """Whatever is asked after whatever was said, the standalone question holds words of the two and no others."""
    resolution = resolve(question, [PastTurn(1, query, answer)])
    said = {*split_words(question).words, *split_words(query).words, *split_words(answer).words}
    for addition in resolution.additions:
        assert set(split_words(addition.text).words) <= said


@given(messages, messages, messages)
def test_probabilities_are_probabilities(question: str, query: str, answer: str) -> None:
    """Each candidate gets a number between 0 and 1, the same each time."""
    scorer = shipped_scorer()
    assert scorer is not None
    history = (PastTurn(1, query, answer),)
    talk = Talk(history, ENGLISH, None, question)
    focus = follow(history, ENGLISH, refers_back)
    found = scored(talk, (), (), focus, scorer)
    assert all(0 <= chance <= 1 for _, chance in found)
    assert found == scored(talk, (), (), focus, scorer)


def test_the_same_words_are_one_candidate() -> None:
    """A phrase that the question and the answer name is one candidate, with one row of observations."""
    talk = Talk((VASA,), ENGLISH, None, "Was it raised?")
    pool = named(talk)
    assert sum("Vasa" in one.phrase.text for one in pool) <= 2
    assert len({one.phrase.stems for one in pool}) == len(pool)
    rows = pairs(talk, (), (), follow((VASA,), ENGLISH, refers_back), pool)
    assert len({len(row) for row in rows}) == 1


@pytest.mark.parametrize("said", ["Ok, got it.", "lol ok cool", "Thanks!", "No, that's all, thanks"])
def test_small_talk_is_left_alone(said: str) -> None:
    """Thanks and agreement after an answer gain no words."""
    resolution = resolve(said, [VASA])
    assert resolution.standalone == said
    assert not resolution.resolved


@pytest.mark.parametrize("asked", ["How deep should I plant tulip bulbs?", "Which planet has the most moons?"])
def test_a_new_subject_is_left_alone(asked: str) -> None:
    """A complete question about something else gains no words."""
    assert resolve(asked, [VASA]).standalone == asked


def test_without_the_scorer_the_rules_decide() -> None:
    """`trained=False` leaves every choice to the rules."""
    asked = "Why was the test stopped?"
    assert resolve(asked, [VASA], trained=False).rewritten_by == "rules"
    assert resolve("Thanks!", [VASA], trained=False) == resolve("Thanks!", [VASA])


def test_two_things_side_by_side_are_asked_about() -> None:
    """A singular question after two things that were both spoken of is ambiguous; a plural one means both."""
    assert [each.name for each in two_sides(Talk((BREEDS,), ENGLISH, None, "How long does it live?"))] == [
        "Labrador",
        "Vizsla",
    ]
    assert not two_sides(Talk((BREEDS,), ENGLISH, None, "How long do they live?"))
    assert not two_sides(Talk((BREEDS,), ENGLISH, None, "How long does a Vizsla live?"))


def test_two_things_joined_by_and_are_a_choice_in_italian() -> None:
    """ "Sciascia e Camilleri": a verb in the singular may mean either."""
    turn = PastTurn(1, "Mi parli di Sciascia e di Camilleri?", "Sciascia indagò la mafia; Camilleri creò Montalbano.")
    assert len(two_sides(Talk((turn,), ITALIAN, None, "Quando è morto?"))) == 2
    assert not two_sides(Talk((turn,), ITALIAN, None, "Quando si conobbero?"))


@pytest.mark.parametrize(
    ("said", "answer", "question"),
    [
        ("actually I moved to York last week", "Noted: you moved to York last week.", "where do I live?"),
        ("from now on call me Captain", "From now on: call me Captain.", "what is my sister's name?"),
        ("mi sono trasferita a Lecce", "Annotato: ti sei trasferita a Lecce.", "Quando ho l'esame?"),
        ("ciao", "Ciao! Come posso aiutarti?", "a cosa sono allergica?"),
    ],
)
def test_a_question_after_a_statement_or_a_greeting_is_complete(said: str, answer: str, question: str) -> None:
    """Nothing was asked that it could continue: no word is added."""
    assert resolve(question, [PastTurn(1, said, answer)]).standalone == question


@pytest.mark.parametrize(
    ("turn", "question"),
    [
        (PastTurn(1, "Any film tonight?", "Alien is tense. Heat has a long shootout."), "Who directed it?"),
        (PastTurn(1, "My aunt and my niece arrive today, what do I cook?", "A pie."), "What does she drink?"),
    ],
)
def test_one_of_several_is_asked_back(turn: PastTurn, question: str) -> None:
    """ "It" after two names that were told of, and "she" after two relatives, may mean either."""
    assert len(resolve(question, [turn]).candidates) == 2


@pytest.mark.parametrize(
    ("query", "answer", "question", "standalone"),
    [
        ("What was Ada Byron's plan?", "A long one.", "When did she die?", "When did Ada Byron die?"),
        ("Who painted it?", "Giotto, in 1305.", "Where was he born?", "Where was Giotto born?"),
    ],
)
def test_a_person_is_called_by_the_name_alone(query: str, answer: str, question: str, standalone: str) -> None:
    """What belongs to a person is left out, and an answer to "who" names the person in question."""
    assert resolve(question, [PastTurn(1, query, answer)]).standalone == standalone


def test_only_the_part_that_asks_is_read() -> None:
    """Thanks and remarks point at the talk and ask for nothing."""
    turn = PastTurn(1, "How do I prune roses?", "Cut above a bud.")
    for question in ("I like this a lot.", "Thanks for that! Who wrote Emma?"):
        assert resolve(question, [turn]).standalone == question


def test_misspelt_words_are_read_as_the_talk_writes_them() -> None:
    """A word that no table knows, near a word of the last answer, means that word; a known word never does."""
    turn = PastTurn(1, "best pizza flour", "Caputo is the standard.")
    assert "Caputo" in resolve("wher can i get the capputo stuff", [turn]).standalone
    assert misspelt(split_words("a horse"), "The house is old.", ENGLISH, has_meaning) == {}


def test_likeness_is_known_for_common_words() -> None:
    """Words of one kind are more alike than others; an unknown word is like none."""
    assert nearest(("guitar",), ("ukulele",)) > 0.5 > nearest(("plants",), ("bedroom",))
    assert nearest(("madre",), ("mother",)) > 0.5
    assert nearest(("xqzv",), ("mother",)) == 0.0


BAKERY = PastTurn(
    1, "Who runs the bakery on Mill Street?", "Nadia took over from her uncle Tom. She kept the rye loaf."
)


@pytest.mark.parametrize(
    ("turn", "question", "standalone"),
    [
        (BAKERY, "Is he retired?", "Is Tom retired (Mill Street)?"),
        (
            PastTurn(1, "Can police hold people long in Scotland?", "Twelve hours, or more by a senior officer."),
            "On what grounds can he do that?",
            "On what grounds can he do that (Scotland)?",
        ),
        (
            PastTurn(1, "Who discovered penicillin?", "It was noticed in London in 1928."),
            "Did they get a prize?",
            "Did they get a prize (penicillin)?",
        ),
        (
            PastTurn(1, "My tomato leaves have spots.", "Pick them off by hand."),
            "How often should I do it?",
            "How often should I do it (tomato)?",
        ),
    ],
)
def test_a_pronoun_gives_way_to_what_it_can_mean(turn: PastTurn, question: str, standalone: str) -> None:
    """ "He" is no woman and no place, "they" are several, "do it" names an action: else the words stand in brackets."""
    assert resolve(question, [turn]).standalone == standalone


def test_it_is_no_person() -> None:
    """What the talk shows to be a person's name does not stand for "it"."""
    turn = PastTurn(1, "Who was Vera Lynn?", "Vera Lynn was an English singer. She toured Burma with a piano.")
    assert "Was Vera Lynn" not in resolve("Was it heavy?", [turn]).standalone


def test_a_name_takes_its_gender_from_the_talk() -> None:
    """ "Il padre Orazio" is a man, "Artemisia" a woman."""
    turn = PastTurn(1, "Parlami di Artemisia Gentileschi.", "Nacque a Roma e la istruì il padre Orazio.")
    assert "Orazio" in resolve("Anche lui era famoso?", [turn]).standalone


def test_rivals_of_what_is_meant_are_not_added() -> None:
    """ "The brighter one" is one of two phones: the other stays out of the question."""
    turn = PastTurn(1, "The Pixel 9 or the Galaxy S24?", "The Pixel is smaller. The Galaxy has the brighter screen.")
    standalone = resolve("What does the brighter one cost?", [turn]).standalone
    assert "Galaxy" in standalone
    assert "Pixel" not in standalone
