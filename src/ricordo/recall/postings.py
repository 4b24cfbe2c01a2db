"""Which messages say a word, and how often: hashed words go in with a row number, rows and counts come out.

Most of it lies sorted by word, so that a lookup is two binary searches; what was added since the last sorting
is a short tail that is simply scanned. So adding is cheap, and a word is found as soon as it was added.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from ricordo.recall.words import Terms

Rows = NDArray[np.int64]
_TAIL = 20_000  # words kept unsorted before they are merged; scanning so many takes microseconds


class Postings:
    """Word to rows. Rows are numbered by the caller; not thread-safe by itself."""

    def __init__(self) -> None:
        self._words: Terms = np.zeros(0, dtype=np.uint32)
        self._rows = np.zeros(0, dtype=np.int32)
        self._tail: list[tuple[Terms, NDArray[np.int32]]] = []
        self._tail_size = 0

    def add(self, first_row: int, said: Iterable[Terms]) -> None:
        """Take in the words of consecutive rows, the first of which has the given number."""
        texts = list(said)
        if not texts:
            return
        lengths = [len(text) for text in texts]
        rows = np.repeat(np.arange(first_row, first_row + len(texts), dtype=np.int32), lengths)
        self._tail.append((np.concatenate(texts), rows))
        self._tail_size += len(rows)
        if self._tail_size > max(_TAIL, len(self._words) // 8):
            self._merge()

    def find(self, variants: tuple[int, ...], count: int) -> tuple[Rows, NDArray[np.float32]]:
        """Of the first `count` rows those that say a word in any variant, in rising order, and how often each does."""
        if len(self._tail) > 1:  # one long scan is quicker than many short ones
            self._tail = [(np.concatenate([w for w, _ in self._tail]), np.concatenate([r for _, r in self._tail]))]
        found: list[NDArray[np.int32]] = []
        for variant in variants:
            word = np.uint32(variant)
            low, high = np.searchsorted(self._words, word, "left"), np.searchsorted(self._words, word, "right")
            found.append(self._rows[low:high])
            found.extend(rows[words == word] for words, rows in self._tail)
        sayings = np.concatenate(found)
        if len(sayings) < count // 16:
            few, how_often = np.unique(sayings, return_counts=True)
            return few.astype(np.int64), how_often.astype(np.float32)
        times = np.bincount(sayings, minlength=count)  # for a common word counting is quicker than sorting
        rows = np.flatnonzero(times)
        return rows, times[rows].astype(np.float32)

    def _merge(self) -> None:
        words = np.concatenate([self._words, *(words for words, _ in self._tail)])
        rows = np.concatenate([self._rows, *(rows for _, rows in self._tail)])
        order = np.argsort(words, kind="stable")
        self._words, self._rows = words[order], rows[order]
        self._tail, self._tail_size = [], 0
