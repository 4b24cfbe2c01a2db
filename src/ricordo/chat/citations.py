"""Citations in an answer: an id in square brackets, `[id]` or `[id, id]` or `[fonti: id]`, checked as the words arrive.

An id that was offered stays and is noted; one that was not is taken out and reported, with the blank before it. A
bracket is only held back until it closes or cannot be a citation, so that a stream is never late by more than one.
Links, check boxes, indices such as `a[0]` and everything between backticks are no citations and stay as they are.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_BEFORE_INDEX = ("_", ")")
_LONGEST = 400  # characters inside a bracket that may be a citation
_NAMED = re.compile(r"\s*(?:fonti|fonte|sources|source|cit|ref|refs|chunks?|id)\s*[:=]\s*", re.IGNORECASE)
# What looks like an id: a number, or letters with a digit or a joint among them, without blanks.
_ID = re.compile(r"\d{1,6}|(?=\S*[^\W\d_])(?=\S*[\d_:.#/\-])[\w.:#/\-@+~%]{2,255}", re.UNICODE)
# Right after a word these are indices: a[0], x[i], row[n+1].
_INDEX = re.compile(r"\d{1,6}|[^\W\d_]\w?(?:[+\-*]\w+)?")


@dataclass(frozen=True, slots=True)
class Checked:
    """An answer with only true citations: what it cites, in order of mention, and the ids that were taken out."""

    text: str
    cited: tuple[str, ...]
    removed: tuple[str, ...]


class CitationCheck:
    """Checks a stream: `feed` what arrives and pass on what it gives; `close` gives the rest."""

    def __init__(self, offered: Iterable[str]) -> None:
        names = list(offered)
        self._offered = {name: name for name in names}
        # Models are careless about case; where that leaves one id it is the one.
        self._folded: dict[str, str] = {}
        for name in names:
            self._folded.setdefault(name.casefold(), name)
        self._held = ""  # not yet decided: blanks, or blanks and an open bracket
        self._last = ""  # the last character that was passed on
        self._ticks = ""  # the backticks that the closing ones must equal
        self._run = ""  # backticks whose number is not known yet
        self._cited: dict[str, None] = {}
        self._removed: dict[str, None] = {}

    @property
    def cited(self) -> tuple[str, ...]:
        """The offered ids cited so far, each once, in order."""
        return tuple(self._cited)

    @property
    def removed(self) -> tuple[str, ...]:
        """The ids taken out so far, each once, in order."""
        return tuple(self._removed)

    def feed(self, text: str) -> str:
        """What may be passed on now that `text` has arrived."""
        return "".join(self._after(character) for character in text)

    def close(self) -> str:
        """What was still held back; a bracket that never closed is no citation."""
        passed = self._end_of_run()
        return passed + (self._decided() if self._held.endswith("]") else self._let_go(""))

    def _after(self, character: str) -> str:
        if character == "`":
            passed = self._decided() if self._held.endswith("]") else self._let_go("")
            self._run += character
            return passed
        passed = self._end_of_run()
        return passed + (self._pass(character) if self._ticks else self._in_words(character))

    def _end_of_run(self) -> str:
        run, self._run = self._run, ""
        if run and not self._ticks:
            self._ticks = run
        elif run and self._ticks == run:
            self._ticks = ""
        return self._pass(run)

    def _in_words(self, character: str) -> str:
        if self._held.endswith("]"):
            # Only what follows tells a citation from the words of a link.
            decided = self._let_go("") if character == "(" else self._decided()
            return decided + self._in_words(character)
        if "[" in self._held:
            if character in "\n[" or len(self._held) > _LONGEST:
                return self._let_go("") + self._in_words(character)
            self._held += character
            return ""
        if character == "[" or character.isspace():
            self._held += character
            return ""
        return self._let_go(character)

    def _let_go(self, more: str) -> str:
        passed, self._held = self._held + more, ""
        return self._pass(passed)

    def _pass(self, text: str) -> str:
        if text:
            self._last = text[-1]
        return text

    def _decided(self) -> str:
        blanks, _, inside = self._held[:-1].partition("[")
        self._held = ""
        attached = not blanks and (self._last.isalnum() or self._last in _BEFORE_INDEX)
        kept = self._kept(inside, attached=attached)
        if kept is None:
            # After an index there may be another: a[0][1].
            self._last = "_" if attached else "]"
            return f"{blanks}[{inside}]"
        self._last = "]"
        # A line break before a citation that goes is still the end of a line.
        return f"{blanks}[{kept}]" if kept else blanks.rstrip(" \t")

    def _kept(self, inside: str, *, attached: bool) -> str | None:
        """The bracket without unknown ids, "" when nothing is left, None when it is no citation."""
        named = _NAMED.match(inside)
        label = named.group() if named is not None else ""
        whole = inside[len(label) :].strip()
        # An application's own ids may hold commas.
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
    """An answer that is there already, checked as a stream would be."""
    checking = CitationCheck(offered)
    text = checking.feed(answer) + checking.close()
    return Checked(text, checking.cited, checking.removed)


def without_citations(text: str) -> str:
    """A text without anything that looks like a citation."""
    return check(text, ()).text if "[" in text else text
