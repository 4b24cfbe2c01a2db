"""How well past messages are found: labelled conversations go in, evidence recall beside simple retrievers comes out.

For every question the whole past is ranked, and the ranks of the messages that hold the evidence are scored: recall
among the first 5, 10 and 20, NDCG at 10, and recall within a budget of tokens (hits in order, until the first that
does not fit). The same is done with random order, newest first, BM25 and each embedder alone.
"""

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.recall_data import Conversation, LabelledQuestion, read_conversations
from bench.recall_speed import Speed, measure_speed
from ricordo.engine.tokens import counter_for
from ricordo.recall.embedders import Embedder, EmbedderError
from ricordo.recall.embedders.selection import embedder_for
from ricordo.recall.evidence import question_words, terms
from ricordo.recall.index import OwnerIndex, Row
from ricordo.recall.index_state import ends_with_question, shows
from ricordo.recall.quantization import Vectors, vectors_to_blobs
from ricordo.recall.ranking import DEFAULT_WEIGHTS, EvidenceWeights, RecallQuestion, rank_all, weights_for

CUTS = (5, 10, 20)
BUDGETS = (500, 1_000, 2_000, 4_000)
Order = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Found:
    """One question answered by one system: where the evidence stood, and what that is worth."""

    data: str
    system: str
    conversation: str
    question: str
    category: str
    ranks: tuple[int, ...]
    scores: dict[str, float]


@dataclass(frozen=True, slots=True)
class Report:
    """Every question under every system, and the speed over many messages for each embedder's dimensions."""

    found: tuple[Found, ...]
    speeds: tuple[Speed, ...]

    def mean(self, data: str, system: str, category: str | None = None) -> dict[str, float]:
        """The average scores of a system on a set, over all questions or one category."""
        chosen = [
            each.scores
            for each in self.found
            if each.data == data and each.system == system and category in (None, each.category)
        ]
        return {name: sum(scores[name] for scores in chosen) / len(chosen) for name in chosen[0]} if chosen else {}


def run(
    files: Sequence[Path],
    embedders: dict[str, Embedder],
    *,
    speed_messages: int = 0,
    quiet: bool = True,
) -> Report:
    """Measure every file with every embedder; with `speed_messages`, time the ranking of so many as well."""
    found: list[Found] = []
    for path in files:
        conversations = list(read_conversations(path))
        for conversation in track(conversations, f"recall · {path.stem}", disable=quiet):
            found.extend(_measure(path.stem, conversation, embedders))
    sizes = sorted({embedder.dimensions for embedder in embedders.values()})
    speeds = tuple(measure_speed(speed_messages, size) for size in sizes) if speed_messages else ()
    return Report(tuple(found), speeds)


def _measure(data: str, conversation: Conversation, embedders: dict[str, Embedder]) -> Iterator[Found]:
    counter = counter_for("o200k")
    tokens = np.array([counter.count(unit.text) for unit in conversation.units])
    for system, order_of in _systems(conversation, embedders):
        for question in conversation.questions:
            yield _found(data, system, conversation, question, order_of(question), tokens)


def _systems(
    conversation: Conversation, embedders: dict[str, Embedder]
) -> Iterator[tuple[str, Callable[[LabelledQuestion], Order]]]:
    count = len(conversation.units)
    chance = np.random.default_rng(0)
    yield "random", lambda _: chance.permutation(count)
    yield "newest first", lambda _: np.arange(count)[::-1]
    said = [terms(unit.text) for unit in conversation.units]
    yield "BM25", lambda question: _bm25(said, question.text)
    yield "ricordo (words only)", _ranker(_index(conversation, None), conversation, None)
    for name, embedder in embedders.items():
        vectors = embedder.embed_passages([unit.text for unit in conversation.units])
        queries = {question.id: embedder.embed_query(question.text) for question in conversation.questions}
        yield f"{name} alone", _nearest(vectors, queries)
        index = _index(conversation, vectors_to_blobs(vectors), embedder.dimensions)
        yield f"ricordo ({name})", _ranker(index, conversation, queries, weights_for(embedder.name))


def _index(conversation: Conversation, blobs: Sequence[bytes] | None, dimensions: int = 1) -> OwnerIndex:
    return OwnerIndex(
        dimensions,
        (
            Row(
                message_id=str(number),
                session_id=unit.session,
                turn_number=unit.number,
                position=0,
                created_at=unit.created_at,
                role=unit.role,
                terms=terms(unit.text),
                vector=blobs[number] if blobs else None,
                speaker=unit.speaker,
                asks=ends_with_question(unit.text),
                shows=shows(unit.text),
            )
            for number, unit in enumerate(conversation.units)
        ),
    )


def _ranker(
    index: OwnerIndex,
    conversation: Conversation,
    queries: dict[str, Vectors] | None,
    weights: EvidenceWeights = DEFAULT_WEIGHTS,
) -> Callable[[LabelledQuestion], Order]:
    def order_of(question: LabelledQuestion) -> Order:
        asked = RecallQuestion(question.text, conversation.now, queries[question.id] if queries else None)
        return np.array([int(message) for message in rank_all(index, asked, weights)], dtype=np.int64)

    return order_of


def _nearest(vectors: Vectors, queries: dict[str, Vectors]) -> Callable[[LabelledQuestion], Order]:
    return lambda question: np.argsort(-(vectors @ queries[question.id]), kind="stable")


