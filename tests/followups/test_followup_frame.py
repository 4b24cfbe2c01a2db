"""Follow-ups that edit the last question: a replaced part, a correction, a question taken over as it was."""

import pytest
from followup_samples import any_text, talk
from hypothesis import given

from ricordo.followups.candidates import told_apart
from ricordo.followups.items import enumeration
from ricordo.followups.parse import correction
from ricordo.followups.resolve import resolve
from ricordo.followups.rewrite import frame_words, with_part
from ricordo.languages.english import FOLLOWUPS as ENGLISH
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.italian import FOLLOWUPS as ITALIAN
from ricordo.languages.text import followup_languages, split_words


@pytest.mark.parametrize(
    ("asked", "question", "standalone"),
    [
        ("What is the tallest tower in Chile?", "And in Peru?", "What is the tallest tower in Peru?"),
        ("What is the tallest tower in Chile?", "Peru?", "What is the tallest tower in Peru?"),
        ("Do owls eat frogs in winter?", "And in June?", "Do owls eat frogs in June?"),
        ("Can goats eat rhubarb leaves?", "What about sheep?", "Can sheep eat rhubarb leaves?"),
        ("Qual è il fiume più lungo della Spagna?", "E della Grecia?", "Qual è il fiume più lungo della Grecia?"),
        ("Quanto costa il biglietto per Siena?", "E per Pisa?", "Quanto costa il biglietto per Pisa?"),
        ("Chi era il sindaco di Bari nel 1975?", "E nel 1985?", "Chi era il sindaco di Bari nel 1985?"),
        ("Qual è la capitale del Brasile?", "E la Francia?", "Qual è la capitale della Francia?"),
        ("Qual è la capitale del Brasile?", "E Cuba?", "Qual è la capitale di Cuba?"),
        ("Qual è la capitale del Brasile?", "E quella del Perù?", "Qual è la capitale del Perù?"),
        ("Che cosa serve alle piante?", "E gli animali?", "Che cosa serve agli animali?"),
        ("Che cosa serve alla fotosintesi?", "E il metabolismo?", "Che cosa serve al metabolismo?"),
        ("Quanto costa un volo per il Giappone?", "E Cuba?", "Quanto costa un volo per Cuba?"),
    ],
)
def test_a_new_part_takes_the_place_of_its_like(asked: str, question: str, standalone: str) -> None:
    """The old question comes with the new part in it, and the old part is gone."""
    assert resolve(question, talk((asked, "Yes."))).standalone == standalone


@pytest.mark.parametrize(
    ("asked", "question", "standalone"),
    [
        ("Convert 70 pounds to kilos.", "No, I meant seventeen.", "Convert seventeen pounds to kilos."),
        ("How fast is a beetle?", "I meant the car.", "How fast is a beetle (the car)?"),
        ("How do I install Perl on Debian?", "not Perl, Ruby", "How do I install Ruby on Debian?"),
        ("Quando è nato Verdi?", "Scusa, volevo dire Puccini", "Quando è nato Puccini?"),
        ("Come si cucina il polpo?", "Non il polpo, la seppia", "Come si cucina la seppia?"),
        ("Quanto vive un gambero?", "No, intendevo quello di fiume", "Quanto vive un gambero (di fiume)?"),
        ("How do I say thanks in Danish?", "scratch that, Swedish", "How do I say thanks in Swedish?"),
        ("How do I say thanks in Danish?", "*Swedish", "How do I say thanks in Swedish?"),
        ("Is aspirin ok with wine?", "nah I mean with beer", "Is aspirin ok with beer?"),
        ("Recommend a hotel in Vienna for two", "for three, actually", "Recommend a hotel in Vienna for three"),
        ("Come si dice grazie in danese?", "in svedese, mi sono sbagliato", "Come si dice grazie in svedese?"),
        ("Converti 30 libbre in chili", "errore di battitura: 13", "Converti 13 libbre in chili"),
        ("Quanto costa spedire una lettera?", "un pacco, avrei dovuto dire", "Quanto costa spedire un pacco?"),
    ],
)
def test_a_correction_mends_the_last_question(asked: str, question: str, standalone: str) -> None:
    """A correction replaces what was wrong, or adds what was meant."""
    assert resolve(question, talk((asked, "Yes."))).standalone == standalone


