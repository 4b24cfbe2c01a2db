"""The languages that are known: by code, all of them, and patterns joined from the words of all.

English and Italian are loaded when they are first needed, so that importing Ricordo stays light. `register` adds a
language of your own; what was joined before is then joined again.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ricordo.languages.patterns import NOTHING, LazyPattern

if TYPE_CHECKING:
    from ricordo.languages.base import Language

# In the order in which they are tried; the first one is used where a text or a code names none.
_SHIPPED = {"en": "ricordo.languages.english", "it": "ricordo.languages.italian"}
_registered: "dict[str, Language]" = {}


def codes() -> tuple[str, ...]:
    """The codes of all languages, in the order in which they are tried."""
    return tuple({**_SHIPPED, **_registered})


def languages() -> "tuple[Language, ...]":
    """All languages, in the order in which they are tried."""
    return _languages(tuple(_registered.values()))


def language(code: str) -> "Language":
    """The language of a code such as "it" or "it-IT"; English where there is none."""
    whole = code.lower().replace("_", "-").partition("-")[0]
    short = whole if whole in codes() else whole[:2]
    if short in _registered:
        return _registered[short]
    return _load(short if short in _SHIPPED else next(iter(_SHIPPED)))


def register(added: "Language") -> "Callable[[], None]":
    """Add a language, or replace one that has its code; returns how to take it away again."""
    before = _registered.get(added.code)
    _registered[added.code] = added

    def undo() -> None:
        _registered.pop(added.code, None)
        if before is not None:
            _registered[added.code] = before

    return undo


@cache
def _load(code: str) -> "Language":
    found: Language = import_module(_SHIPPED[code]).LANGUAGE
    return found


@cache
def _languages(registered: "tuple[Language, ...]") -> "tuple[Language, ...]":
    known = {code: _load(code) for code in _SHIPPED}
    return tuple((known | {each.code: each for each in registered}).values())


class AnyLanguage(LazyPattern):
    """A regular expression with the words of all languages, compiled at first use and after `register`.

    A slot such as `<topics.openings>` stands for that field of every language: alternatives are joined as they are,
    phrases are escaped and the longest comes first. `<questions.kinds:list>` is one entry of a mapping.
    """

    def __init__(self, template: str, flags: int = re.IGNORECASE) -> None:
        super().__init__(template, flags)
        self._known: tuple[Language, ...] = ()
        self._joined: re.Pattern[str] | None = None

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern for the languages that are known now."""
        known = languages()
        if self._joined is None or known is not self._known:
            self._joined, self._known = re.compile(filled(self._pattern), self._flags), known
        return self._joined


_SLOT = re.compile(r"<([a-z]+\.[a-z_]+(?::[a-z_]+)?)>")


def filled(template: str) -> str:
    """A template with each slot filled by the alternatives of all languages; see `AnyLanguage`."""
    return _SLOT.sub(lambda slot: alternatives(slot[1]), template)


def alternatives(name: str) -> str:
    """The field of every language as alternatives of one regular expression; one that never matches if all lack it."""
    field, _, key = name.partition(":")
    values = [attrgetter(field)(each) for each in languages()]
    if key:
        values = [value.get(key, "") for value in values]
    whole = [value for value in values if isinstance(value, str) and value]
    listed = {word for value in values if not isinstance(value, str) for word in value}
    return "|".join([*whole, *escaped(listed)]) or NOTHING


def escaped(listed: Iterable[str]) -> list[str]:
    """Phrases as alternatives, the longest first."""
    return sorted(map(re.escape, listed), key=lambda phrase: (-len(phrase), phrase))


def all_words(name: str) -> frozenset[str]:
    """The words that a field has in any language."""
    return _all_words(name, languages())


@cache
def _all_words(name: str, known: "tuple[Language, ...]") -> frozenset[str]:
    return frozenset(word for each in known for word in attrgetter(name)(each))


def all_values(name: str) -> dict[str, Any]:
    """The mappings that a field has in all languages, as one."""
    return _all_values(name, languages())


@cache
def _all_values(name: str, known: "tuple[Language, ...]") -> dict[str, Any]:
    return {key: value for each in known for key, value in attrgetter(name)(each).items()}
