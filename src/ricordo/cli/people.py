"""Commands on what is known of a person: facts, the profile, summaries of sessions.

What a talk teaches is learned beside it by a program that keeps running. A command ends at once, so these learn first
what is left to learn, and then show it.
"""

import argparse
import os
from typing import Any

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from ricordo.cli.arguments import (
    FAILED,
    OK,
    Command,
    Options,
    add_agent,
    add_session,
    add_user,
    keywords_of,
    open_memory,
    user_of,
)
from ricordo.cli.output import Output, Step, fact_json, flag_json, one_line, profile_json, shown, summary_json, table
from ricordo.cli.search import moment
from ricordo.cli.sessions import day, heading, session_of
from ricordo.cli.topics import SHORT_ID, whole_id
from ricordo.cli.turns import read_text
from ricordo.errors import ValidationError
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.records.people import Fact, Flag, FlagState, Profile, Summary

LONGEST = 100  # characters of a fact in a row; --json has all of them


def facts(options: Options, output: Output) -> int:
    """What is known of a user, or forget one thing of it."""
    user_id = user_of(options)
    if (options.action == "forget") != (options.fact_id is not None):
        raise ValidationError("facts", "forget needs the id of a fact, and nothing else does; see `ricordo facts`")
    with open_memory(options) as memory:
        if options.action == "forget":
            known = [each.id for each in memory.facts(user_id, options.agent, superseded=True)]
            fact_id = whole_id(options.fact_id, known, "fact", "`ricordo facts --all` lists them")
            memory.forget_fact(fact_id, user_id=user_id, agent_id=options.agent)
            plain = {"fact_id": fact_id, "forgotten": True}
            output.document(plain, f"forgot fact {fact_id}; it is not learned again")
            return 0
        with output.progress("learning") as step:
            _learn(memory, user_id, step)
        at = moment("at", options.at)
        found = memory.facts(user_id, options.agent, at=at, superseded=options.all)
    shown_as: RenderableType = facts_table(found) if found else f"nothing is known of user {user_id!r}"
    output.lines(map(fact_json, found), shown_as)
    return 0


def profile(options: Options, output: Output) -> int:
    """What a prompt is told of a user."""
    user_id = user_of(options)
    with open_memory(options) as memory:
        with output.progress("learning") as step:
            _learn(memory, user_id, step)
        if options.prompt is not None:
            enhanced = memory.enhance_prompt(options.prompt, user_id=user_id, agent_id=options.agent)
            tokens = memory.counter.count(enhanced)
            plain = {"prompt": enhanced, "tokens": tokens}
            output.document(plain) if output.as_json else output.raw(enhanced)
            output.aside(Text(f"{tokens:,} tokens", "dim"))
            return 0
        found = memory.profile(user_id, options.agent)
    empty = f"nothing is known of user {user_id!r}"
    output.document(profile_json(found), empty if found.is_empty else profile_view(found))
    return 0


def summaries(options: Options, output: Output) -> int:
    """A session's summaries."""
    with open_memory(options) as memory:
        session = session_of(memory, options)
        found = session.summaries(options.limit)
    drawn = [part for each in found for part in ("", summary_view(each))]
    output.lines(map(summary_json, found), heading(session), *(drawn or ["there is no summary yet"]))
    return 0


def condense(options: Options, output: Output) -> int:
    """Summarise what is far back in a session."""
    with open_memory(options) as memory, output.progress("condensing"):
        session = session_of(memory, options)
        made = session.condense()
    told = summary_view(made) if made else "there is too little to condense; the turns are as they were"
    output.document(summary_json(made) if made else None, heading(session), told)
    return 0


def facts_table(found: list[Fact]) -> Table:
    """Each fact with what kind it is, since when and until when it was true, and where it was said."""
    rows = table("fact", "kind", "text", "true since", "until")
    for column in (rows.columns[0], rows.columns[1], rows.columns[3], rows.columns[4]):
        column.no_wrap = True
    for fact in found:
        until = day(fact.valid_to) if fact.valid_to else ""
        rows.add_row(
            Text(shown(fact.id[-SHORT_ID:])),
            Text(fact.kind, "cyan"),
            Text(one_line(fact.text, LONGEST)),
            day(fact.valid_from),
            until,
            style="dim" if until else "",
        )
    return rows


