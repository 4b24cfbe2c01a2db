"""Topics, archive and vectors of the reference store.

The text of archived turns is kept beside their block: here the archive is a state, it saves nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ricordo.records.topics import TopicChange, TopicShelf
from ricordo.records.turns import Block, Owner, TurnVectors
from ricordo.stores import topic_rules
from ricordo.stores.memory.home import Home, Homes, MemorySession


class MemoryTopics:
    """Topics and blocks of sessions."""

    def __init__(self, homes: Homes) -> None:
        self._homes = homes
        self._lock = homes.lock

    def load(self, owner: Owner, session_id: str) -> TopicShelf:
        with self._lock:
            session = self._homes.session(owner, session_id)
            return session.shelf if session else TopicShelf()

    def put(self, owner: Owner, session_id: str, change: TopicChange) -> bool:
        with self._lock:
            session = self._homes.session(owner, session_id)
            if session is None or session.shelf.revision != change.revision:
                return False
            session.shelf = topic_rules.shelf_after(session.shelf, change)
            for turn in session.turns:
                if turn.topic_id in change.removed:
                    session.replace(replace(turn, topic_id=None))
            for number, topic_id in change.assigned.items():
                if found := session.at(number):
                    session.replace(replace(found, topic_id=topic_id))
            return True

    def turns_of(self, owner: Owner, session_id: str, topic_id: str) -> Sequence[int]:
        with self._lock:
            session = self._homes.session(owner, session_id)
            return [turn.turn_number for turn in session.turns if turn.topic_id == topic_id] if session else []

    def archive(self, owner: Owner, session_id: str, block: Block) -> bool:
        with self._lock:
            session = self._homes.session(owner, session_id)
            turns = [session.at(number) for number in block.turn_numbers] if session else []
            if session is None or block.id in session.blocks or not topic_rules.replaces(block, turns):
                return False
            session.blocks[block.id] = block
            for turn in turns:
                if turn:
                    session.replace(replace(turn, block_id=block.id, archived=True))
            return True

    def blocks(self, owner: Owner, session_id: str, topic_id: str | None = None) -> Sequence[Block]:
        with self._lock:
            session = self._homes.session(owner, session_id)
            found = [each for each in session.blocks.values() if topic_id in (None, each.topic_id)] if session else []
        return sorted(found, key=lambda block: (block.created_at, block.id))

    def rehydrate(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._set_archived(owner, session_id, turn_numbers, archived=False)

    def release(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._set_archived(owner, session_id, turn_numbers, archived=True)

    def _set_archived(self, owner: Owner, session_id: str, turn_numbers: Sequence[int], *, archived: bool) -> int:
        with self._lock:
            session = self._homes.session(owner, session_id)
            turns = [session.at(number) for number in set(turn_numbers)] if session else []
            due = [turn for turn in turns if turn and turn.block_id and turn.archived is not archived]
            for turn in due:
                if session:
                    session.replace(replace(turn, archived=archived))
            return len(due)


class MemoryVectors:
    """Vectors of turns."""

    def __init__(self, homes: Homes) -> None:
        self._homes = homes
        self._lock = homes.lock

    def read(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[TurnVectors]:
        with self._lock:
            found = [
                each
                for session in _chosen(self._homes.of(owner), session_id)
                for (_, name), each in sorted(session.vectors.items())
                if name == embedder
            ]
        return iter(found)

    def write(self, owner: Owner, vectors: Sequence[TurnVectors]) -> None:
        with self._lock:
            for each in vectors:
                session = self._homes.session(owner, each.session_id)
                if session and session.at(each.turn_number):
                    session.vectors[each.turn_number, each.embedder] = each

    def drop(self, owner: Owner, *, keep: str) -> int:
        with self._lock:
            gone = 0
            for session in self._homes.of(owner).sessions.values():
                kept = {key: each for key, each in session.vectors.items() if key[1] == keep}
                gone += len(session.vectors) - len(kept)
                session.vectors = kept
            return gone


def _chosen(home: Home, session_id: str | None) -> list[MemorySession]:
    if session_id is None:
        return [home.sessions[name] for name in sorted(home.sessions)]
    return [home.sessions[session_id]] if session_id in home.sessions else []
