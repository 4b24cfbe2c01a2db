"""Signs that a stored text wants to give orders: names of signals, never a verdict.

In: any text. Out: the names of the signals that were seen, strong ones first. This only informs a flag or a
quarantine. Nothing rests on it: a text without a single signal is fenced like every other, because detectors are
easily evaded.
"""

import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

from ricordo.safety.hidden import hides, normalise

MOST_CHARACTERS = 8_000
HIDDEN_CHARACTERS = "hidden_characters"
MIXED_SCRIPT = "mixed_script"
ENCODED = "encoded_blob"
REPETITION = "repetition"

_LONG_WORD = 32
_FEW_WORDS = 15
_MIXED = re.compile(
    r"[A-Za-z][\u0370-\u03ff\u0400-\u04ff][A-Za-z]|[\u0400-\u04ff][A-Za-z]{2,}|[A-Za-z]{2,}[\u0400-\u04ff]"
)


@dataclass(frozen=True, slots=True)
class Signal:
    """One kind of sign: what must stand in a text before it is looked for, and how it is told."""

    name: str
    strong: bool
    needs: tuple[str, ...]
    pattern: re.Pattern[str]


def signals(text: str) -> tuple[str, ...]:
    """The names of the signals in a text, strong ones first; none for most texts."""
    plain = normalise(text, MOST_CHARACTERS)
    lower = plain.lower()
    words = lower.split()
    long = any(len(word) >= _LONG_WORD for word in words)
    repeated = len(words) > _FEW_WORDS and 2 * len(set(words)) < len(words)
    possible = {ENCODED: long, REPETITION: long or repeated}
    seen = {
        signal.name
        for signal in _known()
        if (possible.get(signal.name, False) or any(need in lower for need in signal.needs))
        and signal.pattern.search(plain)
    }
    if hides(text[:MOST_CHARACTERS]):
        seen.add(HIDDEN_CHARACTERS)
    if not plain.isascii() and _MIXED.search(plain):
        seen.add(MIXED_SCRIPT)
    return tuple(name for name in signal_names() if name in seen) if seen else ()


def is_strong(names: Iterable[str]) -> bool:
    """Whether a strong signal, or more than one weak one, is among the names."""
    given = set(names)
    return len(given) > 1 or bool(given & _strong())


@cache
def signal_names() -> tuple[str, ...]:
    """All signals there are, strong ones first."""
    weak = tuple(signal.name for signal in _known() if not signal.strong)
    strong = tuple(signal.name for signal in _known() if signal.strong)
    return (*strong, HIDDEN_CHARACTERS, MIXED_SCRIPT, *weak)


@cache
def _strong() -> frozenset[str]:
    return frozenset(signal.name for signal in _known() if signal.strong) | {HIDDEN_CHARACTERS, MIXED_SCRIPT}


@cache
def _known() -> tuple[Signal, ...]:
    data = tomllib.loads(files("ricordo.safety").joinpath("data", "signals.toml").read_text(encoding="utf-8"))
    words = {f"{{{name}}}": f"(?:{text})" for name, text in data["words"].items()}

    def compiled(patterns: list[str]) -> re.Pattern[str]:
        joined = "|".join(patterns)
        for slot, text in words.items():
            joined = joined.replace(slot, text)
        return re.compile(joined, re.IGNORECASE)

    return tuple(
        Signal(each["name"], each["strong"], tuple(each["needs"]), compiled(each["patterns"]))
        for each in data["signal"]
    )
