"""Citations in answers."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.chat.citations import Checked, CitationCheck, check

OFFERED = ("doc#1a2b", "doc#3c4d", "chunk-1", "chunk-2")
UNKNOWN = ("doc#ffff", "chunk-9", "source_3", "99")
_names = st.sampled_from(OFFERED + UNKNOWN)
_brackets = st.one_of(
    _names.map(lambda name: f" [{name}]"),
    _names.map(lambda name: f"[{name}]"),
    st.lists(_names, min_size=1, max_size=4).map(lambda names: f" [{', '.join(names)}]"),
    st.lists(_names, min_size=1, max_size=3).map(lambda names: f" [fonti: {'; '.join(names)}]"),
)
_words = st.sampled_from(
    ["La pelle", " è rossa", ".", "\n", "\n\n1. ", " and", " [nota]", " [ ]", "**x**", " [a", "]", "  "]
)
answers = st.lists(st.one_of(_brackets, _words), max_size=20).map("".join)
anything = st.one_of(answers, st.text(alphabet="ab1#-,[]() \n`:", max_size=60))


@given(answers)
def test_no_unknown_id_is_left(answer: str) -> None:
    """An id that was not offered stands in no bracket of a checked answer, unless it is the index of a word."""
    checked = check(answer, OFFERED)
    again = check(checked.text, OFFERED)
    assert again.removed == ()
    assert not any(f"[{name}]" in checked.text or f", {name}" in checked.text for name in UNKNOWN if name != "99")


@given(anything)
def test_only_offered_ids_are_cited(answer: str) -> None:
    """What is cited was offered and still stands in the text; what was removed was not offered."""
    checked = check(answer, OFFERED)
    assert set(checked.cited) <= set(OFFERED)
    assert not set(checked.removed) & set(OFFERED)
    assert all(name in checked.text for name in checked.cited)


@given(anything, st.lists(st.integers(0, 60), max_size=12))
def test_a_stream_is_checked_like_the_whole(answer: str, cuts: list[int]) -> None:
    """However an answer is cut into pieces, the same text comes out and the same ids are found."""
    checking = CitationCheck(OFFERED)
    places = sorted({0, len(answer), *(min(cut, len(answer)) for cut in cuts)})
    parts = [answer[start:end] for start, end in pairwise(places)]
    text = "".join(checking.feed(part) for part in parts) + checking.close()
    assert Checked(text, checking.cited, checking.removed) == check(answer, OFFERED)


@given(st.text(alphabet=st.characters(codec="utf-8", exclude_characters="[")))
def test_without_brackets_nothing_changes(answer: str) -> None:
    """An answer without an opening bracket comes out as it went in."""
    assert check(answer, OFFERED) == Checked(answer, (), ())


@given(st.lists(st.sampled_from(OFFERED), min_size=1, max_size=6))
def test_true_citations_stay_as_they_are(names: list[str]) -> None:
    """An answer that cites only what was offered is not touched, and cites in order of mention."""
    answer = " and ".join(f"this [{name}]" for name in names)
    assert check(answer, OFFERED) == Checked(answer, tuple(dict.fromkeys(names)), ())


@pytest.mark.parametrize(
    ("answer", "text", "cited", "removed"),
    [
        ("Rossa [chunk-1].", "Rossa [chunk-1].", ("chunk-1",), ()),
        ("Rossa [chunk-9].", "Rossa.", (), ("chunk-9",)),
        ("Rossa[chunk-9].", "Rossa.", (), ("chunk-9",)),
        ("Rossa [chunk-1, chunk-9].", "Rossa [chunk-1].", ("chunk-1",), ("chunk-9",)),
        ("Rossa [chunk-9][chunk-2]", "Rossa[chunk-2]", ("chunk-2",), ("chunk-9",)),
        ("Red [sources: CHUNK-1; x]", "Red [sources: chunk-1]", ("chunk-1",), ("x",)),
        ("Fact [3].", "Fact.", (), ("3",)),
        ("a[0][1] and x[i]", "a[0][1] and x[i]", (), ()),
        ("see [page-2](http://host)", "see [page-2](http://host)", (), ()),
        ("`rows = [chunk-9]` [chunk-9]", "`rows = [chunk-9]`", (), ("chunk-9",)),
        ("```\n[chunk-9]\n```\n[chunk-9]", "```\n[chunk-9]\n```\n", (), ("chunk-9",)),
        ("- [ ] to do\n- [x] done [nota bene]", "- [ ] to do\n- [x] done [nota bene]", (), ()),
        ("open [chunk-1", "open [chunk-1", (), ()),
        ("Rossa [chunk-1, pag. 3].", "Rossa [chunk-1, pag. 3].", ("chunk-1",), ()),
    ],
)
def test_worked_examples(answer: str, text: str, cited: tuple[str, ...], removed: tuple[str, ...]) -> None:
    """Citations are told from links, indices, check boxes, code and ordinary brackets."""
    assert check(answer, OFFERED) == Checked(text, cited, removed)


def test_an_id_may_hold_a_comma() -> None:
    """The ids of an application are matched whole before they are taken apart."""
    assert check("Yes [Rossi, 2020].", ["Rossi, 2020"]) == Checked("Yes [Rossi, 2020].", ("Rossi, 2020",), ())


def test_words_are_passed_on_at_once() -> None:
    """Only blanks and open brackets are held back."""
    checking = CitationCheck(OFFERED)
    assert checking.feed("The skin") == "The skin"
    assert checking.feed(" is red ") == " is red"
    assert checking.feed("[chunk") == ""
    assert checking.feed("-1]") == ""
    assert checking.feed(".") == " [chunk-1]."
    assert checking.close() == ""
