"""Database rows of derived records and of a server's records, for both SQL stores.

In: a record. Out: the values of its columns, and the record again. Topics, blocks and vectors; facts, summaries and
flags; documents, API keys and jobs. Turns and sessions are in `turn_rows`.
"""

import json
from functools import lru_cache
from typing import Any

from ricordo.errors import DamageError
from ricordo.records.derived import Fact, Flag, Source, Summary, Topic
from ricordo.records.service import ApiKey, Document, Job, StoredChunk
from ricordo.records.turns import Block, IndexedTurn, Owner, SessionMark, Turn, TurnVectors
from ricordo.records.values import canonical
from ricordo.stores.turn_rows import micros, moment

TOPIC_COLUMNS = (
    "topic_id, title, centre, embedder, created_at, last_active_at, importance, access_count, message_count, "
    "archived_count, restored_count, hot, tags, summary, state"
)
BLOCK_COLUMNS = "block_id, topic_id, turn_numbers, created_at, body"


def topic_to_row(topic: Topic) -> tuple[Any, ...]:
    """Values for TOPIC_COLUMNS."""
    return (
        topic.id, topic.title, topic.centre, topic.embedder, micros(topic.created_at), micros(topic.last_active_at),
        topic.importance, topic.access_count, topic.message_count, topic.archived_count, topic.restored_count,
        canonical(topic.hot), canonical(topic.tags), topic.summary, topic.state,
    )  # fmt: skip


def row_to_topic(row: Any) -> Topic:
    """The topic behind one row of TOPIC_COLUMNS."""
    (
        topic_id, title, centre, embedder, created, active, importance, accesses, messages,
        archived, restored, hot, tags, summary, state,
    ) = row  # fmt: skip
    try:
        return Topic(
            topic_id, title, bytes(centre), moment(created), moment(active), embedder, importance, accesses, messages,
            archived, restored, tuple(json.loads(hot)), tuple(json.loads(tags)), summary, state,
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"topic {topic_id!r} cannot be read back ({error}); run verify") from error


def block_to_row(block: Block) -> tuple[Any, ...]:
    """Values for BLOCK_COLUMNS."""
    return block.id, block.topic_id, canonical(block.turn_numbers), micros(block.created_at), block.body


def row_to_block(row: Any) -> Block:
    """The block behind one row of BLOCK_COLUMNS."""
    block_id, topic_id, turn_numbers, created, body = row
    try:
        return Block(block_id, topic_id, tuple(json.loads(turn_numbers)), moment(created), bytes(body))
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"archive block {block_id!r} cannot be read back ({error}); run verify") from error


INDEXED_COLUMNS = "session_id, turn_number, turn_id, agent_id, created_at, answered_at, checksum, topic_id"


def indexed_turn(turn: Turn, vectors: TurnVectors | None) -> IndexedTurn:
    """The indexed form of a turn."""
    valid = vectors if vectors and vectors.checksum == turn.checksum else None
    return IndexedTurn(
        turn.session_id, turn.turn_number, turn.id, turn.agent_id, micros(turn.created_at),
        micros(turn.answer.created_at) if turn.answer else None, turn.checksum, turn.topic_id,
        valid.body if valid else b"", valid.words if valid else b"",
    )  # fmt: skip


def rows_to_marks(rows: Any) -> dict[str, SessionMark]:
    """Marks by session from rows of session, revision, newest number and count."""
    return {session_id: SessionMark(*numbers) for session_id, *numbers in rows}


FACT_COLUMNS = (
    "agent_id, fact_id, kind, text, about, digest, language, sources, recorded_at, valid_from, valid_to, "
    "superseded_by, made_by, origin, forgotten, pinned, confidence"
)
SUMMARY_COLUMNS = (
    "session_id, summary_id, agent_id, kind, text, first_turn, last_turn, topics, created_at, tokens, counter, "
    "made_by, origin"
)
FLAG_COLUMNS = "flag_id, subject, subject_id, session_id, rules, origin, state, created_at"


def fact_to_row(fact: Fact) -> tuple[Any, ...]:
    """Values for FACT_COLUMNS."""
    return (
        fact.agent_id, fact.id, fact.kind, fact.text, fact.about, fact.digest, fact.language,
        canonical([(source.message_id, source.session_id, source.quote) for source in fact.sources]),
        micros(fact.recorded_at), micros(fact.valid_from), None if fact.valid_to is None else micros(fact.valid_to),
        fact.superseded_by, fact.made_by, fact.origin, fact.forgotten, fact.pinned, fact.confidence,
    )  # fmt: skip


@lru_cache(maxsize=4_096)
def row_to_fact(row: tuple[Any, ...]) -> Fact:
    """The fact behind one row of FACT_COLUMNS.

    All facts of a user are read with every question, so the latest ones are cached; erasing clears the cache.
    """
    (
        agent_id, fact_id, kind, text, about, digest, language, sources, recorded, valid_from, valid_to,
        superseded_by, made_by, origin, forgotten, pinned, confidence,
    ) = row  # fmt: skip
    try:
        return Fact(
            fact_id, agent_id, kind, text, about, digest, language,
            tuple(Source(*source) for source in json.loads(sources)),
            moment(recorded), moment(valid_from), None if valid_to is None else moment(valid_to),
            superseded_by, made_by, origin, bool(forgotten), bool(pinned), confidence,
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"fact {fact_id!r} cannot be read back ({error}); run verify") from error


