"""The receipt of a context: what it holds and why, what was left out and why, and how to build it again.

A receipt explains (items, shares, totals) and remembers (the recipe). A recipe names stored messages by
address and copies only what is stored nowhere else; longer texts are handed to the store once per session, by
digest. Rebuilding follows the recipe and compares digests, so it is exact or refused.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, fields, replace
from operator import attrgetter
from typing import Any

from ricordo.errors import ReceiptError
from ricordo.prompt.render import ChatMessage, chat_message, digest
from ricordo.prompt.window import compact_text, said
from ricordo.records.turns import Message, StoredReceipt, passage_digest
from ricordo.records.values import canonical, record

INLINE_CHARACTERS = 120


@record
class ReceiptItem:
    """One candidate for the prompt: kept or dropped, at what cost, for what reason.

    A recalled message has the score and the reasons of the search that found it.
    """

    section: str
    id: str
    tokens: int
    kept: bool
    reason: str
    in_prompt: bool = False
    shortened: bool = False
    score: float | None = None
    reasons: tuple[str, ...] = ()


@record
class Receipt:
    """The account of one context."""

    question: str
    limit: int
    answer_reserve: int
    total_tokens: int
    prompt_tokens: int
    shares: Mapping[str, int]
    sections: Mapping[str, int]
    items: tuple[ReceiptItem, ...]
    counter: str
    counter_exact: bool
    messages_digest: str
    prompt_digest: str
    recipe: Mapping[str, Any] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()
    turn_number: int | None = None
    standalone: str = ""
    embedder: str = ""
    stable_tokens: int | None = None  # with cache_stable: the messages' beginning that the turn before had, too

    @property
    def kept(self) -> tuple[ReceiptItem, ...]:
        """What went into the messages."""
        return tuple(item for item in self.items if item.kept)

    @property
    def dropped(self) -> tuple[ReceiptItem, ...]:
        """What was left out of the messages."""
        return tuple(item for item in self.items if not item.kept)

    def as_json(self) -> dict[str, Any]:
        """The account as plain JSON values, without the recipe."""
        plain = asdict(self)
        del plain["recipe"]
        return json.loads(json.dumps(plain))  # type: ignore[no-any-return]


_UNSAID: tuple[object, ...] = (None, "", (), [])
_FIELDS = tuple(each.name for each in fields(Receipt))
_COLUMNS = attrgetter(*(each.name for each in fields(ReceiptItem)))


def to_stored(receipt: Receipt, session_id: str, turn_number: int) -> StoredReceipt:
    """The receipt as JSON for the store, longer literals moved out to passages."""
    passages: dict[str, str] = {}
    body = {name: value for name in _FIELDS if (value := getattr(receipt, name)) not in _UNSAID}
    body["items"] = [_COLUMNS(item)[: None if item.reasons or item.score is not None else -2] for item in receipt.items]
    body["recipe"] = _moved(receipt.recipe, passages)
    body["question"] = _moved(receipt.question, passages)
    return StoredReceipt(session_id, turn_number, canonical(body), passages)


def _moved(value: Any, passages: dict[str, str]) -> Any:
    """A value with its longer texts put into `passages`."""
    # A function of its own: one within another that calls itself is a cycle, and would keep the texts in memory.
    if isinstance(value, str) and len(value) > INLINE_CHARACTERS:
        key = passage_digest(value)
        passages[key] = value
        return {"passage": key}
    if isinstance(value, dict):
        inside = {name: _moved(inner, passages) for name, inner in value.items()}
        return {"literal": inside} if inside.keys() in ({"passage"}, {"literal"}) else inside
    if isinstance(value, (list, tuple)):
        return [_moved(inner, passages) for inner in value]
    return value


def from_stored(stored: StoredReceipt) -> Receipt:
    """The receipt behind its stored form."""
    try:
        body = _back(json.loads(stored.body), stored.passages)
        items = tuple(ReceiptItem(*item[:8], *map(tuple, item[8:])) for item in body.pop("items"))
        receipt = Receipt(items=items, **body)
        return replace(receipt, degraded=tuple(receipt.degraded), turn_number=stored.turn_number)
    except (KeyError, TypeError, ValueError) as error:
        raise ReceiptError(
            f"the receipt of turn {stored.turn_number} in session {stored.session_id!r} cannot be read ({error}); "
            "run verify"
        ) from error


def _back(value: Any, passages: Mapping[str, str]) -> Any:
    """A value with its passages put back in."""
    if isinstance(value, dict):
        if value.keys() == {"passage"}:
            return passages[value["passage"]]
        value = value["literal"] if value.keys() == {"literal"} else value
        return {name: _back(inner, passages) for name, inner in value.items()}
    if isinstance(value, list):
        return [_back(inner, passages) for inner in value]
    return value


def rebuild(receipt: Receipt, message_of: Callable[[str], Message | None]) -> tuple[tuple[ChatMessage, ...], str]:
    """The messages and the prompt that the receipt accounts for, byte for byte, or ReceiptError."""

    def stored(message_id: str) -> Message:
        message = message_of(message_id)
        if message is None:
            raise ReceiptError(f"message {message_id!r} of this context is gone; the context cannot be rebuilt")
        return message

    def text(segments: Sequence[Any]) -> str:
        parts = []
        for segment in segments:
            if isinstance(segment, str):
                parts.append(segment)
            elif "excerpt" in segment:
                message_id, label, start, end = segment["excerpt"]
                parts.append(label + stored(message_id).content[start:end])
            else:
                message_id, label, characters, suffix = segment["line"]
                parts.append(label + compact_text(said(stored(message_id)), characters) + suffix)
        return "".join(parts)

    try:
        messages = tuple(
            chat_message(stored(entry["message"]))
            if "message" in entry
            else {**entry, "content": text(entry["content"])}
            for entry in receipt.recipe["messages"]
        )
        prompt = text(receipt.recipe["prompt"])
    except (KeyError, TypeError, ValueError) as error:
        raise ReceiptError(f"the recipe of this receipt cannot be followed ({error!r}); run verify") from error
    if digest(messages) != receipt.messages_digest or digest(prompt) != receipt.prompt_digest:
        raise ReceiptError("what was stored has changed since: the rebuilt context differs from the receipt's digest")
    return messages, prompt
