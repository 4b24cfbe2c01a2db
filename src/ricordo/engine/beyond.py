"""Beyond the window: the light front of follow-ups, recall and topics.

Every write passes here, so it costs next to nothing: what is heavy (numpy, an embedder, the rules of two languages) is
loaded when it is first needed, and what is long is done beside the chat. Nothing here makes a write fail.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, TypeVar

from ricordo.engine.background import Background, lasting_worker
from ricordo.engine.core import Engine, KnownContext, Scope
from ricordo.errors import RicordoError, SettingsError, StoreError
from ricordo.prompt.context import Remembered
from ricordo.records.turns import Owner, Turn
from ricordo.settings import Settings

if TYPE_CHECKING:
    from ricordo.engine.knowing import Knowing
    from ricordo.engine.protocols import LLM
    from ricordo.engine.remembering import Remembering
    from ricordo.followups.clarify import ClarificationStates
    from ricordo.followups.rewrite import Rewriter
    from ricordo.followups.understand import FindTurns, Understanding
    from ricordo.recall.embedders.protocol import Embedder
    from ricordo.safety.crisis import Crisis

log = logging.getLogger("ricordo")

Due = tuple[Owner, str]
T = TypeVar("T")

_slow_worker = lasting_worker()  # a model may take its time: topics and vectors do not wait for it

# Sessions that wait for work beside the chat, less than 1 KB each. Beyond that those that wait longest are let go: the
# next turn there calls for them again, and so does the queue of a server, which lies in the database.
MOST_DUE = 50_000
_NONE: frozenset[str] = frozenset()

EMBEDDERS = ("auto", "bilingual", "arctic", "multilingual", "light", "deterministic")


def check_embedder(setting: str) -> str:
    """The setting, if it names an embedder; whether that one can work here shows when it is needed."""
    url, _, model = setting.partition("#")
    if url.startswith(("http://", "https://")):
        if not model.strip():
            raise SettingsError("embedder", f"{url!r} needs a model name: write URL#MODEL")
    elif setting not in EMBEDDERS:
        raise SettingsError("embedder", f"expected one of {', '.join(EMBEDDERS)}, or URL#MODEL, got {setting!r}")
    return setting


def check_parts(settings: Settings) -> None:
    """Refuse a part that cannot be: an embedder nobody knows, a table of crises that cannot be read."""
    check_embedder(settings.recall.embedder)
    if settings.safety.crisis == "on" and settings.safety.crisis_file:
        from ricordo.safety.crisis_phrases import load_phrases

        load_phrases(settings.safety.crisis_file)


def _at_the_end(waiting: "OrderedDict[Due, T]", due: Due) -> None:
    """Serve this one first, and let go of whoever would be one too many."""
    waiting.move_to_end(due)
    while len(waiting) > MOST_DUE:
        waiting.popitem(last=False)


class Beyond:
    """Understands, recalls and organises for one memory. Thread-safe."""

    def __init__(self, engine: Engine, embedder: "Embedder | None" = None, llm: "LLM | None" = None) -> None:
        self._engine = engine
        self._embedder = embedder
        self._llm = llm
        self._recall = engine.settings.recall
        self._wanted = self._recall.recall_messages > 0 or self._recall.organise == "on"
        self._remembering: Remembering | None = None
        self._knowing: Knowing | None = None
        self._states: ClarificationStates | None = None
        # Who spoke last is served first; with the topics that could not count again when a turn was answered late.
        self._due: OrderedDict[Due, frozenset[str]] = OrderedDict()
        self._due_lock = threading.Lock()
        self._states_lock = threading.Lock()
        self._loading = threading.Lock()
        self.background = Background(self._work)
        self._to_know: OrderedDict[Due, None] = OrderedDict()
        self.slow = Background(self._know, worker=_slow_worker)

    def note(self, scope: Scope, kept: Turn | None = None) -> None:
        """Something was said: there is work beside the chat, and an answered question settles what was pending."""
        if kept and not kept.is_open and self._clarifies:
            self._settle(scope, kept.query)
        late = _NONE
        if kept and kept.topic_id and not self._recounted(scope, kept.topic_id):
            late = frozenset((kept.topic_id,))
        due = scope.owner, scope.session_id
        if self._wants_to_know:
            self._know_later(*due)
        if self._wanted or late:
            with self._due_lock:
                known = self._due.get(due, _NONE)
                self._due[due] = known | late if late else known
                _at_the_end(self._due, due)
            self.background.call()

    def known(self, scope: Scope) -> KnownContext:
        """What is known of the person and of condensed turns."""
        self.background.touch()
        self.slow.touch()
        return self.knowing().known(scope)

    def crisis(self, question: str) -> "Crisis | None":
        """The sign of a crisis in what the user says."""
        return self.knowing().crisis(question)

    def understand(self, scope: Scope, question: str) -> "Understanding | None":
        """What the question means in its talk; None when follow-ups are switched off."""
        if self._recall.follow_ups == "off":
            return None
        from ricordo.followups.understand import understand

        self.background.touch()
        find = self._find(scope) if self._recall.recall_messages else None
        return understand(self._engine, scope, question, self.states, find=find, rewriter=self._rewriter())

    def recall(
        self, scope: Scope, question: str, known: Sequence[Turn], standalone: str = ""
    ) -> tuple[tuple[Remembered, ...], tuple[str, ...], str]:
        """Past messages for a context, what could not be done, and the embedder; nothing where nothing is older."""
        self.background.touch()
        if not self._recall.recall_messages:
            return (), (), ""
        marks = self._engine.store.sessions.marks(scope.owner)
        older = sum(mark.turn_count for mark in marks.values()) - len(known)
        if older <= 0 or (older == 1 and self._asked_already(scope, question)):
            return (), (), ""
        remembering = self.remembering()
        found, notes = remembering.in_passing(scope, question, standalone, known, marks)
        return found, notes, remembering.indexes.embedder.name

    def organise(self, scope: Scope) -> tuple[str, ...]:
        """Bring a session's topics up to date now; what kept us from it, unless it is the store."""
        try:
            self.remembering().organise(scope.owner, scope.session_id)
        except StoreError:
            raise
        except Exception as error:  # the embedder: the topics that are there can be looked at all the same
            cause = str(error) if isinstance(error, RicordoError) else type(error).__name__
            self._log("topics", "topics are not up to date", scope.owner, scope.session_id, error)
            return (f"topics are not up to date: {cause}",)
        return ()

    def remembering(self) -> "Remembering":
        """Recall and topics, loaded with the first call."""
        with self._loading:
            if self._remembering is None:
                from ricordo.engine.remembering import Remembering

                self._remembering = Remembering(self._engine, self._embedder)
            return self._remembering

    def knowing(self) -> "Knowing":
        """Facts, summaries, profile and safety, loaded with the first call."""
        with self._loading:
            if self._knowing is None:
                from ricordo.engine.knowing import Knowing

                self._knowing = Knowing(self._engine, self._llm, later=self._know_later)
            return self._knowing

    def catch_up(self, owner: Owner, session_id: str) -> None:
        """Do now what is left to do for a session."""
        if self._wanted:
            while self.remembering().slice(owner, session_id):
                pass
        if self._wants_to_know:
            while self.knowing().slice(owner, session_id):
                pass

    def settle(self, timeout: float | None = None) -> bool:
        """Wait until the work beside the chat is done; False if it takes longer."""
        begun = monotonic()
        if not self.background.settle(timeout):
            return False
        return self.slow.settle(None if timeout is None else max(0.0, timeout - (monotonic() - begun)))

    @property
    def loaded(self) -> "Remembering | None":
        """Recall and topics, if they were needed already."""
        return self._remembering

    @property
    def states(self) -> "ClarificationStates":
        """Where pending clarifications live: this process, or a place that processes of this machine share."""
        with self._states_lock:
            if self._states is None:
                from ricordo.followups.clarification_store import (
                    ProcessClarifications,
                    SharedClarifications,
                    default_directory,
                )

                if self._shares:
                    place = self._engine.store.location  # one file by two paths is one place
                    place = str(Path(place).resolve()) if Path(place).exists() else place
                    self._states = SharedClarifications(default_directory(place))
                else:
                    self._states = ProcessClarifications()
            return self._states

    def removed(self, owner: Owner | None = None) -> None:
        """Sessions of an owner were removed, or of anybody: one that is made anew must not be taken for the old one."""
        if self._remembering:
            self._remembering.indexes.forget(owner)

    def emptied(self, owner: Owner, session_id: str) -> None:
        """A session's words were removed: what was asked back about them goes too."""
        if self._clarifies:
            from ricordo.followups.clarify import ClarificationKey

            try:
                self.states.delete(ClarificationKey(owner.tenant_id, owner.user_id, session_id))
            except OSError as error:  # the words are gone from the store; a file that stays is read as stale
                self._log("clarification", "a clarification cannot be removed", owner, session_id, error)

    def forget(self, owner: Owner) -> int:
        """Drop what is in memory of an owner; how many clarifications were pending."""
        with self._due_lock:
            for due in [due for due in self._due if due[0] == owner]:
                del self._due[due]
            for due in [due for due in self._to_know if due[0] == owner]:
                del self._to_know[due]
        self.removed(owner)
        if self._knowing:
            self._knowing.forget(owner)
        return self.states.forget(owner.tenant_id, owner.user_id) if self._clarifies else 0

    def close(self) -> None:
        """Finish the slices of work at hand."""
        self.background.close()
        self.slow.close()

    @property
    def _wants_to_know(self) -> bool:
        """Whether anything of a turn is to be learned, condensed or named."""
        settings = self._engine.settings
        condensing = settings.condensation.condense == "on" or settings.condensation.titles == "on"
        return condensing or settings.profile.remember_person == "on"

    def _rewriter(self) -> "Rewriter | None":
        if self._llm is None or self._recall.rewriter == "rules":
            return None
        from ricordo.followups.rewrite import ModelRewriter

        return ModelRewriter(self._llm)

    @property
    def _clarifies(self) -> bool:
        """Whether a clarification may be pending: one was asked here, or another process may have asked."""
        return self._states is not None or (self._shares and self._recall.follow_ups == "on")

    @property
    def _shares(self) -> bool:
        """Whether processes share pending questions; what lies in one process's memory has nobody to share with."""
        return self._recall.clarifications == "shared" and self._engine.store.location != "memory:"

    def _settle(self, scope: Scope, query: str) -> None:
        from ricordo.followups.understand import settle_clarification

        try:
            settle_clarification(scope, query, self.states, self._engine)
        except Exception as error:  # the turn is on disk: whatever happens to the short-lived state, that stands
            self._log("clarification", "a clarification cannot be settled", scope.owner, scope.session_id, error)

    def _recounted(self, scope: Scope, topic_id: str) -> bool:
        """A turn was answered after it had found its topic, which is rare: the topic counts again."""
        from ricordo.topics.archive import recount

        try:
            recount(self._engine, scope.owner, scope.session_id, topic_id)
        except Exception as error:
            self._log("topics", "a topic cannot count again", scope.owner, scope.session_id, error)
            return False
        return True

    def _find(self, scope: Scope) -> "FindTurns":
        return lambda words: self.remembering().quoted(scope, words)

    def _asked_already(self, scope: Scope, question: str) -> bool:
        """Whether the question is kept already and waits for its answer: it is nothing that was said before."""
        newest = self._engine.store.turns.page(scope.owner, scope.session_id, last=1)
        return any(turn.is_open and turn.query == question for turn in newest)

    def _work(self) -> bool:
        """One slice for whoever spoke last; what is left goes behind the others, and so does what fails."""
        with self._due_lock:
            if not self._due:
                return False
            due, late = self._due.popitem()
        more = True
        try:
            more = self.remembering().slice(*due, late)
            late = _NONE
        except Exception as error:
            self._log("background", "work beside the chat failed", *due, error)
            raise
        finally:
            with self._due_lock:
                if more and due not in self._due:
                    self._due[due] = late
                    self._due.move_to_end(due, last=False)
                left = bool(self._due)
        return left

    def _know_later(self, owner: Owner, session_id: str) -> None:
        """Have the slow worker look at a session next."""
        with self._due_lock:
            self._to_know[owner, session_id] = None
            _at_the_end(self._to_know, (owner, session_id))
        self.slow.call()

    def _know(self) -> bool:
        """One slice of learning, condensing and naming; what fails is tried again behind the others."""
        with self._due_lock:
            if not self._to_know:
                return False
            due, _ = self._to_know.popitem()
        more = True
        try:
            more = self.knowing().slice(*due)
        except Exception as error:
            self._log("knowing", "learning beside the chat failed", *due, error)
            raise
        finally:
            with self._due_lock:
                if more and due not in self._to_know:
                    self._to_know[due] = None
                    self._to_know.move_to_end(due, last=False)
                left = bool(self._to_know)
        return left

    def _log(self, operation: str, problem: str, owner: Owner, session_id: str, error: Exception) -> None:
        # What is no error of ours may hold words that were said: of that only the kind is logged.
        log.warning(
            "%s: %s",
            problem,
            f"{type(error).__name__}: {error}" if isinstance(error, RicordoError) else type(error).__name__,
            extra={
                "operation": operation,
                "tenant_id": owner.tenant_id,
                "user_id": owner.user_id,
                "session_id": session_id,
            },
        )
