"""Turns and sessions as database rows, for both SQL stores: the order of columns and the encoding.

Times are whole microseconds since 1970 in UTC; lists and mappings are JSON text. `details` is NULL for a turn without
tool calls, names and metadata of single messages. A row that cannot be read raises DamageError with its place.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from ricordo.errors import DamageError
from ricordo.records.derived import Source
from ricordo.records.service import Damage
from ricordo.records.turns import Message, Owner, SessionInfo, Turn, message_id
from ricordo.records.values import canonical
from ricordo.stores.archive.block import DamagedBlock, MessageRow
from ricordo.stores.topic_rules import unpacked, with_messages

BlockBodies = Callable[[str, Sequence[str]], Mapping[str, bytes]]  # session id, block ids -> the blocks' bytes

TURN_COLUMNS = (
    "session_id, turn_number, turn_id, agent_id, created_at, query, query_tokens, "
    "answered_at, response, response_tokens, chunk_ids, metadata, details, origin, counter, checksum, "
    "topic_id, block_id"
)

ENDLESS = 2**63 - 1  # above every number and every time that a column can hold

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def misnamed(owners: Iterable[tuple[bytes, str, str]]) -> list[Damage]:
    """Damage for each owner (key, tenant, user) whose key does not belong to the names: no call finds its data."""
    return [
        Damage(f"user {user_id!r} of tenant {tenant_id!r}", "has the key of other names; correct the names")
        for key, tenant_id, user_id in owners
        if Owner(tenant_id, user_id).key.bytes != key
    ]


def micros(moment: datetime) -> int:
    """Whole microseconds since 1970, exact for every year."""
    return (moment - _EPOCH) // _MICROSECOND


def moment(value: int) -> datetime:
    """The moment that `micros` came from."""
    return _EPOCH + _MICROSECOND * value


R = TypeVar("R")
Code = Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


def _sources(text: str) -> tuple[Source, ...]:
    return tuple(Source(*source) for source in json.loads(text))


def _quotes(sources: tuple[Source, ...]) -> str:
    return canonical([(source.message_id, source.session_id, source.quote) for source in sources])


def _codes(kind: Any, *, sparse: bool) -> tuple[Code, Code]:
    """How a field of this type is written to a column, and read from it; an empty mapping is NULL."""
    if kind == tuple[Source, ...]:
        return _quotes, _sources
    if str(kind).startswith("tuple["):
        read: Code = lambda text: tuple(json.loads(text)) if text else ()  # noqa: E731
        return (_unless_empty if sparse else canonical), read
    if str(kind).startswith("collections.abc.Mapping["):
        return _unless_empty, lambda text: json.loads(text) if text else {}
    known: dict[Any, tuple[Code, Code]] = {datetime: (micros, moment), bytes: (_same, bytes), bool: (_same, bool)}
    for each, (write, read) in known.items():
        if kind == each:
            return write, read
        if kind == each | None:
            return _unless_none(write), _unless_none(read)
    return _same, _same


def _unless_empty(value: Any) -> str | None:
    return canonical(value) if value else None


def _unless_none(code: Code) -> Code:
    return lambda value: None if value is None else code(value)


class RowFormat(Generic[R]):
    """The rows of one kind of record: its columns in order, each with the field that it holds.

    A column has the name of its field, unless `renamed` says otherwise. The first column that holds the field `id`
    names a record that cannot be read back. With `sparse` an empty list is NULL.
    """

    def __init__(
        self,
        kind: type[R],
        columns: str,
        renamed: Mapping[str, str] = MappingProxyType({}),
        *,
        make: Callable[..., R] | None = None,
        name: str = "",
        remedy: str = "run verify",
        sparse: bool = False,
    ) -> None:
        self._names = columns.split(", ")
        self.columns = columns
        paths = [renamed.get(column, column) for column in self._names]
        self._values = attrgetter(*paths)
        self._fields = [path.rpartition(".")[2] for path in paths]
        types = {each.name: each.type for each in fields(kind)}  # type: ignore[arg-type]
        codes = [_codes(types.get(path), sparse=sparse) for path in paths]
        self._write = [write for write, _ in codes]
        self._read = [(field, read) for field, (_, read) in zip(self._fields, codes, strict=True) if read is not _same]
        self._make, self._name, self._remedy = make or kind, name or kind.__name__.lower(), remedy

    def by_place(self, *key: str) -> str:
        """The columns and values of an insert for `write`, after those of the key: by default the owner."""
        names = (*(key or ("owner",)), *self._names)
        return f"({', '.join(names)}) VALUES ({', '.join('?' * len(names))})"

    def by_name(self, *key: str) -> str:
        """The same for `named`."""
        names = (*(key or ("owner",)), *self._names)
        return f"({', '.join(names)}) VALUES ({', '.join(f'%({name})s' for name in names)})"

    def overwritten(self, *key: str) -> str:
        """The assignments of an insert that meets an existing row: all columns but those of its key."""
        return ", ".join(f"{name} = excluded.{name}" for name in self._names if name not in key)

    def write(self, record: R) -> tuple[Any, ...]:
        """Values for the columns."""
        return tuple([write(value) for write, value in zip(self._write, self._values(record), strict=True)])

    def named(self, record: R) -> dict[str, Any]:
        """The same by column."""
        return dict(zip(self._names, self.write(record), strict=True))

    def read(self, row: Any, **known: Any) -> R:
        """The record behind one row of the columns; `known` are fields that have none."""
        try:
            found = dict(zip(self._fields, row, strict=True))
            return self._make(**found | {field: read(found[field]) for field, read in self._read}, **known)
        except (ValueError, TypeError, OverflowError) as error:
            place = row[self._fields.index("id")] if "id" in self._fields else row[0]
            raise DamageError(f"{self._name} {place!r} cannot be read back ({error}); {self._remedy}") from error

    def first(self, rows: Sequence[Any]) -> R | None:
        """The record behind the first row, if there is one."""
        return self.read(rows[0]) if rows else None


def turn_to_row(turn: Turn) -> tuple[Any, ...]:
    """Values for TURN_COLUMNS."""
    question, answer = turn.question, turn.answer
    asked_at = answered_at = micros(turn.created_at)
    if answer and answer.created_at is not turn.created_at:
        answered_at = micros(answer.created_at)
    return (
        turn.session_id, turn.turn_number, turn.id, turn.agent_id, asked_at,
        question.content if question else None, question.tokens if question else 0,
        answered_at if answer else None, answer.content if answer else None, answer.tokens if answer else 0,
        canonical(answer.chunk_ids) if answer and answer.chunk_ids else None,
        canonical(turn.metadata) if turn.metadata else None, _details(turn),
        turn.origin, turn.counter, turn.checksum, turn.topic_id,
        None,  # only `archive` moves text to a block
    )  # fmt: skip


def row_to_turn(owner: Owner, row: Any) -> Turn:
    """The turn behind one row of TURN_COLUMNS."""
    (
        session_id, number, turn_id, agent_id, created, query, query_tokens,
        answered, response, response_tokens, chunk_ids, metadata, details, origin, counter, checksum,
        topic_id, block_id,
    ) = row  # fmt: skip
    try:
        created_at = moment(created)
        question = answer = None
        if query is not None:
            question = Message(message_id(turn_id, "query"), "user", query, created_at, query_tokens)
        if response is not None:
            cited = tuple(json.loads(chunk_ids)) if chunk_ids else ()
            answer = Message(
                message_id(turn_id, "response"), "assistant", response, moment(answered), response_tokens, cited,
            )  # fmt: skip
        steps: tuple[Message, ...] = ()
        if details:
            extra = json.loads(details)
            question = _dressed(question, extra.get("query"))
            answer = _dressed(answer, extra.get("response"))
            steps = tuple(_step(turn_id, n, step) for n, step in enumerate(extra.get("steps", ()), start=1))
        return Turn(
            turn_id, owner, agent_id, session_id, number, created_at, question, answer, steps,
            json.loads(metadata) if metadata else {}, origin, counter, checksum, topic_id, block_id,
            block_id is not None and query is None and response is None and details is None,
        )  # fmt: skip
    except (ValueError, TypeError, KeyError, OverflowError, AttributeError) as error:
        raise DamageError(
            f"turn {number} of session {session_id!r} cannot be read back ({error}); run verify"
        ) from error


def plain_turns(owner: Owner, rows: Sequence[Any]) -> list[Turn]:
    """The turns of rows. Those of a short page are cached, because every context of a session reads them again.

    A turn with metadata, which a caller could change, is not cached, nor one whose words are in a block.
    """

    def is_kept(row: Any) -> bool:
        query, response, metadata, details = row[5], row[8], row[11], row[12]
        return not (metadata or details) and 0 < len(query or "") + len(response or "") <= LONGEST_KEPT

    short = len(rows) <= SHORT_PAGE
    return [kept_turn(owner, row) if short and is_kept(row) else row_to_turn(owner, row) for row in rows]


SHORT_PAGE = 64  # turns
LONGEST_KEPT = 4_000  # characters
kept_turn = lru_cache(maxsize=1_024)(row_to_turn)


def rows_to_turns(owner: Owner, rows: Iterable[Any], bodies: BlockBodies) -> list[Turn]:
    """The turns of rows; the text of archived turns is read from their blocks.

    A turn whose block is damaged has no text, and `damage` says why; the other turns are complete.
    """
    turns = plain_turns(owner, list(rows))
    wanted: dict[str, dict[str, None]] = {}
    for turn in turns:
        if turn.archived:
            wanted.setdefault(turn.session_id, {})[turn.block_id or ""] = None
    words: dict[tuple[str, str], Mapping[str, tuple[MessageRow, ...]] | DamagedBlock] = {}
    for session_id, block_ids in wanted.items():
        found = bodies(session_id, list(block_ids))
        for block_id in block_ids:
            words[session_id, block_id] = _words(block_id, found.get(block_id))
    return [_spoken(turn, words[turn.session_id, turn.block_id or ""]) if turn.archived else turn for turn in turns]


def _words(block_id: str, body: bytes | None) -> Mapping[str, tuple[MessageRow, ...]] | DamagedBlock:
    try:
        if body is None:
            raise DamagedBlock(block_id, "it is gone")
        return unpacked(block_id, body)
    except DamagedBlock as error:
        return error


def _spoken(turn: Turn, words: Mapping[str, tuple[MessageRow, ...]] | DamagedBlock) -> Turn:
    if isinstance(words, dict):
        if turn.id in words:
            return with_messages(turn, words[turn.id])
        words = DamagedBlock(turn.block_id or "", f"it does not contain turn {turn.turn_number}")
    return replace(turn, damage=str(words))


SESSION_ROWS = RowFormat(
    SessionInfo,
    "session_id, agent_id, created_at, last_active_at, last_turn, turn_count, revision, "
    "title, document_ids, tags, metadata, ended_at",
    {"session_id": "id"},
    name="session",
    sparse=True,
)


def texts_in(value: Any) -> set[str]:
    """All texts in a JSON value, without keys. In a receipt, digests of passages are among them."""
    if isinstance(value, str):
        return {value}
    if isinstance(value, dict):
        value = list(value.values())
    return set().union(*(texts_in(inner) for inner in value)) if isinstance(value, list) else set()


def _details(turn: Turn) -> str | None:
    details: dict[str, Any] = {}
    for part, message in (("query", turn.question), ("response", turn.answer)):
        if message and (message.metadata or message.tool_calls or message.tool_call_id or message.name):
            details[part] = _extra(message)
    if turn.steps:
        details["steps"] = [
            {"role": step.role, "content": step.content, "created_at": micros(step.created_at), "tokens": step.tokens,
             "chunk_ids": step.chunk_ids, **_extra(step)}
            for step in turn.steps
        ]  # fmt: skip
    return canonical(details) if details else None


def _extra(message: Message) -> dict[str, Any]:
    """The fields that a plain message does not have."""
    names = ("metadata", "tool_calls", "tool_call_id", "name")
    return {name: value for name in names if (value := getattr(message, name))}


def _dressed(message: Message | None, extra: dict[str, Any] | None) -> Message | None:
    if message is None or not extra:
        return message
    return Message(
        message.id, message.role, message.content, message.created_at, message.tokens, message.chunk_ids,
        extra.get("metadata", {}), tuple(extra.get("tool_calls", ())), extra.get("tool_call_id"), extra.get("name"),
    )  # fmt: skip


def _step(turn_id: str, number: int, step: dict[str, Any]) -> Message:
    plain = Message(
        message_id(turn_id, number), step["role"], step["content"], moment(step["created_at"]), step["tokens"],
        tuple(step["chunk_ids"]),
    )  # fmt: skip
    dressed = _dressed(plain, step)
    assert dressed is not None
    return dressed
