"""The archive of topics: compaction moves old turns of a topic into compressed blocks, restoring moves them back.

A turn is compressed once: archiving it again after a restore only drops its plain text. The store counts what it
archives and restores in the same transaction; here only the summary of a topic follows.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from random import random
from time import sleep
from uuid import uuid4

from ricordo.engine.core import Engine, turns_by_number
from ricordo.errors import StoreUnavailable
from ricordo.languages.registry import language
from ricordo.languages.text import guess_language
from ricordo.people.summaries.extractive import quotable_sentences
from ricordo.people.summaries.layout import without_reader_phrases
from ricordo.records.derived import Topic, TopicChange
from ricordo.records.turns import Block, Owner, Turn
from ricordo.stores.archive.block import pack
from ricordo.topics.subjects import subject_words

MAX_MESSAGES_PER_TOPIC = 12
RECENT_MESSAGE_KEEP = 4


@dataclass(frozen=True, slots=True)
class HotMessage:
    """A message in working memory; `block_id` names the block that already holds it, if there is one."""

    id: str
    block_id: str | None = None


@dataclass(frozen=True, slots=True)
class Compaction:
    """What to do: write `pack` as one new block, then drop the plain text of `pack` and `release`; `keep` stays."""

    pack: tuple[str, ...] = ()
    release: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """Whether there is anything to archive."""
        return bool(self.pack or self.release)


def plan(
    hot: Sequence[HotMessage],
    *,
    restored: int = 0,
    max_messages: int = MAX_MESSAGES_PER_TOPIC,
    keep_recent: int = RECENT_MESSAGE_KEEP,
) -> Compaction:
    """Archive all but the last `keep_recent` messages when there are more than `max_messages`.

    `restored` is how many messages the last restore brought back (0 when there was none since the last compaction).
    They do not count towards the limit: otherwise a restored topic would be archived again at its next message.
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
MAX_ATTEMPTS = 20
PAUSE = 0.001  # seconds
SENTENCE_CHARACTERS = 200  # of each sentence in a summary
SUMMARY_CHARACTERS = 600
_SENTENCE_WORDS = 5


def compact(engine: Engine, owner: Owner, session_id: str, topic_id: str) -> None:
    """Archive the old turns of a topic that exceeds its limit."""
    topic = engine.store.topics.load(owner, session_id).topic(topic_id)
    if topic is None:
        return
    cold = _archivable(engine, owner, session_id, topic)
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
        _archive_turns(engine, owner, session_id, topic_id, going)


def pack_all(engine: Engine, owner: Owner, session_id: str, topic_id: str) -> None:
    """Archive all turns of a topic that leaves working memory, except open ones."""
    topic = engine.store.topics.load(owner, session_id).topic(topic_id)
    if topic is not None:
        _archive_turns(engine, owner, session_id, topic_id, _archivable(engine, owner, session_id, topic))


def restore(engine: Engine, owner: Owner, session_id: str, topic_id: str, new_from: int) -> None:
    """Move the turns of a topic that is active again from the archive back into working memory.

    Turns before `new_from` count as restored, so that only newer ones can lead to the next compaction.
    """
    topic = engine.store.topics.load(owner, session_id).topic(topic_id)
    if topic is None:
        return
    archived = sorted({*engine.store.topics.turns_of(owner, session_id, topic_id)} - {*topic.hot})
    engine.store.topics.rehydrate(owner, session_id, archived)

    def restored_topic(topic: Topic) -> Topic:
        hot = turns_by_number(engine, owner, session_id, {*topic.hot, *archived})
        restored = sum(messages_in(turn) for turn in hot if turn.turn_number < new_from and not turn.archived)
        return with_hot_turns(replace(topic, restored_count=restored, state="working"), hot)

    change_topic(engine, owner, session_id, topic_id, restored_topic)


def recount(engine: Engine, owner: Owner, session_id: str, topic_id: str) -> None:
    """Compute the counts of a topic from its turns again; a topic without turns is removed."""

    def corrected(topic: Topic) -> Topic:
        numbers = engine.store.topics.turns_of(owner, session_id, topic_id)
        return recounted(topic, turns_by_number(engine, owner, session_id, numbers))

    topic = change_topic(engine, owner, session_id, topic_id, corrected)
    if topic is not None and topic.message_count == 0 and not engine.store.topics.turns_of(owner, session_id, topic_id):
        shelf = engine.store.topics.load(owner, session_id)
        engine.store.topics.put(owner, session_id, TopicChange(shelf.revision, removed=(topic_id,)))


def attempts() -> Iterator[int]:
    """Attempt numbers for an optimistic write, each after a longer pause with jitter."""
    for attempt in range(MAX_ATTEMPTS):
        if attempt:
            sleep(PAUSE * attempt * (0.5 + random() / 2))
        yield attempt


