"""Read claims from messages, by a language model or by patterns.

A model gets the messages as fenced data and must quote them. Rows that quote nothing, give orders, add to the message
or break the schema are dropped. If the model fails, the patterns read the messages, and the result says so.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any

from ricordo.engine import LLM
from ricordo.errors import LLMError
from ricordo.languages.registry import AnyLanguage
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import guess_language
from ricordo.people.facts.claims import (
    JUDGE,
    MAX_CLAIM_LENGTH,
    Claim,
    Extraction,
    UserMessage,
    about_key,
    refusal_reason,
    ungrounded_reason,
)
from ricordo.people.facts.clauses import is_not_oneself, stated_text, supposes
from ricordo.people.facts.judge import Judged, judge
from ricordo.people.facts.patterns import claims_in_message, without_deadline
from ricordo.records.people import FACT_KINDS, FactKind
from ricordo.safety.fence import close_fence, marker, open_fence

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


MAX_TOKENS = 800
MAX_FACTS = 20  # facts read from one completion
# `about` values with one current fact each; other claims are keyed by their own words.
SLOTS: Mapping[str, FactKind] = {
    "name": "name", "place:home": "place", "place:origin": "place", "place:birth": "place", "place:school": "place",
    "date:birthday": "date", "age": "other", "class": "other", "job": "other", "study": "other",
    "language:native": "other",
}  # fmt: skip
SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["facts"],
    "properties": {
        "facts": {
            "type": "array",
            "maxItems": MAX_FACTS,
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["message", "kind", "about", "text", "quote"],
                "properties": {
                    "message": {"type": "integer", "minimum": 1},
                    "kind": {"enum": list(FACT_KINDS)},
                    "about": {"enum": [*SLOTS, ""]},
                    "text": {"type": "string", "maxLength": MAX_CLAIM_LENGTH},
                    "quote": {"type": "string", "maxLength": MAX_CLAIM_LENGTH},
                },
            },
        }
    },
}


def extract_facts(said: Sequence[UserMessage], model: LLM | None = None, zone: tzinfo = UTC) -> Extraction:
    """The claims of some messages: by the model if there is one and it works, else by patterns."""
    if model is None or not said:
        return extract_by_patterns(said, zone)
    try:
        found = extract_by_model(said, model, zone)
    except Exception as error:  # other errors may quote the conversation
        cause = str(error) if isinstance(error, LLMError) else type(error).__name__
        return extract_by_patterns(said, zone, why=f"{model.name}: {cause}")
    if found.dropped and not found.candidates:
        return extract_by_patterns(said, zone, why=f"{model.name}: nothing of what it claimed was said")
    return found


def extract_by_patterns(said: Sequence[UserMessage], zone: tzinfo = UTC, why: str = "") -> Extraction:
    """The claims that patterns find, and the clauses beside them that the judge takes for statements."""
    found: list[Claim] = []
    before = None
    for each in said:
        matched = claims_in_message(each, zone)
        found += (*matched, *judged_claims(each, before, matched))
        before = each
    return Extraction(tuple(found), "patterns", why)


def extract_by_model(said: Sequence[UserMessage], model: LLM, zone: tzinfo = UTC) -> Extraction:
    """The admitted claims of a model; LLMError if it fails or does not answer with a list of facts."""
    language = guess_language("\n".join(each.text for each in said))
    answer = model.complete(extraction_prompt(said, language, zone), max_tokens=MAX_TOKENS, schema=SCHEMA)
    rows = _rows(answer.text)
    if rows is None:
        raise LLMError(f"{model.name} answered no list of facts; patterns read the messages instead")
    found = [
        claim
        for row in rows[:MAX_FACTS]
        if (claim := _claim_from_row(row, said, language, model.name, zone)) is not None
    ]
    return Extraction(
        tuple(dict.fromkeys(found)),
        model.name,
        dropped=len(rows) - len(found),
        prompt_tokens=answer.prompt_tokens,
        completion_tokens=answer.completion_tokens,
    )


def extraction_prompt(said: Sequence[UserMessage], language: str, zone: tzinfo = UTC) -> list[dict[str, str]]:
    """The rules as system message and the messages as fenced data, dated in the user's `zone`.

    The marker is derived from the data and cannot occur in it.
    """
    lines = [
        json.dumps(
            {"message": number, "date": each.created_at.astimezone(zone).date().isoformat(), "text": each.text},
            ensure_ascii=False,
        )
        for number, each in enumerate(said, start=1)
    ]
    word = marker(lines)
    fenced = (open_fence(word, language), *lines, close_fence(word, language))
    return [
        {"role": "system", "content": language_by_code(language).facts.instructions.format(marker=word)},
        {"role": "user", "content": "\n".join(fenced)},
    ]


def _rows(text: str) -> list[object] | None:
    """The list of facts in a completion; text around the JSON is ignored."""
    begin, end = text.find("{"), text.rfind("}")
    try:
        answer = json.loads(text[begin : end + 1])
    except (ValueError, RecursionError):
        return None
    rows = answer.get("facts") if isinstance(answer, dict) else None
    return rows if isinstance(rows, list) else None


def _claim_from_row(row: object, said: Sequence[UserMessage], language: str, model: str, zone: tzinfo) -> Claim | None:
    """A row as a claim, if it matches the schema and is admitted."""
    if not isinstance(row, dict):
        return None
    number, kind, about, text, quote = (row.get(key) for key in ("message", "kind", "about", "text", "quote"))
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= len(said):
        return None
    if kind not in FACT_KINDS or not isinstance(text, str) or not isinstance(quote, str):
        return None
    text = text.strip()
    named = about if isinstance(about, str) and SLOTS.get(about) == kind else _about_of(kind, text, language)
    candidate = Claim(kind, text, named, quote, language, said[number - 1], 0.8, model)
    return None if refusal_reason(candidate) or ungrounded_reason(candidate, zone) else candidate


def _about_of(kind: FactKind, text: str, language: str) -> str:
    if kind == "name":
        return "name"
    if kind in ("preference", "difficulty", "goal"):
        return about_key(kind, kind, without_deadline(text.rstrip(".")), language)
    return ""
