"""What a write means where something stands already: the decisions every store shares, without a database.

In: what comes and what is stored. Out: what is to be stored, or a ConflictError. `merged is stored` tells
a store that nothing has to be written.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ricordo.errors import ConflictError, ValidationError
from ricordo.records import Message, SessionChanges, SessionInfo, Turn, message_id
from ricordo.stores.shelving import as_new


def merge_repeat(turn: Turn, stored: Turn) -> Turn:
    """The same turn id again: the stored turn, answered if only now the answer came."""
    if not turn.repeats(stored):
        raise ConflictError(
            f"turn id {turn.id!r} is taken by other content (turn {stored.turn_number} of session "
            f"{stored.session_id!r}); use a new id for a new turn"
        )
    if turn.answer is None or stored.answer is not None:
        return stored
    return merge_answer(stored, turn.answer, dict(turn.metadata))


def merge_answer(stored: Turn, answer: Message, metadata: dict[str, object]) -> Turn:
    """An answer for a turn: written once, never overwritten."""
    answer = replace(answer, id=message_id(stored.id, "response"))
    if stored.answer is None:
        return stored.answered(answer, metadata)
    if answer.says_the_same(stored.answer) and stored.carries(metadata):
        return stored
    raise ConflictError(
        f"turn {stored.turn_number} of session {stored.session_id!r} has another answer already; "
        "an answer is never overwritten"
    )


def check_expected(expected: int | None, next_number: int, session_id: str) -> None:
    """Refuse a write that counts on another number than the next one."""
    if expected is not None and expected != next_number:
        raise ConflictError(
            f"turn_number {expected} is not the next of session {session_id!r} (that is {next_number}); "
            "read the session again or leave the number out"
        )


def new_session(turn: Turn) -> SessionInfo:
    """The session that a first turn makes, before the turn is in it."""
    return SessionInfo(turn.session_id, turn.owner, turn.agent_id, turn.created_at, turn.created_at)


def loaded_session(session: SessionInfo) -> SessionInfo:
    """An imported session before its turns are in: what is derived from turns starts from nothing."""
    return replace(session, last_turn=0, turn_count=0, revision=0)


def touched(session: SessionInfo, turn: Turn, *, turn_count: int) -> SessionInfo:
    """A session after a turn of it was written."""
    said = [message.created_at for message in turn.messages]
    return replace(
        session,
        last_turn=max(session.last_turn, turn.turn_number),
        turn_count=turn_count,
        revision=session.revision + 1,
        last_active_at=max(session.last_active_at, turn.created_at, *said),
        ended_at=None,
    )


def changed(session: SessionInfo, changes: SessionChanges) -> SessionInfo:
    """A session with the given fields set."""
    return replace(
        session,
        title=session.title if changes.title is None else changes.title,
        document_ids=session.document_ids if changes.document_ids is None else changes.document_ids,
        tags=session.tags if changes.tags is None else changes.tags,
        metadata=session.metadata if changes.metadata is None else changes.metadata,
        ended_at=session.ended_at if changes.ended_at is None else changes.ended_at,
        revision=session.revision + 1,
    )


def prepared(session: SessionInfo, turns: Iterable[Turn]) -> list[Turn]:
    """The turns of an import, plain and sealed; refused if one of them belongs elsewhere."""
    sealed = []
    for turn in turns:
        if turn.owner != session.owner or turn.session_id != session.id:
            raise ValidationError(
                "session_id", f"turn {turn.turn_number} (id {turn.id!r}) is not of session {session.id!r}"
            )
        sealed.append(as_new(turn).sealed())
    return sealed


def grown(session: SessionInfo, fresh: Sequence[Turn]) -> SessionInfo:
    """A session after turns were loaded into it: what derives from turns changes, its own fields stay."""
    said = [message.created_at for turn in fresh for message in turn.messages]
    return replace(
        session,
        last_turn=max([session.last_turn, *(turn.turn_number for turn in fresh)]),
        turn_count=session.turn_count + len(fresh),
        revision=session.revision + len(fresh),
        last_active_at=max([session.last_active_at, *(turn.created_at for turn in fresh), *said]),
    )


def already_loaded(turn: Turn, at_number: Turn | None, by_id: Turn | None) -> bool:
    """Whether an imported turn stands there unchanged; ConflictError if something else does."""
    if at_number is None and by_id is None:
        return False
    for stored in (at_number, by_id):
        if stored is None or stored.sealed().checksum != turn.sealed().checksum:
            raise ConflictError(
                f"turn {turn.turn_number} of session {turn.session_id!r} (id {turn.id!r}) meets other content "
                "under its number or id; import into another session or user"
            )
    return True


def check_loaded(session_id: str, numbers: Sequence[int], fresh: Sequence[Turn]) -> None:
    """Refuse an import that brings an id or a number twice, or a number below 1.

    Numbers may have gaps: a session that forgot some of its turns comes back as it was.
    """
    if len({turn.id for turn in fresh}) != len(fresh):
        raise ConflictError(f"session {session_id!r} would hold a turn id twice; give every turn its own id")
    wanted = [*numbers, *(turn.turn_number for turn in fresh)]
    if wanted and min(wanted) < 1:
        raise ValidationError("turn_number", f"expected 1 or more, got {min(wanted)}")
    if len(set(wanted)) != len(wanted):
        raise ConflictError(f"session {session_id!r} would hold a turn_number twice")
