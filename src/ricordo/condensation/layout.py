"""How a summary is written, and how an earlier one is read back: lines of who said what, then what else was named.

    User: My name is Marco Rossi.
    Assistant: The course begins on 12 March 2024.
    Mentioned: Torino · 35 kg · notes.pdf (+3 more)

The last line holds, verbatim, the evidence that no line above holds, and says how much did not fit. It is read back
only from the end of a summary that we wrote, so that a message cannot forge it.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ricordo.condensation.wording import WORDINGS, Wording

BETWEEN = " · "
_MORE = re.compile(rf" \(\+(\d{{1,9}}) (?:{'|'.join(wording.more for wording in WORDINGS.values())})\)\Z")
_ALONE = re.compile(rf"\+(\d{{1,9}}) (?:{'|'.join(wording.more for wording in WORDINGS.values())})\Z")


@dataclass(frozen=True, slots=True)
class Sheet:
    """A summary in its parts: lines, evidence beside them, and how many pieces of evidence were left out."""

    lines: tuple[str, ...] = ()
    mentioned: tuple[str, ...] = ()
    left_out: int = 0

    def text(self, wording: Wording) -> str:
        """The summary as one text."""
        return "\n".join([*self.lines, *self._tail(wording)])

    def _tail(self, wording: Wording) -> list[str]:
        if self.mentioned:
            more = f" (+{self.left_out} {wording.more})" if self.left_out else ""
            return [f"{wording.mentioned}: {BETWEEN.join(self.mentioned)}{more}"]
        # With no evidence beside the lines, what was left out is still told.
        return [f"{wording.mentioned}: +{self.left_out} {wording.more}"] if self.left_out and self.lines else []


def read(text: str) -> Sheet:
    """The parts of a summary that was written here, in any of the languages; other text is all lines."""
    head, tail = text, ""
    for wording in WORDINGS.values():
        at = max(text.rfind(f"\n{wording.mentioned}: "), 0 if text.startswith(f"{wording.mentioned}: ") else -1)
        if at >= 0 and len(text) - at > len(tail):
            mark = f"{wording.mentioned}: "
            head, tail = text[:at], text[text.index(mark, at) + len(mark) :]
    lines = tuple(line for line in head.split("\n") if line.strip())
    if alone := _ALONE.fullmatch(tail):
        return Sheet(lines, (), int(alone[1]))
    more = _MORE.search(tail)
    listed = tail[: more.start()] if more else tail
    return Sheet(lines, tuple(item for item in listed.split(BETWEEN) if item), int(more[1]) if more else 0)


def divided(line: str) -> tuple[str, str]:
    """Who said a line, and what; nobody where it does not say."""
    for wording in WORDINGS.values():
        for label in (wording.user, wording.assistant):
            if line.startswith(f"{label}: "):
                return label, line[len(label) + 2 :]
    return "", line


def unlabelled(text: str) -> str:
    """What a summary says, without our own labels: as it is judged."""
    sheet = read(text)
    return "\n".join([*(divided(line)[1] for line in sheet.lines), BETWEEN.join(sheet.mentioned)])


def gathered(said: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Pairs of speaker and sentence as lines; what one speaker says in a row is one line."""
    lines: list[str] = []
    last: str | None = None
    for speaker, sentence in said:
        if speaker == last:
            lines[-1] += f" {sentence}"
        else:
            lines.append(f"{speaker}: {sentence}" if speaker else sentence)
        last = speaker
    return tuple(lines)
