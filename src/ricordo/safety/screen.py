"""Screening what is said before anything is derived from it: signs of a crisis, signs of an attack, personal data.

Every message is looked at once, beside the chat; what is found is kept as a flag, never with the text. Fences and order
are what protects a prompt; a flag is a help for people, and by policy keeps a memory out of prompts.
"""

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ricordo.engine.clock import new_id
from ricordo.engine.core import EVERY, Engine, quarantined
from ricordo.people.facts.claims import Claim
from ricordo.people.summaries.layout import unlabelled, without_ours
from ricordo.records.lru import LRU
from ricordo.records.people import Fact, Flag, FlagState, Subject, Summary, Trust
from ricordo.records.turns import Message, Owner, Turn
from ricordo.safety.crisis import Crisis, crises_by
from ricordo.safety.pii import PII_KINDS, redact
from ricordo.safety.signals import signals
from ricordo.safety.trust import decide, origin_of
from ricordo.settings import SafetySettings

CRISIS = "crisis:"
FORGOTTEN = "forgotten"  # the rule of a message that a forgotten fact came from
REMEMBERED = 4_096  # messages whose screening is kept in mind
_MASK = re.compile(rf"\[((?:{'|'.join(PII_KINDS)})(?::[0-9a-f]+)?)\]")


def screen_of(engine: Engine) -> "Screen":
    """The screen of a memory, made with the first call."""
    return engine.part(_make)


def _make(engine: Engine) -> "Screen":
    return Screen(engine.settings.safety)


class Screen:
    """Looks at messages by the settings. Thread-safe."""

    def __init__(self, settings: SafetySettings) -> None:
        self._settings = settings
        self._crises = crises_by(settings)
        self._fit_before: LRU[tuple[Owner, str], None] = LRU(REMEMBERED)
        self._lock = threading.Lock()

    def crisis(self, message: Message) -> Crisis | None:
        """The sign of a crisis in a message."""
        return self._crises.sign(message)

    def crisis_in(self, question: str) -> Crisis | None:
        """The sign of a crisis in what a user asks."""
        return self._crises.sign_in(question)

    def turns(self, engine: Engine, owner: Owner, turns: Sequence[Turn]) -> frozenset[str]:
        """The ids of messages that nothing may be derived from; flags are kept for those that deserve one.

        What was answered to such a question goes with it: it says what the question was.
        """
        unfit = set(quarantined(engine, owner))
        for turn in turns:
            unfit.update(message.id for message in turn.messages if not self._fit(engine, owner, turn, message))
            if turn.question and turn.question.id in unfit:
                unfit.update(message.id for message in turn.messages)
        return frozenset(unfit)

    def facts(self, engine: Engine, owner: Owner, session_id: str, facts: Iterable[Fact]) -> None:
        """Flag facts that look like orders."""
        for fact in facts:
            self._flag(engine, owner, "fact", fact.id, session_id, signals(fact.text), fact.origin)

    def summary(self, engine: Engine, owner: Owner, summary: Summary) -> None:
        """Flag a summary that looks like an order; who said what in it are words of our own."""
        rules = signals(unlabelled(summary.text))
        self._flag(engine, owner, "summary", summary.id, summary.session_id, rules, summary.origin)

    def put_away(self, engine: Engine, owner: Owner, message_id: str, session_id: str) -> None:
        """Keep a message that a forgotten fact came from away from prompts and from what is derived."""
        if self._keep(engine, owner, "message", message_id, session_id, (FORGOTTEN,), "user_said"):
            return
        for flag in engine.store.people.flags(owner, limit=EVERY):
            if (flag.subject, flag.subject_id) == ("message", message_id) and flag.state != "quarantined":
                engine.store.people.set_flag(owner, flag.id, "quarantined")

    def forget(self, owner: Owner) -> None:
        """Drop what is in mind of an owner."""
        with self._lock:
            self._fit_before.remove_where(lambda key: key[0] == owner)

    def _fit(self, engine: Engine, owner: Owner, turn: Turn, message: Message) -> bool:
        key = (owner, f"{message.id} {turn.checksum}")
        with self._lock:
            if key in self._fit_before:
                return True
        origin = origin_of(message.role, turn.origin)
        if sign := self.crisis(message):
            rules = (f"{CRISIS}{sign.category}", f"{CRISIS}tier-{sign.tier}", f"{CRISIS}{sign.rule}")
            self._keep(engine, owner, "message", message.id, turn.session_id, rules, origin)
            return False
        said = without_ours(message.content) if message.role == "assistant" else message.content
        if self._flag(engine, owner, "message", message.id, turn.session_id, signals(said), origin):
            return False
        with self._lock:
            self._fit_before.put(key, None)
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
        """Keep a flag where the policy wants one; whether the subject goes into quarantine."""
        verdict = decide(origin, subject, rules, self._settings.suspicious)
        if verdict == "store":
            return False
        away = verdict != "flag"
        return self._keep(engine, owner, subject, subject_id, session_id, rules, origin, away=away) and away

    def _keep(
        self,
        engine: Engine,
        owner: Owner,
        subject: Subject,
        subject_id: str,
        session_id: str,
        rules: tuple[str, ...],
        origin: Trust,
        *,
        away: bool = True,
    ) -> bool:
        """Keep a flag, unless there is one: what was released stays released."""
        now = engine.clock.now()
        state: FlagState = "quarantined" if away else "flagged"
        flag = Flag(new_id(now), subject, subject_id, session_id, rules, origin, state, now)
        return engine.store.people.put_flag(owner, flag)


def cleaned_claim(claim: Claim, settings: SafetySettings) -> Claim | None:
    """A claim without the personal data that the policy keeps out; None where nothing may be kept."""
    kept = redact(claim.text, dict.fromkeys(PII_KINDS, settings.personal_data))
    if kept.blocked:
        return None
    # In brackets of a kind that a claim may have: square ones are taken for markup and refused.
    return replace(claim, text=_MASK.sub(r"(\1)", kept.text)) if kept.text != claim.text else claim


def cleaned(turn: Turn, settings: SafetySettings) -> Turn:
    """A turn as titles and the summary of a session are made of it, without the personal data that is kept out.

    What would be blocked is masked. A condensation stands beside the turns of its own session, and keeps what they say.
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
