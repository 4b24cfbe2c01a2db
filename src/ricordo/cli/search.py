"""Recall commands: search a user's messages, recompute vectors for another embedder, check or fetch its weights."""

import argparse
from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from ricordo.cli.arguments import FAILED, OK, Command, Options, add_user, open_memory, user_of
from ricordo.cli.output import Output, message_json, one_line, printable, table
from ricordo.cli.receipts import ROLE_COLOURS
from ricordo.cli.sessions import local_time
from ricordo.cli.topics import resolve_id
from ricordo.cli.turns import read_text
from ricordo.errors import RicordoError, ValidationError
from ricordo.memory import Memory
from ricordo.records.turns import Owner

if TYPE_CHECKING:
    from ricordo.recall.embedders.weights import WeightSet
    from ricordo.recall.search import Hit, Hits

MAX_MESSAGE = 240  # characters of a message in a row; --json has all of them
SCORE_BAR = 8


def search(options: Options, output: Output) -> int:
    """Find past messages for a question, best first."""
    query = read_text(options.query)
    with open_memory(options) as memory, output.progress("searching"):
        hits = memory.search(
            query,
            user_id=user_of(options),
            limit=options.limit,
            session_id=options.session,
            agent_id=options.agent,
            topic_id=_topic(memory, options),
            role=options.role,
            after=parse_time("after", options.after),
            before=parse_time("before", options.before),
            tags=options.tag,
        )
    output.document(hits_json(query, hits), *hits_view(hits))
    return 0


def embed(options: Options, output: Output) -> int:
    """Recompute every vector with the current embedder."""
    with open_memory(options) as memory, output.progress("embedding") as step:
        turns = memory.embed_again(progress=step)
        embedder = memory.stats().embedder
    output.document({"turns": turns, "embedder": embedder}, f"embedded {turns:,} turns with {embedder}")
    return 0


def _topic(memory: Memory, options: Options) -> str | None:
    """The id of --topic, completed from the topics of --session or of all sessions of the user."""
    if options.topic is None:
        return None
    owner = Owner(memory.settings.tenant_id, user_of(options))
    sessions = [options.session] if options.session else list(memory.store.sessions.marks(owner))
    return resolve_id(
        options.topic, [each.id for name in sessions for each in memory.store.topics.load(owner, name).topics]
    )


