"""Limits on what may be stored: every input is checked here before a database gets it.

Errors name the field. The databases have the same rules as constraints, for rows that are written without this module.
"""

import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeGuard

from ricordo.errors import ValidationError
from ricordo.records.values import record

if TYPE_CHECKING:
    from ricordo.records.turns import Json

ID_LENGTH = 255
PROJECT_LENGTH = 240  # a project is stored as a tag with a prefix
DEEPEST = 100  # levels of values inside values
LARGEST = 2**53 - 1  # the largest whole number that every JSON parser reads exactly
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)
LATEST = datetime(9999, 12, 30, tzinfo=UTC)
# The largest values that the constraints of the databases allow.
MOST_TEXT_BYTES = 16 * 1024 * 1024
MOST_METADATA_BYTES = LIST_BYTES = 1024 * 1024


@record
class Limits:
    """Sizes above which input is refused, in bytes of UTF-8."""

    text_bytes: int = 1024 * 1024
    metadata_bytes: int = 64 * 1024


def check_id(field: str, value: object) -> str:
    """An opaque id: 1 to 255 characters, printable as text, no NUL and no lone surrogate."""
    if not isinstance(value, str):
        raise ValidationError(field, f"expected text, got {type(value).__name__}")
    if not 1 <= len(value) <= ID_LENGTH:
        raise ValidationError(field, f"expected 1 to {ID_LENGTH} characters, got {len(value)}")
    if not value.strip():
        raise ValidationError(field, "is blank; give at least one visible character")
    _check_characters(field, value)
    return _plain(value)


def is_id(value: object) -> TypeGuard[str]:
    """Whether a value could be an id."""
    try:
        check_id("id", value)
    except ValidationError:
        return False
    return True


def check_project(value: object, default: str = "", field: str = "project") -> str:
    """The name of a project, short enough for a tag; None is the default, empty is no project."""
    if value is None or value == "":
        return default if value is None else ""
    name = check_id(field, value).strip()
    if len(name) > PROJECT_LENGTH:
        raise ValidationError(field, f"expected at most {PROJECT_LENGTH} characters, got {len(name)}")
    return name


def check_ids(field: str, values: Iterable[str]) -> tuple[str, ...]:
    """A list of ids, such as cited chunks or tags."""
    ids = tuple(check_id(f"{field}[{index}]", value) for index, value in enumerate(check_list(field, values)))
    if sum(map(len, ids)) * 6 + len(ids) * 4 > LIST_BYTES:  # an escape takes six bytes; nearly all lists are short
        _check_size(field, ids, LIST_BYTES)
    return ids


def check_list(field: str, values: object) -> tuple[Any, ...]:
    """Several values, and not one text or mapping that happens to be iterable."""
    if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
        raise ValidationError(field, f"expected a list, got one {type(values).__name__}; wrap it in a list")
    return tuple(values)


def check_text(field: str, value: object, limits: Limits, *, may_be_blank: bool = False) -> str:
    """The text of a message: not blank, no NUL, no lone surrogate, not too large."""
    if not isinstance(value, str):
        raise ValidationError(field, f"expected text, got {type(value).__name__}")
    if not may_be_blank and not value.strip():
        raise ValidationError(field, "is empty or blank; give the words that were said")
    if "\x00" in value or not value.isascii():
        _check_characters(field, value)
    if len(value) * 4 > limits.text_bytes and len(value.encode()) > limits.text_bytes:
        raise ValidationError(field, f"is larger than {limits.text_bytes} bytes; shorten or split it", code="too_large")
    return value if type(value) is str else _plain(value)


