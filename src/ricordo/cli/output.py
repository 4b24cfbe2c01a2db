"""How a command prints (JSON, rich text, progress), and the views of sessions, turns, facts, summaries and flags.

In: records and reports. Out: the result on stdout; progress and notes on stderr, so that a pipe carries only the
result. Control characters of stored text are made visible, so that a message cannot control the terminal.
"""

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from ricordo.prompt.context import Context
from ricordo.prompt.render import chat_message
from ricordo.records.derived import Fact, Flag, Summary
from ricordo.records.service import as_json
from ricordo.records.turns import Message, SessionInfo, Turn

if TYPE_CHECKING:
    from ricordo.followups.reference import Pending, Resolved
    from ricordo.session import Session
    from ricordo.topics.session_topic import SessionTopic

MAX_WIDTH = 110  # columns; longer lines are hard to read
MAX_REFERENCE = 70  # characters
SHORT_ID = 8  # characters of an id in a table

ROLE_COLOURS = {"system": "magenta", "user": "green", "assistant": "blue", "tool": "yellow"}

Step = Callable[[int, int], None]


class Output:
    """The two streams of a command, in text or JSON."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._stdout = console(sys.stdout)
        self._stderr = console(sys.stderr)

    def document(self, value: Any, *shown_as: RenderableType) -> None:
        """Print one result: one JSON document, or `shown_as`."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
        else:
            self.show(*shown_as)

    def lines(self, values: Iterable[Mapping[str, Any]], *shown_as: RenderableType) -> None:
        """Print many results: JSON lines, or `shown_as`."""
        if self.as_json:
            for value in values:
                sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
        else:
            self.show(*shown_as)

    def show(self, *parts: RenderableType) -> None:
        """Print rich parts in order. Strings are plain text, never markup, and are not wrapped in a pipe."""
        for part in parts:
            if isinstance(part, str):
                self._stdout.print(Text(part), soft_wrap=not self._stdout.is_terminal)
            else:
                self._stdout.print(part)

    def raw(self, text: str) -> None:
        """Print text unchanged into a pipe; on a terminal its control characters are made visible."""
        sys.stdout.write((printable(text) if sys.stdout.isatty() else text) + "\n")

    def note(self, *parts: RenderableType) -> None:
        """Print on stderr; nothing with --json."""
        if not self.as_json:
            for part in parts:
                self._stderr.print(Text(part) if isinstance(part, str) else part)

    @contextmanager
    def progress(self, doing: str) -> Iterator[Step]:
        """A progress bar, updated with (done, total); drawn only on a terminal."""
        if self.as_json or not self._stderr.is_terminal:
            yield lambda done, total: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._stderr, transient=True) as bar:
            task = bar.add_task(doing, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total or None)


class _Console(Console):
    """A console that leaves a closed pipe to `main`, which sets the exit code."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(stream: Any) -> Console:
    """A console on a stream, at most MAX_WIDTH wide."""
    made = _Console(file=stream, highlight=False, soft_wrap=False)
    if made.width > MAX_WIDTH:
        made.width = MAX_WIDTH
    return made


def table(*columns: str, right: Iterable[str] = ()) -> Table:
    """A table without borders; the columns named in `right` are right-aligned."""
    numbers = set(right)
    made = Table(box=None, header_style="bold dim", pad_edge=False, padding=(0, 2, 0, 0), show_header=any(columns))
    for name in columns:
        made.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    return made


def printable(text: str) -> str:
    """Text that is safe on a terminal: control characters become visible symbols, line breaks and tabs stay."""
    return "".join(_visible(each) for each in text) if any(map(_is_control, text)) else text


def one_line(text: str, width: int) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(printable(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _is_control(character: str) -> bool:
    code = ord(character)
    return (code < 0x20 and character not in "\n\t") or 0x7F <= code < 0xA0


def _visible(character: str) -> str:
    if not _is_control(character):
        return character
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


def escape_unencodable() -> None:
    """Print characters that a stream's encoding lacks as escapes, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def counted(number: int, noun: str) -> str:
    """A number with its noun: "1 session", "2 sessions"."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def duration(value: timedelta) -> str:
    """A duration in the largest unit that divides it."""
    seconds = value.total_seconds()
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % size == 0 and seconds > size * (unit == "d"):
            return f"{seconds // size:.0f}{unit}"
    return f"{seconds:.6f}".rstrip("0").rstrip(".") + "s"


def session_heading(session: "Session") -> RenderableType:
    """The ids of a session, its user and its agent."""
    ids = {"session": session.id, "user": session.user_id, "agent": session.agent_id}
    return Text(" · ".join(f"{name} {printable(value)}" for name, value in ids.items()), "dim")


def turn_view(turn: Turn) -> RenderableType:
    """A turn with its number, time and messages."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    for message in turn.messages:
        who = Text(printable(message.name or message.role), style=f"bold {ROLE_COLOURS[message.role]}")
        rows.add_row(who, Text(printable(message.content) or f"→ {len(message.tool_calls)} tool calls"))
        if message.chunk_ids:
            rows.add_row("", Text("cites " + printable(", ".join(message.chunk_ids)), "dim"))
    if turn.failure:
        rows.add_row("", Text(printable(str(turn.failure.get("message", ""))), "red"))
    if turn.is_open:
        rows.add_row("", Text(f"open: ricordo answer {printable(turn.id)} TEXT", "yellow"))
    return Group("", Text(f"{turn.turn_number}  {local_time(turn.created_at)}  {turn.tokens} tokens", "dim"), rows)


