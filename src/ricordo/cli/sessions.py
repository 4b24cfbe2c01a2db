"""Commands that read: a user's sessions, a session's history, its window.

Without --session they look at the user's most recent one.
"""

import argparse
import sys
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ricordo.cli.arguments import FAILED, OK, Command, Options, add_session, add_user, open_memory, user_of
from ricordo.cli.maintenance import duration
from ricordo.cli.output import Output, one_line, session_json, shown, table, turn_json
from ricordo.cli.receipts import ROLE_COLOURS
from ricordo.errors import NotFoundError, ValidationError
from ricordo.memory import Memory
from ricordo.records.reports import EraseReceipt, as_json
from ricordo.records.turns import Turn
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


READ_COMMANDS = (
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


# Commands that let go: end, clear, delete, erase, cleanup. Each says exactly what went.


def end(options: Options, output: Output) -> int:
    """Close a session, or all that have been idle for long."""
    if options.idle == (options.session_id is not None):
        raise ValidationError("end", "name a session, or give --idle for all that nobody has spoken in for long")
    if options.idle:
        return _end_idle(options, output)
    with open_memory(options) as memory:
        ended = memory.session(options.session_id, user_id=user_of(options)).end()
    session = ended.session
    left = f"summary by {ended.made_by}" if ended.summary else "nothing to summarise"
    said = f"ended session {session.id} after {session.turn_count} turns: {left}, {len(ended.facts)} facts"
    plain = session_json(session) | {
        "summary": ended.summary.text if ended.summary else None,
        "facts": [fact.text for fact in ended.facts],
        "topics": list(ended.topics),
        "made_by": ended.made_by,
    }
    output.document(plain, said)
    return OK


def _end_idle(options: Options, output: Output) -> int:
    with open_memory(options) as memory, output.progress("ending"):
        count = memory.end_idle(user_id=options.user)
        idle = duration(memory.settings.profile.session_end_idle)
    said = f"ended {count:,} sessions that had been idle for {idle}"
    output.document({"sessions_ended": count, "user_id": options.user, "idle": idle}, said)
    return OK


def clear(options: Options, output: Output) -> int:
    """Remove a session's history, keep the session."""
    with open_memory(options) as memory:
        gone = memory.session(options.session_id, user_id=user_of(options)).clear()
    plain = {"session_id": options.session_id, "turns_deleted": gone}
    output.document(plain, f"cleared session {options.session_id}: {gone} turns went")
    return OK


def delete(options: Options, output: Output) -> int:
    """Remove a session with everything in it."""
    with open_memory(options) as memory:
        gone = memory.delete_session(options.session_id, user_id=user_of(options))
    plain = {"session_id": options.session_id, "turns_deleted": gone}
    output.document(plain, f"deleted session {options.session_id} with {gone} turns")
    return OK


def erase(options: Options, output: Output) -> int:
    """Remove everything of a user."""
    with open_memory(options) as memory:
        if not options.yes and not _confirmed(options.user_id, memory.store.location):
            output.aside("nothing was erased")
            return FAILED
        with output.progress("erasing"):  # a large file is written anew
            receipt = memory.erase(options.user_id)
    output.document(as_json(receipt), *_erased(receipt))
    return OK


def cleanup(options: Options, output: Output) -> int:
    """Remove what is past its time."""
    with open_memory(options) as memory, output.progress("cleaning up") as step:
        retention = memory.settings.retention
        result = memory.cleanup(progress=step)
    said = (
        f"{result.sessions_deleted:,} sessions and {result.turns_deleted:,} turns went in {result.execution_time:.2f} s"
    )
    if retention.turn_ttl is None and retention.session_idle is None:
        said = "nothing expires: this preset keeps everything (see turn_ttl and session_idle in `ricordo settings`)"
    output.document(as_json(result), said, *[Text(f"failed: {shown(each)}", "red") for each in result.errors])
    return FAILED if result.errors else OK


def _confirmed(user_id: str, where: str) -> bool:
    """Whether a person typed the user's id; without a person to ask, --yes must say it."""
    if not sys.stdin.isatty():
        raise ValidationError("yes", "nobody is there to confirm; add --yes to erase without asking")
    print(f"This removes everything of user {user_id!r} from {where}, for good.", file=sys.stderr)
    print("Type the user id to go on: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == user_id


def _erased(receipt: EraseReceipt) -> tuple[RenderableType, ...]:
    rows = table("what", "removed", right=("removed",))
    for what, count in receipt.removed.items():
        rows.add_row(what, f"{count:,}")
    head = (
        f"erased user {receipt.user_id!r} of tenant {receipt.tenant_id!r} at {receipt.erased_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    return (head, rows, *[Text(f"note: {note}", "yellow") for note in receipt.notes])


def _session_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session_id", help="which session")
    add_user(parser)


def _end_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session_id", nargs="?", help="which session")
    add_user(parser)
    parser.add_argument("--idle", action="store_true", help="all that are idle, of --user or of everybody")


def _erase_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user_id", help="whose memory goes")
    parser.add_argument("--yes", action="store_true", help="do not ask")


FORGET_COMMANDS = (
    Command(
        "end",
        "close a session, or all that are idle: its summary and facts are kept",
        end,
        _end_arguments,
        "ricordo end SESSION_ID --user anna",
    ),
    Command(
        "clear",
        "remove a session's history, keep the session",
        clear,
        _session_arguments,
        "ricordo clear SESSION_ID --user anna",
    ),
    Command(
        "delete",
        "remove a session with everything in it",
        delete,
        _session_arguments,
        "ricordo delete SESSION_ID --user anna",
    ),
    Command("erase", "remove everything of a user, with a receipt", erase, _erase_arguments, "ricordo erase anna"),
    Command(
        "cleanup",
        "remove what is past its time",
        cleanup,
        example="ricordo cleanup --preset chat24h --set turn_ttl=12h",
    ),
)