def check_metadata(field: str, value: Mapping[str, Any] | None, limits: Limits) -> "Json":
    """A JSON object that can be stored and read back unchanged; returns a copy."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValidationError(field, f"expected a mapping of JSON values, got {type(value).__name__}")
    if not value:
        return {}
    try:
        _check_inside(field, value)
        text = json.dumps(dict(value), ensure_ascii=False, allow_nan=False)
        copy: Json = json.loads(text)
        _check_characters(field, text)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValidationError(field, f"is not JSON ({error}); use text, numbers, lists and mappings") from error
    if len(text.encode()) > limits.metadata_bytes:
        raise ValidationError(
            field, f"is larger than {limits.metadata_bytes} bytes as JSON; store less", code="too_large"
        )
    return copy


def check_tool_calls(field: str, value: object, role: str, limits: Limits) -> "tuple[Json, ...]":
    """Tool calls: mappings that are not empty, only in a message of an assistant."""
    calls = tuple(check_metadata(f"{field}[{n}]", call, limits) for n, call in enumerate(check_list(field, value)))
    if calls and role != "assistant":
        raise ValidationError(field, f"only an assistant calls tools, not a message of role {role!r}")
    for index, call in enumerate(calls):
        if not call:
            raise ValidationError(f"{field}[{index}]", "is empty; name the tool that is called")
    if len(calls) * limits.metadata_bytes > limits.text_bytes:
        _check_size(field, calls, limits.text_bytes)
    return calls


def check_number(field: str, value: object, *, least: int = 1) -> int:
    """A whole number of at least `least`, small enough for every store."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValidationError(field, f"expected a whole number, got {type(value).__name__}")
    if value < least:
        raise ValidationError(field, f"expected {least} or more, got {value}")
    if value > LARGEST:
        raise ValidationError(field, f"expected at most {LARGEST}")
    return value


def check_within(field: str, value: object, least: int, most: int) -> float:
    """A number from `least` to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not least <= value <= most:
        raise ValidationError(field, f"expected a number from {least} to {most}, got {value!r}")
    return float(value)


def check_time(field: str, value: object) -> datetime:
    """A moment with a time zone, returned in UTC to the microsecond."""
    if not isinstance(value, datetime):
        raise ValidationError(field, f"expected a datetime, got {type(value).__name__}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise ValidationError(field, "has no time zone; give an aware datetime, for instance in UTC")
    if not EARLIEST <= value <= LATEST:
        raise ValidationError(field, "is outside the years 1 to 9999")
    return value.astimezone(UTC)


def _plain(value: str) -> str:
    """A plain str: for example a member of an enumeration equals its text but may be written differently."""
    return value if type(value) is str else str.__str__(value)


def _check_size(field: str, values: tuple[Any, ...], most: int) -> None:
    if len(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode()) > most:
        raise ValidationError(field, f"is larger than {most} bytes as JSON; give fewer", code="too_large")


def _check_characters(field: str, value: str) -> None:
    if "\x00" in value:
        raise ValidationError(field, "contains a NUL character; remove it")
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise ValidationError(field, "contains a lone surrogate; give valid Unicode text") from error


def _check_inside(field: str, value: object, depth: int = 0) -> None:
    """Refuse what JSON would change silently: an escaped NUL, a number that is not finite, a key that is not text.

    Also too many levels of nesting.
    """
    if depth > DEEPEST:
        raise ValidationError(field, f"is nested more than {DEEPEST} levels deep; store it flatter")
    if isinstance(value, str):
        if "\x00" in value:
            raise ValidationError(field, "contains a NUL character; remove it")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise ValidationError(field, "contains a number that is not finite")
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if not isinstance(key, str):
                raise ValidationError(field, f"has a key that is not text ({type(key).__name__}); use text keys")
            _check_inside(field, key, depth + 1)
            _check_inside(field, inner, depth + 1)
    elif isinstance(value, list | tuple):
        for inner in value:
            _check_inside(field, inner, depth + 1)


_MOST_CHARACTERS = 8_000  # read by rules at each end of a message
_MOST_IN_A_ROW = 40  # blanks, or marks of one kind
_LONG_RUN = re.compile(r"\s{40,}|([^\w\s])\1{39,}")


def readable(message: str) -> str:
    """As much of a message as rules read, so that none takes long: the beginning and the end of a long one, where
    questions stand, and a few of many blanks or marks in a row. What is stored and sent to a model stays whole."""
    if len(message) > 2 * _MOST_CHARACTERS:
        message = f"{message[:_MOST_CHARACTERS]}\n{message[-_MOST_CHARACTERS:]}"
    return _LONG_RUN.sub(lambda run: run.group()[:_MOST_IN_A_ROW], message)
