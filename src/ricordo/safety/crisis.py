"""Detect a crisis in a user's message: self-harm, abuse, violence.

The message goes in; a tier, a category, the rule and a notice with helplines come out, never the words themselves. No
model is involved, neither in detection nor in the reply. The rules are phrases tuned for recall. This is not a
diagnosis, and the data are NOT CLINICALLY VALIDATED.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ricordo.records.turns import Message, Turn
from ricordo.safety.crisis_phrases import Category, CrisisPhrases, CrisisRule, compiled, load_phrases, shipped_phrases
from ricordo.safety.signals import HIDDEN
from ricordo.settings import SafetySettings

WINDOW = 4_000  # characters matched together; a context suppresses a rule within one window
OVERLAP = 400  # characters shared by two windows, so that no sentence is cut in both
LONGEST_END = 12_000  # characters read at each end of a long text; pasted text is in the middle


@dataclass(frozen=True, slots=True)
class Crisis:
    """What was seen. Tier 1: distress, worry for another. 2: ideation, disclosure. 3: a plan, a means, danger now."""

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
_DRAWN_OUT = re.compile(r"([a-z])\1{2,}")
_OTHER = re.compile(r'[^\w.!?;"+\n]+')
_ENDS = ".!?;\n"
_WORD = re.compile(r"[a-z0-9+]+")


def _expanded(plain: str, words: Sequence[str], known: CrisisPhrases) -> str:
    """The text with abbreviations written out."""
    expand = known.expand
    if expand.keys().isdisjoint(words):
        return plain
    return _WORD.sub(lambda word: expand.get(word[0], word[0]), plain)


def _signs(text: str, known: CrisisPhrases) -> list[CrisisRule]:
    """The rules that match and are not suppressed."""
    seen = set(compiled(known.triggers).findall(text))
    if not seen:
        return []
    spoken = [
        (rule, spans)
        for rule in known.rules
        if any(word.startswith(rule.needs) for word in seen) and (spans := list(_spans(rule, text)))
    ]
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
    for first, *others in rule.together:
        for match in compiled(first).finditer(text):
            sentence = _sentence(text, match.start(), match.end())
            if all(compiled(other).search(sentence) for other in others):
                yield match.span()


def _sentence(text: str, start: int, end: int) -> str:
    """The sentence around a span."""
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
            tuple(each.content for each in turn.messages if each.role == "user")
        )

    def _any_crisis(self, said: tuple[str, ...]) -> bool:
        return any(detect_crisis(text, phrases=self._phrases) for text in said)


def crisis_detector(settings: SafetySettings) -> CrisisDetector:
    """The detector for the settings."""
    return CrisisDetector() if settings.crisis == "off" else CrisisDetector(configured_phrases(settings))


def configured_phrases(settings: SafetySettings) -> tuple[CrisisPhrases, ...]:
    """The shipped phrases, or those of the configured file."""
    return (load_phrases(settings.crisis_file),) if settings.crisis_file else shipped_phrases()
