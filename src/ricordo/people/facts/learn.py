"""Learn facts from the turns of a session, a few turns per pass, in the background; write or forget one; end a session.

Learning reads the turns that have not been read yet, skips what must not be learned (crises, quarantined messages, text
composed from memory), extracts claims and merges them into the stored facts with an optimistic write. A command to
forget deletes the facts that were known before it.

Forgetting erases the words of a fact and every summary that may contain it. Its source messages stay in the history but
are quarantined, so that nothing derived later quotes them. Summaries that cover them are dropped and rebuilt without a
model, because a model's paraphrase cannot be searched.

The end of a session (asked for, or after an idle time) learns what is left and writes the session's summary.
"""

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cache
from zoneinfo import ZoneInfo

from ricordo.engine import LLM
from ricordo.engine.core import EVERY, Engine, Scope, new_id
from ricordo.errors import NotFoundError, StoreError, StoreUnavailable, ValidationError
from ricordo.languages.text import guess_language
from ricordo.people.facts.claims import JUDGE, Claim, ForgetCommand, MessageTime, UserMessage, refusal_reason
from ricordo.people.facts.extraction import extract_facts
from ricordo.people.facts.merge import LearningContext, facts_to_forget, merge_claims, move_pins, new_fact
from ricordo.people.facts.statements import forget_commands
from ricordo.people.summaries.condense import condense_now, write_session_summary
from ricordo.people.summaries.summarise import SummaryWriter, writer_of
from ricordo.records.derived import FACT_KINDS, Fact, FactChange, FactKind, KnownFacts, Source, Summary
from ricordo.records.turns import Owner, SessionChanges, SessionInfo, Turn, log_details, turn_id_of
from ricordo.safety.pii import PII_KINDS, redact
from ricordo.safety.screen import origin_of, screen_of
from ricordo.settings import SafetySettings
from ricordo.worker import END

_MASK = re.compile(rf"\[((?:{'|'.join(PII_KINDS)})(?::[0-9a-f]+)?)\]")
log = logging.getLogger("ricordo")

TURNS_PER_PASS = 16
MAX_ATTEMPTS = 20
UNLEARNED = "unlearned"  # metadata key of turns that only ask, or whose command was obeyed
COMPOSED = "composed"  # metadata key of messages that contain prompt or memory text


@dataclass(frozen=True, slots=True)
class LearnResult:
    """The result of a pass: whether turns remain, the extractor, why it was not the model, the facts written."""

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
    excluded = screen_of(engine).turns(engine, owner, turns)
    # The chat has answered these questions and carried out these commands already, and said so.
    asked = [each for turn in turns if not turn.metadata.get(UNLEARNED) for each in _user_messages(turn)]
    # Commands of suspicious messages are obeyed too: they can only remove facts.
    commands = [command for each in asked if each.origin == "user_said" for command in forget_commands(each)]
    said = [each for each in asked if each.id not in excluded]
    found = extract_facts(said, model, ZoneInfo(engine.settings.profile.time_zone))
    if found.why:
        log.warning("facts are read by patterns: %s", found.why, extra=log_details("facts", owner, session_id))
    claims = [clean for each in found.candidates if (clean := _redact_claim(each, engine.settings.safety))]
    # First, so that a crash after the merge loses no command.
    _forget_commanded(engine, owner, session.agent_id, commands)
    written = _merge(engine, owner, session, claims, excluded, through)
    # Again, for facts from these turns that were said before a command.
    _forget_commanded(engine, owner, session.agent_id, commands)
    return LearnResult(through < session.last_turn, found.made_by, found.why, written)


