"""Bytes on disk for 100 messages, appended turn by turn as in live use, after closing; with every index."""

from collections.abc import Iterator

from bench import stock, text
from bench.rows import Row
from bench.scale import Setup
from bench.systems import OURS, Entry

TURNS = 50


def measure(setup: Setup) -> Iterator[Row]:
    """Every system with plain turns; Ricordo also with a receipt of an eight-chunk context beside every turn."""
    names = [f"d{number}" for number in range(setup.scale.disk_sessions)]
    said = sum(len(message.encode()) for name in names for turn in text.turns(name, TURNS) for message in turn)
    yield Row("disk", "100 messages", "text", {"kb": _kilobytes(said, names)})
    for entry in setup.systems:
        setup.say(f"disk: {entry.title}")
        yield Row("disk", "100 messages", entry.name, {"kb": _written(setup, entry, names, "append")})
    yield Row("disk", "100 messages with receipts", OURS.name, {"kb": _written(setup, OURS, names, "append_explained")})


def _written(setup: Setup, entry: Entry, names: list[str], verb: str) -> float:
    with stock.workplace() as folder:
        with setup.start(entry, folder) as child:
            for name in names:
                done = 0
                while done < TURNS:
                    done += len(child.ask(verb, session=name, start=done, count=TURNS - done)["seconds"])
        return _kilobytes(sum(file.stat().st_size for file in folder.iterdir()), names)


def _kilobytes(size: int, names: list[str]) -> float:
    return size / 1024 / (len(names) * 2 * TURNS / 100)
