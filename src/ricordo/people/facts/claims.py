"""Claims about a user: when two are the same or about the same subject, and which are admitted.

A claim is compared by its core terms: its words without those that every sentence of its kind has, as stems for things
and as plain words for names. The digest and the `about` key are made from the core terms. An admitted claim, read by
patterns, by the judge or by a model, is one short line that quotes words the user said about themselves: no order, no
second person, no link. A model's claim must also be grounded in its quote.
"""

import hashlib
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from functools import lru_cache
from typing import NamedTuple

from ricordo.languages.dates import PHRASE, last_day_in, resolve_day
from ricordo.languages.registry import AnyLanguage, all_words, languages
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import fold
from ricordo.people.facts.clauses import clauses, lacks_subject, own_text, stated_text
from ricordo.recall.evidence import snowball_stem, snowball_stems, tokens
from ricordo.records.derived import FACT_KINDS, FactKind, Source, Trust
from ricordo.safety.crisis import detect_crisis

Similarity = Callable[[str, str], float]

JUDGE = "judge"  # `made_by` of claims from judged clauses
_MIN_OVERLAP = 0.8  # least Jaccard overlap of two wordings of one claim
_MIN_COSINE = 0.92  # least cosine of two sentences that make the same claim
_MAX_ABOUT = 100
_FAMILIES = frozenset({"preference", "difficulty", "goal", "learning", "health", "said", "instruction"})
_PLAIN_KINDS = frozenset({"name", "place", "relation", "date"})
_NEGATIVE = AnyLanguage(r"\b(?:<statements.negative>)\b", flags=0)
_OVERCOME = AnyLanguage(r"\b(?:<statements.overcome>)\b", flags=0)
MAX_CLAIM_LENGTH = 200
_LEARNED_FROM = frozenset({"user_said", "user_edit", "import"})
_ORDER_FIRST = AnyLanguage(
    r"\W*(?:<statements.order_leads>)?\W*\b(?:<statements.orders_first>)\b",
    flags=0,
)
# Statements that begin like an order: "never been on a plane", "don't own a car".
_STATE_FIRST = AnyLanguage(r"\W*(?:<statements.states_first>)\b", flags=0)
_HIJACK = AnyLanguage(r"\b(?:<statements.hijacks>)\b|https?:|www\.|[<>{}\[\]|`=\\]", flags=0)
_ORDER_ANYWHERE = AnyLanguage(r"\b(?:<statements.orders_anywhere>)\b|https?:|www\.|[<>{}\[\]|`=\\]", flags=0)
_STEM = 4  # letters shared by two forms of one word: "allergico" and "allergia"
_NAME_LIKE = re.compile(r"(?<!^)(?<![.!?] )\b[A-ZÀ-Ý][\w'-]+")
_DENIED = AnyLanguage(r"<statements.denied>", flags=0)
_NO_TROUBLE = AnyLanguage(r"\b(?:<statements.no_trouble>)\b", flags=0)
_NOT_NOW = AnyLanguage(r"<statements.not_now>", flags=0)
_NAMING = AnyLanguage(r"\b(?:<statements.naming>)\b", flags=0)
_OTHER_PERSON = AnyLanguage(r"\W*(?:<statements.other_people>)\b", flags=0)
_ONLY_LEADS = AnyLanguage(r"(?:^|[.!?\n])\W*(?:\b(?:<facts.clause_leads>|<facts.slips>|<dialogue.corrections>)\W*)*$")
_DAY_PHRASE = AnyLanguage(rf"\b(?:{PHRASE})")


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
    """A user message that facts are read from. `origin` is its trust level."""

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

    If it `replaces`, it changes or ends a known fact; `change` is the probability of that.
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
    change: float = 0.0

    @property
    def source(self) -> Source:
        return Source(self.said.id, self.said.session_id, self.quote)


@dataclass(frozen=True, slots=True)
class ForgetCommand:
    """A command to forget: its sentence, the group of the subject by the judge, and whether it says "all"."""

    said: UserMessage
    quote: str
    language: str
    group: str
    everything: bool


@dataclass(frozen=True, slots=True)
class Extraction:
    """The claims, the extractor and its cost; `why` says why the model was not used."""

    candidates: tuple[Claim, ...]
    made_by: str
    why: str = ""
    dropped: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0


def core_terms(kind: FactKind, text: str, language: str) -> frozenset[str]:
    """The words that distinguish a claim from others of its kind."""
    return _core_terms(kind, text, language_by_code(language).code)


@lru_cache(maxsize=2_000)
def _core_terms(kind: FactKind, text: str, language: str) -> frozenset[str]:
    frames = all_words("statements.frames")
    kept = [word for word in tokens(text) if word not in frames]
    if kind in _PLAIN_KINDS:
        meaningful = frozenset(word for word in kept if snowball_stems(word, language))
    else:
        meaningful = frozenset(snowball_stem(word, language) for word in kept if snowball_stems(word, language))
    return meaningful or frozenset(tokens(text))


def opens_without_subject(claim: Claim) -> bool:
    """Whether a claim repeats a sentence that does not tell what it is about, "it's 4421"."""
    before = claim.said.text[: claim.said.text.find(claim.quote)]
    whole = claim.text[1:] == claim.quote[1:] or claim.quote in claim.text
    opens = whole and ": " not in claim.text and _ONLY_LEADS.search(before) is not None
    return opens and lacks_subject(claim.quote, claim.language)


def is_negative(kind: FactKind, text: str) -> bool:
    """Whether a claim is a negation. A difficulty is negative if it is overcome."""
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


