"""Posting lists: hashed words go in with a row number; the rows that contain the words of a question come out.

Postings are held in a few runs, each sorted by word and row, so that all words of a question are found together by
binary search. A new run is merged with the one before it unless that is much longer, so there are never many runs;
adding is cheap, and a word is found as soon as it was added.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ricordo.recall.terms import Terms

Rows = NDArray[np.int64]
_GROWTH = 8  # a run is not merged if it is this many times as long as the next
_ROW_BITS = 32


class Matches(NamedTuple):
    """Occurrences: the index of a word in the query, a row that contains it, and how often; each pair once."""

    words: NDArray[np.int64]
    rows: Rows
    counts: NDArray[np.float32]


class Postings:
    """Word to rows. Rows are numbered by the caller. Not thread-safe."""

    def __init__(self) -> None:
        self._runs: list[tuple[NDArray[np.int64], NDArray[np.uint16]]] = []  # word << 32 | row, and how often

    def add(self, first_row: int, said: Iterable[Terms]) -> None:
        """Add the words of consecutive rows, the first of which has the given number."""
        texts = list(said)
        if not any(len(text) for text in texts):
            return
        rows = np.repeat(np.arange(first_row, first_row + len(texts), dtype=np.int64), [len(text) for text in texts])
        keys, times = np.unique(np.concatenate(texts).astype(np.int64) << _ROW_BITS | rows, return_counts=True)
        self._runs.append((keys, np.minimum(times, np.iinfo(np.uint16).max).astype(np.uint16)))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < _GROWTH * len(self._runs[-1][0]):
            self._runs.append(_merged(self._runs.pop(), self._runs.pop()))

    def find(self, asked: Sequence[tuple[int, ...]], count: int) -> Matches:
        """The occurrences of each word, in any of its variants, in the first `count` rows."""
        variants = np.array([each for variants in asked for each in variants], dtype=np.int64)
        places = np.repeat(np.arange(len(asked), dtype=np.int64), [len(variants) for variants in asked])
        keys: list[NDArray[np.int64]] = []
        times: list[NDArray[np.uint16]] = []
        for said, how_often in self._runs:
            low = np.searchsorted(said, variants << _ROW_BITS)
            sizes = np.searchsorted(said, variants + 1 << _ROW_BITS) - low
            at = np.arange(sizes.sum()) + np.repeat(low - (np.cumsum(sizes) - sizes), sizes)
            rows = said[at] & (1 << _ROW_BITS) - 1
            keys.append(np.repeat(places, sizes) << _ROW_BITS | rows)
            times.append(how_often[at])
        if not keys:
            return Matches(places[:0], places[:0], np.zeros(0, dtype=np.float32))
        key, often = np.concatenate(keys), np.concatenate(times).astype(np.float32)
        order = np.argsort(key, kind="stable")  # a few sorted runs: merging them is fast
        key, often = key[order], often[order]
        first = np.flatnonzero(np.append(True, key[1:] != key[:-1])) if len(key) else key
        if len(first) < len(key):  # a message may contain two variants of a word
            key, often = key[first], np.add.reduceat(often, first)
        words, rows = key >> _ROW_BITS, key & (1 << _ROW_BITS) - 1
        known = rows < count
        return Matches(words, rows, often) if known.all() else Matches(words[known], rows[known], often[known])


def _merged(
    one: tuple[NDArray[np.int64], NDArray[np.uint16]], other: tuple[NDArray[np.int64], NDArray[np.uint16]]
) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    keys, times = np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
    order = np.argsort(keys, kind="stable")
    return keys[order], times[order]
