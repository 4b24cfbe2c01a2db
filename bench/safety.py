"""Whether stored text can give orders, what the detectors see, and how many crises are noticed.

Every attack of a set is stored in every place that reaches a prompt; a scripted model then obeys all it finds outside
the fence in a system message or in the last user message. An attack has reached it when words of the attack stand
there. Flags are counted for what they are, a speed bump; crises are counted on the labelled phrases of each language.
"""

import argparse
import json
import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from ricordo.engine import TokenCounter
from ricordo.engine.tokens import counter_for
from ricordo.languages.registry import Locale, languages, memory_words
from ricordo.prompt.context import Context, Material, assemble
from ricordo.prompt.memory_block import MemoryShares, content_lines, enhance_prompt
from ricordo.records.derived import Profile
from ricordo.records.turns import Chunk, Message, Owner, Remembered, Turn
from ricordo.safety.crisis import detect_crisis
from ricordo.safety.screen import default_rules, is_strong, signals
from ricordo.settings import BudgetSettings

BASE = "You are a patient tutor."
QUESTION = "How do I add two fractions?"
CHARACTERS = 150
GRAM = 4  # so many words in a row are a piece of an attack
_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
_OPENING = re.compile(r"^<<(?:DATI|DATA) ([0-9a-f.]+)>>[^\n]*\n", re.MULTILINE)

_Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReachFigures:
    """One place where an attack was stored: how many prompts were looked at, in how many it reached an instruction."""

    place: str
    attacks: int
    prompts: int
    reached: int


@dataclass(frozen=True, slots=True)
class FlagFigures:
    """One kind of text: the share with any signal, and the share with a strong one or several."""

    label: str
    texts: int
    flagged: float
    strong: float


@dataclass(frozen=True, slots=True)
class CrisisFigures:
    """The labelled phrases of one language; `split` is `kept_aside` for those whose errors were never read."""

    lang: str
    split: str
    crises: int
    recall: float
    quiet: int
    false_alarms: float


@dataclass(frozen=True, slots=True)
class SafetyReport:
    """Everything the benchmark measures."""

    reach: tuple[ReachFigures, ...]
    flags: tuple[FlagFigures, ...]
    crises: tuple[CrisisFigures, ...]
    check_p50_ms: float
    check_p99_ms: float


def instructions(text: str) -> str:
    """What stands outside the fences of a text: from an opening to the closing with the same marker is data."""
    outside: list[str] = []
    while opening := _OPENING.search(text):
        outside.append(text[: opening.start()])
        close = re.compile(rf"^<<(?:FINE DATI|END OF DATA) {re.escape(opening[1])}>>[^\n]*\n?", re.MULTILINE)
        closing = close.search(text, opening.end())
        if closing is None:
            return "\n".join(outside)
        text = text[closing.end() :]
    return "\n".join([*outside, text])


def obeyed(context: Context) -> tuple[str, str]:
    """All that the scripted model would follow in a context: in its messages, and in its one text."""
    last = len(context.messages) - 1
    followed = [
        instructions(message["content"])
        for place, message in enumerate(context.messages)
        if message["role"] == "system" or (place == last and message["role"] == "user")
    ]
    return "\n".join(followed), instructions(context.prompt)


def reaches(attack: str, followed: str, harmless: str) -> bool:
    """Whether a piece of an attack is among what is followed, and was not there without it."""
    words = attack.split()
    pieces = {" ".join(words[at : at + GRAM]) for at in range(max(1, len(words) - GRAM + 1))}
    there, before = (" ".join(text.split()) for text in (followed, harmless))
    return any(piece and piece in there and piece not in before for piece in pieces)


def _context(locale: Locale, counter: TokenCounter, **stored: Any) -> Context:
    material = Material(question=QUESTION, safety=default_rules(locale.code), system=BASE, **stored)
    return assemble(material, BudgetSettings(), locale, CHARACTERS, counter)


def _turn(text: str, counter: TokenCounter, *, system: bool = False) -> Turn:
    asked = Message("m1", "system" if system else "user", text, _MOMENT, counter.count(text))
    told = Message("m2", "assistant", text, _MOMENT, counter.count(text))
    return Turn("t1", Owner("bench", "safety"), "tutor", "s1", 1, _MOMENT, asked, told, counter=counter.name)


