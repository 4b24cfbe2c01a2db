"""Commands that let go: end, clear, delete, erase, cleanup. Each says exactly what went."""

import argparse
import sys

from rich.console import RenderableType
from rich.text import Text

from ricordo.cli.caring import duration
from ricordo.cli.exits import FAILED, OK
from ricordo.cli.options import Command, Options, add_user, open_memory, user_of
from ricordo.cli.output import Output, shown, table
from ricordo.cli.plain import session_json
from ricordo.errors import ValidationError
from ricordo.reports import EraseReceipt, as_json


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


COMMANDS = (
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
