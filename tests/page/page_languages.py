"""The tests of the page in the other language: what they look for in Italian is looked for in English.

In: the words of the page in both languages, from its sources. Out: the sentence, or the fixed part of a sentence, that
the page shows in English where it shows the given one in Italian; anything else as it is. `scripts/test-page` runs all
tests so; those that name their language themselves are left alone.
"""

import json
import os
import re
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any

from playwright.sync_api import Locator, LocatorAssertions, Page

ENGLISH = os.environ.get("RICORDO_PAGE_LANGUAGE") == "en"
EVERYTHING = "RICORDO_PAGE_LANGUAGE" in os.environ  # the long form: every theme, language and width
SOURCES = Path(__file__).parents[2] / "web" / "src"
_WORD = re.compile(r'^  (\w+): ("(?:[^"\\]|\\.)*"),$', re.MULTILINE)
_FILLED = re.compile(r"\{\w+(?:\|[^}]*)?\}")
_PLAIN = re.compile(r"[^\W\d_][\w '’,…-]{3,}")
_SHORTEST_PART = 6
# Parts of sentences whose fixed words do not stand at the same place in both languages.
PARTS: dict[str, str] = {
    "CANCELLA": "ERASE",
    "Fonte": "Source",
    "turni 1–3": "turns 1–3",
    "Aggiunti: 1 conversazione, 2 turni.": "Added: 1 conversation, 2 turns.",
    "parlato": "talked about it",
    "vale": "worth",
    "volt": "time",
    "messagg": "message",
    "Il server non risponde": "The server does not answer",
}


class Translation:
    """Whether the visitor of the running test reads English without having asked for it."""

    active = False


@cache
def words(language: str) -> dict[str, str]:
    """The sentences of the page by their names."""
    texts = [(SOURCES / f"words.{part}{language}.ts").read_text() for part in ("", "memory.")]
    return {name: json.loads(text) for each in texts for name, text in _WORD.findall(each)}


@cache
def candidates(text: str, *, whole: bool = False) -> tuple[str, ...]:
    """What may stand in English where the text stands in Italian: one sentence may have several translations."""
    italian, english = words("it"), words("en")
    if text in PARTS:
        return (PARTS[text],)
    if " · " in text:
        return (" · ".join(candidates(part, whole=True)[0] for part in text.split(" · ")),)
    same = [english[name] for name, sentence in italian.items() if sentence == text]
    if same or whole:
        return tuple(dict.fromkeys(same)) or _filled(text) or (text,)
    if filled := _filled(text):
        return filled
    if len(text) < _SHORTEST_PART:
        return (text,)
    found = []
    for name, sentence in italian.items():
        fixed, other = _FILLED.split(sentence), _FILLED.split(english[name])
        at = next((number for number, part in enumerate(fixed) if text in part), None)
        if at is not None:
            aligned = len(other) == len(fixed) and other[at].strip()
            found.append((other[at] if aligned else max(other, key=len)).strip())
    return tuple(dict.fromkeys(found)) or (text,)


def _filled(text: str) -> tuple[str, ...]:
    """The English of a sentence that is filled in."""
    for name, sentence in words("it").items():
        found = re.fullmatch(_pattern(sentence), text) if _FILLED.search(sentence) else None
        if found and re.search(r"\w{3}", _FILLED.sub("", sentence) + "".join(re.findall(r"\|(\w+)", sentence))):
            return (_fill(words("en")[name], found.groupdict()),)
    return ()


def shown(text: str) -> str:
    """What the page shows in the language of the visitor."""
    return candidates(text)[0] if Translation.active else text


def _pattern(sentence: str) -> str:
    """A sentence as a pattern for what it may be filled with."""
    seen: set[str] = set()
    parts = []
    for part in re.split(r"(\{\w+(?:\|[^}]*)?\})", sentence):
        name, *forms = part[1:-1].split("|") if _FILLED.fullmatch(part) else ("",)
        if not name:
            parts.append(re.escape(part))
        elif forms:
            parts.append(f"(?:{'|'.join(map(re.escape, forms))})")
        else:
            parts.append(f"(?P={name})" if name in seen else f"(?P<{name}>.+)")
            seen.add(name)
    return "".join(parts)


def _fill(sentence: str, values: dict[str, str]) -> str:
    def one(found: re.Match[str]) -> str:
        name, *forms = found[0][1:-1].split("|")
        return values.get(name, "") if not forms else forms[0] if values.get(name) == "1" else forms[1]

    return _FILLED.sub(one, sentence)


def _looked_for(value: Any, *, whole: bool = False) -> Any:
    """A text, a pattern or a list of them, as the page shows it."""
    if not Translation.active:
        return value
    if isinstance(value, str):
        found = candidates(value, whole=whole)
        return found[0] if len(found) == 1 else re.compile("|".join(map(re.escape, found)))
    if isinstance(value, re.Pattern):
        if "|" in value.pattern and not re.search(r"[(\\]", value.pattern):
            return value  # names both languages
        return re.compile(_PLAIN.sub(lambda found: _within(found[0]), value.pattern), value.flags)
    if isinstance(value, list):
        return [_looked_for(each, whole=whole) for each in value]
    return value


def _within(text: str) -> str:
    bare = text.strip()
    found = candidates(bare)
    return text if found == (bare,) else text.replace(bare, f"(?:{'|'.join(map(re.escape, found))})")


def _wrapped(owner: type, name: str, *keywords: str, first: bool = False) -> None:
    original: Callable[..., Any] = getattr(owner, name)

    @wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        whole = bool(kwargs.get("exact"))
        if first and args:
            args = (_looked_for(args[0], whole=whole), *args[1:])
        kwargs |= {key: _looked_for(kwargs[key], whole=whole) for key in keywords if key in kwargs}
        return original(self, *args, **kwargs)

    setattr(owner, name, call)


def install() -> None:
    """Let locators and expectations look for English."""
    for owner in (Page, Locator):
        _wrapped(owner, "get_by_role", "name")
        _wrapped(owner, "get_by_text", first=True)
        _wrapped(owner, "get_by_label", first=True)
        _wrapped(owner, "locator", "has_text")
    _wrapped(Locator, "filter", "has_text")
    for name in ("to_have_text", "not_to_have_text", "to_contain_text", "not_to_contain_text"):
        _wrapped(LocatorAssertions, name, first=True)


if ENGLISH:
    install()
