"""Composing the next prompt: fetch the recent turns, gather the other sections, fit all of it, explain it.

Memory may fail, the chat may not: if history cannot be loaded or counted, the context is built without it and
the window, the receipt and the log say so.
"""

import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ricordo.context import Context, Material, Remembered, assemble
from ricordo.errors import NotFoundError, StoreError
from ricordo.limits import check_id, check_text
from ricordo.receipt import Receipt, from_stored, rebuild
from ricordo.records import Chunk, Message, Turn, turn_id_of
from ricordo.settings import BudgetSettings
from ricordo.verbs.tools import Scope, Tools
from ricordo.window import Window, fit_window

log = logging.getLogger("ricordo")

FIRST_PAGE = 32
LARGEST_PAGE = 1_024


@dataclass(frozen=True, slots=True)
class Slots:
    """What other capabilities and the caller add to a context beside history, chunks and question."""

    safety: str = ""
    system: str = ""
    profile: str = ""
    summary: str = ""
    recalled: tuple[Remembered, ...] = ()
    format_instructions: str = ""


def load_window(tools: Tools, scope: Scope, *, asking: str | None = None) -> Window:
    """The recent turns that fit. An open turn that asks `asking` right now is not history yet."""
    try:
        return fit_window(_newest_first(tools, scope, asking), tools.settings.window, tools.counter)
    except StoreError as error:
        log.warning(
            "history is unavailable: %s",
            error,
            extra={
                "operation": "window",
                "tenant_id": scope.owner.tenant_id,
                "user_id": scope.owner.user_id,
                "session_id": scope.session_id,
            },
        )
        return Window(degraded=(f"history is unavailable: {error}",))


def compose(
    tools: Tools, scope: Scope, question: str, chunks: Sequence[Chunk], slots: Slots, budget: BudgetSettings
) -> Context:
    """The context for `question`."""
    check_text("question", question, tools.settings.limits)
    window = load_window(tools, scope, asking=question)
    most = budget.chunks_later if window.turns else budget.chunks_first
    material = Material(
        question=question,
        safety=slots.safety,
        system=slots.system,
        profile=slots.profile,
        summary=slots.summary,
        history=tuple(reversed(window.turns)),
        recalled=slots.recalled,
        chunks=tuple(chunks[:most]),
        chunks_left_out=tuple(chunks[most:]),
        format_instructions=slots.format_instructions,
        degraded=window.degraded + _counting_note(tools),
    )
    return assemble(material, budget, tools.settings.locale, tools.settings.window.compact_chars, tools.counter)


def past_receipts(tools: Tools, scope: Scope, limit: int) -> tuple[Receipt, ...]:
    """Receipts of a session, newest first."""
    return tuple(from_stored(each) for each in tools.store.receipts(scope.owner, scope.session_id, limit=limit))


def recompose(tools: Tools, scope: Scope, turn_number: int) -> Context:
    """The context that was built for a past turn, byte for byte."""
    found = tools.store.receipts(scope.owner, scope.session_id, turn_number=turn_number, limit=1)
    if not found:
        raise NotFoundError(f"turn {turn_number} of session {scope.session_id!r} has no receipt")
    receipt = from_stored(found[0])

    def message_of(address: str) -> Message | None:
        turn = tools.store.turn(scope.owner, turn_id_of(address))
        return next((each for each in turn.messages if each.id == address), None) if turn else None

    messages, prompt = rebuild(receipt, message_of)
    return Context(messages, prompt, receipt.question, (), receipt)


def as_chunks(given: Iterable[Chunk | str | Mapping[str, Any] | tuple[str, str]]) -> tuple[Chunk, ...]:
    """Chunks in any of the shapes that callers have: records, mappings with id and text, pairs, plain text."""
    chunks = []
    for index, each in enumerate(given, start=1):
        if isinstance(each, Chunk):
            chunk = each
        elif isinstance(each, str):
            chunk = Chunk(f"chunk-{index}", each)
        elif isinstance(each, Mapping):
            chunk = Chunk(each.get("id", f"chunk-{index}"), each.get("text", each.get("content", "")))
        else:
            chunk = Chunk(*each)
        check_id(f"chunks[{index - 1}].id", chunk.id)
        chunks.append(chunk)
    return tuple(chunks)


def _newest_first(tools: Tools, scope: Scope, asking: str | None) -> Iterator[Turn]:
    """Turns from the newest on, fetched in growing pages and only as far as somebody reads."""
    most = tools.settings.window.max_turns
    page_size = FIRST_PAGE if most is None else most + (asking is not None)
    before: int | None = None
    current = asking
    while page_size:
        page = tools.store.turns(scope.owner, scope.session_id, last=page_size, before=before)
        for turn in reversed(page):
            if current is not None and turn.is_open and turn.query == current:
                current = None
                continue
            current = None
            yield turn
        if len(page) < page_size:
            return
        before = page[0].turn_number
        page_size = min(2 * page_size, LARGEST_PAGE)


def _counting_note(tools: Tools) -> tuple[str, ...]:
    if tools.counter.exact:
        return ()
    return (f"tokens are approximate ({tools.counter.name})",)
