"""Screen messages before anything is derived from them: crises, injection signals, personal data.

Each message is screened once, in the background. Findings are stored as flags, never with the text. Fences protect the
prompt; flags inform people and, depending on the policy, keep a memory out of prompts.

Signals of prompt injection are names, not a verdict. Detectors are easily evaded, so every text is fenced, with or
without signals.
"""

import re
import threading
import tomllib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Literal, NamedTuple

from ricordo.engine.core import EVERY, LRU, Engine, new_id, quarantined
from ricordo.errors import SettingsError
from ricordo.languages.registry import AnyLanguage, language
from ricordo.people.summaries.layout import without_labels, without_reader_phrases
from ricordo.records.derived import TRUST, Fact, Flag, FlagState, Subject, Summary, Trust
from ricordo.records.turns import Message, Owner, Turn
from ricordo.safety.crisis import Crisis, crisis_detector
from ricordo.safety.fence import has_hidden, normalise
from ricordo.safety.pii import PII_KINDS, redact
from ricordo.settings import SafetySettings
from ricordo.worker import give_way

MOST_CHARACTERS = 8_000
HIDDEN_CHARACTERS = "hidden_characters"
MIXED_SCRIPT = "mixed_script"
ENCODED = "encoded_blob"
REPETITION = "repetition"

