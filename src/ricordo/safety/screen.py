"""Screen messages before anything is derived from them: crises, injection signals, personal data.

Each message is screened once, in the background. Findings are stored as flags, never with the text. Fences protect the
prompt; flags inform people and, depending on the policy, keep a memory out of prompts.
"""

import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ricordo.engine.clock import new_id
from ricordo.engine.core import EVERY, Engine, quarantined
from ricordo.people.summaries.layout import without_labels, without_reader_phrases
from ricordo.records.lru import LRU
from ricordo.records.people import Fact, Flag, FlagState, Subject, Summary, Trust
from ricordo.records.turns import Message, Owner, Turn
from ricordo.safety.crisis import Crisis, crisis_detector
from ricordo.safety.pii import PII_KINDS, redact
from ricordo.safety.signals import signals
from ricordo.safety.trust import decide, origin_of
from ricordo.settings import SafetySettings

CRISIS = "crisis:"
FORGOTTEN = "forgotten"  # rule name for source messages of a forgotten fact
MAX_SCREENED = 4_096  # messages cached as harmless


def screen_of(engine: Engine) -> "Screen":
    """The engine's screen, created on first use."""
    return engine.part(_make)


def _make(engine: Engine) -> "Screen":
    return Screen(engine.settings.safety)


class Screen:
    """Screens messages according to the settings. Thread-safe."""

    def __init__(self, settings: SafetySettings) -> None:
        self._settings = settings
        self._crises = crisis_detector(settings)
        self._harmless: LRU[tuple[Owner, str], None] = LRU(MAX_SCREENED)
        self._lock = threading.Lock()

    def crisis(self, message: Message) -> Crisis | None:
        """The crisis in a message, or None."""
        return self._crises.sign(message)

    def crisis_in(self, question: str) -> Crisis | None:
        """The crisis in a user's question, or None."""
        return self._crises.sign_in(question)

    def turns(self, engine: Engine, owner: Owner, turns: Sequence[Turn]) -> frozenset[str]:
        """The ids of messages that nothing may be derived from; flags are stored for them as the policy says.

        The answer to such a question is included, because it repeats the question.
        """
        unfit = set(quarantined(engine, owner))
        for turn in turns:
            unfit.update(message.id for message in turn.messages if not self._is_harmless(engine, owner, turn, message))
            if turn.question and turn.question.id in unfit:
                unfit.update(message.id for message in turn.messages)
        return frozenset(unfit)

    def facts(self, engine: Engine, owner: Owner, session_id: str, facts: Iterable[Fact]) -> None:
        """Flag facts that contain signals."""
        for fact in facts:
            self._flag(engine, owner, "fact", fact.id, session_id, signals(fact.text), fact.origin)

    def summary(self, engine: Engine, owner: Owner, summary: Summary) -> None:
        """Flag a summary that contains signals; speaker labels are not searched."""
        rules = signals(without_labels(summary.text))
        self._flag(engine, owner, "summary", summary.id, summary.session_id, rules, summary.origin)

    def quarantine_source(self, engine: Engine, owner: Owner, message_id: str, session_id: str) -> None:
        """Quarantine a source message of a forgotten fact."""
        if self._store_flag(engine, owner, "message", message_id, session_id, (FORGOTTEN,), "user_said"):
            return
        for flag in engine.store.people.flags(owner, limit=EVERY):
            if (flag.subject, flag.subject_id) == ("message", message_id) and flag.state != "quarantined":
                engine.store.people.set_flag(owner, flag.id, "quarantined")

    def forget(self, owner: Owner) -> None:
        """Drop the cache of an owner."""
        with self._lock:
            self._harmless.remove_where(lambda key: key[0] == owner)

    def _is_harmless(self, engine: Engine, owner: Owner, turn: Turn, message: Message) -> bool:
        key = (owner, f"{message.id} {turn.checksum}")
        with self._lock:
            if key in self._harmless:
                return True
        origin = origin_of(message.role, turn.origin)
        if sign := self.crisis(message):
            rules = (f"{CRISIS}{sign.category}", f"{CRISIS}tier-{sign.tier}", f"{CRISIS}{sign.rule}")
            self._store_flag(engine, owner, "message", message.id, turn.session_id, rules, origin)
            return False
        said = without_reader_phrases(message.content) if message.role == "assistant" else message.content
        if self._flag(engine, owner, "message", message.id, turn.session_id, signals(said), origin):
            return False
        with self._lock:
            self._harmless.put(key, None)
        return True

    def _flag(
        self,
        engine: Engine,
        owner: Owner,
        subject: Subject,
        subject_id: str,
        session_id: str,
        rules: tuple[str, ...],
        origin: Trust,
    ) -> bool:
        """Store a flag if the policy asks for one; whether the subject is quarantined."""
        verdict = decide(origin, subject, rules, self._settings.suspicious)
        if verdict == "store":
            return False
        quarantine = verdict != "flag"
        return (
            self._store_flag(engine, owner, subject, subject_id, session_id, rules, origin, quarantine=quarantine)
            and quarantine
        )

    def _store_flag(
        self,
        engine: Engine,
        owner: Owner,
        subject: Subject,
        subject_id: str,
        session_id: str,
        rules: tuple[str, ...],
        origin: Trust,
        *,
        quarantine: bool = True,
    ) -> bool:
        """Store a flag, unless the subject has one: a released subject stays released."""
        now = engine.clock.now()
        state: FlagState = "quarantined" if quarantine else "flagged"
        flag = Flag(new_id(now), subject, subject_id, session_id, rules, origin, state, now)
        return engine.store.people.put_flag(owner, flag)


def redact_turn(turn: Turn, settings: SafetySettings) -> Turn:
    """A turn without the personal data that the policy excludes, for titles and session summaries.

    Blocked data is masked. Condensations are not redacted, because they stay beside their own session's turns.
    """
    if settings.personal_data == "allow":
        return turn
    policy = dict.fromkeys(PII_KINDS, settings.personal_data)

    def masked(message: Message) -> Message:
        kept = redact(message.content, policy)
        return replace(message, content=kept.text) if kept.spans else message

    return replace(
        turn,
        question=masked(turn.question) if turn.question else None,
        answer=masked(turn.answer) if turn.answer else None,
        steps=tuple(map(masked, turn.steps)),
    )
