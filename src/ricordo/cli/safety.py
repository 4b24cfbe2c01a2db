"""Commands for those who watch over safety: what was flagged, and what the rules see in a text.

Flags never show the text that they are about; `ricordo show` does, for those who may read it.
"""

import argparse
import os
from typing import Any

from rich.text import Text

from ricordo.cli.exits import FAILED, OK
from ricordo.cli.options import Command, Options, add_user, keywords_of, open_memory, user_of
from ricordo.cli.output import Output, shown, table
from ricordo.cli.plain import flag_json
from ricordo.cli.reading import day
from ricordo.cli.talking import read_text
from ricordo.cli.topics import SHORT_ID, whole_id
from ricordo.errors import ValidationError
from ricordo.person import Flag, FlagState
from ricordo.presets import settings_from

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
    from ricordo.reports import as_json
    from ricordo.safety.crisis import crisis
    from ricordo.safety.pii import PII_KINDS, redact
    from ricordo.safety.signals import is_strong, signals
    from ricordo.safety.trust import decide
    from ricordo.verbs.crises import phrases_for

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


COMMANDS = (
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