@pytest.mark.parametrize(
    ("asked", "question"),
    [
        ("What do plants need to grow?", "And respiration?"),
        ("Come si toglie il calcare?", "L'aceto rovina il silicone?"),
        ("Nel mio codice uso una lista, va bene?", "Contiene l'ordine di inserimento?"),
    ],
)
def test_what_does_not_agree_takes_no_place(asked: str, question: str) -> None:
    """A noun of another number beside its verb, or words with a verb of their own, leave the question as it is."""
    assert resolve(question, talk((asked, "Yes."))).standalone.startswith(question[:-1])


@pytest.mark.parametrize(
    ("told", "asked", "question"),
    [
        ("Mi chiamo Anna.", "Che cosa serve alla fotosintesi?", "E la respirazione?"),
        ("Mi chiamo Anna.", "Che cosa serve alla fotosintesi?", "Perché?"),
        ("My name is Anna.", "How long does chess take?", "And poker?"),
        ("Call me Anna.", "How long does chess take?", "Why?"),
    ],
)
def test_the_own_name_of_the_speaker_is_no_topic(told: str, asked: str, question: str) -> None:
    """The name that a message gives as its speaker's own is not what the talk is about."""
    assert "Anna" not in resolve(question, talk((told, "Hello Anna!"), (asked, "It depends."))).standalone


@pytest.mark.parametrize("message", ["No, thanks", "No, per ora è tutto, grazie", "Ok, got it.", "Sorry!", "Scusa"])
def test_politeness_corrects_nothing(message: str) -> None:
    """Thanks and apologies are left alone."""
    history = talk(("How fast is a beetle?", "Slow."))
    assert resolve(message, history).standalone == message


@pytest.mark.parametrize(
    "question",
    ["Where do I live?", "What's my name?", "How many children do I have?", "Come mi chiamo?", "Quando ho l'esame?"],
)
@pytest.mark.parametrize("asked", ["What is the capital of Japan?", "Che cos'è la fotosintesi?"])
def test_a_question_about_the_speaker_is_complete(asked: str, question: str) -> None:
    """Whatever was talked about before, it takes nothing of it; a word that points back does."""
    history = talk(("I am Anna.", "Hello Anna."), (asked, "Tokyo."))
    assert resolve(question, history).standalone == question
    assert resolve("What do I like about it?", history).standalone != "What do I like about it?"


@pytest.mark.parametrize(
    "question", ["What did we talk about?", "Di che cosa abbiamo parlato ieri?", "cosa ci siamo detti"]
)
def test_a_question_about_the_whole_talk_is_complete(question: str) -> None:
    """It asks for all that was said; nothing of the last turns is added to it."""
    history = talk(
        ("I am allergic to nuts.", "Noted."), ("From now on answer briefly.", "From now on: answer briefly.")
    )
    assert resolve(question, history).standalone == question


def test_a_statement_of_long_ago_is_no_frame() -> None:
    """A part of a new question replaces a part of a past question, never of what was told before the last turn."""
    history = talk(("My name is Anna and I live in Turin.", "Noted."), ("Why does bread go stale?", "Starch hardens."))
    assert "live in Italia" not in resolve("e in Italia come si conserva?", history).standalone


def test_a_return_to_nothing_named_means_the_opening_of_the_talk() -> None:
    """A question that goes back does not mean the last turn, even if no turn holds its words."""
    history = talk(("How many days do I need in Jordan?", "A week."), ("Can I drink tap water?", "No."))
    standalone = resolve("Going back to the route, is one night in the desert enough?", history).standalone
    assert "Jordan" in standalone
    assert "tap water" not in standalone


def test_a_follow_up_to_a_follow_up_keeps_the_frame() -> None:
    """The second replaced part goes into the question as the first one left it."""
    history = talk(("What is the capital of Chile?", "Santiago."), ("And of Peru?", "Lima."))
    assert resolve("And of Bolivia?", history).standalone == "What is the capital of Bolivia?"


def test_a_bare_question_takes_the_last_one_over() -> None:
    """ "Why not?" brings what was asked, without its question words."""
    history = talk(("Should I water my cactus in winter?", "Better not."))
    assert resolve("Why not?", history).standalone == "Why not (water my cactus in winter)?"


