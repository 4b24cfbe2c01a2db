"""A piece of a document: what is cited. Its id is made from its words, so that it stays when others change.

The id is `<document id>#<eight hex digits of the text>`; a text that the document holds twice gets `-2`. A piece
that moves keeps its id, a piece that is edited gets another, and an old citation never points at new words.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Literal

from ricordo.errors import ValidationError
from ricordo.records import Chunk

Kind = Literal["text", "markdown", "pdf"]
KINDS: tuple[Kind, ...] = ("text", "markdown", "pdf")

PATH = " › "  # between the headings of a path
_DIGEST = 4  # bytes; two texts of one document that share it are told apart by a number
_SUFFIXES: dict[str, Kind] = {
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".pdf": "pdf",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage: `document[start:end]` is its text, `heading` the way to it, `page` (from 1) is of a PDF only."""

    id: str
    position: int
    text: str
    heading: str
    start: int
    end: int
    page: int | None = None


def piece_ids(document_id: str, texts: Iterable[str]) -> tuple[str, ...]:
    """One id for each text, in order: equal texts are numbered, everything else depends on the text alone."""
    seen: dict[str, int] = {}
    ids = []
    for text in texts:
        # Blanks are not words: a paragraph that is wrapped anew is the same passage.
        words = " ".join(text.split()).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(words, digest_size=_DIGEST).hexdigest()
        seen[digest] = seen.get(digest, 0) + 1
        ids.append(f"{document_id}#{digest}" + (f"-{seen[digest]}" if seen[digest] > 1 else ""))
    return tuple(ids)


def as_chunk(piece: Piece) -> Chunk:
    """The piece as it is offered to a prompt: under as much of the way to it as its own words do not say."""
    names = piece.heading.split(PATH) if piece.heading else []
    first_line = piece.text.partition("\n")[0].strip("#* \t\r")
    above = names[: names.index(first_line)] if first_line in names else names
    return Chunk(piece.id, f"# {PATH.join(above)}\n\n{piece.text}" if above else piece.text)


def kind_of(name: str) -> Kind:
    """The kind of a document by the name of its file; ValidationError for one that cannot be read."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in _SUFFIXES:
        known = ", ".join(sorted(_SUFFIXES))
        raise ValidationError(
            "document", f"{name!r} is of an unknown kind; add one of {known}, or say which kind it is"
        )
    return _SUFFIXES[suffix]
