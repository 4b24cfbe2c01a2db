"""Bytes on disk for 100 messages, appended turn by turn as in live use, after closing; with every index.

`measure` is the workload of `bench speed`, without vectors. `ricordo bench disk` writes conversations with an embedder,
waits for the background work, and prints the size of each table and index. The conversations are generated
(USERSxTURNS) or read from a file of labelled conversations (FILE, or FILE:COUNT), one user for each.
"""

import argparse
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from bench import dialogue, sample_turns, store_cache
from bench.results import Row
from bench.scale import Setup
from bench.systems import OURS, Entry

TURNS = 50
SHAPES = ("8x25", "1x200", "50x20")  # users, and turns of each

Talks = Mapping[str, Iterable[tuple[str, str]]]  # a user's sessions: questions and answers


@dataclass(frozen=True, slots=True)
class Weighed:
    """A closed file: its size, the text that went in, and the bytes of each table and index with what lies unused."""

    messages: int
    size: int
    said: int
    parts: tuple[tuple[str, int, int], ...]

    def per_hundred(self, size: int) -> float:
        """Kilobytes for 100 messages."""
        return size / 1024 / (self.messages / 100)


def measure(setup: Setup) -> Iterator[Row]:
    """Every system with plain turns; Ricordo also with a receipt of an eight-chunk context beside every turn."""
    names = [f"d{number}" for number in range(setup.scale.disk_sessions)]
    said = sum(len(message.encode()) for name in names for turn in sample_turns.turns(name, TURNS) for message in turn)
    yield Row("disk", "100 messages", "text", {"kb": _kilobytes(said, names)})
    for entry in setup.systems:
        setup.say(f"disk: {entry.title}")
        yield Row("disk", "100 messages", entry.name, {"kb": _written(setup, entry, names, "append")})
    yield Row("disk", "100 messages with receipts", OURS.name, {"kb": _written(setup, OURS, names, "append_explained")})


def weigh(users: Iterable[Talks], embedder: str) -> Weighed:
    """Write the talks of some users, let everything beside the chat be done, close, and look at the file."""
    import ricordo

    messages = said = 0
    with store_cache.workplace() as folder:
        path = folder / "ricordo.db"
        with ricordo.open(path, embedder=embedder) as memory:
            for number, talks in enumerate(users):
                for name, turns in talks.items():
                    session = memory.session(name, user_id=f"user-{number}")
                    for query, response in turns:
                        session.add_turn(query, response)
                        messages += 2
                        said += len(query.encode()) + len(response.encode())
                memory.settle()
        return Weighed(messages, path.stat().st_size, said, _parts(path))


def made(users: int, turns: int) -> Iterator[Talks]:
    """One talk of so many turns for each user."""
    for user in range(users):
        yield {f"talk-{user}": dialogue.talk(user, turns)}


def read(path: Path, count: int | None) -> Iterator[Talks]:
    """Labelled conversations, each a user with the sessions that it has; two messages of a session make a turn."""
    with path.open(encoding="utf-8") as lines:
        for line in islice(lines, count):
            talks: dict[str, list[str]] = {}
            for unit in json.loads(line)["units"]:
                talks.setdefault(f"session-{unit['session']}", []).append(unit["text"])
            yield {name: list(zip(said[::2], said[1::2], strict=False)) for name, said in talks.items()}


def shape_of(argument: str) -> Iterator[Talks]:
    """The talks that an argument asks for."""
    file, _, count = argument.partition(":")
    if Path(file).is_file():
        return read(Path(file), int(count) if count else None)
    users, turns = map(int, argument.split("x"))
    return made(users, turns)


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench disk`: every shape, its largest tables and indexes first."""
    parser = argparse.ArgumentParser(prog="ricordo bench disk", description=__doc__.split("\n")[0])
    parser.add_argument("embedder", nargs="?", default="auto", help="default: %(default)s")
    parser.add_argument("shapes", nargs="*", default=SHAPES, help="USERSxTURNS, or FILE[:COUNT]")
    options = parser.parse_args(argv)
    embedder = options.embedder
    for shape in options.shapes:
        found = weigh(shape_of(shape), embedder)
        empty = {name: size for name, size, unused in found.parts if unused >= 0.9 * size}
        print(
            f"{Path(shape).name}, {found.messages} messages, {embedder}: "
            f"{found.per_hundred(found.size):.1f} KB per 100 messages "
            f"(text {found.per_hundred(found.said):.1f}; {len(found.parts)} tables and indexes, {len(empty)} of them "
            f"empty: {found.per_hundred(sum(empty.values())):.1f})"
        )
        for name, size, unused in found.parts:
            if name not in empty:
                print(f"  {name:32} {found.per_hundred(size):6.1f} KB, {unused / size:4.0%} unused")
    return 0


def _parts(path: Path) -> tuple[tuple[str, int, int], ...]:
    statement = "SELECT name, sum(pgsize), sum(unused) FROM dbstat GROUP BY name ORDER BY 2 DESC, 1"
    with closing(sqlite3.connect(path)) as connection:
        return tuple(connection.execute(statement))


def _written(setup: Setup, entry: Entry, names: list[str], verb: str) -> float:
    with store_cache.workplace() as folder:
        with setup.start(entry, folder) as child:
            for name in names:
                done = 0
                while done < TURNS:
                    done += len(child.ask(verb, session=name, start=done, count=TURNS - done)["seconds"])
        return _kilobytes(sum(file.stat().st_size for file in folder.iterdir()), names)


def _kilobytes(size: int, names: list[str]) -> float:
    return size / 1024 / (len(names) * 2 * TURNS / 100)


if __name__ == "__main__":
    raise SystemExit(main())
