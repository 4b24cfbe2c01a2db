"""Write the stored summaries of a session (of its older turns: condensation; of all turns at its end), and its title.

The turns themselves stay. The tokens of a session are counted incrementally, so that a long session is not read again
with every turn; its turns are read only when condensation is due.
"""

import threading
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from ricordo.engine.core import EVERY, LRU, Engine, new_id, newest_summary, quarantined
from ricordo.people.summaries.layout import TurnRange
from ricordo.people.summaries.summarise import (
    SummaryWriter,
    conversation_language,
    make_title,
    summarise,
    summarise_session,
    writer_of,
)
from ricordo.records.derived import Summary, SummaryKind, Trust
from ricordo.records.turns import Owner, SessionChanges
from ricordo.safety.screen import least_trusted, origin_of, redact_turn, screen_of, signals

if TYPE_CHECKING:
    from ricordo.people.summaries.layout import SummaryDraft
    from ricordo.records.turns import SessionInfo, Turn
    from ricordo.settings import CondensationSettings

PAGE = 256
MAX_SESSIONS = 1_024  # sessions whose size is cached
MAX_TURNS = 400  # newest turns read for the summary
TITLE_TURNS = 6  # turns read for a title
MAX_UNTITLED = 1_024  # sessions cached as untitled
MIN_SUMMARY_TOKENS, MAX_SUMMARY_TOKENS = 200, 4_000


class SessionSizes:
    """The tokens of each session after its last summary, counted once per turn. Thread-safe."""

    def __init__(self, engine: Engine) -> None:
        self._known: LRU[tuple[Owner, str], tuple[int, int, int]] = LRU(MAX_SESSIONS)
        self._lock = threading.Lock()

    def after(self, engine: Engine, owner: Owner, session_id: str, covered: int) -> int:
        """The tokens of the turns after `covered`."""
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
        with self._lock:
            self._known.remove_where(lambda key: key[0] == owner)


def condense_if_due(engine: Engine, owner: Owner, session_id: str) -> Summary | None:
    """Extend a session's summary if it is near its token limit; the new summary, or None."""
    settings = engine.settings.condensation
    already = newest_summary(engine, owner, session_id)
    covered = already.last_turn if already else 0
    size = engine.part(SessionSizes).after(engine, owner, session_id, covered) + (already.tokens if already else 0)
    if settings.condense == "off" or size < settings.condense_at * settings.condense_tokens:
        return None
    return condense_now(engine, owner, session_id, writer_of(engine))


def condense_now(
    engine: Engine,
    owner: Owner,
    session_id: str,
    writer: SummaryWriter | None,
    *,
    force: bool = False,
) -> Summary | None:
    """Summarise the older turns if due, or regardless with `force`; None if there is nothing to summarise."""
    settings, screen = engine.settings.condensation, screen_of(engine)
    already = newest_summary(engine, owner, session_id)
    turns = list(engine.store.turns.page(owner, session_id, after=already.last_turn if already else None))
    while turns and turns[-1].is_open:
        turns.pop()
    wanted = replace(settings, condense_at=0.0) if force else settings
    covers = turns_to_condense(turns, wanted, already, overhead=engine.counter.message_overhead)
    if covers is None:
        return None
    selected = covers.of(turns)
    unfit = screen.turns(engine, owner, selected)
    limit = summary_tokens(settings)
    made = summarise(
        selected, already, limit, engine.counter, conversation_language(selected), writer=writer, leave_out=unfit
    )
    if made is None:
        return None
    origin = least_trusted([*_origins(selected), *([already.origin] if already else [])])
    summary = _summary(engine, made, "condensation", selected[-1], engine.clock.now(), origin)
    if not store_summary(engine, owner, summary, selected, unfit, already):
        return None
    screen.summary(engine, owner, summary)
    return summary


def _summary(
    engine: Engine, made: "SummaryDraft", kind: SummaryKind, last: "Turn", created_at: datetime, origin: Trust
) -> Summary:
    """The record of a draft that ends with this turn."""
    return Summary(
        id=new_id(engine.clock.now()),
        session_id=last.session_id,
        agent_id=last.agent_id,
        kind=kind,
        text=made.text,
        first_turn=made.covers.first_turn,
        last_turn=made.covers.last_turn,
        topics=made.topics,
        created_at=created_at,
        tokens=made.tokens,
        counter=engine.counter.name,
        made_by=made.made_by,
        origin=origin,
    )


def store_summary(
    engine: Engine,
    owner: Owner,
    summary: Summary,
    turns: Sequence["Turn"],
    unfit: frozenset[str],
    already: Summary | None = None,
) -> bool:
    """Store a summary, unless its turns were cleared or forgotten while it was written.

    Forgetting quarantines messages first and then drops summaries. Checking after the write catches both orders.
    """
    if not turn_exists(engine, owner, turns[-1]) or not engine.store.people.put_summary(owner, summary):
        return False
    said = {message.id for turn in turns for message in turn.messages}
    sound = not said & (quarantined(engine, owner) - unfit)
    if sound and already:
        every = engine.store.people.summaries(owner, session_id=summary.session_id, kind=already.kind, limit=EVERY)
        sound = any(each.id == already.id for each in every)
    if not sound:
        engine.store.people.drop_summaries(owner, [summary.id])
    return sound