def _bm25(said: Sequence[NDArray[np.uint32]], question: str) -> Order:
    """Plain BM25 over single messages, with the same stems and stop words as ours; ties in the order of saying."""
    lengths = np.array([len(words) for words in said], dtype=float)
    norm = 1.2 * (0.25 + 0.75 * lengths / max(lengths.mean(), 1.0))
    total = np.zeros(len(said))
    for _, variants in question_words(question):
        times = np.array([np.isin(words, variants).sum() for words in said], dtype=float)
        holders = (times > 0).sum()
        total += math.log(1 + (len(said) - holders + 0.5) / (holders + 0.5)) * times * 2.2 / (times + norm)
    return np.argsort(-total, kind="stable")


def _found(
    data: str,
    system: str,
    conversation: Conversation,
    question: LabelledQuestion,
    order: Order,
    tokens: NDArray[np.int64],
) -> Found:
    place = {int(unit): rank for rank, unit in enumerate(order)}
    nowhere = len(conversation.units)
    ranks = tuple(sorted(place.get(gold, nowhere) for gold in question.gold))
    spent = np.cumsum(tokens[order])
    scores = {f"R@{cut}": _share(ranks, cut) for cut in CUTS}
    scores["NDCG@10"] = _ndcg(ranks)
    for budget in BUDGETS:
        scores[f"R@{budget}t"] = _share(ranks, int(np.searchsorted(spent, budget, side="right")))
    return Found(data, system, conversation.id, question.id, question.category, ranks, scores)


def _share(ranks: Sequence[int], cut: int) -> float:
    return sum(rank < cut for rank in ranks) / len(ranks)


def _ndcg(ranks: Sequence[int], cut: int = 10) -> float:
    gained = sum(1 / math.log2(rank + 2) for rank in ranks if rank < cut)
    return gained / sum(1 / math.log2(rank + 2) for rank in range(min(cut, len(ranks))))


def tables(report: Report) -> Iterator[Table]:
    """The report as tables: one a set, one of categories for each embedder, one of speed."""
    systems: dict[str, list[str]] = defaultdict(list)
    categories: dict[str, set[str]] = defaultdict(set)
    for each in report.found:
        if each.system not in systems[each.data]:
            systems[each.data].append(each.system)
        categories[each.data].add(each.category)
    for data, names in systems.items():
        asked = sum(each.data == data and each.system == names[0] for each in report.found)
        rows = [(name, report.mean(data, name)) for name in names]
        yield _table(f"{data} · {asked} questions", "system", rows)
        best = max((name for name in names if name.startswith("ricordo")), key=lambda n: report.mean(data, n)["R@10"])
        kinds = [(kind, report.mean(data, best, kind)) for kind in sorted(categories[data])]
        yield _table(f"{data} · {best} by category", "category", kinds)
    if report.speeds:
        table = Table(title="ranking one owner's messages, without the embedder's time")
        for heading in ("messages", "dimensions", "p50 ms", "p99 ms", "CPU p50 ms", "build ms", "add + rank p50 ms"):
            table.add_column(heading, justify="right")
        for speed in report.speeds:
            table.add_row(
                *(f"{value:,.1f}" if isinstance(value, float) else f"{value:,}" for value in asdict(speed).values())
            )
        yield table


def _table(title: str, first: str, rows: Sequence[tuple[str, dict[str, float]]]) -> Table:
    table = Table(title=title)
    table.add_column(first)
    for name in rows[0][1]:
        table.add_column(name, justify="right")
    for label, scores in rows:
        table.add_row(label, *(f"{value:.3f}" for value in scores.values()))
    return table


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench recall --data DIR`: print the tables; `--save` keeps one JSON line a question and system."""
    parser = argparse.ArgumentParser(prog="ricordo bench recall", description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with recall/*.jsonl, or with *.jsonl itself")
    parser.add_argument("--embedder", action="append", help="auto, bilingual, arctic, multilingual, light (repeatable)")
    parser.add_argument("--speed", type=int, default=100_000, help="messages in the speed test; 0 leaves it out")
    parser.add_argument("--save", type=Path, help="file for the raw results")
    asked = parser.parse_args(argv)
    if not asked.data.is_dir():
        parser.error(f"no folder {asked.data}: name one that holds recall/*.jsonl, or *recall*.jsonl itself")
    console = Console()
    folder = asked.data / "recall" if (asked.data / "recall").is_dir() else asked.data
    embedders: dict[str, Embedder] = {}
    for name in asked.embedder or ("bilingual", "arctic", "multilingual", "light"):
        try:
            embedders[name] = embedder_for(name)
        except EmbedderError as reason:
            console.print(f"[yellow]{name} is left out: {reason}[/]")
    files = sorted(folder.glob("*recall*.jsonl")) if folder == asked.data else sorted(folder.glob("*.jsonl"))
    if not files:
        console.print(f"[red]no .jsonl files in {folder}[/]")
        return 1
    report = run(files, embedders, speed_messages=asked.speed, quiet=False)
    for table in tables(report):
        console.print(table)
    if asked.save:
        with asked.save.open("w", encoding="utf-8") as out:
            for each in report.found:
                out.write(json.dumps(asdict(each), ensure_ascii=False) + "\n")
        console.print(f"raw results: {asked.save}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
