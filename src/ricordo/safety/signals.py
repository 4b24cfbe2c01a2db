"""Signals of prompt injection in a stored text: names of signals, not a verdict.

A text goes in, the names of its signals come out, strong ones first. They only inform a flag or a quarantine. Detectors
are easily evaded, so every text is fenced, with or without signals.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

MOST_HIDDEN_CHARACTERS = 20_000  # characters of a text that are searched

# Soft hyphen, fillers, zero-width, bidirectional marks, variation selectors, byte-order mark, tags, private use,
# and the control characters that are neither a tab nor an end of line.
_FORMAT = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb"
)
_CONTROL = "\x00-\x08\x0e-\x1f\x7f\x80-\x84\x86-\x9f"
_PLANES = "\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f"
# Scripts beyond Latin, Greek and Cyrillic use joiners; symbols and emoji use both.
_WRITTEN_WITH_THEM = "\u0590-\u1fff\u2190-\u2bff\u3000-\ud7ff\ufe0f\U0001f000-\U0001faff"

HIDDEN = f"[{_FORMAT}{_CONTROL}{_PLANES}{_JOINERS}{_SELECTORS}]"


@cache
def _hidden() -> re.Pattern[str]:
    """Compiled on first use, so that importing stays fast."""
    return re.compile(HIDDEN)


@cache
def _smuggled() -> re.Pattern[str]:
    """Hidden characters, except joiners and selectors in their proper place."""
    return re.compile(
        f"[{_FORMAT}{_CONTROL}{_PLANES}]|(?<![{_WRITTEN_WITH_THEM}])[{_JOINERS}]"
        f"|(?<![{_WRITTEN_WITH_THEM}#*0-9©®])[{_SELECTORS}]|(?<=\ufe0f)[{_SELECTORS}]"
    )


def strip_hidden(text: str) -> str:
    """The text without hidden characters; unchanged if it has none."""
    if text.isascii() and text.isprintable():
        return text
    while (shown := _smuggled().sub("", text)) != text:  # removing one may expose another
        text = shown
    return text


def normalise(text: str, most: int = MOST_HIDDEN_CHARACTERS) -> str:
    """The first `most` characters, NFKC-normalised and without hidden characters."""
    text = text[:most]
    if text.isascii():
        return text if text.isprintable() else _hidden().sub("", text)
    return _hidden().sub("", unicodedata.normalize("NFKC", _hidden().sub("", text)))[:most]


def has_hidden(text: str) -> bool:
    """Whether a text contains characters that ordinary writing does not."""
    return not (text.isascii() and text.isprintable()) and _smuggled().search(text) is not None


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
    """One signal: the words that must occur before its pattern is tried, and the pattern."""

    name: str
    strong: bool
    needs: tuple[str, ...]
    pattern: re.Pattern[str]


def signals(text: str) -> tuple[str, ...]:
    """The names of the signals in a text, strong ones first; empty for most texts."""
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
    if has_hidden(text[:MOST_CHARACTERS]):
        seen.add(HIDDEN_CHARACTERS)
    if not plain.isascii() and _MIXED.search(plain):
        seen.add(MIXED_SCRIPT)
    return tuple(name for name in signal_names() if name in seen) if seen else ()


def is_strong(names: Iterable[str]) -> bool:
    """Whether the names include a strong signal or more than one weak one."""
    given = set(names)
    return len(given) > 1 or bool(given & _strong())


@cache
def signal_names() -> tuple[str, ...]:
    """All signals, strong ones first."""
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
