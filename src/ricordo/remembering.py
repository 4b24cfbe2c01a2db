"""The part of a memory that reaches beyond the window: indexes, topics and the work beside the chat, wired together.

It is made when it is first needed, because it brings numpy and an embedder with it; a program that only keeps turns
and reads windows never pays for it.
"""

from collections.abc import Iterable, Sequence

from ricordo.context import Remembered
from ricordo.embedders import choose
from ricordo.recall.ranking import Filters
from ricordo.records import Owner, Turn, turn_id_of
from ricordo.verbs import recall
from ricordo.verbs.indexing import Indexes, Progress
from ricordo.verbs.organise import organise
from ricordo.verbs.recall import Hits, Search
from ricordo.verbs.tools import Scope, Tools

QUOTED = 3  # past turns looked at when a question quotes something said


class Remembering:
    """Recall and topics over one store."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools
        self.indexes = Indexes(tools.store, choose(tools.settings.recall.embedder))

    def search(self, owner: Owner, wanted: Search, patience: float = recall.PATIENCE) -> Hits:
        """Past messages for a question, from a complete index."""
        return recall.search(self._tools, self.indexes, owner, wanted, patience=patience)

    def in_passing(
        self, scope: Scope, question: str, known: Iterable[Turn]
    ) -> tuple[tuple[Remembered, ...], tuple[str, ...]]:
        """Past messages for a context, from what the index holds now."""
        limit = self._tools.settings.recall.recall_messages
        return recall.recall_in_passing(self._tools, self.indexes, scope, question, known, limit)

    def quoted(self, scope: Scope, words: str) -> Sequence[Turn]:
        """Turns of the session whose answers may have said these words."""
        self.indexes.read(scope.owner, most=recall.IN_PASSING)
        filters = Filters(session_id=scope.session_id, role="assistant")
        hits = recall.ranked(self._tools, self.indexes, scope.owner, Search(words, QUOTED, filters), ())
        found = [self._tools.store.turn(scope.owner, turn_id_of(hit.message_id)) for hit in hits]
        return [turn for turn in found if turn]

    def organise(self, owner: Owner, session_id: str) -> None:
        """Bring a session's topics up to date, now."""
        while organise(self._tools, self.indexes.embedder, owner, session_id):
            pass

    def slice(self, owner: Owner, session_id: str) -> bool:
        """A little of what is due for a session and its owner; whether there is more."""
        if self._tools.settings.recall.recall_messages:
            progress = self.indexes.read(owner, most=recall.IN_PASSING)
            if progress.unread or self.indexes.embed(owner):
                return True
        if self._tools.settings.recall.organise == "on":
            return organise(self._tools, self.indexes.embedder, owner, session_id)
        return False

    def progress(self, owner: Owner) -> Progress:
        """How far an owner's index has come."""
        return self.indexes.read(owner, most=0)