def _forget_commanded(engine: Engine, owner: Owner, agent_id: str, commands: list[ForgetCommand]) -> None:
    """Forget the facts that each command means. Its message repeats the words, so it is quarantined too."""
    for command in commands:
        meant = facts_to_forget(command, engine.store.people.facts(owner, agent_id).facts)
        for fact in meant:
            forget_fact(engine, owner, agent_id, fact.id)
        if meant:
            screen_of(engine).quarantine_source(engine, owner, command.said.id, command.said.session_id)


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
    excluded: frozenset[str],
    through: int,
) -> int:
    """Write the merged facts and the last turn read; returns how many facts changed.

    If another pass has read these turns meanwhile, nothing is written: what it learned may have been forgotten since.
    """

    @cache
    def said_at(message_id: str) -> MessageTime | None:
        turn = engine.store.turns.get(owner, turn_id_of(message_id))
        return (
            MessageTime(turn.question.created_at, turn.session_id, turn.turn_number) if turn and turn.question else None
        )

    for _ in range(MAX_ATTEMPTS):
        people = engine.store.people.facts(owner, session.agent_id)
        if engine.store.people.learned_through(owner, session.id) >= through:
            return 0
        context = LearningContext(session.agent_id, engine.clock.now(), excluded)
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
    if kept.text != claim.text and claim.made_by == JUDGE:
        return None  # the clause says nothing without the personal data
    # Round brackets: claims with square ones are refused as markup.
    return replace(claim, text=_MASK.sub(r"(\1)", kept.text)) if kept.text != claim.text else claim


def forget_fact(engine: Engine, owner: Owner, agent_id: str, fact_id: str) -> None:
    """Forget one fact: erase it, drop the summaries that may contain it, and never learn it again."""
    dropped: list[Summary] = []
    written = False
    for _ in range(MAX_ATTEMPTS):
        people = engine.store.people.facts(owner, agent_id)
        change = forget_change(people, fact_id)
        gone = {fact.id for fact in change.put}
        # Summaries go first: after a crash in between, the fact still names its sources.
        sources = {source for fact in people.facts if fact.id in gone for source in fact.sources}
        dropped += _quarantine_sources(engine, owner, sources)
        if written := engine.store.people.put_facts(owner, agent_id, change):
            break
    _rebuild_summaries(engine, owner, dropped)
    if not written:
        raise StoreUnavailable(f"fact {fact_id!r} could not be forgotten because of concurrent writes; try again")


def _quarantine_sources(engine: Engine, owner: Owner, sources: set[Source]) -> list[Summary]:
    """Quarantine the source messages and drop the summaries that cover them; the dropped summaries."""
    gone: dict[str, Summary] = {}
    for source in sources:
        screen_of(engine).quarantine_source(engine, owner, source.message_id, source.session_id)
        turn = engine.store.turns.get(owner, turn_id_of(source.message_id))
        for summary in engine.store.people.summaries(owner, session_id=source.session_id, limit=EVERY):
            # If the turn has expired, any summary of the session may cover it.
            if turn is None or summary.first_turn <= turn.turn_number <= summary.last_turn:
                gone[summary.id] = summary
    if gone:
        engine.store.people.drop_summaries(owner, list(gone))
    return list(gone.values())


def _rebuild_summaries(engine: Engine, owner: Owner, dropped: list[Summary]) -> None:
    for session_id, kind in sorted({(each.session_id, each.kind) for each in dropped}):
        session = engine.store.sessions.get(owner, session_id)
        if session and kind == "session":
            write_session_summary(engine, owner, session)
        elif session:
            condense_now(engine, owner, session_id, None, force=True)


def forget_change(people: KnownFacts, fact_id: str) -> FactChange:
    """The change that erases a fact but keeps its digest, so that it is not learned again.

    Facts with the same digest are erased too. A fact that the erased one had superseded stays superseded.
    """
    chosen = _known(people, fact_id, forgotten=True)
    gone = (fact for fact in people.facts if fact.digest == chosen.digest and not fact.forgotten)
    return FactChange(people.revision, tuple(map(_tombstone, gone)))


def _tombstone(fact: Fact) -> Fact:
    return replace(fact, text="", about="", sources=(), forgotten=True, pinned=False)


