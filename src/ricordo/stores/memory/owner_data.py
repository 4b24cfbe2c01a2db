"""The data of the reference store: dictionaries by owner, behind one lock. The parts are views of it."""

import json
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import RLock
from uuid import UUID

from ricordo.records.derived import Flag, KnownFacts, Subject, Summary, Topic, TopicChange, TopicShelf
from ricordo.records.service import ApiKey, Document, Job, StoredChunk, StoredItem
from ricordo.records.turns import Block, Owner, SessionInfo, StoredReceipt, Turn, TurnVectors
from ricordo.stores import topic_rules, write_rules
from ricordo.stores.turn_rows import ENDLESS, texts_in


@dataclass
class ReceiptPassage:
    """A text that receipts refer to, and the newest turn with such a receipt."""

    text: str
    last_turn: int


@dataclass
class MemorySession:
    """A session with everything in it."""

    info: SessionInfo
    turns: list[Turn] = field(default_factory=list)
    receipts: dict[int, str] = field(default_factory=dict)
    passages: dict[str, ReceiptPassage] = field(default_factory=dict)
    shelf: TopicShelf = field(default_factory=TopicShelf)
    blocks: dict[str, Block] = field(default_factory=dict)
    vectors: dict[tuple[int, str], TurnVectors] = field(default_factory=dict)
    summaries: list[Summary] = field(default_factory=list)
    learned_through: int = 0

    def position(self, number: int) -> int:
        """The index of the turn of that number, or where it would be inserted."""
        return bisect_left(self.turns, number, key=lambda turn: turn.turn_number)

    def at(self, number: int) -> Turn | None:
        found = self.turns[self.position(number) :][:1]
        return found[0] if found and found[0].turn_number == number else None

    def replace(self, turn: Turn) -> None:
        """Replace a stored turn by another state of it with the same messages."""
        self.turns[self.position(turn.turn_number)] = turn

    def put(self, turn: Turn, receipt: StoredReceipt | None = None) -> Turn:
        """Insert or replace by number, refresh what the session derives from its turns."""
        if before := self.at(turn.turn_number):
            turn = replace(turn, block_id=None, archived=False)  # its block does not hold what was added
            self.replace(turn)
            if before.answer is None and turn.answer is not None:
                self.change_topics([before], lambda topic, _: topic_rules.answered(topic))
            self._leave_block(before)
        else:
            insort(self.turns, turn, key=lambda each: each.turn_number)
        if receipt:
            self.receipts[turn.turn_number] = receipt.body
            for digest, text in receipt.passages.items():
                self.passages.setdefault(digest, ReceiptPassage(text, 0)).last_turn = turn.turn_number
        self.info = write_rules.touched(self.info, turn, turn_count=len(self.turns))
        return turn

    def receipt(self, number: int) -> StoredReceipt:
        """The receipt of a turn, with the passages whose digests its body contains."""
        body = self.receipts[number]
        named = texts_in(json.loads(body)) & self.passages.keys()
        return StoredReceipt(self.info.id, number, body, {name: self.passages[name].text for name in named})

    def drop(self, numbers: set[int]) -> None:
        """Delete turns, with their part in topics, blocks and vectors."""
        gone = [turn for turn in self.turns if turn.turn_number in numbers]
        self.turns = [turn for turn in self.turns if turn.turn_number not in numbers]
        self.receipts = {n: body for n, body in self.receipts.items() if n not in numbers}
        oldest = self.turns[0].turn_number if self.turns else ENDLESS
        self.passages = {name: each for name, each in self.passages.items() if each.last_turn >= oldest}
        self.vectors = {key: each for key, each in self.vectors.items() if key[0] not in numbers}
        self.info = replace(self.info, turn_count=len(self.turns), revision=self.info.revision + 1)
        self._recount_topics(gone, numbers)
        self._rewrite_blocks({turn.block_id for turn in gone if turn.block_id})

    def _recount_topics(self, gone: list[Turn], numbers: set[int]) -> None:
        lost = {turn.topic_id for turn in gone} & {topic.id for topic in self.shelf.topics}
        if not lost:
            return
        topics = [
            self._without_turns(topic, gone, numbers) if topic.id in lost else topic for topic in self.shelf.topics
        ]
        kept = tuple(topic for topic in topics if topic)
        self.shelf = replace(self.shelf, topics=kept, revision=self.shelf.revision + 1)

    def _without_turns(self, topic: Topic, gone: list[Turn], numbers: set[int]) -> Topic | None:
        staying = [turn for turn in self.turns if turn.topic_id == topic.id]
        if not staying:
            return None
        lost = [turn for turn in gone if turn.topic_id == topic.id]
        return topic_rules.without_turns(topic, numbers, *_counts(lost)) or topic_rules.with_counts(
            topic, numbers, *_counts(staying)
        )

    def _rewrite_blocks(self, touched: set[str]) -> None:
        for block_id in touched:
            staying = {turn.id: turn.turn_number for turn in self.turns if turn.block_id == block_id}
            block = topic_rules.rewritten(self.blocks[block_id], staying)
            if block:
                self.blocks[block_id] = block
            else:
                del self.blocks[block_id]

    def _leave_block(self, before: Turn) -> None:
        """A turn leaves its block: update block and topic."""
        if before.block_id is None:
            return
        self._rewrite_blocks({before.block_id})
        if before.archived:
            self.change_topics([before], topic_rules.returned)

    def change_topics(self, turns: Iterable[Turn], change: Callable[[Topic, list[Turn]], Topic]) -> None:
        """Change the figures of the topics of these turns."""
        groups = write_rules.grouped(turns, lambda turn: turn.topic_id)
        changed = tuple(change(topic, groups[topic.id]) for topic in self.shelf.topics if topic.id in groups)
        if changed:
            self.shelf = topic_rules.shelf_after(self.shelf, TopicChange(self.shelf.revision, put=changed))

    def clear(self) -> None:
        """Empty the session: turns, receipts, topics, blocks, vectors, summaries; numbering starts again."""
        self.summaries, self.learned_through = [], 0
        self.turns, self.receipts, self.passages, self.blocks, self.vectors = [], {}, {}, {}, {}
        self.shelf = TopicShelf(revision=self.shelf.revision + 1)
        self.info = replace(self.info, turn_count=0, last_turn=0, revision=self.info.revision + 1)


