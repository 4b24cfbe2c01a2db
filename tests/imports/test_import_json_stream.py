"""JSON as a stream: the same values as the standard library gives, whatever the pieces it comes in."""

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.imports import json_stream as module
from ricordo.imports.conversation import ImportProblem
from ricordo.imports.json_stream import JsonEntry, entries

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)


class Dribble(io.StringIO):
    """A text that comes in pieces of a few characters, however many are asked for."""

    def __init__(self, text: str, most: int) -> None:
        super().__init__(text)
        self._most = most

    def read(self, size: int | None = -1, /) -> str:
        return super().read(self._most)


def values(text: str, most: int = 7, into: Any = ()) -> list[Any]:
    """The values of a text that comes in pieces; a problem as itself."""
    return [each if isinstance(each, ImportProblem) else each.value for each in entries(Dribble(text, most), "f", into)]


@given(st.lists(JSON, max_size=5), st.integers(1, 9), st.sampled_from([None, 1]))
def test_a_list_comes_element_by_element(listed: list[Any], most: int, indent: int | None) -> None:
    """The elements of a list are those that were written, in order, whatever the pieces."""
    assert values(json.dumps(listed, indent=indent), most) == listed


@given(st.lists(JSON.filter(lambda value: not isinstance(value, list)), max_size=5), st.integers(1, 9))
def test_lines_come_one_by_one(lines: list[Any], most: int) -> None:
    """JSON lines are their values, in order."""
    assert values("\n".join(json.dumps(line) for line in lines), most) == lines


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5), st.integers(1, 9))
def test_an_object_can_be_entered(whole: dict[str, Any], most: int) -> None:
    """The members of an object that is entered come with their names."""
    found = list(entries(Dribble(json.dumps(whole), most), "f", {()}))
    assert {each.path[0]: each.value for each in found if isinstance(each, JsonEntry)} == whole


@given(st.text(max_size=200), st.integers(1, 9))
def test_any_text_is_read_to_its_end(text: str, most: int) -> None:
    """Text that is not JSON gives problems and never an error, nor reading without end."""
    values(text, most)
    values(text, most, {(), ("a",)})


@given(st.lists(JSON, min_size=1, max_size=4), st.integers(0, 10**6), st.characters(), st.integers(1, 9))
def test_one_wrong_character_is_survived(listed: list[Any], at: int, wrong: str, most: int) -> None:
    """A list in which one character was replaced is read to its end."""
    text = json.dumps(listed)
    at %= len(text)
    values(text[:at] + wrong + text[at + 1 :], most, {(), (0,), (1,)})


def test_a_damaged_element_is_named_and_the_rest_is_read() -> None:
    """Between two sound elements a damaged one is a problem with its place."""
    first, damaged, last = values('[{"a": 1}, {"b": [1, oops, "]}"]}, {"c": "x"}]')
    assert (first, last) == ({"a": 1}, {"c": "x"})
    assert isinstance(damaged, ImportProblem)
    assert damaged.place == "f, entry 2"
    assert "character 21" in damaged.problem


def test_a_damaged_line_is_named_and_the_rest_is_read() -> None:
    """A line that is not JSON is a problem, those around it are read."""
    first, damaged, last = values('{"a": 1}\n{"b": }\n{"c": 3}\n')
    assert (first, last) == ({"a": 1}, {"c": 3})
    assert isinstance(damaged, ImportProblem)


def test_a_list_that_is_cut_off_gives_what_came_before() -> None:
    """The elements before the cut are read; the cut is told."""
    *read, cut = values('[{"a": 1}, {"b": 2}, {"c": "unfin')
    assert read[:2] == [{"a": 1}, {"b": 2}]
    assert isinstance(cut, ImportProblem)
    assert "cut off" in str([*read, cut])


def test_an_entry_that_is_too_large_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """An element beyond the limit is a problem; those around it are read."""
    monkeypatch.setattr(module, "CHUNK", 16)
    text = json.dumps([{"a": 1}, {"b": 'x"]}' * 500}, {"c": 3}])
    found = list(entries(io.StringIO(text), "f", largest=100))
    assert isinstance(found[1], ImportProblem)
    assert "larger than 100" in found[1].problem
    assert [each.value for each in found if isinstance(each, JsonEntry)] == [{"a": 1}, {"c": 3}]


def test_nesting_without_end_is_a_problem() -> None:
    """A value nested too deeply to be parsed is passed over like any damaged one."""
    found = values("[1, " + "[" * 200_000 + "]" * 200_000 + ", 2]", 4096)
    assert found[0] == 1
    assert isinstance(found[1], ImportProblem)
    assert found[2] == 2
