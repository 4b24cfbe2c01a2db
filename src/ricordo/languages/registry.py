"""The languages that are known: by code, all of them, and patterns joined from the words of all.

English and Italian are loaded when they are first needed, so that importing Ricordo stays light. `register` adds a
language of your own; what was joined before is then joined again. The tables of a language are readable lines of
words and phrases, and regular expressions that are compiled at first use.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields, replace
from functools import cache, cached_property
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from ricordo.errors import SettingsError

if TYPE_CHECKING:
    from ricordo.languages.base import Language, MemoryWords

Words = frozenset[str]

DAY = "%DAY%"  # stands for "any phrase that names a day" in the patterns of facts
NOTHING = r"(?!)"  # alternatives of a language that has none


def words(*tables: str) -> Words:
    """A set of words written as readable lines."""
    return frozenset(word for table in tables for word in table.split())


def phrases(*tables: str) -> tuple[str, ...]:
    """Phrases divided by commas, over as many lines as they need."""
    return tuple(" ".join(phrase.split()) for table in tables for phrase in table.split(",") if phrase.strip())


def pairs(table: str) -> dict[str, str]:
    """Words and what stands for each, as "word = other", divided by commas."""
    return {one.strip(): other.strip() for one, other in (each.split("=") for each in phrases(table))}


def numbered(table: str, first: int = 1) -> dict[str, int]:
    """Groups of words that stand for 1, 2, 3…: groups are divided by commas, forms by spaces."""
    return {word: number for number, group in enumerate(table.split(","), start=first) for word in group.split()}


def forms(table: str) -> dict[str, str]:
    """Irregular forms to their base: groups are divided by commas, the base comes first."""
    groups = (group.split() for group in table.split(","))
    return {form: base for base, *others in groups for form in others}


class LazyPattern:
    """A regular expression that is compiled when it is first used, so that loading a table stays cheap."""

    def __init__(self, pattern: str, flags: int = re.IGNORECASE) -> None:
        self._pattern = pattern
        self._flags = flags

    @property
    def compiled(self) -> re.Pattern[str]:
        """The pattern, compiled."""
        return self._compiled

    @cached_property
    def _compiled(self) -> re.Pattern[str]:
        return re.compile(self._pattern, self._flags)

    def search(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """As `re.Pattern.search`."""
        return self.compiled.search(text, start, len(text) if end is None else end)

    def match(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """As `re.Pattern.match`."""
        return self.compiled.match(text, start, len(text) if end is None else end)

    def fullmatch(self, text: str, start: int = 0, end: int | None = None) -> re.Match[str] | None:
        """As `re.Pattern.fullmatch`."""
        return self.compiled.fullmatch(text, start, len(text) if end is None else end)

    def finditer(self, text: str) -> Iterator[re.Match[str]]:
        """As `re.Pattern.finditer`."""
        return self.compiled.finditer(text)

    def sub(self, instead: str | Callable[[re.Match[str]], str], text: str, count: int = 0) -> str:
        """As `re.Pattern.sub`."""
        return self.compiled.sub(instead, text, count)


# In the order in which they are tried; the first one is used where a text or a code names none.
_SHIPPED = {"en": "ricordo.languages.english", "it": "ricordo.languages.italian"}
_registered: "dict[str, Language]" = {}


def told_note(note: str, code: str) -> str:
    """A note that a room wrote in English, in a language; as it is where that language has no sentence for it."""
    told = language(code).reader.translated_notes
    if note in told:
        return told[note]
    for written, sentence in told.items():
        pattern = "(.+)".join(map(re.escape, written.split("{}")))
        if "{}" in written and (found := re.fullmatch(pattern, note, re.DOTALL)):
            return sentence.format(*(part if part == note else told_note(part, code) for part in found.groups()))
    return note


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


_COUNT = re.compile(r"[ \t]*\([^(){}]*\{n\}[^(){}]*\)")  # what a header says of its number of turns, in brackets


@dataclass(frozen=True, slots=True)
class Locale:
    """Labels and headings of prompts in one language; pass your own to write them in another.

    `{n}` in the history's header and `{ids}` in the sources are filled in. The labels of a student and a tutor are for
    agents that teach; where they are empty, the others are used.
    """

    code: str
    user_label: str
    assistant_label: str
    system_label: str
    tool_label: str
    history_header: str
    history_footer: str
    sources: str
    no_history: str
    summary_header: str
    recalled_header: str
    chunks_header: str
    question_header: str
    complete_question: str
    topic_header: str = "=== TOPIC ==="
    student_label: str = ""
    tutor_label: str = ""

    def __post_init__(self) -> None:
        for each in fields(self):
            if not isinstance(getattr(self, each.name), str):
                raise SettingsError(f"locale.{each.name}", "expected text")
        for name, filled in (("history_header", {"n": 1}), ("sources", {"ids": ""})):
            try:
                getattr(self, name).format(**filled)
            except (LookupError, ValueError, AttributeError) as error:
                known = ", ".join(f"{{{key}}}" for key in filled)
                raise SettingsError(f"locale.{name}", f"only {known} is filled in; double any other brace") from error

    def header(self, turns: int | None) -> str:
        """The line above the history; without a number it does not change while the history grows."""
        if turns is None:
            return _COUNT.sub("", self.history_header).format(n="…")
        return self.history_header.format(n=turns)

    def label(self, role: str) -> str:
        """The label of a role, as a line begins."""
        labels = {"user": self.user_label, "assistant": self.assistant_label, "system": self.system_label}
        return labels.get(role, self.tool_label)


def locale_for(choice: "Locale | str") -> Locale:
    """A built-in table by code, or the caller's own."""
    if isinstance(choice, Locale):
        return choice
    if not isinstance(choice, str) or choice not in codes():
        raise SettingsError("locale", f"{choice!r} is unknown; use one of {sorted(codes())} or pass a Locale")
    return _Unread.of(choice)


_LABELS = frozenset(each.name for each in fields(Locale)) - {"code"}


class _Unread(Locale):
    """The labels of a language before one is asked for: a memory opens without reading the tables of languages."""

    __slots__ = ()

    @staticmethod
    def of(code: str) -> Locale:
        """The labels of the language of a code."""
        unread = object.__new__(_Unread)
        object.__setattr__(unread, "code", code)
        return unread

    def _read(self) -> Locale:
        labels = language(self.code).labels
        object.__setattr__(self, "__class__", Locale)
        for name in _LABELS:
            object.__setattr__(self, name, getattr(labels, name))
        return self

    def __getattribute__(self, name: str) -> Any:
        if name in _LABELS:
            object.__getattribute__(self, "_read")()
        return object.__getattribute__(self, name)

    def __eq__(self, other: object) -> bool:
        return self._read() == other

    def __hash__(self) -> int:
        return hash(self._read())

    def __repr__(self) -> str:
        return repr(self._read())


def for_students(locale: Locale) -> Locale:
    """The labels of a locale for an agent that teaches: student and tutor instead of user and assistant."""
    return replace(
        locale,
        user_label=locale.student_label or locale.user_label,
        assistant_label=locale.tutor_label or locale.assistant_label,
    )


def memory_words(locale: Locale | str) -> "MemoryWords":
    """The headings of the memory block in the language of a locale; English where there are none.

    A code alone gives those of an agent that teaches; a locale gives them if it calls the user a student.
    """
    if isinstance(locale, str):
        found = language(locale)
        return replace(found.memory, facts=found.memory.student_facts or found.memory.facts)
    words = language(locale.code).memory
    teaches = locale.user_label == locale.student_label
    return replace(words, facts=words.student_facts) if teaches and words.student_facts else words