def summary_to_row(summary: Summary) -> tuple[Any, ...]:
    """Values for SUMMARY_COLUMNS."""
    return (
        summary.session_id, summary.id, summary.agent_id, summary.kind, summary.text, summary.first_turn,
        summary.last_turn, canonical(summary.topics), micros(summary.created_at), summary.tokens, summary.counter,
        summary.made_by, summary.origin,
    )  # fmt: skip


def row_to_summary(row: Any) -> Summary:
    """The summary behind one row of SUMMARY_COLUMNS."""
    session_id, summary_id, agent_id, kind, text, first, last, topics, created, tokens, counter, made_by, origin = row
    try:
        return Summary(
            summary_id, session_id, agent_id, kind, text, first, last, tuple(json.loads(topics)), moment(created),
            tokens, counter, made_by, origin,
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"summary {summary_id!r} cannot be read back ({error}); run verify") from error


def flag_to_row(flag: Flag) -> tuple[Any, ...]:
    """Values for FLAG_COLUMNS."""
    return (
        flag.id, flag.subject, flag.subject_id, flag.session_id, canonical(flag.rules), flag.origin, flag.state,
        micros(flag.created_at),
    )  # fmt: skip


def row_to_flag(row: Any) -> Flag:
    """The flag behind one row of FLAG_COLUMNS."""
    flag_id, subject, subject_id, session_id, rules, origin, state, created = row
    try:
        return Flag(
            flag_id, subject, subject_id, session_id, tuple(json.loads(rules)), origin, state, moment(created)
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"flag {flag_id!r} cannot be read back ({error}); run verify") from error


DOCUMENT_COLUMNS = "document_id, title, kind, digest, created_at, chunk_count, bytes, metadata"
CHUNK_COLUMNS = "document_id, position, chunk_id, text, heading, start_at, end_at, page, vector, embedder"
KEY_COLUMNS = "key_id, tenant_id, user_id, name, digest, created_at, last_used_at, revoked_at, scopes"
JOB_COLUMNS = "kind, session_id, tenant_id, user_id, due_at, attempts, leased_until, leased_by, last_error, again_at"


def document_to_row(document: Document) -> tuple[Any, ...]:
    """Values for DOCUMENT_COLUMNS."""
    return (
        document.id, document.title, document.kind, document.digest, micros(document.created_at),
        document.chunk_count, document.bytes, canonical(document.metadata) if document.metadata else None,
    )  # fmt: skip


def row_to_document(row: Any) -> Document:
    """The document behind one row of DOCUMENT_COLUMNS."""
    document_id, title, kind, digest, created, chunk_count, size, metadata = row
    try:
        return Document(
            document_id, title, kind, digest, moment(created), chunk_count, size,
            json.loads(metadata) if metadata else {},
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"document {document_id!r} cannot be read back ({error}); delete and add it again") from error


def chunk_to_row(chunk: StoredChunk) -> tuple[Any, ...]:
    """Values for CHUNK_COLUMNS."""
    return (
        chunk.document_id, chunk.position, chunk.id, chunk.text, chunk.heading, chunk.start, chunk.end, chunk.page,
        chunk.vector, chunk.embedder,
    )  # fmt: skip


def row_to_chunk(row: Any) -> StoredChunk:
    """The chunk behind one row of CHUNK_COLUMNS."""
    document_id, position, chunk_id, text, heading, start, end, page, vector, embedder = row
    body = None if vector is None else bytes(vector)
    return StoredChunk(chunk_id, document_id, position, text, heading, start, end, page, body, embedder)


def key_to_row(key: ApiKey) -> tuple[Any, ...]:
    """Values for KEY_COLUMNS."""
    return (
        key.id, key.tenant_id, key.user_id, key.name, key.digest, micros(key.created_at),
        None if key.last_used_at is None else micros(key.last_used_at),
        None if key.revoked_at is None else micros(key.revoked_at), canonical(key.scopes),
    )  # fmt: skip


def row_to_key(row: Any) -> ApiKey:
    """The key behind one row of KEY_COLUMNS."""
    key_id, tenant_id, user_id, name, digest, created, used, revoked, scopes = row
    try:
        return ApiKey(
            key_id, tenant_id, user_id, name, digest, moment(created),
            None if used is None else moment(used), None if revoked is None else moment(revoked),
            tuple(json.loads(scopes)),
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"API key {key_id!r} cannot be read back ({error}); make a new one") from error


def job_to_row(job: Job) -> tuple[Any, ...]:
    """Values for JOB_COLUMNS."""
    return (
        job.kind, job.session_id, job.owner.tenant_id, job.owner.user_id,
        None if job.due_at is None else micros(job.due_at), job.attempts,
        None if job.leased_until is None else micros(job.leased_until), job.leased_by, job.last_error,
        None if job.again_at is None else micros(job.again_at),
    )  # fmt: skip


def row_to_job(row: Any) -> Job:
    """The job behind one row of JOB_COLUMNS."""
    kind, session_id, tenant_id, user_id, due, attempts, until, leased_by, last_error, again = row
    return Job(
        Owner(tenant_id, user_id), kind, session_id, None if due is None else moment(due), attempts,
        None if until is None else moment(until), leased_by, last_error, None if again is None else moment(again),
    )  # fmt: skip
