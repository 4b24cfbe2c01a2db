"""The in-memory indexes of all owners: read new turns, embed them, store the vectors.

An index is built from the store; comparing session marks, one small query, finds turns that other processes wrote.
Words are indexed as soon as a turn is read; vectors follow and are stored as traces, so that each is computed once.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock, RLock
from time import monotonic
from typing import TYPE_CHECKING
from uuid import UUID

import numpy as np

from ricordo.engine.core import LRU, cause_of
from ricordo.errors import StoreError
from ricordo.recall.embedders import Embedder, EmbedderChoice, EmbedderError
from ricordo.recall.embedders.selection import AbsentEmbedder, shared_choice
from ricordo.recall.index import OwnerIndex
from ricordo.recall.index_state import IndexState, Progress, TurnKey, split_trace, text_to_index, words_of
from ricordo.recall.quantization import Vectors, as_stored, vectors_from_blobs, vectors_to_blobs
from ricordo.records.turns import Owner, SessionMark, Turn, TurnVectors
from ricordo.safety.crisis import CrisisDetector, crisis_detector

if TYPE_CHECKING:
    from ricordo.engine.core import Engine
    from ricordo.stores.protocols import Store

log = logging.getLogger("ricordo")

CACHED_TURNS = 2_048


class VectorCache:
    """Vectors of recent turns, by owner and checksum, shared by search and topics. Thread-safe."""

    def __init__(self) -> None:
        self._turns: LRU[tuple[UUID, str], dict[str, bytes]] = LRU(CACHED_TURNS)
        self._lock = Lock()

    def of(self, owner: Owner, turns: Iterable[Turn]) -> dict[str, bytes]:
        """The cached vectors of some turns, by message id."""
        found: dict[str, bytes] = {}
        with self._lock:
            for turn in turns:
                found |= self._turns.get((owner.key, turn.checksum)) or {}
        return found

    def keep(self, owner: Owner, turns: Iterable[Turn], blobs: Mapping[str, bytes]) -> None:
        """Cache the vectors of turns; `blobs` has those of all their messages."""
        with self._lock:
            for turn in turns:
                vectors = {message.id: blobs[message.id] for message in turn.messages}
                self._turns.put((owner.key, turn.checksum), vectors)

    def forget(self, owner: Owner | None = None) -> None:
        """Drop what is of an owner, or everything."""
        with self._lock:
            self._turns.remove_where(lambda key: owner is None or key[0] == owner.key)


BATCH = 32  # messages embedded at once
OWNERS = 1_024  # indexes in memory
MESSAGES = 200_000  # in all indexes, 1.7 KB each at 896 dimensions; a single larger index is kept
QUERY_TIMEOUT = 1.0  # seconds that a chat waits for the vector of its question
COOLDOWN = 30.0  # seconds during which a chat does not call an embedder that failed
WORDS_AT_ONCE = 256  # turns whose words are stored in one transaction
READ_AHEAD = 256  # turns whose vectors are read together with earlier ones, because topics are assigned in order


@dataclass
class Cooldown:
    """After a failure, calls that must not wait skip the embedder until `until`; `why` is the note for them."""

    until: float = 0.0
    why: str = ""

    def start(self, why: str) -> None:
        """Note a failure."""
        self.until, self.why = monotonic() + COOLDOWN, why

    def clear(self) -> None:
        """Note a success."""
        self.until, self.why = 0.0, ""

    @property
    def reason(self) -> str:
        """Why the embedder is skipped now; empty when it may be called."""
        return self.why if monotonic() < self.until else ""


class Indexes:
    """The indexes of the most recently used owners. Thread-safe."""

    def __init__(
        self,
        store: "Store",
        choice: EmbedderChoice,
        *,
        owners: int = OWNERS,
        messages: int = MESSAGES,
        crises: CrisisDetector | None = None,
    ) -> None:
        self._store = store
        self.crises = crises or CrisisDetector()
        self.choice = choice
        self._states: LRU[UUID, IndexState] = LRU(owners, messages)  # weighed by their messages
        self._vector_cache = VectorCache()
        self._lock = RLock()
        self.cooldown = Cooldown()
        self.try_again_at = monotonic() + TRY_AGAIN

    @property
    def embedder(self) -> Embedder:
        """The embedder in use."""
        return self.choice.embedder

    def choose(self, choice: EmbedderChoice) -> None:
        """Use another embedder from now on; the indexes of the old one are dropped."""
        with self._lock:
            self.choice = choice
            self.forget()

    def learn_dimensions(self) -> None:
        """Embed a text if the embedder does not know its dimensions yet; this may fail."""
        if not self.embedder.dimensions:
            self.embedder.embed_query("dimensions")

    def state(self, owner: Owner) -> IndexState:
        """The index of an owner and how far it has been read."""
        with self._lock:
            state = self._states.get(owner.key)
            # Dimensions may become known late: an index built before that has words only and is built again.
            if state is None or state.index.dimensions != self.embedder.dimensions:
                state = IndexState(owner, self.embedder.name, OwnerIndex(self.embedder.dimensions))
                self._states.put(owner.key, state)
            return state

    def forget(self, owner: Owner | None = None) -> None:
        """Drop the index of an owner, or all indexes; the store is not changed."""
        with self._lock:
            self._states.remove_where(lambda key: owner is None or key == owner.key)
            self._vector_cache.forget(owner)

    def read(self, owner: Owner, *, most: int | None = None) -> Progress:
        """Index new turns, at most about `most` of them; all if None."""
        state = self.state(owner)
        with state.lock:
            progress = state.read(self._store, self._store.sessions.marks(owner), most)
        self._weigh(state)
        self._store_words(state)
        return progress

    def catch_up(self, owner: Owner, marks: Mapping[str, SessionMark], *, most: int) -> Progress:
        """Index all new turns if there are at most `most`; of a longer backlog, none."""
        state = self.state(owner)
        with state.lock:
            progress = state.progress(marks)
            if progress.unread <= most:
                progress = state.read(self._store, marks)
        self._weigh(state)
        return progress

    def embed(self, owner: Owner, *, most: int = BATCH, unanswered: bool = False) -> int:
        """Embed about `most` messages that have no vector, and store their traces; returns how many turns are left.

        The newest open turn is skipped unless `unanswered` is set, so that question and answer are embedded together.
        """
        self.learn_dimensions()
        state = self.state(owner)
        with state.embedding:
            with state.lock:
                due = self._due(state, most, unanswered)
            self._embed(state, due)
            with state.lock:
                return sum(unanswered or not state.awaits_answer(key) for key in state.unembedded)

    def complete(self, owner: Owner, patience: float) -> Progress:
        """Index and embed all turns stored before this call, for at most `patience` seconds."""
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
        """The vectors of all messages of some turns of one session, by message id; missing ones are embedded."""
        if any(turn.messages for turn in turns):
            self.learn_dimensions()
        state = self.state(owner)
        with state.embedding:
            found = self._vector_cache.of(owner, turns)
            with state.lock:
                may_be_stored = not all(state.has_no_trace(turn) for turn in self._lacking(turns, found))
            if may_be_stored:
                found |= self._stored(state, turns)
            lacking = self._lacking(turns, found)
            if lacking:
                found |= self._embed(state, lacking)
        decoded = vectors_from_blobs(list(found.values()), self.embedder.dimensions).floats() if found else ()
        return dict(zip(found, decoded, strict=True))

    def quick_vector(self, text: str) -> Vectors:
        """The vector of a text as that of a stored message would be, for a chat that must not wait; it may fail."""
        if self.cooldown.reason:
            raise EmbedderError(self.cooldown.reason)
        if timed := self.choice.timed:
            rows = timed.embed_query_within(text, QUERY_TIMEOUT)[np.newaxis]
        else:
            rows = self.embedder.embed_passages([text])
        stored: Vectors = as_stored(rows)[0]
        return stored

    def _unembedded(self, owner: Owner) -> set[TurnKey]:
        state = self.state(owner)
        with state.lock:
            return set(state.unembedded)

    def _due(self, state: IndexState, most: int, unanswered: bool) -> list[Turn]:
        """The next turns to embed, as they are stored now."""
        due: list[Turn] = []
        messages = 0
        for key in list(state.unembedded):
            if messages >= most:
                break
            if not unanswered and state.awaits_answer(key):
                continue
            found = self._store.turns.page(state.owner, key[0], after=key[1] - 1, before=key[1] + 1)
            if not found or not found[0].messages:
                del state.unembedded[key]  # it was deleted; the session marks will show it
            due += [turn for turn in found if turn.messages]
            messages += sum(len(turn.messages) for turn in found)
        return due

    def _embed(self, state: IndexState, turns: Sequence[Turn]) -> dict[str, bytes]:
        """Vectors for turns: computed without blocking readers, stored as traces, added to the index."""
        if not turns:
            return {}
        index = state.index
        blobs = self._vector_cache.of(state.owner, turns)
        fresh = self._lacking(turns, blobs)
        if fresh:
            texts = [text for turn in fresh for text in self._texts(turn)]
            made = iter(vectors_to_blobs(self.embedder.embed_passages(texts)))
            blobs |= {message.id: next(made) for turn in fresh for message in turn.messages}
            self._store.vectors.write(state.owner, [self._trace(state, turn, blobs) for turn in fresh])
        with state.lock:
            if state.index is index and index.dimensions == self.embedder.dimensions:
                index.set_vectors(blobs)
                for turn in turns:
                    key: TurnKey = turn.session_id, turn.turn_number
                    if state.unembedded.get(key) == turn.checksum:
                        del state.unembedded[key]
        self._vector_cache.keep(state.owner, fresh, blobs)
        return blobs

    def _texts(self, turn: Turn) -> list[str]:
        """The texts to embed of a turn; empty ones if it is about a crisis."""
        if self.crises.within(turn):
            return ["" for _ in turn.messages]
        return [text_to_index(message) for message in turn.messages]

    def _trace(self, state: IndexState, turn: Turn, blobs: Mapping[str, bytes]) -> TurnVectors:
        body = b"".join(blobs[message.id] for message in turn.messages)
        checksum, words = state.words.pop((turn.session_id, turn.turn_number), ("", b""))
        if checksum != turn.checksum:
            words = words_of(turn)
        return TurnVectors(turn.session_id, turn.turn_number, self.embedder.name, turn.checksum, body, words)

    def _store_words(self, state: IndexState) -> None:
        """Store the words of turns that were stored without them; where that fails, they are made again next time."""
        with state.lock:
            remade, state.remade = state.remade, []
        try:
            for start in range(0, len(remade), WORDS_AT_ONCE):
                self._store.vectors.write(state.owner, remade[start : start + WORDS_AT_ONCE])
        except StoreError as error:  # a replica, or a database that is away
            log.info("the words of %d turns were not stored", len(remade), extra={"cause": cause_of(error)})

    def _stored(self, state: IndexState, turns: Sequence[Turn]) -> dict[str, bytes]:
        """The stored vectors of some turns of one session; those of the following turns are cached as well."""
        session_id, last = turns[0].session_id, max(turn.turn_number for turn in turns)
        found = self._store.vectors.read(state.owner, self.embedder.name, session_id)
        traces = {trace.turn_number: trace for trace in found}
        following = [number for number in traces if number > last][:READ_AHEAD]
        reach = max(following, default=last) + 1
        ahead = self._store.turns.page(state.owner, session_id, after=last, before=reach) if following else ()
        blobs: dict[str, bytes] = {}
        for turn in (*turns, *ahead):
            if trace := traces.get(turn.turn_number):
                blobs |= split_trace(trace, turn, self.embedder.dimensions) or {}
        self._vector_cache.keep(state.owner, self._covered((*ahead, *turns), blobs), blobs)
        with state.lock:
            state.traced[session_id] = max(traces, default=0)
        return {message.id: blobs[message.id] for turn in self._covered(turns, blobs) for message in turn.messages}

    def _lacking(self, turns: Iterable[Turn], found: Mapping[str, bytes]) -> list[Turn]:
        return [turn for turn in turns if any(message.id not in found for message in turn.messages)]

    def _covered(self, turns: Iterable[Turn], found: Mapping[str, bytes]) -> list[Turn]:
        return [turn for turn in turns if all(message.id in found for message in turn.messages)]

    def _weigh(self, grown: IndexState) -> None:
        """Update the weight of an index that has grown, which may evict others."""
        with self._lock:
            if self._states.peek(grown.owner.key) is grown:
                self._states.put(grown.owner.key, grown, len(grown.index))


def embed_again(
    store: "Store", indexes: Indexes, tenant_id: str, progress: Callable[[int, int], None] | None = None
) -> int:
    """Embed everything of a tenant that this embedder has not embedded, user by user; then drop other traces.

    Until a user is done, the old vectors stay stored and are not mixed with the new ones. `progress` gets the turns
    done and the total. Returns how many turns were embedded.
    """
    owners = list(store.owners(tenant_id))
    if owners:
        indexes.learn_dimensions()
    total = sum(mark.turn_count for owner in owners for mark in store.sessions.marks(owner).values())
    done = embedded = 0
    for owner in owners:
        left = indexes.read(owner).unembedded
        turns = sum(mark.turn_count for mark in store.sessions.marks(owner).values())
        done, embedded = done + turns - left, embedded + left
        while left:
            indexes.embed(owner, unanswered=True)
            before, left = left, indexes.read(owner).unembedded
            done += max(before - left, 0)
            if progress:
                progress(min(done, total), total)
        store.vectors.drop(owner, keep=indexes.embedder.name)
        if progress:
            progress(min(done, total), total)
    return embedded


TRY_AGAIN = 30.0  # seconds after which an embedder that could not be made is tried again
READ_AT_ONCE, EMBEDDED_AT_ONCE = 16, 2  # turns read and messages embedded in one slice of work after a turn


def indexes_of(engine: "Engine") -> Indexes:
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


def _make(engine: "Engine") -> Indexes:
    given, setting = engine.embedder, engine.settings.recall.embedder
    choice = EmbedderChoice(given, "given by the program") if given else shared_choice(setting)
    return Indexes(engine.store, choice, crises=crisis_detector(engine.settings.safety))


def index_some(engine: "Engine", owner: Owner) -> bool:
    """Read and embed a little of what the index of an owner lacks; whether there is more.

    A slice cannot be interrupted and shares the processor with chats, so it is kept to a message or two.
    """
    if engine.settings.recall.recall_messages == 0:
        return False
    indexes = indexes_of(engine)
    progress = indexes.read(owner, most=READ_AT_ONCE)
    return bool(progress.unread or indexes.embed(owner, most=EMBEDDED_AT_ONCE))
