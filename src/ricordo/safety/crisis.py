"""Detect a crisis in a user's message: self-harm, abuse, violence.

The message goes in; a tier, a category, the rule and a notice with helplines come out, never the words themselves. No
model is involved, neither in detection nor in the reply. The rules are phrases tuned for recall. This is not a
diagnosis, and the data are NOT CLINICALLY VALIDATED.
"""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from ricordo.errors import SettingsError
from ricordo.records.turns import Message, Turn
from ricordo.safety.fence import HIDDEN
from ricordo.settings import SafetySettings

Category = Literal["self_harm", "abuse", "violence"]
CATEGORIES: tuple[Category, ...] = ("self_harm", "abuse", "violence")
TIERS = (1, 2, 3)
SHIPPED = ("it", "en")  # languages, each with a file `data/crisis_<code>.toml`

_SLOT = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class CrisisRule:
    """Phrases of one kind, and groups of words that count when one of each occurs in a sentence.

    It is tried only if a word starts with one of `needs`, and suppressed in the contexts of `unless`.
    """

    id: str
    category: Category
    tier: int
    needs: tuple[str, ...]
    phrases: str
    together: tuple[tuple[str, ...], ...]
    beginnings: str  # the first words of all groups: if none is found, no group is tried
    unless: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CrisisPhrases:
    """All crisis data of a language; `note` says whether professionals validated it.

    Patterns are stored as text and compiled on first use, because most are never needed.
    """

    language: str
    note: str
    notice: str
    replies: Mapping[str, str]
    expand: Mapping[str, str]
    abbreviations: str
    rules: tuple[CrisisRule, ...]
    quiet: str
    contexts: Mapping[str, str]
    triggers: str
    needing: Mapping[str, Sequence[int]]  # the indexes of the rules that need a word with this prefix
    lengths: Sequence[int]  # of these prefixes


def shipped_phrases(language: str | None = None) -> tuple[CrisisPhrases, ...]:
    """The phrases of one language; those of all languages if it is None or unknown."""
    code = (language or "").lower()[:2]
    return tuple(_shipped(each) for each in ((code,) if code in SHIPPED else SHIPPED))


@cache
def _shipped(language: str) -> CrisisPhrases:
    text = files("ricordo.safety").joinpath("data", f"crisis_{language}.toml").read_text(encoding="utf-8")
    return read_phrases(text, f"crisis_{language}.toml")


def load_phrases(path: str | Path) -> CrisisPhrases:
    """Phrases from a file in the format of the shipped ones."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise SettingsError("crisis_file", f"{path} cannot be read: {error}") from error
    phrases = read_phrases(text, str(path))
    check_patterns(phrases, str(path))
    return phrases


def check_patterns(phrases: CrisisPhrases, name: str) -> None:
    """Compile every pattern now, so that an error is reported when the file is loaded."""
    for rule in phrases.rules:
        for pattern in (rule.phrases, *(group for groups in rule.together for group in groups)):
            _check(pattern, f"{name}: rule {rule.id!r}")
    for pattern in (phrases.quiet, phrases.triggers, *phrases.contexts.values()):
        _check(pattern, name)


def _check(pattern: str, where: str) -> None:
    try:
        compiled(pattern)
    except re.error as error:
        raise SettingsError("crisis_file", f"{where}: {error}; fix the regular expression") from error


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled once."""
    return re.compile(pattern)


