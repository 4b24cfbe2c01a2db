"""Commands on topics: list those of a session; show, tag, weigh, merge or export one.

A topic may be given by the beginning of its id, as the list shows it.
"""

import argparse
from typing import TYPE_CHECKING, Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ricordo.cli.arguments import Command, Options, add_session, add_user, open_memory
from ricordo.cli.output import Output, one_line, printable, table, topic_json, turn_json
from ricordo.cli.sessions import session_heading, session_of, turn_view
from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_ids, check_within
from ricordo.session import Session

if TYPE_CHECKING:
    from ricordo.topics.session_topic import SessionTopic

SHORT_ID = 8
PRIORITY_BAR = 10
KIND_COLOURS = {"short-term": "yellow", "transitioning": "cyan", "long-term": "green"}


def topics(options: Options, output: Output) -> int:
    """List a session's topics."""
    with open_memory(options) as memory, output.progress("organising"):
        session = session_of(memory, options)
        found = session.topics()
        plain = [topic_json(session.topic(topic.id)) for topic in found]
    drawn = stats_table(plain) if options.stats else topics_table(plain)
    notes = [Text(f"! {printable(note)}", "yellow") for note in found.degraded]
    output.lines(plain, session_heading(session), "", drawn if plain else "no topics yet", *notes)
    return 0


def topic(options: Options, output: Output) -> int:
    """Change a topic as the options say, then show it."""
    with open_memory(options) as memory:
        session = session_of(memory, options)
        handle = find_topic(session, options.topic_id)
        _change(session, handle, options)
        if options.export:
            exported = handle.export()
            output.document({"topic_id": handle.id, "export": exported}) if output.as_json else output.raw(exported)
            return 0
        plain = topic_json(handle)
        turns = handle.history()
        near = handle.near()
    shown_as: list[RenderableType] = [topics_table([plain])]
    shown_as += [Text(f"near: {other[:SHORT_ID]} ({similarity:.2f})", "dim") for other, similarity in near]
    if plain["summary"]:
        shown_as += ["", Text(printable(plain["summary"]), "dim")]
    document = {**plain, "near": [{"topic_id": other, "similarity": round(cosine, 6)} for other, cosine in near]}
    document["turns"] = [turn_json(turn) for turn in turns]
    output.document(document, *shown_as, *[turn_view(turn) for turn in turns])
    return 0


def find_topic(session: Session, given: str) -> "SessionTopic":
    """The topic with this id or unique part of an id."""
    return session.topic(resolve_id(given, [each.id for each in session.topics()]))


def resolve_id(given: str, known: list[str], what: str = "topic", where: str = "`ricordo topics` lists them") -> str:
    """The known id that equals `given`, or the only one that begins or ends with it."""
    found = [each for each in known if each == given]
    found = found or [each for each in known if given and (each.startswith(given) or each.endswith(given))]
    if len(found) > 1:
        raise ValidationError(what, f"{given!r} is a part of {len(found)} ids; give more of it")
    if not found:
        raise NotFoundError(f"there is no {what} {given!r} here; {where}")
    return found[0]


def topics_table(topics: list[dict[str, Any]]) -> Table:
    """Each topic with its priority, half-life, kind and messages."""
    rows = table("topic", "title", "worth now", "half-life", "kind", "messages", right=("half-life", "messages"))
    if any(each["tags"] for each in topics):
        rows.add_column("tags")
    for column in (rows.columns[0], *rows.columns[2:]):
        column.no_wrap = True  # on a narrow terminal only the titles are cut
    for each in topics:
        title = Text(one_line(each["topic_title"], 80), no_wrap=True, overflow="ellipsis")
        cells: list[RenderableType] = [
            Text(printable(each["topic_id"][:SHORT_ID])),
            title,
            _priority(each["priority"], KIND_COLOURS[each["memory_type"]]),
            f"{each['half_life_days']:g} d",
            Text(each["memory_type"], KIND_COLOURS[each["memory_type"]]),
            _messages(each),
            Text(printable(", ".join(each["tags"])), "dim"),
        ]
        rows.add_row(*cells[: len(rows.columns)])
    return rows


def _priority(priority: float, colour: str) -> Text:
    filled = max(round(priority * PRIORITY_BAR), 1 if priority >= 0.005 else 0)
    return Text.assemble(f"{priority:.2f} ", ("█" * filled, colour), ("░" * (PRIORITY_BAR - filled), "dim"))


def _messages(topic: dict[str, Any]) -> str:
    archived = topic["compressed_messages"]
    return f"{topic['active_messages']}" + (f" + {archived} archived" if archived else "")


def stats_table(topics: list[dict[str, Any]]) -> Table:
    """Every figure of every topic, one column per topic."""
    names = [name for name in topics[0] if name not in ("tags", "state", "summary")] if topics else []
    rows = table("", *[str(number) for number in range(1, len(topics) + 1)])
    for name in names:
        rows.add_row(Text(name, "dim"), *[Text(one_line(_figure(each[name]), 24)) for each in topics])
    return rows


def _figure(value: Any) -> str:
    return f"{value:,.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _change(session: Session, handle: "SessionTopic", options: Options) -> None:
    """Make the requested changes; all values are checked before the first change."""
    tags = None if options.tag is None else check_ids("tags", filter(None, options.tag))
    if options.weigh is not None:
        check_within("importance", options.weigh, 0, 1)
    if options.feedback is not None:
        check_within("feedback", options.feedback, -1, 1)
    if options.merge is not None:
        handle.merge(find_topic(session, options.merge).id)
    if tags is not None:
        handle.tag(*tags)
    if options.weigh is not None:
        handle.weigh(options.weigh)
    if options.feedback is not None:
        handle.feedback(options.feedback)


def _topics_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    add_session(parser)
    parser.add_argument("--stats", action="store_true", help="every figure of every topic")


def _topic_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic_id", help="its id, or a unique part of it")
    add_user(parser)
    add_session(parser)
    parser.add_argument("--tag", metavar="TAG", action="append", help="set its tags; repeatable, '' for none")
    parser.add_argument("--weigh", metavar="NUMBER", type=float, help="set its importance, from 0 to 1")
    parser.add_argument("--feedback", metavar="NUMBER", type=float, help="adjust its importance, from -1 to 1")
    parser.add_argument("--merge", metavar="ID", help="merge another topic into it")
    parser.add_argument("--export", action="store_true", help="print only its messages, as base64 of gzip of JSON")


COMMANDS = (
    Command(
        "topics",
        "list a session's topics with their priority",
        topics,
        _topics_arguments,
        "ricordo topics --user anna --stats",
    ),
    Command(
        "topic",
        "show a topic with its archived messages; tag, weigh, merge or export it",
        topic,
        _topic_arguments,
        "ricordo topic 1f3a09c2 --user anna --tag bread --feedback 1",
    ),
)
