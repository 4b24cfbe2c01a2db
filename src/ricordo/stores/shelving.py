"""What becomes of topics and blocks when turns come and go: the decisions every store shares, without a database.

In: shelves, blocks and turns. Out: what is to be stored instead. A topic counts questions and answers; one that has
lost all of them is gone. A block that loses turns is packed again without them, and goes with its last one.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from ricordo.archive.block import DamagedBlock, pack, unpack
from ricordo.records import Block, Message, Turn, message_id, turn_id_of
from ricordo.topics.shelf import TopicChange, TopicShelf
from ricordo.topics.topic import Topic


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
    """A topic that lost turns; None when nothing is left of it."""
    left = topic.message_count - messages
    if left <= 0:
        return None
    return replace(
        topic,
        message_count=left,
        archived_count=max(0, topic.archived_count - archived),
        restored_count=min(topic.restored_count, left),
        hot=tuple(number for number in topic.hot if number not in gone),
    )


def packed(turns: Sequence[Turn]) -> bytes:
    """Turns as the bytes of a block."""
    return pack([message for turn in turns for message in turn.messages])


def unpacked(block_id: str, body: bytes) -> dict[str, list[Message]]:
    """The messages of a block by turn id; DamagedBlock if it cannot be read."""
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


def with_words(turn: Turn, messages: Iterable[Message]) -> Turn:
    """An archived turn with the messages that its block holds."""
    by_id = {message.id: message for message in messages}
    question, answer = message_id(turn.id, "query"), message_id(turn.id, "response")
    steps = tuple(message for message in by_id.values() if message.id not in (question, answer))
    return replace(turn, question=by_id.get(question), answer=by_id.get(answer), steps=steps)


def may_archive(turn: Turn | None) -> bool:
    """Whether a turn's words may move into a block: it is whole and in no block yet."""
    return turn is not None and not turn.is_open and turn.block_id is None
