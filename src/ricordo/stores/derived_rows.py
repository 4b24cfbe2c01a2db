"""Database rows of derived records and of a server's records, for both SQL stores.

In: a record. Out: the values of its columns, and the record again. Topics and blocks; facts, summaries and flags;
documents, API keys and jobs. Turns and sessions are in `turn_rows`.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from datetime import datetime
from functools import lru_cache
from operator import attrgetter
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from ricordo.errors import DamageError
from ricordo.records.derived import Fact, Flag, Source, Summary, Topic
from ricordo.records.service import ApiKey, Document, Job, StoredChunk
from ricordo.records.turns import Block, IndexedTurn, Owner, SessionMark, Turn, TurnVectors
from ricordo.records.values import canonical
from ricordo.stores.turn_rows import micros, moment

R = TypeVar("R")
Code = Callable[[Any], Any]


def _same(value: Any) -> Any:
    return value


def _list(text: str) -> tuple[Any, ...]:
    return tuple(json.loads(text))


def _sources(text: str) -> tuple[Source, ...]:
    return tuple(Source(*source) for source in json.loads(text))


def _quotes(sources: tuple[Source, ...]) -> str:
    return canonical([(source.message_id, source.session_id, source.quote) for source in sources])


def _codes(kind: Any) -> tuple[Code, Code]:
    """How a field of this type is written to a column, and read from it."""
    if kind == tuple[Source, ...]:
        return _quotes, _sources
    if str(kind).startswith("tuple["):
        return canonical, _list
    if str(kind).startswith("collections.abc.Mapping["):
        return lambda value: canonical(value) if value else None, lambda text: json.loads(text) if text else {}
    known: dict[Any, tuple[Code, Code]] = {datetime: (micros, moment), bytes: (_same, bytes), bool: (_same, bool)}
    for each, (write, read) in known.items():
        if kind == each:
            return write, read
        if kind == each | None:
            return _unless_none(write), _unless_none(read)
    return _same, _same


def _unless_none(code: Code) -> Code:
    return lambda value: None if value is None else code(value)


class RowFormat(Generic[R]):
    """The rows of one kind of record: its columns in order, each with the field that it holds.

    A column has the name of its field, unless `renamed` says otherwise. The first column that holds the field `id`
    names a record that cannot be read back. `marks` and `parameters` stand for the values in a statement.
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
    ) -> None:
        self._names = columns.split(", ")
        self.columns = columns
        self.marks = ", ".join("?" * len(self._names))
        self.parameters = ", ".join(f"%({name})s" for name in self._names)
        paths = [renamed.get(column, column) for column in self._names]
        self._values = attrgetter(*paths)
        self._fields = [path.rpartition(".")[2] for path in paths]
        types = {each.name: each.type for each in fields(kind)}  # type: ignore[arg-type]
        codes = [_codes(types.get(path)) for path in paths]
        self._write = [write for write, _ in codes]
        self._read = [(field, read) for field, (_, read) in zip(self._fields, codes, strict=True) if read is not _same]
        self._make, self._name, self._remedy = make or kind, name or kind.__name__.lower(), remedy

    def overwritten(self, *key: str) -> str:
        """The assignments of an insert that meets an existing row: all columns but those of its key."""
        return ", ".join(f"{name} = excluded.{name}" for name in self._names if name not in key)

    def write(self, record: R) -> tuple[Any, ...]:
        """Values for the columns."""
        return tuple([write(value) for write, value in zip(self._write, self._values(record), strict=True)])

    def named(self, record: R) -> dict[str, Any]:
        """The same by column."""
        return dict(zip(self._names, self.write(record), strict=True))

    def read(self, row: Any) -> R:
        """The record behind one row of the columns."""
        try:
            found = dict(zip(self._fields, row, strict=True))
            return self._make(**found | {field: read(found[field]) for field, read in self._read})
        except (ValueError, TypeError, OverflowError) as error:
            place = row[self._fields.index("id")] if "id" in self._fields else row[0]
            raise DamageError(f"{self._name} {place!r} cannot be read back ({error}); {self._remedy}") from error

    def first(self, rows: Sequence[Any]) -> R | None:
        """The record behind the first row, if there is one."""
        return self.read(rows[0]) if rows else None


TOPIC_ROWS = RowFormat(
    Topic,
    "topic_id, title, centre, embedder, created_at, last_active_at, importance, access_count, message_count, "
    "archived_count, restored_count, hot, tags, summary, state",
    {"topic_id": "id"},
)
BLOCK_ROWS = RowFormat(
    Block, "block_id, topic_id, turn_numbers, created_at, body", {"block_id": "id"}, name="archive block"
)
FACT_ROWS = RowFormat(
    Fact,
    "agent_id, fact_id, kind, text, about, digest, language, sources, recorded_at, valid_from, valid_to, "
    "superseded_by, made_by, origin, forgotten, pinned, confidence",
    {"fact_id": "id"},
)
SUMMARY_ROWS = RowFormat(
    Summary,
    "session_id, summary_id, agent_id, kind, text, first_turn, last_turn, topics, created_at, tokens, counter, "
    "made_by, origin",
    {"summary_id": "id"},
)
FLAG_ROWS = RowFormat(
    Flag, "flag_id, subject, subject_id, session_id, rules, origin, state, created_at", {"flag_id": "id"}
)
DOCUMENT_ROWS = RowFormat(
    Document,
    "document_id, title, kind, digest, created_at, chunk_count, bytes, metadata",
    {"document_id": "id"},
    remedy="delete and add it again",
)
CHUNK_ROWS = RowFormat(
    StoredChunk,
    "document_id, position, chunk_id, text, heading, start_at, end_at, page, vector, embedder",
    {"chunk_id": "id", "start_at": "start", "end_at": "end"},
    name="chunk",
    remedy="delete its document and add it again",
)
KEY_ROWS = RowFormat(
    ApiKey,
    "key_id, tenant_id, user_id, name, digest, created_at, last_used_at, revoked_at, scopes",
    {"key_id": "id"},
    name="API key",
    remedy="make a new one",
)
JOB_ROWS = RowFormat(
    Job,
    "kind, session_id, tenant_id, user_id, due_at, attempts, leased_until, leased_by, last_error, again_at",
    {"tenant_id": "owner.tenant_id", "user_id": "owner.user_id"},
    make=lambda tenant_id, user_id, **known: Job(Owner(tenant_id, user_id), **known),
)

# All facts of a user are read with every question, so the latest ones are cached; erasing clears the cache.
kept_fact = lru_cache(maxsize=4_096)(FACT_ROWS.read)

INDEXED_COLUMNS = "session_id, turn_number, turn_id, agent_id, created_at, answered_at, checksum, topic_id"


def indexed_turn(turn: Turn, vectors: TurnVectors | None) -> IndexedTurn:
    valid = vectors if vectors and vectors.checksum == turn.checksum else None
    return IndexedTurn(
        turn.session_id, turn.turn_number, turn.id, turn.agent_id, micros(turn.created_at),
        micros(turn.answer.created_at) if turn.answer else None, turn.checksum, turn.topic_id,
        valid.body if valid else b"", valid.words if valid else b"",
    )  # fmt: skip


def rows_to_marks(rows: Any) -> dict[str, SessionMark]:
    """Marks by session from rows of session, revision, newest number and count."""
    return {session_id: SessionMark(*numbers) for session_id, *numbers in rows}
