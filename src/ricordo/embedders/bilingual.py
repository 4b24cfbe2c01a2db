"""Two embedders side by side: the English one and the many-language one, joined in one vector.

A passage keeps both halves with equal weight; a question says, by its language, how much each half counts.
So English questions rank as the English model would, Italian ones as the many-language model would,
and one index serves both without knowing the language of any message.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ricordo.embedders.arctic import ArcticEmbedder
from ricordo.embedders.multilingual import MultilingualEmbedder
from ricordo.embedders.port import Embedder, Vectors, unit_rows
from ricordo.recall.words import guess_language

# Share of the English half in a question's vector. The cosines of the many-language half spread two to three
# times as wide, so that equal shares let it lead; one part in twenty lets English questions reach Italian messages.
_ENGLISH_SHARE = {"en": 0.95, "it": 0.45}


class BilingualEmbedder:
    """English and many-language halves in one vector of their summed dimensions."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        english: Embedder | None = None,
        multilingual: Embedder | None = None,
    ) -> None:
        self._english = english or ArcticEmbedder(folder)
        self._multilingual = multilingual or MultilingualEmbedder(folder)

    @property
    def name(self) -> str:
        return f"{self._english.name}+{self._multilingual.name}"

    @property
    def dimensions(self) -> int:
        return self._english.dimensions + self._multilingual.dimensions

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        halves = [self._english.embed_passages(texts), self._multilingual.embed_passages(texts)]
        return unit_rows(np.concatenate(halves, axis=1))

    def embed_query(self, text: str) -> Vectors:
        share = _ENGLISH_SHARE[guess_language(text)]
        halves = [self._english.embed_query(text) * share, self._multilingual.embed_query(text) * (1 - share)]
        return unit_rows(np.concatenate(halves))
