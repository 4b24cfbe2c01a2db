"""Documents that a chat may quote: added, cut into chunks, found by a question.

(The shelf over a store comes with the stores' documents.)
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from ricordo.chat.events import Offered
from ricordo.chat.request import ChatRequest
from ricordo.context import Asked
from ricordo.records import Chunk


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk that was found, with where it comes from and how well it fits."""

    chunk: Chunk
    score: float | None = None
    document_id: str | None = None
    title: str | None = None

    def offered(self) -> Offered:
        """As it is shown beside an answer."""
        return Offered(self.chunk.id, self.chunk.text, self.score, self.document_id, self.title)


class Passages(Protocol):
    """Whatever finds passages for a question: our library, or the application's own search."""

    def find(self, request: ChatRequest, asked: Asked, limit: int) -> Sequence[Passage]:
        """At most `limit` passages, best first."""
        ...
