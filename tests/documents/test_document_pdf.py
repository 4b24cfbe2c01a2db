"""Reading PDF files."""

import io
import sys
import warnings

import pytest
from document_samples import a_pdf

from ricordo.documents import Bounds, chunk, read_pdf
from ricordo.errors import SettingsError, ValidationError

pypdf = pytest.importorskip("pypdf", reason="PDF documents need the extra ricordo[pdf]")

PAGES = [
    ["Corso di scienze", "La fotosintesi trasforma la luce", "in energia chimica.", "pagina 1"],
    ["Corso di scienze", "La clorofilla cattura la lu-", "ce rossa e blu.", "pagina 2"],
    ["Corso di scienze", "Le foglie (verdi) respirano.", "Di notte riposano.", "pagina 3"],
]


def test_pages_become_one_text() -> None:
    """Pages are parted by form feeds, running titles and page numbers go, and parted words are joined."""
    pages = read_pdf(a_pdf(PAGES), "corso.pdf").split("\f")
    assert pages[0] == "La fotosintesi trasforma la luce\nin energia chimica."
    assert pages[1] == "La clorofilla cattura la luce rossa e blu."
    assert pages[2] == "Le foglie (verdi) respirano.\nDi notte riposano."


def test_pieces_know_their_page() -> None:
    """A piece of a PDF has the number of the page that it begins on."""
    story = [[f"Page {page} line {line} has a few more words." for line in range(20)] for page in range(1, 4)]
    text = read_pdf(a_pdf(story), "long.pdf")
    pieces = chunk(text, "pdf", "long", "Long")
    assert len({piece.page for piece in pieces}) > 1
    assert all(piece.text.startswith(f"Page {piece.page} ") for piece in pieces)


def test_a_locked_file_opens_with_its_password_only() -> None:
    """An encrypted PDF is refused by name with the remedy, and read when its password is given."""
    writer = pypdf.PdfWriter(clone_from=io.BytesIO(a_pdf(PAGES)))
    writer.encrypt("segreta", algorithm="RC4-128")
    locked = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        writer.write(locked)
        with pytest.raises(
            ValidationError, match=r"corso\.pdf is encrypted: give its password, or save it without one"
        ):
            read_pdf(locked.getvalue(), "corso.pdf")
        with pytest.raises(ValidationError, match=r"corso\.pdf does not open with this password"):
            read_pdf(locked.getvalue(), "corso.pdf", password="sbagliata")
        assert "clorofilla" in read_pdf(locked.getvalue(), "corso.pdf", password="segreta")


@pytest.mark.parametrize("data", [b"", b"not a pdf at all", a_pdf(PAGES)[:200], b"%PDF-1.7\n" + bytes(range(256))])
def test_a_broken_file_is_refused(data: bytes) -> None:
    """Bytes that are no PDF are refused by name with the remedy, whatever they are."""
    with pytest.raises(ValidationError, match=r"broken\.pdf cannot be read as a PDF .*: export it again"):
        read_pdf(data, "broken.pdf")


def test_a_scan_is_refused() -> None:
    """A PDF without text is refused with the advice to recognise its text."""
    with pytest.raises(ValidationError, match=r"scan\.pdf holds no text, only images: run text recognition"):
        read_pdf(a_pdf([[], []]), "scan.pdf")


def test_too_many_pages_are_refused() -> None:
    """More pages than allowed are refused with both numbers."""
    with pytest.raises(ValidationError, match=r"corso\.pdf has 3 pages and 2 are allowed: split it"):
        read_pdf(a_pdf(PAGES), "corso.pdf", bounds=Bounds(pages=2))


def test_too_much_text_is_refused() -> None:
    """More characters than allowed are refused before they are all read."""
    with pytest.raises(ValidationError, match=r"corso\.pdf has more than 50 characters: split it"):
        read_pdf(a_pdf(PAGES), "corso.pdf", bounds=Bounds(characters=50))


def test_a_file_that_never_ends_is_refused() -> None:
    """A small file may hold pages that take hours: reading ends with its time, also within one page."""
    with pytest.raises(ValidationError, match=r"corso\.pdf takes more than 0 seconds to read: split it"):
        read_pdf(a_pdf(PAGES), "corso.pdf", bounds=Bounds(seconds=0))
    once = a_pdf([["word"] * 20_000])
    with pytest.raises(ValidationError, match=r"once\.pdf takes more than 0\.2 seconds to read: split it"):
        read_pdf(once, "once.pdf", bounds=Bounds(seconds=0.2))
    with pytest.raises(ValidationError, match="bounds"):
        Bounds(seconds=-1)


def test_without_pypdf_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the package is missing the error names the extra to install."""
    monkeypatch.setitem(sys.modules, "pypdf", None)
    with pytest.raises(SettingsError, match=r"ricordo\[pdf\]"):
        read_pdf(b"", "a.pdf")
