"""How much of a prompt a provider's cache can serve: long talks go in, the share of tokens as before comes out.

The conversations of a recall set are told turn by turn, one session each. Before every turn a context is built for its
question, and the tokens of the messages with which it begins as the context before did are counted. After the talk
every labelled question is asked, and the share of its evidence that stands in the messages is scored, with
`cache_stable` off and on.
"""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from rich.console import Console
from rich.progress import track
from rich.table import Table

from bench.recall_data import Conversation, Unit, read_conversations
from ricordo.engine.tokens import counter_for
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.safety.fence import defuse
from ricordo.session import Session
from ricordo.testing import MemoryStore

SYSTEM = (
    "You are a helpful assistant. Answer from the conversation and from what is remembered; say what you do not know."
)
COUNTER = counter_for("o200k")


@dataclass(frozen=True, slots=True)
class Prefix:
    """One way of building contexts over one set."""

    data: str
    mode: str
    limit: int
    turns: int
    tokens: float
    share: float
    paid: float
    claimed: float
    evidence: float


def measure(data: str, conversations: Sequence[Conversation], turns: int, *, quiet: bool, **settings: Any) -> Prefix:
    """The averages over at most so many turns, and over the questions of the talks that were told whole."""
    shares: list[float] = []
    claims: list[float] = []
    sizes: list[int] = []
    found: list[float] = []
    mode = f"cache_stable={settings.get('cache_stable', 'off')}, model_limit={settings.get('model_limit', 4_096)}"
    for conversation in track(conversations, f"{data} · {mode}", disable=quiet):
        if len(shares) >= turns:
            break
        opened = Memory(MemoryStore(), settings_from({"system_prompt": SYSTEM, **settings}, {}))
        with opened:
            session = opened.session(user_id=conversation.id)
            before: tuple[dict[str, Any], ...] = ()
            for asked, answered in _turns(conversation.units):
                if len(shares) >= turns:
                    break
                context = session.context(asked.text)
                same = _tokens(context.messages[: _common(before, context.messages)])
                sizes.append(context.receipt.total_tokens)
                shares.append(same / context.receipt.total_tokens)
                claims.append((context.receipt.stable_tokens or 0) / context.receipt.total_tokens)
                before = context.messages
                _keep(session, asked, answered)
            else:
                found += [
                    _evidence(session, conversation, question.text, question.gold)
                    for question in conversation.questions
                ]
    paid = fmean(size * (1 - share) for size, share in zip(sizes, shares, strict=True))
    limit = int(settings.get("model_limit", 4_096))
    evidence = fmean(found) if found else float("nan")
    stable = str(settings.get("cache_stable", "off"))
    return Prefix(data, stable, limit, len(shares), fmean(sizes), fmean(shares), paid, fmean(claims), evidence)


def _turns(units: Sequence[Unit]) -> Iterator[tuple[Unit, Unit | None]]:
    """Units two by two: what was said and what was answered, within a session."""
    place = 0
    while place < len(units):
        asked = units[place]
        pair = place + 1 < len(units) and units[place + 1].session == asked.session and asked.role == "user"
        yield asked, units[place + 1] if pair else None
        place += 2 if pair else 1


def _keep(session: Session, asked: Unit, answered: Unit | None) -> None:
    session.add_turn(asked.text, answered.text if answered else "(no answer)", created_at=asked.created_at)


def _evidence(session: Session, conversation: Conversation, question: str, gold: frozenset[int]) -> float:
    """The share of the evidence of a question that stands in the messages built for it."""
    told = "\n".join(message["content"] for message in session.context(question).messages)
    return sum(defuse(conversation.units[each].text) in told for each in gold) / len(gold)


def _common(before: Sequence[dict[str, Any]], after: Sequence[dict[str, Any]]) -> int:
    """How many messages both begin with."""
    pairs = enumerate(zip(before, after, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(before), len(after)))


def _tokens(messages: Sequence[dict[str, Any]]) -> int:
    return sum(COUNTER.message_overhead + COUNTER.count(message["content"]) for message in messages)


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench prompt_cache --data DIR`: print one row for each set and way of building contexts."""
    parser = argparse.ArgumentParser(prog="ricordo bench prompt_cache", description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with recall/*.jsonl, or with *.jsonl itself")
    parser.add_argument("--turns", type=int, default=1_000, help="turns that are told, shared by the sets")
    parser.add_argument("--limit", type=int, action="append", help="model_limit to measure at (repeatable)")
    parser.add_argument("--embedder", default="auto", help="auto, bilingual, arctic, multilingual, light")
    asked = parser.parse_args(argv)
    folder = asked.data / "recall" if (asked.data / "recall").is_dir() else asked.data
    files = sorted(folder.glob("*.jsonl"))
    if not files:
        parser.error(f"no .jsonl files in {folder}")
    console = Console()
    ways = [("off", 4_096), *((mode, limit) for limit in asked.limit or (32_768,) for mode in ("off", "on"))]
    left = asked.turns
    for path in files:
        conversations = list(read_conversations(path))
        rows = []
        for mode, limit in ways if left > 0 else ():
            chosen = {"cache_stable": mode, "model_limit": limit, "embedder": asked.embedder}
            rows.append(row := measure(path.stem, conversations, left, quiet=not console.is_terminal, **chosen))
            console.print(f"{path.stem}: cache_stable={mode} at {limit:,}: {row.share:.1%} as before", style="dim")
        if rows:
            console.print(_table(path.stem, rows))
            left -= rows[0].turns
    return 0


def _table(title: str, rows: Sequence[Prefix]) -> Table:
    table = Table(title=f"{title} · the beginning of a prompt that is as in the turn before")
    for heading in ("cache_stable", "limit", "turns", "tokens", "as before", "receipt", "new tokens", "evidence"):
        table.add_column(heading, justify="right")
    for row in rows:
        numbers = (f"{each:,.0f}" for each in (row.limit, row.turns, row.tokens))
        table.add_row(
            row.mode, *numbers, f"{row.share:.1%}", f"{row.claimed:.1%}", f"{row.paid:,.0f}", f"{row.evidence:.3f}"
        )
    return table


if __name__ == "__main__":
    raise SystemExit(main())
