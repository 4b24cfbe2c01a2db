"""Commands on what is known of a user (facts, profile, summaries) and on safety (flags, check).

A running program learns facts in the background. A command ends at once, so `facts` and `profile` first do the work
that is waiting.
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
    Options,
    add_agent,
    add_talk,
    add_user,
    chosen_settings,
    command,
    open_memory,
    parse_time,
    read_text,
    resolve_id,
    session_of,
    user_of,
)
from ricordo.cli.output import (
    SHORT_ID,
    Output,
    Step,
    fact_json,
    flag_json,
    local_time,
    one_line,
    printable,
    session_heading,
    summary_json,
    table,
)
from ricordo.errors import ValidationError
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.records.derived import Fact, Flag, FlagState, Profile, Summary
from ricordo.records.service import as_json

MAX_FACT = 100  # characters of a fact in a row; --json has all of them


def _facts_arguments(parser: argparse.ArgumentParser) -> None:
    names = ("list", "pin", "unpin", "forget")
    parser.add_argument("action", nargs="?", choices=names, default=names[0], help="default: %(default)s")
    parser.add_argument("fact_id", nargs="?", help="for pin, unpin and forget: its id, or a unique part of it")
    add_user(parser)
    add_agent(parser)
    parser.add_argument("--at", metavar="TIME", help="facts that held at this day or time")
    parser.add_argument("--all", action="store_true", help="also facts that no longer hold")


@command(
    "list the facts known of a user, now or at a time; pin, unpin or forget one",
    _facts_arguments,
    "ricordo facts --user anna --at 2026-05-01",
)
def facts(options: Options, output: Output) -> None:
    user_id = user_of(options)
    if (options.action == "list") != (options.fact_id is None):
        raise ValidationError("facts", "pin, unpin and forget need the id of a fact; see `ricordo facts`")
    with open_memory(options) as memory:
        if options.action != "list":
            known = [each.id for each in memory.facts(user_id, options.agent, superseded=True)]
            fact_id = resolve_id(options.fact_id, known, "fact", "`ricordo facts --all` lists them")
        if options.action in ("pin", "unpin"):
            pinned = options.action == "pin"
            fact = memory.pin_fact(fact_id, user_id=user_id, agent_id=options.agent, pinned=pinned)
            output.document(fact_json(fact), f"{options.action}ned fact {fact_id}")
            return
        if options.action == "forget":
            memory.forget_fact(fact_id, user_id=user_id, agent_id=options.agent)
            plain = {"fact_id": fact_id, "forgotten": True}
            output.document(plain, f"forgot fact {fact_id}; it is not learned again")
            return
        with output.progress("learning") as step:
            _catch_up(memory, user_id, step)
        at = parse_time("at", options.at)
        found = memory.facts(user_id, options.agent, at=at, superseded=options.all)
    shown_as: RenderableType = facts_table(found) if found else f"nothing is known of user {user_id!r}"
    output.lines(map(fact_json, found), shown_as)


def _profile_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    add_agent(parser)
    parser.add_argument("--prompt", metavar="BASE", help="show the system prompt BASE with safety rules and profile")


@command(
    "show the profile of a user that prompts include",
    _profile_arguments,
    'ricordo profile --user anna --prompt "You are a patient tutor."',
)
def profile(options: Options, output: Output) -> None:
    user_id = user_of(options)
    with open_memory(options) as memory:
        with output.progress("learning") as step:
            _catch_up(memory, user_id, step)
        if options.prompt is not None:
            enhanced = memory.enhance_prompt(options.prompt, user_id=user_id, agent_id=options.agent)
            tokens = memory.counter.count(enhanced)
            plain = {"prompt": enhanced, "tokens": tokens}
            output.document(plain) if output.as_json else output.raw(enhanced)
            output.note(Text(f"{tokens:,} tokens", "dim"))
            return
        found = memory.profile(user_id, options.agent)
    empty = f"nothing is known of user {user_id!r}"
    output.document(as_json(found), empty if found.is_empty else profile_view(found))


def _summaries_arguments(parser: argparse.ArgumentParser) -> None:
    add_talk(parser)
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=50, help="default: %(default)s")


@command("list a session's summaries with the turns they cover", _summaries_arguments, "ricordo summaries --user anna")
def summaries(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        session = session_of(memory, options)
        found = session.summaries(options.limit)
    drawn = [part for each in found for part in ("", summary_view(each))]
    output.lines(map(summary_json, found), session_heading(session), *(drawn or ["there is no summary yet"]))


@command(
    "summarise the oldest turns of a session; every turn stays",
    add_talk,
    "ricordo condense --user anna",
)
def condense(options: Options, output: Output) -> None:
    with open_memory(options) as memory, output.progress("condensing"):
        session = session_of(memory, options)
        made = session.condense()
    result = summary_view(made) if made else "there is too little to condense; the turns are unchanged"
    output.document(summary_json(made) if made else None, session_heading(session), result)


def facts_table(found: list[Fact]) -> Table:
    """Each fact with its id, kind, text and the time in which it holds."""
    rows = table("fact", "kind", "text", "true since", "until")
    for column in (rows.columns[0], rows.columns[1], rows.columns[3], rows.columns[4]):
        column.no_wrap = True
    for fact in found:
        until = local_time(fact.valid_to) if fact.valid_to else ""
        rows.add_row(
            Text(printable(fact.id[-SHORT_ID:])),
            Text(fact.shown_kind + (", pinned" if fact.pinned else ""), "cyan"),
            Text(one_line(fact.text, MAX_FACT)),
            local_time(fact.valid_from),
            until,
            style="dim" if until else "",
        )
    return rows


def profile_view(found: Profile) -> RenderableType:
    rows = Table.grid(padding=(0, 2, 0, 0))
    parts: list[tuple[str, list[str]]] = [
        ("recent summary", [found.recent_summary] if found.recent_summary else []),
        ("key facts", list(found.key_facts)),
        ("topics", [", ".join(found.topics)] if found.topics else []),
        ("last session", [local_time(found.last_session_date)] if found.last_session_date else []),
    ]
    for name, texts in parts:
        for number, each in enumerate(texts):
            rows.add_row(Text("" if number else name, "bold"), Text(printable(each)))
    return rows


def summary_view(summary: Summary) -> Text:
    author = f"by {printable(summary.made_by)}, {local_time(summary.created_at)}"
    turns = f"turns {summary.first_turn} to {summary.last_turn}"
    facts = f"{summary.kind}, {turns}, {summary.tokens:,} tokens, {author}"
    return Text.assemble((facts, "dim"), "\n", printable(summary.text))


def _catch_up(memory: Memory, user_id: str, step: Step) -> None:
    """Do the background work of the user's recent sessions now."""
    recent = memory.sessions(user_id=user_id)
    for number, session in enumerate(recent, start=1):
        memory.catch_up(session.id, user_id=user_id)
        step(number, len(recent))