def _counts(turns: list[Turn]) -> tuple[int, int]:
    """How many messages of these turns their topic counts, and how many of those only blocks hold."""
    archived = [turn for turn in turns if turn.archived]
    return sum(map(topic_rules.messages_counted, turns)), sum(map(topic_rules.messages_counted, archived))


ItemKey = tuple[str, str, str]  # collection, place, key


@dataclass
class OwnerData:
    """Everything of one owner."""

    owner: Owner
    sessions: dict[str, MemorySession] = field(default_factory=dict)
    facts: dict[str, KnownFacts] = field(default_factory=dict)
    flags: dict[tuple[Subject, str], Flag] = field(default_factory=dict)
    documents: dict[str, Document] = field(default_factory=dict)
    chunks: dict[str, StoredChunk] = field(default_factory=dict)
    jobs: dict[tuple[str, str], Job] = field(default_factory=dict)
    items: dict[ItemKey, StoredItem] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether this owner has no session, document, fact or item."""
        any_fact = any(known.facts for known in self.facts.values())
        return not (self.sessions or self.documents or self.items or any_fact)

    def find(self, turn_id: str) -> Turn | None:
        for session in self.sessions.values():
            for turn in reversed(session.turns):
                if turn.id == turn_id:
                    return turn
        return None

    def drop_items(self) -> None:
        """Delete the items whose session or turn no longer exists."""
        turns = {turn.id for session in self.sessions.values() for turn in session.turns}
        self.items = {
            key: item
            for key, item in self.items.items()
            if (item.session_id is None or item.session_id in self.sessions)
            and (item.turn_id is None or item.turn_id in turns)
        }


class MemoryData:
    """Every owner's data, what belongs to no owner, and the lock around all of it."""

    def __init__(self) -> None:
        self.by_owner: dict[UUID, OwnerData] = {}
        self.keys: dict[str, ApiKey] = {}
        self.leases: dict[str, tuple[str, datetime]] = {}
        self.erasures: dict[UUID, datetime] = {}
        self.lock = RLock()

    def of(self, owner: Owner) -> OwnerData:
        """The data of an owner."""
        return self.by_owner.setdefault(owner.key, OwnerData(owner))

    def check(self, owner: Owner, acknowledged_at: datetime | None) -> None:
        """Refuse a write from a spool whose owner was erased since."""
        if acknowledged_at is not None:
            write_rules.check_not_erased(owner, acknowledged_at, self.erasures.get(owner.key))

    def session(self, owner: Owner, session_id: str) -> MemorySession | None:
        return self.of(owner).sessions.get(session_id)

    def of_tenant(self, tenant_id: str) -> list[OwnerData]:
        return [data for data in self.by_owner.values() if data.owner.tenant_id == tenant_id]


class MemoryPart:
    """A part of the reference store: a view of its data."""

    def __init__(self, data: MemoryData) -> None:
        self._data = data
        self._lock = data.lock
