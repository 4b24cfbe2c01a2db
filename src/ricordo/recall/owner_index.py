"""One owner's index with its bookkeeping: what of which session was read, and what still lacks its vectors.

In: a store, session marks and traces. Out: an index that holds every turn as it is now. Reading goes page by page and
notes how far it came after each page, so that stopping or failing in between loses nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from threading import RLock
from typing import NamedTuple

from ricordo.recall.evidence import indexed_text, speaker_in
from ricordo.recall.index import OwnerIndex, Row
from ricordo.recall.quantization import blob_size
from ricordo.recall.terms import terms, terms_from_blob
from ricordo.records.turns import Message, Owner, SessionMark, Turn, TurnVectors
from ricordo.stores.protocols import Store

# From stored turns to index rows: what of a message is indexed and embedded, and where it stands.

_NONE: Mapping[str, bytes] = {}
_NO_TOPICS: Mapping[str, str] = {}


def speaker_of(message: Message) -> str | None:
    """Who said it: the name the message carries, or the one its text begins with."""
    return message.name or speaker_in(message.content)


def text_to_index(message: Message) -> str:
    """What is indexed and embedded of a message: its words, with the speaker's name before them if there is one."""
    return indexed_text(message.content, speaker_of(message))


def rows_of(
    turn: Turn,
    *,
    words: Mapping[str, bytes] = _NONE,
    vectors: Mapping[str, bytes] = _NONE,
    topics: Mapping[str, str] = _NO_TOPICS,
    tags: frozenset[str] = frozenset(),
) -> list[Row]:
    """One row for each message of a turn that says something; the mappings are by message id, as stored."""
    return [
        Row(
            message_id=message.id,
            session_id=turn.session_id,
            turn_number=turn.turn_number,
            position=position,
            created_at=message.created_at,
            role=message.role,
            terms=terms_from_blob(words[message.id]) if message.id in words else terms(text_to_index(message)),
            vector=vectors.get(message.id),
            agent_id=turn.agent_id,
            speaker=speaker_of(message),
            topic_id=topics.get(message.id),
            tags=tags,
        )
        for position, message in enumerate(turn.messages)
        if message.content.strip()
    ]


PAGE = 256  # turns read at once

TurnKey = tuple[str, int]


class Unsettled(NamedTuple):
    """A turn that may still change or be replaced, as the index knows it."""

    turn_id: str
    checksum: str
    is_open: bool


