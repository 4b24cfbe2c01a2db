"""An embedder that cannot be made here and now: it answers every call with the reason, so that words still answer.

It stands in for the one that was named until that can be made, and never gives a vector that could be compared.
"""

from collections.abc import Sequence
from typing import NoReturn

from ricordo.embedders.port import EmbedderUnavailable, Vectors


class AbsentEmbedder:
    """Nothing but a name and a reason."""

    dimensions = 0

    def __init__(self, setting: str, reason: str) -> None:
        self.name = f"{setting} (absent)"
        self._reason = reason

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self._refuse()

    def embed_query(self, text: str) -> Vectors:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise EmbedderUnavailable(self._reason)
