"""What becomes of topics and blocks when turns come and go: the decisions every store shares, without a database.

In: shelves, blocks and turns. Out: what is to be stored instead. A topic counts questions and answers, and goes with
its last turn. A block takes a turn's place only if it holds every word of it; one that loses turns is packed again
without them, and goes with its last one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ricordo.errors import ValidationError
from ricordo.records.people import Fact, FactChange
from ricordo.records.topics import Topic, TopicChange, TopicShelf
from ricordo.records.turns import Block, Message, Turn, checksum, message_id, turn_id_of
from ricordo.stores.archive import DamagedBlock, pack, unpack


def shelf_after(shelf: TopicShelf, change: TopicChange) -> TopicShelf:
    """The shelf with a change applied; topics stay in the order they began."""
    kept = {topic.id: topic for topic in shelf.topics if topic.id not in change.removed}
    kept.update({topic.id: topic for topic in change.put})
    ordered = sorted(kept.values(), key=lambda topic: (topic.created_at, topic.id))
    through = shelf.through if change.through is None else change.through
    return TopicShelf(tuple(ordered), through, shelf.revision + 1)


def messages_counted(turn: Turn) -> int:
    """How many messages of a turn its topic counts: the question and the answer."""
    return (turn.question is not None) + (turn.answer is not None)


def lessened(topic: Topic, gone: Collection[int], messages: int, archived: int) -> Topic | None:
    """A topic that lost turns, by what they counted; None when by this count nothing is left of it."""
    left = topic.message_count - messages
    if left <= 0:
        return None
    return _counted(topic, gone, left, topic.archived_count - archived)


def recounted(topic: Topic, gone: Collection[int], messages: int, archived: int) -> Topic:
    """A topic that lost turns but has others, by what those count: its own count had missed a late answer."""
    return _counted(topic, gone, messages, archived)


def _counted(topic: Topic, gone: Collection[int], messages: int, archived: int) -> Topic:
    return replace(
        topic,
        message_count=messages,
        archived_count=min(max(0, archived), messages),
        restored_count=min(topic.restored_count, messages),
        hot=tuple(number for number in topic.hot if number not in gone),
    )


def returned(topic: Topic, turn: Turn) -> Topic:
    """A topic one of whose archived turns was added to: it is in working memory again."""
    return replace(
        topic,
        archived_count=max(0, topic.archived_count - messages_counted(turn)),
        hot=tuple(sorted({*topic.hot, turn.turn_number})),
    )


@lru_cache(maxsize=64)
def unpacked(block_id: str, body: bytes) -> Mapping[str, list[Message]]:
    """The messages of a block by turn id; DamagedBlock if it cannot be read.

    The blocks of a running talk are read with every question, so the last ones stay at hand; erasing clears them.
    """
    found: dict[str, list[Message]] = {}
    for message in unpack(body, block_id):
        found.setdefault(turn_id_of(message.id), []).append(message)
    return found


def rewritten(block: Block, staying: Mapping[str, int]) -> Block | None:
    """The block with only the turns in `staying` (id to number); None when there are none.

    A damaged block cannot be rewritten; it goes, because what it holds of the others must not stay.
    """
    if not staying:
        return None
    try:
        messages = [
            each for turn_id, said in unpacked(block.id, block.body).items() if turn_id in staying for each in said
        ]
    except DamagedBlock:
        return None
    return replace(block, turn_numbers=tuple(sorted(staying.values())), body=pack(messages))


def with_messages(turn: Turn, messages: Iterable[Message]) -> Turn:
    """An archived turn with the messages that its block holds."""
    by_id = {message.id: message for message in messages}
    question, answer = message_id(turn.id, "query"), message_id(turn.id, "response")
    steps = tuple(message for message in by_id.values() if message.id not in (question, answer))
    return replace(turn, question=by_id.get(question), answer=by_id.get(answer), steps=steps)


def as_new(turn: Turn) -> Turn:
    """A turn as it comes into a store, wherever it was before: plain, and in no topic yet."""
    if turn.topic_id is None and turn.block_id is None and not turn.archived and not turn.damage:
        return turn
    return replace(turn, topic_id=None, block_id=None, archived=False, damage="")


def may_archive(turn: Turn | None) -> bool:
    """Whether a turn's words may move into a block: it is whole and in no block yet."""
    return turn is not None and not turn.is_open and turn.block_id is None