def _known(people: KnownFacts, fact_id: str, *, forgotten: bool = False) -> Fact:
    for fact in people.facts:
        if fact.id == fact_id and (forgotten or not fact.forgotten):
            return fact
    raise NotFoundError(f"there is no fact {fact_id!r} of this user for this agent; list the facts to see their ids")


def pin_fact(engine: Engine, owner: Owner, agent_id: str, fact_id: str, *, pinned: bool = True) -> Fact:
    """Pin a fact, so that it comes first in profile and prompt, or unpin it; returns the changed fact."""
    for _ in range(MAX_ATTEMPTS):
        people = engine.store.people.facts(owner, agent_id)
        before = _known(people, fact_id)
        fact = replace(before, pinned=pinned)
        if fact == before or engine.store.people.put_facts(owner, agent_id, FactChange(people.revision, (fact,))):
            return fact
    raise StoreUnavailable(f"fact {fact_id!r} could not be pinned because of concurrent writes; try again")


BY_HAND = "user"  # made_by of a fact that the user wrote
INSTRUCTION = "instruction"


def write_fact(engine: Engine, owner: Owner, agent_id: str, text: str, *, kind: str = "", replaces: str = "") -> Fact:
    """Write a fact by hand: a new one, or one that supersedes the fact `replaces`.

    The rules that read messages find its kind and subject, so that "I live in Rome" supersedes another home; a text
    that they cannot read is stored as it is. The kind `instruction` makes it a standing wish.
    """
    safe = redact(text, dict.fromkeys(PII_KINDS, engine.settings.safety.personal_data))
    if safe.blocked:
        raise ValidationError("text", "contains personal data that the settings do not allow to be stored")
    line = " ".join(_MASK.sub(r"(\1)", safe.text).split())
    for _ in range(MAX_ATTEMPTS):
        people = engine.store.people.facts(owner, agent_id)
        old = _known(people, replaces) if replaces else None
        context = LearningContext(agent_id, engine.clock.now())
        fact = _fact_by_hand(line, kind, old, context)
        ended = [
            replace(each, valid_to=max(context.now, each.valid_from), superseded_by=fact.id)
            for each in people.facts
            if each.known_at(context.now) and (each.id == replaces or (each.about and each.about == fact.about))
        ]
        if same := next((each for each in ended if each.text == fact.text), None):
            return next(each for each in people.facts if each.id == same.id)  # known already
        if engine.store.people.put_facts(owner, agent_id, FactChange(people.revision, move_pins((*ended, fact)))):
            screen_of(engine).facts(engine, owner, "", [fact])
            return replace(fact, pinned=any(each.pinned for each in ended))
    raise StoreUnavailable("the fact could not be stored because of concurrent writes; try again")


def _fact_by_hand(line: str, kind: str, old: Fact | None, context: LearningContext) -> Fact:
    """The fact of a line, without a source; ValidationError if it must not be stored."""
    wish = kind == INSTRUCTION or bool(old and old.is_instruction)
    said = UserMessage(f"hand-{new_id(context.now)}", "", line, context.now, "user_edit")
    about = old.about if old else f"{INSTRUCTION}:hand:{said.id}" if wish else ""
    named: FactKind = kind if kind in FACT_KINDS else old.kind if old else "other"
    claim = Claim(named, f"«{line}»" if wish else line, about, line, guess_language(line), said, made_by=JUDGE)
    if why := refusal_reason(claim):
        raise ValidationError("text", f"cannot be kept as a fact: {why}")
    read = () if wish else extract_facts([said]).candidates
    if len(read) == 1 and read[0].kind == (named if kind or old else read[0].kind) and not refusal_reason(read[0]):
        claim = replace(read[0], about=about or read[0].about)
    return replace(new_fact(claim, claim.about, context), sources=(), made_by=BY_HAND, confidence=1.0)


PAGE = 200


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """The result of ending a session; `summary` and `made_by` are None if there was nothing to summarise."""

    session: SessionInfo
    summary: Summary | None
    facts: tuple[Fact, ...]
    topics: tuple[str, ...]

    @property
    def ended_at(self) -> datetime | None:
        """When it ended."""
        return self.session.ended_at

    @property
    def made_by(self) -> str | None:
        """The model's name, `extractive` or `truncated`."""
        return self.summary.made_by if self.summary else None


