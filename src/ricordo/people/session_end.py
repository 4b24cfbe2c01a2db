"""End a session: learn its facts and write its summary, on request or when it is idle. Safe to repeat."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from ricordo.engine import LLM
from ricordo.engine.core import Engine, Scope
from ricordo.errors import NotFoundError, StoreError
from ricordo.people.facts.learn import learn_facts
from ricordo.people.summaries.condense import write_session_summary
from ricordo.people.summaries.summarise import SummaryWriter, writer_of
from ricordo.records.people import Fact, Summary
from ricordo.records.turns import Owner, SessionChanges, SessionInfo
from ricordo.worker import END

PAGE = 200


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
