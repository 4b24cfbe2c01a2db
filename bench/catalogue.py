"""The benchmarks of this folder by name, and running one of them: what `ricordo bench` does in a checkout."""

import ast
import importlib
import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Group
from rich.text import Text

import bench
from ricordo.cli.arguments import FAILED, OK, Options
from ricordo.cli.output import Output, table
from ricordo.errors import NotFoundError, SettingsError


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark: its name, what it measures, and its arguments."""

    name: str
    measures: str
    arguments: str


def run(options: Options, output: Output) -> int:
    """Run a benchmark, or list them."""
    known = benchmarks()
    if options.name is None:
        rows = table("benchmark", "what it measures, and its arguments")
        for each in known.values():
            rows.add_row(each.name, Group(Text(each.measures), Text(each.arguments, "cyan"), ""))
        output.lines((asdict(each) for each in known.values()), rows)
        return OK
    if options.name not in known:
        raise NotFoundError(f"there is no benchmark {options.name!r}; there are: {', '.join(known) or 'none'}")
    try:
        module = importlib.import_module(f"bench.{options.name}")
    except ImportError as error:
        raise SettingsError("bench", f"{options.name} needs a package that is not installed: {error}") from error
    given = [*(["--json"] if options.json else []), *options.arguments]
    arguments = given if "--data " in known[options.name].arguments else without_data(given)
    if arguments != given:
        output.note(Text(f"{options.name} has its own data; --data is ignored", "dim"))
    result = _call(module.main, options.name, arguments)
    return result if isinstance(result, int) else FAILED if result else OK


def without_data(arguments: Sequence[str]) -> list[str]:
    """The arguments without `--data DIR`, so that all benchmarks can be called with the same options."""
    kept: list[str] = []
    rest = iter(arguments)
    for each in rest:
        if each == "--data":
            next(rest, None)
        elif not each.startswith("--data="):
            kept.append(each)
    return kept


def _call(main: Callable[..., object], name: str, arguments: list[str]) -> object:
    """Run a benchmark; a `main` without parameters reads its arguments from `sys.argv`."""
    if inspect.signature(main).parameters:
        return main(arguments)
    before, sys.argv = sys.argv, [f"ricordo bench {name}", *arguments]
    try:
        return main()
    finally:
        sys.argv = before


def benchmarks() -> dict[str, Benchmark]:
    """Every benchmark by name, read from its source without importing it."""
    found = {}
    for path in sorted(Path(bench.__path__[0]).glob("[a-z]*.py")):
        source = path.read_text(encoding="utf-8")
        if "\ndef main(" in source:
            idea = source.lstrip('"').splitlines()[0].strip('" ')
            found[path.stem] = Benchmark(path.stem, idea, arguments_in(source))
    return found


def arguments_in(source: str) -> str:
    """The arguments that a source declares, as a usage line."""
    calls = [
        node
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_argument"
    ]
    calls.sort(key=lambda call: call.lineno)
    return " ".join(_usage(call) for call in calls if call.args and isinstance(call.args[0], ast.Constant))


def _usage(call: ast.Call) -> str:
    given = {each.arg: each.value.value for each in call.keywords if isinstance(each.value, ast.Constant)}
    name = str(call.args[0].value) if isinstance(call.args[0], ast.Constant) else ""
    value = "" if str(given.get("action", "")).startswith("store_") else " " + name.lstrip("-").upper()
    words = f"{name}{value}" if name.startswith("-") else name
    return words if given.get("required") else f"[{words}]"
