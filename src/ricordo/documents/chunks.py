"""Cut a document's text into pieces of about 120 to 220 words, each with its heading path and offsets.

A piece never crosses a heading, so an edit inside one section leaves the pieces of all others unchanged. Inside a long
section the boundaries are content-defined: the end of a paragraph or sentence, chosen by a hash of its words. After an
edit the old boundaries are found again a piece or two later.
"""

import hashlib
import io
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from time import thread_time
from typing import Any, Literal

from ricordo.documents.blocks import TextBlock, blocks, lines_of, path_after, points
from ricordo.errors import SettingsError, ValidationError
from ricordo.languages.text import Span, sentences, trimmed

Kind = Literal["text", "markdown", "pdf"]
KINDS: tuple[Kind, ...] = ("text", "markdown", "pdf")

PATH = " › "  # separates the headings of a path
_DIGEST = 4  # bytes; equal digests in one document get a number
_SUFFIXES: dict[str, Kind] = {
    ".txt": "text",
    ".text": "text",
    ".md": "markdown",
    ".markdown": "markdown",
    ".pdf": "pdf",
}


@dataclass(frozen=True, slots=True)
class Piece:
    """A passage: `document[start:end]`; `heading` is its heading path, `page` (from 1) is for PDF only."""

    id: str
    position: int
    text: str
    heading: str
    start: int
    end: int
    page: int | None = None


def piece_ids(document_id: str, texts: Iterable[str]) -> tuple[str, ...]:
    """One id per text, in order, derived from the text alone; equal texts are numbered."""
    seen: dict[str, int] = {}
    ids = []
    for text in texts:
        # Whitespace is normalised: a re-wrapped paragraph keeps its id.
        words = " ".join(text.split()).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(words, digest_size=_DIGEST).hexdigest()
        seen[digest] = seen.get(digest, 0) + 1
        ids.append(f"{document_id}#{digest}" + (f"-{seen[digest]}" if seen[digest] > 1 else ""))
    return tuple(ids)


def kind_of(name: str) -> Kind:
    """The kind of a document by its file name; ValidationError for an unknown suffix."""
    suffix = PurePath(name).suffix.lower()
    if suffix not in _SUFFIXES:
        known = ", ".join(sorted(_SUFFIXES))
        problem = f"{name!r} is of an unknown kind; use one of {known}, or pass the kind"
        raise ValidationError("document", problem, code="file_kind_unknown")
    return _SUFFIXES[suffix]


PAGE_BREAK = "\f"
_LETTERS_A_WORD = 12  # letters per word, to measure text without spaces


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long pieces are, in words, and how large a document may be."""

    least: int = 120
    most: int = 220
    crumb: int = 40  # so few words are no piece of their own: they join the next or the previous piece
    characters: int = 5_000_000
    pages: int = 2_000
    seconds: float = 120  # of processor time to read a PDF: a file of a few kilobytes may have pages that take hours

    def __post_init__(self) -> None:
        if not 1 <= self.crumb <= self.least <= self.most:
            raise ValidationError("bounds", "needs 1 <= crumb <= least <= most")
        if self.seconds < 0:
            raise ValidationError("bounds", "`seconds` cannot be negative")
        if self.characters < 1 or self.pages < 1:
            raise ValidationError("bounds", "a document must be allowed at least one character and one page")


@dataclass(frozen=True, slots=True)
class _Unit:
    """A part that is never cut: a sentence, a short list, code. After one that `binds` there is no cut either."""

    start: int
    end: int
    words: int
    closes: bool = False
    binds: bool = False


@dataclass(frozen=True, slots=True)
class _Section:
    heading: str
    blocks: tuple[TextBlock, ...]


def chunk(
    text: str, kind: Kind, document_id: str, title: str = "", *, bounds: Bounds | None = None
) -> tuple[Piece, ...]:
    """The pieces of a document in order. Every non-blank character is in exactly one; blank text has none.

    `title` starts the heading path of every piece. In PDF text pages are separated by form feeds (see `read_pdf`).
    """
    bounds = bounds or Bounds()
    if kind not in KINDS:
        raise ValidationError("kind", f"{kind!r} is unknown; use one of {', '.join(KINDS)}")
    if len(text) > bounds.characters:
        problem = f"has {len(text):,} characters; {bounds.characters:,} are allowed: add it in parts"
        raise _refusal(title or document_id, problem, "file_too_long")
    spans: list[tuple[Span, str]] = []
    for section in _sections(blocks(text, markdown=kind == "markdown"), title):
        units = _bound(text, section.blocks, bounds)
        spans.extend((span, section.heading) for span in _packed(text, units, bounds))
    ids = piece_ids(document_id, (text[start:end] for (start, end), _ in spans))
    paged = kind == "pdf"
    pages = _Pages(text)
    return tuple(
        Piece(name, position, text[start:end], heading, start, end, pages.at(start) if paged else None)
        for position, (name, ((start, end), heading)) in enumerate(zip(ids, spans, strict=True))
    )


class _Pages:
    """Maps offsets to page numbers; counts each form feed once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._seen, self._page = 0, 1

    def at(self, place: int) -> int:
        self._page += self._text.count(PAGE_BREAK, self._seen, place)
        self._seen = place
        return self._page


