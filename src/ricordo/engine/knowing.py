"""The part of a memory that knows a person: facts, summaries, titles, profile and safety, wired together.

It is made when it is first needed. What may take long, because a model is asked, is done by a worker of its own beside
the chat: topics and vectors do not wait for it, and a write never does.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import replace

from ricordo.engine.core import Engine, KnownContext, Scope
from ricordo.engine.protocols import LLM
from ricordo.errors import NotFoundError, StoreError
from ricordo.people import condense
from ricordo.people import profile as profiles
from ricordo.people.learn import learn
from ricordo.people.model_summary import SummaryWriter
from ricordo.people.session_end import SessionEnd, end_session, idle_sessions, is_idle
from ricordo.people.titles import title
from ricordo.records.people import Profile, Summary
from ricordo.records.turns import Message, Owner, SessionChanges, Turn
from ricordo.safety.crisis import Crisis
from ricordo.safety.fence import close_fence, defuse, marker, open_fence
from ricordo.safety.screen import Screen, cleaned
from ricordo.safety.signals import signals

log = logging.getLogger("ricordo")

TITLED_BY = 6  # turns that a title is made from
REMEMBERED = 1_024  # sessions without a name that are kept in mind
MOST_LEFT = 50_000  # sessions that wait to be ended beside the chat
SOON = 64  # an idle session of at most so many turns is ended before the first context of the next


class Knowing:
    """What is known of people over one store. Thread-safe."""

    def __init__(self, engine: Engine, llm: LLM | None, later: Callable[[Owner, str], None] | None = None) -> None:
        self._engine = engine
        self._llm = llm
        self._later = later
        # Long sessions without a goodbye. One that is let go is met again by the next context, or by a server's queue.
        self._left: OrderedDict[tuple[Owner, str], None] = OrderedDict()
        self._leaving = threading.Lock()
        # Sessions that nothing could name, and how many turns were looked at: a model is not asked again for the same.
        self._nameless: OrderedDict[tuple[Owner, str], int] = OrderedDict()
        self._writer = SummaryWriter(llm, self._fenced) if llm else None
        self._sizes = condense.Sizes()
        self.screen = Screen(engine.settings.safety)

    def crisis(self, question: str) -> Crisis | None:
        """The sign of a crisis in what a user asks."""
        return self.screen.crisis(Message("", "user", question, self._engine.clock.now()))

    def known(self, scope: Scope) -> KnownContext:
        """What goes into a context before its question is read.

        A session that was left without a goodbye is ended before the first context of the next one, so that yesterday
        is known today; by rules alone, which takes milliseconds. A long one is ended beside the chat, and so is one
        whose end cannot be written now: what is known without it is told all the same.
        """
        notes: list[str] = []
        if self._remembers and not self._begun(scope):
            for idle in idle_sessions(self._engine, scope.owner, most=4):
                # What cannot be written is not tried again for the next one: that would only keep the chat waiting.
                if idle.agent_id == scope.agent_id and idle.turn_count <= SOON and not notes:
                    try:
                        end_session(self._engine, self.screen, scope.owner, idle)
                        continue
                    except StoreError as error:
                        notes.append(f"session {idle.id!r} is not ended yet: {error}")
                self._leave(scope.owner, idle.id)
        known = profiles.known_to(self._engine, scope)
        return replace(known, degraded=(*known.degraded, *notes)) if notes else known

    def profile(self, owner: Owner, agent_id: str) -> Profile:
        """What an agent knows of a user."""
        return profiles.profile_of(self._engine, owner, agent_id)

    def enhanced(self, base: str, profile: Profile, safety_rules: str) -> str:
        """A system prompt with safety first and the profile last."""
        return profiles.enhanced(self._engine, base, profile, safety_rules)

    def condense(self, owner: Owner, session_id: str) -> Summary | None:
        """Summarise what is far back in a session, whatever its size."""
        return condense.condense_now(self._engine, self.screen, owner, session_id, self._writer, whatever=True)

    def end(self, owner: Owner, session_id: str) -> SessionEnd:
        """End a session: its summary, facts and topics."""
        session = self._engine.store.sessions.get(owner, session_id)
        if session is None:
            raise NotFoundError(f"session {session_id!r} does not exist for user {owner.user_id!r}; list the sessions")
        return end_session(self._engine, self.screen, owner, session, model=self._llm, writer=self._writer)

    def end_if_idle(self, owner: Owner, session_id: str) -> bool:
        """End a session if it has been idle for long enough; whether it was ended now."""
        session = self._engine.store.sessions.get(owner, session_id)
        if session is None or not self._remembers or not is_idle(self._engine, session):
            return False
        end_session(self._engine, self.screen, owner, session, model=self._llm, writer=self._writer)
        return True

    def end_idle(self, owner: Owner) -> int:
        """End every session of an owner that has been idle for long enough; how many."""
        idle = idle_sessions(self._engine, owner)
        for session in idle:
            end_session(self._engine, self.screen, owner, session, model=self._llm, writer=self._writer)
        return len(idle)

    def slice(self, owner: Owner, session_id: str) -> bool:
        """A little of what is due for a session; whether there is more."""
        if self._engine.settings.condensation.titles == "on":
            self._name(owner, session_id)
        if self._remembers and learn(self._engine, self.screen, owner, session_id, self._llm).more:
            return True
        made = condense.condense_if_due(self._engine, self.screen, self._sizes, owner, session_id, self._writer)
        if made is None and (owner, session_id) in self._left:
            self.end_if_idle(owner, session_id)
            with self._leaving:
                self._left.pop((owner, session_id), None)
        return made is not None

    def forget(self, owner: Owner) -> None:
        """Drop what is in memory of an owner."""
        self._sizes.forget(owner)
        for key in [key for key in self._nameless if key[0] == owner]:
            self._nameless.pop(key, None)
        with self._leaving:
            for key in [key for key in self._left if key[0] == owner]:
                del self._left[key]
        self.screen.forget(owner)

    def _leave(self, owner: Owner, session_id: str) -> None:
        """Have a session ended beside the chat, unless too many wait for it by then."""
        if self._later is None:
            return
        with self._leaving:
            self._left[owner, session_id] = None
            self._left.move_to_end((owner, session_id))
            while len(self._left) > MOST_LEFT:
                self._left.popitem(last=False)
        self._later(owner, session_id)

    @property
    def _remembers(self) -> bool:
        return self._engine.settings.profile.remember_person == "on"

    def _begun(self, scope: Scope) -> bool:
        """Whether anything was answered in the session before."""
        session = self._engine.store.sessions.get(scope.owner, scope.session_id)
        if session is None or session.turn_count > 1:
            return session is not None
        return any(not turn.is_open for turn in self._engine.store.turns.page(scope.owner, scope.session_id, last=2))

    def _name(self, owner: Owner, session_id: str) -> None:
        """Give a session a title once it has an answer; a title that somebody set stays."""
        session = self._engine.store.sessions.get(owner, session_id)
        if session is None or session.title is not None or not session.turn_count:
            return
        turns = [turn for turn in self._first_turns(owner, session_id) if not turn.is_open]
        if not turns or self._nameless.get((owner, session_id)) == len(turns):
            return
        unfit = self.screen.turns(self._engine, owner, turns)
        turns = [cleaned(turn, self._engine.settings.safety) for turn in turns]
        named = title(turns, writer=self._writer, leave_out=unfit, suspicious=lambda text: bool(signals(text)))
        if named:
            self._engine.store.sessions.update(owner, session_id, SessionChanges(title=named.text))
            return
        self._nameless[owner, session_id] = len(turns)
        while len(self._nameless) > REMEMBERED:
            self._nameless.popitem(last=False)

    def _first_turns(self, owner: Owner, session_id: str) -> list[Turn]:
        return list(self._engine.store.turns.page(owner, session_id, before=TITLED_BY + 1))

    def _fenced(self, text: str) -> str:
        safe, code = defuse(text), self._engine.settings.locale.code
        word = marker((safe,))
        return f"{open_fence(word, code)}\n{safe}\n{close_fence(word, code)}"
