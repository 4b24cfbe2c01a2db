"""Moving a topic's turns between plain text and the archive.

A turn is packed once in its life: after it came back, letting it go again costs no compression. Counts on the topic
are taken from the turns themselves, so that a pass that was cut short is made good by the next.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import random
from time import sleep
from uuid import uuid4

from ricordo.engine.core import Engine
from ricordo.errors import StoreUnavailable
from ricordo.records.topics import Topic, TopicChange
from ricordo.records.turns import Block, Owner, Turn
from ricordo.settings import TopicSettings
from ricordo.stores.archive import pack
from ricordo.topics.decay import Fading
from ricordo.topics.merge import counted, gist, messages_in, with_hot

# Which of a topic's hot messages leave for the archive, and which stay.

MAX_MESSAGES_PER_TOPIC = 12
RECENT_MESSAGE_KEEP = 4


@dataclass(frozen=True, slots=True)
class HotMessage:
    """One message in a topic's working memory; `block_id` names the block that already holds it, if any does."""

    id: str
    block_id: str | None = None


@dataclass(frozen=True, slots=True)
class Compaction:
    """What to do: write `pack` as one new block, then drop the hot copies of `pack` and `release`; `keep` stays."""

    pack: tuple[str, ...] = ()
    release: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """Whether anything leaves at all."""
        return bool(self.pack or self.release)


def plan(
    hot: Sequence[HotMessage],
    *,
    restored: int = 0,
    max_messages: int = MAX_MESSAGES_PER_TOPIC,
    keep_recent: int = RECENT_MESSAGE_KEEP,
) -> Compaction:
    """All but the last `keep_recent` messages leave when more than `max_messages` came since the last restore.

    `restored` is how many messages the last restore brought back (0 when there was none since the last compaction).
    They do not count towards the limit: a restored topic stays whole for the talk that called it back, instead of being
    packed again at its next message.
    """
    if not 0 <= keep_recent <= max_messages:
        raise ValueError("keep_recent must be between 0 and max_messages")
    if len(hot) - min(max(restored, 0), len(hot)) <= max_messages:
        return Compaction(keep=tuple(message.id for message in hot))
    cut = len(hot) - keep_recent
    old, recent = hot[:cut], hot[cut:]
    return Compaction(
        pack=tuple(message.id for message in old if message.block_id is None),
        release=tuple(message.id for message in old if message.block_id is not None),
        keep=tuple(message.id for message in recent),
    )


BLOCK_MESSAGES = 20
TRIES = 20
PAUSE = 0.001  # seconds


def compact(engine: Engine, owner: Owner, session_id: str, topic_id: str) -> None:
    """Pack what is cold in a topic, if it has grown over its limit."""
    topic = engine.store.topics.load(owner, session_id).topic(topic_id)
    if topic is None:
        return
    cold = _may_go(engine, owner, session_id, topic)
    settings = engine.settings.topics
    decision = plan(
        [HotMessage(each.id, turn.block_id) for turn in cold for each in (turn.question, turn.answer) if each],
        restored=topic.restored_count,
        max_messages=settings.max_messages_per_topic,
        keep_recent=min(settings.recent_message_keep, settings.max_messages_per_topic),
    )
    if decision.needed:
        staying = set(decision.keep)
        going = [turn for turn in cold if not any(message.id in staying for message in turn.messages)]
        _put_away(engine, owner, session_id, topic_id, going)


def pack_all(engine: Engine, owner: Owner, session_id: str, topic_id: str) -> None:
    """Pack everything of a topic that leaves working memory, but for a question that still waits."""
    topic = engine.store.topics.load(owner, session_id).topic(topic_id)
    if topic is not None:
        _put_away(engine, owner, session_id, topic_id, _may_go(engine, owner, session_id, topic))


def bring_back(engine: Engine, owner: Owner, session_id: str, topic_id: str, new_from: int) -> None:
    """Give a topic that is talked about again its turns back, in order.

    Whatever it has from before turn `new_from` counts as restored: only what is said since may have it compacted.
    """
    topic = engine.store.topics.load(owner, session_id).topic(topic_id)
    if topic is None:
        return
    away = sorted({*engine.store.topics.turns_of(owner, session_id, topic_id)} - {*topic.hot})
    engine.store.topics.rehydrate(owner, session_id, away)

    def back(topic: Topic) -> Topic:
        hot = turns_numbered(engine, owner, session_id, {*topic.hot, *away})
        restored = sum(messages_in(turn) for turn in hot if turn.turn_number < new_from and not turn.archived)
        return with_hot(replace(topic, restored_count=restored, state="working"), hot)

    change_topic(engine, owner, session_id, topic_id, back)


