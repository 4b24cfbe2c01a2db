"""Condensing a session: the turns that are far back become a summary beside them; nothing is replaced.

Beside the chat the tokens of a session are counted as they come, so that a long session is not read again with every
turn; only when it is due are its turns read and summarised.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace

from ricordo.engine.clock import new_id
from ricordo.engine.core import EVERY, Engine, quarantined
from ricordo.people.summaries.layout import Range
from ricordo.people.summaries.summarise import SummaryWriter, condense, talk_language, writer_of
from ricordo.records.lru import LRU
from ricordo.records.people import Summary, Trust
from ricordo.records.turns import Owner, Turn
from ricordo.safety.screen import screen_of
from ricordo.safety.trust import lowest, origin_of
from ricordo.settings import CondensationSettings

PAGE = 256
REMEMBERED = 1_024  # sessions whose size is kept in mind
SMALLEST, LARGEST = 200, 4_000  # tokens of a summary


class Sizes:
    """How many tokens each session has after its last summary, counted once per turn. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._known: LRU[tuple[Owner, str], tuple[int, int, int]] = LRU(REMEMBERED)
        self._lock = threading.Lock()

    def after(self, engine: Engine, owner: Owner, session_id: str, covered: int) -> int:
        """Tokens of the turns after `covered`."""
        key = (owner, session_id)
        with self._lock:
            since, last, tokens = self._known.get(key) or (covered, covered, 0)
        if since != covered:
            last, tokens = covered, 0
        overhead = engine.counter.message_overhead
        while page := engine.store.turns.page(owner, session_id, after=last, before=last + PAGE + 1):
            answered = [turn for turn in page if not turn.is_open]
            tokens += sum(turn.tokens + overhead * len(turn.messages) for turn in answered)
            last = answered[-1].turn_number if answered else last
            if len(answered) < PAGE:
                break
        with self._lock:
            self._known.put(key, (covered, last, tokens))
        return tokens

    def forget(self, owner: Owner) -> None:
        """Drop what is in mind of an owner."""
        with self._lock:
            self._known.remove_where(lambda key: key[0] == owner)


def newest_summary(engine: Engine, owner: Owner, session_id: str) -> Summary | None:
    """What a session's condensed turns say."""
    found = engine.store.people.summaries(owner, session_id=session_id, kind="condensation", limit=1)
    return found[0] if found else None


def condense_if_due(engine: Engine, owner: Owner, session_id: str) -> Summary | None:
    """Extend a session's summary if it has grown near its limit; the new summary, or None."""
    settings = engine.settings.condensation
    already = newest_summary(engine, owner, session_id)
    covered = already.last_turn if already else 0
    size = engine.part(Sizes).after(engine, owner, session_id, covered) + (already.tokens if already else 0)
    if settings.condense == "off" or size < settings.condense_at * settings.condense_tokens:
        return None
    return condense_now(engine, owner, session_id, writer_of(engine))


def condense_now(
    engine: Engine,
    owner: Owner,
    session_id: str,
    writer: SummaryWriter | None,
    *,
    whatever: bool = False,
) -> Summary | None:
    """Summarise what is far back, if it is due, or `whatever` its size; None where there is nothing to summarise."""
    settings, screen = engine.settings.condensation, screen_of(engine)
    already = newest_summary(engine, owner, session_id)
    turns = list(engine.store.turns.page(owner, session_id, after=already.last_turn if already else None))
    while turns and turns[-1].is_open:
        turns.pop()
    wanted = replace(settings, condense_at=0.0) if whatever else settings
    covers = due(turns, wanted, already, overhead=engine.counter.message_overhead)
    if covers is None:
        return None
    going = covers.of(turns)
    unfit = screen.turns(engine, owner, going)
    limit = summary_tokens(settings)
    made = condense(going, already, limit, engine.counter, talk_language(going), writer=writer, leave_out=unfit)
    if made is None:
        return None
    now = engine.clock.now()
    summary = Summary(
        id=new_id(now),
        session_id=session_id,
        agent_id=going[-1].agent_id,
        kind="condensation",
        text=made.text,
        first_turn=made.covers.first_turn,
        last_turn=made.covers.last_turn,
        topics=made.topics,
        created_at=now,
        tokens=made.tokens,
        counter=engine.counter.name,
        made_by=made.made_by,
        origin=lowest([*_origins(going), *([already.origin] if already else [])]),
    )
    if not keep_summary(engine, owner, summary, going, unfit, already):
        return None
    screen.summary(engine, owner, summary)
    return summary


def keep_summary(
    engine: Engine,
    owner: Owner,
    summary: Summary,
    turns: Sequence[Turn],
    unfit: frozenset[str],
    already: Summary | None = None,
) -> bool:
    """Keep a summary of turns, unless something it was made of was cleared or forgotten while it was written.

    Who forgets puts messages away first and drops summaries then: looked at after writing, none slips through.
    """
    if not still_there(engine, owner, turns[-1]) or not engine.store.people.put_summary(owner, summary):
        return False
    said = {message.id for turn in turns for message in turn.messages}
    sound = not said & (quarantined(engine, owner) - unfit)
    if sound and already:
        every = engine.store.people.summaries(owner, session_id=summary.session_id, kind=already.kind, limit=EVERY)
        sound = any(each.id == already.id for each in every)
    if not sound:
        engine.store.people.drop_summaries(owner, [summary.id])
    return sound


def still_there(engine: Engine, owner: Owner, turn: Turn) -> bool:
    """Whether a turn is kept under its number: a session may have been cleared while a model wrote of its turns."""
    number = turn.turn_number
    found = engine.store.turns.page(owner, turn.session_id, after=number - 1, before=number + 1)
    return any(each.id == turn.id for each in found)


def summary_tokens(settings: CondensationSettings) -> int:
    """How long a summary may be: a fiftieth of the window, within reason."""
    return min(max(settings.condense_tokens // 50, SMALLEST), LARGEST)


def _origins(turns: tuple[Turn, ...]) -> list[Trust]:
    return [origin_of(message.role, turn.origin) for turn in turns for message in turn.messages]


def due(
    turns: Sequence[Turn], settings: CondensationSettings, already: Summary | None = None, *, overhead: int = 0
) -> Range | None:
    """What to cover next, once the summary and the turns after it reach the trigger's share of the token limit.

    `turns` are in rising order; those that `already` covers may be among them or not. `overhead` is what a chat API
    adds to every message.
    """
    covered = already.last_turn if already else 0
    fresh = [turn for turn in turns if turn.turn_number > covered]
    tokens = sum(turn.tokens + overhead * len(turn.messages) for turn in fresh) + (already.tokens if already else 0)
    if tokens < settings.condense_at * settings.condense_tokens:
        return None
    old = _before_the_recent(fresh, settings.condense_keep)
    if sum(len(turn.messages) for turn in old) < settings.condense_least:
        return None
    return Range(old[0].turn_number, old[-1].turn_number)


def union(already: Summary | None, added: Range) -> Range:
    """What a summary covers once it has been extended."""
    if already is None:
        return added
    return Range(min(already.first_turn, added.first_turn), max(already.last_turn, added.last_turn))


def _before_the_recent(turns: Sequence[Turn], keep: int) -> Sequence[Turn]:
    """The turns none of whose messages is among the `keep` newest."""
    kept = 0
    for position in range(len(turns) - 1, -1, -1):
        if kept >= keep:
            return turns[: position + 1]
        kept += len(turns[position].messages)
    return ()
