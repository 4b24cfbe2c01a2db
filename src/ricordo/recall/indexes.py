"""Keeping an index of what each owner has said: read new turns, embed them, remember the vectors.

An index lives in memory and is made from the store, so that a turn that another process has written is found by
comparing session marks, which is one small query. Words are there as soon as a turn is read; vectors follow, and are
kept as traces so that they are made once.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock, RLock
from time import monotonic
from uuid import UUID

from ricordo.engine.core import Engine
from ricordo.recall.embedders.protocol import Embedder, EmbedderChoice
from ricordo.recall.embedders.selection import AbsentEmbedder, shared_choice
from ricordo.recall.index import OwnerIndex
from ricordo.recall.owner_index import OwnerShelf, Progress, TurnKey, split_trace, text_to_index
from ricordo.recall.quantization import Vectors, vectors_from_blobs, vectors_to_blobs
from ricordo.records.lru import LRU
from ricordo.records.turns import Owner, SessionMark, Turn, TurnVectors
from ricordo.safety.crisis import Crises, crises_by
from ricordo.stores.protocols import Store

# Vectors that were made or read lately, for whoever needs them next: topics come right after the search, or before it.

RECENT = 2_048  # turns


class VectorCache:
    """The vectors of turns, by owner and checksum. Thread-safe."""

    def __init__(self) -> None:
        self._turns: LRU[tuple[UUID, str], dict[str, bytes]] = LRU(RECENT)
        self._lock = Lock()

    def of(self, owner: Owner, turns: Iterable[Turn]) -> dict[str, bytes]:
        """What is at hand of some turns."""
        found: dict[str, bytes] = {}
        with self._lock:
            for turn in turns:
                found |= self._turns.get((owner.key, turn.checksum)) or {}
        return found

    def keep(self, owner: Owner, turns: Iterable[Turn], blobs: Mapping[str, bytes]) -> None:
        """Keep the vectors of turns; `blobs` has those of all their messages."""
        with self._lock:
            for turn in turns:
                vectors = {message.id: blobs[message.id] for message in turn.messages}
                self._turns.put((owner.key, turn.checksum), vectors)

    def forget(self, owner: Owner | None = None) -> None:
        """Drop what is of an owner, or everything."""
        with self._lock:
            self._turns.remove_where(lambda key: owner is None or key[0] == owner.key)


BATCH = 32  # messages embedded at once
OWNERS = 1_024  # indexes kept in memory,
MESSAGES = 200_000  # and messages in all of them together, 1.7 KB each at 896 dimensions; one owner's index stays whole
PAUSE = 30.0  # seconds that a chat does without an embedder that failed
AHEAD = 256  # turns whose vectors are read with those of the turns before them: topics are found in their order


@dataclass
class Pause:
    """After a failure the embedder is left alone for a while by whoever must not wait; `why` is the sentence for it."""

    until: float = 0.0
    why: str = ""

    def begin(self, why: str) -> None:
        """It failed just now."""
        self.until, self.why = monotonic() + PAUSE, why

    def end(self) -> None:
        """It works again."""
        self.until, self.why = 0.0, ""

    @property
    def now(self) -> str:
        """Why it is left alone now; empty when it may be asked."""
        return self.why if monotonic() < self.until else ""


class Indexes:
    """The indexes of the owners who were asked about last. Thread-safe."""

    def __init__(
        self,
        store: Store,
        choice: EmbedderChoice,
        *,
        owners: int = OWNERS,
        messages: int = MESSAGES,
        crises: Crises | None = None,
    ) -> None:
        self._store = store
        self.crises = crises or Crises()
        self.choice = choice
        self._shelves: LRU[UUID, OwnerShelf] = LRU(owners, messages)  # weighed by their messages
        self._at_hand = VectorCache()
        self._lock = RLock()
        self.pause = Pause()
        self.try_again_at = monotonic() + TRY_AGAIN

    @property
    def embedder(self) -> Embedder:
        """What turns text into vectors here."""
        return self.choice.embedder

    def choose(self, choice: EmbedderChoice) -> None:
        """Take another embedder from now on; what is in memory was made for the old one and goes."""
        with self._lock:
            self.choice = choice
            self.forget()

    def learn_dimensions(self) -> None:
        """Make sure that the embedder knows how long its vectors are; it may have to be asked for one, and fail."""
        if not self.embedder.dimensions:
            self.embedder.embed_query("dimensions")

    def shelf(self, owner: Owner) -> OwnerShelf:
        """The owner's index as far as it was read."""
        with self._lock:
            shelf = self._shelves.get(owner.key)
            # An embedder may tell its dimensions late: what was read before that has words only, and is read again.
            if shelf is None or shelf.index.dimensions != self.embedder.dimensions:
                shelf = OwnerShelf(owner, self.embedder.name, OwnerIndex(self.embedder.dimensions))
                self._shelves.put(owner.key, shelf)
            return shelf

    def forget(self, owner: Owner | None = None) -> None:
        """Drop an owner's index, or everybody's; what is stored is not touched."""
        with self._lock:
            self._shelves.remove_where(lambda key: owner is None or key == owner.key)
            self._at_hand.forget(owner)

    def read(self, owner: Owner, *, most: int | None = None) -> Progress:
        """Take new turns in, at most about `most` of them; all of them without a bound."""
        shelf = self.shelf(owner)
        with shelf.lock:
            progress = shelf.read(self._store, self._store.sessions.marks(owner), most)
        self._weigh(shelf)
        return progress

    def catch_up(self, owner: Owner, marks: Mapping[str, SessionMark], *, most: int) -> Progress:
        """Take everything new in if it is at most `most` turns; of a longer backlog nothing."""
        shelf = self.shelf(owner)
        with shelf.lock:
            progress = shelf.progress(marks)
            if progress.unread <= most:
                progress = shelf.read(self._store, marks)
        self._weigh(shelf)
        return progress

    def embed(self, owner: Owner, *, most: int = BATCH, unanswered: bool = False) -> int:
        """Embed about `most` messages that have no vector, and keep their traces; how many turns are left.

        A question that waits for its answer is left alone unless `unanswered` is set: both are embedded together then.
        """
        self.learn_dimensions()
        shelf = self.shelf(owner)
        with shelf.embedding:
            with shelf.lock:
                due = self._due(shelf, most, unanswered)
            self._embed(shelf, due)
            with shelf.lock:
                return sum(unanswered or not shelf.awaits_answer(key) for key in shelf.unembedded)

    def complete(self, owner: Owner, patience: float) -> Progress:
        """Read and embed until all that was said before this call is in, or `patience` seconds have passed."""
        give_up = monotonic() + patience
        self.learn_dimensions()
        progress = self.read(owner)
        missing = self._unembedded(owner)
        while missing and monotonic() < give_up:
            self.embed(owner, unanswered=True)
            progress = self.read(owner)
            missing &= self._unembedded(owner)
        return progress

    def vectors(self, owner: Owner, turns: Sequence[Turn]) -> Mapping[str, Vectors]:
        """The vectors of all messages of some turns of one session, by message id; those that lack one are embedded."""
        if any(turn.messages for turn in turns):
            self.learn_dimensions()
        shelf = self.shelf(owner)
        with shelf.embedding:
            found = self._at_hand.of(owner, turns)
            with shelf.lock:
                may_be_kept = not all(shelf.has_no_trace(turn) for turn in self._lacking(turns, found))
            if may_be_kept:
                found |= self._stored(shelf, turns)
            lacking = self._lacking(turns, found)
            if lacking:
                found |= self._embed(shelf, lacking)
        decoded = vectors_from_blobs(list(found.values()), self.embedder.dimensions).floats() if found else ()
        return dict(zip(found, decoded, strict=True))

    def _unembedded(self, owner: Owner) -> set[TurnKey]:
        shelf = self.shelf(owner)
        with shelf.lock:
            return set(shelf.unembedded)

    def _due(self, shelf: OwnerShelf, most: int, unanswered: bool) -> list[Turn]:
        """The next turns to embed, as they are stored now."""
        due: list[Turn] = []
        messages = 0
        for key in list(shelf.unembedded):
            if messages >= most:
                break
            if not unanswered and shelf.awaits_answer(key):
                continue
            found = self._store.turns.page(shelf.owner, key[0], after=key[1] - 1, before=key[1] + 1)
            if not found or not found[0].messages:
                del shelf.unembedded[key]  # it went, and the marks will say so
            due += [turn for turn in found if turn.messages]
            messages += sum(len(turn.messages) for turn in found)
        return due

    def _embed(self, shelf: OwnerShelf, turns: Sequence[Turn]) -> dict[str, bytes]:
        """Vectors for turns: made without holding up readers, kept as traces, given to the index if it is the same."""
        if not turns:
            return {}
        index = shelf.index
        blobs = self._at_hand.of(shelf.owner, turns)
        fresh = self._lacking(turns, blobs)
        if fresh:
            texts = [text for turn in fresh for text in self._texts(turn)]
            made = iter(vectors_to_blobs(self.embedder.embed_passages(texts)))
            blobs |= {message.id: next(made) for turn in fresh for message in turn.messages}
            self._store.vectors.write(shelf.owner, [self._trace(turn, blobs) for turn in fresh])
        with shelf.lock:
            if shelf.index is index and index.dimensions == self.embedder.dimensions:
                index.set_vectors(blobs)
                for turn in turns:
                    key: TurnKey = turn.session_id, turn.turn_number
                    if shelf.unembedded.get(key) == turn.checksum:
                        del shelf.unembedded[key]
        self._at_hand.keep(shelf.owner, fresh, blobs)
        return blobs

    def _texts(self, turn: Turn) -> list[str]:
        """What is embedded of a turn: nothing where it is about a crisis."""
        if self.crises.within(turn):
            return ["" for _ in turn.messages]
        return [text_to_index(message) for message in turn.messages]

    def _trace(self, turn: Turn, blobs: Mapping[str, bytes]) -> TurnVectors:
        body = b"".join(blobs[message.id] for message in turn.messages)
        return TurnVectors(turn.session_id, turn.turn_number, self.embedder.name, turn.checksum, body)

    def _stored(self, shelf: OwnerShelf, turns: Sequence[Turn]) -> dict[str, bytes]:
        """The vectors that traces hold of some turns of one session; those of the next turns are at hand then."""
        session_id, last = turns[0].session_id, max(turn.turn_number for turn in turns)
        found = self._store.vectors.read(shelf.owner, self.embedder.name, session_id)
        traces = {trace.turn_number: trace for trace in found}
        following = [number for number in traces if number > last][:AHEAD]
        reach = max(following, default=last) + 1
        ahead = self._store.turns.page(shelf.owner, session_id, after=last, before=reach) if following else ()
        blobs: dict[str, bytes] = {}
        for turn in (*turns, *ahead):
            if trace := traces.get(turn.turn_number):
                blobs |= split_trace(trace, turn, self.embedder.dimensions) or {}
        self._at_hand.keep(shelf.owner, self._covered((*ahead, *turns), blobs), blobs)
        with shelf.lock:
            shelf.traced[session_id] = max(traces, default=0)
        return {message.id: blobs[message.id] for turn in self._covered(turns, blobs) for message in turn.messages}

    def _lacking(self, turns: Iterable[Turn], found: Mapping[str, bytes]) -> list[Turn]:
        return [turn for turn in turns if any(message.id not in found for message in turn.messages)]

    def _covered(self, turns: Iterable[Turn], found: Mapping[str, bytes]) -> list[Turn]:
        return [turn for turn in turns if all(message.id in found for message in turn.messages)]

    def _weigh(self, grown: OwnerShelf) -> None:
        """Count the messages of an index that has grown; the least recently used ones are evicted if they are many."""
        with self._lock:
            if self._shelves.peek(grown.owner.key) is grown:
                self._shelves.put(grown.owner.key, grown, len(grown.index))


