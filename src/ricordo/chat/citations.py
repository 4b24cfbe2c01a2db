"""Citations in an answer: ids in square brackets, `[id]`, `[id, id]` or `[fonti: id]`, checked while the text streams.

An offered id stays and is recorded. An unknown id is removed, with the blank before it, and reported. A bracket is
buffered only until it closes or cannot be a citation. Links, check boxes, indices such as `a[0]` and text between
backticks are not citations and stay unchanged.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ricordo.languages.registry import AnyLanguage

_BEFORE_INDEX = ("_", ")")
_LONGEST = 400  # characters inside a bracket that may be a citation
_NAMED = AnyLanguage(r"\s*(?:<vocabulary.source_labels>|id)\s*[:=]\s*")
# An id: a number, or letters with a digit or a separator, without blanks.
_ID = re.compile(r"\d{1,6}|(?=\S*[^\W\d_])(?=\S*[\d_:.#/\-])[\w.:#/\-@+~%]{2,255}", re.UNICODE)
# An index directly after a word: a[0], x[i], row[n+1].
_INDEX = re.compile(r"\d{1,6}|[^\W\d_]\w?(?:[+\-*]\w+)?")


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer with valid citations only, the ids it cites in order, and the ids that were removed."""

    text: str
    cited: tuple[str, ...]
    removed: tuple[str, ...]


class CitationCheck:
    """Checks a stream: `feed` returns the text that is ready, `close` returns the rest."""

    def __init__(self, offered: Iterable[str]) -> None:
        names = list(offered)
        self._offered = {name: name for name in names}
        # Models change the case of ids: the first id with the same folded form is meant.
        self._folded: dict[str, str] = {}
        for name in names:
            self._folded.setdefault(name.casefold(), name)
        self._buffer = ""  # buffered: blanks, or blanks and an open bracket
        self._last = ""  # the last character that was emitted
        self._ticks = ""  # the opening backticks; the closing run must have the same length
        self._run = ""  # a run of backticks that has not ended yet
        self._cited: dict[str, None] = {}
        self._removed: dict[str, None] = {}

    @property
    def cited(self) -> tuple[str, ...]:
        """The offered ids cited so far, each once, in order."""
        return tuple(self._cited)

    @property
    def removed(self) -> tuple[str, ...]:
        """The ids removed so far, each once, in order."""
        return tuple(self._removed)

    def feed(self, text: str) -> str:
        """The text that can be emitted after `text` has arrived."""
        return "".join(self._next(character) for character in text)

    def close(self) -> str:
        """The buffered rest; a bracket that never closed is not a citation."""
        passed = self._end_of_run()
        return passed + (self._resolve_bracket() if self._buffer.endswith("]") else self._flush(""))

    def _next(self, character: str) -> str:
        if character == "`":
            passed = self._resolve_bracket() if self._buffer.endswith("]") else self._flush("")
            self._run += character
            return passed
        passed = self._end_of_run()
        return passed + (self._emit(character) if self._ticks else self._in_text(character))

    def _end_of_run(self) -> str:
        run, self._run = self._run, ""
        if run and not self._ticks:
            self._ticks = run
        elif run and self._ticks == run:
            self._ticks = ""
        return self._emit(run)

    def _in_text(self, character: str) -> str:
        if self._buffer.endswith("]"):
            # The next character tells a citation from the text of a link.
            decided = self._flush("") if character == "(" else self._resolve_bracket()
            return decided + self._in_text(character)
        if "[" in self._buffer:
            if character in "\n[" or len(self._buffer) > _LONGEST:
                return self._flush("") + self._in_text(character)
            self._buffer += character
            return ""
        if character == "[" or character.isspace():
            self._buffer += character
            return ""
        return self._flush(character)

    def _flush(self, more: str) -> str:
        passed, self._buffer = self._buffer + more, ""
        return self._emit(passed)

    def _emit(self, text: str) -> str:
        if text:
            self._last = text[-1]
        return text

    def _resolve_bracket(self) -> str:
        blanks, _, inside = self._buffer[:-1].partition("[")
        self._buffer = ""
        attached = not blanks and (self._last.isalnum() or self._last in _BEFORE_INDEX)
        kept = self._kept(inside, attached=attached)
        if kept is None:
            # Another index may follow: a[0][1].
            self._last = "_" if attached else "]"
            return f"{blanks}[{inside}]"
        self._last = "]"
        # Keep a line break before a removed citation.
        return f"{blanks}[{kept}]" if kept else blanks.rstrip(" \t")

    def _kept(self, inside: str, *, attached: bool) -> str | None:
        """The bracket without unknown ids; "" if nothing is left, None if it is not a citation."""
        named = _NAMED.match(inside)
        label = named.group() if named is not None else ""
        whole = inside[len(label) :].strip()
        # An application's own ids may contain commas.
        split = [whole] if self._name(whole) is not None else re.split(r"[,;]", whole)
        parts = [part.strip() for part in split if part.strip()]
        names = {part: self._name(part) for part in parts}
        wrong = [part for part in parts if names[part] is None and (label or _ID.fullmatch(part))]
        cited = [name for name in names.values() if name is not None]
        if attached and not cited and not label and all(_INDEX.fullmatch(part) for part in parts):
            return None
        if not cited and (not wrong or len(wrong) < len(parts)):
            return None
        self._cited.update(dict.fromkeys(cited))
        self._removed.update(dict.fromkeys(wrong))
        if not wrong and all(name in (part, None) for part, name in names.items()):
            return inside
        kept = [name if name is not None else part for part, name in names.items() if part not in wrong]
        return label + ", ".join(dict.fromkeys(kept)) if kept else ""

    def _name(self, part: str) -> str | None:
        return self._offered.get(part) or self._folded.get(part.casefold())


def check(answer: str, offered: Iterable[str]) -> Checked:
    """Check a complete answer."""
    checker = CitationCheck(offered)
    text = checker.feed(answer) + checker.close()
    return Checked(text, checker.cited, checker.removed)
