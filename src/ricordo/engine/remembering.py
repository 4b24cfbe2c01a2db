"""The part of a memory that reaches beyond the window: indexes, topics and the work beside the chat, wired together.

It is made when it is first needed, because it brings numpy and an embedder with it; a program that only keeps turns
and reads windows never pays for it.
"""

import logging
import threading
from collections.abc import Iterable, Mapping, Sequence
from time import monotonic

from ricordo.engine.core import Engine, Scope
from ricordo.prompt.context import Remembered
from ricordo.recall import search
from ricordo.recall.embedders import AbsentEmbedder, EmbedderError, choose
from ricordo.recall.embedders.protocol import Embedder, EmbedderChoice
from ricordo.recall.indexes import Indexes
from ricordo.recall.ranking import Filters
from ricordo.recall.search import Hits, Search
from ricordo.records.turns import Owner, SessionMark, Turn, turn_id_of
from ricordo.safety.crisis import crises_by
from ricordo.topics.archive import recount
from ricordo.topics.organise import PASS, organise

log = logging.getLogger("ricordo")

_choices: dict[str, EmbedderChoice] = {}  # an embedder takes seconds to load and serves every memory of the process
_choosing = threading.Lock()

TRY_AGAIN = 30.0  # seconds after which an embedder that could not be made is tried again
# One slice of the work beside the chat: it cannot be interrupted, and whoever asks meanwhile shares the processor with
# it, so it is kept to the time that one or two messages take to embed.
READ = 16  # turns read,
ORGANISED = 1  # turns that find their topic,
EMBEDDED = 2  # messages embedded
QUOTED = 3  # past turns looked at when a question quotes something said
STRIPES = 64  # sessions that can be organised side by side


class Remembering:
    """Recall and topics over one store."""

    def __init__(self, engine: Engine, embedder: Embedder | None = None) -> None:
        self._engine = engine
        self._setting = engine.settings.recall.embedder
        choice = EmbedderChoice(embedder, "given by the program") if embedder else _shared(self._setting)
        self.indexes = Indexes(engine.store, choice, crises=crises_by(engine.settings.safety))
        self._try_again_at = monotonic() + TRY_AGAIN
        # Two threads at one session would pack the same turns, and one of them for nothing.
        self._organising = [threading.Lock() for _ in range(STRIPES)]

    def search(self, owner: Owner, wanted: Search, patience: float = search.PATIENCE) -> Hits:
        """Past messages for a question, from a complete index."""
        self._try_again()
        return search.search(self._engine, self.indexes, owner, wanted, patience=patience)

    def in_passing(
        self, scope: Scope, question: str, standalone: str, known: Sequence[Turn], marks: Mapping[str, SessionMark]
    ) -> tuple[tuple[Remembered, ...], tuple[str, ...]]:
        """Past messages for a context, from what the index holds now."""
        asked = search.Passing(question, standalone, known, marks)
        limit = self._engine.settings.recall.recall_messages
        return search.recall_in_passing(self._engine, self.indexes, scope, asked, limit)

    def quoted(self, scope: Scope, words: str) -> Sequence[Turn]:
        """Turns of the session whose answers may have said these words."""
        self.indexes.catch_up(scope.owner, self._engine.store.sessions.marks(scope.owner), most=search.IN_PASSING)
        filters = Filters(session_id=scope.session_id, role="assistant")
        wanted = Search(words, QUOTED, filters)
        hits = search.ranked(self._engine, self.indexes, scope.owner, wanted, (), hurry=True)
        found = [self._engine.store.turns.get(scope.owner, turn_id_of(hit.message_id)) for hit in hits]
        return [turn for turn in found if turn]

    def organise(self, owner: Owner, session_id: str) -> None:
        """Bring a session's topics up to date, now."""
        self._try_again()
        while self._organise(owner, session_id, PASS):
            pass

    def slice(self, owner: Owner, session_id: str, late: Iterable[str] = ()) -> bool:
        """A little of what is due for a session and its owner; whether there is more.

        `late` are topics of which a turn was answered after it had found its topic.
        """
        self._try_again()
        for topic_id in late:
            recount(self._engine, owner, session_id, topic_id)
        if self._engine.settings.recall.organise == "on" and self._organise(owner, session_id, ORGANISED):
            return True
        if not self._engine.settings.recall.recall_messages:
            return False
        progress = self.indexes.read(owner, most=READ)
        return bool(progress.unread or self.indexes.embed(owner, most=EMBEDDED))

    def _organise(self, owner: Owner, session_id: str, most: int) -> bool:
        with self._organising[hash((owner, session_id)) % STRIPES]:
            return organise(self._engine, self.indexes, owner, session_id, most)

    def _try_again(self) -> None:
        """An embedder that could not be made may be there by now: its weights were fetched, its library installed."""
        if not isinstance(self.indexes.embedder, AbsentEmbedder) or monotonic() < self._try_again_at:
            return
        self._try_again_at = monotonic() + TRY_AGAIN
        choice = _shared(self._setting)
        if not isinstance(choice.embedder, AbsentEmbedder):
            self.indexes.choose(choice)


def _shared(setting: str) -> EmbedderChoice:
    """The embedder of a setting, made once; one that cannot be made leaves the words, and says why."""
    with _choosing:
        if setting not in _choices:
            try:
                _choices[setting] = choose(setting)
            except EmbedderError as error:
                log.warning("found by words only: %s", error, extra={"operation": "embedder"})
                return EmbedderChoice(AbsentEmbedder(setting, str(error)), f"words only: {error}")
        return _choices[setting]