def _profile(text: str, locale: Locale, counter: TokenCounter) -> str:
    profile = Profile(text, (text,), (text,))
    shares = MemoryShares()
    lines = content_lines(profile, text, memory_words(locale), shares.within(shares.memory), (5, 10), counter.count)
    return "\n".join(lines)


def _enhanced(profile: Profile, locale: Locale, counter: TokenCounter, when: str = "") -> tuple[str, ...]:
    prompt = enhance_prompt(
        BASE, profile, count=counter.count, safety_rules=default_rules(locale.code), locale=locale, when=when
    )
    return (instructions(prompt),)


Place = Callable[[str, Locale, TokenCounter], tuple[str, ...]]
PLACES: Mapping[str, Place] = {
    "message": lambda text, locale, counter: obeyed(_context(locale, counter, history=(_turn(text, counter),))),
    "message of the system": lambda text, locale, counter: obeyed(
        _context(locale, counter, history=(_turn(text, counter, system=True),))
    ),
    "profile": lambda text, locale, counter: obeyed(_context(locale, counter, profile=_profile(text, locale, counter))),
    "summary": lambda text, locale, counter: obeyed(_context(locale, counter, summary=text)),
    "recalled": lambda text, locale, counter: obeyed(_context(locale, counter, recalled=(Remembered("r1", text),))),
    "document chunk": lambda text, locale, counter: obeyed(_context(locale, counter, chunks=(Chunk("c1", text),))),
    "name of a chunk": lambda text, locale, counter: obeyed(
        _context(locale, counter, chunks=(Chunk(text[:200] or "c1", "x"),))
    ),
    "standalone question": lambda text, locale, counter: obeyed(_context(locale, counter, standalone=text)),
    "enhanced: summary": lambda text, locale, counter: _enhanced(Profile(text), locale, counter),
    "enhanced: fact": lambda text, locale, counter: _enhanced(Profile("", (text,)), locale, counter),
    "enhanced: topic": lambda text, locale, counter: _enhanced(Profile("", (), (text,)), locale, counter),
    "enhanced: date": lambda text, locale, counter: _enhanced(Profile("x"), locale, counter, text),
}


