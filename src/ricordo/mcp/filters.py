"""Which memories a call is about, from `filters`: plain fields, or a list of them under AND. Pure.

What is not understood is refused by name: a filter that is passed over would show more than was asked for.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from ricordo.errors import ValidationError
from ricordo.limits import check_id, check_ids

FIELDS = ("user_id", "agent_id", "run_id", "session_id", "kind", "role", "topic_id", "tags", "created_at")


@dataclass(frozen=True, slots=True)
class Filter:
    """What memories must be; None leaves a field open."""

    agent_id: str | None = None
    session_id: str | None = None
    kind: str | None = None
    role: str | None = None
    topic_id: str | None = None
    tags: tuple[str, ...] = ()
    after: datetime | None = None
    before: datetime | None = None

    @property
    def facts(self) -> bool:
        """Whether facts can be meant: they have no role, topic or tags."""
        return self.kind != "message" and not (self.role or self.topic_id or self.tags)

    @property
    def messages(self) -> bool:
        """Whether messages can be meant."""
        return self.kind != "fact"

    def covers(self, moment: datetime) -> bool:
        """Whether a moment lies in the time that is asked for."""
        return (self.after is None or moment >= self.after) and (self.before is None or moment < self.before)


def read_filters(given: Mapping[str, Any] | None, must_be: Callable[[str, object], None]) -> Filter:
    """The filter that is meant; `must_be` refuses a user that is not the one."""
    values: dict[str, Any] = {}
    for field, value in _conditions(given or {}):
        where = f"filters.{field}"
        if field == "user_id":
            must_be(where, value)
            continue
        name = "session_id" if field == "run_id" else field
        read = _times(where, value) if field == "created_at" else {name: _checked(where, field, value)}
        for key, wanted in read.items():
            if values.setdefault(key, wanted) != wanted:
                raise ValidationError(where, "is asked for twice, with two values")
    return Filter(**values)


def _conditions(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for field, value in given.items():
        if field == "AND":
            if not isinstance(value, list) or not all(isinstance(each, Mapping) for each in value):
                raise ValidationError("filters.AND", "expected a list of conditions")
            for each in value:
                if "AND" in each:
                    raise ValidationError("filters.AND", "one level is understood")
                yield from _conditions(each)
        elif field in FIELDS:
            yield field, value
        else:
            raise ValidationError(f"filters.{field[:40]}", f"is not understood; use AND, {', '.join(FIELDS)}")


def _checked(where: str, field: str, value: Any) -> Any:
    if field == "tags":
        return check_ids(where, value)
    if field == "kind" and value not in ("fact", "message"):
        raise ValidationError(where, "expected fact or message")
    return check_id(where, value)


def _times(where: str, value: Any) -> dict[str, datetime]:
    if not isinstance(value, Mapping) or not value or set(value) - {"gte", "lt"}:
        raise ValidationError(where, 'expected {"gte": TIME} or {"lt": TIME}, or both')
    return {{"gte": "after", "lt": "before"}[key]: _time(f"{where}.{key}", text) for key, text in value.items()}


def _time(where: str, text: Any) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).astimezone(UTC)
    except (TypeError, ValueError, OverflowError):
        raise ValidationError(where, "expected a time such as 2026-05-01T10:00:00Z") from None
