"""Claims about a user, and when two claims are the same or about the same subject.

A claim is compared by its core terms: its words without those that every sentence of its kind has, as stems for things
and as plain words for names. The digest and the `about` key are made from the core terms.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import NamedTuple

from ricordo.languages.registry import AnyLanguage, all_words
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.word_spans import fold
from ricordo.recall.evidence import stem, stems, tokens
from ricordo.records.people import FactKind, Source, Trust

Similarity = Callable[[str, str], float]

JUDGE = "judge"  # `made_by` of claims from judged clauses
_MIN_OVERLAP = 0.8  # least Jaccard overlap of two wordings of one claim
_MIN_COSINE = 0.92  # least cosine of two sentences that make the same claim
_MAX_ABOUT = 100
_FAMILIES = frozenset({"preference", "difficulty", "goal", "learning", "health", "said", "instruction"})
_PLAIN_KINDS = frozenset({"name", "place", "relation", "date"})
_NEGATIVE = AnyLanguage(r"\b(?:<statements.negative>)\b", flags=0)
_OVERCOME = AnyLanguage(r"\b(?:<statements.overcome>)\b", flags=0)


def core_terms(kind: FactKind, text: str, language: str) -> frozenset[str]:
    """The words that distinguish a claim from others of its kind."""
    return _core_terms(kind, text, language_by_code(language).code)


@lru_cache(maxsize=2_000)
def _core_terms(kind: FactKind, text: str, language: str) -> frozenset[str]:
    frames = all_words("statements.frames")
    kept = [word for word in tokens(text) if word not in frames]
    if kind in _PLAIN_KINDS:
        meaningful = frozenset(word for word in kept if stems(word, language))
    else:
        meaningful = frozenset(stem(word, language) for word in kept if stems(word, language))
    return meaningful or frozenset(tokens(text))


def is_negative(kind: FactKind, text: str) -> bool:
    """Whether a claim is a negation; for a difficulty, whether it is overcome."""
    return (_OVERCOME if kind == "difficulty" else _NEGATIVE).search(fold(text)) is not None


def claim_digest(kind: FactKind, about: str, text: str, language: str) -> str:
    """A digest that is equal for claims with the same core terms; the words cannot be read from it."""
    sign = "-" if is_negative(kind, text) else "+"
    # Only the family of an `about` made of the user's words counts: two wordings must give one digest.
    key = "\x1f".join((kind, about_family(about) or about, sign, *sorted(core_terms(kind, text, language))))
    return hashlib.blake2b(key.encode("utf-8", "replace"), digest_size=16).hexdigest()


def about_key(prefix: str, kind: FactKind, words: str, language: str) -> str:
    """An `about` value for claims about one subject, such as "preference:calc" for liking football."""
    name = f"{prefix}:{'-'.join(sorted(core_terms(kind, words, language)))}"
    if len(name) <= _MAX_ABOUT:
        return name
    return f"{prefix}:{hashlib.blake2b(name.encode('utf-8', 'replace'), digest_size=16).hexdigest()}"


def about_family(about: str) -> str:
    """The family of an `about` value that is made of the user's words; empty for other values."""
    head = about.partition(":")[0]
    return head if head in _FAMILIES else ""


def is_same_claim(
    kind: FactKind,
    one: tuple[str, str],
    other: tuple[str, str],
    *,
    narrower: bool,
    similarity: Similarity | None = None,
) -> bool:
    """Whether two (text, language) pairs of one kind make the same claim.

    With `narrower`, a claim that only adds words is the same: "Vive a Roma" and "Vive a Roma, in centro".
    """
    if is_negative(kind, one[0]) != is_negative(kind, other[0]):
        return False
    first, second = core_terms(kind, *one), core_terms(kind, *other)
    if first == second or (narrower and (first <= second or second <= first)):
        return True
    if _terms_with_digits(first) != _terms_with_digits(second):
        return False
    if jaccard(first, second) >= _MIN_OVERLAP:
        return True
    return similarity is not None and kind not in _PLAIN_KINDS and similarity(one[0], other[0]) >= _MIN_COSINE


def is_same_subject(kind: FactKind, one: tuple[str, str], other: tuple[str, str]) -> bool:
    """Whether two claims of one kind have the same subject, whatever they say about it."""
    first, second = core_terms(kind, *one), core_terms(kind, *other)
    return _terms_with_digits(first) == _terms_with_digits(second) and jaccard(first, second) >= _MIN_OVERLAP


def jaccard(first: frozenset[str], second: frozenset[str]) -> float:
    """Shared words as a fraction of all words of two claims."""
    return len(first & second) / max(1, len(first | second))


def _terms_with_digits(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if any(c.isdigit() for c in word))


class MessageTime(NamedTuple):
    """Sort key for messages by time.

    An import may give a whole day one moment. Then the turn number decides within a session, and the session id between
    sessions.
    """

    moment: datetime
    session_id: str = ""
    turn_number: int = 0


@dataclass(frozen=True, slots=True)
class UserMessage:
    """A user message that facts are read from. `origin` is its trust level, which never rises."""

    id: str
    session_id: str
    text: str
    created_at: datetime
    origin: Trust = "user_said"
    turn_number: int = 0

    @property
    def when(self) -> MessageTime:
        """The sort key of the message."""
        return MessageTime(self.created_at, self.session_id, self.turn_number)


@dataclass(frozen=True, slots=True)
class Claim:
    """One claim. `about` names its subject, `quote` is a verbatim span of the message, `made_by` its extractor.

    One that `replaces` changes or ends what was known before.
    """

    kind: FactKind
    text: str
    about: str
    quote: str
    language: str
    said: UserMessage
    confidence: float = 1.0
    made_by: str = "patterns"
    replaces: bool = False

    @property
    def source(self) -> Source:
        """The message and the quote."""
        return Source(self.said.id, self.said.session_id, self.quote)


@dataclass(frozen=True, slots=True)
class Extraction:
    """The claims found, the extractor and its cost; `why` says why the model was not used."""

    candidates: tuple[Claim, ...]
    made_by: str
    why: str = ""
    dropped: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