def _sections(found: Sequence[TextBlock], title: str) -> Iterator[_Section]:
    """Blocks under the same heading; a heading without content joins the next section."""
    path: tuple[tuple[int, str], ...] = ()
    collected: list[TextBlock] = []
    for block in found:
        if block.kind == "heading":
            if collected and collected[-1].kind != "heading":
                yield _Section(_heading(title, path), tuple(collected))
                collected = []
            path = path_after(path, block)
        collected.append(block)
    if collected:
        yield _Section(_heading(title, path), tuple(collected))


def _heading(title: str, path: Sequence[tuple[int, str]]) -> str:
    names = [name for _, name in path]
    if title and names[:1] != [title]:
        names.insert(0, title)
    return PATH.join(names)


def _bound(text: str, found: Sequence[TextBlock], bounds: Bounds) -> list[_Unit]:
    """The units of a section. A heading, and a line that introduces a list, are bound to what follows."""
    units: list[_Unit] = []
    for at, block in enumerate(found):
        own = [_Unit(*span, _words(text, *span)) for span in _whole(text, block, bounds)]
        last = own.pop()
        followed = found[at + 1].kind if at + 1 < len(found) else None
        announces = followed in ("list", "table", "code") and text[last.end - 1] == ":"
        binds = (block.kind == "heading" and followed is not None) or announces
        units += [*own, _Unit(last.start, last.end, last.words, closes=True, binds=binds)]
    return units


def _whole(text: str, block: TextBlock, bounds: Bounds) -> list[Span]:
    """The unsplittable parts of a block: all of it if it fits, else its items, lines or sentences."""
    spans: Sequence[Span] = [(block.start, block.end)]
    if block.kind == "paragraph" or block.kind == "heading":
        spans = sentences(text, block.start, block.end)
    elif _words(text, block.start, block.end) > bounds.most:
        spans = points(text, block) if block.kind == "list" else list(lines_of(text, block.start, block.end))
        if block.kind == "list":
            spans = [part for span in spans for part in _fitting(text, span, bounds)]
    return [part for span in spans for part in _broken(text, span, bounds.most)]


def _fitting(text: str, span: Span, bounds: Bounds) -> Sequence[Span]:
    return [span] if _words(text, *span) <= bounds.most else sentences(text, *span)


def _broken(text: str, span: Span, most: int) -> Iterator[Span]:
    """Split a span that is too long for a piece, between words; a word that is too long, anywhere."""
    start, end = span
    longest = most * _LETTERS_A_WORD
    while start < end:
        fits = end - start <= longest and _words(text, start, end) <= most
        stop = end if fits else _cut(text, start, end, most, longest)
        part = trimmed(text, start, stop)
        if part[0] < part[1]:
            yield part
        start = stop


def _cut(text: str, start: int, end: int, most: int, longest: int) -> int:
    head = text[start : min(end, start + longest)]
    words = head.split(None, most)
    if len(words) > most:
        # The remainder of `split` begins the next part.
        return start + len(head) - len(words[most])
    blank = max(head.rfind(" "), head.rfind("\n"))
    return start + (blank if blank > 0 and end > start + longest else len(head))


