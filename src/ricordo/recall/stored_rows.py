"""Rows of an index from what is stored beside turns, in batches: no text is read and no word is stemmed again.

Turns without their text go in, each with its words and its vectors; columns for the index come out. A turn whose words
are missing, damaged, of another state of the turn or made by another version of the tables of words is not `good`: its
text is read, and its words are stored again.

    words = seal and number of messages · for each message: number of its terms and marks · the terms of all messages ·
            JSON of speakers and of times that are not those of the turn, if there are any; in units of four bytes,
            little-endian
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ricordo.recall.evidence import words_version
from ricordo.recall.index import Batch, OwnerIndex
from ricordo.recall.quantization import blob_size

if TYPE_CHECKING:
    from ricordo.records.turns import IndexedTurn

ROLES = ("user", "assistant", "system", "tool")
# The marks of a message; the lowest two bits are its role.
QUESTION, ANSWER, ASKS, BLANK, NOTED, SHOWS = 4, 8, 16, 32, 64, 128
MARK_BITS = 8
MOST_MESSAGES = 255

Integers = NDArray[np.int64]


class StoredRows:
    """The turns of an owner as they are stored for the index.

    `good` are those that can be taken as they are, `asked` those with a question, `answered` those with an answer.
    """

    def __init__(self, turns: Sequence["IndexedTurn"], dimensions: int) -> None:
        self._turns = turns
        words = [turn.words if len(turn.words) % 4 == 0 else b"" for turn in turns]
        self._units: NDArray[np.uint32] = np.frombuffer(b"".join(words), dtype="<u4")
        lengths = np.fromiter(map(len, words), np.int64, len(turns)) // 4
        self._starts = np.append(0, np.cumsum(lengths))  # the first unit of each turn
        known = lengths > 1
        first = np.zeros(len(turns), dtype=np.int64)
        first[known] = self._units[self._starts[:-1][known]]
        version = words_version()
        sums = np.fromiter((zlib.crc32(each[4:], version) for each in words), np.int64, len(turns))
        sums ^= np.frombuffer(bytes.fromhex("".join([turn.checksum[:8] for turn in turns])), dtype=">u4")
        self._counts = np.where(known & (sums >> MARK_BITS == first >> MARK_BITS), first & MOST_MESSAGES, 0)
        self._counts[self._counts >= lengths] = 0  # messages of each turn
        self._first = np.append(0, np.cumsum(self._counts))  # the first message of each turn
        self._heads = self._units[_spread(self._starts[:-1] + 1, self._counts)].astype(np.int64)
        said = np.append(0, np.cumsum(self._heads >> MARK_BITS))
        self._terms = said[self._first[1:]] - said[self._first[:-1]]
        self._size = blob_size(dimensions)
        vectors = np.fromiter((len(turn.body) for turn in turns), np.int64, len(turns))
        fits = 1 + self._counts + self._terms <= lengths
        self.good = (self._counts > 0) & fits & (vectors == self._counts * self._size)
        places = np.repeat(np.arange(len(turns)), self._counts)
        self.asked = np.bincount(places[(self._heads & QUESTION) > 0], minlength=len(turns)) > 0
        self.answered = np.bincount(places[(self._heads & ANSWER) > 0], minlength=len(turns)) > 0

    def add_to(self, index: OwnerIndex, begin: int, end: int, tags: Mapping[str, frozenset[str]]) -> None:
        """Add the turns from `begin` to `end`, all of them good, to an index that has none of them."""
        if begin == end:
            return
        turns, counts = self._turns[begin:end], self._counts[begin:end]
        heads = self._heads[self._first[begin] : self._first[end]]
        marks = heads & ((1 << MARK_BITS) - 1)
        of_turn = np.repeat(np.arange(len(turns)), counts)
        positions = np.arange(len(heads)) - np.repeat(self._first[begin:end] - self._first[begin], counts)
        asked_at = np.fromiter((turn.created_at for turn in turns), np.int64, len(turns))
        answered_at = np.fromiter((turn.answered_at or 0 for turn in turns), np.int64, len(turns))
        times = np.where(marks & ANSWER, answered_at[of_turn], asked_at[of_turn]) / 1e6
        steps = positions + 1 - self.asked[begin:end][of_turn]
        speakers: list[str | None] = [None] * len(heads)
        for turn in dict.fromkeys(of_turn[(marks & NOTED) > 0].tolist()):
            first = int(self._first[begin + turn] - self._first[begin])
            for position, speaker, time in self._notes(begin + turn):
                speakers[first + position] = speaker
                times[first + position] = time
        kept = (marks & BLANK) == 0
        blobs = [turn.body for turn in turns]
        if not kept.all():
            blobs = [np.frombuffer(b"".join(blobs), dtype=np.uint8).reshape(-1, self._size)[kept].tobytes()]
            marks, of_turn, positions, times = marks[kept], of_turn[kept], positions[kept], times[kept]
            steps = steps[kept]
            speakers = [each for each, good in zip(speakers, kept.tolist(), strict=True) if good]
        said = [turns[at] for at in of_turn.tolist()]
        index.extend(
            Batch(
                list(map(_message_id, said, marks.tolist(), steps.tolist())),
                list(map(attrgetter("session_id"), said)),
                list(map(attrgetter("agent_id"), said)),
                list(map(attrgetter("topic_id"), said)),
                [ROLES[mark] for mark in (marks & 3).tolist()],
                speakers,
                [tags[turn.session_id] for turn in said],
                list(zip(map(attrgetter("turn_number"), said), positions.tolist(), strict=True)),
                times,
                (marks & ASKS) > 0,
                (marks & SHOWS) > 0,
                (heads >> MARK_BITS)[kept],
                self._said(begin, end),
            ),
            blobs,
        )

    def _said(self, begin: int, end: int) -> NDArray[np.uint32]:
        """The terms of good turns: what is left of their units without seals, heads and notes."""
        starts, counts, terms = self._starts[begin : end + 1], self._counts[begin:end], self._terms[begin:end]
        is_term = np.ones(starts[-1] - starts[0], dtype=np.bool_)
        is_term[_spread(starts[:-1] - starts[0], 1 + counts)] = False
        ends = starts[:-1] + 1 + counts + terms
        is_term[_spread(ends - starts[0], starts[1:] - ends)] = False
        found: NDArray[np.uint32] = self._units[starts[0] : starts[-1]][is_term]
        return found

    def _notes(self, place: int) -> list[tuple[int, str | None, float]]:
        used = 4 * int(1 + self._counts[place] + self._terms[place])
        notes: list[tuple[int, str | None, float]] = json.loads(self._turns[place].words[used:])
        return notes


def _spread(starts: Integers, counts: Integers) -> Integers:
    """For each start so many places from there on, one after another."""
    ends = np.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    places: Integers = np.arange(total) + np.repeat(starts - (ends - counts), counts)
    return places


def _message_id(turn: "IndexedTurn", marks: int, step: int) -> str:
    part = "query" if marks & QUESTION else "response" if marks & ANSWER else step
    return f"{turn.id}:{part}"