def replaces(block: Block, turns: Sequence[Turn | None]) -> bool:
    """Whether a block may take the place of these turns: each may be archived, and its words are in the block.

    They may not be: the session was cleared and its numbers given again, or a message was added, since the block
    was packed.
    """
    whole = [turn for turn in turns if turn is not None and may_archive(turn)]
    numbers = {turn.turn_number for turn in whole}
    return bool(turns) and len(numbers) == len(turns) == len(block.turn_numbers) and holds(block, whole) == numbers


def holds(block: Block, turns: Iterable[Turn]) -> set[int]:
    """The numbers of those turns whose every word is in the block; none of them when it is damaged."""
    try:
        words = unpacked(block.id, block.body)
    except DamagedBlock:
        return set()
    return {
        turn.turn_number
        for turn in turns
        if turn.id in words and checksum(with_messages(turn, words[turn.id])) == turn.checksum
    }


# What becomes of facts when what they came from goes, or never was: the decisions every store shares.


@dataclass(frozen=True, slots=True)
class Unlearned:
    """Facts that go, and facts that stay with fewer sources or another successor."""

    gone: tuple[Fact, ...] = ()
    changed: tuple[Fact, ...] = ()

    @property
    def agents(self) -> tuple[str, ...]:
        """Whose facts are touched."""
        return tuple(sorted({fact.agent_id for fact in (*self.gone, *self.changed)}))


def without_session(facts: Iterable[Fact], session_id: str) -> Unlearned:
    """All facts of one owner, once nothing that was said in a session counts any more."""
    gone: dict[tuple[str, str], Fact] = {}
    staying: list[tuple[Fact, Fact]] = []
    for fact in facts:
        left = tuple(source for source in fact.sources if source.session_id != session_id)
        if fact.sources and not left:
            gone[fact.agent_id, fact.id] = fact
        else:
            staying.append((fact, fact if left == fact.sources else replace(fact, sources=left)))
    changed = [(before, _true_again(after, gone)) for before, after in staying]
    return Unlearned(tuple(gone.values()), tuple(after for before, after in changed if after is not before))


def _true_again(fact: Fact, gone: Mapping[tuple[str, str], Fact]) -> Fact:
    """The fact with the nearest successor that stays; true without end if none does."""
    after, seen = fact, set()
    while after.superseded_by and (after.agent_id, after.superseded_by) in gone and after.superseded_by not in seen:
        seen.add(after.superseded_by)
        lost = gone[after.agent_id, after.superseded_by]
        ends = lost.valid_to if lost.superseded_by else None
        after = replace(after, superseded_by=lost.superseded_by, valid_to=ends)
    if after.superseded_by in seen:  # facts that superseded each other: none of them is left
        after = replace(after, superseded_by=None, valid_to=None)
    return after


def checked(agent_id: str, change: FactChange) -> FactChange:
    """The change, if it may be written at all."""
    for fact in change.put:
        if fact.agent_id != agent_id:
            raise ValidationError("agent_id", f"fact {fact.id!r} is of agent {fact.agent_id!r}, not of {agent_id!r}")
        if fact.forgotten and (fact.text or any(source.quote for source in fact.sources)):
            raise ValidationError("text", f"fact {fact.id!r} is forgotten but has words; keep its digest alone")
    return change


def turns_named(change: FactChange) -> set[str]:
    """The turns that the sources of a change point into."""
    return {turn_id_of(source.message_id) for fact in change.put for source in fact.sources}


def with_live_sources(change: FactChange, stored: Iterable[Fact], turns_there: set[str]) -> tuple[Fact, ...]:
    """The facts to write, without new sources whose turns are deleted.

    Extracting facts may be slower than a deletion: a deleted turn must not become a source afterwards. A fact that
    loses all its sources this way is left out; what is stored of it stays.
    """
    known = {source for fact in stored for source in fact.sources}
    written = []
    for fact in change.put:
        left = tuple(each for each in fact.sources if each in known or turn_id_of(each.message_id) in turns_there)
        if left or not fact.sources:
            written.append(fact if left == fact.sources else replace(fact, sources=left))
    return tuple(written)