def _words(text: str, start: int, end: int) -> int:
    own = text[start:end]
    return max(len(own.split()), -(-len(own) // _LETTERS_A_WORD))


def _packed(text: str, units: Sequence[_Unit], bounds: Bounds) -> Iterator[Span]:
    """Pack units into pieces, in order."""
    left = sum(unit.words for unit in units)
    first = 0
    while first < len(units):
        last, taken = _last_unit(text, units, first, bounds)
        # A few words at the end join the last piece.
        if left - taken < bounds.crumb and left <= bounds.most + bounds.crumb:
            last, taken = len(units) - 1, left
        yield units[first].start, units[last].end
        first, left = last + 1, left - taken


def _last_unit(text: str, units: Sequence[_Unit], first: int, bounds: Bounds) -> tuple[int, int]:
    """The last unit of the piece that begins at `first`, and the piece's number of words."""
    totals: list[int] = []
    total = 0
    for at in range(first, len(units)):
        unit = units[at]
        if total >= bounds.crumb and total + unit.words > bounds.most:
            break
        total += unit.words
        totals.append(total)
    if first + len(totals) == len(units):
        return len(units) - 1, total
    inside = [n for n, unit in enumerate(units[first : first + len(totals)]) if not unit.binds]
    long_enough = [n for n in inside if totals[n] >= bounds.least]
    closing = [n for n in (long_enough or inside) if units[first + n].closes]
    choice = closing or long_enough or inside or [len(totals) - 1]
    best = max(choice, key=lambda n: zlib.crc32(_normal(text, units[first + n]))) if long_enough else choice[-1]
    return first + best, totals[best]


def _normal(text: str, unit: _Unit) -> bytes:
    return " ".join(text[unit.start : unit.end].split()).encode("utf-8", "surrogatepass")


_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad\u2010]\n(?=[^\W\d_A-ZÀ-Þ])")
_DIGITS = re.compile(r"\d+")
_EDGE = 2  # lines at the top and the bottom of a page that may be repeated
_FEWEST_PAGES = 3
_MOST_SHARE = 0.6
_LEAST_LETTERS = 20  # a scan has none or only a few (a stamp)


def read_pdf(data: bytes, name: str, *, password: str | None = None, bounds: Bounds | None = None) -> str:
    """The text of a PDF, pages separated by form feeds; ValidationError names the file and the remedy."""
    bounds = bounds or Bounds()
    try:
        import pypdf
        from pypdf.errors import PyPdfError
    except ImportError as missing:
        raise SettingsError(
            "documents", "PDF needs the package 'pypdf': install ricordo[pdf]", code="pdf_unsupported"
        ) from missing
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        _unlock(reader, name, password)
        count = len(reader.pages)
        if count > bounds.pages:
            raise _refusal(name, f"has {count:,} pages and {bounds.pages:,} are allowed: split it", "file_too_long")
        pages = _extracted(reader, name, bounds)
    except ValidationError:
        raise
    except ImportError as missing:
        # pypdf needs another package for the newer ciphers.
        problem = "is encrypted with AES: install 'cryptography', or save it without encryption"
        raise _refusal(name, problem, "file_locked") from missing
    except (PyPdfError, ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, OSError) as broken:
        # A damaged file breaks the parser in many ways with one remedy.
        problem = f"cannot be read as a PDF ({type(broken).__name__}): export it again"
        raise _refusal(name, problem, "file_damaged") from broken
    cleaned = [_HYPHEN.sub("", "\n".join(lines)).strip() for lines in _without_running_titles(pages)]
    letters = sum(character.isalnum() for page in cleaned for character in page)
    if letters < _LEAST_LETTERS:
        problem = "holds no text, only images: run text recognition (OCR) on it, then add it again"
        raise _refusal(name, problem, "file_empty")
    return PAGE_BREAK.join(cleaned)


def _refusal(name: str, problem: str, code: str) -> ValidationError:
    return ValidationError("document", f"{name} {problem}", code=code)


def _unlock(reader: Any, name: str, password: str | None) -> None:
    # Files protected only against changes open with an empty password.
    if reader.is_encrypted and not reader.decrypt(password or ""):
        wrong = "does not open with this password" if password else "is encrypted"
        raise _refusal(name, f"{wrong}: give its password, or save it without one", "file_locked")


def _extracted(reader: Any, name: str, bounds: Bounds) -> list[list[str]]:
    pages: list[list[str]] = []
    size = 0
    end = thread_time() + bounds.seconds

    def check_time(*_: object) -> None:
        if thread_time() >= end:
            raise _refusal(name, f"takes more than {bounds.seconds:g} seconds to read: split it", "file_too_long")

    for page in reader.pages:
        check_time()
        text = (
            (page.extract_text(visitor_operand_before=check_time) or "").replace(PAGE_BREAK, "\n").replace("\x00", "")
        )
        # A lone surrogate cannot be stored.
        text = text.encode("utf-8", "replace").decode("utf-8")
        size += len(text)
        if size > bounds.characters:
            raise _refusal(name, f"has more than {bounds.characters:,} characters: split it", "file_too_long")
        pages.append([line.strip() for line in text.splitlines()])
    return pages


def _without_running_titles(pages: Sequence[Sequence[str]]) -> list[list[str]]:
    if len(pages) < _FEWEST_PAGES:
        return [list(lines) for lines in pages]
    seen: Counter[str] = Counter()
    for lines in pages:
        seen.update({_shape(lines[at]) for at in _edges(lines)})
    running = {shape for shape, count in seen.items() if count >= _MOST_SHARE * len(pages) and count >= _FEWEST_PAGES}
    return [
        [line for at, line in enumerate(lines) if not (at in _edges(lines) and _shape(line) in running)]
        for lines in pages
    ]


def _edges(lines: Sequence[str]) -> set[int]:
    filled = [at for at, line in enumerate(lines) if line]
    return {*filled[:_EDGE], *filled[-_EDGE:]}


def _shape(line: str) -> str:
    """The line with its numbers replaced by 0: "page 3 of 9" is equal on every page."""
    return _DIGITS.sub("0", line)
