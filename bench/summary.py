"""How fast a talk is condensed without a model, and how much of what it named survives.

Generated talks hold planted names, numbers, dates, paths, addresses and ids, so what should survive is known and not
what our own rules find; talks of `--data` are judged by what the rules find in them. Beside each summary stands what
plain truncation to the same tokens would have kept. A talk is condensed at once, and in five steps that extend.
"""

import argparse
import json
import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich.console import Console
from rich.table import Table

from ricordo.engine import TokenCounter
from ricordo.engine.tokens import counter_for
from ricordo.people.summaries.extractive import extractive_summary, rank_key_details, truncated_summary
from ricordo.people.summaries.key_details import contains_verbatim
from ricordo.people.summaries.layout import SummaryDraft, SummaryParts, quotable_messages
from ricordo.people.summaries.summarise import as_summary, conversation_language
from ricordo.records.turns import Message, Owner, Turn

SIZES = (200, 5_000)
LIMITS = (200, 1_000, 4_000)
STEPS = 5
PLANTED_EVERY = 4  # messages
_OWNER = Owner("bench", "summary")
_MOMENT = datetime(2026, 1, 1, tzinfo=UTC)

_FRAMES = (
    "Volevo chiederti di {}, perché a lezione non era chiaro. Poi magari facciamo qualche esercizio insieme.",
    "I was reading about {} yesterday and got stuck. The rest of the chapter was fine, I think.",
    "Il professore ha detto che {} sarà nel compito. Gli altri argomenti li ripassiamo un'altra volta.",
    "As far as I remember it was {}, but let me check my notes before we go on with the exercise.",
)
_FILLERS = (
    "Va bene, allora andiamo avanti con calma e rivediamo i passaggi uno per uno. Dimmi quando sei pronto.",
    "That makes sense to me. We can look at the same idea from another side, with a simpler example first.",
    "Non ho capito bene questa parte, me la ripeti con altre parole? Forse un disegno aiuterebbe.",
    "Good question. The short answer is that it depends, and the long one takes a few steps to explain.",
    "Quindi la cellula usa l'energia della luce e produce zuccheri, mentre di notte consuma ossigeno.",
    "The membrane lets water through, while larger molecules need a channel that opens and closes.",
)
_FIRST = ("Marco", "Giulia", "Anna", "Pietro", "Sofia", "Luca", "Emma", "James", "Olivia", "Henry")
_LAST = ("Ferrando", "Bellandi", "Corsetti", "Whitmore", "Ashdown", "Pellerin", "Novak", "Marchetti")


@dataclass(frozen=True, slots=True)
class Figures:
    """One talk condensed to one limit. Shares of key details are in percent, of all and of what a truncation keeps."""

    data: str
    messages: int
    limit: int
    way: str
    milliseconds: float
    tokens: int
    things: int
    survive: float
    truncated: float
    said_left_out: int


def run(
    data: Path | None = None,
    *,
    sizes: Sequence[int] = SIZES,
    limits: Sequence[int] = LIMITS,
    rounds: int = 3,
    counter: TokenCounter | None = None,
) -> tuple[Figures, ...]:
    """Condense generated talks of each size to each limit, and those of `data`/recall if it is given."""
    counts = counter or counter_for("o200k")
    found: list[Figures] = []
    for size in sizes:
        turns, planted = generated(size)
        for limit in limits:
            found.append(measure(f"generated {size}", turns, planted, limit, counts, rounds))
            found.append(measure(f"generated {size}", turns, planted, limit, counts, rounds, steps=STEPS))
    for name, texts in _texts(data) if data else ():
        turns = as_turns(texts)
        named = [each.text for each in rank_key_details(quotable_messages(turns), SummaryParts()) if not each.weak]
        found.extend(measure(name, turns, named, limit, counts, rounds) for limit in limits)
    return tuple(found)


