"""Foreign values: times in every spelling, content in every form, and nothing raises."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.imports.conversation import content_of, identifier, parse_time, role_of, tool_call, tool_calls_of
from ricordo.testing.strategies import moments

ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(moments())
def test_iso_times_come_back(at: datetime) -> None:
    """A time with a zone is that time; one without a zone is in UTC."""
    assert parse_time(at.isoformat()) == at
    assert parse_time(at.replace(tzinfo=None).isoformat(sep=" ")) == at


@given(st.integers(0, 200_000_000))
def test_seconds_and_finer_counts_are_told_apart(after: int) -> None:
    """A recent time is the same in seconds, milli-, micro- and nanoseconds, as a number and as text."""
    at = datetime(2022, 1, 1, tzinfo=UTC) + timedelta(seconds=after)
    seconds = at.timestamp()
    assert parse_time(seconds) == parse_time(str(int(seconds))) == parse_time(int(seconds * 1000)) == at
    assert parse_time(int(seconds) * 10**6) == parse_time(int(seconds) * 10**9) == at


@given(ANYTHING)
def test_nothing_raises(value: Any) -> None:
    """Any JSON value can stand anywhere."""
    assert parse_time(value) is None or parse_time(value).tzinfo is UTC  # type: ignore[union-attr]
    words, others = content_of(value)
    assert isinstance(words, str)
    assert isinstance(others, list)
    role_of(value)
    identifier(value)
    tool_calls_of({"tool_calls": [value], "function_call": value})
    tool_call("f", value, "c")


@pytest.mark.parametrize("value", [0, -5, float("nan"), float("inf"), True, "", "soon", 10**30, [], {}])
def test_what_is_no_time_is_none(value: Any) -> None:
    """Nothing is dated by what is no date."""
    assert parse_time(value) is None


@pytest.mark.parametrize(
    ("word", "role", "name"),
    [("human", "user", None), ("gpt", "assistant", None), ("developer", "system", None), ("Bob", "user", "Bob")],
)
def test_roles_have_many_names(word: str, role: str, name: str | None) -> None:
    """A foreign word is one of our roles, or a speaker's name."""
    assert role_of(word) == (role, name)


def test_what_is_not_words_is_named_in_brackets() -> None:
    """An image between words leaves a sign where it was, and is kept beside them."""
    image = {"type": "image_url", "image_url": {"url": "x"}}
    assert content_of(["Look:", image, {"type": "text", "text": "nice"}]) == ("Look:\n[image]\nnice", [image])
