"""The command line: arguments in, text or JSON out, an exit code back.

`main` reads the arguments, runs one command and turns every failure into one line and one exit code. The
commands live in small modules by group; each is a thin layer over the Python face.
"""

import os
import sys
from collections.abc import Sequence

from ricordo.cli.commands import COMMANDS
from ricordo.cli.exits import BROKEN_PIPE, INTERRUPTED, exit_code, report
from ricordo.cli.options import build_parser, read_arguments
from ricordo.cli.output import Output, speak_any_unicode
from ricordo.errors import RicordoError

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit code comes back instead of being raised."""
    speak_any_unicode()
    arguments = list(sys.argv[1:] if argv is None else argv)
    as_json = "--json" in arguments
    try:
        options = read_arguments(build_parser(COMMANDS), arguments)
        code = int(options.run(options, Output(as_json=options.json)))
        sys.stdout.flush()
        return code
    except SystemExit as exit_:  # argparse has printed its own message
        return exit_.code if isinstance(exit_.code, int) else 2
    except BrokenPipeError:
        # Whoever was reading has gone; nothing may be flushed to the pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except (RicordoError, OSError) as error:
        report(error, as_json=as_json)
        return exit_code(error)
