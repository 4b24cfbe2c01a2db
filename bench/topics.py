"""How well messages find their topics: labelled dialogues go in, segmentation figures and matching time come out.

Each dialogue is told to the same decision that the product uses, without looking ahead; a boundary is where it leaves
the talk. The product decides by turns: the first speaker asks, the second answers (`topics`). Where no scale was
measured for the embedder it decides message by message, which is reported as `by message`. Beside both stand splitters
that know nothing: no split, an even split that is told the true number of segments, and lexical tiling. The boundary
density is given because cutting more or less can look good.
"""

import argparse
import json
import math
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import track
from rich.table import Table

from ricordo.followups.parse import parse
from ricordo.recall.embedders import Embedder
from ricordo.recall.embedders.selection import choose
from ricordo.records.derived import Topic
from ricordo.topics.assign import Closeness, TalkState, TopicMessage, decide, follow_up_kind
from ricordo.topics.session_topic import title_of
from ricordo.topics.subjects import KnownTopic, TopicTurn, decide_turn
from ricordo.topics.thresholds import Scale, SubjectScale, Vector, first_centre, moved_centre, scale_for

_MOMENT = datetime(2024, 1, 1, tzinfo=UTC)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Dialogue:
    """Utterances in order; `boundaries[i]` says whether a new topic starts at utterance i."""

    utterances: tuple[str, ...]
    boundaries: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class Figures:
    """One splitter on one set: Pk and WindowDiff in percent (lower is better), F1 and density of boundaries."""

    data: str
    splitter: str
    pk: float
    window_diff: float
    f1: float
    density: float
    true_density: float
    dialogues: int


@dataclass(frozen=True, slots=True)
class Split:
    """One dialogue (counted from 0) by one splitter: where it was cut, where it should have been, Pk, WindowDiff."""

    data: str
    splitter: str
    dialogue: int
    found: tuple[int, ...]
    true: tuple[int, ...]
    pk: float
    window_diff: float


@dataclass(frozen=True, slots=True)
class Report:
    """All figures, and the milliseconds to match one message against twenty topics (median, 99th percentile)."""

    embedder: str
    figures: tuple[Figures, ...]
    match_p50_ms: float
    match_p99_ms: float
    splits: tuple[Split, ...] = ()


def run(data: Path, embedder: Embedder, *, limit: int | None = None, quiet: bool = True) -> Report:
    """Segment every file of `data`/segment (the first `limit` dialogues of each) and time the matching."""
    figures: list[Figures] = []
    raw: list[Split] = []
    scale = scale_for(embedder.name)
    for path in sorted((data / "segment").glob("*.jsonl")):
        dialogues = list(read_dialogues(path))[:limit]
        shown = track(dialogues, f"{path.stem} · {embedder.name}", disable=quiet)
        said = [spoken(dialogue.utterances, embedder) for dialogue in shown]
        splits: list[tuple[str, list[tuple[bool, ...]]]] = [
            ("none", [tuple([False] * len(d.utterances)) for d in dialogues]),
            ("even split", [even_split(len(d.utterances), sum(d.boundaries[1:])) for d in dialogues]),
            ("lexical tiling", [lexical_tiling(d.utterances) for d in dialogues]),
            ("by message", [tuple(_boundaries(each, scale)) for each in said]),
        ]
        if scale.subjects is not None:
            splits.append(("topics", [tuple(_turn_boundaries(each, scale.subjects)) for each in said]))
        figures.extend(measure(path.stem, name, dialogues, found) for name, found in splits)
        raw.extend(each for name, found in splits for each in one_by_one(path.stem, name, dialogues, found))
    p50, p99 = match_milliseconds(embedder)
    return Report(embedder.name, tuple(figures), p50, p99, tuple(raw))


def read_dialogues(path: Path) -> Iterator[Dialogue]:
    """The dialogues of a file: one JSON object a line, with utterances and boundaries."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            yield Dialogue(tuple(row["utterances"]), tuple(bool(mark) for mark in row["boundaries"]))


def spoken(utterances: Sequence[str], embedder: Embedder) -> list[TopicMessage]:
    """The utterances with their vectors."""
    vectors = embedder.embed_passages(utterances)
    return [TopicMessage(text, vector) for text, vector in zip(utterances, vectors, strict=True)]


def _turn_boundaries(messages: Sequence[TopicMessage], scale: SubjectScale) -> Iterator[bool]:
    """Where the product leaves the active topic: utterances are questions and answers in turn."""
    known: dict[str, KnownTopic] = {}
    active: str | None = None
    for start in range(0, len(messages), 2):
        question, *answer = messages[start : start + 2]
        turn = TopicTurn(question, *(replace(each, role="assistant") for each in answer))
        decision = decide_turn(turn, active, tuple(known.values()), scale)
        before = active
        if decision.reason != "small talk":
            active = decision.topic_id or f"topic-{start}"
            known[active] = with_turn(active, known.get(active), turn)
        yield before is not None and active != before
        yield from (False for _ in answer)


def with_turn(topic_id: str, known: KnownTopic | None, turn: TopicTurn) -> KnownTopic:
    """A topic with one more turn; a new one if it is not known."""
    first = turn.question
    topic = (
        known.topic if known else Topic(topic_id, title_of(first.text), first_centre(first.vector), _MOMENT, _MOMENT)
    )
    for said in turn.messages:
        count = topic.message_count
        centre = moved_centre(topic.centre, count, said.vector) if count else topic.centre
        topic = replace(topic, centre=centre, message_count=count + 1)
    return KnownTopic(topic, (*(known.turns if known else ()), turn))


def _boundaries(messages: Sequence[TopicMessage], scale: Scale) -> Iterator[bool]:
    topics: dict[str, Topic] = {}
    talk: TalkState | None = None
    closeness = Closeness()
    before: Vector | None = None
    for message in messages:
        if before is not None and talk is not None:
            talk = TalkState(talk.topic_id, talk.recent, talk.message_count, closeness)
        follows = follow_up_kind(message.text, parse(message.text))
        decision = decide(message, talk, tuple(topics.values()), scale, follow_up=follows)
        stays = talk is not None and decision.topic_id == talk.topic_id
        yield talk is not None and not stays
        topic_id = decision.topic_id or f"topic-{len(topics)}"
        known = topics.get(topic_id)
        if known is None:
            centre = first_centre(message.vector)
            topics[topic_id] = Topic(topic_id, message.text[:80], centre, _MOMENT, _MOMENT, message_count=1)
        else:
            centre = moved_centre(known.centre, known.message_count, message.vector)
            topics[topic_id] = known.used(_MOMENT, centre=centre)
        recent = (*talk.recent, message)[-4:] if stays and talk else (message,)
        count = talk.message_count + 1 if stays and talk else 1
        talk = TalkState(topic_id, recent, count)
        if before is not None:
            closeness = closeness.after(before, message.vector)
        before = message.vector


def even_split(size: int, cuts: int) -> tuple[bool, ...]:
    """`cuts` boundaries at equal distances: a splitter that is told how many there are and nothing else."""
    places = {round(number * size / (cuts + 1)) for number in range(1, cuts + 1)}
    return tuple(index in places for index in range(size))


def lexical_tiling(utterances: Sequence[str], block: int = 2) -> tuple[bool, ...]:
    """Boundaries where the words of neighbouring blocks differ more than is usual for the dialogue."""
    bags = [Counter(_WORD.findall(text.lower())) for text in utterances]
    sides = [
        (sum(bags[max(0, i - block) : i], Counter()), sum(bags[i : i + block], Counter())) for i in range(1, len(bags))
    ]
    cosines = [_bag_cosine(left, right) for left, right in sides]
    depths = [_depth(cosines, index) for index in range(len(cosines))]
    if not depths:
        return (False,) * len(bags)
    line = float(np.mean(depths)) + float(np.std(depths)) / 2
    return (False, *(depth > max(line, 0.0) for depth in depths))


def _bag_cosine(left: Counter[str], right: Counter[str]) -> float:
    size = math.sqrt(sum(n * n for n in left.values()) * sum(n * n for n in right.values()))
    return sum(left[word] * right[word] for word in left) / size if size else 0.0


def _depth(cosines: Sequence[float], index: int) -> float:
    left = right = index
    while left > 0 and cosines[left - 1] >= cosines[left]:
        left -= 1
    while right < len(cosines) - 1 and cosines[right + 1] >= cosines[right]:
        right += 1
    return cosines[left] + cosines[right] - 2 * cosines[index]


def measure(data: str, splitter: str, dialogues: Sequence[Dialogue], found: Sequence[Sequence[bool]]) -> Figures:
    """The figures of one splitter: Pk and WindowDiff averaged over dialogues, F1 and density over all boundaries."""
    right = sum(sum(a and b for a, b in zip(d.boundaries[1:], f[1:], strict=True)) for d, f in _both(dialogues, found))
    true = sum(sum(d.boundaries[1:]) for d in dialogues)
    cut = sum(sum(f[1:]) for f in found)
    size = sum(len(d.boundaries) for d in dialogues)
    return Figures(
        data=data,
        splitter=splitter,
        pk=100 * float(np.mean([pk(d.boundaries, f) for d, f in _both(dialogues, found)])),
        window_diff=100 * float(np.mean([window_diff(d.boundaries, f) for d, f in _both(dialogues, found)])),
        f1=2 * right / max(true + cut, 1),
        density=cut / size,
        true_density=true / size,
        dialogues=len(dialogues),
    )


def one_by_one(
    data: str, splitter: str, dialogues: Sequence[Dialogue], found: Sequence[Sequence[bool]]
) -> Iterator[Split]:
    """What one splitter made of each dialogue."""
    for number, (dialogue, marks) in enumerate(_both(dialogues, found)):
        cuts, true = (tuple(at for at, mark in enumerate(each) if at and mark) for each in (marks, dialogue.boundaries))
        shares = pk(dialogue.boundaries, marks), window_diff(dialogue.boundaries, marks)
        yield Split(data, splitter, number, cuts, true, *shares)


def _both(dialogues: Sequence[Dialogue], found: Sequence[Sequence[bool]]) -> Iterable[tuple[Dialogue, Sequence[bool]]]:
    return zip(dialogues, found, strict=True)


def pk(true: Sequence[bool], found: Sequence[bool]) -> float:
    """Share of windows that disagree on whether their two ends lie in one segment."""
    return _windows(true, found, lambda a, b: (a == 0) != (b == 0))


def window_diff(true: Sequence[bool], found: Sequence[bool]) -> float:
    """Share of windows that disagree on how many boundaries they hold."""
    return _windows(true, found, lambda a, b: a != b)


def _windows(true: Sequence[bool], found: Sequence[bool], disagree: Callable[[int, int], bool]) -> float:
    """Windows are half a true segment long on average, at least two, as is usual for both measures."""
    segments = 1 + sum(true[1:])
    size = max(2, round(len(true) / segments / 2))
    starts = range(max(len(true) - size, 0))
    wrong = sum(disagree(sum(true[i + 1 : i + size + 1]), sum(found[i + 1 : i + size + 1])) for i in starts)
    return wrong / len(starts) if starts else 0.0


def match_milliseconds(embedder: Embedder, *, topics: int = 20, rounds: int = 300) -> tuple[float, float]:
    """Median and 99th percentile of one decision against so many topics, the embedder's own time not counted."""
    texts = [f"topic number {number} is about the {number}th thing that people discuss" for number in range(topics)]
    vectors = embedder.embed_passages([*texts, "what was that again about the seventh thing, and why does it matter?"])
    known = [
        Topic(f"topic-{i}", text, first_centre(vector), _MOMENT, _MOMENT)
        for i, (text, vector) in enumerate(zip(texts, vectors[:-1], strict=True))
    ]
    recent = tuple(TopicMessage(text, vector) for text, vector in zip(texts[:4], vectors[:4], strict=True))
    message = TopicMessage("what was that again about the seventh thing, and why does it matter?", vectors[-1])
    scale = scale_for(embedder.name)
    spent: list[float] = []
    for _ in range(rounds):
        begun = time.perf_counter()
        decide(message, TalkState("topic-0", recent, 4), known, scale)
        spent.append((time.perf_counter() - begun) * 1000)
    return float(np.percentile(spent, 50)), float(np.percentile(spent, 99))


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench topics --data DIR [--embedder NAME]`; `--save` keeps one JSON line a dialogue and splitter."""
    parser = argparse.ArgumentParser(prog="ricordo bench topics", description="Segmentation quality and matching time.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds segment/*.jsonl")
    parser.add_argument("--embedder", default="auto", help="auto, bilingual, arctic, multilingual, light or URL#MODEL")
    parser.add_argument("--limit", type=int, help="only the first N dialogues of each file")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--save", type=Path, help="file for the raw results: one JSON line a dialogue and splitter")
    options = parser.parse_args(argv)
    if not any((options.data / "segment").glob("*.jsonl")):
        parser.error(f"no segment/*.jsonl in {options.data}: name a folder that holds them")
    report = run(options.data, choose(options.embedder).embedder, limit=options.limit, quiet=options.json)
    if options.save:
        options.save.write_text("".join(json.dumps(asdict(each)) + "\n" for each in report.splits), encoding="utf-8")
    if options.json:
        print(json.dumps(asdict(replace(report, splits=())), indent=2))
    else:
        _print(report)
    return 0


def _print(report: Report) -> None:
    table = Table(title=f"topics · {report.embedder}")
    for name in ("data", "splitter", "Pk ↓", "WindowDiff ↓", "F1 ↑", "density", "true density"):
        table.add_column(name, justify="left" if name in ("data", "splitter") else "right")
    for row in report.figures:
        style = "bold" if row.splitter == "topics" else None
        numbers = (f"{row.pk:.1f}", f"{row.window_diff:.1f}", f"{row.f1:.3f}", f"{row.density:.3f}")
        table.add_row(row.data, row.splitter, *numbers, f"{row.true_density:.3f}", style=style)
    console = Console()
    # A pipe says nothing of its width, and a table cut to 80 columns hides the names.
    console = console if console.is_terminal else Console(width=110)
    console.print(table)
    console.print(f"one message against 20 topics: p50 {report.match_p50_ms:.3f} ms, p99 {report.match_p99_ms:.3f} ms")


if __name__ == "__main__":
    raise SystemExit(main())