def recount(engine: Engine, owner: Owner, session_id: str, topic_id: str) -> None:
    """Set a topic's figures by its turns: one of them went, or was answered, while it found its topic."""

    def right(topic: Topic) -> Topic:
        numbers = engine.store.topics.turns_of(owner, session_id, topic_id)
        return counted(topic, turns_numbered(engine, owner, session_id, numbers))

    topic = change_topic(engine, owner, session_id, topic_id, right)
    if topic is not None and topic.message_count == 0 and not engine.store.topics.turns_of(owner, session_id, topic_id):
        shelf = engine.store.topics.load(owner, session_id)
        engine.store.topics.put(owner, session_id, TopicChange(shelf.revision, removed=(topic_id,)))


def tries() -> Iterator[int]:
    """So many attempts at a change, each after a longer pause: whoever writes in between has time to finish."""
    for attempt in range(TRIES):
        if attempt:
            sleep(PAUSE * attempt * (0.5 + random() / 2))
        yield attempt


def change_topic(
    engine: Engine, owner: Owner, session_id: str, topic_id: str, change: Callable[[Topic], Topic]
) -> Topic | None:
    """Change one topic on the shelf as it is now; None if it is gone."""
    for _ in tries():
        shelf = engine.store.topics.load(owner, session_id)
        topic = shelf.topic(topic_id)
        if topic is None:
            return None
        changed = change(topic)
        if changed == topic or engine.store.topics.put(owner, session_id, TopicChange(shelf.revision, put=(changed,))):
            return changed
    raise StoreUnavailable(f"topic {topic_id!r} is being changed by others all the time; try again")


def turns_numbered(engine: Engine, owner: Owner, session_id: str, numbers: Iterable[int]) -> list[Turn]:
    """The turns of these numbers that exist, in order; neighbours are read together."""
    turns: list[Turn] = []
    for first, last in _runs(sorted(set(numbers))):
        turns += engine.store.turns.page(owner, session_id, after=first - 1, before=last + 1)
    return turns


def fading_of(settings: TopicSettings) -> Fading:
    """The settings of topics as the numbers of decay."""
    return Fading(
        base_half_life=settings.base_half_life.total_seconds(),
        max_half_life=max(settings.max_half_life, settings.base_half_life).total_seconds(),
        accesses_per_doubling=settings.access_threshold,
        long_term_from=2 * settings.access_threshold,
    )


def _may_go(engine: Engine, owner: Owner, session_id: str, topic: Topic) -> list[Turn]:
    """A topic's turns in working memory, oldest first; open ones must stay."""
    hot = turns_numbered(engine, owner, session_id, topic.hot)
    return [turn for turn in hot if not turn.is_open and not turn.archived]


def _put_away(engine: Engine, owner: Owner, session_id: str, topic_id: str, cold: Sequence[Turn]) -> None:
    """Into blocks what is in none yet, out of plain text what is; then count again."""
    engine.store.topics.release(owner, session_id, [turn.turn_number for turn in cold if turn.block_id])
    for group in _groups([turn for turn in cold if not turn.block_id]):
        numbers = tuple(turn.turn_number for turn in group)
        body = pack([message for turn in group for message in turn.messages])
        now = engine.clock.now()
        block_id = uuid4().hex[:16]  # short, because every turn of the block names it
        engine.store.topics.archive(owner, session_id, Block(block_id, topic_id, numbers, now, body))
    numbers_gone = {turn.turn_number for turn in cold}

    def lighter(topic: Topic) -> Topic:
        hot = turns_numbered(engine, owner, session_id, topic.hot)
        packed = [turn for turn in hot if turn.archived and turn.turn_number in numbers_gone]
        lightened = with_hot(topic, hot)
        return replace(lightened, restored_count=0, summary=gist(packed, topic.summary)) if packed else lightened

    change_topic(engine, owner, session_id, topic_id, lighter)


def _groups(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Turns in groups of twenty messages or more, as even as whole turns allow: one block each."""
    total = sum(len(turn.messages) for turn in turns)
    size = total / max(total // BLOCK_MESSAGES, 1)
    groups: list[list[Turn]] = []
    reached = 0
    for turn in turns:
        if reached >= size * len(groups):
            groups.append([])
        groups[-1].append(turn)
        reached += len(turn.messages)
    return groups


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Rising numbers as first and last of each run without a gap."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs
