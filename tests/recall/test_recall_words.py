"""Words made comparable: case, accents, endings and small words do not stand in the way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.languages.text import fold, guess_language
from ricordo.recall.evidence import question_words, snowball_stems, terms, tokens

anything = st.text(st.characters(codec=None), max_size=200)


@given(anything)
def test_no_text_is_too_strange(text: str) -> None:
    """Any text, lone surrogates included, gives words, hashes and a language without an error."""
    assert guess_language(text) in ("en", "it")
    assert len(terms(text)) == len(snowball_stems(text))
    assert all(hashes for _, hashes in question_words(text))


@given(anything)
def test_folding_twice_is_folding_once(text: str) -> None:
    """A folded text is its own folding."""
    assert fold(fold(text)) == fold(text)


@given(st.text("abcdefghilmnopqrstuvz àèìòù'", max_size=60))
def test_case_does_not_matter(text: str) -> None:
    """The same words shouted are the same words."""
    assert snowball_stems(text, "it") == snowball_stems(text.upper(), "it")


@pytest.mark.parametrize(
    ("one", "other", "language"),
    [
        ("gatti", "gatto", "it"),
        ("Perché parlavano", "perche parlare", "it"),
        ("città", "CITTA'", "it"),
        ("ho scritto", "scrivere", "it"),
        ("visto", "vedere", "it"),
        ("running", "runs", "en"),
        ("she went", "go", "en"),
        ("children", "child", "en"),
        ("bought", "buys", "en"),
        ("lives", "live", "en"),
    ],
)
def test_forms_of_a_word_are_one_word(one: str, other: str, language: str) -> None:
    """Inflected and irregular forms meet in one stem."""
    assert set(snowball_stems(one, language)) & set(snowball_stems(other, language))  # type: ignore[arg-type]


def test_question_words_are_left_out() -> None:
    """What remains of a question is what it is about."""
    assert [word for word, _ in question_words("When did Melanie paint a sunrise?")] == ["melanie", "paint", "sunrise"]
    assert [word for word, _ in question_words("Quando è andata Giulia al mare?")] == ["andata", "giulia", "mare"]


def test_a_question_of_small_words_keeps_them() -> None:
    """Better a weak word than none."""
    assert [word for word, _ in question_words("what is it?")] == ["what", "is", "it"]


def test_numbers_and_codes_are_kept_whole() -> None:
    """A code is found by itself and by its parts."""
    assert tokens("Il codice è DNT-4471, versione 2.1") == [
        "il", "codice", "e", "dnt", "4471", "dnt-4471", "versione", "2", "1", "2.1",
    ]  # fmt: skip
    assert "4471" in snowball_stems("DNT-4471")


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("dove ho messo le chiavi?", "it"),
        ("where did I put the keys?", "en"),
        ("Netflix password", "en"),
        ("pizza margherita stasera", "it"),
        ("", "en"),
        ("non saprei che dire, ok?", "it"),
    ],
)
def test_the_language_is_guessed(text: str, language: str) -> None:
    """Small words decide; without any, the endings do."""
    assert guess_language(text) == language


def test_a_question_in_one_language_finds_a_word_of_the_other() -> None:
    """A question is stemmed both ways, so the language of the message does not matter."""
    said = set(terms("Ieri ho comprato due biciclette", "it").tolist())
    asked = dict(question_words("did I buy biciclette?"))
    assert said & set(asked["biciclette"])