def embed_again(
    store: Store, indexes: Indexes, tenant_id: str, progress: Callable[[int, int], None] | None = None
) -> int:
    """Embed everything of a tenant that this embedder has not seen, user by user; then drop other embedders' traces.

    Until a user is done, the old vectors stay where they are and are not mixed with the new ones. Progress is told in
    turns. How many turns were embedded.
    """
    owners = list(store.owners(tenant_id))
    if owners:
        indexes.learn_dimensions()
    total = sum(mark.turn_count for owner in owners for mark in store.sessions.marks(owner).values())
    looked_at = embedded = 0
    for owner in owners:
        left = indexes.read(owner).unembedded
        turns = sum(mark.turn_count for mark in store.sessions.marks(owner).values())
        looked_at, embedded = looked_at + turns - left, embedded + left
        while left:
            indexes.embed(owner, unanswered=True)
            before, left = left, indexes.read(owner).unembedded
            looked_at += max(before - left, 0)
            if progress:
                progress(min(looked_at, total), total)
        store.vectors.drop(owner, keep=indexes.embedder.name)
        if progress:
            progress(min(looked_at, total), total)
    return embedded


TRY_AGAIN = 30.0  # seconds after which an embedder that could not be made is tried again
READ_AT_ONCE, EMBEDDED_AT_ONCE = 16, 2  # turns read and messages embedded in one slice of work after a turn