def profile_view(found: Profile) -> RenderableType:
    """A profile, part by part."""
    rows = Table.grid(padding=(0, 2, 0, 0))
    parts: list[tuple[str, list[str]]] = [
        ("recent summary", [found.recent_summary] if found.recent_summary else []),
        ("key facts", list(found.key_facts)),
        ("topics", [", ".join(found.topics)] if found.topics else []),
        ("last session", [day(found.last_session_date)] if found.last_session_date else []),
    ]
    for name, said in parts:
        for number, each in enumerate(said):
            rows.add_row(Text("" if number else name, "bold"), Text(shown(each)))
    return rows


def summary_view(summary: Summary) -> Text:
    """A summary with the turns that it covers and who made it."""
    turns = f"turns {summary.first_turn} to {summary.last_turn}"
    facts = (
        f"{summary.kind}, {turns}, {summary.tokens:,} tokens, by {shown(summary.made_by)}, {day(summary.created_at)}"
    )
    return Text.assemble((facts, "dim"), "\n", shown(summary.text))


def _learn(memory: Memory, user_id: str, step: Step) -> None:
    """Do for the recent sessions what a running program would have done beside the chat."""
    recent = memory.sessions(user_id=user_id)
    for number, session in enumerate(recent, start=1):
        memory.catch_up(session.id, user_id=user_id)
        step(number, len(recent))


def _facts_arguments(parser: argparse.ArgumentParser) -> None:
    _actions(parser, ("list", "forget"))
    parser.add_argument("fact_id", nargs="?", help="for forget: its id, or as much of it as is enough")
    add_user(parser)
    add_agent(parser)
    parser.add_argument("--at", metavar="TIME", help="what was known on that day or at that time")
    parser.add_argument("--all", action="store_true", help="also what was true once and is not any more")


def _profile_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    add_agent(parser)
    parser.add_argument("--prompt", metavar="BASE", help="show the system prompt BASE with safety rules and profile")


def _summaries_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    add_session(parser)
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=50, help="default: %(default)s")


def _condense_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    add_session(parser)


def _actions(parser: argparse.ArgumentParser, names: tuple[str, ...]) -> Any:
    return parser.add_argument("action", nargs="?", choices=names, default=names[0], help="default: %(default)s")


PERSON_COMMANDS = (
    Command(
        "facts",
        "list what is known of a user, now or on a day, or forget one thing of it",
        facts,
        _facts_arguments,
        "ricordo facts --user anna --at 2026-05-01",
    ),
    Command(
        "profile",
        "show what a prompt is told of a user",
        profile,
        _profile_arguments,
        'ricordo profile --user anna --prompt "You are a patient tutor."',
    ),
    Command(
        "summaries",
        "list a session's summaries with the turns they cover",
        summaries,
        _summaries_arguments,
        "ricordo summaries --user anna",
    ),
    Command(
        "condense",
        "summarise what is far back in a session; every turn stays",
        condense,
        _condense_arguments,
        "ricordo condense --user anna",
    ),
)


# Commands for those who watch over safety: what was flagged, and what the rules see in a text.

STATES: dict[str, FlagState] = {"release": "released", "quarantine": "quarantined"}
COLOURS = {"quarantined": "red", "flagged": "yellow", "released": "green"}


def flags(options: Options, output: Output) -> int:
    """What was flagged of a user's memories, or let one of them back in."""
    user_id = user_of(options)
    if (options.action in STATES) != (options.flag_id is not None):
        raise ValidationError("flags", "release and quarantine need the id of a flag; see `ricordo flags`")
    with open_memory(options) as memory:
        if options.action in STATES:
            known = [each.id for each in memory.flags(user_id)]
            flag_id = whole_id(options.flag_id, known, "flag", "`ricordo flags` lists them")
            flag = memory.set_flag(flag_id, STATES[options.action], user_id=user_id)
            output.document(flag_json(flag), f"{flag.state}: {flag.subject} {flag.subject_id}")
            return OK
        found = memory.flags(user_id, state=options.state, limit=options.limit)
    output.lines(map(flag_json, found), flags_table(found) if found else f"nothing of user {user_id!r} is flagged")
    return OK


