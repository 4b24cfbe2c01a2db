"""The in-memory index of one owner's messages: built from stored rows, extended as messages arrive.

Rows hold hashed words, a quantized vector if there is one, time, session, speaker, topic and tags. An index holds one
owner only, so nothing of another can leak into it. Rows are never removed: after a deletion the index is built again
from the store, which takes a fraction of a second for 100,000 messages.
"""

import math
import threading
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ricordo.recall.quantization import (
    BinaryVectors,
    QuantizedVectors,
    Vectors,
    read_vectors,
    rotated_query,
    similarities,
    vectors_from_blobs,
)

if TYPE_CHECKING:
    from ricordo.recall.evidence import Terms

Rows = NDArray[np.int64]
_GROWTH = 8  # a run is not merged if it is this many times as long as the next
_ROW_BITS = 32
_ROW = (1 << _ROW_BITS) - 1


class Matches(NamedTuple):
    """Where a word occurs: word << 32 | row, each once and in order, and how often."""

    keys: Rows
    counts: NDArray[np.uint16]

    @property
    def rows(self) -> Rows:
        """The rows that contain the word."""
        return self.keys & _ROW

    def since(self, row: int) -> "Matches":
        """What occurs from a row on."""
        first = np.searchsorted(self.keys, self.keys[0] & ~_ROW | row)
        return Matches(self.keys[first:], self.counts[first:])


class Postings:
    """Word to rows. Rows are numbered by the caller. Not thread-safe."""

    def __init__(self) -> None:
        self._runs: list[tuple[NDArray[np.int64], NDArray[np.uint16]]] = []  # word << 32 | row, and how often

    def add(self, first_row: int, said: "Terms", lengths: NDArray[np.int64]) -> None:
        """Add the words of consecutive rows, so many of each; the first row has the given number."""
        if not len(said):
            return
        keys = said.astype(np.int64)  # in place from here on: a whole owner's words are many
        keys <<= _ROW_BITS
        keys |= np.repeat(np.arange(first_row, first_row + len(lengths), dtype=np.int64), lengths)
        keys.sort()
        first = np.flatnonzero(np.append(True, keys[1:] != keys[:-1]))
        times = np.diff(first, append=len(keys))
        self._runs.append((keys[first], np.minimum(times, np.iinfo(np.uint16).max).astype(np.uint16)))
        while len(self._runs) > 1 and len(self._runs[-2][0]) < _GROWTH * len(self._runs[-1][0]):
            self._runs.append(_merged(self._runs.pop(), self._runs.pop()))

    def find(self, asked: Sequence[tuple[int, ...]]) -> list[list[Matches]]:
        """Where each word occurs: matches for every variant of it and every run."""
        variants = np.array([each for variants in asked for each in variants], dtype=np.int64)
        bounds = np.concatenate((variants, variants + 1)) << _ROW_BITS
        places = [place for place, variants in enumerate(asked) for _ in variants]
        found: list[list[Matches]] = [[] for _ in asked]
        for said, how_often in self._runs:
            ends = np.searchsorted(said, bounds).tolist()
            for place, low, high in zip(places, ends[: len(places)], ends[len(places) :], strict=True):
                if low < high:
                    found[place].append(Matches(said[low:high], how_often[low:high]))
        return found


def _merged(
    one: tuple[NDArray[np.int64], NDArray[np.uint16]], other: tuple[NDArray[np.int64], NDArray[np.uint16]]
) -> tuple[NDArray[np.int64], NDArray[np.uint16]]:
    keys, times = np.concatenate([one[0], other[0]]), np.concatenate([one[1], other[1]])
    order = np.argsort(keys, kind="stable")
    return keys[order], times[order]


