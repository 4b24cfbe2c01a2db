"""Many writers at once: threads or tasks on one session, on a session each, and processes on one session.

Out: turns per second, and what went wrong: errors, acknowledged turns that are missing, gaps in the numbers, questions
that were parted from their answers.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

from bench import store_cache
from bench.results import Row, medians
from bench.scale import Setup
from bench.systems import MESSAGES, PLAIN, Entry
from bench.worker_client import Child, WorkerError

ONE, OWN, PROCESSES = "one session", "own sessions", "processes, one session"
MANY = "one session, four times as many"


def measure(setup: Setup) -> Iterator[Row]:
    """Every system in every arrangement; repeats are the outer loop. Peers, far slower here, are run once."""
    seen: dict[tuple[str, str], list[tuple[dict[str, float], str]]] = {}
    systems = [entry for entry in setup.systems if entry not in (PLAIN, MESSAGES)]
    for repeat in range(setup.scale.repeats):
        for arrangement in (ONE, MANY, OWN, PROCESSES):
            for entry in systems if repeat == 0 else [entry for entry in systems if not entry.requirements]:
                setup.say(f"{setup.scale.writers} writers, {arrangement}: {entry.title}")
                seen.setdefault((arrangement, entry.name), []).append(_once(setup, entry, arrangement))
    for (arrangement, name), runs in seen.items():
        wrong = sorted({check for _, check in runs} - {"ok"})
        figures = [figures for figures, _ in runs if figures]
        yield Row("writers", arrangement, name, medians(figures) if figures else {}, "; ".join(wrong) or "ok")


def _once(setup: Setup, entry: Entry, arrangement: str) -> tuple[dict[str, float], str]:
    with store_cache.workplace() as folder:
        try:
            written = (_processes if arrangement == PROCESSES else _one_process)(setup, entry, arrangement, folder)
            kept = [mark for each in written for mark in each["kept"]]
            errors = sum((Counter(each["errors"]) for each in written), Counter())
            seconds = max(each["ended"] for each in written) - min(each["begun"] for each in written)
            with setup.start(entry, folder) as reader:
                check = _checked(setup, reader, arrangement, kept, errors)
        except WorkerError as error:
            return {}, str(error)
        return {"turns_per_s": len(kept) / seconds, "errors": float(sum(errors.values()))}, check


def _one_process(setup: Setup, entry: Entry, arrangement: str, folder: Any) -> list[dict[str, Any]]:
    with setup.start(entry, folder) as child:
        names = _sessions(setup, arrangement)
        for name in set(names):  # every session exists before the clock starts
            child.ask("append", session=name, start=0, count=1)
        return [child.ask("writers", sessions=names, start=1, count=setup.scale.writer_turns)]


def _processes(setup: Setup, entry: Entry, arrangement: str, folder: Any) -> list[dict[str, Any]]:
    count = setup.scale.writer_turns
    with ExitStack() as stack:
        children: list[Child] = []
        for number in range(setup.scale.writers):
            child = stack.enter_context(setup.start(entry, folder))
            children.append(child)
            if number == 0:  # the first one makes the store
                child.ask("append", session="shared", start=0, count=1)
        for number, child in enumerate(children):  # what is read with a first turn, such as a vocabulary, is no wait
            child.ask("append", session=f"first-{number}", start=0, count=1)
        for number, child in enumerate(children):
            child.tell("writers", sessions=["shared"], start=1 + number * count, count=count)
        return [child.hear() for child in children]


def _sessions(setup: Setup, arrangement: str) -> list[str]:
    writers = setup.scale.writers * (4 if arrangement == MANY else 1)
    return [f"own-{number}" if arrangement == OWN else "shared" for number in range(writers)]


def _checked(setup: Setup, reader: Child, arrangement: str, kept: list[str], errors: Counter[str]) -> str:
    """What is wrong with the stored sessions, given the turns that were acknowledged."""
    found: Counter[str] = Counter()
    gaps = parted = 0
    for session in sorted(set(_sessions(setup, arrangement))):
        stored = reader.ask("marks", session=session)
        marks, numbers = stored["marks"], stored["numbers"]
        found.update(marks)
        gaps += numbers is not None and numbers != list(range(1, len(numbers) + 1))
        parted += sum(
            mark.endswith(" u]") and after != mark.replace(" u]", " a]")
            for mark, after in zip(marks, [*marks[1:], ""], strict=True)
        )
    wrong = {
        "errors": sum(errors.values()),
        "acknowledged turns lost": sum(1 for mark in kept if not found[mark]),
        "turns stored twice": sum(1 for mark in kept if found[mark] > 1),
        "sessions with a gap": gaps,
        "turns parted": parted,
    }
    said = [f"{count} {what}" for what, count in wrong.items() if count]
    said += [f"({message})" for message, _ in errors.most_common(1)]
    return ", ".join(said) or "ok"
