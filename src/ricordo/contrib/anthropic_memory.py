"""The memory tool of Anthropic (`memory_20250818`) on a memory: a tree of text files for each user.

In: the six commands of a model. Out: the texts it expects. Files are items of the user in the memory's own database: no
path leads to another user's tree. Each command is one transaction. What is written is screened like every memory.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar
from urllib.parse import unquote

from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
from anthropic.types.beta import (
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from ricordo.contrib.shared import ItemCollection, awaited, body_of, owner_of, parts, path
from ricordo.errors import ValidationError
from ricordo.limits import ID_LENGTH, check_text
from ricordo.memory import Memory
from ricordo.records.service import StoredItem
from ricordo.records.turns import DEFAULT_AGENT
from ricordo.safety.screen import decide, signals
from ricordo.stores.service_protocols import ItemTransaction

COLLECTION = "anthropic.memory"
ROOT = "/memories"
WIDTH = 6  # of a line number
LEVELS = 2  # that a listing shows
AROUND = 2  # lines shown before and after a change
UNITS = "BKMG"

P = ParamSpec("P")
T = TypeVar("T")
Where = tuple[str, ...]


class Files:
    """The tree of one user and agent. A folder exists while a file is below it; the root always exists."""

    def __init__(self, memory: Memory, user_id: str, agent_id: str) -> None:
        self._owner = owner_of(memory, user_id)
        self._agent = agent_id
        self._settings = memory.settings
        self._items = ItemCollection(memory, COLLECTION)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Show a file with line numbers, or a folder with sizes."""
        where = _where(command.path)

        def read(items: ItemTransaction) -> str:
            body = self._body(items, where)
            if body is not None:
                return _numbered(command.path, body.decode(), command.view_range)
            below = self._below(items, where)
            if where and not below:
                raise ToolError(f"The path {command.path} does not exist. Please provide a valid path.")
            return _listing(command.path, len(where), below)

        return self._items.read(self._owner, read)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        where = _where(command.path)

        def write(items: ItemTransaction) -> None:
            if not where or self._exists(items, where):
                raise ToolError(f"File {command.path} already exists")
            self._put(items, where, command.path, command.file_text)

        self._write(write)
        return f"File created successfully at: {command.path}"

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs exactly once."""
        where, old = _where(command.path), command.old_str
        if not isinstance(old, str) or not isinstance(command.new_str or "", str):
            raise ToolError("`old_str` and `new_str` have to be text")

        def write(items: ItemTransaction) -> str:
            text = self._text(items, where, command.path)
            places = _places(text, old)
            if not places:
                raise ToolError(
                    f"No replacement was performed, old_str `{old}` did not appear verbatim in {command.path}."
                )
            if len(places) > 1:
                lines = ", ".join(str(text.count("\n", 0, place) + 1) for place in places)
                raise ToolError(
                    f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: {lines}. "
                    "Please ensure it is unique"
                )
            (at,) = places
            new = text[:at] + (command.new_str or "") + text[at + len(old) :]
            self._put(items, where, command.path, new)
            changed = text.count("\n", 0, at)
            return "\n".join(_lines(new.split("\n"), max(0, changed - AROUND), changed + AROUND + 1))

        snippet = self._write(write)
        return (
            "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n" + snippet
        )

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert lines after a line, or before the first."""
        where, at = _where(command.path), command.insert_line
        if not isinstance(command.insert_text, str):
            raise ToolError("`insert_text` is missing: give the lines to insert")

        def write(items: ItemTransaction) -> None:
            text = self._text(items, where, command.path)
            lines = text.removesuffix("\n").split("\n") if text else []
            if not isinstance(at, int) or not 0 <= at <= len(lines):
                raise ToolError(
                    f"Invalid `insert_line` parameter: {at}. It should be within the range [0, {len(lines)}]."
                )
            lines.insert(at, command.insert_text.rstrip("\n"))
            self._put(items, where, command.path, "\n".join(lines) + "\n")

        self._write(write)
        return f"The file {command.path} has been edited."

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a folder with its content."""
        where = _where(command.path)
        if not where:
            raise ToolError(f"Cannot delete the {ROOT} directory itself")

        def write(items: ItemTransaction) -> None:
            if not self._exists(items, where):
                raise ToolError(f"The path {command.path} does not exist")
            items.remove(self._folder(where[:-1]), where[-1])
            items.remove_under(self._folder(where))

        self._write(write)
        return f"Successfully deleted {command.path}"

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a folder within the tree."""
        old, new = _where(command.old_path), _where(command.new_path)
        if not old:
            raise ToolError(f"Cannot rename the {ROOT} directory itself")

        def write(items: ItemTransaction) -> None:
            if not self._exists(items, old):
                raise ToolError(f"The path {command.old_path} does not exist")
            if not new or self._exists(items, new):
                raise ToolError(f"The destination {command.new_path} already exists")
            if new[: len(old)] == old:
                raise ToolError(f"The destination {command.new_path} is inside {command.old_path}")
            self._check_parents(items, new, command.new_path)
            file = self._file(items, old)
            moved = [(old, file)] if file else self._below(items, old)
            for where, item in moved:
                items.remove(item.place, item.key)
                after = (*new, *where[len(old) :])
                items.put(StoredItem(self._folder(after[:-1]), after[-1], item.body))

        self._write(write)
        return f"Successfully renamed {command.old_path} to {command.new_path}"

    def clear_all_memory(self) -> str:
        """Delete the whole tree."""
        self._write(lambda items: items.remove_under(self._folder(())))
        return "All memory cleared"

    def _write(self, work: Callable[[ItemTransaction], T]) -> T:
        def one_at_a_time(items: ItemTransaction) -> T:
            items.serialize()
            return work(items)

        return self._items.write(self._owner, one_at_a_time)

    def _folder(self, where: Where) -> str:
        return path(self._agent, *where)

    def _file(self, items: ItemTransaction, where: Where) -> StoredItem | None:
        return items.get(self._folder(where[:-1]), where[-1]) if where else None

    def _body(self, items: ItemTransaction, where: Where) -> bytes | None:
        return body_of(items, self._folder(where[:-1]), where[-1]) if where else None

    def _below(self, items: ItemTransaction, where: Where) -> list[tuple[Where, StoredItem]]:
        found = items.find(self._folder(where))
        return sorted((((*parts(item.place)[1:], item.key), item) for item in found), key=lambda pair: pair[0])

    def _exists(self, items: ItemTransaction, where: Where) -> bool:
        return not where or self._body(items, where) is not None or bool(items.find(self._folder(where), limit=1))

    def _text(self, items: ItemTransaction, where: Where, name: str) -> str:
        body = self._body(items, where)
        if body is not None:
            return body.decode()
        if self._exists(items, where):
            raise ToolError(f"The path {name} is not a file.")
        raise ToolError(f"The path {name} does not exist. Please provide a valid path.")

    def _put(self, items: ItemTransaction, where: Where, name: str, text: str) -> None:
        self._check_parents(items, where, name)
        try:
            check_text("file", text, self._settings.limits, may_be_blank=True)
        except ValidationError as error:
            raise ToolError(f"{name} was not written: {error}") from error
        found = signals(text)
        verdict = decide("assistant_said", "message", found, self._settings.safety.suspicious)
        if verdict in ("quarantine", "drop"):
            raise ToolError(f"{name} was not written: it reads like instructions ({', '.join(found)}), not like notes")
        items.put(StoredItem(self._folder(where[:-1]), where[-1], text.encode()))

    def _check_parents(self, items: ItemTransaction, where: Where, name: str) -> None:
        for length in range(1, len(where)):
            if self._body(items, where[:length]) is not None:
                raise ToolError(f"{name} cannot be made: {ROOT}/{'/'.join(where[:length])} is a file")


