"""Turns and sessions as database rows, for both SQL stores: the order of columns and the encoding.

Times are whole microseconds since 1970 in UTC; lists and mappings are JSON text. `details` is NULL for a turn without
tool calls, names and metadata of single messages. A row that cannot be read raises DamageError with its place.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any

from ricordo.errors import DamageError
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
SESSION_COLUMNS = (
    "session_id, agent_id, created_at, last_active_at, last_turn, turn_count, revision, "
    "title, document_ids, tags, metadata, ended_at"
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


def whole_turns(owner: Owner, rows: Iterable[Any]) -> list[Turn]:
    """The turns of rows that end with the bytes of their block, where the text of a turn is only there."""
    found = list(rows)
    bodies: dict[str, dict[str, bytes]] = {}
    for session_id, *_, block_id, body in found:
        if body is not None:
            bodies.setdefault(session_id, {})[block_id] = body
    return rows_to_turns(owner, [row[:-1] for row in found], lambda session_id, _: bodies.get(session_id, {}))


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


def session_to_row(session: SessionInfo) -> tuple[Any, ...]:
    """Values for SESSION_COLUMNS."""
    return (
        session.id, session.agent_id, micros(session.created_at), micros(session.last_active_at), session.last_turn,
        session.turn_count, session.revision, session.title,
        canonical(session.document_ids) if session.document_ids else None,
        canonical(session.tags) if session.tags else None, canonical(session.metadata) if session.metadata else None,
        micros(session.ended_at) if session.ended_at else None,
    )  # fmt: skip


def row_to_session(owner: Owner, row: Any) -> SessionInfo:
    """The session behind one row of SESSION_COLUMNS."""
    (
        session_id, agent_id, created, active, last_turn, turn_count, revision,
        title, document_ids, tags, metadata, ended,
    ) = row  # fmt: skip
    try:
        return SessionInfo(
            session_id, owner, agent_id, moment(created), moment(active), last_turn, turn_count, revision, title,
            tuple(json.loads(document_ids)) if document_ids else (),
            tuple(json.loads(tags)) if tags else (),
            json.loads(metadata) if metadata else {},
            moment(ended) if ended is not None else None,
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"session {session_id!r} cannot be read back ({error}); run verify") from error


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
