"""Maintenance commands: verify, backup, stats, and the effective settings with their origin."""

import argparse
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from rich.text import Text

from ricordo.cli.arguments import FAILED, OK, Command, Options, chosen_settings, cli_defaults, open_memory
from ricordo.cli.output import Output, one_line, printable, table
from ricordo.languages.locales import Locale
from ricordo.memory import Memory
from ricordo.presets import INHERITED_VARIABLES, PRESETS, settings_from
from ricordo.records.reports import as_json
from ricordo.settings import Settings, setting_names


def verify(options: Options, output: Output) -> int:
    """Recompute counts, checksums and numbering, and report damage."""
    with open_memory(options) as memory, output.progress("verifying") as step:
        result = memory.verify(step)
    verdict = "sound" if result.ok else f"{len(result.damages)} damages"
    summary = f"{result.sessions:,} sessions, {result.turns:,} turns: {verdict}"
    found = [Text(f"{printable(each.where)}: {printable(each.problem)}", "red") for each in result.damages]
    output.document({**as_json(result), "ok": result.ok}, summary, *found)
    return OK if result.ok else FAILED


def backup(options: Options, output: Output) -> int:
    """Copy the database to a new file while it is in use."""
    with open_memory(options) as memory, output.progress("copying") as step:
        memory.backup(options.path, step)
    size = os.path.getsize(options.path)
    output.document({"path": options.path, "bytes": size}, f"copied to {options.path} ({size:,} bytes)")
    return OK


def stats(options: Options, output: Output) -> int:
    """Counts, sizes and the parts in use."""
    with open_memory(options) as memory:
        result = memory.stats()
        embedder = _embedder(memory)
    rows = table("", "")
    holds = result.holds
    size = "–" if holds.bytes_on_disk is None else f"{holds.bytes_on_disk:,}"
    facts = {
        "store": result.store,
        "tenant": result.tenant_id,
        "preset": result.preset,
        "token counter": f"{result.counter} ({'exact' if result.counter_exact else 'approximate'})",
        "embedder": embedder,
        "users": f"{holds.users:,}",
        "sessions": f"{holds.sessions:,}",
        "turns": f"{holds.turns:,} ({holds.open_turns:,} open)",
        "receipts": f"{holds.receipts:,}",
        "bytes on disk": size,
    }
    for name, value in facts.items():
        rows.add_row(Text(name, "dim"), Text(printable(value)))
    plain = {**as_json(result), "embedder": embedder}
    output.document(plain, rows, *[Text(f"! {printable(note)}", "yellow") for note in result.degraded])
    return OK


def _embedder(memory: Memory) -> str:
    """The embedder in use and why; if it is unavailable, the error instead of a failed command."""
    from ricordo.recall.embedders.protocol import EmbedderError
    from ricordo.recall.embedders.selection import choose

    try:
        choice = choose(memory.settings.recall.embedder)
    except EmbedderError as error:
        return f"{memory.settings.recall.embedder}: {error}"
    return f"{choice.embedder.name} ({choice.why})"


def settings(options: Options, output: Output) -> int:
    """Every setting, its value and where it comes from."""
    listed = effective_settings(chosen_settings(options), os.environ, cli_defaults(os.environ))
    rows = table("setting", "value", "from")
    for each in listed:
        style = "dim" if each.origin == "default" else ""
        rows.add_row(each.name, Text(one_line(str(each.value), 50)), Text(each.origin), style=style)
    plain = {each.name: {"value": each.value, "origin": each.origin} for each in listed}
    output.document(plain, rows)
    return OK


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """A setting's value and the last place that set it."""

    name: str
    value: Any
    origin: str


def effective_settings(
    keywords: Mapping[str, Any], environment: Mapping[str, str], own: Mapping[str, Any] | None = None
) -> list[EffectiveSetting]:
    """All settings in the order of their groups.

    `own` are the command line's defaults, which the keywords override.
    """
    chosen = settings_from({**(own or {}), **keywords}, environment)
    inherited = {name: variable for variable, (name, _) in INHERITED_VARIABLES.items() if variable in environment}

    def origin(name: str) -> str:
        if name in keywords:
            return {"preset": "--preset", "tenant_id": "--tenant"}.get(name, "--set")
        if name in (own or {}):
            return "command line"
        if f"RICORDO_{name.upper()}" in environment:
            return f"RICORDO_{name.upper()}"
        if name in inherited:
            return inherited[name]
        return f"preset {chosen.preset}" if name in PRESETS[chosen.preset] else "default"

    return [EffectiveSetting(name, setting_json(_value(chosen, name)), origin(name)) for name in setting_names()]


def setting_json(value: Any) -> Any:
    """A setting's value as JSON, in the form that `--set` accepts."""
    if isinstance(value, Locale):
        return value.code
    if isinstance(value, timedelta):
        return duration(value)
    return value


def duration(value: timedelta) -> str:
    """A duration in the largest unit that divides it."""
    seconds = value.total_seconds()
    for unit, size in (("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds % size == 0 and seconds > size * (unit == "d"):
            return f"{seconds // size:.0f}{unit}"
    return f"{seconds:.6f}".rstrip("0").rstrip(".") + "s"


def _value(settings: Settings, name: str) -> Any:
    group, _ = setting_names()[name]
    return getattr(settings if group is None else getattr(settings, group), name)


def _backup_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", help="a new SQLite file")


COMMANDS = (
    Command("verify", "check numbering, counts and checksums; exit code 1 on damage", verify, example="ricordo verify"),
    Command(
        "backup",
        "copy the database to a new file, online",
        backup,
        _backup_arguments,
        "ricordo backup copy.db",
    ),
    Command("stats", "show counts, sizes and the parts in use", stats, example="ricordo stats --json"),
    Command(
        "settings",
        "show the effective settings and where each comes from",
        settings,
        example="RICORDO_MAX_TURNS=5 ricordo settings --preset tutor",
    ),
)
