"""Append, window and context: single calls, timed in small batches that the systems take in turns.

Rounds are the outer loop and the order rotates, so that every system sees the same drift of the machine; the first
round warms up and is not counted. Every answer is compared with the text that went in.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any

from bench import sample_turns, store_cache
from bench.results import Row, latency
from bench.scale import Setup
from bench.systems import BY_HAND, MESSAGES, OURS, PEERS, PLAIN, SHIPPED, Entry
from bench.worker_client import Child, WorkerError


def measure(setup: Setup) -> Iterator[Row]:
    """Window and context on one store of sessions per system; appends; then the window up to the longest session."""
    with _children(setup, setup.systems, setup.scale.sessions) as children:
        for size in setup.scale.window:
            yield from window(setup, children, size)
        for size in setup.scale.context:
            yield from context(setup, children, size)
    yield from appends(setup)
    with _children(setup, (OURS, PLAIN), setup.scale.lengths) as children:
        yield from window_by_length(setup, children)
    yield from as_shipped(setup)


def appends(setup: Setup) -> Iterator[Row]:
    """Appends interleaved only with hand-written SQL, as in a program with one memory; then with peers.

    They begin when a write-ahead log has grown to its full length and is written over from its start, which is the
    state it is in ever after, and twice as fast as growing. Growing is measured apart, in new files.
    """
    with _children(setup, (OURS, *BY_HAND), setup.scale.sessions) as children:
        _grow_logs(setup, children)
        for size in setup.scale.append:
            yield from append(setup, children, size)
        yield from append_explained(setup, children)
    with _children(setup, (OURS, *BY_HAND), ()) as children:
        yield from _called("append to a new file", append(setup, children, 0))
    peers = tuple(entry for entry in setup.systems if entry in PEERS)
    if peers:
        with _children(setup, (OURS, *peers), setup.scale.sessions) as children:
            _grow_logs(setup, children)
            for size in setup.scale.append:
                yield from _called("append beside peers", append(setup, children, size))


def as_shipped(setup: Setup) -> Iterator[Row]:
    """Contexts and appends with recall and topics at work; the only others that run meanwhile are the bare tables."""
    with _children(setup, (SHIPPED, PLAIN, MESSAGES), setup.scale.recall) as children:
        for size in setup.scale.recall:
            setup.say(f"context with recall at {size:,} turns")
            children[0].ask("settle", session=f"s{size}")
            samples, _, errors = _interleaved(
                setup,
                children[:1],
                lambda _, done, name=f"s{size}": (  # type: ignore[misc]
                    "context",
                    {"session": name, "start": done, "count": setup.scale.batch},
                ),
            )
            yield _row("context with recall", size, SHIPPED, samples, errors.get(SHIPPED.name, "ok"))
        _grow_logs(setup, children)
        yield from _called("append as shipped", append(setup, children, setup.scale.recall[0]))


def window(setup: Setup, children: list[Child], size: int) -> Iterator[Row]:
    """The last three turns within 2,000 tokens."""
    setup.say(f"window at {size:,} turns")
    name = f"s{size}"
    samples, last, errors = _interleaved(
        setup, _able(children, size), lambda _, __: ("window", {"session": name, "count": setup.scale.batch})
    )
    for child in _able(children, size):
        check = errors.get(child.entry.name) or _graded(last[child.entry.name]["window"], name, size)
        if check == "ok":
            check = _graded(
                child.ask("window", session=sample_turns.TIGHT, count=1)["window"], sample_turns.TIGHT, 5, most=2
            )
            check = check if check == "ok" else f"tight budget: {check}"
        yield _row("window", size, child.entry, samples, check)


def window_by_length(setup: Setup, children: list[Child]) -> Iterator[Row]:
    """The window at every size, the sizes taking turns: each has the same neighbours, who warm or cool its caches."""
    setup.say("window, sizes in turns")
    samples: dict[int, dict[str, _Samples]] = {size: defaultdict(_Samples) for size in setup.scale.lengths}
    checks: dict[tuple[int, str], str] = {}
    for turn in range(setup.scale.rounds + 1):
        shift = turn % len(samples)
        for size in (*setup.scale.lengths[shift:], *setup.scale.lengths[:shift]):
            for child in children:
                answer = child.ask("window", session=f"s{size}", count=setup.scale.batch)
                samples[size][child.entry.name].add(answer, counts=turn > 0)
                checks[size, child.entry.name] = _graded(answer["window"], f"s{size}", size)
    for size, figures in samples.items():
        for child in children:
            yield _row("window by length", size, child.entry, figures, checks[size, child.entry.name])


def context(setup: Setup, children: list[Child], size: int) -> Iterator[Row]:
    """System prompt, history, eight chunks and a question, fitted into 4,096 tokens."""
    setup.say(f"context at {size:,} turns")
    able = [child for child in children if child.entry in (OURS, PLAIN)]
    samples, _, errors = _interleaved(
        setup, able, lambda _, done: ("context", {"session": f"s{size}", "start": done, "count": setup.scale.batch})
    )
    for child in able:
        yield _row("context", size, child.entry, samples, errors.get(child.entry.name, "ok"))


def append(setup: Setup, children: list[Child], size: int) -> Iterator[Row]:
    """One durable turn more. At size 0 every turn opens a session."""
    setup.say(f"append at {size:,} turns")
    session = f"s{size}" if size else "new"

    def order(_: Child, done: int) -> tuple[str, dict[str, Any]]:
        return "append", {"session": session, "start": size + done, "count": setup.scale.batch}

    samples, _, errors = _interleaved(setup, _able(children, size), order)
    for child in _able(children, size):
        done = samples[child.entry.name].done
        name, count = (f"s{size}", size + done) if size else (f"new-{done - 1}", 1)
        check = errors.get(child.entry.name)
        if check is None and size:
            check = _graded(child.ask("window", session=name, count=1)["window"], name, count)
        elif check is None:
            newest = child.ask("marks", session=name)["marks"]
            check = (
                "ok"
                if newest == [sample_turns.mark(each) for each in sample_turns.turn(name, done - 1)]
                else "wrong content"
            )
        yield _row("append", size, child.entry, samples, check)


def append_explained(setup: Setup, children: list[Child]) -> Iterator[Row]:
    """A whole exchange: build the context, then append the turn with the context's receipt."""
    ours = [child for child in children if child.entry == OURS]
    samples, _, errors = _interleaved(
        setup,
        ours,
        lambda _, done: ("append_explained", {"session": "explained", "start": done, "count": setup.scale.batch}),
    )
    yield _row("context and append with receipt", 0, OURS, samples, errors.get(OURS.name, "ok"))


