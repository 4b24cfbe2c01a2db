"""Crisis phrases, loaded from a TOML file per language that can be edited or replaced.

A file goes in; rules as patterns, suppressing contexts, helplines and fixed replies come out. The shipped files are
written by programmers and are NOT CLINICALLY VALIDATED. Every file must carry a note that says whether it is.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

from ricordo.errors import SettingsError

Category = Literal["self_harm", "abuse", "violence"]
CATEGORIES: tuple[Category, ...] = ("self_harm", "abuse", "violence")
TIERS = (1, 2, 3)
SHIPPED = ("it", "en")

_SLOT = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class CrisisRule:
    """Phrases of one kind, and groups of words that count when one of each occurs in a sentence.

    It is tried only if a word starts with one of `needs`, and suppressed in the contexts of `unless`.
    """

    id: str
    category: Category
    tier: int
    needs: tuple[str, ...]
    phrases: str
    together: tuple[tuple[str, ...], ...]
    unless: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CrisisPhrases:
    """All crisis data of a language; `note` says whether professionals validated it.

    Patterns are stored as text and compiled on first use, because most are never needed.
    """

    language: str
    note: str
    notice: str
    replies: Mapping[str, str]
    expand: Mapping[str, str]
    rules: tuple[CrisisRule, ...]
    quiet: str
    contexts: Mapping[str, str]
    triggers: str


def shipped_phrases(language: str | None = None) -> tuple[CrisisPhrases, ...]:
    """The phrases of one language; those of all languages if it is None or unknown."""
    code = (language or "").lower()[:2]
    return tuple(_shipped(each) for each in ((code,) if code in SHIPPED else SHIPPED))


@cache
def _shipped(language: str) -> CrisisPhrases:
    text = files("ricordo.safety").joinpath("data", f"crisis_{language}.toml").read_text(encoding="utf-8")
    return read_phrases(text, f"crisis_{language}.toml")


def load_phrases(path: str | Path) -> CrisisPhrases:
    """Phrases from a file in the format of the shipped ones."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeError) as error:
        raise SettingsError("crisis_file", f"{path} cannot be read: {error}") from error
    phrases = read_phrases(text, str(path))
    check_patterns(phrases, str(path))
    return phrases


def check_patterns(phrases: CrisisPhrases, name: str) -> None:
    """Compile every pattern now, so that an error is reported when the file is loaded."""
    for rule in phrases.rules:
        for pattern in (rule.phrases, *(group for groups in rule.together for group in groups)):
            _check(pattern, f"{name}: rule {rule.id!r}")
    for pattern in (phrases.quiet, phrases.triggers, *phrases.contexts.values()):
        _check(pattern, name)


def _check(pattern: str, where: str) -> None:
    try:
        compiled(pattern)
    except re.error as error:
        raise SettingsError("crisis_file", f"{where}: {error}; fix the regular expression") from error


@cache
def compiled(pattern: str) -> re.Pattern[str]:
    """A pattern, compiled once."""
    return re.compile(pattern)


def read_phrases(text: str, name: str) -> CrisisPhrases:
    """Parse phrases; SettingsError names what is wrong."""
    try:
        data = tomllib.loads(text)
        words = {key: _slots(value, {}) for key, value in data.get("words", {}).items()}
        rules = tuple(_rule(each, words) for each in data["rule"])
        return CrisisPhrases(
            language=data["language"],
            note=data["note"],
            notice=data["notice"].strip(),
            replies=_replies(data["replies"]),
            expand=dict(data.get("expand", {})),
            rules=rules,
            quiet=_pattern(data["quiet"], words) if data.get("quiet") else "",
            contexts={key: _pattern(value, words) for key, value in data.get("contexts", {}).items()},
            triggers=_triggers({need for rule in rules for need in rule.needs}),
        )
    except (tomllib.TOMLDecodeError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise SettingsError("crisis_file", f"{name}: {error}; see the shipped files for the form") from error


def _triggers(needs: set[str]) -> str:
    """A pattern for words with one of these prefixes, grouped by first letter so that most words fail fast."""
    groups = (
        rf"{re.escape(first)}(?:{'|'.join(re.escape(need[1:]) for need in same)})"
        for first, same in groupby(sorted(needs), key=lambda need: need[:1])
    )
    return rf"\b(?:{'|'.join(groups)})\w*"


def _rule(data: Mapping[str, Any], words: Mapping[str, str]) -> CrisisRule:
    if data["category"] not in CATEGORIES or data["tier"] not in TIERS:
        raise ValueError(f"rule {data['id']!r}: category is one of {CATEGORIES}, tier one of {TIERS}")
    if not data.get("phrases") and not data.get("together"):
        raise ValueError(f"rule {data['id']!r}: give it `phrases`, or groups of words `together`")
    if not data["needs"]:
        raise ValueError(f"rule {data['id']!r}: name at least one beginning of a word in `needs`")
    return CrisisRule(
        id=data["id"],
        category=data["category"],
        tier=data["tier"],
        needs=tuple(data["needs"]),
        phrases=_pattern(data["phrases"], words) if data.get("phrases") else "",
        together=tuple(tuple(_pattern([group], words) for group in each) for each in data.get("together", ())),
        unless=tuple(data.get("unless", ())),
    )


def _replies(data: Mapping[str, str]) -> Mapping[str, str]:
    missing = [category for category in CATEGORIES if not str(data.get(category, "")).strip()]
    if missing:
        raise ValueError(f"replies: {', '.join(missing)} is missing")
    return {category: str(text).strip() for category, text in data.items()}


def _pattern(phrases: list[str], words: Mapping[str, str]) -> str:
    # The lookbehind is outside the group: inside a word all phrases fail at once.
    return rf"(?<!\w)(?:{'|'.join(_slots(phrase, words) for phrase in phrases)})(?!\w)"


def _slots(phrase: str, words: Mapping[str, str]) -> str:
    """Replace each `{name}` by its words, and `~` by up to three arbitrary words."""
    filled = _SLOT.sub(lambda slot: f"(?:{words[slot[1]]})", phrase)
    return filled.replace(" ~ ", r"(?: \w+){0,3} ")