@dataclass
class Seen:
    """What of a session is in the index, and the session's mark when it was last looked at.

    `unsettled` are its open turns and the newest one: a session that was emptied and filled again shows there.
    """

    mark: SessionMark
    tags: frozenset[str] = frozenset()
    through: int = 0
    unsettled: dict[int, Unsettled] = field(default_factory=dict)

    def is_up_to(self, mark: SessionMark) -> bool:
        """Whether nothing has happened since, and nothing was left unread."""
        return self.mark == mark and self.through >= mark.last_turn

    def lost_any(self, mark: SessionMark) -> bool:
        """Whether the new mark tells that turns were removed, or put in somewhere else than at the end."""
        longer, more = mark.last_turn - self.mark.last_turn, mark.turn_count - self.mark.turn_count
        return longer < 0 or longer != more or mark.revision < self.mark.revision

    def note(self, turn: Turn) -> None:
        """Remember a turn that was taken in, as long as it may change."""
        self.unsettled = {
            number: each for number, each in self.unsettled.items() if each.is_open or number > turn.turn_number
        }
        if turn.is_open or turn.turn_number >= max(self.unsettled, default=0):
            self.unsettled[turn.turn_number] = Unsettled(turn.id, turn.checksum, turn.is_open)
        else:
            self.unsettled.pop(turn.turn_number, None)


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an index has come: turns that are not read yet, turns that are not embedded yet."""

    unread: int
    unembedded: int

    @property
    def done(self) -> bool:
        """Everything said is in the index, with its vector."""
        return not (self.unread or self.unembedded)


@dataclass
class OwnerShelf:
    """An index and how far it has come.

    `unembedded` are turns without vectors, with the checksum they have in the index; `damaged` says which turns have no
    words, and why; `traced` tells, of sessions that were looked through, the last turn with a trace. `lock` is held for
    moments; `embedding` while vectors are made, so that whoever must have them waits for them and nobody else does.
    """

    owner: Owner
    embedder: str
    index: OwnerIndex
    lock: RLock = field(default_factory=RLock)
    embedding: RLock = field(default_factory=RLock)
    sessions: dict[str, Seen] = field(default_factory=dict)
    unembedded: dict[TurnKey, str] = field(default_factory=dict)
    damaged: dict[TurnKey, str] = field(default_factory=dict)
    traces: dict[TurnKey, TurnVectors] | None = None
    traced: dict[str, int] = field(default_factory=dict)

    def read(self, store: Store, marks: Mapping[str, SessionMark], most: int | None = None) -> Progress:
        """Take in what is new, at most about `most` turns; all of it without a bound. The caller holds the lock."""
        if any(name not in marks or seen.lost_any(marks[name]) for name, seen in self.sessions.items()):
            self._renew()
        if not self._read_on(store, marks, most):
            self._renew()
            self._read_on(store, marks, most)
        return self.progress(marks)

    def _read_on(self, store: Store, marks: Mapping[str, SessionMark], most: int | None) -> bool:
        """Read on in every session that has news; False if one of them is another session under the same name."""
        left = most
        for session_id, mark in marks.items():
            seen = self.sessions.get(session_id) or Seen(mark)
            if seen.is_up_to(mark):
                self.sessions.setdefault(session_id, seen)
                continue
            if left is not None and left <= 0:
                break
            changed = self._changed(store, session_id, seen)
            if changed is None:
                return False
            taken = self._read_session(store, session_id, seen, mark, changed, left)
            left = None if left is None else left - taken
        return True

    def progress(self, marks: Mapping[str, SessionMark]) -> Progress:
        """How far it has come against the marks of now."""
        behind = (
            max(mark.last_turn - self.sessions[name].through, 0) if name in self.sessions else mark.turn_count
            for name, mark in marks.items()
        )
        return Progress(sum(behind), len(self.unembedded))

    def awaits_answer(self, key: TurnKey) -> bool:
        """Whether a turn is open and the newest of its session: it is worth embedding once, with its answer."""
        seen = self.sessions.get(key[0])
        known = seen.unsettled.get(key[1]) if seen and seen.through == key[1] else None
        return known is not None and known.is_open

    def has_no_trace(self, turn: Turn) -> bool:
        """Whether a turn is known not to be embedded; the store need not be asked for its vectors then."""
        if turn.topic_id:  # it was embedded before, perhaps by another process
            return False
        seen = self.sessions.get(turn.session_id)
        if seen and turn.turn_number <= seen.through:
            return (turn.session_id, turn.turn_number) in self.unembedded
        return turn.turn_number > self.traced.get(turn.session_id, turn.turn_number)

    def _renew(self) -> None:
        """Something was removed or changed under us: begin again, traces make it quick."""
        self.index = OwnerIndex(self.index.dimensions)
        self.sessions, self.unembedded, self.damaged, self.traces, self.traced = {}, {}, {}, None, {}

    def _read_session(
        self, store: Store, session_id: str, seen: Seen, mark: SessionMark, changed: list[Turn], most: int | None
    ) -> int:
        """Take what has changed in a session and read on, at most about `most` turns; how many."""
        self.sessions[session_id] = seen
        self._note_tags(store, session_id, seen)
        self._take(store, seen, changed)
        taken = len(changed)
        while seen.through < mark.last_turn and (most is None or taken < most):
            size = PAGE if most is None else min(PAGE, most - taken)
            reach = seen.through + size + 1
            turns = store.turns.page(self.owner, session_id, after=seen.through, before=reach)
            self._take(store, seen, turns)
            seen.through = max([min(reach - 1, mark.last_turn), *(turn.turn_number for turn in turns)])
            taken += max(len(turns), 1)
        seen.mark = mark
        return taken

    def _changed(self, store: Store, session_id: str, seen: Seen) -> list[Turn] | None:
        """The turns that are not any more what the index holds; None if one of them is another turn now."""
        changed = []
        for number, known in sorted(seen.unsettled.items()):
            found = store.turns.page(self.owner, session_id, after=number - 1, before=number + 1)
            if not found or found[0].id != known.turn_id:
                return None
            changed += [turn for turn in found if turn.checksum != known.checksum]
        return changed

    def _note_tags(self, store: Store, session_id: str, seen: Seen) -> None:
        session = store.sessions.get(self.owner, session_id)
        tags = frozenset(session.tags if session else ())
        if tags != seen.tags:
            self.index.set_tags(session_id, tags)
            seen.tags = tags

    def _take(self, store: Store, seen: Seen, turns: Iterable[Turn]) -> None:
        """Put turns into the index, with the vectors that their traces hold."""
        for turn in turns:
            key = turn.session_id, turn.turn_number
            trace = self._traces(store).pop(key, None)
            vectors = split_trace(trace, turn, self.index.dimensions) if trace else None
            rows = rows_of(turn, vectors=vectors or {}, topics=_topics(turn), tags=seen.tags)
            self.index.add(rows)
            if turn.damage:
                self.damaged[key] = turn.damage
            if vectors is None and rows:
                self.unembedded[key] = turn.checksum
            seen.note(turn)

    def _traces(self, store: Store) -> dict[TurnKey, TurnVectors]:
        """What was embedded before, read once per index."""
        if self.traces is None:
            found = store.vectors.read(self.owner, self.embedder)
            self.traces = {(trace.session_id, trace.turn_number): trace for trace in found}
        return self.traces


def split_trace(trace: TurnVectors, turn: Turn, dimensions: int) -> dict[str, bytes] | None:
    """The vectors of a turn's messages by message id; None if the turn has changed since, or they are another size."""
    size = blob_size(dimensions)
    if trace.checksum != turn.checksum or len(trace.body) != size * len(turn.messages):
        return None
    return {message.id: trace.body[at * size : (at + 1) * size] for at, message in enumerate(turn.messages)}


def _topics(turn: Turn) -> dict[str, str]:
    return {message.id: turn.topic_id for message in turn.messages} if turn.topic_id else {}