class _Samples:
    """Times that count, and how many calls were made in all."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.processor = 0.0
        self.done = 0

    def add(self, answer: dict[str, Any], *, counts: bool) -> None:
        """Take an answer in."""
        self.done += len(answer["seconds"])
        if counts:
            self.seconds += answer["seconds"]
            self.processor += answer["processor"]

    def figures(self) -> dict[str, float]:
        """Median, 99th percentile and processor time, in milliseconds; nothing if no call succeeded."""
        if not self.seconds:
            return {}
        return {**latency(self.seconds), "cpu_ms": self.processor / len(self.seconds) * 1e3}


def _interleaved(
    setup: Setup, children: list[Child], order: Callable[[Child, int], tuple[str, dict[str, Any]]]
) -> tuple[dict[str, _Samples], dict[str, dict[str, Any]], dict[str, str]]:
    """Samples, last answer and error of every system, the systems taking turns."""
    samples: dict[str, _Samples] = defaultdict(_Samples)
    last: dict[str, dict[str, Any]] = {}
    errors: dict[str, str] = {}
    for turn in range(setup.scale.rounds + 1):
        shift = turn % len(children)
        for child in children[shift:] + children[:shift]:
            name = child.entry.name
            if name in errors:
                continue
            verb, arguments = order(child, samples[name].done)
            try:
                last[name] = child.ask(verb, **arguments)
            except WorkerError as error:
                errors[name] = str(error)
                continue
            samples[name].add(last[name], counts=turn > 0)
    return samples, last, errors


@contextmanager
def _children(setup: Setup, systems: tuple[Entry, ...], sizes: tuple[int, ...]) -> Iterator[list[Child]]:
    with ExitStack() as stack:
        children = []
        for entry in systems:
            template = store_cache.sessions_store(entry, sizes, setup.say)
            folder = stack.enter_context(store_cache.workplace(template))
            children.append(stack.enter_context(setup.start(entry, folder)))
        yield children


def _grow_logs(setup: Setup, children: list[Child]) -> None:
    for child in children:
        child.ask("append", session="warm", start=0, count=setup.scale.warm_turns)


def _called(workload: str, rows: Iterator[Row]) -> Iterator[Row]:
    for row in rows:
        yield replace(row, workload=workload)


def _able(children: list[Child], size: int) -> list[Child]:
    return [child for child in children if size <= child.entry.largest]


def _graded(got: list[list[str]], session: str, count: int, most: int = 3) -> str:
    want = sample_turns.window(session, count, most)
    if got == want:
        return "ok"
    if got and got == want[-len(got) :]:
        return f"{len(got)} of {len(want)} messages"
    return "wrong content"


def _row(workload: str, size: int, entry: Entry, samples: dict[str, _Samples], check: str) -> Row:
    return Row(workload, f"{size:,}", entry.name, samples[entry.name].figures(), check)
