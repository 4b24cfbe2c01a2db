"""What is known before a question is read: the profile across sessions, and the summary of condensed turns.

Reads a handful of rows, because it is on the path of every context. What is in quarantine stays out.
"""

from ricordo.engine.core import Engine, Scope, quarantined
from ricordo.errors import StoreError
from ricordo.people.profile import profile_of
from ricordo.people.session_end import end_session, idle_sessions
from ricordo.people.summaries.condense import newest_summary
from ricordo.prompt.memory_block import profile_text
from ricordo.records.prompt import KnownContext
from ricordo.worker.queue import END

FEW_TURNS = 64  # an idle session of at most so many turns is ended before the first context of the next
LATEST_SESSIONS = 4  # looked at for idle ones


def known_for_context(engine: Engine, scope: Scope) -> KnownContext:
    """What goes into a context before its question is read.

    A session that was left idle is ended before the first context of the next one, so that the profile tells it; by
    rules alone, which takes milliseconds. A long one is queued instead, and so is one that cannot be written now.
    """
    notes: list[str] = []
    if engine.settings.profile.remember_person == "on" and not _has_answers(engine, scope):
        notes = _end_idle_sessions(engine, scope)
    condensed = newest_summary(engine, scope.owner, scope.session_id)
    hidden = quarantined(engine, scope.owner) if condensed else frozenset()
    profile = ""
    if engine.settings.profile.remember_person == "on":
        profile = profile_text(engine, profile_of(engine, scope.owner, scope.agent_id, without=scope.session_id))
    if condensed is None or condensed.id in hidden:
        return KnownContext(profile, degraded=tuple(notes))
    return KnownContext(profile, condensed.text, condensed.last_turn, tuple(notes))


def _end_idle_sessions(engine: Engine, scope: Scope) -> list[str]:
    """End the latest sessions with this agent that are idle; a note where one could not be ended."""
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


def _has_answers(engine: Engine, scope: Scope) -> bool:
    """Whether anything was answered in the session before."""
    session = engine.store.sessions.get(scope.owner, scope.session_id)
    if session is None or session.turn_count > 1:
        return session is not None
    return any(not turn.is_open for turn in engine.store.turns.page(scope.owner, scope.session_id, last=2))
