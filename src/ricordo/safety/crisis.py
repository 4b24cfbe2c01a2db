"""Signs of a crisis in what a user writes: self-harm, abuse, violence.

In: the user's words. Out: a tier, a category, the name of the rule, and a notice with helplines; never the words
themselves. No model is asked, neither to find a crisis nor to answer one. It is a net of phrases, tuned to miss
little: it is not a diagnosis, and its data are NOT CLINICALLY VALIDATED.
"""

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ricordo.safety.hidden import normalise
from ricordo.safety.phrases import Category, CrisisPhrases, CrisisRule, shipped_phrases

MOST_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class Crisis:
    """What was seen. Tier 1 is distress or worry for another, 2 ideation or disclosure, 3 a plan, a means, danger now."""

    tier: int
    rule: str
    category: Category
    notice: str
    language: str = "en"


SafeReply = Callable[[Crisis], str]


def crisis(
    text: str, language: str | None = None, role: str = "user", *, phrases: Sequence[CrisisPhrases] | None = None
) -> Crisis | None:
    """The gravest sign in a user's message, or None. Without a language, all that are known are tried."""
    if role != "user":
        return None
    found: list[tuple[CrisisRule, CrisisPhrases]] = []
    plain = fold(text)
    for known in shipped_phrases(language) if phrases is None else phrases:
        found += [(rule, known) for rule in _signs(_expanded(plain, known), known)]
    if not found:
        return None
    rule, known = max(found, key=lambda each: each[0].tier)
    return Crisis(rule.tier, rule.id, rule.category, known.notice, known.language)


def reply(crisis: Crisis, language: str | None = None, *, phrases: Sequence[CrisisPhrases] | None = None) -> str:
    """The fixed answer to a crisis, with the helplines: written beforehand, never by a model."""
    choices = shipped_phrases(language or crisis.language) if phrases is None else phrases
    known = next((each for each in choices if each.language == (language or crisis.language)), choices[0])
    text = known.replies.get(f"{crisis.category}_{crisis.tier}", known.replies[crisis.category])
    return f"{text}\n\n{known.notice}"


def fold(text: str) -> str:
    """A text as the phrases are written: lower case, no accents, no drawn-out letters, only sentence marks left."""
    plain = normalise(text, MOST_CHARACTERS).casefold()
    if not plain.isascii():
        plain = unicodedata.normalize("NFD", plain.translate(_QUOTES))
        plain = _MARKS.sub("", plain)
    plain = _CONTRACTED.sub("", plain)
    plain = _DRAWN_OUT_END.sub(r"\1", plain)
    plain = _DRAWN_OUT.sub(r"\1\1", plain)
    return _SPACES.sub(" ", _OTHER.sub(" ", plain)).strip()


_QUOTES = str.maketrans("’‘`´“”«»„\n", '\'\'\'\'"""""\n')
_MARKS = re.compile(r"[\u0300-\u036f]")
_CONTRACTED = re.compile(r"'(?=(?:t|m|s|re|ve|d|ll)\b)")
_DRAWN_OUT_END = re.compile(r"([a-z])\1{2,}\b")
_DRAWN_OUT = re.compile(r"([a-z])\1{2,}")
_OTHER = re.compile(r"[^\w\s.!?;\"+]|_")
_SPACES = re.compile(r"[^\S\n]+")
_WORD = re.compile(r"[a-z0-9+]+")


def _expanded(plain: str, known: CrisisPhrases) -> str:
    """The text with what is written short written out."""
    expand = known.expand
    return _WORD.sub(lambda word: expand.get(word[0], word[0]), plain) if expand else plain


def _signs(text: str, known: CrisisPhrases) -> list[CrisisRule]:
    """The rules that speak, after what keeps them quiet."""
    seen = set(known.triggers.findall(text))
    if not seen:
        return []
    signs: list[CrisisRule] = []
    calm: list[tuple[int, int]] | None = None
    for rule in known.rules:
        if not any(word.startswith(need) for word in seen for need in rule.needs):
            continue
        for match in rule.phrases.finditer(text):
            if calm is None:
                calm = [each.span() for each in known.quiet.finditer(text)] if known.quiet else []
            if any(start < match.end() and match.start() < end for start, end in calm):
                continue
            if not any(name in known.contexts and known.contexts[name].search(text) for name in rule.unless):
                signs.append(rule)
            break
    return signs
