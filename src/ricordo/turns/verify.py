"""Verify what is stored: compute again everything that can be computed, and report every difference.

Checked are the database itself, the numbers and counts of each session, the checksum and token counts of each turn,
receipts, archive blocks, topics, summaries and facts. Nothing is changed. After damage the rest is checked too.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import sleep

from ricordo.engine.core import Engine
from ricordo.engine.tokens import recounted
from ricordo.errors import DamageError, RicordoError
from ricordo.prompt.receipt import from_stored
from ricordo.records.derived import Fact, Source, Summary, Topic
from ricordo.records.service import Damage, Verification
from ricordo.records.turns import Block, Owner, SessionInfo, Turn, checksum, turn_id_of
from ricordo.stores.archive.block import unpack
from ricordo.stores.write_rules import grouped
from ricordo.topics.archive import messages_in

EVERY = 2**53


def bad_facts(engine: Engine, owner: Owner) -> Iterator[Damage]:
    """Facts with a wrong quote, or superseded by a fact that does not exist."""
    where = f"user {owner.user_id!r}"
    try:
        agents = engine.store.people.agents(owner)
    except RicordoError as error:
        yield Damage(where, f"the agents with facts cannot be listed: {error}")
        return
    for agent_id in agents:
        try:
            facts = engine.store.people.facts(owner, agent_id).facts
        except RicordoError as error:
            yield Damage(f"{where}, agent {agent_id!r}", f"its facts cannot be read: {error}")
            continue
        ids = {fact.id for fact in facts}
        for fact in facts:
            for problem in _fact_problems(engine, owner, fact, ids):
                yield Damage(f"{where}, agent {agent_id!r}, fact {fact.id!r}", problem)


def bad_summaries(engine: Engine, session: SessionInfo, where: str) -> Iterator[Damage]:
    """Summaries of turns that the session never had, or with a wrong token count; a wrong `learned_through`."""
    try:
        for summary in every_summary(engine, session):
            if not 1 <= summary.first_turn <= summary.last_turn <= session.last_turn:
                reach = f"turns {summary.first_turn} to {summary.last_turn}"
                yield Damage(where, f"summary {summary.id!r} covers {reach}, but the last turn is {session.last_turn}")
            size = engine.counter.count(summary.text) if summary.counter == engine.counter.name else summary.tokens
            if size != summary.tokens:  # the budget of a prompt relies on it
                yield Damage(where, f"summary {summary.id!r} is stored with {summary.tokens} tokens, but has {size}")
        learned = engine.store.people.learned_through(session.owner, session.id)
        if learned > session.last_turn:
            yield Damage(where, f"facts were learned up to turn {learned}, but the last turn is {session.last_turn}")
    except RicordoError as error:
        yield Damage(where, f"its summaries cannot be read: {error}")


def every_summary(engine: Engine, session: SessionInfo) -> Sequence[Summary]:
    return engine.store.people.summaries(session.owner, session_id=session.id, limit=EVERY)


def _fact_problems(engine: Engine, owner: Owner, fact: Fact, ids: set[str]) -> Iterator[str]:
    if fact.superseded_by is not None and fact.superseded_by not in ids:
        yield f"was superseded by fact {fact.superseded_by!r}, which does not exist"
    for source in fact.sources:
        problem = _misquoted(engine, owner, source)
        if problem:
            yield problem


def _misquoted(engine: Engine, owner: Owner, source: Source) -> str | None:
    try:
        turn = engine.store.turns.get(owner, turn_id_of(source.message_id))
    except RicordoError:
        return None  # damage to the turn is reported with the turn
    if turn is None or turn.damage:
        return None
    said = next((message for message in turn.messages if message.id == source.message_id), None)
    if said is None or turn.session_id != source.session_id:
        return f"names message {source.message_id!r} of session {source.session_id!r}, which does not exist"
    if source.quote not in said.content:
        return f"quotes words that are not in message {source.message_id!r}"
    return None


CHECKS = 4
BETWEEN_CHECKS = 0.1  # seconds


@dataclass(frozen=True, slots=True)
class CheckedTurn:
    """A turn without its text; `messages` is None if the text is lost."""

    number: int
    topic_id: str | None
    block_id: str | None
    archived: bool
    messages: int | None


def checked_turn(turn: Turn) -> CheckedTurn:
    """A turn as far as the checks of topics and blocks need it."""
    return CheckedTurn(
        turn.turn_number, turn.topic_id, turn.block_id, turn.archived, None if turn.damage else messages_in(turn),
    )  # fmt: skip


def bad_topics(engine: Engine, session: SessionInfo, checked: Sequence[CheckedTurn], pause: float) -> list[str]:
    """The problems with the topics and blocks of a session.

    They are checked several times: what another process was changing is right the next time.
    """
    problems = list(_topic_problems(engine, session, checked))
    for _ in range(CHECKS - 1):
        if not problems:
            break
        sleep(pause)
        turns = engine.store.turns.page(session.owner, session.id)
        again = set(_topic_problems(engine, session, [checked_turn(turn) for turn in turns]))
        problems = [problem for problem in problems if problem in again]
    return problems


def bad_blocks(engine: Engine, session: SessionInfo, where: str) -> Iterator[Damage]:
    """Blocks that cannot be unpacked, even if their turns still have their text."""
    try:
        for block in engine.store.topics.blocks(session.owner, session.id):
            try:
                unpack(block.body, block.id)
            except DamageError as error:
                yield Damage(where, str(error))
    except RicordoError as error:
        yield Damage(where, f"its archive cannot be read: {error}")


def _topic_problems(engine: Engine, session: SessionInfo, checked: Sequence[CheckedTurn]) -> Iterator[str]:
    try:
        shelf = engine.store.topics.load(session.owner, session.id)
        blocks = engine.store.topics.blocks(session.owner, session.id)
    except RicordoError as error:
        yield f"its topics cannot be read: {error}"
        return
    by_topic = grouped(checked, lambda turn: turn.topic_id)
    by_block = grouped(checked, lambda turn: turn.block_id)
    known = {topic.id for topic in shelf.topics}
    for topic_id in sorted(by_topic.keys() - known):
        yield f"{len(by_topic[topic_id])} turns belong to topic {topic_id!r}, which does not exist"
    for topic in shelf.topics:
        yield from _miscounted(topic, by_topic.get(topic.id, []))
    yield from _misplaced(blocks, {name: {turn.number for turn in turns} for name, turns in by_block.items()})


def _miscounted(topic: Topic, turns: Sequence[CheckedTurn]) -> Iterator[str]:
    """Wrong counts of a topic, or a wrong list of the turns that are in working memory."""
    plain = [turn for turn in turns if not turn.archived]
    if topic.hot != tuple(turn.number for turn in plain):
        working = _list(turn.number for turn in plain)
        yield f"topic {topic.id!r} lists turns {_list(topic.hot)} in working memory, but it has {working} there"
    if all(turn.messages is not None for turn in turns):
        total = sum(turn.messages or 0 for turn in turns)
        archived = sum(turn.messages or 0 for turn in turns if turn.archived)
        if (topic.message_count, topic.archived_count) != (total, archived):
            yield (
                f"topic {topic.id!r} counts {topic.message_count} messages, {topic.archived_count} archived, "
                f"but has {total}, {archived} archived"
            )


def _misplaced(blocks: Sequence[Block], by_block: Mapping[str, set[int]]) -> Iterator[str]:
    """Blocks whose list of turns is not the list of the turns that name the block."""
    there = {block.id: set(block.turn_numbers) for block in blocks}
    for block_id in sorted(there.keys() | by_block.keys()):
        says, said = there.get(block_id, set()), by_block.get(block_id, set())
        if block_id not in there:
            yield f"turns {_list(said)} name archive block {block_id!r}, which does not exist"
        elif says != said:
            yield f"archive block {block_id!r} lists turns {_list(says)}, but turns {_list(said)} name it"


def _list(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers))) or "none"


PAGE = 500

Progress = Callable[[int, int], None]


def verify(
    engine: Engine, tenant_id: str, progress: Progress | None = None, *, pause: float = BETWEEN_CHECKS
) -> Verification:
    """Check everything of a tenant. What another process may be changing is checked again after `pause` seconds."""
    damages = list(engine.store.integrity())
    owners = owners_of(engine, tenant_id, damages)
    sessions = turns = 0
    for done, owner in enumerate(owners, start=1):
        for session in every_session(engine, owner):
            if isinstance(session, Damage):
                damages.append(session)
                continue
            sessions += 1
            counted, found = _check_again(engine, session, pause)
            turns += counted
            damages += found
        damages += bad_facts(engine, owner)
        if progress:
            progress(done, len(owners))
    return Verification(sessions, turns, tuple(damages))


def owners_of(engine: Engine, tenant_id: str, damages: list[Damage]) -> list[Owner]:
    """The users of a tenant; if they cannot be listed, none, and one more entry in `damages`."""
    try:
        return list(engine.store.owners(tenant_id))
    except DamageError as error:
        damages.append(Damage(f"tenant {tenant_id!r}", f"its users cannot be listed: {error}"))
        return []


def every_session(engine: Engine, owner: Owner) -> Iterator[SessionInfo | Damage]:
    """Every session of an owner; a Damage in place of one that cannot be read."""
    seen: set[str] = set()
    try:
        page = engine.store.sessions.page(owner, limit=PAGE)
        while page:
            seen.update(session.id for session in page)
            yield from page
            page = engine.store.sessions.page(owner, limit=PAGE, before=page[-1])
    except DamageError:
        yield from _one_by_one(engine, owner, seen)


def _one_by_one(engine: Engine, owner: Owner, seen: set[str]) -> Iterator[SessionInfo | Damage]:
    where = f"user {owner.user_id!r}"
    try:
        names = engine.store.sessions.marks(owner).keys() - seen
    except DamageError as error:
        yield Damage(where, f"the sessions cannot be listed: {error}")
        return
    for name in sorted(names):
        try:
            session = engine.store.sessions.get(owner, name)
        except DamageError as error:
            yield Damage(f"{where}, session {name!r}", f"cannot be read: {error}")
        else:
            if session is not None:  # else it was deleted meanwhile
                yield session


def _check_again(engine: Engine, session: SessionInfo, pause: float) -> tuple[int, list[Damage]]:
    """Check a session; check it again if it was written to meanwhile, which can look like damage."""
    for _ in range(CHECKS):
        counted, found = _check_session(engine, session, pause)
        now = engine.store.sessions.get(session.owner, session.id) if found else session
        if now is None:
            return counted, []
        if now.revision == session.revision:
            break
        session = now
    return counted, found


def _check_session(engine: Engine, session: SessionInfo, pause: float) -> tuple[int, list[Damage]]:
    where = f"user {session.owner.user_id!r}, session {session.id!r}"
    damages: list[Damage] = []
    numbers: list[int] = []
    checked: list[CheckedTurn] = []
    newest = session.created_at
    for turn in _turns(engine, session):
        if isinstance(turn, Damage):
            damages.append(Damage(f"{where}, {turn.where}", turn.problem))
            continue
        numbers.append(turn.turn_number)
        checked.append(checked_turn(turn))
        newest = max([newest, turn.created_at, *(message.created_at for message in turn.messages)])
        if turn.damage:
            damages.append(Damage(f"{where}, turn {turn.turn_number}", turn.damage))
        elif checksum(turn) != turn.checksum:
            damages.append(Damage(f"{where}, turn {turn.turn_number}", "its content does not match its checksum"))
        elif (
            turn.counter == engine.counter.name
            and turn.tokens != recounted(replace(turn, counter=""), engine.counter).tokens
        ):
            damages.append(
                Damage(f"{where}, turn {turn.turn_number}", "its token counts differ from those of its text")
            )
    unreadable = sum(damage.problem.startswith("cannot be read") for damage in damages)
    if len(numbers) + unreadable != session.turn_count:
        present = set(numbers)
        first = min(numbers, default=session.last_turn + 1)
        absent = (str(n) for n in range(first, session.last_turn + 1) if n not in present)
        missing = ", ".join(islice(absent, 10))
        detail = f"; missing: {missing}" if missing else ""
        damages.append(Damage(where, f"has {len(numbers)} turns but counts {session.turn_count}{detail}"))
    if numbers and max(numbers) > session.last_turn:
        damages.append(Damage(where, f"its last turn is {session.last_turn} but it has turn {max(numbers)}"))
    if not damages and session.last_active_at < newest:
        damages.append(Damage(where, "was active after its last_active_at, so a cleanup may delete it too early"))
    whole = len(checked) == session.turn_count
    damages += [*_bad_receipts(engine, session, where), *bad_blocks(engine, session, where)]
    damages += bad_summaries(engine, session, where)
    if whole:  # with turns missing, which is reported already, every topic would be reported too
        damages += [Damage(where, problem) for problem in bad_topics(engine, session, checked, pause)]
    return len(numbers), damages


def _bad_receipts(engine: Engine, session: SessionInfo, where: str) -> Iterator[Damage]:
    try:
        for stored in engine.store.turns.receipts(session.owner, session.id, limit=max(session.last_turn, 1)):
            try:
                from_stored(stored)
            except RicordoError as error:
                yield Damage(f"{where}, turn {stored.turn_number}", str(error))
    except RicordoError as error:
        yield Damage(where, f"its receipts cannot be read: {error}")


def _turns(engine: Engine, session: SessionInfo) -> Iterator[Turn | Damage]:
    """Every turn of a session; a Damage in place of one that cannot be read."""
    for first in range(0, session.last_turn, PAGE):
        try:
            yield from engine.store.turns.page(session.owner, session.id, after=first, before=first + PAGE + 1)
        except DamageError:
            for number in range(first + 1, min(first + PAGE, session.last_turn) + 1):
                try:
                    yield from engine.store.turns.page(session.owner, session.id, after=number - 1, before=number + 1)
                except DamageError as error:
                    yield Damage(f"turn {number}", f"cannot be read: {error}")
    last_read = -(-session.last_turn // PAGE) * PAGE
    yield from engine.store.turns.page(session.owner, session.id, after=last_read)
