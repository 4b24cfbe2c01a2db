"""Maintenance commands: verify, repair, backup, stats, the effective settings, benchmarks, the weights of embedders."""

import argparse
import importlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, fields
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

import ricordo
from ricordo.cli.arguments import FAILED, OK, Options, chosen_settings, cli_defaults, command, open_memory
from ricordo.cli.output import Output, counted, duration, one_line, printable, table
from ricordo.errors import RicordoError, SettingsError, ValidationError
from ricordo.languages.registry import Locale
from ricordo.memory import Memory
from ricordo.presets import INHERITED_VARIABLES, PRESETS, settings_from
from ricordo.records.service import as_json
from ricordo.settings import Settings, setting_names

if TYPE_CHECKING:
    from ricordo.recall.embedders.weights import WeightSet


@command("check numbering, counts and checksums; exit code 1 on damage", example="ricordo verify")
def verify(options: Options, output: Output) -> int:
    with open_memory(options) as memory, output.progress("verifying") as step:
        result = memory.verify(step)
    verdict = "sound" if result.ok else counted(len(result.damages), "damage")
    summary = f"{counted(result.sessions, 'session')}, {counted(result.turns, 'turn')}: {verdict}"
    found = [Text(f"{printable(each.where)}: {printable(each.problem)}", "red") for each in result.damages]
    output.document({**as_json(result), "ok": result.ok}, summary, *found)
    return OK if result.ok else FAILED


@command(
    "derive topics, summaries and facts again where they differ from the turns; exit code 1 if damage is left",
    example="ricordo repair",
)
def repair(options: Options, output: Output) -> int:
    with open_memory(options) as memory, output.progress("repairing") as step:
        result = memory.repair(step)
    left = result.verification
    verdict = "sound" if left.ok else f"{counted(len(left.damages), 'damage')} left; restore a backup"
    counts = f"{counted(left.sessions, 'session')}, {counted(left.turns, 'turn')}"
    summary = f"{len(result.mended)} mended; {counts}: {verdict}"
    mended = [Text(f"mended: {printable(each.where)}: {printable(each.problem)}") for each in result.mended]
    found = [Text(f"{printable(each.where)}: {printable(each.problem)}", "red") for each in left.damages]
    output.document({**as_json(result), "ok": left.ok}, summary, *mended, *found)
    return OK if left.ok else FAILED


@command(
    "copy the database to a new file, online",
    lambda parser: parser.add_argument("path", help="a new SQLite file"),
    "ricordo backup copy.db",
)
def backup(options: Options, output: Output) -> None:
    with open_memory(options) as memory, output.progress("copying") as step:
        memory.backup(options.path, step)
    size = os.path.getsize(options.path)
    output.document({"path": options.path, "bytes": size}, f"copied to {options.path} ({size:,} bytes)")


@command("show counts, sizes and the parts in use", example="ricordo stats --json")
def stats(options: Options, output: Output) -> None:
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


def _embedder(memory: Memory) -> str:
    """The embedder in use and why; if it is unavailable, the error instead of a failed command."""
    from ricordo.recall.embedders import EmbedderError
    from ricordo.recall.embedders.selection import choose

    try:
        choice = choose(memory.settings.recall.embedder)
    except EmbedderError as error:
        return f"{memory.settings.recall.embedder}: {error}"
    return f"{choice.embedder.name} ({choice.why})"


@command(
    "show the effective settings and where each comes from",
    example="RICORDO_MAX_TURNS=5 ricordo settings --preset tutor",
)
def settings(options: Options, output: Output) -> None:
    listed = effective_settings(chosen_settings(options), os.environ, cli_defaults(os.environ))
    rows = table("setting", "value", "from")
    for each in listed:
        style = "dim" if each.origin == "default" else ""
        rows.add_row(each.name, Text(one_line(str(each.value), 50)), Text(each.origin), style=style)
    plain = {each.name: {"value": each.value, "origin": each.origin} for each in listed}
    output.document(plain, rows)


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


HIDDEN = "(not shown)"
_SECRET = frozenset(each.name for each in fields(Settings) if not each.repr)


def setting_json(value: Any) -> Any:
    """A setting's value as JSON, in the form that `--set` accepts."""
    if isinstance(value, Locale):
        return value.code
    if isinstance(value, timedelta):
        return duration(value)
    return value


def _value(settings: Settings, name: str) -> Any:
    group, _ = setting_names()[name]
    value = getattr(settings if group is None else getattr(settings, group), name)
    return HIDDEN if value and name in _SECRET else value


def _bench_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="the benchmark; without a name all are listed")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="its arguments; try --help")


@command("run a benchmark", _bench_arguments, "ricordo bench topics --help")
def bench(options: Options, output: Output) -> int:
    root = Path(ricordo.__file__).resolve().parents[2]
    if not (root / "bench" / "__main__.py").exists():
        raise SettingsError("bench", "benchmarks come with the source: run this in a checkout installed with -e")
    if str(root) not in sys.path:
        sys.path.insert(0, str(root))
    return int(importlib.import_module("bench.catalogue").run(options, output))


WEIGHTS_COLOURS = {"verified": "green", "missing": "yellow", "refused": "red"}


def _weights_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="*", help="which sets; default: all")
    parser.add_argument("--fetch", action="store_true", help="download what is missing, checked by hash")


@command(
    "check the embedders' weights by hash, or fetch them; exit code 1 if any is missing",
    _weights_arguments,
    "ricordo weights --fetch",
)
def weights(options: Options, output: Output) -> int:
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