def local_time(moment: datetime) -> str:
    """A time in the local zone, to the minute."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def meaning_view(context: Context) -> RenderableType | None:
    """The standalone question, its references and the clarification; None if there are none of them."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    if context.receipt.standalone:
        rows.add_row(Text("understood as", "bold"), Text(printable(context.receipt.standalone), "green"))
    for reference in context.references:
        rows.add_row(Text("points at", "bold"), reference_view(reference))
    if context.clarification:
        rows.add_row(Text("ask back", "bold yellow"), Text(printable(context.clarification.prompt), "yellow"))
        rows.add_row("", Text("a number, a place or a name answers it; anything else is a new question", "dim"))
    return rows if rows.rows else None


def reference_view(reference: "Resolved") -> Text:
    """A reference: its place, its beginning, what it cites, and its confidence."""
    place = f"turn {reference.turn_number}" + (f", point {reference.item.label}" if reference.item else "")
    cites = f"  [{', '.join(reference.chunk_ids)}]" if reference.chunk_ids else ""
    return Text.assemble(
        f"{printable(place)}: {one_line(reference.text, MAX_REFERENCE)}",
        (f"{printable(cites)}  {reference.kind}, {reference.confidence:.0%} sure", "dim"),
    )


def meaning_json(context: Context) -> dict[str, Any]:
    """References and clarification as JSON values."""
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


def session_json(session: SessionInfo) -> dict[str, Any]:
    """A session as JSON values; the keys are the glossary's names."""
    return {
        "session_id": session.id,
        "user_id": session.owner.user_id,
        "agent_id": session.agent_id,
        "title": session.title,
        "created_at": session.created_at.isoformat(),
        "last_active_at": session.last_active_at.isoformat(),
        "ended_at": session.ended_at.isoformat() if session.ended_at else None,
        "turn_count": session.turn_count,
        "message_count": session.message_count,
        "token_count": session.token_count,
        "condensation_count": session.condensation_count,
        "document_ids": list(session.document_ids),
        "project": session.project or None,
        "tags": list(session.tags),
        "metadata": dict(session.metadata),
    }


def turn_json(turn: Turn) -> dict[str, Any]:
    return {
        "turn_id": turn.id,
        "session_id": turn.session_id,
        "user_id": turn.owner.user_id,
        "agent_id": turn.agent_id,
        "turn_number": turn.turn_number,
        "created_at": turn.created_at.isoformat(),
        "query": turn.query,
        "response": turn.response,
        "open": turn.is_open,
        "failure": turn.failure,
        "chunk_ids": list(turn.chunk_ids),
        "metadata": dict(turn.metadata),
        "tokens": turn.tokens,
        "messages": [message_json(message) for message in turn.messages],
    }


def message_json(message: Message) -> dict[str, Any]:
    """A message as chat APIs take it, with its id, time and tokens."""
    return {
        "message_id": message.id,
        **chat_message(message),
        "created_at": message.created_at.isoformat(),
        "tokens": message.tokens,
        "chunk_ids": list(message.chunk_ids),
        "metadata": dict(message.metadata),
    }


def context_json(context: Context) -> dict[str, Any]:
    """Both forms of a context, how its question was understood, and its receipt."""
    return {
        "question": context.question,
        **meaning_json(context),
        "messages": list(context.messages),
        "prompt": context.prompt,
        "receipt": context.receipt.as_json(),
    }


def fact_json(fact: Fact) -> dict[str, Any]:
    plain = as_json(fact)
    return {"fact_id": plain.pop("id"), **plain, "kind": fact.shown_kind}


def summary_json(summary: Summary) -> dict[str, Any]:
    """A summary with the turns it covers."""
    plain = as_json(summary)
    return {"summary_id": plain.pop("id"), **plain}


def flag_json(flag: Flag) -> dict[str, Any]:
    """A flag, without the flagged text."""
    plain = as_json(flag)
    return {"flag_id": plain.pop("id"), **plain}


def topic_json(handle: "SessionTopic") -> dict[str, Any]:
    """A topic's figures, with its current priority."""
    topic = handle.read()
    return {
        **asdict(handle.stats()),
        "priority": handle.priority(),
        "state": topic.state,
        "tags": list(topic.tags),
        "summary": topic.summary,
    }
