"""Extract the text of a PDF: bytes go in, the text of its pages comes out, separated by form feeds.

Lines repeated on most pages (running titles, page numbers) are removed, and words hyphenated at a line end are joined.
A file without text is refused with the reason.
"""

import io
import re
from collections import Counter
from collections.abc import Sequence
from time import thread_time
from typing import Any

from ricordo.documents.chunks import PAGE_BREAK, Bounds
from ricordo.errors import SettingsError, ValidationError

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
        raise SettingsError("documents", "PDF needs the package 'pypdf': install ricordo[pdf]") from missing
    try:
        reader = pypdf.PdfReader(io.BytesIO(data))
        _unlock(reader, name, password)
        count = len(reader.pages)
        if count > bounds.pages:
            raise _refusal(name, f"has {count:,} pages and {bounds.pages:,} are allowed: split it")
        pages = _extracted(reader, name, bounds)
    except ValidationError:
        raise
    except ImportError as missing:
        # pypdf needs another package for the newer ciphers.
        raise _refusal(
            name, "is encrypted with AES: install 'cryptography', or save it without encryption"
        ) from missing
    except (PyPdfError, ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError, OSError) as broken:
        # A damaged file breaks the parser in many ways with one remedy.
        raise _refusal(name, f"cannot be read as a PDF ({type(broken).__name__}): export it again") from broken
    cleaned = [_joined(lines) for lines in _without_running_titles(pages)]
    letters = sum(character.isalnum() for page in cleaned for character in page)
    if letters < _LEAST_LETTERS:
        raise _refusal(name, "holds no text, only images: run text recognition (OCR) on it, then add it again")
    return PAGE_BREAK.join(cleaned)


def _refusal(name: str, problem: str) -> ValidationError:
    return ValidationError("document", f"{name} {problem}")


def _unlock(reader: Any, name: str, password: str | None) -> None:
    # Files protected only against changes open with an empty password.
    if reader.is_encrypted and not reader.decrypt(password or ""):
        wrong = "does not open with this password" if password else "is encrypted"
        raise _refusal(name, f"{wrong}: give its password, or save it without one")


def _extracted(reader: Any, name: str, bounds: Bounds) -> list[list[str]]:
    pages: list[list[str]] = []
    size = 0
    end = thread_time() + bounds.seconds

    def check_time(*_: object) -> None:
        if thread_time() >= end:
            raise _refusal(name, f"takes more than {bounds.seconds:g} seconds to read: split it")

    for page in reader.pages:
        check_time()
        text = (
            (page.extract_text(visitor_operand_before=check_time) or "").replace(PAGE_BREAK, "\n").replace("\x00", "")
        )
        # A lone surrogate cannot be stored.
        text = text.encode("utf-8", "replace").decode("utf-8")
        size += len(text)
        if size > bounds.characters:
            raise _refusal(name, f"has more than {bounds.characters:,} characters: split it")
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


def _joined(lines: Sequence[str]) -> str:
    return _HYPHEN.sub("", "\n".join(lines)).strip()
