"""A summary as a profile tells it: sentences of who said what, without the labels that a transcript has.

A summary's text goes in, pieces come out, each a sentence with the frame it stands in; as many of them as fit are told
as one line. A line that began with "User:" would look like the talk itself, and the fence around it would break it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from ricordo.condensation.layout import divided, read
from ricordo.condensation.wording import ENGLISH, ITALIAN, wording_of

_SENTENCE = re.compile(r"\S.*?(?:[.!?…]+(?=\s|\Z)|\Z|(?=\n))", re.DOTALL)
# Names and dates are told; bare numbers, ids, paths and code say nothing to who did not see them.
_TELLING = re.compile(r"(?=.*[^\W\d_]{2})(?:(?:[^\W\d_]|['’-])+\.?|\d+)(?: (?:(?:[^\W\d_]|['’-])+\.?|\d+))*")


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands before, between and after the pieces that are told together."""

    opening: str = ""
    between: str = " "
    closing: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """Some words of a summary, which is told apart from others by a number."""

    summary: int
    frame: Frame
    text: str


_PLAIN = Frame()
_FRAMES = {
    ITALIAN.user: Frame("Ha detto: «", closing="»"),
    ITALIAN.assistant: Frame("In risposta: «", closing="»"),
    ENGLISH.user: Frame("They said: “", closing="”"),
    ENGLISH.assistant: Frame("In reply: “", closing="”"),
}


def pieces(text: str, summary: int = 0) -> Iterator[Piece]:
    """The pieces of a summary in order: its sentences, then what else was named that tells something."""
    sheet = read(text)
    for line in sheet.lines:
        speaker, words = divided(line)
        frame = _FRAMES.get(speaker, _PLAIN)
        for match in _SENTENCE.finditer(words):
            yield Piece(summary, frame, " ".join(match[0].split()))
    label = wording_of(text).mentioned
    for item in sheet.mentioned:
        if _TELLING.fullmatch(item):
            yield Piece(summary, Frame(f"{label}: ", ", ", "."), item)


def told(chosen: Iterable[Piece]) -> str:
    """Pieces as one line."""
    return " ".join(
        frame.opening + frame.between.join(piece.text for piece in together) + frame.closing
        for (_, frame), together in groupby(chosen, key=lambda piece: (piece.summary, piece.frame))
    )
