"""The traces of a talk inside a question."""

import pytest
from followup_samples import any_text
from hypothesis import given

from ricordo.followups.parse import parse
from ricordo.followups.reference import Pick, main_kind
from ricordo.languages.text import followup_languages, language_of, split_words, stems, words_in


@given(any_text)
def test_no_text_raises_and_spans_are_true(question: str) -> None:
    """For every text, each reference's span is the text that triggered it and its confidence is a share."""
    for reference in parse(question):
        assert question[reference.start : reference.end] == reference.text
        assert reference.text
        assert 0 < reference.confidence <= 1


@given(any_text)
def test_the_same_question_gives_the_same_references(question: str) -> None:
    """Parsing depends on the text alone."""
    assert parse(question) == parse(question)


@given(any_text)
def test_words_are_split_where_they_stand(text: str) -> None:
    """Each token is what stands at its place, and the words are the same without their places."""
    line = split_words(text)
    assert [token.word for token in line.tokens] == [text[token.start : token.end].lower() for token in line.tokens]
    assert line.text == " ".join(token.word for token in line.tokens)
    assert all(line.text.startswith(token.word, at) for token, at in zip(line.tokens, line.starts, strict=False))
    assert words_in(text) == line.words == tuple(token.word for token in line.tokens if token.is_word)


@pytest.mark.parametrize(
    ("question", "kind", "span"),
    [
        ("Approfondisci il punto 2", "ordinal", "punto 2"),
        ("Tell me about the second one", "ordinal", "the second one"),
        ("Parlami dell'ultimo", "ordinal", "dell'ultimo"),
        ("Continua, per favore", "continuation", "Continua"),
        ("Please go on", "continuation", "go on"),
        ("Spiegami quello che hai detto sul canale", "back", "quello che hai detto sul"),
        ("The insurance you mentioned, is it required?", "back", "you mentioned"),
        ("Hai detto che la stenosi è sempre sintomatica?", "statement", "Hai detto che"),
        ("You said that it lasts six weeks", "statement", "You said that"),
        ("Come posso curarla?", "pronoun", "curarla"),
        ("What are its symptoms?", "pronoun", "its"),
        ("E nei bambini?", "ellipsis", "E nei bambini"),
        ("What are the side effects?", "ellipsis", "What are the side effects"),
        ("E rispetto al primo?", "comparison", "rispetto al"),
        ("Which one is cheaper?", "comparison", "Which one is cheaper"),
    ],
)
def test_each_kind_names_the_words_that_triggered_it(question: str, kind: str, span: str) -> None:
    """Every kind is found in both languages, with the span of its cue."""
    references = parse(question)
    assert main_kind(references) == kind
    assert references[0].text == span


@pytest.mark.parametrize(
    ("question", "pick"),
    [
        ("i primi due", Pick(positions=(1, 2))),
        ("the last three?", Pick(positions=(-3, -2, -1))),
        ("Spiegami entrambi", Pick(every=True, count=2)),
        ("Can I do all four?", Pick(every=True, count=4)),
        ("Nessuno di questi va bene", Pick(every=True, negated=True)),
        ("I punti 2 e 4", Pick(positions=(2, 4))),
        ("Expand on point iv", Pick(positions=(4,), label="iv")),
        ("opzione b", Pick(positions=(2,), label="b")),
        ("2", Pick(positions=(2,), label="2")),
        ("And the next one?", Pick(step=1)),
        ("il precedente?", Pick(step=-1)),
        ("l'ultimo", Pick(positions=(-1,))),
    ],
)
def test_places_say_which_items(question: str, pick: Pick) -> None:
    """First, last, both, all, none, labels and neighbours become the places they name."""
    assert parse(question)[0].pick == pick


@pytest.mark.parametrize(
    "question",
    [
        "Qual è il secondo principio della termodinamica?",
        "Who was the first president of Italy?",
        "Come si continua una serie?",
        "What happened in the last two world wars?",
        "Is it safe to take aspirin with ibuprofen?",
        "Why do cats purr when they are happy?",
        "Che cos'è Docker e come lo installo?",
        "Chi ha detto che il movimento è vita?",
        "What is a symptom?",
        "What was the role of the Six-Day War?",
        "Do both spouses have to sign?",
        "Quanti metri al secondo fa la luce?",
        "Buongiorno",
        "Thank you so much",
        "",
        "?!",
    ],
)
def test_a_complete_question_is_left_alone(question: str) -> None:
    """Ordinals, pronouns and verbs of continuing that mean something else leave no trace."""
    assert parse(question) == ()


def test_a_noun_of_the_talk_makes_a_place_of_an_ordinal() -> None:
    """ "Il secondo esercizio" is a place once the talk has a list of exercises, and only then for a rare noun."""
    assert parse("Dove compro il secondo abbonamento?") == ()
    assert parse("Dove compro il secondo abbonamento?", nouns=stems(["abbonamenti"]))[0].noun == "abbonamento"


def test_a_pasted_document_is_no_follow_up() -> None:
    """A text longer than any follow-up is not searched for traces."""
    assert parse("it " * 200) == ()


@pytest.mark.parametrize(
    ("text", "code"), [("Quali sono i gradi?", "it"), ("What are the grades?", "en"), ("Perché?", "it"), ("Why?", "en")]
)
def test_the_language_is_told_by_its_common_words(text: str, code: str) -> None:
    """A short question is enough to tell the language."""
    assert language_of(text).code == code


def test_a_text_without_signs_keeps_the_language_of_the_talk() -> None:
    """A number belongs to no language: the default decides."""
    assert [language_of("42", default=language).code for language in followup_languages()] == ["en", "it"]


@pytest.mark.parametrize("language", followup_languages(), ids=lambda language: language.code)
def test_every_pattern_of_a_table_compiles(language: object) -> None:
    """All patterns of a language are valid and named after their fields."""
    assert language.patterns  # type: ignore[attr-defined]
