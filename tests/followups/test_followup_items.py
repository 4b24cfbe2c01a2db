"""The addressable items of an answer."""

import pytest
from followup_samples import any_text, chunk_ids
from hypothesis import given

from ricordo.followups.items import derive_items, lists_of


@given(any_text, chunk_ids)
def test_offsets_slice_the_answer(answer: str, ids: tuple[str, ...]) -> None:
    """For every text, an item is exactly the part of the answer between its offsets."""
    for item in derive_items(answer, ids):
        assert answer[item.start : item.end] == item.text


@given(any_text)
def test_a_child_lies_within_its_parent(answer: str) -> None:
    """Every item with a parent is one level deeper and inside the parent's text."""
    items = derive_items(answer)
    for item in items:
        if item.parent is not None:
            parent = items[item.parent]
            assert item.level == parent.level + 1
            assert parent.start <= item.start <= item.end <= parent.end


@given(any_text)
def test_positions_count_from_one(answer: str) -> None:
    """Each list is numbered 1, 2, 3… without a gap, and every item belongs to exactly one list."""
    items = derive_items(answer)
    lists = lists_of(items)
    for listed in lists:
        assert [item.position for item in listed] == list(range(1, len(listed) + 1))
    assert sorted(id(item) for listed in lists for item in listed) == sorted(map(id, items))


@given(any_text, chunk_ids)
def test_cited_chunks_stand_in_the_text(answer: str, ids: tuple[str, ...]) -> None:
    """A chunk is cited by an item only when its id is written there."""
    for item in derive_items(answer, ids):
        assert all(name in item.text for name in item.chunk_ids)


@pytest.mark.parametrize(
    ("answer", "labels", "texts"),
    [
        ("Intro\n1. uno\n2. due", ["1", "2"], ["uno", "due"]),
        ("1) uno\n2) due", ["1", "2"], ["uno", "due"]),
        ("(1) one\n(2) two", ["1", "2"], ["one", "two"]),
        ("1: one\n2: two", ["1", "2"], ["one", "two"]),
        ("**1.** one\n**2.** two", ["1", "2"], ["one", "two"]),
        ("a) uno\nb) due", ["a", "b"], ["uno", "due"]),
        ("i. one\nii. two\niii. three", ["i", "ii", "iii"], ["one", "two", "three"]),
        ("- one\n- two", ["", ""], ["one", "two"]),
        ("• one\n• two", ["", ""], ["one", "two"]),
        ("| a | b |\n|---|---|\n| one | 1 |\n| two | 2 |", ["", ""], ["one | 1", "two | 2"]),
        ("Tre punti: 1) Uno. 2) Due. 3) Tre.", ["1", "2", "3"], ["Uno.", "Due.", "Tre."]),
        ("Either a) this, or b) that.", ["a", "b"], ["this", "that."]),
        ("First, one. Second, two. Finally, three.", ["First", "Second", "Finally"], ["one.", "two.", "three."]),
        ("In primo luogo uno. In secondo luogo due.", ["In primo luogo", "In secondo luogo"], ["uno.", "due."]),
        ("Passo 1: apri\nPasso 2: chiudi", ["1", "2"], ["Passo 1: apri", "Passo 2: chiudi"]),
    ],
)
def test_every_way_of_listing_is_read(answer: str, labels: list[str], texts: list[str]) -> None:
    """Numbers, letters, roman numbers, bullets, rows, inline and spoken enumerations become items."""
    items = derive_items(answer)
    assert [item.label for item in items] == labels
    assert [item.text for item in items] == texts


def test_headings_hold_the_lists_below_them() -> None:
    """A heading's item is its whole section, and the points under it are its children."""
    items = derive_items("## Cause\n1. postura\n2. sforzo\n\n## Cura\nRiposo.")
    assert [(item.kind, item.level, item.parent) for item in items] == [
        ("heading", 0, None),
        ("number", 1, 0),
        ("number", 1, 0),
        ("heading", 0, None),
    ]
    assert items[0].text == "Cause\n1. postura\n2. sforzo"
    assert items[3].text == "Cura\nRiposo."


def test_nested_points_have_their_own_numbering() -> None:
    """An indented list counts from 1 again and hangs on the point above it."""
    items = derive_items("1. A\n   - a1\n   - a2\n2. B")
    assert [(item.position, item.level, item.parent) for item in items] == [
        (1, 0, None),
        (1, 1, 0),
        (2, 1, 0),
        (2, 0, None),
    ]


def test_loose_paragraphs_stay_with_their_number() -> None:
    """A paragraph between "1." and "2." belongs to the first; one after the last point closes the list."""
    items = derive_items("1. A\n\nabout A\n\n2. B\n\nThe end.")
    assert [item.text for item in items] == ["A\n\nabout A", "B"]


def test_code_is_not_a_list() -> None:
    """Lines inside a code fence are never items."""
    assert [item.text for item in derive_items("1. run\n```\n2. not me\n```")] == ["run\n```\n2. not me\n```"]


def test_prose_and_numbers_are_not_a_list() -> None:
    """A lone ordinal, a decimal number or a date makes no item."""
    assert derive_items("The first time I saw it was in 1998. It cost 1.5 million.") == ()


def test_chunks_are_those_cited_inside() -> None:
    """Bracketed ids, labelled sources and ids given by the caller count; link texts and others' ids do not."""
    answer = "- uno [chunk-1]\n- due [fonti: a-1, b-2]\n- tre, come in x\n- quattro [v1.2](http://e.it)"
    given_ids = ("chunk-1", "a-1", "b-2", "x")
    assert [item.chunk_ids for item in derive_items(answer, given_ids)] == [("chunk-1",), ("a-1", "b-2"), ("x",), ()]
