"""The embedder that needs no weights: hashed word and character n-grams, numpy only, 256 dimensions.

It knows no synonyms but tolerates spelling, inflection and accents, in any language that writes words;
each feature adds to a few signed dimensions chosen by its hash (feature hashing).
"""

import hashlib
import math
import re
import unicodedata
import zlib
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from ricordo.recall.embedders import AGAIN
from ricordo.recall.quantization import Vectors, unit_rows

_WORD = re.compile(r"[^\W_]+")
_GRAMS = (3, 4, 5)
_PLACES = 4  # dimensions per feature: enough that two features rarely cancel in all of them
_MOST_CHARACTERS = 50_000  # read of one text: models read less
_LONGEST_WORD = 100  # characters: what is longer is no word, and each of its characters would cost


class LightEmbedder:
    """Feature hashing of n-grams; always available, fast, and the fallback when weights are missing."""

    def __init__(self, dimensions: int = 256) -> None:
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        return f"light-{self._dimensions}@1"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return _rows([_light(text, self._dimensions) for text in texts], self._dimensions)

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self.embed_passages([text])[0]
        return row


def _rows(vectors: Sequence[Vectors], dimensions: int) -> Vectors:
    return np.array(vectors, dtype=np.float32).reshape(-1, dimensions)


@lru_cache(maxsize=AGAIN)
def _light(text: str, dimensions: int) -> Vectors:
    row = np.zeros(dimensions, dtype=np.float32)
    for word, count in Counter(_words(text)).items():
        places, values = _hashed_features(word, dimensions)
        # Repetition counts logarithmically; short words carry little meaning.
        np.add.at(row, places, values * np.float32((1 + math.log(count)) * min(1.0, len(word) / 6)))
    return unit_rows(row)


def _words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKD", text[:_MOST_CHARACTERS].casefold())
    found = _WORD.findall("".join(c for c in folded if not unicodedata.combining(c)))
    return [word[:_LONGEST_WORD] for word in found] if len(text) > _LONGEST_WORD else found


@lru_cache(maxsize=20_000)
def _hashed_features(word: str, dimensions: int) -> tuple[np.ndarray, Vectors]:
    """The dimensions and signed values of a word's features; the whole word weighs as much as all its n-grams."""
    framed = f"<{word}>"
    grams = [framed[i : i + n] for n in _GRAMS for i in range(len(framed) - n + 1)]
    places: list[int] = []
    values: list[float] = []
    for feature, weight in [(framed, 1.0)] + [(gram, 1 / math.sqrt(len(grams))) for gram in grams]:
        seed = zlib.crc32(feature.encode("utf-8", "replace"))
        for _ in range(_PLACES):
            # A multiplicative generator: the same on every platform and every run, unlike `hash`.
            seed = (seed * 1_664_525 + 1_013_904_223) & 0xFFFFFFFF
            places.append((seed >> 8) % dimensions)
            values.append(weight if seed & 0x80000000 else -weight)
    return np.array(places), np.array(values, dtype=np.float32)


class DeterministicEmbedder:
    """A bag of words: each word is a fixed random vector, a text is their sum. For tests and examples."""

    def __init__(self, dimensions: int = 64) -> None:
        self._dimensions = dimensions

    @property
    def name(self) -> str:
        return f"deterministic-{self._dimensions}@1"

    @property
    def dimensions(self) -> int:
        return self._dimensions

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return _rows([_deterministic(text, self._dimensions) for text in texts], self._dimensions)

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self.embed_passages([text])[0]
        return row


@lru_cache(maxsize=AGAIN)
def _deterministic(text: str, dimensions: int) -> Vectors:
    row = np.zeros(dimensions, dtype=np.float32)
    for word in text.casefold().split():
        row += _direction(word, dimensions)
    return unit_rows(row)


@lru_cache(maxsize=20_000)
def _direction(word: str, dimensions: int) -> Vectors:
    """One sign a dimension, from the word's hash: the same on every machine and numpy."""
    hashed = hashlib.shake_128(word.encode("utf-8", "replace")).digest(dimensions)
    signs: Vectors = (np.frombuffer(hashed, dtype=np.uint8) & 1).astype(np.float32) * 2 - 1
    return signs
