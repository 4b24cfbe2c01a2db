"""`ricordo weights`: whether the embedders' weights are here and are the promised ones, and how to get them.

Every look checks the hash of every file. Only `--fetch` uses the network.
"""

import argparse
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ricordo.cli.exits import FAILED, OK
from ricordo.cli.options import Command, Options
from ricordo.cli.output import Output, one_line, shown, table
from ricordo.errors import RicordoError, ValidationError

if TYPE_CHECKING:
    from ricordo.embedders.weights import WeightSet

COLOURS = {"verified": "green", "missing": "yellow", "refused": "red"}


def weights(options: Options, output: Output) -> int:
    """Check every set of weights by hash; fetch what is missing if told to."""
    from ricordo.embedders.weights import ALL_SETS, fetch, weights_folder

    chosen = [each for each in ALL_SETS if not options.name or each.name in options.name]
    if unknown := set(options.name) - {each.name for each in ALL_SETS}:
        known = ", ".join(each.name for each in ALL_SETS)
        raise ValidationError("name", f"{', '.join(sorted(unknown))} is unknown; there are {known}")
    failures = []
    for wanted in chosen if options.fetch else ():
        try:
            fetch(wanted, report=lambda line: output.aside(Text(shown(line), "dim")))
        except RicordoError as error:
            failures.append(str(error))
    found = [state_of(each) for each in chosen]
    rows = table("weights", "size", "state", right=("size",))
    for each in found:
        rows.add_row(each["name"], f"{each['bytes'] / 1e6:.1f} MB", Text(each["state"], COLOURS[each["state"]]))
    notes = failures or [each["problem"] for each in found if each["problem"]]
    plain = {"folder": str(weights_folder()), "weights": found, "failures": failures}
    where = Text(f"in {shown(str(weights_folder()))}", "dim")
    output.document(plain, rows, where, *[Text(f"! {one_line(note, 400)}", "yellow") for note in notes])
    return OK if all(each["state"] == "verified" for each in found) else FAILED


def state_of(weights: "WeightSet") -> dict[str, Any]:
    """A set's name, size, and whether its files are the promised ones."""
    from ricordo.embedders.port import EmbedderUnavailable, WeightsRefused
    from ricordo.embedders.weights import verified

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
    parser.add_argument("--fetch", action="store_true", help="get what is missing; kept only if its hash is right")


COMMANDS = (
    Command(
        "weights",
        "check the embedders' weights by hash, or fetch them; exit code 1 if any is missing",
        weights,
        _arguments,
        "ricordo weights --fetch",
    ),
)