def end_session(
    engine: Engine, owner: Owner, session: SessionInfo, *, model: LLM | None = None, writer: SummaryWriter | None = None
) -> SessionEnd:
    """Learn the remaining facts, write the summary if the session has new turns, and close the session."""
    while learn_facts(engine, owner, session.id, model).more:
        pass
    summary = write_session_summary(engine, owner, session, writer)
    ended = session
    if session.ended_at is None:
        ended = engine.store.sessions.update(owner, session.id, SessionChanges(ended_at=engine.clock.now())) or session
    facts = [
        fact for fact in engine.store.people.facts(owner, session.agent_id).facts if _from_session(fact, session.id)
    ]
    return SessionEnd(ended, summary, tuple(facts), summary.topics if summary else ())


def end_now(engine: Engine, owner: Owner, session_id: str) -> SessionEnd:
    """End a session, with the model if there is one; NotFoundError if there is no such session."""
    session = engine.store.sessions.get(owner, session_id)
    if session is None:
        raise NotFoundError(f"session {session_id!r} does not exist for user {owner.user_id!r}; list the sessions")
    return end_session(engine, owner, session, model=engine.llm, writer=writer_of(engine))


def end_if_idle(engine: Engine, owner: Owner, session_id: str) -> bool:
    """End a session if it is idle; returns whether it was ended."""
    session = engine.store.sessions.get(owner, session_id)
    if session is None or engine.settings.profile.remember_person == "off" or not is_idle(engine, session):
        return False
    end_session(engine, owner, session, model=engine.llm, writer=writer_of(engine))
    return True


def end_idle(engine: Engine, owner: Owner) -> int:
    """End every idle session of an owner; returns how many were ended."""
    idle = idle_sessions(engine, owner)
    for session in idle:
        end_session(engine, owner, session, model=engine.llm, writer=writer_of(engine))
    return len(idle)


def idle_sessions(engine: Engine, owner: Owner, most: int | None = None) -> Sequence[SessionInfo]:
    """The open sessions of an owner that are idle; among the `most` newest, or all."""
    found: list[SessionInfo] = []
    page = engine.store.sessions.page(owner, limit=most or PAGE)
    while page:
        found += [each for each in page if is_idle(engine, each)]
        page = () if most else engine.store.sessions.page(owner, limit=PAGE, before=page[-1])
    return found


def is_idle(engine: Engine, session: SessionInfo) -> bool:
    """Whether an open session has had no turn for the configured time."""
    before = engine.clock.now() - engine.settings.profile.session_end_idle
    return session.ended_at is None and session.turn_count > 0 and session.last_active_at <= before


def _from_session(fact: Fact, session_id: str) -> bool:
    return not fact.forgotten and any(source.session_id == session_id for source in fact.sources)


FEW_TURNS = 64  # a longer idle session is queued, not ended before the first context of the next one
LATEST_SESSIONS = 4  # that are checked for idle ones


def end_idle_before(engine: Engine, scope: Scope) -> list[str]:
    """End the latest idle sessions with this agent before the first context of a new one, for its profile.

    This uses rules without a model and takes milliseconds. A long session is queued instead, and so is one that cannot
    be written now. Returns notes about sessions that are not ended yet.
    """
    notes: list[str] = []
    for idle in idle_sessions(engine, scope.owner, most=LATEST_SESSIONS):
        # After a failure no other session is tried, because the chat would wait longer.
        if idle.agent_id == scope.agent_id and idle.turn_count <= FEW_TURNS and not notes:
            try:
                end_session(engine, scope.owner, idle)
                continue
            except StoreError as error:
                notes.append(f"session {idle.id!r} is not ended yet: {error}")
        if engine.queue is not None:
            engine.queue.people.add(scope.owner, idle.id, frozenset((END,)))
    return notes