def turn_exists(engine: Engine, owner: Owner, turn: "Turn") -> bool:
    """Whether a turn is still stored under its number; its session may have been cleared meanwhile."""
    number = turn.turn_number
    found = engine.store.turns.page(owner, turn.session_id, after=number - 1, before=number + 1)
    return any(each.id == turn.id for each in found)


def summary_tokens(settings: "CondensationSettings") -> int:
    """The token limit of a summary: a fiftieth of the window, within bounds."""
    return min(max(settings.condense_tokens // 50, MIN_SUMMARY_TOKENS), MAX_SUMMARY_TOKENS)


def _origins(turns: Sequence["Turn"]) -> list[Trust]:
    return [origin_of(message.role, turn.origin) for turn in turns for message in turn.messages]


def turns_to_condense(
    turns: Sequence["Turn"], settings: "CondensationSettings", already: Summary | None = None, *, overhead: int = 0
) -> TurnRange | None:
    """The turns to condense now, if the summary and the turns after it reach the trigger; else None.

    `turns` are in ascending order and may include those that `already` covers. `overhead` is what a chat API adds per
    message.
    """
    covered = already.last_turn if already else 0
    fresh = [turn for turn in turns if turn.turn_number > covered]
    tokens = sum(turn.tokens + overhead * len(turn.messages) for turn in fresh) + (already.tokens if already else 0)
    if tokens < settings.condense_at * settings.condense_tokens:
        return None
    old = _older_turns(fresh, settings.condense_keep)
    if sum(len(turn.messages) for turn in old) < settings.condense_least:
        return None
    return TurnRange(old[0].turn_number, old[-1].turn_number)


def _older_turns(turns: Sequence["Turn"], keep: int) -> Sequence["Turn"]:
    """The turns without any of the `keep` newest messages."""
    kept = 0
    for position in range(len(turns) - 1, -1, -1):
        if kept >= keep:
            return turns[: position + 1]
        kept += len(turns[position].messages)
    return ()


def write_session_summary(
    engine: Engine, owner: Owner, session: "SessionInfo", writer: SummaryWriter | None = None
) -> Summary | None:
    """The session's summary, written again if the session has new turns."""
    known = engine.store.people.summaries(owner, session_id=session.id, kind="session", limit=1)
    if known and known[0].last_turn >= session.last_turn:
        return known[0]
    turns = _without_open_turn(engine.store.turns.page(owner, session.id, last=MAX_TURNS))
    if not turns or (known and known[0].last_turn >= turns[-1].turn_number):
        return known[0] if known else None
    unfit = screen_of(engine).turns(engine, owner, turns)
    limit = engine.settings.profile.profile_summary_tokens
    redacted = [redact_turn(turn, engine.settings.safety) for turn in turns]
    made = summarise_session(redacted, engine.counter, limit_tokens=limit, writer=writer, leave_out=unfit)
    if made is None:
        return known[0] if known else None
    moment = max((turn.created_at for turn in turns), default=session.last_active_at)  # not when it was written
    origin = least_trusted(_origins(turns))
    summary = replace(_summary(engine, made, "session", turns[-1], moment, origin), agent_id=session.agent_id)
    if not store_summary(engine, owner, summary, turns, unfit):
        again = engine.store.people.summaries(owner, session_id=session.id, kind="session", limit=1)
        return again[0] if again else None
    screen_of(engine).summary(engine, owner, summary)
    return summary


def _without_open_turn(turns: Sequence["Turn"]) -> Sequence["Turn"]:
    """The turns without a last one that still waits for its answer.

    If the turn before it has no answer either, or there is only one turn, all are kept.
    """
    answers = len(turns) > 1 and not turns[-2].is_open
    return turns[:-1] if answers and turns[-1].is_open else turns


class Untitled:
    """Sessions for which no title was found, with their number of turns, so that the same turns are not tried again."""

    def __init__(self, engine: Engine) -> None:
        self._looked_at: LRU[tuple[Owner, str], int] = LRU(MAX_UNTITLED)

    def has(self, owner: Owner, session_id: str, turns: int) -> bool:
        """Whether this number of turns gave no title."""
        return self._looked_at.get((owner, session_id)) == turns

    def add(self, owner: Owner, session_id: str, turns: int) -> None:
        """Record that this number of turns gave no title."""
        self._looked_at.put((owner, session_id), turns)

    def forget(self, owner: Owner) -> None:
        self._looked_at.remove_where(lambda key: key[0] == owner)


def name_session(engine: Engine, owner: Owner, session_id: str) -> None:
    """Title a session once it has an answer; a title set by a user stays."""
    if engine.settings.condensation.titles == "off":
        return
    session = engine.store.sessions.get(owner, session_id)
    if session is None or session.title is not None or not session.turn_count:
        return
    turns = [turn for turn in engine.store.turns.page(owner, session_id, before=TITLE_TURNS + 1) if not turn.is_open]
    untitled = engine.part(Untitled)
    if not turns or untitled.has(owner, session_id, len(turns)):
        return
    unfit = screen_of(engine).turns(engine, owner, turns)
    turns = [redact_turn(turn, engine.settings.safety) for turn in turns]
    named = make_title(turns, writer=writer_of(engine), leave_out=unfit, suspicious=lambda text: bool(signals(text)))
    if named:
        engine.store.sessions.update(owner, session_id, SessionChanges(title=named.text))
    else:
        untitled.add(owner, session_id, len(turns))
