"""How topics and blocks change when turns are written or deleted: the rules of all stores, without a database.

In: shelves, blocks and turns. Out: what to store instead. A topic counts questions and answers, and is deleted with its
last turn. A block may replace a turn's text only if it has all of it. A block that loses turns is packed again without
them, and deleted with its last one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from ricordo.records.derived import Topic, TopicChange, TopicShelf
from ricordo.records.turns import Block, Message, Turn, checksum, message_id, turn_id_of
from ricordo.stores.archive.block import DamagedBlock, MessageRow, pack, unpack_rows


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


def without_turns(topic: Topic, gone: Collection[int], messages: int, archived: int) -> Topic | None:
    """The topic without deleted turns, by subtraction; None if no message is left by this count."""
    left = topic.message_count - messages
    if left <= 0:
        return None
    return _counted(topic, gone, left, topic.archived_count - archived)


def with_counts(topic: Topic, gone: Collection[int], messages: int, archived: int) -> Topic:
    """A topic without deleted turns, with the counts of the others; for a count that had missed a late answer."""
    return _counted(topic, gone, messages, archived)


def _counted(topic: Topic, gone: Collection[int], messages: int, archived: int) -> Topic:
    return replace(
        topic,
        message_count=messages,
        archived_count=min(max(0, archived), messages),
        restored_count=min(topic.restored_count, messages),
        hot=tuple(number for number in topic.hot if number not in gone),
    )


def returned(topic: Topic, turns: Collection[Turn]) -> Topic:
    """A topic some of whose archived turns are in working memory again."""
    return replace(
        topic,
        archived_count=max(0, topic.archived_count - sum(map(messages_counted, turns))),
        hot=tuple(sorted({*topic.hot, *(turn.turn_number for turn in turns)})),
    )


def archived(topic: Topic, turns: Collection[Turn]) -> Topic:
    """A topic after some of its turns were archived."""
    gone = {turn.turn_number for turn in turns}
    count = topic.archived_count + sum(map(messages_counted, turns))
    return _counted(topic, gone, topic.message_count, count)


def answered(topic: Topic) -> Topic:
    """A topic after one of its turns was answered that had no answer when it was assigned."""
    return replace(topic, message_count=topic.message_count + 1)


def as_counted(change: TopicChange, actual: Mapping[int, int]) -> tuple[Topic, ...]:
    """The topics of a change with the messages that its assigned turns have now; a deleted turn has none."""
    topics = []
    for topic in change.put:
        numbers = [number for number, topic_id in change.assigned.items() if topic_id == topic.id]
        more = sum(actual.get(number, 0) - change.counted[number] for number in numbers if number in change.counted)
        gone = {number for number in numbers if number in change.counted and number not in actual}
        if more or gone:
            topic = _counted(topic, gone, max(0, topic.message_count + more), topic.archived_count)
        topics.append(topic)
    return tuple(topics)


@lru_cache(maxsize=4_096)
def unpacked(block_id: str, body: bytes) -> Mapping[str, tuple[MessageRow, ...]]:
    """The messages of a block by turn id; DamagedBlock if it cannot be read.

    The blocks of an active session are read with every question, so the latest ones are cached; erasing clears the
    cache.
    """
    found: dict[str, tuple[MessageRow, ...]] = {}
    for row in unpack_rows(body, block_id):
        turn_id = turn_id_of(row[0])
        found[turn_id] = (*found.get(turn_id, ()), row)
    return found


def rewritten(block: Block, staying: Mapping[str, int]) -> Block | None:
    """The block with only the turns in `staying` (id to number); None when there are none.

    A damaged block cannot be rewritten; it is deleted, because it may contain the text of deleted turns.
    """
    if not staying:
        return None
    try:
        said = unpacked(block.id, block.body)
        messages = [Message(*row) for turn_id, rows in said.items() if turn_id in staying for row in rows]
    except DamagedBlock:
        return None
    return replace(block, turn_numbers=tuple(sorted(staying.values())), body=pack(messages))


def with_messages(turn: Turn, rows: Iterable[MessageRow]) -> Turn:
    """An archived turn with the messages from its block."""
    by_id = {row[0]: Message(*row) for row in rows}
    question = by_id.pop(message_id(turn.id, "query"), None)
    answer = by_id.pop(message_id(turn.id, "response"), None)
    return Turn(  # not `replace`, which takes three times as long: a context reads dozens
        turn.id, turn.owner, turn.agent_id, turn.session_id, turn.turn_number, turn.created_at,
        question, answer, tuple(by_id.values()), turn.metadata, turn.origin, turn.counter, turn.checksum,
        turn.topic_id, turn.block_id, turn.archived, turn.damage,
    )  # fmt: skip


def may_archive(turn: Turn | None) -> bool:
    """Whether a turn's text may be moved to a block: it is complete and in no block yet."""
    return turn is not None and not turn.is_open and turn.block_id is None


def replaces(block: Block, turns: Sequence[Turn | None]) -> bool:
    """Whether a block may replace the text of these turns: each may be archived, and all its text is in the block.

    It may not be in the block if, since the block was packed, the session was cleared and its numbers were used again,
    or a message was added.
    """
    whole = [turn for turn in turns if turn is not None and may_archive(turn)]
    numbers = {turn.turn_number for turn in whole}
    return bool(turns) and len(numbers) == len(turns) == len(block.turn_numbers) and holds(block, whole) == numbers


def holds(block: Block, turns: Iterable[Turn]) -> set[int]:
    """The numbers of the turns whose text is in the block as a whole; none if the block is damaged."""
    try:
        words = unpacked(block.id, block.body)
    except DamagedBlock:
        return set()
    return {
        turn.turn_number
        for turn in turns
        if turn.id in words and checksum(with_messages(turn, words[turn.id])) == turn.checksum
    }
