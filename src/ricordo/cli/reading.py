"""Commands that read: a user's sessions, a session's history, its window.

Without --session they look at the user's most recent one.
"""

import argparse
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ricordo.cli.account import ROLE_COLOURS
from ricordo.cli.options import Command, Options, add_session, add_user, open_memory, user_of
from ricordo.cli.output import Output, one_line, shown, table
from ricordo.cli.plain import session_json, turn_json
from ricordo.errors import NotFoundError
from ricordo.memory import Memory
from ricordo.records import Turn
from ricordo.session import Session


def sessions(options: Options, output: Output) -> int:
    """A user's sessions."""
    with open_memory(options) as memory:
        found = memory.sessions(user_id=user_of(options), limit=options.limit, agent_id=options.agent)
    rows = table("session", "title", "agent", "turns", "last active", right=("turns",))
    rows.columns[0].no_wrap = True  # ids are there to be copied
    for each in found:
        title = one_line(each.title or "–", 30) + (" (ended)" if each.ended_at else "")
        rows.add_row(
            Text(shown(each.id)),
            Text(title),
            Text(shown(each.agent_id)),
            str(each.turn_count),
            day(each.last_active_at),
        )
    output.lines(map(session_json, found), rows if found else f"user {options.user!r} has no sessions")
    return 0


def show(options: Options, output: Output) -> int:
    """A session's history."""
    with open_memory(options) as memory:
        session = session_of(memory, options)
        turns = session.history(options.limit, before=options.before)
    output.lines(map(turn_json, turns), heading(session), *[turn_view(turn) for turn in turns])
    return 0


def window(options: Options, output: Output) -> int:
    """The recent turns that fit."""
    with open_memory(options) as memory:
        session = session_of(memory, options)
        fitted = session.window()
        text = fitted.text(memory.settings.locale, memory.settings.window.compact_chars, sources=options.sources)
        bounds = memory.settings.window
    plain = {
        "session_id": session.id,
        "total_tokens": fitted.total_tokens,
        "max_tokens": bounds.max_tokens,
        "max_turns": bounds.max_turns,
        "shortened": fitted.shortened,
        "degraded": list(fitted.degraded),
        "text": text,
        "turns": [turn_json(turn) for turn in fitted.turns],
    }
    most = "any number of" if bounds.max_turns is None else f"at most {bounds.max_turns}"
    facts = f"{len(fitted.turns)} turns, {fitted.total_tokens:,} tokens ({most} turns, {bounds.max_tokens:,} tokens)"
    output.document(plain, shown(text), "", Text(facts, style="dim"))
    return 0


def session_of(memory: Memory, options: Options) -> Session:
    """The session that was named, or the most recent one; it must exist."""
    user_id = user_of(options)
    if options.session is None:
        newest = memory.sessions(user_id=user_id, limit=1)
        if not newest:
            raise NotFoundError(f"user {user_id!r} has no sessions; begin one with `ricordo add`")
        return memory.session(newest[0].id, user_id=user_id, agent_id=newest[0].agent_id)
    session = memory.session(options.session, user_id=user_id)
    return memory.session(options.session, user_id=user_id, agent_id=session.info().agent_id)


def heading(session: Session) -> RenderableType:
    """Which session this is."""
    return Text(f"session {shown(session.id)} · user {shown(session.user_id)} · agent {shown(session.agent_id)}", "dim")


def turn_view(turn: Turn) -> RenderableType:
    """A turn with its number, its time and its words."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    for message in turn.messages:
        who = Text(shown(message.name or message.role), style=f"bold {ROLE_COLOURS[message.role]}")
        rows.add_row(who, Text(shown(message.content) or f"→ {len(message.tool_calls)} tool calls"))
        if message.chunk_ids:
            rows.add_row("", Text("cites " + shown(", ".join(message.chunk_ids)), "dim"))
    if turn.is_open:
        rows.add_row("", Text(f"open: ricordo answer {shown(turn.id)} TEXT", "yellow"))
    return Group("", Text(f"{turn.turn_number}  {day(turn.created_at)}  {turn.tokens} tokens", "dim"), rows)


def day(moment: datetime) -> str:
    """A time as people read it, in their own zone."""
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


def _sessions_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    parser.add_argument("--agent", metavar="ID", help="only those with this agent")
    parser.add_argument("-n", "--limit", metavar="N", type=int, help="default: the setting recent_sessions")


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    add_session(parser)
    parser.add_argument("-n", "--limit", metavar="N", type=int, help="only the N newest turns")
    parser.add_argument("--before", metavar="NUMBER", type=int, help="only turns before this number")


def _window_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    add_session(parser)
    parser.add_argument("--sources", action="store_true", help="name the chunks that answers cite")


COMMANDS = (
    Command("sessions", "list a user's sessions", sessions, _sessions_arguments, "ricordo sessions --user anna"),
    Command("show", "show a session's history", show, _show_arguments, "ricordo show --user anna -n 5"),
    Command(
        "window",
        "show the recent turns that fit, as a prompt takes them",
        window,
        _window_arguments,
        "ricordo window --user anna --set max_turns=5",
    ),
)
