"""`ricordo bench NAME`: finds the benchmarks of `ricordo.bench` by name and runs one.

A benchmark is a module with `main(argv)`. It is imported only when it runs, so that what it needs is not
needed by anything else.
"""

import argparse
import importlib
import importlib.util
import pkgutil

import ricordo.bench
from ricordo.cli.exits import FAILED, OK
from ricordo.cli.options import Command, Options
from ricordo.cli.output import Output, table
from ricordo.errors import NotFoundError, SettingsError


def bench(options: Options, output: Output) -> int:
    """Run a benchmark, or list them."""
    known = benchmarks()
    if options.name is None:
        rows = table("benchmark", "what it measures")
        for name, idea in known.items():
            rows.add_row(name, idea)
        output.lines(({"name": name, "measures": idea} for name, idea in known.items()), rows)
        return OK
    if options.name not in known:
        raise NotFoundError(f"there is no benchmark {options.name!r}; there are: {', '.join(known) or 'none'}")
    try:
        module = importlib.import_module(f"ricordo.bench.{options.name}")
    except ImportError as error:
        raise SettingsError("bench", f"{options.name} needs a package that is not installed: {error}") from error
    result = module.main([*(["--json"] if options.json else []), *options.arguments])
    return result if isinstance(result, int) else FAILED if result else OK


def benchmarks() -> dict[str, str]:
    """Name and first line of every benchmark, read from the source without importing it."""
    found = {}
    for module in pkgutil.iter_modules(ricordo.bench.__path__):
        spec = importlib.util.find_spec(f"ricordo.bench.{module.name}")
        source = (
            spec.loader.get_source(spec.name) if spec and spec.loader and hasattr(spec.loader, "get_source") else ""
        )
        if source and "\ndef main(" in source:
            found[module.name] = source.lstrip('"').splitlines()[0].strip('" ')
    return dict(sorted(found.items()))


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", nargs="?", help="which one; without a name they are listed")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="for the benchmark; try --help")


COMMANDS = (Command("bench", "run a benchmark", bench, _arguments, "ricordo bench topics --help"),)