class Column:
    """A growing array of one type, optionally of rows of a fixed width."""

    def __init__(self, kind: Any, width: int | None = None) -> None:
        self._shape = () if width is None else (width,)
        self._store: NDArray[Any] = np.zeros((0, *self._shape), dtype=kind)
        self._size = 0

    @property
    def array(self) -> NDArray[Any]:
        """The values; writing into the array changes the column."""
        return self._store[: self._size]

    def extend(self, values: "Sequence[Any] | NDArray[Any]") -> None:
        """Append values."""
        start = self._size
        self.extend_blank(len(values))
        self._store[start : self._size] = values

    def extend_blank(self, count: int) -> None:
        """Append zeros."""
        needed = self._size + count
        if needed > len(self._store):
            grown = np.zeros((max(needed, 2 * len(self._store)), *self._shape), dtype=self._store.dtype)
            grown[: self._size] = self.array
            self._store = grown
        self._size = needed


class Codebook:
    """A growing column of names, dictionary-encoded; None has the code -1."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._code_of: dict[str, int] = {}
        self._column = Column(np.int32)

    @property
    def codes(self) -> NDArray[np.int32]:
        """The code of each row's name."""
        return self._column.array

    def extend(self, names: Sequence[str | None]) -> list[int]:
        """Append names and return their codes."""
        code_of = {name: self._code(name) for name in dict.fromkeys(names)}
        codes = [code_of[name] for name in names]
        self._column.extend(codes)
        return codes

    def change(self, row: int, name: str | None) -> None:
        """Give one row another name."""
        self.codes[row] = self._code(name)

    def name(self, row: int) -> str | None:
        """The name of one row."""
        code = int(self.codes[row])
        return self.names[code] if code >= 0 else None

    def among(self, names: Collection[str]) -> NDArray[np.bool_]:
        """Which rows have one of the names."""
        codes = [self._code_of[name] for name in names if name in self._code_of]
        if len(codes) == 1:
            return np.equal(self.codes, codes[0])
        wanted = np.zeros(len(self.names) + 1, dtype=np.bool_)  # the last place is that of the code -1: no name
        wanted[codes] = True
        return wanted[self.codes]

    def _code(self, name: str | None) -> int:
        if name is None:
            return -1
        if name not in self._code_of:
            self._code_of[name] = len(self.names)
            self.names.append(name)
        return self._code_of[name]


EXACT_UP_TO = 50_000  # rows; up to here every vector is compared
_LIKELIEST = 4_096
_SAMPLE = 1_024
# A message is ranked together with the two before it and the one after it.
_NEAR = 20  # words from which on a neighbour's words count proportionally less
_PAGE = 50  # content words from which on a message is long
_SUBSTANCE = 8  # content words from which on a message can hold an answer by itself
_LONG_QUESTION = 15  # content words from which on a message that ends with a question also tells something
_LENT = 0.8  # the most that a neighbour's word counts
_MOST_MATCHES = 16  # a word in more than one of so many rows is common, and kept as a column
_NEIGHBOUR_MEANING = 0.1
_STEP, _MARGIN = 31, 8  # of the sample that bounds the highest scores, and places of it that are taken in any case
_LARGE, _COLUMNS = 512, 128  # rows from which on an index keeps common words, and how many
# The parameters k1 and b of BM25.
_REPETITION, _LENGTH = 1.2, 0.75


@dataclass(frozen=True, slots=True)
class Row:
    """What is indexed of one message.

    `position` orders the messages of a turn; `asks` if it ends with a question, `shows` if with an attachment.
    """

    message_id: str
    session_id: str
    turn_number: int
    position: int
    created_at: datetime
    role: str
    terms: "Terms"
    vector: bytes | None = None
    agent_id: str = ""
    speaker: str | None = None
    topic_id: str | None = None
    tags: frozenset[str] = field(default_factory=frozenset)
    asks: bool = False
    shows: bool = False


