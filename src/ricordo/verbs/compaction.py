"""Moving a topic's turns between plain text and the archive.

What the window may show stays plain. A turn is packed once in its life: after it came back, letting it go again costs
no compression. Counts on the topic are taken from the turns themselves, so that a pass that was cut short is made
good by the next.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from uuid import uuid4

from ricordo.archive import pack
from ricordo.errors import StoreUnavailable
from ricordo.records import Block, Owner, Turn
from ricordo.settings import TopicSettings
from ricordo.topics.compaction import HotMessage, plan
from ricordo.topics.decay import Fading
from ricordo.topics.gist import gist
from ricordo.topics.shelf import TopicChange
from ricordo.topics.topic import Topic
from ricordo.verbs.tools import Tools

STAYS_PLAIN = 8  # the newest turns of a session, whatever their topic
BLOCK_MESSAGES = 20
TRIES = 5


def compact(tools: Tools, owner: Owner, session_id: str, topic_id: str) -> None:
    """Pack what is cold in a topic, if it has grown over its limit."""
    topic, turns = _hot(tools, owner, session_id, topic_id)
    if topic is None:
        return
    settings = tools.settings.topics
    hot = [HotMessage(message.id, turn.block_id) for turn in turns for message in turn.messages]
    decision = plan(
        hot,
        restored=topic.restored_count,
        max_messages=settings.max_messages_per_topic,
        keep_recent=settings.recent_message_keep,
    )
    if decision.needed:
        staying = set(decision.keep)
        cold = [turn for turn in turns if not any(message.id in staying for message in turn.messages)]
        _put_away(tools, owner, session_id, topic_id, cold)


def pack_all(tools: Tools, owner: Owner, session_id: str, topic_id: str) -> None:
    """Pack everything of a topic that leaves working memory."""
    topic, turns = _hot(tools, owner, session_id, topic_id)
    if topic is not None:
        _put_away(tools, owner, session_id, topic_id, turns)
        change_topic(tools, owner, session_id, topic_id, lambda each: each.moved("archived"))


def bring_back(tools: Tools, owner: Owner, session_id: str, topic_id: str) -> None:
    """Give a topic that is talked about again its turns back, in order."""
    numbers = [n for block in tools.store.blocks(owner, session_id, topic_id) for n in block.turn_numbers]
    tools.store.rehydrate(owner, session_id, numbers)

    def back(topic: Topic) -> Topic:
        hot = tuple(sorted({*topic.hot, *numbers}))
        return replace(topic, hot=hot, restored_count=topic.archived_count, archived_count=0, state="working")

    change_topic(tools, owner, session_id, topic_id, back)


def fading_of(settings: TopicSettings) -> Fading:
    """The settings of topics as the numbers of decay."""
    return Fading(
        base_half_life=settings.base_half_life.total_seconds(),
        max_half_life=settings.max_half_life.total_seconds(),
        accesses_per_doubling=settings.access_threshold,
        long_term_from=2 * settings.access_threshold,
    )


def _hot(tools: Tools, owner: Owner, session_id: str, topic_id: str) -> tuple[Topic | None, list[Turn]]:
    """A topic with its turns in working memory, oldest first; open ones and the session's newest left out."""
    topic = tools.store.topics(owner, session_id).topic(topic_id)
    session = tools.store.session(owner, session_id)
    if topic is None or session is None:
        return None, []
    plain_from = session.last_turn - STAYS_PLAIN + 1
    turns: list[Turn] = []
    for number in topic.hot:
        turns += tools.store.turns(owner, session_id, after=number - 1, before=number + 1)
    return topic, [turn for turn in turns if turn.turn_number < plain_from and not turn.is_open and not turn.archived]


def _put_away(tools: Tools, owner: Owner, session_id: str, topic_id: str, cold: Sequence[Turn]) -> None:
    """Into blocks what is in none yet, out of plain text what is; then count again."""
    gone = {turn.turn_number for turn in cold if turn.block_id}
    tools.store.release(owner, session_id, sorted(gone))
    for group in _groups([turn for turn in cold if not turn.block_id]):
        numbers = tuple(turn.turn_number for turn in group)
        body = pack([message for turn in group for message in turn.messages])
        block = Block(str(uuid4()), topic_id, numbers, tools.clock.now(), body)
        if tools.store.archive(owner, session_id, block):
            gone.update(numbers)
    if not gone:
        return
    packed = [turn for turn in cold if turn.turn_number in gone]
    messages = sum((turn.question is not None) + (turn.answer is not None) for turn in packed)

    def lighter(topic: Topic) -> Topic:
        return replace(
            topic,
            hot=tuple(number for number in topic.hot if number not in gone),
            archived_count=min(topic.archived_count + messages, topic.message_count),
            restored_count=0,
            summary=gist(packed, topic.summary),
        )

    change_topic(tools, owner, session_id, topic_id, lighter)


def change_topic(
    tools: Tools, owner: Owner, session_id: str, topic_id: str, change: Callable[[Topic], Topic]
) -> Topic | None:
    """Change one topic on the shelf as it is now; None if it is gone."""
    for _ in range(TRIES):
        shelf = tools.store.topics(owner, session_id)
        topic = shelf.topic(topic_id)
        if topic is None:
            return None
        changed = change(topic)
        if tools.store.put_topics(owner, session_id, TopicChange(shelf.revision, put=(changed,))):
            return changed
    raise StoreUnavailable(f"topic {topic_id!r} is being changed by others all the time; try again")


def _groups(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Turns in groups of about twenty messages: one block each."""
    groups: list[list[Turn]] = []
    size = BLOCK_MESSAGES
    for turn in turns:
        if size >= BLOCK_MESSAGES:
            groups.append([])
            size = 0
        groups[-1].append(turn)
        size += len(turn.messages)
    return groups
