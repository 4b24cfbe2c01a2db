"""Whom a question points at, by name or by person."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.recall.evidence import named_speakers, pointed_role
from ricordo.recall.index_state import indexed_text, speaker_in


@given(st.text(max_size=80), st.lists(st.text(max_size=10), max_size=4))
def test_no_text_raises(text: str, names: list[str]) -> None:
    """Any text and any names give an answer, and only names that were given."""
    speaker_in(text)
    assert pointed_role(text) in (None, "user", "assistant")
    assert named_speakers(text, names) <= set(names)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Anna: ciao", "Anna"),
        ("Marco Rossi: ci vediamo", "Marco Rossi"),
        ("Note: remember the milk", None),
        ("Nota: compra il latte", None),
        ("anna: ciao", None),
        ("See https://example.org", None),
        ("Error: file not found", None),
        ("At 10:30 we left", None),
        ("", None),
    ],
)
def test_a_name_at_the_beginning_is_a_speaker(text: str, name: str | None) -> None:
    """ "Name: " opens a line of a talk; headings, links and hours do not."""
    assert speaker_in(text) == name


@given(st.text(min_size=1, max_size=10), st.text(max_size=40))
def test_a_name_is_put_before_the_words_once(name: str, content: str) -> None:
    """What is indexed begins with the name, and doing it twice changes nothing."""
    once = indexed_text(content, name)
    assert once.startswith(f"{name}:")
    assert indexed_text(once, name) == once
    assert indexed_text(content, None) == content


def test_named_speakers_are_found_by_first_name() -> None:
    """A first name is enough; naming everybody singles out nobody."""
    assert named_speakers("Cosa ha detto marco?", ["Anna", "Marco Rossi"]) == {"Marco Rossi"}
    assert named_speakers("What do Anna and Marco share?", ["Anna", "Marco Rossi"]) == frozenset()
    assert named_speakers("Where is the sea?", ["Anna", "Marco Rossi"]) == frozenset()


@pytest.mark.parametrize(
    ("question", "role"),
    [
        ("When does my first sprint end?", "user"),
        ("Dove ho parcheggiato?", "user"),
        ("What did you recommend for the cache?", "assistant"),
        ("Che trucco mi hai suggerito?", "assistant"),
        ("Quali erano i tuoi consigli?", "assistant"),
        ("Where does Anna live?", None),
    ],
)
def test_persons_point_at_a_side(question: str, role: str | None) -> None:
    """Mine is the user's, yours is the assistant's."""
    assert pointed_role(question) == role