STANDING_ORDER = "standing_order"
# The beginning of a wish for all later answers; words about the model and its rules, which a wish must not have.
_WISH = AnyLanguage(r"\b(?:<facts.standing_openers>)\b[\s,:]*")
_POLITE = AnyLanguage(r"\b(?:<facts.polite>)\b")
_OF_THE_MODEL = AnyLanguage(r"\b(?:<statements.orders_anywhere>|<statements.hijacks>)\b|https?:|www\.")
_LONG_WORD = 32
_FEW_WORDS = 15
_MIXED = re.compile(
    r"[A-Za-z][\u0370-\u03ff\u0400-\u04ff][A-Za-z]|[\u0400-\u04ff][A-Za-z]{2,}|[A-Za-z]{2,}[\u0400-\u04ff]"
)


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal: the words that must occur before its pattern is tried, and the pattern."""

    name: str
    strong: bool
    needs: tuple[str, ...]
    pattern: re.Pattern[str]


def signals(text: str) -> tuple[str, ...]:
    """The names of the signals in a text, strong ones first; empty for most texts."""
    plain = normalise(text, MOST_CHARACTERS)
    lower = plain.lower()
    words = lower.split()
    long = any(len(word) >= _LONG_WORD for word in words)
    repeated = len(words) > _FEW_WORDS and 2 * len(set(words)) < len(words)
    possible = {ENCODED: long, REPETITION: long or repeated}
    seen = {
        signal.name
        for signal in _known()
        if (possible.get(signal.name, False) or any(need in lower for need in signal.needs))
        and signal.pattern.search(plain)
    }
    if has_hidden(text[:MOST_CHARACTERS]):
        seen.add(HIDDEN_CHARACTERS)
    if not plain.isascii() and _MIXED.search(plain):
        seen.add(MIXED_SCRIPT)
    return tuple(name for name in signal_names() if name in seen) if seen else ()


def said_signals(text: str, origin: Trust) -> tuple[str, ...]:
    """The signals of a message. A user's plain wish for all later answers counts as a weak signal.

    "From now on answer in Dutch" is a plain wish: without its beginning it has no signal and does not mention the
    model.
    """
    found = signals(text)
    if not found or _GROUPS[origin] != "own" or not _WISH.search(text):
        return found
    rest = _POLITE.sub(" ", _WISH.sub(" ", text))
    return found if signals(rest) or _OF_THE_MODEL.search(rest) else (STANDING_ORDER,)


def is_strong(names: Iterable[str]) -> bool:
    """Whether the names include a strong signal or more than one weak one."""
    given = set(names)
    return len(given) > 1 or bool(given & _strong())


@cache
def signal_names() -> tuple[str, ...]:
    """All signals, strong ones first."""
    weak = tuple(signal.name for signal in _known() if not signal.strong)
    strong = tuple(signal.name for signal in _known() if signal.strong)
    return (*strong, HIDDEN_CHARACTERS, MIXED_SCRIPT, *weak)


@cache
def _strong() -> frozenset[str]:
    return frozenset(signal.name for signal in _known() if signal.strong) | {HIDDEN_CHARACTERS, MIXED_SCRIPT}


@cache
def _known() -> tuple[Signal, ...]:
    data = tomllib.loads(files("ricordo.safety").joinpath("data", "signals.toml").read_text(encoding="utf-8"))
    words = {f"{{{name}}}": f"(?:{text})" for name, text in data["words"].items()}

    def compiled(patterns: list[str]) -> re.Pattern[str]:
        joined = "|".join(patterns)
        for slot, text in words.items():
            joined = joined.replace(slot, text)
        return re.compile(joined, re.IGNORECASE)

    return tuple(
        Signal(each["name"], each["strong"], tuple(each["needs"]), compiled(each["patterns"]))
        for each in data["signal"]
    )


Policy = Literal["off", "flag", "quarantine"]
Decision = Literal["store", "flag", "quarantine", "drop"]
POLICIES: tuple[Policy, ...] = ("off", "flag", "quarantine")

_ROLES: dict[str, Trust] = {"system": "operator", "user": "user_said", "assistant": "assistant_said", "tool": "tool"}

Group = Literal["operator", "own", "foreign"]
_GROUPS: dict[Trust, Group] = {
    "operator": "operator",
    "user_said": "own",
    "user_edit": "own",
    "assistant_said": "foreign",
    "import": "foreign",
    "tool": "foreign",
    "document": "foreign",
}
# Messages are always stored; what is derived from them may be dropped.
_SAID: frozenset[Subject] = frozenset({"message", "chunk"})

Kind = Literal["said", "derived"]
Strength = Literal["weak", "strong"]
# The decision table: origin, kind, strength of the signals, policy. Without signals everything is stored.
DECISIONS: dict[tuple[Group, Kind, Strength], dict[Policy, Decision]] = {
    ("operator", "said", "weak"): {"off": "store", "flag": "store", "quarantine": "store"},
    ("operator", "said", "strong"): {"off": "store", "flag": "store", "quarantine": "store"},
    ("operator", "derived", "weak"): {"off": "store", "flag": "store", "quarantine": "store"},
    ("operator", "derived", "strong"): {"off": "store", "flag": "store", "quarantine": "store"},
    ("own", "said", "weak"): {"off": "store", "flag": "flag", "quarantine": "flag"},
    ("own", "said", "strong"): {"off": "store", "flag": "flag", "quarantine": "quarantine"},
    ("own", "derived", "weak"): {"off": "store", "flag": "flag", "quarantine": "flag"},
    ("own", "derived", "strong"): {"off": "store", "flag": "flag", "quarantine": "quarantine"},
    ("foreign", "said", "weak"): {"off": "store", "flag": "flag", "quarantine": "flag"},
    ("foreign", "said", "strong"): {"off": "store", "flag": "flag", "quarantine": "quarantine"},
    ("foreign", "derived", "weak"): {"off": "store", "flag": "flag", "quarantine": "quarantine"},
    ("foreign", "derived", "strong"): {"off": "store", "flag": "flag", "quarantine": "drop"},
}


def origin_of(role: str, turn_origin: str = "chat") -> Trust:
    """The trust level of a message by its role; an imported turn has at most the trust of an import."""
    spoken = _ROLES.get(role, "tool")
    return least_trusted((spoken, "import")) if turn_origin == "import" else spoken


def least_trusted(origins: Iterable[Trust]) -> Trust:
    """The least trusted of some origins; the lowest level if there are none."""
    known = list(origins)
    return max(known, key=TRUST.index) if known else TRUST[-1]


def decide(origin: Trust, subject: Subject, signals: tuple[str, ...], policy: Policy) -> Decision:
    """What to do with a text, by the table. A text without signals is always stored."""
    if policy not in POLICIES:
        raise SettingsError("injection_policy", f"{policy!r} is unknown; use one of {list(POLICIES)}")
    if not signals:
        return "store"
    kind: Kind = "said" if subject in _SAID else "derived"
    strength: Strength = "strong" if is_strong(signals) else "weak"
    return DECISIONS[_GROUPS[origin], kind, strength][policy]


def default_rules(locale_code: str) -> str:
    """The default safety rules in the language of a locale; else in English."""
    return language(locale_code).safety.default_rules


CRISIS = "crisis:"
FORGOTTEN = "forgotten"  # rule name for source messages of a forgotten fact
MAX_SCREENED = 4_096  # messages cached as harmless


class Finding(NamedTuple):
    """The signals in something that is stored, in the order of the fields of a flag."""

    subject: Subject
    subject_id: str
    session_id: str
    rules: tuple[str, ...]
    origin: Trust


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
            give_way()
            unfit.update(message.id for message in turn.messages if not self._is_harmless(engine, owner, turn, message))
            if turn.question and turn.question.id in unfit:
                unfit.update(message.id for message in turn.messages)
        return frozenset(unfit)

    def facts(self, engine: Engine, owner: Owner, session_id: str, facts: Iterable[Fact]) -> None:
        """Flag facts that contain signals."""
        for fact in facts:
            found = said_signals(fact.text, fact.origin)
            self._flag(engine, owner, Finding("fact", fact.id, session_id, found, fact.origin))

    def summary(self, engine: Engine, owner: Owner, summary: Summary) -> None:
        """Flag a summary that contains signals; speaker labels are not searched, nor plain wishes that it quotes."""
        own = without_labels(summary.text, users=True) if summary.made_by == "extractive" else ""
        wished = bool(own) and said_signals(own, "user_said") == (STANDING_ORDER,)
        rules = signals(without_labels(summary.text, users=False if wished else None))
        self._flag(engine, owner, Finding("summary", summary.id, summary.session_id, rules, summary.origin))

    def quarantine_source(self, engine: Engine, owner: Owner, message_id: str, session_id: str) -> None:
        """Quarantine a source message of a forgotten fact."""
        if _store_flag(engine, owner, Finding("message", message_id, session_id, (FORGOTTEN,), "user_said")):
            return
        for flag in engine.store.people.flags(owner, limit=EVERY):
            if (flag.subject, flag.subject_id) == ("message", message_id) and flag.state != "quarantined":
                engine.store.people.set_flag(owner, flag.id, "quarantined")

    def forget(self, owner: Owner) -> None:
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
            _store_flag(engine, owner, Finding("message", message.id, turn.session_id, rules, origin))
            return False
        said = without_reader_phrases(message.content) if message.role == "assistant" else message.content
        found = Finding("message", message.id, turn.session_id, said_signals(said, origin), origin)
        if self._flag(engine, owner, found):
            return False
        with self._lock:
            self._harmless.put(key, None)
        return True

    def _flag(self, engine: Engine, owner: Owner, found: Finding) -> bool:
        """Store a flag if the policy asks for one; whether the subject is quarantined."""
        verdict = decide(found.origin, found.subject, found.rules, self._settings.suspicious)
        if verdict == "store":
            return False
        stored = _store_flag(engine, owner, found, "flagged" if verdict == "flag" else "quarantined")
        return stored and verdict != "flag"


def _store_flag(engine: Engine, owner: Owner, found: Finding, state: FlagState = "quarantined") -> bool:
    """Store a flag, unless the subject has one: a released subject stays released."""
    now = engine.clock.now()
    return engine.store.people.put_flag(owner, Flag(new_id(now), *found, state, now))


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
