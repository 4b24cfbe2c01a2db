"""Claims from judged clauses: what a message states about the user in words that no pattern knows.

Messages go in, claims come out. A claim keeps the clause as it was said, in quotation marks. Its `about` begins with
`said:` or `instruction:` and the group of its subject, so that a later change or end can find it.
"""

import hashlib
import re
from collections.abc import Sequence

from ricordo.languages.detect import guess_language
from ricordo.languages.registry import AnyLanguage
from ricordo.languages.registry import language as language_by_code
from ricordo.people.facts.admission import MAX_CLAIM_LENGTH, refusal_reason
from ricordo.people.facts.claims import JUDGE, Claim, UserMessage
from ricordo.people.facts.clauses import is_not_oneself, stated_text, supposes
from ricordo.people.facts.judge import Judged, judge
from ricordo.records.people import FactKind

_KINDS: dict[str, FactKind] = {"other": "relation", "plan": "date"}
# How much surer the judge must be (in logits) of a message that works on a text, plays a part or jokes; of a sentence
# that supposes or reports; and of a message in which the user does not speak of themselves.
_PLAYED, _SUPPOSED, _IMPERSONAL = 1.2, 0.6, 0.8
_LEAD = AnyLanguage(r"(?:\W*\b(?:<facts.clause_leads>)\b[\s,]*)+")
_SELF = AnyLanguage(r"\b(?:<facts.self_words>)\b")
_JOINED = re.compile(r"\s*,?\s*")
_SHORT = 3  # words of a segment that is told together with its neighbour


def judged_claims(said: UserMessage, before: UserMessage | None, known: Sequence[Claim] = ()) -> tuple[Claim, ...]:
    """The claims of a message that the judge finds beside those `known` from patterns."""
    flat = stated_text(said.text)
    taken = [(at, at + len(claim.quote)) for claim in known if (at := said.text.find(claim.quote)) >= 0]
    language = guess_language(said.text)
    found: dict[str, Claim] = {}
    for clause in statements(said.text, before.text if before else None):
        if clause.label == "forget" or any(
            min(clause.end, end) - max(clause.start, start) > (clause.end - clause.start) / 2 for start, end in taken
        ):
            continue
        claim = _claim(clause, flat, said, language)
        if claim and not refusal_reason(claim):
            found.setdefault(claim.text, claim)
    return tuple(found.values())


def statements(text: str, before: str | None = None) -> tuple[Judged, ...]:
    """The judged clauses of a message that pass the guards; short neighbours of one kind are joined."""
    flat = stated_text(text)
    needed = _PLAYED if is_not_oneself(text) else 0.0
    if not _SELF.search(flat):
        needed += _IMPERSONAL
    found: list[Judged] = []
    for clause in judge(text, before):
        words = flat[clause.start : clause.end]
        if len(words) < clause.end - clause.start or "\ufffc" in words:
            continue
        if clause.margin < needed + (_SUPPOSED if supposes(words) else 0.0):
            continue
        last = found[-1] if found else None
        if (
            last
            and last.label == clause.label
            and _JOINED.fullmatch(flat[last.end : clause.start])
            and min(len(flat[each.start : each.end].split()) for each in (last, clause)) <= _SHORT
            and clause.end - last.start <= MAX_CLAIM_LENGTH - 2
        ):
            found[-1] = Judged(last.start, clause.end, last.label, last.attribute, max(last.margin, clause.margin))
        else:
            found.append(clause)
    return tuple(found)


def _claim(clause: Judged, flat: str, said: UserMessage, language: str) -> Claim | None:
    start, end = clause.start, clause.end
    lead = _LEAD.match(flat[start:end])
    if lead and clause.label != "instruction":
        start += lead.end()
    while end > start and flat[end - 1] in " \t,.;:!?…-–—":
        end -= 1
    quote = said.text[start:end]
    if sum(c.isalnum() for c in quote) < 3:
        return None
    opening, closing = language_by_code(language).summaries.user_quoted
    text = f"{opening[-1]}{quote}{closing[0]}"
    family = "instruction" if clause.label == "instruction" else "said"
    digest = hashlib.blake2b(f"{said.id}\x1f{quote}".encode("utf-8", "replace"), digest_size=8).hexdigest()
    kind = _KINDS.get(clause.label, "other")
    about = f"{family}:{clause.attribute}:{digest}"
    replaces = clause.label in ("change", "end")
    confidence = round(1 - 0.5 ** (1 + max(0.0, clause.margin)), 3)
    return Claim(kind, text, about, quote, language, said, confidence, JUDGE, replaces)