class Batch(NamedTuple):
    """Rows as columns, none of them in the index yet; the words of all rows stand one after another in `terms`."""

    message_ids: Sequence[str]
    session_ids: Sequence[str]
    agent_ids: Sequence[str]
    topic_ids: Sequence[str | None]
    roles: Sequence[str]
    speakers: Sequence[str | None]
    tags: Sequence[frozenset[str]]
    places: Sequence[tuple[int, int]]  # turn number and position
    times: NDArray[np.float64]
    asks: NDArray[np.bool_]
    shows: NDArray[np.bool_]
    lengths: NDArray[np.int64]
    terms: "Terms"

    @classmethod
    def of(cls, rows: Sequence[Row]) -> "Batch":
        """The columns of single rows."""
        return cls(
            [row.message_id for row in rows],
            [row.session_id for row in rows],
            [row.agent_id for row in rows],
            [row.topic_id for row in rows],
            [row.role for row in rows],
            [row.speaker for row in rows],
            [row.tags for row in rows],
            [(row.turn_number, row.position) for row in rows],
            np.array([row.created_at.timestamp() for row in rows], dtype=np.float64),
            np.array([row.asks for row in rows], dtype=np.bool_),
            np.array([row.shows for row in rows], dtype=np.bool_),
            np.array([len(row.terms) for row in rows], dtype=np.int64),
            np.concatenate([_NO_TERMS, *(row.terms for row in rows)]),
        )


_NO_TERMS: "Terms" = np.zeros(0, dtype=np.uint32)


