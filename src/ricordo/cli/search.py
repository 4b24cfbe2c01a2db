"""Recall commands: search a user's messages, recompute vectors for another embedder, read and change topics."""

import argparse
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.text import Text

from ricordo.cli.arguments import (
    Options,
    add_talk,
    add_user,
    command,
    open_memory,
    parse_time,
    read_text,
    resolve_id,
    session_of,
    user_of,
)
from ricordo.cli.output import SHORT_ID, Output, printable, session_heading, topic_json, turn_json, turn_view
from ricordo.cli.views import hits_json, hits_view, stats_table, topics_table
from ricordo.limits import check_ids, check_within
from ricordo.memory import Memory
from ricordo.records.turns import Owner
from ricordo.session import Session

if TYPE_CHECKING:
    from ricordo.topics.session_topic import SessionTopic


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


@command(
    "find past messages by words, meaning and time, with the reasons",
    _search_arguments,
    'ricordo search "which oven do I have?" --user anna --after 2026-01-01',
)
def search(options: Options, output: Output) -> None:
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


@command("recompute all vectors with the current embedder", example="ricordo embed --set embedder=light")
def embed(options: Options, output: Output) -> None:
    with open_memory(options) as memory, output.progress("embedding") as step:
        turns = memory.embed_again(progress=step)
        embedder = memory.stats().embedder
    output.document({"turns": turns, "embedder": embedder}, f"embedded {turns:,} turns with {embedder}")


def _topic(memory: Memory, options: Options) -> str | None:
    """The id of --topic, completed from the topics of --session or of all sessions of the user."""
    if options.topic is None:
        return None
    owner = Owner(memory.settings.tenant_id, user_of(options))
    sessions = [options.session] if options.session else list(memory.store.sessions.marks(owner))
    return resolve_id(
        options.topic, [each.id for name in sessions for each in memory.store.topics.load(owner, name).topics]
    )


def _topics_arguments(parser: argparse.ArgumentParser) -> None:
    add_talk(parser)
    parser.add_argument("--stats", action="store_true", help="every figure of every topic")


@command("list a session's topics with their priority", _topics_arguments, "ricordo topics --user anna --stats")
def topics(options: Options, output: Output) -> None:
    with open_memory(options) as memory, output.progress("organising"):
        session = session_of(memory, options)
        found = session.topics()
        plain = [topic_json(session.topic(topic.id)) for topic in found]
    drawn = stats_table(plain) if options.stats else topics_table(plain)
    notes = [Text(f"! {printable(note)}", "yellow") for note in found.degraded]
    output.lines(plain, session_heading(session), "", drawn if plain else "no topics yet", *notes)


def _topic_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic_id", help="its id, or a unique part of it")
    add_talk(parser)
    parser.add_argument("--tag", metavar="TAG", action="append", help="set its tags; repeatable, '' for none")
    parser.add_argument("--weigh", metavar="NUMBER", type=float, help="set its importance, from 0 to 1")
    parser.add_argument("--feedback", metavar="NUMBER", type=float, help="adjust its importance, from -1 to 1")
    parser.add_argument("--merge", metavar="ID", help="merge another topic into it")
    parser.add_argument("--export", action="store_true", help="print only its messages, as base64 of gzip of JSON")


@command(
    "show a topic with its archived messages; tag, weigh, merge or export it",
    _topic_arguments,
    "ricordo topic 1f3a09c2 --user anna --tag bread --feedback 1",
)
def topic(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        session = session_of(memory, options)
        handle = find_topic(session, options.topic_id)
        _change(session, handle, options)
        if options.export:
            exported = handle.export()
            output.document({"topic_id": handle.id, "export": exported}) if output.as_json else output.raw(exported)
            return
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


def find_topic(session: Session, given: str) -> "SessionTopic":
    """The topic with this id or unique part of an id."""
    return session.topic(resolve_id(given, [each.id for each in session.topics()]))


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
