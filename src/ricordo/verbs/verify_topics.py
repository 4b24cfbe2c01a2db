"""Verifying topics and archive of a session: what its turns say of them against what is stored of them.

In: where each turn belongs. Out: every difference, as damage. Somebody may be organising while we look, so a
difference counts only if it is still there after looking again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import sleep

from ricordo.archive.block import unpack
from ricordo.errors import DamageError, RicordoError
from ricordo.records import Block, SessionInfo, Turn
from ricordo.reports import Damage
from ricordo.topics.counting import messages_in
from ricordo.topics.topic import Topic
from ricordo.verbs.tools import Tools

LOOKS = 4
BETWEEN_LOOKS = 0.1  # seconds


@dataclass(frozen=True, slots=True)
class Place:
    """Where a turn belongs; `messages` is unknown where its words are lost."""

    number: int
    topic_id: str | None
    block_id: str | None
    archived: bool
    messages: int | None


def place_of(turn: Turn) -> Place:
    """Where a turn belongs, as it says itself."""
    return Place(
        turn.turn_number,
        turn.topic_id,
        turn.block_id,
        turn.archived,
        None if turn.damage else messages_in(turn),
    )


def bad_shelves(tools: Tools, session: SessionInfo, places: Sequence[Place], pause: float) -> list[str]:
    """What is wrong with the topics and the blocks of a session, in sentences."""
    problems = list(_problems(tools, session, places))
    for _ in range(LOOKS - 1):
        if not problems:
            break
        sleep(pause)
        turns = tools.store.turns(session.owner, session.id)
        again = set(_problems(tools, session, [place_of(turn) for turn in turns]))
        problems = [problem for problem in problems if problem in again]
    return problems


def bad_blocks(tools: Tools, session: SessionInfo, where: str) -> Iterator[Damage]:
    """Blocks that cannot be unpacked, also where the words are still there in plain."""
    try:
        for block in tools.store.blocks(session.owner, session.id):
            try:
                unpack(block.body, block.id)
            except DamageError as error:
                yield Damage(where, str(error))
    except RicordoError as error:
        yield Damage(where, f"its archive cannot be read: {error}")


def _problems(tools: Tools, session: SessionInfo, places: Sequence[Place]) -> Iterator[str]:
    try:
        shelf = tools.store.topics(session.owner, session.id)
        blocks = tools.store.blocks(session.owner, session.id)
    except RicordoError as error:
        yield f"its topics cannot be read: {error}"
        return
    by_topic: dict[str, list[Place]] = {}
    by_block: dict[str, set[int]] = {}
    for place in places:
        if place.topic_id:
            by_topic.setdefault(place.topic_id, []).append(place)
        if place.block_id:
            by_block.setdefault(place.block_id, set()).add(place.number)
    known = {topic.id for topic in shelf.topics}
    for topic_id in sorted(by_topic.keys() - known):
        yield f"{len(by_topic[topic_id])} turns belong to topic {topic_id!r}, which is not there"
    for topic in shelf.topics:
        yield from _miscounted(topic, by_topic.get(topic.id, []))
    yield from _misplaced(blocks, by_block)


def _miscounted(topic: Topic, turns: Sequence[Place]) -> Iterator[str]:
    """A topic that counts other messages than its turns have, or holds others at hand than are plain."""
    plain = [turn for turn in turns if not turn.archived]
    if topic.hot != tuple(turn.number for turn in plain):
        yield f"topic {topic.id!r} has turns {_list(topic.hot)} at hand, but {_list(t.number for t in plain)} are plain"
    if all(turn.messages is not None for turn in turns):
        total = sum(turn.messages or 0 for turn in turns)
        archived = sum(turn.messages or 0 for turn in turns if turn.archived)
        if (topic.message_count, topic.archived_count) != (total, archived):
            yield (
                f"topic {topic.id!r} counts {topic.message_count} messages, {topic.archived_count} archived, "
                f"but has {total}, {archived} archived"
            )


def _misplaced(blocks: Sequence[Block], by_block: Mapping[str, set[int]]) -> Iterator[str]:
    """Blocks that say they hold other turns than say they are in it."""
    there = {block.id: set(block.turn_numbers) for block in blocks}
    for block_id in sorted(there.keys() | by_block.keys()):
        says, said = there.get(block_id, set()), by_block.get(block_id, set())
        if block_id not in there:
            yield f"turns {_list(said)} are in archive block {block_id!r}, which is not there"
        elif says != said:
            yield f"archive block {block_id!r} is said to hold turns {_list(says)}, but holds {_list(said)}"


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers))) or "none"