def change_topic(
    engine: Engine, owner: Owner, session_id: str, topic_id: str, change: Callable[[Topic], Topic]
) -> Topic | None:
    """Change one topic by compare-and-swap on the revision; None if it does not exist."""
    for _ in attempts():
        shelf = engine.store.topics.load(owner, session_id)
        topic = shelf.topic(topic_id)
        if topic is None:
            return None
        changed = change(topic)
        if changed == topic or engine.store.topics.put(owner, session_id, TopicChange(shelf.revision, put=(changed,))):
            return changed
    raise StoreUnavailable(f"topic {topic_id!r} keeps being changed by others; try again")


def messages_in(turn: Turn) -> int:
    """How many messages of a turn its topic counts."""
    return (turn.question is not None) + (turn.answer is not None)


def with_hot_turns(topic: Topic, hot: Iterable[Turn]) -> Topic:
    """The topic with these turns in working memory and everything else in the archive."""
    plain = sorted((turn for turn in hot if not turn.archived), key=lambda turn: turn.turn_number)
    count = sum(map(messages_in, plain))
    return replace(
        topic,
        hot=tuple(turn.turn_number for turn in plain),
        archived_count=max(topic.message_count - count, 0),
        restored_count=min(topic.restored_count, count),
    )


def recounted(topic: Topic, turns: Sequence[Turn]) -> Topic:
    """The topic with counts computed from all of its turns."""
    total = sum(map(messages_in, turns))
    if any(turn.damage for turn in turns):
        total = max(total, topic.message_count)
    return with_hot_turns(replace(topic, message_count=total), turns)


def summary_of(turns: Sequence[Turn], before: str | None = None) -> str | None:
    """A summary of archived turns, a sentence a line: the earlier one, then one for each turn; the oldest are dropped.

    A sentence of the answer that names what was asked is quoted if it can stand alone; else question and answer are
    reported together.
    """
    previous = (before or "").splitlines()
    lines = list(dict.fromkeys(line for line in (*previous, *map(_sentence_of, turns)) if line))
    while len(lines) > 1 and sum(map(len, lines)) + len(lines) > SUMMARY_CHARACTERS:
        lines.pop(0)
    return "\n".join(lines) or None


def _sentence_of(turn: Turn) -> str:
    """One turn as one sentence."""
    question, answer = (" ".join(text.split()) for text in (turn.query or "", turn.response or ""))
    wording = language(guess_language(f"{question} {answer}")).summaries
    said = [_shortened(each) for each in quotable_sentences(without_reader_phrases(turn.response or ""))]
    named = subject_words(question)
    shared = {each: len(named & subject_words(each)) for each in said if _stands_alone(each, wording.unfinished)}
    if max(shared.values(), default=0):
        return max(shared, key=lambda each: shared[each])  # the first of the best
    told = said[0] if said else _shortened(answer)
    asked = _shortened(question)
    if not (asked and told):
        return asked or told
    told += "" if re.search(r"[.!?…][\"'”»]*$", told) else "."
    return wording.reported.format(question=asked, answer=told)


def _stands_alone(sentence: str, unfinished: str) -> bool:
    """Whether a sentence can be read without its question: long enough, finished, and not begun in the middle."""
    words = sentence.split()
    begins = re.match(rf"\W*(?:{unfinished}|\d\S*)(?!\w)", sentence, re.IGNORECASE)
    return len(words) >= _SENTENCE_WORDS and sentence[-1] in ".!" and sentence[0].isupper() and not begins


def _shortened(text: str) -> str:
    return text if len(text) <= SENTENCE_CHARACTERS else text[:SENTENCE_CHARACTERS].rstrip() + "…"


def _archivable(engine: Engine, owner: Owner, session_id: str, topic: Topic) -> list[Turn]:
    """The turns of a topic in working memory that may be archived, oldest first; open ones may not."""
    hot = turns_by_number(engine, owner, session_id, topic.hot)
    return [turn for turn in hot if not turn.is_open and not turn.archived]


def _archive_turns(engine: Engine, owner: Owner, session_id: str, topic_id: str, cold: Sequence[Turn]) -> None:
    """Write turns that are in no block yet into blocks, drop the plain text of all, and note them in the summary."""
    engine.store.topics.release(owner, session_id, [turn.turn_number for turn in cold if turn.block_id])
    for group in _groups([turn for turn in cold if not turn.block_id]):
        numbers = tuple(turn.turn_number for turn in group)
        body = pack([message for turn in group for message in turn.messages])
        now = engine.clock.now()
        block_id = uuid4().hex[:16]  # short, because every turn of the block names it
        engine.store.topics.archive(owner, session_id, Block(block_id, topic_id, numbers, now, body))
    there = turns_by_number(engine, owner, session_id, [turn.turn_number for turn in cold])
    packed = [turn for turn in there if turn.archived]
    if packed:
        change_topic(
            engine,
            owner,
            session_id,
            topic_id,
            lambda topic: replace(topic, restored_count=0, summary=summary_of(packed, topic.summary)),
        )


def _groups(turns: Sequence[Turn]) -> list[list[Turn]]:
    """Turns in groups of about equal size, each of at least BLOCK_MESSAGES messages: one block each."""
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
