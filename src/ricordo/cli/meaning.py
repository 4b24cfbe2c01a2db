"""What a question was understood as: how it reads alone, what it points at, and what to ask back.

In: a context. Out: rich parts for people, plain values for `--json`; nothing where a question says it all.
"""

from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ricordo.cli.output import one_line, shown
from ricordo.context import Context

if TYPE_CHECKING:
    from ricordo.followups.clarify import Pending
    from ricordo.followups.resolution import Resolved

WIDEST_POINT = 70


def meaning_view(context: Context) -> RenderableType | None:
    """The complete question, what it points at, and the question to ask back; None where there is nothing to say."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    if context.receipt.standalone:
        rows.add_row(Text("understood as", "bold"), Text(shown(context.receipt.standalone), "green"))
    for reference in context.references:
        rows.add_row(Text("points at", "bold"), pointed_at(reference))
    if context.clarification:
        rows.add_row(Text("ask back", "bold yellow"), Text(shown(context.clarification.prompt), "yellow"))
        rows.add_row("", Text("a number, a place or a name answers it; anything else is a new question", "dim"))
    return rows if rows.rows else None


def pointed_at(reference: "Resolved") -> Text:
    """Where it is, how it begins, what it cites, and how sure that is."""
    place = f"turn {reference.turn_number}" + (f", point {reference.item.label}" if reference.item else "")
    cites = f"  [{', '.join(reference.chunk_ids)}]" if reference.chunk_ids else ""
    return Text.assemble(
        f"{shown(place)}: {one_line(reference.text, WIDEST_POINT)}",
        (f"{shown(cites)}  {reference.kind}, {reference.confidence:.0%} sure", "dim"),
    )


def meaning_json(context: Context) -> dict[str, Any]:
    """References and clarification as plain values."""
    return {
        "references": [_reference_json(each) for each in context.references],
        "clarification": _clarification_json(context.clarification),
    }


def _reference_json(reference: "Resolved") -> dict[str, Any]:
    return {
        "kind": reference.kind,
        "turn_number": reference.turn_number,
        "item": reference.item.label if reference.item else None,
        "text": reference.text,
        "chunk_ids": list(reference.chunk_ids),
        "confidence": reference.confidence,
    }


def _clarification_json(pending: "Pending | None") -> dict[str, Any] | None:
    if pending is None:
        return None
    return {
        "prompt": pending.prompt,
        "options": [{"name": option.name, "turn_number": option.turn_number} for option in pending.options],
        "expires_at": pending.expires_at.isoformat(),
    }
