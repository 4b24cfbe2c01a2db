"""Learning facts from what a user says: a few turns at a time, beside the chat.

Reads the turns that nobody has learned from yet, leaves out what must not be learned (signs of a crisis, what is in
quarantine, text that was composed from memory), lets a model or the patterns find claims, and merges them into what
the agent knows, if nobody else has written meanwhile.
"""

import logging
from dataclasses import dataclass
from functools import cache
from zoneinfo import ZoneInfo

from ricordo.engine.core import Engine
from ricordo.engine.protocols import LLM
from ricordo.errors import StoreUnavailable
from ricordo.people.facts.claims import Claim, UserMessage, When
from ricordo.people.facts.extraction import read_facts
from ricordo.people.facts.merge import LearningContext, merge
from ricordo.records.people import Fact
from ricordo.records.turns import Owner, SessionInfo, Turn, turn_id_of
from ricordo.safety.screen import cleaned_claim, screen_of
from ricordo.safety.trust import origin_of

log = logging.getLogger("ricordo")

PASS = 16  # turns learned from in one pass
TRIES = 20
COMPOSED = "composed"  # metadata of a message that holds text from a prompt or from memory


@dataclass(frozen=True, slots=True)
class Learned:
    """What one pass did: whether there is more to learn from, who read, and what kept a model from it."""

    more: bool
    made_by: str = ""
    why: str = ""
    facts: int = 0


def learn(engine: Engine, owner: Owner, session_id: str, model: LLM | None = None) -> Learned:
    """One pass over the turns of a session that were not learned from yet."""
    session = engine.store.sessions.get(owner, session_id)
    done = engine.store.people.learned_through(owner, session_id)
    if session is None or done >= session.last_turn:
        return Learned(more=False)
    through = min(done + PASS, session.last_turn)
    turns = engine.store.turns.page(owner, session_id, after=done, before=through + 1)
    unfit = screen_of(engine).turns(engine, owner, turns)
    said = [each for turn in turns for each in _said(turn) if each.id not in unfit]
    found = read_facts(said, model, ZoneInfo(engine.settings.profile.time_zone))
    if found.why:
        details = {"operation": "facts", "tenant_id": owner.tenant_id, "user_id": owner.user_id}
        log.warning("facts are read by patterns: %s", found.why, extra=details | {"session_id": session_id})
    claims = [clean for each in found.candidates if (clean := cleaned_claim(each, engine.settings.safety))]
    written = _merge(engine, owner, session, claims, unfit, through)
    return Learned(through < session.last_turn, found.made_by, found.why, written)


def _said(turn: Turn) -> list[UserMessage]:
    """What the user says in a turn, unless it was composed."""
    message = turn.question
    if message is None or turn.metadata.get(COMPOSED) or message.metadata.get(COMPOSED) or turn.damage:
        return []
    origin = origin_of(message.role, turn.origin)
    return [UserMessage(message.id, turn.session_id, message.content, message.created_at, origin, turn.turn_number)]


def _merge(
    engine: Engine,
    owner: Owner,
    session: SessionInfo,
    claims: list[Claim],
    unfit: frozenset[str],
    through: int,
) -> int:
    """Write what is new and note how far was read; how many facts changed."""

    @cache
    def said_at(message_id: str) -> When | None:
        turn = engine.store.turns.get(owner, turn_id_of(message_id))
        return When(turn.question.created_at, turn.session_id, turn.turn_number) if turn and turn.question else None

    for _ in range(TRIES):
        people = engine.store.people.facts(owner, session.agent_id)
        hearing = LearningContext(session.agent_id, engine.clock.now(), unfit)
        change = merge(people, claims, hearing, said_at=said_at, learned=((session.id, through),))
        if engine.store.people.put_facts(owner, session.agent_id, change):
            screen_of(engine).facts(engine, owner, session.id, _new(change.put, people.facts))
            return len(change.put)
    raise StoreUnavailable("facts could not be kept: others keep writing; they are learned with the next pass")


def _new(put: tuple[Fact, ...], before: tuple[Fact, ...]) -> list[Fact]:
    known = {fact.id for fact in before}
    return [fact for fact in put if fact.id not in known and not fact.forgotten]
