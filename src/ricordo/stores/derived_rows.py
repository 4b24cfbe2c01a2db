"""Database rows of derived records and of a server's records, for both SQL stores.

In: a record. Out: the values of its columns, and the record again. Topics and blocks; facts, summaries and flags;
documents, API keys and jobs. Turns and sessions are in `turn_rows`.
"""

from functools import lru_cache
from typing import Any

from ricordo.records.derived import Fact, Flag, Summary, Topic
from ricordo.records.service import ApiKey, Document, Job, StoredChunk
from ricordo.records.turns import Block, IndexedTurn, Owner, SessionMark, Turn, TurnVectors
from ricordo.stores.turn_rows import RowFormat, micros

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