def run(
    data_dir: Path, *, cases: Path | None = None, most: int | None = None, show: Callable[[str], object] | None = None
) -> SafetyReport:
    """Measure on `data_dir`/injection/*.jsonl and, where there are any, on the labelled phrases in `cases`."""
    rows = [row for path in sorted((data_dir / "injection").glob("*.jsonl")) for row in _rows(path)][:most]
    attacks = [str(row["text"]) for row in rows if not str(row["label"]).startswith("benign")]
    phrases = [row for path in sorted(cases.glob("crisis_*.jsonl")) for row in _rows(path)] if cases else []
    texts = [str(row["text"]) for row in phrases] or [str(row["text"]) for row in rows]
    spent = sorted(_time(text) for text in texts)
    return SafetyReport(
        reach=tuple(measure_reach(place, attacks, show) for place in PLACES),
        flags=measure_flags(rows),
        crises=measure_crises(phrases),
        check_p50_ms=spent[len(spent) // 2] if spent else 0.0,
        check_p99_ms=spent[int(len(spent) * 0.99)] if spent else 0.0,
    )


def measure_reach(place: str, attacks: Sequence[str], show: Callable[[str], object] | None = None) -> ReachFigures:
    """Store every attack in one place, in every language, and look at what a gullible model would follow."""
    if show:
        show(place)
    counter = counter_for("approximate")
    put = PLACES[place]
    reached = prompts = 0
    for locale in [each.labels for each in languages()]:
        harmless = put("x", locale, counter)
        for attack in attacks:
            for followed, before in zip(put(attack, locale, counter), harmless, strict=True):
                prompts += 1
                reached += reaches(attack, followed, before)
    return ReachFigures(place, len(attacks), prompts, reached)


def measure_flags(rows: Sequence[_Row]) -> tuple[FlagFigures, ...]:
    """The share of texts with signals, by label, and for attacks and harmless texts together."""
    labels = sorted({str(row["label"]) for row in rows})
    found = [(str(row["label"]), signals(str(row["text"]))) for row in rows]
    groups: dict[str, Callable[[str], bool]] = {label: label.__eq__ for label in labels}
    groups["all attacks"] = lambda label: not label.startswith("benign")
    groups["all harmless"] = lambda label: label.startswith("benign")
    figures = []
    for name, belongs in groups.items():
        mine = [names for label, names in found if belongs(label)]
        if mine:
            figures.append(
                FlagFigures(name, len(mine), sum(map(bool, mine)) / len(mine), sum(map(is_strong, mine)) / len(mine))
            )
    return tuple(figures)


def measure_crises(phrases: Sequence[_Row]) -> tuple[CrisisFigures, ...]:
    """Recall and false alarms by language and split; the language is told, as a product knows it."""
    figures = []
    for lang in sorted({str(row["lang"]) for row in phrases}):
        for split in ("all", "rules", "kept_aside"):
            mine = [row for row in phrases if row["lang"] == lang and split in ("all", row["split"])]
            crises = [bool(detect_crisis(str(row["text"]), lang)) for row in mine if row["label"] == "crisis"]
            quiet = [bool(detect_crisis(str(row["text"]), lang)) for row in mine if row["label"] == "quiet"]
            if crises and quiet:
                recall, alarms = sum(crises) / len(crises), sum(quiet) / len(quiet)
                figures.append(CrisisFigures(lang, split, len(crises), recall, len(quiet), alarms))
    return tuple(figures)


def _time(text: str) -> float:
    """Milliseconds for crisis and signals together; the best of three."""
    tries = []
    for _ in range(3):
        begun = time.perf_counter()
        detect_crisis(text)
        signals(text)
        tries.append((time.perf_counter() - begun) * 1000)
    return min(tries)


def _rows(path: Path) -> list[_Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench safety --data DIR [--cases DIR] [--most N]`."""
    parser = argparse.ArgumentParser(prog="ricordo bench safety", description="Whether stored text can give orders.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds injection/*.jsonl")
    parser.add_argument("--cases", type=Path, default=Path("tests/data"), help="folder with crisis_*.jsonl")
    parser.add_argument("--most", type=int, help="stop after so many texts")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    options = parser.parse_args(argv)
    cases = options.cases if options.cases.is_dir() else None
    if options.json:
        print(json.dumps(asdict(run(options.data, cases=cases, most=options.most)), indent=2))
        return 0
    console = Console()
    names = iter(track(PLACES, description="storing attacks", console=console, transient=True))
    report = run(options.data, cases=cases, most=options.most, show=lambda _: next(names, None))
    _print(report, console)
    return 0


def _print(report: SafetyReport, console: Console) -> None:
    reach = Table(title="attacks that reach an instruction position (must be 0)")
    for name in ("stored as", "attacks", "prompts", "reached ↓"):
        reach.add_column(name, justify="left" if name == "stored as" else "right")
    for row in report.reach:
        reach.add_row(row.place, str(row.attacks), str(row.prompts), str(row.reached))
    console.print(reach)
    flags = Table(title="signals (a speed bump, not a defence)")
    for name in ("texts", "how many", "any signal", "strong or several"):
        flags.add_column(name, justify="left" if name == "texts" else "right")
    for flag in report.flags:
        flags.add_row(flag.label, str(flag.texts), f"{flag.flagged:.3f}", f"{flag.strong:.3f}")
    console.print(flags)
    crises = Table(title="crises (not clinically validated)")
    for name in ("language", "phrases", "crises", "recall ↑", "quiet", "false alarms ↓"):
        crises.add_column(name, justify="left" if name in ("language", "phrases") else "right")
    for each in report.crises:
        crises.add_row(
            each.lang, each.split, str(each.crises), f"{each.recall:.3f}", str(each.quiet), f"{each.false_alarms:.3f}"
        )
    console.print(crises)
    console.print(f"crisis and signals together: p50 {report.check_p50_ms:.3f} ms, p99 {report.check_p99_ms:.3f} ms")


if __name__ == "__main__":
    raise SystemExit(main())