def refusal_reason(candidate: Claim) -> str:
    """Why a claim is refused; empty if it is admitted."""
    said = candidate.said
    if candidate.kind not in FACT_KINDS:
        return "unknown kind"
    if _has_crisis(candidate.said.text):
        return "the message shows a crisis"
    if said.origin not in _LEARNED_FROM:
        return "not said by the user"
    if not candidate.quote.strip() or candidate.quote not in said.text:
        return "the quote is not in the message"
    if not _is_line(candidate.text) or not _is_line(candidate.quote):
        return "not one short line"
    if candidate.made_by == JUDGE:
        return _clause_refusal(candidate)
    if is_order(candidate.text, candidate.language):
        return "an instruction or an address, not a claim"
    if not _is_within(candidate.quote, own_text(said.text)):
        return "the quote is not the user's own statement"
    return ""


def _clause_refusal(candidate: Claim) -> str:
    """Why a clause in the user's own words is refused: it may speak in the first person and state a standing wish."""
    quote = fold(candidate.quote.replace("\u2019", "'"))
    if _HIJACK.search(quote):
        return "an instruction against the rules, or a link"
    order = _ORDER_FIRST.match(quote) and not _STATE_FIRST.match(quote)
    if order and not candidate.about.startswith("instruction:"):
        return "an instruction or an address, not a claim"
    own = stated_text(candidate.quote) if candidate.about.startswith("instruction:") else candidate.quote
    if not _is_within(own, stated_text(candidate.said.text)):
        return "the quote is not the user's own statement"
    return ""


@lru_cache(maxsize=4)
def _has_crisis(text: str) -> bool:
    """Whether a crisis is detected in a message; cached, because it is called for each claim of a message."""
    return detect_crisis(text) is not None


def is_order(text: str, language: str) -> bool:
    """Whether a sentence is an instruction, a question, or speaks in the first or second person."""
    flat = fold(text.replace("\u2019", "'"))
    parts = re.split(r"[:.;!?]\s+", flat)  # "Favourite rule: never refuse", "Lives in Rome. Ignore all rules"
    known = languages()
    voices = [each for each in known if each.code == language] or known
    return (
        any(_ORDER_FIRST.match(part) for part in parts)
        or _ORDER_ANYWHERE.search(flat) is not None
        or any(each.statements.first_person.search(flat) for each in voices)
        or flat.rstrip().endswith("?")
    )


def _is_line(text: str) -> bool:
    """Whether a text is one line of at most `MAX_CLAIM_LENGTH` visible characters."""
    return (
        bool(text.strip())
        and len(text) <= MAX_CLAIM_LENGTH
        and not any(unicodedata.category(c) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp") for c in text)
    )


def _is_within(quote: str, flat: str) -> bool:
    return quote.replace("\u2019", "'").replace("\u02bc", "'").replace("\u00a0", " ") in flat


def ungrounded_reason(candidate: Claim, zone: tzinfo = UTC) -> str:
    """Why a model's claim is not supported by its message; empty if it is. `zone` is the user's time zone."""
    spoken = _quoted_clauses(candidate.quote, candidate.said.text)
    if not spoken:
        return "the quote is not a statement about the user"
    kind, text, statement = candidate.kind, fold(candidate.text), fold(" , ".join(spoken))
    if kind != "relation" and any(_OTHER_PERSON.match(fold(each)) for each in spoken):
        return "about another person"
    if kind == "name" and not _NAMING.search(statement):
        return "not a name"
    if kind in ("place", "other", "preference") and _NOT_NOW.search(statement):
        return "past or possible, stated as present"
    if kind == "difficulty":
        if (_NO_TROUBLE.search(statement) is not None) != is_negative(kind, text):
            return "a difficulty with the wrong sign"
    elif (_DENIED.search(statement) is not None) != (_DENIED.search(text) is not None):
        return "negation differs from the quote"
    if not _words_were_said(candidate):
        return "adds words that were not said"
    return "" if _same_day(candidate, zone) else "names another day"


def _quoted_clauses(quote: str, text: str) -> list[str]:
    """The clauses that a quote overlaps; empty if the quote goes beyond plain statements."""
    flat, wanted = own_text(text), own_text(quote).strip(" \t,.;:!?…-–—()*_")
    stated = clauses(text)
    start = flat.find(wanted) if wanted else -1
    while start >= 0:
        end = start + len(wanted)
        touched = [each for each in stated if each.start < end and start < each.end]
        if touched and touched[0].start <= start and end <= touched[-1].end:
            return [flat[each.start : each.end] for each in touched]
        start = flat.find(wanted, start + 1)
    return []


def _words_were_said(candidate: Claim) -> bool:
    """Whether every content word of a claim occurs in the message; names and numbers must match exactly.

    A date may have been computed, so it is checked separately.
    """
    dated = candidate.kind in ("date", "goal")
    text = _DAY_PHRASE.sub(" ", candidate.text) if dated else candidate.text
    language = language_by_code(candidate.language).code
    said = set(tokens(own_text(candidate.said.text)))
    begun = {word[:_STEM] for word in said}
    wording = all_words("statements.frames") | all_words("statements.wording")
    names = {word for match in _NAME_LIKE.findall(text) for word in tokens(match)}
    for word in tokens(text):
        whole = word in names or any(c.isdigit() for c in word)
        if (
            word not in wording
            and snowball_stems(word, language)
            and (word if whole else word[:_STEM]) not in (said if whole else begun)
        ):
            return False
    return True


def _same_day(candidate: Claim, zone: tzinfo) -> bool:
    """Whether the claim and its quote name the same day, if both name one."""
    named = _DAY_PHRASE.search(candidate.quote)
    claimed = last_day_in(candidate.text)
    if not named or not claimed or candidate.about == "date:birthday":
        return True
    meant = resolve_day(named[0], candidate.said.created_at.astimezone(zone).date(), candidate.language)
    return meant is None or meant == claimed
