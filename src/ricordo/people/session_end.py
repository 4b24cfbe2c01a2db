"""End a session: learn its facts and write its summary, on request or when it is idle. Safe to repeat."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ricordo.engine.core import Engine, Scope, new_id
from ricordo.engine.protocols import LLM
from ricordo.errors import NotFoundError, StoreError
from ricordo.people.facts.learn import learn_facts
from ricordo.people.summaries.condense import store_summary
from ricordo.people.summaries.summarise import SummaryWriter, summarise_session, writer_of
from ricordo.records.people import Fact, Summary
from ricordo.records.turns import Owner, SessionChanges, SessionInfo, Turn
from ricordo.safety.screen import least_trusted, origin_of, redact_turn, screen_of
from ricordo.worker.queue import END

PAGE = 200
MAX_TURNS = 400  # newest turns read for the summary


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """What a session left behind; `summary` and `made_by` are None if there was nothing to summarise."""

    session: SessionInfo
    summary: Summary | None
    facts: tuple[Fact, ...]
    topics: tuple[str, ...]

    @property
    def ended_at(self) -> datetime | None:
        """When it ended."""
        return self.session.ended_at

    @property
    def made_by(self) -> str | None:
        """The model's name, `extractive` or `truncated`."""
        return self.summary.made_by if self.summary else None


def end_session(
    engine: Engine, owner: Owner, session: SessionInfo, *, model: LLM | None = None, writer: SummaryWriter | None = None
) -> SessionEnd:
    """Learn the remaining facts, write the summary if the session has new turns, and close the session."""
    while learn_facts(engine, owner, session.id, model).more:
        pass
    summary = write_session_summary(engine, owner, session, writer)
    ended = session
    if session.ended_at is None:
        ended = engine.store.sessions.update(owner, session.id, SessionChanges(ended_at=engine.clock.now())) or session
    facts = [
        fact for fact in engine.store.people.facts(owner, session.agent_id).facts if _from_session(fact, session.id)
    ]
    return SessionEnd(ended, summary, tuple(facts), summary.topics if summary else ())


def end_now(engine: Engine, owner: Owner, session_id: str) -> SessionEnd:
    """End a session, with the model if there is one; NotFoundError if there is no such session."""
    session = engine.store.sessions.get(owner, session_id)
    if session is None:
        raise NotFoundError(f"session {session_id!r} does not exist for user {owner.user_id!r}; list the sessions")
    return end_session(engine, owner, session, model=engine.llm, writer=writer_of(engine))


def end_if_idle(engine: Engine, owner: Owner, session_id: str) -> bool:
    """End a session if it is idle; whether it was ended."""
    session = engine.store.sessions.get(owner, session_id)
    if session is None or engine.settings.profile.remember_person == "off" or not is_idle(engine, session):
        return False
    end_session(engine, owner, session, model=engine.llm, writer=writer_of(engine))
    return True


def end_idle(engine: Engine, owner: Owner) -> int:
    """End every idle session of an owner; how many were ended."""
    idle = idle_sessions(engine, owner)
    for session in idle:
        end_session(engine, owner, session, model=engine.llm, writer=writer_of(engine))
    return len(idle)


def idle_sessions(engine: Engine, owner: Owner, most: int | None = None) -> Sequence[SessionInfo]:
    """The open sessions of an owner that are idle; among the `most` newest, or all."""
    found: list[SessionInfo] = []
    page = engine.store.sessions.page(owner, limit=most or PAGE)
    while page:
        found += [each for each in page if is_idle(engine, each)]
        page = () if most else engine.store.sessions.page(owner, limit=PAGE, before=page[-1])
    return found


def is_idle(engine: Engine, session: SessionInfo) -> bool:
    """Whether an open session has had no turn for the configured time."""
    before = engine.clock.now() - engine.settings.profile.session_end_idle
    return session.ended_at is None and session.turn_count > 0 and session.last_active_at <= before


def write_session_summary(
    engine: Engine, owner: Owner, session: SessionInfo, writer: SummaryWriter | None = None
) -> Summary | None:
    """The session's summary, written again if the session has new turns."""
    known = engine.store.people.summaries(owner, session_id=session.id, kind="session", limit=1)
    if known and known[0].last_turn >= session.last_turn:
        return known[0]
    turns = _without_open_turn(engine.store.turns.page(owner, session.id, last=MAX_TURNS))
    if not turns or (known and known[0].last_turn >= turns[-1].turn_number):
        return known[0] if known else None
    unfit = screen_of(engine).turns(engine, owner, turns)
    limit = engine.settings.profile.profile_summary_tokens
    redacted = [redact_turn(turn, engine.settings.safety) for turn in turns]
    made = summarise_session(redacted, engine.counter, limit_tokens=limit, writer=writer, leave_out=unfit)
    if made is None:
        return known[0] if known else None
    now = engine.clock.now()
    summary = Summary(
        id=new_id(now),
        session_id=session.id,
        agent_id=session.agent_id,
        kind="session",
        text=made.text,
        first_turn=made.covers.first_turn,
        last_turn=made.covers.last_turn,
        topics=made.topics,
        created_at=_last_turn_time(turns, session),
        tokens=made.tokens,
        counter=engine.counter.name,
        made_by=made.made_by,
        origin=least_trusted(origin_of(message.role, turn.origin) for turn in turns for message in turn.messages),
    )
    if not store_summary(engine, owner, summary, turns, unfit):
        again = engine.store.people.summaries(owner, session_id=session.id, kind="session", limit=1)
        return again[0] if again else None
    screen_of(engine).summary(engine, owner, summary)
    return summary


def _without_open_turn(turns: Sequence[Turn]) -> Sequence[Turn]:
    """The turns without a last one that still waits for its answer.

    If the turn before it has no answer either, or there is only one turn, all are kept.
    """
    answers = len(turns) > 1 and not turns[-2].is_open
    return turns[:-1] if answers and turns[-1].is_open else turns


def _last_turn_time(turns: Sequence[Turn], session: SessionInfo) -> datetime:
    """The date of the last turn: a summary is dated by the conversation, not by when it was written."""
    return max((turn.created_at for turn in turns), default=session.last_active_at)


def _from_session(fact: Fact, session_id: str) -> bool:
    return not fact.forgotten and any(source.session_id == session_id for source in fact.sources)


FEW_TURNS = 64  # an idle session of at most so many turns is ended before the first context of the next
LATEST_SESSIONS = 4  # looked at for idle ones


def end_idle_before(engine: Engine, scope: Scope) -> list[str]:
    """End the latest idle sessions with this agent before the first context of a new one: the profile tells them.

    By rules alone, which takes milliseconds. A long session is queued instead, and so is one that cannot be written
    now: a note says so.
    """
    notes: list[str] = []
    for idle in idle_sessions(engine, scope.owner, most=LATEST_SESSIONS):
        # After a failure no other is tried: that would only keep the chat waiting.
        if idle.agent_id == scope.agent_id and idle.turn_count <= FEW_TURNS and not notes:
            try:
                end_session(engine, scope.owner, idle)
                continue
            except StoreError as error:
                notes.append(f"session {idle.id!r} is not ended yet: {error}")
        if engine.queue is not None:
            engine.queue.people.add(scope.owner, idle.id, frozenset((END,)))
    return notes