@pytest.mark.parametrize(
    ("language", "answer", "members"),
    [
        (ENGLISH, "You could try yoga, pilates or swimming. All help.", ["yoga", "pilates", "swimming"]),
        (ITALIAN, "I migliori sono il lino, la canapa e il cotone.", ["il lino", "la canapa", "il cotone"]),
        (ENGLISH, "It rained.", []),
    ],
)
def test_prose_enumerations_are_lists(language: FollowUpWords, answer: str, members: list[str]) -> None:
    """Members of a series in a sentence can be called by their place."""
    items = enumeration(answer, language)
    assert [item.text for item in items] == members
    assert all(answer[item.start : item.end] == item.text for item in items)


@given(any_text, any_text)
def test_no_text_raises(question: str, part: str) -> None:
    """Frames, corrections and enumerations take any text."""
    for language in followup_languages():
        with_part(question, part, language)
        frame_words(question, language)
        correction(split_words(question), language)
        assert all(question[i.start : i.end] == i.text for i in enumeration(question, language))


@pytest.mark.parametrize(
    ("asked", "answer", "question", "added"),
    [
        ("What does a vet do?", "A vet keeps vaccination records and treats pets.", "Who prints those records?",
         "vaccination records"),
        ("Cosa vedo a Terni?", "Il museo e la cascata Marmore.", "La cascata si può vedere di sera?",
         "cascata Marmore"),
        ("How do I mend a tyre?", "Use a patch and some glue.", "Why glue?", "tyre"),
        ("Do I need a spirit level?", "For shelves, yes.", "How much does a decent one cost?", "spirit level"),
        ("Come cresce la muffa?", "Con l'umido, spesso per un ponte termico.", "E quest'ultimo come si elimina?",
         "ponte termico"),
        ("What happens at a christening?", "Water is poured.", "Tell me more, I have been invited.", "christening"),
        ("Che frasi servono in Giappone?", "Grazie e prego.", "Aggiungine altre cinque", "Giappone"),
    ],
)  # fmt: skip
def test_what_the_answer_named_is_found(asked: str, answer: str, question: str, added: str) -> None:
    """A description or a question about the answer takes the fuller phrase of the answer, or the topic."""
    assert added in resolve(question, talk((asked, answer))).standalone


@pytest.mark.parametrize(
    ("asked", "answer", "question"),
    [
        ("Tell me about Anna Bell and Rosa Lund.", "Both were pilots.", "Where was she born?"),
        (
            "Which castles are near Bath?",
            "Farleigh Castle is a ruin and Nunney Castle has a moat.",
            "Is the castle big?",
        ),
        ("Mi racconti di Romolo e Remo?", "Erano gemelli.", "Quando è morto?"),
        ("Which cover do I need?", "A term policy ends, a whole life policy lasts.", "Does the policy pay out?"),
    ],
)
def test_two_that_fit_alike_are_asked_back(asked: str, answer: str, question: str) -> None:
    """A singular reference to one of two is ambiguous."""
    assert resolve(question, talk((asked, answer))).candidates


@pytest.mark.parametrize(
    "question",
    [
        "My grandmother says she had measles. Can it come back when she is old?",
        "How do I say 'the last one, please' in Greek?",
        "Translate: he never told them",
        "It's raining. What can we bake with oats?",
        "Is decaf coffee healthier than the regular one?",
        "Meglio correre o camminare?",
    ],
)
def test_a_question_with_a_subject_of_its_own_is_left_alone(question: str) -> None:
    """Pronouns with an antecedent inside, quoted texts and the weather point at nothing."""
    assert resolve(question, talk(("Who invented the zip?", "Whitcomb Judson did."))).standalone == question


@pytest.mark.parametrize(
    ("language", "answer", "members"),
    [
        (ENGLISH, "There are three: Sedan, Coupe, Van. Pick one.", ["Sedan", "Coupe", "Van"]),
        (ENGLISH, "You may buy clocks, toys and more.", ["clocks", "toys"]),
        (ENGLISH, "Bring bread and butter, cheese, and apples.", ["bread and butter", "cheese", "apples"]),
    ],
)
def test_series_are_read_to_their_ends(language: FollowUpWords, answer: str, members: list[str]) -> None:
    """A colon announces a series, "and more" is no member, and "bread and butter" between commas is one."""
    assert [item.text for item in enumeration(answer, language)] == members


