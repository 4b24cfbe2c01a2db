"""Commands on sessions: list, show and window; end, clear, delete, erase and cleanup.

Without --session the reading commands take the user's most recent one. The deleting ones print what they deleted.
"""

import argparse
import sys

from rich.console import RenderableType
from rich.text import Text

from ricordo.cli.arguments import FAILED, OK, Options, add_talk, add_user, command, open_memory, session_of, user_of
from ricordo.cli.output import (
    Output,
    counted,
    duration,
    local_time,
    one_line,
    printable,
    session_heading,
    session_json,
    table,
    turn_json,
    turn_view,
)
from ricordo.errors import ValidationError
from ricordo.records.service import EraseReceipt, as_json
from ricordo.records.turns import DEFAULT_AGENT


def _sessions_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    parser.add_argument("--agent", metavar="ID", help="only those with this agent")
    parser.add_argument("-n", "--limit", metavar="N", type=int, help="default: the setting recent_sessions")


@command("list a user's sessions", _sessions_arguments, "ricordo sessions --user anna")
def sessions(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        found = memory.sessions(user_id=user_of(options), limit=options.limit, agent_id=options.agent, counts=True)
    agents = any(each.agent_id != DEFAULT_AGENT for each in found)
    rows = table("session", "title", *["agent"] * agents, "turns", "last active", right=("turns",))
    rows.columns[0].no_wrap = rows.columns[-1].no_wrap = True  # an id must stay in one piece to be copied
    for each in found:
        title = one_line(each.title or "–", 30) + (" (ended)" if each.ended_at else "")
        agent = [Text(printable(each.agent_id))] * agents
        turns, active = str(each.turn_count), local_time(each.last_active_at)
        rows.add_row(Text(printable(each.id)), Text(title), *agent, turns, active)
    output.lines(map(session_json, found), rows if found else f"user {options.user!r} has no sessions")


def _show_arguments(parser: argparse.ArgumentParser) -> None:
    add_talk(parser)
    parser.add_argument("-n", "--limit", metavar="N", type=int, help="only the N newest turns")
    parser.add_argument("--before", metavar="NUMBER", type=int, help="only turns before this number")


@command("show a session's history", _show_arguments, "ricordo show --user anna -n 5")
def show(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        session = session_of(memory, options)
        turns = session.history(options.limit, before=options.before)
    output.lines(map(turn_json, turns), session_heading(session), *[turn_view(turn) for turn in turns])


def _window_arguments(parser: argparse.ArgumentParser) -> None:
    add_talk(parser)
    parser.add_argument("--sources", action="store_true", help="name the chunks that answers cite")


@command(
    "show the recent turns that fit the window, as a prompt includes them",
    _window_arguments,
    "ricordo window --user anna --set max_turns=5",
)
def window(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        session = session_of(memory, options)
        fitted = session.window()
        text = fitted.text(sources=options.sources)
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
    output.document(plain, printable(text), "", Text(facts, style="dim"))


def _end_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session_id", nargs="?", help="which session")
    add_user(parser)
    parser.add_argument("--idle", action="store_true", help="all idle sessions, of --user or of all users")


@command(
    "end a session, or all idle ones; its summary and facts are kept",
    _end_arguments,
    "ricordo end SESSION_ID --user anna",
)
def end(options: Options, output: Output) -> None:
    if options.idle == (options.session_id is not None):
        raise ValidationError("end", "give either a session or --idle")
    if options.idle:
        _end_idle(options, output)
        return
    with open_memory(options) as memory:
        ended = memory.session(options.session_id, user_id=user_of(options)).end()
    session = ended.session
    summary = f"summary by {ended.made_by}" if ended.summary else "nothing to summarise"
    line = f"ended session {session.id} after {session.turn_count} turns: {summary}, {len(ended.facts)} facts"
    plain = session_json(session) | {
        "summary": ended.summary.text if ended.summary else None,
        "facts": [fact.text for fact in ended.facts],
        "topics": list(ended.topics),
        "made_by": ended.made_by,
    }
    output.document(plain, line)


def _end_idle(options: Options, output: Output) -> None:
    with open_memory(options) as memory, output.progress("ending"):
        count = memory.end_idle(user_id=options.user)
        idle = duration(memory.settings.profile.session_end_idle)
    line = f"ended {counted(count, 'session')} that had been idle for {idle}"
    output.document({"sessions_ended": count, "user_id": options.user, "idle": idle}, line)


def _session_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("session_id", help="which session")
    add_user(parser)


@command("delete a session's history and keep the session", _session_arguments, "ricordo clear SESSION_ID --user anna")
def clear(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        deleted = memory.session(options.session_id, user_id=user_of(options)).clear()
    plain = {"session_id": options.session_id, "turns_deleted": deleted}
    output.document(plain, f"cleared session {options.session_id}: {counted(deleted, 'turn')} deleted")


@command("delete a session with its turns", _session_arguments, "ricordo delete SESSION_ID --user anna")
def delete(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        deleted = memory.delete_session(options.session_id, user_id=user_of(options))
    plain = {"session_id": options.session_id, "turns_deleted": deleted}
    output.document(plain, f"deleted session {options.session_id} with {counted(deleted, 'turn')}")


def _erase_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("user_id", help="the user to erase")
    parser.add_argument("--yes", action="store_true", help="do not ask")


@command("erase everything of a user, with a receipt", _erase_arguments, "ricordo erase anna")
def erase(options: Options, output: Output) -> int | None:
    with open_memory(options) as memory:
        if not options.yes and not _confirmed(options.user_id, memory.store.location):
            output.note("nothing was erased")
            return FAILED
        with output.progress("erasing"):  # a large file is rewritten
            receipt = memory.erase(options.user_id)
    output.document(as_json(receipt), *_erase_view(receipt))
    return None


@command("delete what is past its retention", example="ricordo cleanup --preset chat24h --set turn_ttl=12h")
def cleanup(options: Options, output: Output) -> int:
    with open_memory(options) as memory, output.progress("cleaning up") as step:
        retention = memory.settings.retention
        result = memory.cleanup(progress=step)
    counts = f"{counted(result.sessions_deleted, 'session')} and {counted(result.turns_deleted, 'turn')}"
    line = f"deleted {counts} in {result.execution_time:.2f} s"
    if retention.turn_ttl is None and retention.session_idle is None:
        line = "nothing expires: this preset keeps everything (see turn_ttl and session_idle in `ricordo settings`)"
    output.document(as_json(result), line, *[Text(f"failed: {printable(each)}", "red") for each in result.errors])
    return FAILED if result.errors else OK


def _confirmed(user_id: str, where: str) -> bool:
    """Whether the user id was typed to confirm; without a terminal --yes is required."""
    if not sys.stdin.isatty():
        raise ValidationError("yes", "there is no terminal to confirm on; add --yes to erase without asking")
    print(f"This erases everything of user {user_id!r} from {where}, for good.", file=sys.stderr)
    print("Type the user id to continue: ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip() == user_id


def _erase_view(receipt: EraseReceipt) -> tuple[RenderableType, ...]:
    rows = table("what", "removed", right=("removed",))
    for what, count in receipt.removed.items():
        rows.add_row(what, f"{count:,}")
    head = (
        f"erased user {receipt.user_id!r} of tenant {receipt.tenant_id!r} at {receipt.erased_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    return (head, rows, *[Text(f"note: {note}", "yellow") for note in receipt.notes])
