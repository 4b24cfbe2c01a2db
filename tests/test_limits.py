"""What may be stored: good input passes unchanged, bad input is refused with the name of its field."""

import json
import re
from datetime import UTC, datetime, timedelta, timezone
from enum import Enum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.chat.pipeline import Chat, ChatRequest
from ricordo.errors import ValidationError
from ricordo.limits import (
    ID_LENGTH,
    LARGEST,
    LIST_BYTES,
    Limits,
    check_id,
    check_ids,
    check_metadata,
    check_number,
    check_text,
    check_time,
    check_tool_calls,
    readable,
)
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.stores.memory import MemoryStore
from ricordo.testing import strategies

SMALL = Limits(text_bytes=20, metadata_bytes=20)


@given(value=strategies.ids())
def test_any_id_of_valid_unicode_passes(value: str) -> None:
    """Ids are opaque: what passes is what came in."""
    assert check_id("user_id", value) == value


@given(value=strategies.refused_texts() | st.text(min_size=ID_LENGTH + 1) | st.integers() | st.none() | st.binary())
def test_a_bad_id_is_refused_by_the_name_of_its_field(value: object) -> None:
    """Empty, blank, too long, NUL, lone surrogate, not text."""
    with pytest.raises(ValidationError, match=r"^user_id: ") as refusal:
        check_id("user_id", value)
    assert refusal.value.field == "user_id"


@given(values=st.lists(strategies.ids(), max_size=5))
def test_a_list_of_ids_becomes_a_tuple(values: list[str]) -> None:
    """Order and repeats are kept."""
    assert check_ids("tags", iter(values)) == tuple(values)


def test_a_bad_id_in_a_list_is_named_with_its_place() -> None:
    """The refusal says which one; a lone text is not a list of its letters."""
    with pytest.raises(ValidationError, match=r"^chunk_ids\[1\]: "):
        check_ids("chunk_ids", ["good", ""])
    with pytest.raises(ValidationError, match="wrap it in a list"):
        check_ids("chunk_ids", "good")


@pytest.mark.parametrize(("letter", "written"), [("a", 1), ("\x01", 6), ('"', 2), ("\U0001f600", 4)])
def test_a_list_that_no_database_holds_is_refused_by_the_name_of_its_field(letter: str, written: int) -> None:
    """Its size counts as it is written, escapes and all: as many ids as fit pass, one more is refused."""
    most = (LIST_BYTES - 1) // (ID_LENGTH * written + 3)
    fitting = [letter * ID_LENGTH] * most
    assert check_ids("chunk_ids", fitting) == tuple(fitting)
    with pytest.raises(ValidationError, match=rf"^chunk_ids: is larger than {LIST_BYTES} bytes"):
        check_ids("chunk_ids", [*fitting, letter * ID_LENGTH])


def test_tool_calls_together_are_no_larger_than_a_text() -> None:
    """Each of many may be small enough: it is their sum that a message carries."""
    call = {"name": "x" * 60_000}
    assert len(check_tool_calls("tool_calls", [call] * 17, "assistant", Limits())) == 17
    with pytest.raises(ValidationError, match=r"^tool_calls: is larger than 1048576 bytes"):
        check_tool_calls("tool_calls", [call] * 18, "assistant", Limits())


class Speaker(str, Enum):  # noqa: UP042 - the kind that does so
    """Text that writes itself as something else."""

    ANNA = "anna"


def test_what_passes_is_plain_text() -> None:
    """A text of a type of its own passes as what it is equal to: no key and no address is made of its other face."""
    plain = [
        check_id("user_id", Speaker.ANNA),
        *check_ids("tags", [Speaker.ANNA]),
        check_text("q", Speaker.ANNA, SMALL),
    ]
    assert [(type(each), f"{each}") for each in plain] == [(str, "anna")] * 3


@given(value=strategies.texts())
def test_any_words_of_valid_unicode_pass(value: str) -> None:
    """Not trimmed, not normalised, not escaped."""
    assert check_text("query", value, Limits()) == value


@given(value=strategies.refused_texts() | st.integers() | st.none() | st.binary())
def test_bad_words_are_refused_by_the_name_of_their_field(value: object) -> None:
    """Empty, blank, NUL, lone surrogate, not text."""
    with pytest.raises(ValidationError, match=r"^query: "):
        check_text("query", value, Limits())


@given(value=st.text(st.sampled_from("aà€😀"), min_size=1, max_size=30))
def test_size_is_counted_in_bytes_of_utf_8(value: str) -> None:
    """Exactly the limit passes, one byte more is refused."""
    size = len(value.encode())
    assert check_text("query", value, Limits(text_bytes=size)) == value
    with pytest.raises(ValidationError, match=f"larger than {size - 1} bytes"):
        check_text("query", value, Limits(text_bytes=size - 1))