def _command(method: Callable[Concatenate[Files, P], str]) -> Callable[Concatenate[Any, P], str]:
    """The command of a tool that a method of its files carries out."""

    @wraps(method)
    def run(self: "_FileTool", /, *args: P.args, **kwargs: P.kwargs) -> str:
        return method(self._files, *args, **kwargs)

    return run


class _FileTool:
    """A tool on the files of one user and agent."""

    def __init__(
        self, memory: Memory, *, user_id: str, agent_id: str = DEFAULT_AGENT, cache_control: Any = None
    ) -> None:
        super().__init__(cache_control=cache_control)  # type: ignore[call-arg]
        self._files = Files(memory, user_id, agent_id)


class RicordoMemoryTool(_FileTool, BetaAbstractMemoryTool):
    """The tool for `client.beta.messages.run_tools(tools=[RicordoMemoryTool(memory, user_id=...)])`."""

    view = _command(Files.view)
    create = _command(Files.create)
    str_replace = _command(Files.str_replace)
    insert = _command(Files.insert)
    delete = _command(Files.delete)
    rename = _command(Files.rename)
    clear_all_memory = _command(Files.clear_all_memory)


class AsyncRicordoMemoryTool(_FileTool, BetaAsyncAbstractMemoryTool):
    """The same tool for the async client; each command in a worker thread."""

    view = awaited(_command(Files.view))
    create = awaited(_command(Files.create))
    str_replace = awaited(_command(Files.str_replace))
    insert = awaited(_command(Files.insert))
    delete = awaited(_command(Files.delete))
    rename = awaited(_command(Files.rename))
    clear_all_memory = awaited(_command(Files.clear_all_memory))


