"""What archiving saves and costs: real messages go in, ratios beside gzip and plain zstd, and times, come out.

The yardstick is the JSON of role, content and timestamp that an export holds. Our blocks hold more than that (ids,
token counts, microseconds) and are measured whole, header included; the others compress the yardstick itself, but for
the column "all fields": gzip of JSON with all that a block restores.
"""

import argparse
import gzip
import json
import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import numpy as np
import zstandard
from rich.console import Console
from rich.table import Table

from ricordo.records.turns import Message, Role
from ricordo.stores.archive.block import encode, pack, unpack
from ricordo.stores.archive.codec import codec_for

SIZES = (10, 20, 50)
MOST_BLOCKS = 60


@dataclass(frozen=True, slots=True)
class Weighed:
    """One block (counted from 0) of so many messages: its bytes beside those of the yardstick and of gzip."""

    data: str
    messages: int
    block: int
    yardstick_bytes: int
    gzip6_bytes: int
    block_bytes: int
    unpack_ms: float


@dataclass(frozen=True, slots=True)
class Figures:
    """One data set cut in blocks of one size: ratios (yardstick bytes per compressed byte) and milliseconds a block."""

    data: str
    messages: int
    blocks: int
    yardstick_bytes: int
    gzip6: float
    gzip6_all_fields: float
    zstd3: float
    zstd19: float
    block_without_dictionary: float
    block: float
    pack_ms: float
    unpack_p50_ms: float
    unpack_p99_ms: float
    each: tuple[Weighed, ...] = ()


def run(data: Path, *, sizes: Sequence[int] = SIZES, most_blocks: int = MOST_BLOCKS) -> tuple[Figures, ...]:
    """Measure every file of `data`/recall, and of `data`/segment if it is there, at each block size."""
    found: list[Figures] = []
    for name, texts in _texts(data):
        for size in sizes:
            messages = as_messages(texts[: size * most_blocks])
            blocks = [messages[start : start + size] for start in range(0, len(messages) - size + 1, size)]
            if blocks:
                found.append(measure(name, size, blocks))
    return tuple(found)


def _texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    for path in sorted((data / "recall").glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        yield path.stem, [unit["text"] for row in rows for unit in row["units"]]
    for path in sorted((data / "segment").glob("*.jsonl")):
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        yield path.stem, [text for row in rows for text in row["utterances"]]


def as_messages(texts: Sequence[str], seed: int = 7) -> list[Message]:
    """The texts as turns of question and answer, with random ids and times: those do not compress, in life neither."""
    chance = random.Random(seed)
    moment = datetime(2024, 1, 1, 9, tzinfo=UTC)
    turn = UUID(int=0)
    messages: list[Message] = []
    for number, text in enumerate(texts):
        answers = number % 2 == 1
        if not answers:
            turn = UUID(int=chance.getrandbits(128), version=4)
        moment += timedelta(microseconds=chance.randrange(1_000_000, 300_000_000))
        part = "response" if answers else "query"
        role: Role = "assistant" if answers else "user"
        messages.append(Message(f"{turn}:{part}", role, text, moment, tokens=len(text) // 4))
    return messages


def measure(name: str, size: int, blocks: Sequence[Sequence[Message]]) -> Figures:
    """The figures of one data set at one block size."""
    yardsticks = [_yardstick(block) for block in blocks]
    total = sum(len(text) for text in yardsticks)
    plain_codec = codec_for(1, 0)
    begun = time.perf_counter()
    packed = [pack(block) for block in blocks]
    pack_ms = (time.perf_counter() - begun) * 1000 / len(blocks)
    timed = [[_restore_ms(block) for _ in range(3)] for block in packed]
    spent = [milliseconds for times in timed for milliseconds in times]
    zipped = [len(gzip.compress(text, 6)) for text in yardsticks]
    each = (
        Weighed(name, size, number, len(yardsticks[number]), zipped[number], len(block), min(timed[number]))
        for number, block in enumerate(packed)
    )
    header = len(pack(())) - len(encode(()))
    return Figures(
        data=name,
        messages=size,
        blocks=len(blocks),
        yardstick_bytes=total,
        gzip6=total / sum(zipped),
        gzip6_all_fields=total / sum(len(gzip.compress(_all_fields(block), 6)) for block in blocks),
        zstd3=total / sum(len(zstandard.compress(text, 3)) for text in yardsticks),
        zstd19=total / sum(len(zstandard.compress(text, 19)) for text in yardsticks),
        block_without_dictionary=total / sum(len(plain_codec.compress(encode(b))) + header for b in blocks),
        block=total / sum(len(block) for block in packed),
        pack_ms=pack_ms,
        unpack_p50_ms=float(np.percentile(spent, 50)),
        unpack_p99_ms=float(np.percentile(spent, 99)),
        each=tuple(each),
    )


def _yardstick(messages: Sequence[Message]) -> bytes:
    entries = [{"role": m.role, "content": m.content, "timestamp": m.created_at.timestamp()} for m in messages]
    return json.dumps(entries, ensure_ascii=False).encode()


def _all_fields(messages: Sequence[Message]) -> bytes:
    """What gzip would have to hold to restore as much as a block does."""
    entries = [
        {"id": m.id, "role": m.role, "content": m.content, "created_at": m.created_at.isoformat(), "tokens": m.tokens}
        for m in messages
    ]
    return json.dumps(entries, ensure_ascii=False).encode()


def _restore_ms(block: bytes) -> float:
    begun = time.perf_counter()
    unpack(block)
    return (time.perf_counter() - begun) * 1000


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench archive --data DIR`; `--save` keeps one JSON line a block."""
    parser = argparse.ArgumentParser(prog="ricordo bench archive", description="Compression ratio and speed.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds recall/*.jsonl")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    parser.add_argument("--save", type=Path, help="file for the raw results: one JSON line a block")
    options = parser.parse_args(argv)
    if not any((options.data / "recall").glob("*.jsonl")):
        parser.error(f"no recall/*.jsonl in {options.data}: name a folder that holds them")
    figures = run(options.data)
    if options.save:
        raw = (json.dumps(asdict(block)) + "\n" for row in figures for block in row.each)
        options.save.write_text("".join(raw), encoding="utf-8")
    if options.json:
        print(json.dumps([asdict(replace(row, each=())) for row in figures], indent=2))
    else:
        _print(figures)
    return 0


def _print(figures: Sequence[Figures]) -> None:
    table = Table(title="archive · ratio of the JSON yardstick, and milliseconds a block")
    ratios_of = ("gzip -6", "all fields", "zstd -3", "zstd -19", "no dictionary", "block")
    names = ("data", "messages", *ratios_of, "pack", "restore", "p99")
    for name in names:
        table.add_column(name, justify="left" if name == "data" else "right")
    for row in figures:
        ratios = (row.gzip6, row.gzip6_all_fields, row.zstd3, row.zstd19, row.block_without_dictionary)
        times = (f"{row.pack_ms:.1f}", f"{row.unpack_p50_ms:.3f}", f"{row.unpack_p99_ms:.3f}")
        shown = [f"{ratio:.2f}" for ratio in ratios]
        table.add_row(row.data, str(row.messages), *shown, f"[bold]{row.block:.2f}[/bold]", *times)
    # A pipe says nothing of its width, and a table cut to 80 columns hides the figures.
    console = Console()
    (console if console.is_terminal else Console(width=130)).print(table)


if __name__ == "__main__":
    raise SystemExit(main())