def measure(
    data: str,
    turns: Sequence[Turn],
    things: Sequence[str],
    limit: int,
    counter: TokenCounter,
    rounds: int = 3,
    steps: int = 1,
) -> Figures:
    """One talk to one limit: the median time of all steps, and what survives."""
    language = conversation_language(turns)
    spent: list[float] = []
    made: SummaryDraft | None = None
    for _ in range(rounds):
        begun = time.perf_counter()
        made = _condensed(turns, limit, counter, language, steps)
        spent.append((time.perf_counter() - begun) * 1000)
    cut = truncated_summary(turns, None, limit, counter, language)
    return Figures(
        data=data,
        messages=sum(len(turn.messages) for turn in turns),
        limit=limit,
        way="at once" if steps == 1 else f"in {steps} steps",
        milliseconds=sorted(spent)[len(spent) // 2],
        tokens=made.tokens if made else 0,
        things=len(things),
        survive=_share(things, made),
        truncated=_share(things, cut),
        said_left_out=made.left_out if made else 0,
    )


def _condensed(
    turns: Sequence[Turn], limit: int, counter: TokenCounter, language: str, steps: int
) -> SummaryDraft | None:
    made: SummaryDraft | None = None
    size = -(-len(turns) // steps)
    for start in range(0, len(turns), size):
        before = as_summary(made, turns[0]) if made else None
        made = extractive_summary(turns[start : start + size], before, limit, counter, language) or made
    return made


def _share(things: Sequence[str], made: SummaryDraft | None) -> float:
    kept = sum(contains_verbatim(thing, made.text) for thing in things) if made else 0
    return 100 * kept / max(len(things), 1)


def generated(messages: int, seed: int = 7) -> tuple[list[Turn], list[str]]:
    """A talk in both languages with something planted in every fourth message, and what was planted."""
    chance = random.Random(seed)
    planting = _planting(chance)
    texts: list[str] = []
    planted: list[str] = []
    for number in range(messages):
        if number % PLANTED_EVERY == 0:
            planted.append(next(planting)())
            texts.append(chance.choice(_FRAMES).format(planted[-1]))
        else:
            texts.append(" ".join(chance.sample(_FILLERS, 2)))
    return as_turns(texts), list(dict.fromkeys(planted))


def _planting(chance: random.Random) -> Iterator[Callable[[], str]]:
    """Makers of each kind of key detail, in turn."""
    kinds: tuple[Callable[[], str], ...] = (
        lambda: f"{chance.choice(_FIRST)} {chance.choice(_LAST)}",
        lambda: f"{chance.randint(100, 99_999)} kg",
        lambda: f"{chance.randint(1, 28)} marzo {chance.randint(1900, 2026)}",
        lambda: f"/corso/lezione{chance.randint(1, 9999)}.md",
        lambda: f"https://scuola.example/pagina/{chance.randint(1, 99_999)}",
        lambda: f"manuale-{chance.randint(1, 99)}#{chance.randint(1, 999)}",
        lambda: f"{chance.randint(2, 99)},{chance.randint(10, 99)}%",
        lambda: f"`misura_{chance.randint(1, 9999)}()`",
    )
    while True:
        yield from kinds


def as_turns(texts: Sequence[str]) -> list[Turn]:
    """Texts as the turns of one session, question and answer by turns."""
    turns: list[Turn] = []
    for number in range(1, (len(texts) + 1) // 2 + 1):
        at = _MOMENT + timedelta(minutes=number)
        asked, *answered = texts[2 * number - 2 : 2 * number]
        question = Message(f"{number}:query", "user", asked, at)
        answer = Message(f"{number}:response", "assistant", answered[0], at) if answered else None
        turns.append(Turn(str(number), _OWNER, "tutor", "talk", number, at, question, answer))
    return turns


def _texts(data: Path) -> Iterator[tuple[str, list[str]]]:
    """All messages of each file of labelled conversations, one after the other."""
    for path in sorted((data / "recall").glob("*.jsonl")):
        with path.open(encoding="utf-8") as lines:
            texts = [unit["text"] for line in lines for unit in json.loads(line)["units"]]
        yield path.stem, [text for text in texts if text.strip()]


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench summary [--data DIR]`."""
    parser = argparse.ArgumentParser(
        prog="ricordo bench summary", description="Time of a summary without a model, and what survives it."
    )
    parser.add_argument("--data", type=Path, help="folder that holds recall/*.jsonl")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), help="messages of the generated talks")
    parser.add_argument("--limits", type=int, nargs="+", default=list(LIMITS), help="tokens of the summaries")
    parser.add_argument("--rounds", type=int, default=3, help="how often each is timed")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    options = parser.parse_args(argv)
    if options.data and not any((options.data / "recall").glob("*.jsonl")):
        parser.error(f"no recall/*.jsonl in {options.data}: name a folder that holds them")
    if min(*options.sizes, *options.limits, options.rounds) < 1:
        parser.error("sizes, limits and rounds are above zero")
    report = run(options.data, sizes=options.sizes, limits=options.limits, rounds=options.rounds)
    if options.json:
        print(json.dumps([asdict(row) for row in report], indent=2))
    else:
        _print(report)
    return 0


def _print(report: Sequence[Figures]) -> None:
    table = Table(title="summary without a model")
    for name in ("data", "messages", "limit", "way", "ms", "tokens", "named", "survive %", "truncation %"):
        table.add_column(name, justify="left" if name in ("data", "way") else "right")
    for row in report:
        shares = (f"{row.survive:.1f}", f"{row.truncated:.1f}")
        sizes = (f"{row.milliseconds:.0f}", str(row.tokens), str(row.things))
        table.add_row(row.data, str(row.messages), str(row.limit), row.way, *sizes, *shares)
    console = Console()
    # A pipe says nothing of its width, and a table cut to 80 columns hides the names.
    console = console if console.is_terminal else Console(width=110)
    console.print(table)


if __name__ == "__main__":
    raise SystemExit(main())