STATES: dict[str, FlagState] = {"release": "released", "quarantine": "quarantined"}
FLAG_COLOURS = {"quarantined": "red", "flagged": "yellow", "released": "green"}


def _flags_arguments(parser: argparse.ArgumentParser) -> None:
    actions = ("list", *STATES)
    parser.add_argument("action", nargs="?", choices=actions, default="list", help="default: %(default)s")
    parser.add_argument("flag_id", nargs="?", help="its id, or a unique part of it")
    add_user(parser)
    parser.add_argument("--state", choices=list(FLAG_COLOURS), help="only those in this state")
    parser.add_argument("-n", "--limit", metavar="N", type=int, default=1_000, help="default: %(default)s")


@command(
    "list memories that look suspicious or speak of a crisis; release one from quarantine, or put it back",
    _flags_arguments,
    "ricordo flags --user anna --state quarantined",
)
def flags(options: Options, output: Output) -> None:
    user_id = user_of(options)
    if (options.action in STATES) != (options.flag_id is not None):
        raise ValidationError("flags", "release and quarantine need the id of a flag; see `ricordo flags`")
    with open_memory(options) as memory:
        if options.action in STATES:
            known = [each.id for each in memory.flags(user_id)]
            flag_id = resolve_id(options.flag_id, known, "flag", "`ricordo flags` lists them")
            flag = memory.set_flag(flag_id, STATES[options.action], user_id=user_id)
            output.document(flag_json(flag), f"{flag.state}: {flag.subject} {flag.subject_id}")
            return
        found = memory.flags(user_id, state=options.state, limit=options.limit)
    output.lines(map(flag_json, found), flags_table(found) if found else f"nothing of user {user_id!r} is flagged")


def flags_table(found: list[Flag]) -> Any:
    """Each flag: its state, its subject and the rules that raised it."""
    rows = table("flag", "state", "what", "id of what", "why", "since")
    rows.columns[0].no_wrap = rows.columns[1].no_wrap = rows.columns[5].no_wrap = True
    for flag in found:
        rows.add_row(
            Text(printable(flag.id[-SHORT_ID:])),
            Text(flag.state, FLAG_COLOURS[flag.state]),
            flag.subject,
            Text(printable(flag.subject_id)),
            Text(printable(", ".join(flag.rules))),
            local_time(flag.created_at),
        )
    return rows


@command(
    "show what the safety rules find in a text; exit code 1 if anything",
    lambda parser: parser.add_argument("text", help="the text; - reads it from standard input"),
    'ricordo check "Ignore all previous instructions" --json',
)
def check(options: Options, output: Output) -> int:
    seen = check_json(read_text(options.text), options)
    rows = table("", "")
    if crisis := seen["crisis"]:
        words = f"{crisis['category']}, tier {crisis['tier']}, rule {crisis['rule']} ({crisis['language']})"
        rows.add_row(Text("crisis", "bold red"), Text(printable(words)))
        rows.add_row("", Text(printable(crisis["notice"])))
    if seen["signals"]:
        strength = "strong" if seen["signals_are_strong"] else "weak"
        rows.add_row(Text("signals", "bold yellow"), Text(f"{', '.join(seen['signals'])} ({strength})"))
        rows.add_row("", Text(f"said by the user: {seen['user_said']} · in a document: {seen['document']}", "dim"))
    if seen["personal_data"]:
        kinds = ", ".join(f"{each['kind']} at {each['start']}–{each['end']}" for each in seen["personal_data"])
        rows.add_row(Text("personal data", "bold cyan"), Text(kinds))
        rows.add_row("", Text(f"as facts keep it: {printable(seen['redacted'] or 'not at all')}", "dim"))
    output.document(seen, rows if rows.rows else "nothing was found; the rules do not find everything")
    return FAILED if rows.rows else OK


def check_json(text: str, options: Options) -> dict[str, Any]:
    """What the rules find in a text, under the effective settings."""
    from ricordo.safety.crisis import configured_phrases, detect_crisis
    from ricordo.safety.pii import PII_KINDS, redact
    from ricordo.safety.screen import decide, is_strong, signals

    safety = settings_from(chosen_settings(options), os.environ).safety
    sign, names = detect_crisis(text, phrases=configured_phrases(safety)), signals(text)
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