def indexes_of(engine: Engine) -> Indexes:
    """The indexes of a memory, made with the first call.

    An embedder that could not be made is tried again after a while: its weights were fetched, its library installed.
    """
    if engine.indexes is None:
        engine.indexes = engine.part(_make)
    indexes = engine.indexes
    if isinstance(indexes.embedder, AbsentEmbedder) and monotonic() >= indexes.try_again_at:
        indexes.try_again_at = monotonic() + TRY_AGAIN
        choice = shared_choice(engine.settings.recall.embedder)
        if not isinstance(choice.embedder, AbsentEmbedder):
            indexes.choose(choice)
    return indexes


def _make(engine: Engine) -> Indexes:
    given, setting = engine.embedder, engine.settings.recall.embedder
    choice = EmbedderChoice(given, "given by the program") if given else shared_choice(setting)
    return Indexes(engine.store, choice, crises=crises_by(engine.settings.safety))


def index_some(engine: Engine, owner: Owner) -> bool:
    """Read and embed a little of what the index of an owner lacks; whether there is more.

    A slice cannot be interrupted and shares the processor with chats, so it is kept to a message or two.
    """
    if not engine.settings.recall.recall_messages:
        return False
    indexes = indexes_of(engine)
    progress = indexes.read(owner, most=READ_AT_ONCE)
    return bool(progress.unread or indexes.embed(owner, most=EMBEDDED_AT_ONCE))
