"""What a command says: JSON for programs, rich text for people, progress on a terminal.

In: records and reports. Out: bytes on stdout; progress and side notes on stderr, so that a pipe only ever
carries the result. Stored text is shown with its control characters made visible: a message cannot
drive the reader's terminal.
"""

import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console, RenderableType
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

WIDEST = 110  # longer lines are hard to read

Step = Callable[[int, int], None]


class Output:
    """Where a command prints."""

    def __init__(self, *, as_json: bool = False) -> None:
        self.as_json = as_json
        self._console = console(sys.stdout)
        self._aside = console(sys.stderr)

    def document(self, value: Any, *shown_as: RenderableType) -> None:
        """One result: as one JSON document, or as what is to be shown to people."""
        if self.as_json:
            sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
        else:
            self.show(*shown_as)

    def lines(self, values: Iterable[Mapping[str, Any]], *shown_as: RenderableType) -> None:
        """Many results: as JSON lines, or as what is to be shown to people."""
        if self.as_json:
            for value in values:
                sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
        else:
            self.show(*shown_as)

    def show(self, *parts: RenderableType) -> None:
        """Rich parts, one under the other; strings are plain text, never markup, and keep their lines in a pipe."""
        for part in parts:
            if isinstance(part, str):
                self._console.print(Text(part), soft_wrap=not self._console.is_terminal)
            else:
                self._console.print(part)

    def raw(self, text: str) -> None:
        """Text for a pipe, to the byte; on a terminal its control characters are made visible."""
        sys.stdout.write((shown(text) if sys.stdout.isatty() else text) + "\n")

    def aside(self, *parts: RenderableType) -> None:
        """Beside the result, on stderr; silent with JSON."""
        if not self.as_json:
            for part in parts:
                self._aside.print(Text(part) if isinstance(part, str) else part)

    @contextmanager
    def progress(self, doing: str) -> Iterator[Step]:
        """A bar that is fed with (done, total); drawn only for a person at a terminal."""
        if self.as_json or not self._aside.is_terminal:
            yield lambda done, total: None
            return
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
        with Progress(*columns, console=self._aside, transient=True) as bar:
            task = bar.add_task(doing, total=None)
            yield lambda done, total: bar.update(task, completed=done, total=total or None)


class _Console(Console):
    """A console that leaves a closed pipe to `main`, which knows the exit code."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def console(stream: Any) -> Console:
    """A console on a stream, no wider than is pleasant to read."""
    made = _Console(file=stream, highlight=False, soft_wrap=False)
    if made.width > WIDEST:
        made.width = WIDEST
    return made


def table(*columns: str, right: Iterable[str] = ()) -> Table:
    """An open, quiet table; the columns named in `right` hold numbers."""
    numbers = set(right)
    made = Table(box=None, header_style="bold dim", pad_edge=False, padding=(0, 2, 0, 0), show_header=any(columns))
    for name in columns:
        made.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    return made


def shown(text: str) -> str:
    """Text that is safe on a terminal: control characters become their pictures, lines and tabs stay."""
    return "".join(_picture(each) for each in text) if any(map(_is_control, text)) else text


def one_line(text: str, width: int) -> str:
    """The beginning of a text, on one line."""
    line = " ".join(shown(text).split())
    return line if len(line) <= width else line[: width - 1] + "…"


def _is_control(character: str) -> bool:
    code = ord(character)
    return (code < 0x20 and character not in "\n\t") or 0x7F <= code < 0xA0


def _picture(character: str) -> str:
    if not _is_control(character):
        return character
    code = ord(character)
    return chr(0x2400 + code) if code < 0x20 else "␡" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


def speak_any_unicode() -> None:
    """A stream that cannot say a character says its escape instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
