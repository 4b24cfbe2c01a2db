"""The command line: arguments in, text or JSON out, an exit code back.

`main` reads the arguments, runs one command and turns every failure into one line and one exit code. The
commands live in small modules by group; each is a thin layer over the Python face.
"""

import os
import sys
from collections.abc import Sequence

from ricordo.cli.arguments import BROKEN_PIPE, INTERRUPTED, USAGE, build_parser, exit_code, read_arguments, report
from ricordo.cli.commands import COMMANDS
from ricordo.cli.output import Output, speak_any_unicode
from ricordo.errors import RicordoError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code comes back instead of being raised."""
    speak_any_unicode()
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments
    try:
        parser = build_parser(COMMANDS)
        if not arguments:
            parser.print_help(sys.stderr)
            return USAGE
        options = read_arguments(parser, arguments)
        code = int(options.run(options, Output(as_json=options.json)))
        sys.stdout.flush()
        return code
    except SystemExit as exit_:  # --help and --version have printed what they had to say
        return exit_.code if isinstance(exit_.code, int) else USAGE
    except BrokenPipeError:
        # Whoever was reading has gone; nothing may be flushed to the pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (RicordoError, OSError) as error:
        report(error, as_json=as_json)
        return exit_code(error)