def _where(given: str) -> Where:
    """The names of a path; a ToolError if it does not begin at the root or would leave it."""
    if not isinstance(given, str):  # the library does not check what the model wrote
        raise ToolError(f"A path is missing: give one that starts with {ROOT}")
    if given != ROOT and not given.startswith(f"{ROOT}/"):
        raise ToolError(f"Path must start with {ROOT}, got: {given}")
    names = tuple(name for name in given[len(ROOT) :].split("/") if name)
    for name in names:
        plain = unquote(unquote(name))
        if any(each in (".", "..") for each in plain.replace("\\", "/").split("/")):
            raise ToolError(f"Path {given} would escape {ROOT} directory")
        if len(name) > ID_LENGTH or not name.isprintable():
            raise ToolError(f"Path {given} has a name that cannot be kept: at most {ID_LENGTH} visible characters")
    return names


def _places(text: str, wanted: str) -> list[int]:
    """The positions of a text in another, overlaps included."""
    found: list[int] = []
    at = text.find(wanted) if wanted else -1
    while at >= 0:
        found.append(at)
        at = text.find(wanted, at + 1)
    return found


def _numbered(name: str, text: str, view_range: list[int] | None) -> str:
    lines = text.split("\n")
    first, end = 0, len(lines)
    if view_range:
        if len(view_range) != 2 or not all(isinstance(each, int) for each in view_range):
            raise ToolError(f"Invalid `view_range` parameter: {view_range}. Give the first line and the last, or -1.")
        first = max(1, view_range[0]) - 1
        end = len(lines) if view_range[1] == -1 else view_range[1]
    return f"Here's the content of {name} with line numbers:\n" + "\n".join(_lines(lines, first, end))


def _lines(lines: list[str], first: int, end: int) -> list[str]:
    return [f"{number:>{WIDTH}}\t{line}" for number, line in enumerate(lines[first:end], first + 1)]


def _listing(name: str, depth: int, below: list[tuple[Where, StoredItem]]) -> str:
    """The folder and its content to two levels, without hidden files."""
    sizes: dict[str, int] = {}
    total = 0
    for where, item in below:
        names = where[depth:]
        total += len(item.body)
        if any(each.startswith(".") for each in names):
            continue
        for level in range(1, min(len(names), LEVELS) + 1):
            shown = "/".join(names[:level]) + ("/" if level < len(names) else "")
            sizes[shown] = sizes.get(shown, 0) + len(item.body)
    head = f"Here're the files and directories up to {LEVELS} levels deep in {name}, excluding hidden items:"
    rows = [f"{_size(total)}\t{name}", *(f"{_size(size)}\t{name}/{shown}" for shown, size in sizes.items())]
    return "\n".join([head, *rows])


def _size(count: int) -> str:
    step = min((count.bit_length() - 1) // 10, len(UNITS) - 1) if count else 0
    size = count / 1024**step
    return f"{int(size)}{UNITS[step]}" if size == int(size) else f"{size:.1f}{UNITS[step]}"
