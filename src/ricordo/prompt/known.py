"""What is known before a question is read: the profile across sessions, and the summary of condensed turns.

Reads a handful of rows, because it is on the path of every context. What is in quarantine stays out.
"""

from collections.abc import Callable

from ricordo.engine.core import Engine, Scope, quarantined
from ricordo.people.profile import profile_of
from ricordo.people.summaries.condense import newest_summary
from ricordo.prompt.memory_block import profile_text
from ricordo.records.prompt import KnownContext

EndIdle = Callable[[Engine, Scope], list[str]]  # returns notes on what could not be ended


def known_for_context(engine: Engine, scope: Scope, end_idle: EndIdle | None = None) -> KnownContext:
    """What goes into a context before its question is read; `end_idle` ends idle sessions before the first context."""
    notes: list[str] = []
    if end_idle and engine.settings.profile.remember_person == "on" and not _has_answers(engine, scope):
        notes = end_idle(engine, scope)
    condensed = newest_summary(engine, scope.owner, scope.session_id)
    hidden = quarantined(engine, scope.owner) if condensed else frozenset()
    profile = ""
    if engine.settings.profile.remember_person == "on":
        profile = profile_text(engine, profile_of(engine, scope.owner, scope.agent_id, without=scope.session_id))
    if condensed is None or condensed.id in hidden:
        return KnownContext(profile, degraded=tuple(notes))
    return KnownContext(profile, condensed.text, condensed.last_turn, tuple(notes))


def _has_answers(engine: Engine, scope: Scope) -> bool:
    """Whether anything was answered in the session before."""
    session = engine.store.sessions.get(scope.owner, scope.session_id)
    if session is None or session.turn_count > 1:
        return session is not None
    return any(not turn.is_open for turn in engine.store.turns.page(scope.owner, scope.session_id, last=2))
