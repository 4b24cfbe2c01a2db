"""The command line of the benchmarks: `scripts/bench NAME`."""

import argparse
import sys

from bench import speed


def main(arguments: list[str] | None = None) -> int:
    """Run the named benchmark; the exit code is its own."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure Ricordo beside the alternatives.")
    commands = parser.add_subparsers(dest="benchmark", required=True)
    speed.add_arguments(commands.add_parser("speed", help="append, window, context, open, writers, cleanup, disk"))
    return speed.run(parser.parse_args(arguments))


if __name__ == "__main__":
    sys.exit(main())
