"""Keeping an index of what each owner has said: read new turns, embed them, remember the vectors.

An index lives in memory and is made from the store, page by page, so that a caller in a hurry can stop in between.
Words are there as soon as a turn is read; vectors follow, and are kept as traces so that they are made once.
A turn that another process has written is found by comparing session marks, which is one small query.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from threading import RLock
from time import monotonic
from uuid import UUID

from ricordo.ports import Store
from ricordo.recall.embedder import Choice, Embedder
from ricordo.recall.index import OwnerIndex, Row
from ricordo.recall.speakers import indexed_text, speaker_in
from ricordo.recall.vectors import blob_size, vectors_to_blobs
from ricordo.recall.words import terms
from ricordo.records import Message, Owner, SessionMark, Trace, Turn

PAGE = 256  # turns read at once
BATCH = 32  # messages embedded at once
OWNERS = 64  # indexes kept in memory

UNSEEN = SessionMark(-1, 0, 0)

TurnKey = tuple[str, int]


@dataclass
class _Session:
    """What of a session is in the index."""

    mark: SessionMark = UNSEEN
    tags: tuple[str, ...] = ()
    through: int = 0
    count: int = 0
    open_turns: set[int] = field(default_factory=set)


@dataclass
class OwnerShelf:
    """One owner's index with its bookkeeping; `unembedded` are turns whose messages have no vector yet."""

    owner: Owner
    index: OwnerIndex
    lock: RLock = field(default_factory=RLock)
    sessions: dict[str, _Session] = field(default_factory=dict)
    unembedded: dict[TurnKey, None] = field(default_factory=dict)
    traces: dict[TurnKey, Trace] | None = None


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an index has come: turns that are not read yet, turns that are not embedded yet."""

    unread: int
    unembedded: int

    @property
    def done(self) -> bool:
        """Everything said is in the index, with its vector."""
        return not (self.unread or self.unembedded)


class Indexes:
    """The indexes of the owners who were asked about last. Thread-safe."""

    def __init__(self, store: Store, choice: Choice) -> None:
        self._store = store
        self.choice = choice
        self._shelves: OrderedDict[UUID, OwnerShelf] = OrderedDict()
        self._lock = RLock()

    @property
    def embedder(self) -> Embedder:
        """What turns text into vectors here."""
        return self.choice.embedder

    def shelf(self, owner: Owner) -> OwnerShelf:
        """The owner's index as far as it was read."""
        with self._lock:
            shelf = self._shelves.get(owner.key)
            if shelf is None:
                shelf = OwnerShelf(owner, OwnerIndex(self.embedder.dimensions))
                self._shelves[owner.key] = shelf
            self._shelves.move_to_end(owner.key)
            while len(self._shelves) > OWNERS:
                self._shelves.popitem(last=False)
            return shelf

    def forget(self, owner: Owner) -> None:
        """Drop an owner's index; what is stored is not touched."""
        with self._lock:
            self._shelves.pop(owner.key, None)

    def read(self, owner: Owner, *, most: int | None = None) -> Progress:
        """Take new turns in, at most about `most` of them; all of them without a bound."""
        shelf = self.shelf(owner)
        with shelf.lock:
            marks = self._store.marks(owner)
            if self._anything_gone(shelf, marks):
                shelf = self._renewed(shelf)
            taken = 0
            for session_id, mark in marks.items():
                for turns in self._news(shelf, session_id, mark):
                    self._take(shelf, session_id, turns)
                    taken += len(turns)
                    if most is not None and taken >= most:
                        return self._progress(shelf, marks)
                if not self._settled(shelf, session_id, mark):
                    self._renewed(shelf)
                    return self._progress(shelf, marks)
            return self._progress(shelf, marks)

    def embed(self, owner: Owner, *, most: int = BATCH) -> int:
        """Embed about `most` messages that have no vector, and keep their traces; how many turns are left."""
        shelf = self.shelf(owner)
        with shelf.lock:
            due: list[Turn] = []
            messages = 0
            for session_id, number in list(shelf.unembedded):
                if messages >= most:
                    break
                found = self._store.turns(owner, session_id, after=number - 1, before=number + 1)
                del shelf.unembedded[session_id, number]
                due.extend(turn for turn in found if turn.messages)
                messages += sum(len(turn.messages) for turn in found)
            if due:
                self._embed(shelf, due)
            return len(shelf.unembedded)

    def complete(self, owner: Owner, patience: float) -> Progress:
        """Read and embed until everything is in, or `patience` seconds have passed."""
        give_up = monotonic() + patience
        progress = self.read(owner)
        while not progress.done and monotonic() < give_up:
            left = self.embed(owner) if not progress.unread else 0
            progress = self.read(owner) if not left else Progress(0, left)
        return progress

    def _anything_gone(self, shelf: OwnerShelf, marks: dict[str, SessionMark]) -> bool:
        return any(
            name not in marks or marks[name].turn_count < seen.count or marks[name].last_turn < seen.through
            for name, seen in shelf.sessions.items()
        )

    def _renewed(self, shelf: OwnerShelf) -> OwnerShelf:
        """Something was removed or changed under us: begin again, traces make it quick."""
        shelf.index = OwnerIndex(self.embedder.dimensions)
        shelf.sessions, shelf.unembedded, shelf.traces = {}, {}, None
        return shelf

    def _news(self, shelf: OwnerShelf, session_id: str, mark: SessionMark) -> Iterator[list[Turn]]:
        """The turns of a session that are not in the index as they are now, page by page."""
        seen = shelf.sessions.setdefault(session_id, _Session())
        if seen.mark == mark:
            return
        info = self._store.session(shelf.owner, session_id)
        seen.tags = info.tags if info else ()
        answered = [
            turn
            for number in sorted(seen.open_turns)
            for turn in self._store.turns(shelf.owner, session_id, after=number - 1, before=number + 1)
            if not turn.is_open
        ]
        if answered:
            yield answered
        while seen.through < mark.last_turn:
            reach = seen.through + PAGE + 1
            turns = list(self._store.turns(shelf.owner, session_id, after=seen.through, before=reach))
            seen.through = max(seen.through, min(reach - 1, mark.last_turn), *(turn.turn_number for turn in turns))
            seen.count += len(turns)
            yield turns

    def _settled(self, shelf: OwnerShelf, session_id: str, mark: SessionMark) -> bool:
        """Note that a session is read up to its mark; False if the count says that something is amiss."""
        seen = shelf.sessions[session_id]
        known_before = seen.mark.revision >= 0
        seen.mark = mark
        return seen.count == mark.turn_count or not known_before

    def _take(self, shelf: OwnerShelf, session_id: str, turns: Iterable[Turn]) -> None:
        seen = shelf.sessions[session_id]
        traces = self._traces(shelf)
        for turn in turns:
            key = (session_id, turn.turn_number)
            trace = traces.pop(key, None)
            valid = trace is not None and trace.checksum == turn.checksum
            blobs = self._split(trace.body, len(turn.messages)) if trace and valid else None
            shelf.index.add(_rows(turn, seen.tags, blobs))
            if blobs is None and turn.messages:
                shelf.unembedded[key] = None
            if turn.is_open:
                seen.open_turns.add(turn.turn_number)
            else:
                seen.open_turns.discard(turn.turn_number)

    def _traces(self, shelf: OwnerShelf) -> dict[TurnKey, Trace]:
        """What was embedded before, read once per index."""
        if shelf.traces is None:
            found = self._store.traces(shelf.owner, self.embedder.name)
            shelf.traces = {(trace.session_id, trace.turn_number): trace for trace in found}
        return shelf.traces

    def _split(self, body: bytes, count: int) -> list[bytes] | None:
        size = blob_size(self.embedder.dimensions)
        if len(body) != size * count:
            return None
        return [body[at : at + size] for at in range(0, len(body), size)]

    def _embed(self, shelf: OwnerShelf, turns: list[Turn]) -> None:
        texts = [_indexed(message) for turn in turns for message in turn.messages]
        blobs = iter(vectors_to_blobs(self.embedder.embed_passages(texts)))
        traces = []
        for turn in turns:
            own = [next(blobs) for _ in turn.messages]
            shelf.index.set_vectors({message.id: blob for message, blob in zip(turn.messages, own, strict=True)})
            traces.append(Trace(turn.session_id, turn.turn_number, self.embedder.name, turn.checksum, b"".join(own)))
        self._store.keep_traces(shelf.owner, traces)

    def _progress(self, shelf: OwnerShelf, marks: dict[str, SessionMark]) -> Progress:
        behind = (
            mark.last_turn - shelf.sessions[name].through if name in shelf.sessions else mark.turn_count
            for name, mark in marks.items()
        )
        return Progress(sum(behind), len(shelf.unembedded))


