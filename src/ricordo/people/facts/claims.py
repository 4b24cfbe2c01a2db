"""When two claims are one claim in other words, and when they contradict each other.

A claim's `essence` is what is left of its sentence without the words that every sentence of its kind has: stems for
things and plain words for names, the same in both languages where the word is. Digest and `about` are made of it.
"""

import hashlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from ricordo.languages.followups_base import words as word_table
from ricordo.recall.terms import Language, fold, stem, stems, tokens
from ricordo.records.people import FactKind, Source, Trust

Similarity = Callable[[str, str], float]

_NEAR = 0.8  # share of words that two wordings of one claim have in common
_CLOSE = 0.92  # cosine above which two sentences of a kind say the same
_LONGEST_ABOUT = 100
_FAMILIES = frozenset({"preference", "difficulty", "goal", "learning", "health"})
_PLAIN_KINDS = frozenset({"name", "place", "relation", "date"})
FRAMES = word_table(
    "chiama chiamare nome vive abita risiede viene proviene nato nata nascita luogo data studia frequenta "
    "compie anni anno ama adora apprezza piace piacciono preferisce odia detesta sopporta gradisce difficolta "
    "problemi fatica capisce capito riesce piu vuole vorrebbe desidera spera obiettivo goal lavora parla lingua "
    "impara meglio utente studente studentessa persona suo sua suoi sue gli is called name named lives live "
    "comes from born was birth date place studies attends turns birthday likes like loves love enjoys enjoy "
    "prefers prefer dislikes dislike hates hate difficulty trouble struggles struggle understand understands "
    "longer wants want hopes hope goal works work speaks speak learns learn best better user student person "
    "their they his her does doesn t has have with "
)
_NEGATIVE = re.compile(
    r"\b(?:non|mai|odia|detesta|not|never|dislikes?|hates?|longer|doesn't|don't|isn't|cannot|can't)\b"
)
_OVERCOME = re.compile(r"\b(?:piu|longer|anymore|ha capito|ora capisce|now understands|overcame|has understood)\b")


def essence(kind: FactKind, text: str, language: str) -> frozenset[str]:
    """The words that make a claim this claim."""
    return _essence(kind, text, "it" if language == "it" else "en")


@lru_cache(maxsize=2_000)
def _essence(kind: FactKind, text: str, language: Language) -> frozenset[str]:
    kept = [word for word in tokens(text) if word not in FRAMES]
    if kind in _PLAIN_KINDS:
        meaningful = frozenset(word for word in kept if stems(word, language))
    else:
        meaningful = frozenset(stem(word, language) for word in kept if stems(word, language))
    return meaningful or frozenset(tokens(text))


def is_negative(kind: FactKind, text: str) -> bool:
    """Whether a claim says that something is not so; of a difficulty: that it is overcome."""
    return (_OVERCOME if kind == "difficulty" else _NEGATIVE).search(fold(text)) is not None


def digest_of(kind: FactKind, about: str, text: str, language: str) -> str:
    """The name of a claim, the same in other words of the same essence; no word can be read from it."""
    sign = "-" if is_negative(kind, text) else "+"
    # What is named by the user's own words is named again by the essence: two wordings of `about` must not part it.
    key = "\x1f".join((kind, family(about) or about, sign, *sorted(essence(kind, text, language))))
    return hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=16).hexdigest()


def about_thing(prefix: str, kind: FactKind, words: str, language: str) -> str:
    """An `about` for claims on one thing: "preference:calc" for whatever is said of liking football."""
    name = f"{prefix}:{'-'.join(sorted(essence(kind, words, language)))}"
    if len(name) <= _LONGEST_ABOUT:
        return name
    return f"{prefix}:{hashlib.blake2b(name.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


def family(about: str) -> str:
    """What family of things an `about` belongs to, for those that are named by words of the user; else nothing."""
    head = about.partition(":")[0]
    return head if head in _FAMILIES else ""


def says_the_same(
    kind: FactKind,
    one: tuple[str, str],
    other: tuple[str, str],
    *,
    narrower: bool,
    similarity: Similarity | None = None,
) -> bool:
    """Whether two (text, language) of one kind are the same claim.

    `narrower` also takes "Vive a Roma" and "Vive a Roma, in centro" as one: right where both decide the same thing.
    """
    if is_negative(kind, one[0]) != is_negative(kind, other[0]):
        return False
    first, second = essence(kind, *one), essence(kind, *other)
    if first == second or (narrower and (first <= second or second <= first)):
        return True
    if _codes(first) != _codes(second):
        return False
    if overlap(first, second) >= _NEAR:
        return True
    return similarity is not None and kind not in _PLAIN_KINDS and similarity(one[0], other[0]) >= _CLOSE


def same_thing(kind: FactKind, one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two claims of one kind are about the same thing, whatever they say of it."""
    first, second = essence(kind, *one), essence(kind, *other)
    return _codes(first) == _codes(second) and overlap(first, second) >= _NEAR


def overlap(first: frozenset[str], second: frozenset[str]) -> float:
    """The share of the words of two claims that both have."""
    return len(first & second) / max(1, len(first | second))


def _codes(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if any(c.isdigit() for c in word))


class When(NamedTuple):
    """When a message was said: what was said first is less.

    Of one moment, which a whole day may be in an import, the number of the turn decides; between sessions, their names.
    """

    moment: datetime
    session_id: str = ""
    turn_number: int = 0


@dataclass(frozen=True, slots=True)
class UserMessage:
    """One message of a user, as facts are looked for in it. `origin` is how it got here, and is never raised."""

    id: str
    session_id: str
    text: str
    created_at: datetime
    origin: Trust = "user_said"
    turn_number: int = 0

    @property
    def when(self) -> When:
        """When it was said; a turn has one message of its user, so that its number tells the rest."""
        return When(self.created_at, self.session_id, self.turn_number)


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim. `about` names what it decides, `quote` is a verbatim span of the message, `made_by` who read it."""

    kind: FactKind
    text: str
    about: str
    quote: str
    language: str
    said: UserMessage
    confidence: float = 1.0
    made_by: str = "patterns"

    @property
    def source(self) -> Source:
        """Where it was said."""
        return Source(self.said.id, self.said.session_id, self.quote)


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found, by whom, at which cost; `why` tells what kept a model from being the one."""

    candidates: tuple[Claim, ...]
    made_by: str
    why: str = ""
    dropped: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
