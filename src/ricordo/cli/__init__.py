"""The command line: arguments in, text or JSON out, an exit code returned.

`main` runs one command and turns every failure into one line and one exit code. Each module here holds a group of
commands, a thin layer over the Python API. A host waits for `ricordo hook` at every prompt, and that command only calls
a running process; so all other modules are imported after it was recognised.
"""

import os
import sys

TYPE_CHECKING = False  # as in `typing`, without importing it
if TYPE_CHECKING:
    from collections.abc import Sequence

    from ricordo.cli.arguments import Command

COMMANDS: "tuple[Command, ...]"  # made with the first use

__all__ = ["COMMANDS", "main"]


def main(argv: "Sequence[str] | None" = None) -> int:
    """Run one command and return its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # its matrices are small: starting threads takes longer
    if arguments[:1] == ["hook"]:
        from ricordo.cli.hook import call, parse

        if (asked := parse(arguments[1:])) is not None:
            return call(asked)
    return _run(arguments)


def __getattr__(name: str) -> "tuple[Command, ...]":
    if name == "COMMANDS":
        return _commands()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def _commands() -> "tuple[Command, ...]":
    """All commands in the order of the help."""
    from ricordo.cli import (
        chat,
        context,
        demo,
        evaluate,
        hosts,
        maintenance,
        people,
        search,
        serve,
        sessions,
        transfer,
        turns,
    )

    return (
        demo.demo, serve.serve, serve.mcp, hosts.hook, chat.chat,
        turns.add, turns.ask, turns.answer, turns.message,
        sessions.sessions, sessions.show, sessions.window, context.context, context.receipts, context.rebuild,
        search.search, search.embed, search.topics, search.topic,
        people.facts, people.profile, people.summaries, people.condense,
        transfer.documents, transfer.export, transfer.import_,
        sessions.end, sessions.clear, sessions.delete, sessions.erase, sessions.cleanup, people.flags, people.check,
        serve.keys, serve.postgres, evaluate.evaluate,
        maintenance.verify, maintenance.repair, maintenance.backup, maintenance.stats, maintenance.settings,
        maintenance.weights, maintenance.bench,
    )  # fmt: skip


def _run(arguments: list[str]) -> int:
    import os

    from ricordo.cli.arguments import (
        BROKEN_PIPE,
        INTERRUPTED,
        OK,
        USAGE,
        build_parser,
        exit_code,
        read_arguments,
        report,
    )
    from ricordo.cli.output import Output, escape_unencodable
    from ricordo.errors import RicordoError

    escape_unencodable()
    as_json = "--json" in arguments
    try:
        parser = build_parser(_commands())
        if not arguments:
            parser.print_help(sys.stderr)
            return USAGE
        options = read_arguments(parser, arguments)
        code = int(options.run(options, Output(as_json=options.json)) or OK)
        sys.stdout.flush()
        return code
    except SystemExit as exit_:  # --help and --version
        return exit_.code if isinstance(exit_.code, int) else USAGE
    except BrokenPipeError:
        # The reader closed the pipe; nothing may be flushed to it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (RicordoError, OSError) as error:
        report(error, as_json=as_json)
        return exit_code(error)