def _rows(turn: Turn, tags: tuple[str, ...], blobs: list[bytes] | None) -> list[Row]:
    return [
        Row(
            message_id=message.id,
            session_id=turn.session_id,
            turn_number=turn.turn_number,
            position=position,
            created_at=message.created_at,
            role=message.role,
            terms=terms(_indexed(message)),
            vector=blobs[position] if blobs else None,
            agent_id=turn.agent_id,
            speaker=message.name or speaker_in(message.content),
            topic_id=turn.topic_id,
            tags=frozenset(tags),
        )
        for position, message in enumerate(turn.messages)
    ]


def _indexed(message: Message) -> str:
    return indexed_text(message.content, message.name)


def embed_again(
    store: Store, indexes: Indexes, tenant_id: str, progress: Callable[[int, int], None] | None = None
) -> int:
    """Embed everything of a tenant that this embedder has not seen, user by user; then drop other embedders' traces.

    Until a user is done, the old vectors stay where they are and are not mixed with the new ones.
    """
    owners = list(store.owners(tenant_id))
    turns = 0
    for done, owner in enumerate(owners, start=1):
        left = indexes.read(owner).unembedded
        turns += left
        while left:
            left = indexes.embed(owner)
        store.drop_traces(owner, keep=indexes.embedder.name)
        if progress:
            progress(done, len(owners))
    return turns
