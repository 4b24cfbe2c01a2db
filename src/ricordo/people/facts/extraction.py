"""Read claims from messages, by a language model or by patterns and the judge.

A model gets the messages as fenced data and must quote them. Rows are dropped that quote nothing, give orders, add to
the message, break the schema, or quote what the judge does not take for a statement. If the model fails, the patterns
and the judge read the messages, and the result says so. Commands to remember are read without a model.
"""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, tzinfo
from typing import Any

from ricordo.engine import LLM
from ricordo.errors import LLMError
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import guess_language
from ricordo.people.facts.claims import (
    MAX_CLAIM_LENGTH,
    Claim,
    Extraction,
    UserMessage,
    about_key,
    refusal_reason,
    ungrounded_reason,
)
from ricordo.people.facts.patterns import without_deadline
from ricordo.people.facts.statements import could_be_stated, message_claims, remembered_claims
from ricordo.records.derived import FACT_KINDS, FactKind
from ricordo.safety.fence import close_fence, marker, open_fence
from ricordo.worker import give_way

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
        return extract_by_patterns(said, zone, why=f"{model.name}: none of its claims was said")
    return found


def extract_by_patterns(said: Sequence[UserMessage], zone: tzinfo = UTC, why: str = "") -> Extraction:
    """The claims that patterns find, and other clauses that the judge takes for statements."""
    found: list[Claim] = []
    before = None
    for each in said:
        give_way()
        found += message_claims(each, before, zone)
        before = each
    return Extraction(tuple(found), "patterns", why)


def extract_by_model(said: Sequence[UserMessage], model: LLM, zone: tzinfo = UTC) -> Extraction:
    """The admitted claims of a model; LLMError if it fails or does not answer with a list of facts."""
    language = guess_language("\n".join(each.text for each in said))
    answer = model.complete(extraction_prompt(said, language, zone), max_tokens=MAX_TOKENS, schema=SCHEMA)
    rows = _rows(answer.text)
    if rows is None:
        raise LLMError(f"{model.name} did not answer with a list of facts; patterns read the messages instead")
    found = [
        claim
        for row in rows[:MAX_FACTS]
        if (claim := _claim_from_row(row, said, language, model.name, zone)) is not None
    ]
    kept = dict.fromkeys(found)
    commanded = (claim for each in said for claim in remembered_claims(each, tuple(kept), zone))
    return Extraction(
        (*kept, *commanded),
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
    if refusal_reason(candidate) or ungrounded_reason(candidate, zone):
        return None
    return candidate if could_be_stated(candidate.said.text, quote) else None


def _about_of(kind: FactKind, text: str, language: str) -> str:
    if kind == "name":
        return "name"
    if kind in ("preference", "difficulty", "goal"):
        return about_key(kind, kind, without_deadline(text.rstrip(".")), language)
    return ""