def hits_view(hits: "Hits") -> list[RenderableType]:
    """Every hit with its score, time, speaker, text and reasons."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    for hit in hits:
        filled = round(hit.score * SCORE_BAR)
        bar = Text("━" * filled, "bright_cyan") + Text("─" * (SCORE_BAR - filled), "dim")
        who = Text(printable(hit.message.name or hit.message.role), f"bold {ROLE_COLOURS[hit.message.role]}")
        rows.add_row(f"{hit.score:.2f}", bar, Text(local_time(hit.message.created_at), "dim"), who, _found(hit))
    if not hits:
        return ["nothing was found", *_notes(hits)]
    return [rows, *_notes(hits), Text(f"searched with {printable(hits.embedder)}", "dim")]


def hits_json(query: str, hits: "Hits") -> dict[str, Any]:
    """The hits as JSON values."""
    return {
        "query": query,
        "embedder": hits.embedder,
        "degraded": list(hits.degraded),
        "hits": [hit_json(hit) for hit in hits],
    }


def hit_json(hit: "Hit") -> dict[str, Any]:
    """One hit: its score, reasons, place and whole message."""
    return {
        "score": round(hit.score, 6),
        "reasons": list(hit.reasons),
        "session_id": hit.session_id,
        "turn_number": hit.turn_number,
        "topic_id": hit.topic_id,
        **message_json(hit.message),
    }


def _found(hit: "Hit") -> RenderableType:
    return Group(Text(one_line(hit.text, MAX_MESSAGE)), Text(printable(" · ".join(hit.reasons)), "dim cyan"))


def _notes(hits: "Hits") -> list[RenderableType]:
    return [Text(f"! {printable(note)}", "yellow") for note in hits.degraded]


def parse_time(name: str, given: str | None) -> datetime | None:
    """A day or a time in ISO format; without a zone it is local time."""
    if given is None:
        return None
    try:
        found = datetime.fromisoformat(given)
        return found if found.tzinfo else found.astimezone()
    except (ValueError, OverflowError, OSError) as error:
        expected = "a day or a time such as 2026-05-01 or 2026-05-01T10:00:00+02:00"
        raise ValidationError(name, f"expected {expected}, got {given!r}") from error


def _search_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", help="the question or words; - reads it from standard input")
    add_user(parser)
    parser.add_argument("-s", "--session", metavar="ID", help="only in this session")
    parser.add_argument("--agent", metavar="ID", help="only what was said with this agent")
    parser.add_argument("--topic", metavar="ID", help="only in this topic")
    parser.add_argument("--role", metavar="ROLE", help="only user, assistant, system or tool")
    parser.add_argument("--after", metavar="TIME", help="only from this day or time on")
    parser.add_argument("--before", metavar="TIME", help="only before this day or time")
    parser.add_argument("--tag", metavar="TAG", action="append", default=[], help="only sessions with this tag")
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=10, help="default: %(default)s")


SEARCH_COMMANDS = (
    Command(
        "search",
        "find past messages by words, meaning and time, with the reasons",
        search,
        _search_arguments,
        'ricordo search "which oven do I have?" --user anna --after 2026-01-01',
    ),
    Command(
        "embed",
        "recompute all vectors with the current embedder",
        embed,
        example="ricordo embed --set embedder=light",
    ),
)


WEIGHTS_COLOURS = {"verified": "green", "missing": "yellow", "refused": "red"}


def weights(options: Options, output: Output) -> int:
    """Check every set of weights by hash; with --fetch, download what is missing."""
    from ricordo.recall.embedders.weights import ALL_SETS, fetch, weights_folder

    chosen = [each for each in ALL_SETS if not options.name or each.name in options.name]
    if unknown := set(options.name) - {each.name for each in ALL_SETS}:
        known = ", ".join(each.name for each in ALL_SETS)
        raise ValidationError("name", f"{', '.join(sorted(unknown))} is unknown; there are {known}")
    failures = []
    for wanted in chosen if options.fetch else ():
        try:
            fetch(wanted, report=lambda line: output.note(Text(printable(line), "dim")))
        except RicordoError as error:
            failures.append(str(error))
    found = [weights_json(each) for each in chosen]
    rows = table("weights", "size", "state", right=("size",))
    for each in found:
        rows.add_row(each["name"], f"{each['bytes'] / 1e6:.1f} MB", Text(each["state"], WEIGHTS_COLOURS[each["state"]]))
    notes = failures or [each["problem"] for each in found if each["problem"]]
    plain = {"folder": str(weights_folder()), "weights": found, "failures": failures}
    where = Text(f"in {printable(str(weights_folder()))}", "dim")
    output.document(plain, rows, where, *[Text(f"! {one_line(note, 400)}", "yellow") for note in notes])
    return OK if all(each["state"] == "verified" for each in found) else FAILED


def weights_json(weights: "WeightSet") -> dict[str, Any]:
    """A set's name and size, and whether its files have the expected hashes."""
    from ricordo.recall.embedders import EmbedderUnavailable, WeightsRefused
    from ricordo.recall.embedders.weights import verified

    state, problem = "verified", ""
    try:
        verified(weights)
    except EmbedderUnavailable as error:
        state, problem = "missing", str(error)
    except WeightsRefused as error:
        state, problem = "refused", str(error)
    return {
        "name": weights.name,
        "bytes": sum(file.size for file in weights.files),
        "state": state,
        "problem": problem,
    }


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="*", help="which sets; default: all")
    parser.add_argument("--fetch", action="store_true", help="download what is missing, checked by hash")


WEIGHTS_COMMANDS = (
    Command(
        "weights",
        "check the embedders' weights by hash, or fetch them; exit code 1 if any is missing",
        weights,
        _arguments,
        "ricordo weights --fetch",
    ),
)
