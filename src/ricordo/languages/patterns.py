"""How tables are written: words and phrases as readable lines, regular expressions that are compiled at first use."""

import re
from collections.abc import Callable, Iterator
from functools import cached_property

Words = frozenset[str]

DAY = "%DAY%"  # stands for "any phrase that names a day" in the patterns of facts
NOTHING = r"(?!)"  # alternatives of a language that has none


def words(*tables: str) -> Words:
    """A set of words written as readable lines."""
    return frozenset(word for table in tables for word in table.split())


def phrases(*tables: str) -> tuple[str, ...]:
    """Phrases divided by commas, over as many lines as they need."""
    return tuple(" ".join(phrase.split()) for table in tables for phrase in table.split(",") if phrase.strip())


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