@pytest.mark.parametrize(
    ("language", "answer", "members"),
    [
        (ENGLISH, "Chess is old, poker has bluffs, and rummy is quick.", ["Chess", "poker", "rummy"]),
        (ITALIAN, "Siena merita due giorni. Lucca si gira in bici.", ["Siena", "Lucca"]),
        (ENGLISH, "It rained all day.", []),
    ],
)
def test_what_is_told_one_after_the_other_is_a_list(language: FollowUpWords, answer: str, members: list[str]) -> None:
    """What each clause opens with can be called by its place."""
    items = told_apart(answer, language)
    assert [item.text for item in items] == members
    assert all(answer[item.start : item.end] == item.text for item in items)


@pytest.mark.parametrize(
    ("asked", "question", "standalone"),
    [
        ("Which plants like a dark bathroom?", "No, I said bedroom.", "Which plants like a dark bedroom?"),
        ("Where can I learn the guitar?", "i meant the ukulele", "Where can I learn the ukulele?"),
        ("What is a good name for a girl puppy?", "It's a boy, actually.", "What is a good name for a boy puppy?"),
        ("Can I see owls in Norway?", "In Sweden, I should have said.", "Can I see owls in Sweden?"),
        ("Plan me a weekend in Porto.", "Three days, not a weekend.", "Plan me three days in Porto."),
        ("Who fixes a dripping boiler?", "not the boiler, the radiator", "Who fixes a dripping radiator?"),
        ("My tomato leaves are yellow.", "sorry, potato leaves, not tomato", "My potato leaves are yellow."),
        ("Come faccio la pasta per sei?", "Non siamo in sei, siamo in dodici", "Come faccio la pasta per dodici?"),
        ("Devo andare da Bologna a Lecce.", "da Modena, non da Bologna", "Devo andare da Modena a Lecce."),
        ("Vorrei un cane tranquillo.", "Un gatto, non un cane", "Vorrei un gatto tranquillo."),
    ],
)
def test_a_correction_takes_the_place_of_what_is_like_it(asked: str, question: str, standalone: str) -> None:
    """Of several parts the one with the nearest meaning is replaced, a single word of it where that is nearer."""
    assert resolve(question, talk((asked, "Yes."))).standalone == standalone


@pytest.mark.parametrize(
    ("said", "question", "day"),
    [
        ("Tell me about Ada Byron. I see her again on Friday.", "How old was she?", "Friday"),
        ("My dentist appointment is on Friday at 9:30", "How old is he?", "Friday"),
        ("The choir of Ivo sings in October", "How old is he?", "October"),
    ],
)
def test_a_day_is_nobody(said: str, question: str, day: str) -> None:
    """ "He" and "she" stand for no weekday and no month."""
    assert day not in resolve(question, talk((said, "All right."))).standalone


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("Where do I live?", "Actually we moved to Genoa last week"),
        ("What is the capital of Peru?", "sorry, I live in Leeds now"),
    ],
)
def test_a_statement_behind_actually_corrects_no_question(asked: str, said: str) -> None:
    """A clause of its own that begins like a correction is a statement: it stays as it is."""
    assert resolve(said, talk((asked, "You live in Turin, I think."))).standalone == said


@pytest.mark.parametrize("said", ["forget that", "Dimenticalo.", "please forget what I just said"])
def test_an_order_to_forget_the_last_thing_needs_nothing(said: str) -> None:
    """What the order means is what was said last; nothing is added to it."""
    past = talk(("Why does bread go stale?", "Because the starch forms crystals."))
    assert resolve(said, past).standalone == said


@pytest.mark.parametrize(
    ("asked", "part", "standalone"),
    [
        ("How thick is concrete for a shed?", "For a driveway?", "How thick is concrete for a driveway?"),
        ("How much water does a dishwasher use?", "A washing machine?", "How much water does a washing machine use?"),
        ("Che tempo fa a Lisbona a marzo?", "E ad agosto?", "Che tempo fa a Lisbona ad agosto?"),
    ],
)
def test_a_part_agrees_at_its_seams(asked: str, part: str, standalone: str) -> None:
    """What the part and the rest have in common stands once, and its first letter is that of the sentence."""
    assert resolve(part, talk((asked, "Dipende."))).standalone == standalone


@pytest.mark.parametrize(
    "said", ["Gli operai finirono in prigione?", "L'apparecchio consuma molto?", "Finirono presto?"]
)
def test_a_clause_replaces_nothing(said: str) -> None:
    """An Italian verb is known by its form, so that a clause is not taken for a part of the last question."""
    found = resolve(said, talk(("Parlami dell'incendio della Fenice.", "Accadde nel 1996 a Venezia."))).standalone
    assert found.startswith(said.rstrip("?"))