def flags_table(found: list[Flag]) -> Any:
    """Each flag: what it is about, why, and whether that is kept away from prompts."""
    rows = table("flag", "state", "what", "id of what", "why", "since")
    rows.columns[0].no_wrap = rows.columns[1].no_wrap = rows.columns[5].no_wrap = True
    for flag in found:
        rows.add_row(
            Text(shown(flag.id[-SHORT_ID:])),
            Text(flag.state, COLOURS[flag.state]),
            flag.subject,
            Text(shown(flag.subject_id)),
            Text(shown(", ".join(flag.rules))),
            day(flag.created_at),
        )
    return rows


def check(options: Options, output: Output) -> int:
    """What the rules see in a text: a crisis, signs of an attack, personal data."""
    seen = checked(read_text(options.text), options)
    rows = table("", "")
    if crisis := seen["crisis"]:
        words = f"{crisis['category']}, tier {crisis['tier']}, rule {crisis['rule']} ({crisis['language']})"
        rows.add_row(Text("crisis", "bold red"), Text(shown(words)))
        rows.add_row("", Text(shown(crisis["notice"])))
    if seen["signals"]:
        strength = "strong" if seen["signals_are_strong"] else "weak"
        rows.add_row(Text("signals", "bold yellow"), Text(f"{', '.join(seen['signals'])} ({strength})"))
        rows.add_row("", Text(f"said by the user: {seen['user_said']} · in a document: {seen['document']}", "dim"))
    if seen["personal_data"]:
        kinds = ", ".join(f"{each['kind']} at {each['start']}–{each['end']}" for each in seen["personal_data"])
        rows.add_row(Text("personal data", "bold cyan"), Text(kinds))
        rows.add_row("", Text(f"as facts keep it: {shown(seen['redacted'] or 'not at all')}", "dim"))
    output.document(seen, rows if rows.rows else "nothing was seen; no rule sees everything")
    return FAILED if rows.rows else OK


def checked(text: str, options: Options) -> dict[str, Any]:
    """Everything that the rules say of a text, under the settings in force."""
    from ricordo.records.reports import as_json
    from ricordo.safety.crisis import crisis, phrases_for
    from ricordo.safety.pii import PII_KINDS, redact
    from ricordo.safety.signals import is_strong, signals
    from ricordo.safety.trust import decide

    safety = settings_from(keywords_of(options), os.environ).safety
    sign, names = crisis(text, phrases=phrases_for(safety)), signals(text)
    kept = redact(text, dict.fromkeys(PII_KINDS, safety.personal_data))
    return {
        "crisis": as_json(sign) if sign else None,
        "signals": list(names),
        "signals_are_strong": is_strong(names),
        "user_said": decide("user_said", "message", names, safety.suspicious),
        "document": decide("document", "chunk", names, safety.suspicious),
        "personal_data": [as_json(span) for span in kept.spans],
        "redacted": None if kept.blocked else kept.text,
    }


def _flags_arguments(parser: argparse.ArgumentParser) -> None:
    actions = ("list", *STATES)
    parser.add_argument("action", nargs="?", choices=actions, default="list", help="default: %(default)s")
    parser.add_argument("flag_id", nargs="?", help="its id, or as much of it as is enough")
    add_user(parser)
    parser.add_argument("--state", choices=list(COLOURS), help="only those in this state")
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=1_000, help="default: %(default)s")


def _check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("text", help="the text; - reads it from standard input")


SAFETY_COMMANDS = (
    Command(
        "flags",
        "list memories that look suspicious or speak of a crisis; release one from quarantine, or put it back",
        flags,
        _flags_arguments,
        "ricordo flags --user anna --state quarantined",
    ),
    Command(
        "check",
        "say what the safety rules see in a text; exit code 1 if anything",
        check,
        _check_arguments,
        'ricordo check "Ignore all previous instructions" --json',
    ),
)