def read_phrases(text: str, name: str) -> CrisisPhrases:
    """Parse phrases; SettingsError names what is wrong."""
    try:
        data = tomllib.loads(text)
        words = {key: _slots(value, {}) for key, value in data.get("words", {}).items()}
        rules = tuple(_rule(each, words) for each in data["rule"])
        needing: dict[str, list[int]] = {}
        for at, rule in enumerate(rules):
            for need in rule.needs:
                needing.setdefault(need, []).append(at)
        short = filter(_WORD.fullmatch, data.get("expand", {}))
        return CrisisPhrases(
            language=data["language"],
            note=data["note"],
            notice=data["notice"].strip(),
            replies=_replies(data["replies"]),
            expand=dict(data.get("expand", {})),
            abbreviations=rf"(?<![a-z0-9+])(?:{'|'.join(map(re.escape, short))})(?![a-z0-9+])",
            rules=rules,
            quiet=_pattern(data["quiet"], words) if data.get("quiet") else "",
            contexts={key: _pattern(value, words) for key, value in data.get("contexts", {}).items()},
            triggers=_triggers(set(needing)),
            needing=needing,
            lengths=tuple(set(map(len, needing))),
        )
    except (tomllib.TOMLDecodeError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise SettingsError("crisis_file", f"{name}: {error}; see the shipped files for the form") from error


def _triggers(needs: set[str]) -> str:
    """A pattern for words with one of these prefixes, grouped by first letter so that most words fail fast."""
    groups = (
        rf"{re.escape(first)}(?:{'|'.join(re.escape(need[1:]) for need in same)})"
        for first, same in groupby(sorted(needs), key=lambda need: need[:1])
    )
    return rf"\b(?:{'|'.join(groups)})\w*"


def _rule(data: Mapping[str, Any], words: Mapping[str, str]) -> CrisisRule:
    if data["category"] not in CATEGORIES or data["tier"] not in TIERS:
        raise ValueError(f"rule {data['id']!r}: category is one of {CATEGORIES}, tier one of {TIERS}")
    if not data.get("phrases") and not data.get("together"):
        raise ValueError(f"rule {data['id']!r}: give it `phrases`, or groups of words `together`")
    if not data["needs"]:
        raise ValueError(f"rule {data['id']!r}: name at least one beginning of a word in `needs`")
    return CrisisRule(
        id=data["id"],
        category=data["category"],
        tier=data["tier"],
        needs=tuple(data["needs"]),
        phrases=_pattern(data["phrases"], words) if data.get("phrases") else "",
        together=tuple(tuple(_pattern([group], words) for group in each) for each in data.get("together", ())),
        beginnings=_pattern([first for first, *_ in data["together"]], words) if data.get("together") else "",
        unless=tuple(data.get("unless", ())),
    )


def _replies(data: Mapping[str, str]) -> Mapping[str, str]:
    missing = [category for category in CATEGORIES if not str(data.get(category, "")).strip()]
    if missing:
        raise ValueError(f"replies: {', '.join(missing)} is missing")
    return {category: str(text).strip() for category, text in data.items()}


def _pattern(phrases: list[str], words: Mapping[str, str]) -> str:
    # The lookbehind is outside the group: inside a word all phrases fail at once.
    return rf"(?<!\w)(?:{'|'.join(_slots(phrase, words) for phrase in phrases)})(?!\w)"


def _slots(phrase: str, words: Mapping[str, str]) -> str:
    """Replace each `{name}` by its words, and `~` by up to three arbitrary words."""
    filled = _SLOT.sub(lambda slot: f"(?:{words[slot[1]]})", phrase)
    return filled.replace(" ~ ", r"(?: \w+){0,3} ")


WINDOW = 4_000  # characters matched together; a context suppresses a rule within one window
OVERLAP = 400  # characters shared by two windows, so that no sentence is cut in both
LONGEST_END = 12_000  # characters read at each end of a long text; pasted text is in the middle


@dataclass(frozen=True, slots=True)
class Crisis:
    """A crisis. Tier 1: distress, worry for another. 2: ideation, disclosure. 3: a plan, a means, danger now."""

    tier: int
    rule: str
    category: Category
    notice: str
    language: str = "en"


SafeReply = Callable[[Crisis], str]


def detect_crisis(
    text: str, language: str | None = None, role: str = "user", *, phrases: Sequence[CrisisPhrases] | None = None
) -> Crisis | None:
    """The gravest crisis in a user's message, or None. Without a language, all are tried."""
    if role != "user":
        return None
    found: list[tuple[CrisisRule, CrisisPhrases]] = []
    tables = shipped_phrases(language) if phrases is None else phrases
    for window in _windows(text):
        plain = normalise_text(window)
        words = _WORD.findall(plain)
        found += [(rule, known) for known in tables for rule in _signs(_expanded(plain, words, known), known)]
    if not found:
        return None
    rule, known = max(found, key=lambda each: each[0].tier)
    return Crisis(rule.tier, rule.id, rule.category, known.notice, known.language)


def _windows(text: str) -> Iterator[str]:
    """The parts of a text that are read: all of it, or both ends of a very long one."""
    whole = len(text) <= 2 * LONGEST_END
    for part in (text,) if whole else (text[:LONGEST_END], text[-LONGEST_END:]):
        for start in range(0, max(len(part) - OVERLAP, 1), WINDOW - OVERLAP):
            yield part[start : start + WINDOW]


def crisis_reply(crisis: Crisis, language: str | None = None, *, phrases: Sequence[CrisisPhrases] | None = None) -> str:
    """The fixed reply to a crisis with helplines; never written by a model."""
    choices = shipped_phrases(language or crisis.language) if phrases is None else phrases
    known = next((each for each in choices if each.language == (language or crisis.language)), choices[0])
    text = known.replies.get(f"{crisis.category}_{crisis.tier}", known.replies[crisis.category])
    return f"{text}\n\n{known.notice}"


def normalise_text(text: str) -> str:
    """Lower case, no accents, no repeated letters, only sentence punctuation: the form of the phrases."""
    plain = text
    if not plain.isascii():
        plain = _UNSEEN.sub("", unicodedata.normalize("NFKD", plain)).translate(_QUOTES)
    plain = _CONTRACTED.sub("", plain.casefold())
    if _DRAWN_OUT.search(plain):
        plain = _DRAWN_OUT.sub(r"\1\1", _DRAWN_OUT_END.sub(r"\1", plain))
    return _OTHER.sub(" ", plain.replace("_", " ")).strip()


_QUOTES = str.maketrans("’‘`´“”«»„", "''''" + '"' * 5)
_UNSEEN = re.compile(rf"[\u0300-\u036f]|{HIDDEN}")
_CONTRACTED = re.compile(r"'(?=(?:t|m|s|re|ve|d|ll)\b)")
_DRAWN_OUT_END = re.compile(r"([a-z])\1{2,}\b")
_DRAWN_OUT = re.compile(r"([a-z])\1\1+")
_OTHER = re.compile(r'[^\w.!?;"+\n]+')
_ENDS = ".!?;\n"
_WORD = re.compile(r"[a-z0-9+]+")


def _expanded(plain: str, words: Sequence[str], known: CrisisPhrases) -> str:
    """The text with abbreviations written out."""
    expand = known.expand
    if expand.keys().isdisjoint(words):
        return plain
    return compiled(known.abbreviations).sub(lambda word: expand[word[0]], plain)


def _signs(text: str, known: CrisisPhrases) -> list[CrisisRule]:
    """The rules that match and are not suppressed."""
    seen = set(compiled(known.triggers).findall(text))
    if not seen:
        return []
    needed = {at for word in seen for length in known.lengths for at in known.needing.get(word[:length], ())}
    spoken = [(known.rules[at], spans) for at in sorted(needed) if (spans := list(_spans(known.rules[at], text)))]
    if not spoken:
        return []
    calm = [each.span() for each in compiled(known.quiet).finditer(text)] if known.quiet else []
    return [
        rule
        for rule, spans in spoken
        if any(not _covered(span, calm) for span in spans)
        and not any(name in known.contexts and compiled(known.contexts[name]).search(text) for name in rule.unless)
    ]


def _spans(rule: CrisisRule, text: str) -> Iterator[tuple[int, int]]:
    """Where the rule's phrases match, and where its word groups occur together in a sentence."""
    if rule.phrases:
        yield from (match.span() for match in compiled(rule.phrases).finditer(text))
    if not rule.beginnings or not compiled(rule.beginnings).search(text):
        return
    for first, *others in rule.together:
        for match in compiled(first).finditer(text):
            sentence = _sentence(text, match.start(), match.end())
            if all(compiled(other).search(sentence) for other in others):
                yield match.span()


def _sentence(text: str, start: int, end: int) -> str:
    before = max(text.rfind(mark, 0, start) for mark in _ENDS) + 1
    after = min((at for mark in _ENDS if (at := text.find(mark, end)) >= 0), default=len(text))
    return text[before:after]


def _covered(span: tuple[int, int], calm: Sequence[tuple[int, int]]) -> bool:
    return any(start < span[1] and span[0] < end for start, end in calm)


class CrisisDetector:
    """Detects crises with the configured phrases; without phrases it is off. Thread-safe."""

    def __init__(self, phrases: tuple[CrisisPhrases, ...] = ()) -> None:
        self._phrases = phrases
        self._cached = lru_cache(maxsize=4_096)(self._any_crisis)  # the same turns are checked with every question

    def sign(self, message: Message) -> Crisis | None:
        """The crisis in a message, or None."""
        return detect_crisis(message.content, role=message.role, phrases=self._phrases) if self._phrases else None

    def sign_in(self, text: str) -> Crisis | None:
        """The crisis in a user's text, or None."""
        return detect_crisis(text, phrases=self._phrases) if self._phrases else None

    def within(self, turn: Turn) -> bool:
        """Whether a turn shows a crisis; nothing is derived from such a turn and it is not recalled."""
        return bool(self._phrases) and self._cached(
            tuple([each.content for each in turn.messages if each.role == "user"])
        )

    def _any_crisis(self, said: tuple[str, ...]) -> bool:
        return any(detect_crisis(text, phrases=self._phrases) for text in said)


def crisis_detector(settings: SafetySettings) -> CrisisDetector:
    return CrisisDetector() if settings.crisis == "off" else CrisisDetector(configured_phrases(settings))


def configured_phrases(settings: SafetySettings) -> tuple[CrisisPhrases, ...]:
    """The shipped phrases, or those of the configured file."""
    return (load_phrases(settings.crisis_file),) if settings.crisis_file else shipped_phrases()