class OwnerIndex:
    """All rows of one owner. Thread-safe: adding and ranking take `lock`."""

    def __init__(self, dimensions: int, rows: Iterable[Row] = ()) -> None:
        self.lock = threading.RLock()
        self.dimensions = dimensions
        self.postings = Postings()
        self.message_ids: list[str] = []
        self.tags: list[frozenset[str]] = []
        self.session_tags: dict[str, frozenset[str]] = {}
        self.sessions, self.agents, self.topics = Codebook(), Codebook(), Codebook()
        self.roles, self.speakers = Codebook(), Codebook()
        self._row_of: dict[str, int] = {}
        self._places: list[tuple[int, int]] = []
        self._turns = Column(np.int64)
        self._newest: dict[int, int] = {}
        self._times = Column(np.float64)
        self._lengths = Column(np.float32)
        self._asks, self._only_asks = Column(np.bool_), Column(np.bool_)
        self._before, self._after = array("i"), array("i")
        self._vectors, self._scales = Column(np.int8, dimensions), Column(np.float32)
        self._has_vector = Column(np.bool_)
        self._links: Links | None = None
        self._columns: dict[tuple[int, ...], WordColumn] = {}
        self._binary: BinaryVectors | None = None
        self.add(rows)

    def __len__(self) -> int:
        return len(self.message_ids)

    def __contains__(self, message_id: object) -> bool:
        return message_id in self._row_of

    def rows_of(self, message_ids: Iterable[str]) -> list[int]:
        """The rows of those messages that are known."""
        return [self._row_of[message_id] for message_id in message_ids if message_id in self._row_of]

    def add(self, rows: Iterable[Row]) -> None:
        """Add messages; one that is already there only gets its vector."""
        with self.lock:
            batch = list(rows)
            fresh = {row.message_id: row for row in batch if row.message_id not in self._row_of}
            self.extend(Batch.of(list(fresh.values())))
            self.set_vectors({row.message_id: row.vector for row in batch if row.vector is not None})

    def extend(self, batch: Batch, blobs: Sequence[bytes] = ()) -> None:
        """Add a batch of rows; with `blobs`, each of which is of one row or of several, all of them have vectors."""
        with self.lock:
            first, count = len(self), len(batch.message_ids)
            self.postings.add(first, batch.terms, batch.lengths)
            self._times.extend(batch.times)
            self._lengths.extend(batch.lengths)
            self._asks.extend(batch.asks & (batch.lengths < _PAGE))
            self._only_asks.extend(batch.asks & ~batch.shows & (batch.lengths < _LONG_QUESTION))
            self._has_vector.extend_blank(count)
            self._vectors.extend_blank(count)
            self._scales.extend_blank(count)
            if blobs:
                read_vectors(blobs, self.dimensions, self._vectors.array[first:], self._scales.array[first:])
                self._has_vector.array[first:] = True
            self._row_of.update(zip(batch.message_ids, range(first, first + count), strict=True))
            self.message_ids.extend(batch.message_ids)
            self.tags.extend(batch.tags)
            self.agents.extend(batch.agent_ids)
            self.topics.extend(batch.topic_ids)
            self.roles.extend(batch.roles)
            self.speakers.extend(batch.speakers)
            self._places.extend(batch.places)
            self._turns.extend([number for number, _ in batch.places])
            codes = self.sessions.extend(batch.session_ids)
            for session, places in groupby(range(count), codes.__getitem__):
                self._link(session, [first + place for place in places])
            self._links = None

    def set_vectors(self, blobs: Mapping[str, bytes]) -> None:
        """Set the vectors of messages, as stored; unknown messages are ignored."""
        with self.lock:
            known = [(self._row_of[name], blob) for name, blob in blobs.items() if name in self._row_of]
            if not known:
                return
            numbers = np.array([number for number, _ in known])
            codes = vectors_from_blobs([blob for _, blob in known], self.dimensions)
            self._vectors.array[numbers] = codes.values
            self._scales.array[numbers] = codes.scales
            self._has_vector.array[numbers] = True

    def set_topics(self, topics: Mapping[str, str | None]) -> None:
        """Set the topics of messages; unknown messages are ignored."""
        with self.lock:
            for message_id, topic in topics.items():
                if message_id in self._row_of:
                    self.topics.change(self._row_of[message_id], topic)

    def set_tags(self, session_id: str, tags: frozenset[str]) -> None:
        """Set the tags of a session."""
        with self.lock:
            self.session_tags[session_id] = tags
            for row in np.flatnonzero(self.sessions.among([session_id])):
                self.tags[row] = tags

    def sessions_with(self, tag: str) -> list[str]:
        """The ids of the sessions with a tag."""
        with self.lock:
            return [session_id for session_id, tags in self.session_tags.items() if tag in tags]

    @property
    def times(self) -> NDArray[np.float64]:
        """When each message was said, in seconds since 1970."""
        return self._times.array

    @property
    def lengths(self) -> NDArray[np.float32]:
        """How many content words each message has."""
        return self._lengths.array

    @property
    def asks(self) -> NDArray[np.bool_]:
        """Which messages end with a question and are no pages."""
        return self._asks.array

    @property
    def only_asks(self) -> NDArray[np.bool_]:
        """Which messages only ask: short ones that end with a question and show nothing."""
        return self._only_asks.array

    @property
    def has_vector(self) -> NDArray[np.bool_]:
        """Which messages have been embedded."""
        return self._has_vector.array

    @property
    def codes(self) -> QuantizedVectors:
        """The vectors; rows without one are zeros."""
        return QuantizedVectors(self._vectors.array, self._scales.array)

    def near(self, query: Vectors, asked: Rows) -> Rows | slice:
        """The rows to compare with a query vector: all of them, or in a large index the best of a first-stage search.

        `asked` are rows to include in any case.
        """
        known = self.has_vector
        if self.is_exact:
            return slice(0, len(self)) if known.all() else np.flatnonzero(known)
        if self._binary is None or self._uncovered().sum() > len(self) // 20:
            self._binary = BinaryVectors(self.codes, known)
        scores = np.where(self._binary.covered, self._binary.scores(query), -np.inf)
        count = min(max(_LIKELIEST, len(self) // 10), len(scores) - 1)
        chosen = np.zeros(len(self), dtype=np.bool_)
        chosen[np.argpartition(-scores, count)[:count]] = True
        chosen[asked] = True
        return np.flatnonzero((chosen | self._uncovered()) & known)

    @property
    def is_exact(self) -> bool:
        """Whether every vector is compared with a question's."""
        return len(self) <= EXACT_UP_TO

    def sample(self, query: Vectors, among: NDArray[np.bool_]) -> Vectors:
        """The similarity of a question to a sample of some rows."""
        rows = np.flatnonzero(among)
        return similarities(self.codes.take(rows[:: max(1, len(rows) // _SAMPLE)]), query)

    def _uncovered(self) -> NDArray[np.bool_]:
        """Rows with a vector that the first-stage search does not cover."""
        seen = self._binary.covered if self._binary else np.zeros(0, dtype=np.bool_)
        return self.has_vector & ~np.append(seen, np.zeros(len(self) - len(seen), dtype=np.bool_))

    @property
    def links(self) -> "Links":
        """The neighbours of each row, as arrays; computed again after rows were added."""
        if self._links is None:
            self._links = Links(self.lengths, np.array(self._before), np.array(self._after))
        return self._links

    @property
    def is_large(self) -> bool:
        """Whether words are looked at one by one, and common ones kept."""
        return len(self) >= _LARGE

    def column(self, variants: tuple[int, ...], matches: Sequence[Matches]) -> "WordColumn | None":
        """A common word, by its variants, in every row; None for another word."""
        if _MOST_MATCHES * sum(len(each.keys) for each in matches) <= len(self):
            return None
        column = self._columns.pop(variants, None) or WordColumn()
        self._columns[variants] = column  # the last one, and the first is the one that was asked for longest ago
        if len(self._columns) > _COLUMNS:
            del self._columns[next(iter(self._columns))]
        column.extend(matches, self.links)
        return column

    def _link(self, session: int, rows: list[int]) -> None:
        """Insert rows in the order of their session; nearly always at the end."""
        places = self._places[rows[0] : rows[-1] + 1]
        if session in self._newest or places != sorted(places):
            for row in rows:
                self._link_one(row, session)
            return
        self._before.extend((-1, *rows[:-1]))
        self._after.extend((*rows[1:], -1))
        self._newest[session] = rows[-1]

    def _link_one(self, number: int, session: int) -> None:
        place = self._places[number]
        before, after = self._newest.get(session, -1), -1
        while before >= 0 and self._places[before] > place:
            before, after = self._before[before], before
        self._before.append(before)
        self._after.append(after)
        if before >= 0:
            self._after[before] = number
        if after >= 0:
            self._before[after] = number
        else:
            self._newest[session] = number

    def cosines(self, rows: Sequence[int], query: Vectors | None) -> list[float | None]:
        """The cosines of some rows with a query vector; None where either has none."""
        if query is None:
            return [None] * len(rows)
        # Not a matrix product: its last bit may depend on the number of rows.
        found = np.einsum("ij,j->i", self._vectors.array[rows].astype(np.float32), rotated_query(query))
        cosines: list[float] = (found * self._scales.array[rows]).tolist()
        return [each if known else None for each, known in zip(cosines, self.has_vector[rows].tolist(), strict=True)]

    def same_turn(self, rows: Rows) -> Iterator[Rows]:
        """The other rows of the turns of some rows, one of each turn at a time; the number beyond all where none is."""
        own, numbers, none = self._turns.array[rows], self._turns.array, len(self)
        for onward in (self.links.before, self.links.after):  # which never leave the session
            others = onward[rows]
            while (same := (others < none) & (numbers[np.minimum(others, none - 1)] == own)).any():
                others = np.where(same, others, none)
                yield others
                others = onward[others]

    def vectors_of(self, message_ids: Sequence[str]) -> Vectors:
        """The vectors of some messages as floats; zeros where there is none."""
        with self.lock:
            numbers = np.array([self._row_of[name] for name in message_ids], dtype=np.int64)
            return QuantizedVectors(self._vectors.array[numbers], self._scales.array[numbers]).floats()


def highest(scores: Vectors, places: int) -> float:
    """The score at a place from the top; minus infinity where there are fewer scores.

    Only scores that a sample says may be among them are sorted. An odd step, because questions and answers alternate.
    """
    if places >= len(scores):
        return -math.inf
    sample = scores[::_STEP]
    above = _MARGIN + 3 * places // _STEP
    if above < len(sample):
        likely = scores[scores >= np.partition(sample, len(sample) - above)[len(sample) - above]]
        scores = likely if len(likely) >= places else scores
    return float(np.partition(scores, len(scores) - places)[len(scores) - places])


def idf(count: int, holders: int) -> float:
    """The inverse document frequency of a word that occurs in so many messages."""
    return math.log(1 + (count - holders + 0.5) / (holders + 0.5))


class WordColumn:
    """How often a word occurs in each row, alone and with what neighbours lend; the last place is no row.

    Rows are only added, so what is known of earlier ones holds, except beside new ones. What a search asks for is made
    again when rows were added: which rows have it (`said`), and its part of BM25 (`score`).
    """

    def __init__(self) -> None:
        self._columns = Column(np.float32), Column(np.float32)
        self.holders, self._known = 0, -1

    def extend(self, matches: Sequence[Matches], links: "Links") -> None:
        """Take in the rows that were added to the index."""
        first, count = max(self._known, 0), len(links.lengths)
        if self._known == count:
            return
        for column in self._columns:
            column.extend_blank(count - self._known)
        self.times, self.lent = (column.array for column in self._columns)
        for each in matches:
            fresh = each.since(first)
            self.times[fresh.rows] += fresh.counts
        self.holders += int(np.count_nonzero(self.times[first:]))
        if not first:
            self.lent[:] = self.times
            links.lend(self.lent, np.flatnonzero(self.times))
        else:
            new = np.arange(first, count)
            rows = np.concatenate((new, links.before[new], links.after[new], links.two_after[new]))
            self.lent[rows] = self.times[rows]
            for beside in (links.before[rows], links.two_before[rows], links.after[rows]):
                self.lent[rows] += links.lending[beside] * self.times[beside]
        self.said, self.score = self.times > 0, self.lent / (self.lent + links.norm)
        self.score *= np.float32(idf(count, self.holders))
        self._known = count


class Links:
    """The neighbours of every row within its session, two before and one after, and their weights."""

    def __init__(self, lengths: Vectors, before: NDArray[np.int32], after: NDArray[np.int32]) -> None:
        # Row numbers with one more at the end, which stands for a missing neighbour.
        missing = len(lengths)
        self.lengths = lengths
        self.before, self.after = (
            np.append(np.where(each < 0, missing, each), missing).astype(np.intp) for each in (before, after)
        )
        self.two_before, self.two_after = self.before[self.before], self.after[self.after]
        places = np.arange(missing)
        beside = (
            (self.before[:-1] == places - 1) & (self.two_before[:-1] == places - 2) & (self.after[:-1] == places + 1)
        )
        self._apart = np.flatnonzero(~beside)  # rows whose neighbours are not the rows beside them: ends of sessions
        self.nearness = np.minimum(np.float32(1), np.float32(_NEAR) / np.maximum(lengths, np.float32(1)))
        self.meaning = np.float32(_NEIGHBOUR_MEANING) * self.nearness
        self.meaning_around = self.around(slice(0, missing), self.meaning)
        self.enough: Vectors = np.minimum(np.float32(1), lengths / np.float32(_SUBSTANCE))
        self.lending = np.append(np.minimum(np.float32(_LENT), self.nearness), np.float32(0))
        # 0 up to fifty content words, 1 from five hundred: a page holds many words and little of each.
        self.pages = np.log10(np.maximum(lengths, np.float32(_PAGE)) / np.float32(_PAGE)).clip(0, 1)
        window = lengths + self.around(slice(0, missing), self.lending[:-1] * lengths)
        mean = max(float(window.mean()), 1.0) if missing else 1.0
        self.norm = (_REPETITION * (1 - _LENGTH + _LENGTH * np.append(window, 1) / mean)).astype(np.float32)

    def around(self, rows: Rows | slice, values: Vectors) -> Vectors:
        """For each of some rows the sum of its neighbours' values, for neighbours that are among these rows."""
        spread = np.zeros(len(self.before), dtype=np.float32)
        spread[rows] = values
        if not isinstance(rows, slice):
            return self._beside(spread, rows)
        total = np.empty(len(spread) - 1, dtype=np.float32)
        np.add(spread[1:-2], spread[:-3], out=total[2:])
        total[2:] += spread[3:]
        total[self._apart] = self._beside(spread, self._apart)
        return total

    def _beside(self, spread: Vectors, rows: Rows) -> Vectors:
        total: Vectors = spread[self.before[rows]] + spread[self.two_before[rows]] + spread[self.after[rows]]
        return total

    def lend(self, times: Vectors, rows: Rows) -> None:
        """Add to how often a word occurs in each row what the rows that say it lend to their neighbours."""
        lent = self.lending[rows] * times[rows]
        for beside in (self.after, self.two_after, self.before):
            times[beside[rows]] += lent
