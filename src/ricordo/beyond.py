"""Beyond the window: the light front of follow-ups, recall and topics.

Every write passes here, so it costs next to nothing: what is heavy (numpy, an embedder, the rules of two languages) is
loaded when it is first needed, and what is long is done beside the chat.
"""

import threading
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from ricordo.background import Background
from ricordo.context import Remembered
from ricordo.records import Owner, Turn
from ricordo.verbs.tools import Scope, Tools

if TYPE_CHECKING:
    from ricordo.followups.clarify import ClarificationStates
    from ricordo.remembering import Remembering
    from ricordo.verbs.understand import FindTurns, Understanding


class Beyond:
    """Understands, recalls and organises for one memory. Thread-safe."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self._wanted = tools.settings.recall.recall_messages > 0 or tools.settings.recall.organise == "on"
        self._remembering: Remembering | None = None
        self._states: ClarificationStates | None = None
        self._due: dict[tuple[Owner, str], None] = {}
        self._lock = threading.RLock()
        self.background = Background(self._work)

    def note(self, scope: Scope, query: str | None = None) -> None:
        """Something was said in a session: a pending clarification is settled, and there is work beside the chat."""
        if self._states is not None and query is not None:
            from ricordo.verbs.understand import settle_clarification

            settle_clarification(scope, query, self._states, self._tools)
        if self._wanted:
            self._due[scope.owner, scope.session_id] = None
            self.background.call()

    def understand(self, scope: Scope, question: str) -> "Understanding | None":
        """What the question means in its talk; None when follow-ups are switched off."""
        if self._tools.settings.recall.follow_ups == "off":
            return None
        from ricordo.verbs.understand import understand

        self.background.touch()
        find = self._find(scope) if self._tools.settings.recall.recall_messages else None
        return understand(self._tools, scope, question, self.states, find=find)

    def recall(
        self, scope: Scope, question: str, known: Sequence[Turn]
    ) -> tuple[tuple[Remembered, ...], tuple[str, ...], str]:
        """Past messages for a context, what could not be done, and the embedder; nothing where nothing is older."""
        self.background.touch()
        if not self._tools.settings.recall.recall_messages or not self._anything_older(scope.owner, known):
            return (), (), ""
        remembering = self.remembering()
        found, notes = remembering.in_passing(scope, question, known)
        return found, notes, remembering.indexes.embedder.name

    def remembering(self) -> "Remembering":
        """Recall and topics, loaded with the first call."""
        with self._lock:
            if self._remembering is None:
                from ricordo.remembering import Remembering

                self._remembering = Remembering(self._tools)
            return self._remembering

    @property
    def loaded(self) -> "Remembering | None":
        """Recall and topics, if they were needed already."""
        return self._remembering

    @property
    def states(self) -> "ClarificationStates":
        """Where pending clarifications live: this process, or a place that processes of this machine share."""
        with self._lock:
            if self._states is None:
                from ricordo.followups.states import ProcessClarifications, SharedClarifications, default_directory

                if self._tools.settings.recall.clarifications == "shared":
                    self._states = SharedClarifications(default_directory(self._tools.store.location))
                else:
                    self._states = ProcessClarifications()
            return self._states

    def forget(self, owner: Owner) -> int:
        """Drop what is in memory of an owner; how many clarifications were pending."""
        for key in [key for key in list(self._due) if key[0] == owner]:
            self._due.pop(key, None)
        if self._remembering:
            self._remembering.indexes.forget(owner)
        return self.states.forget(owner.tenant_id, owner.user_id) if self._states is not None else 0

    def close(self) -> None:
        """Finish the slice of work at hand."""
        self.background.close()

    def _find(self, scope: Scope) -> "FindTurns":
        return lambda words: self.remembering().quoted(scope, words)

    def _anything_older(self, owner: Owner, known: Iterable[Turn]) -> bool:
        marks = self._tools.store.marks(owner)
        return sum(mark.turn_count for mark in marks.values()) > len(list(known)) + 1

    def _work(self) -> bool:
        due = next(reversed(self._due), None) if self._due else None
        if due is None:
            return False
        if not self.remembering().slice(*due):
            self._due.pop(due, None)
        return bool(self._due)
