"""Learn facts from the turns of a session, a few turns per pass, in the background.

Reads the turns that have not been read yet, skips what must not be learned (crises, quarantined messages, text composed
from memory), extracts claims and merges them into the stored facts with an optimistic write.
"""

import logging
import re
from dataclasses import dataclass, replace
from functools import cache
from zoneinfo import ZoneInfo

from ricordo.engine.core import Engine
from ricordo.engine.protocols import LLM
from ricordo.errors import StoreUnavailable
from ricordo.people.facts.claims import Claim, MessageTime, UserMessage
from ricordo.people.facts.extraction import extract_facts
from ricordo.people.facts.merge import LearningContext, merge_claims
from ricordo.records.people import Fact
from ricordo.records.turns import Owner, SessionInfo, Turn, turn_id_of
from ricordo.safety.pii import PII_KINDS, redact
from ricordo.safety.screen import screen_of
from ricordo.safety.trust import origin_of
from ricordo.settings import SafetySettings

_MASK = re.compile(rf"\[((?:{'|'.join(PII_KINDS)})(?::[0-9a-f]+)?)\]")
log = logging.getLogger("ricordo")

TURNS_PER_PASS = 16  # turns
MAX_ATTEMPTS = 20
COMPOSED = "composed"  # metadata key of messages that contain prompt or memory text


@dataclass(frozen=True, slots=True)
class LearnResult:
    """The result of one pass: whether turns remain, which extractor read, why not the model, facts written."""

    more: bool
    made_by: str = ""
    why: str = ""
    facts: int = 0


def learn_facts(engine: Engine, owner: Owner, session_id: str, model: LLM | None = None) -> LearnResult:
    """Run one pass over the unread turns of a session."""
    session = engine.store.sessions.get(owner, session_id)
    done = engine.store.people.learned_through(owner, session_id)
    if session is None or done >= session.last_turn:
        return LearnResult(more=False)
    through = min(done + TURNS_PER_PASS, session.last_turn)
    turns = engine.store.turns.page(owner, session_id, after=done, before=through + 1)
    unfit = screen_of(engine).turns(engine, owner, turns)
    said = [each for turn in turns for each in _user_messages(turn) if each.id not in unfit]
    found = extract_facts(said, model, ZoneInfo(engine.settings.profile.time_zone))
    if found.why:
        details = {"operation": "facts", "tenant_id": owner.tenant_id, "user_id": owner.user_id}
        log.warning("facts are read by patterns: %s", found.why, extra=details | {"session_id": session_id})
    claims = [clean for each in found.candidates if (clean := _redact_claim(each, engine.settings.safety))]
    written = _merge(engine, owner, session, claims, unfit, through)
    return LearnResult(through < session.last_turn, found.made_by, found.why, written)


def _user_messages(turn: Turn) -> list[UserMessage]:
    """The user's message of a turn, unless it was composed from memory."""
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
    """Write the merged facts and the last turn read; the number of facts that changed."""

    @cache
    def said_at(message_id: str) -> MessageTime | None:
        turn = engine.store.turns.get(owner, turn_id_of(message_id))
        return (
            MessageTime(turn.question.created_at, turn.session_id, turn.turn_number) if turn and turn.question else None
        )

    for _ in range(MAX_ATTEMPTS):
        people = engine.store.people.facts(owner, session.agent_id)
        context = LearningContext(session.agent_id, engine.clock.now(), unfit)
        change = merge_claims(people, claims, context, said_at=said_at, learned=((session.id, through),))
        if engine.store.people.put_facts(owner, session.agent_id, change):
            screen_of(engine).facts(engine, owner, session.id, _new(change.put, people.facts))
            return len(change.put)
    raise StoreUnavailable("facts could not be stored because of concurrent writes; the next pass learns them")


def _new(put: tuple[Fact, ...], before: tuple[Fact, ...]) -> list[Fact]:
    known = {fact.id for fact in before}
    return [fact for fact in put if fact.id not in known and not fact.forgotten]


def _redact_claim(claim: Claim, settings: SafetySettings) -> Claim | None:
    """A claim without the personal data that the policy excludes; None if it must not be stored."""
    kept = redact(claim.text, dict.fromkeys(PII_KINDS, settings.personal_data))
    if kept.blocked:
        return None
    # Round brackets: claims with square ones are refused as markup.
    return replace(claim, text=_MASK.sub(r"(\1)", kept.text)) if kept.text != claim.text else claim