@given(value=strategies.metadata())
def test_metadata_comes_out_equal_and_as_a_copy(value: dict[str, object]) -> None:
    """A JSON object survives; changing the original later changes nothing."""
    checked = check_metadata("metadata", value, Limits())
    assert checked == value
    assert json.loads(json.dumps(checked)) == checked
    assert checked is not value


@pytest.mark.parametrize(
    "value",
    [
        {"a": float("nan")},
        {"a": [float("inf")]},
        pytest.param({"a": object()}, id="object"),
        {"a": b"bytes"},
        {"a": {1, 2}},
        {"a\x00": 1},
        {"a": ["b\x00"]},
        {"a": {"b\x00": 1}},
        {"a": "\ud800"},
        {("a", "b"): 1},
        ["not", "a", "mapping"],
        "text",
        7,
        {"a": "x" * 70_000},
    ],
    ids=repr,
)
def test_hostile_metadata_is_refused_by_the_name_of_its_field(value: object) -> None:
    """Not JSON, not finite, NUL hidden in an escape, lone surrogate, not a mapping, too large."""
    with pytest.raises(ValidationError, match=r"^metadata: "):
        check_metadata("metadata", value, Limits())  # type: ignore[arg-type]


def test_an_array_is_refused_as_metadata_like_anything_else() -> None:
    """Nothing is asked of a value that only a mapping could answer, such as whether it is empty."""
    with pytest.raises(ValidationError, match=r"^metadata: expected a mapping"):
        check_metadata("metadata", np.array([1, 2]), Limits())  # type: ignore[arg-type]


def test_metadata_that_contains_itself_is_refused() -> None:
    """A cycle or an abyss is no JSON."""
    cycle: dict[str, object] = {}
    cycle["self"] = cycle
    with pytest.raises(ValidationError):
        check_metadata("metadata", cycle, Limits())
    abyss: dict[str, object] = {}
    for _ in range(100_000):
        abyss = {"deeper": abyss}
    with pytest.raises(ValidationError):
        check_metadata("metadata", abyss, Limits())


def test_no_metadata_is_an_empty_mapping() -> None:
    """None and nothing are the same."""
    assert check_metadata("metadata", None, SMALL) == check_metadata("metadata", {}, SMALL) == {}


@given(value=st.integers(1, LARGEST))
def test_a_number_from_one_on_passes(value: int) -> None:
    """Turn numbers start at 1."""
    assert check_number("turn_number", value) == value


@given(value=st.integers(max_value=0) | st.integers(LARGEST + 1) | st.booleans() | st.floats() | st.text() | st.none())
def test_a_bad_number_is_refused_by_the_name_of_its_field(value: object) -> None:
    """Below the least, too large to store, or no whole number: True is not 1."""
    with pytest.raises(ValidationError, match=r"^turn_number: "):
        check_number("turn_number", value)


@given(value=strategies.moments(), hours=st.integers(-23, 23))
def test_a_moment_comes_out_in_utc(value: datetime, hours: int) -> None:
    """The same moment, whatever zone it came in."""
    checked = check_time("created_at", value.astimezone(timezone(timedelta(hours=hours))))
    assert checked == value
    assert checked.tzinfo is UTC


@pytest.mark.parametrize(
    "value",
    [datetime(2026, 1, 1), "2026-01-01", 0, None, datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)],
    ids=repr,
)
def test_a_bad_moment_is_refused_by_the_name_of_its_field(value: object) -> None:
    """No zone, no datetime, or so near the end of time that a zone would leave it."""
    with pytest.raises(ValidationError, match=r"^created_at: "):
        check_time("created_at", value)


@given(st.text(max_size=200))
def test_rules_read_a_short_message_as_it_is(text: str) -> None:
    """Only long messages, and long runs of blanks or of one mark, are shortened for rules."""
    if not re.search(r"\s{40}|([^\w\s])\1{39}", text):
        assert readable(text) == text


@pytest.mark.parametrize("text", ["a" + " " * 999_998 + "b", "*" * 1_000_000, "a\n" * 500_000, "parola " * 140_000])
def test_rules_read_a_bounded_part_of_any_message(text: str) -> None:
    """However long a message is, rules read some thousand characters of it: its beginning and its end."""
    read = readable(text)
    assert len(read) <= 16_001
    assert (read[0], read[-1]) == (text[0], text[-1])


def test_a_chat_answers_a_message_of_blanks() -> None:
    """No rule takes minutes for a message that is nearly all blanks; it is stored as it is."""
    with Memory(MemoryStore(), settings_from({"embedder": "light"}, {})) as memory:
        query = "a" + " " * 200_000 + "b"
        answer = Chat(memory).ask(ChatRequest(query, "anna"))
        (turn,) = memory.session(answer.session_id, user_id="anna").history()
        assert turn.query == query
