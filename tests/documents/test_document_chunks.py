"""Cutting documents into pieces."""

import pytest
from document_samples import anything, headings, markdown, paragraphs
from hypothesis import given
from hypothesis import strategies as st

from ricordo.documents import KINDS, Bounds, Kind, Piece, as_chunk, chunk, kind_of
from ricordo.errors import ValidationError
from ricordo.records.turns import Chunk

kinds = st.sampled_from(KINDS)
texts = st.one_of(markdown, anything)
SMALL = Bounds(least=6, most=12, crumb=2)
bounds = st.sampled_from([Bounds(), SMALL])


@given(texts, kinds, bounds)
def test_pieces_cover_the_text_in_order(text: str, kind: Kind, sizes: Bounds) -> None:
    """Every character but blanks lies in exactly one piece, and pieces follow one another."""
    pieces = chunk(text, kind, "d", bounds=sizes)
    last = 0
    for piece in pieces:
        assert not text[last : piece.start].strip()
        assert piece.start < piece.end
        last = piece.end
    assert not text[last:].strip()


@given(texts, kinds, bounds)
def test_offsets_name_the_text(text: str, kind: Kind, sizes: Bounds) -> None:
    """A piece's text is the document between its offsets, without blanks at its ends, and positions count from 0."""
    pieces = chunk(text, kind, "d", bounds=sizes)
    assert [piece.text for piece in pieces] == [text[piece.start : piece.end] for piece in pieces]
    assert all(piece.text == piece.text.strip() for piece in pieces)
    assert [piece.position for piece in pieces] == list(range(len(pieces)))


@given(texts, kinds)
def test_ids_are_unique_and_repeatable(text: str, kind: Kind) -> None:
    """The same document always gives the same ids, all different, each beginning with the document's."""
    ids = [piece.id for piece in chunk(text, kind, "doc", bounds=SMALL)]
    assert len(set(ids)) == len(ids)
    assert ids == [piece.id for piece in chunk(text, kind, "doc", "another title", bounds=SMALL)]
    assert all(name.startswith("doc#") for name in ids)


@given(markdown)
def test_an_id_says_what_the_piece_says(text: str) -> None:
    """Pieces of one text, in whatever document, have the same digest, and other texts have others."""
    by_digest: dict[str, str] = {}
    for piece in chunk(text, "markdown", "one", bounds=SMALL) + chunk(
        text + "\n\nfine", "markdown", "two", bounds=SMALL
    ):
        digest = piece.id.partition("#")[2].partition("-")[0]
        assert by_digest.setdefault(digest, " ".join(piece.text.split())) == " ".join(piece.text.split())


@given(markdown, headings, paragraphs, headings, markdown)
def test_an_edit_in_one_section_leaves_the_others(before: str, own: str, edited: str, after: str, rest: str) -> None:
    """Text that changes under one heading changes no id of a piece before its heading or after the next one."""
    one = f"{before}\n\n{own}\n\nfirst version\n\n{after}\n\nalways here\n\n{rest}"
    other = f"{before}\n\n{own}\n\n{edited}\n\n{after}\n\nalways here\n\n{rest}"
    start = len(before)
    first, second = chunk(one, "markdown", "d"), chunk(other, "markdown", "d")
    assert _texts_before(first, start) == _texts_before(second, start)
    tail = len(f"\n\n{after}\n\nalways here\n\n{rest}")
    assert _digests_after(first, len(one) - tail) == _digests_after(second, len(other) - tail)


def _texts_before(pieces: tuple[Piece, ...], place: int) -> list[str]:
    return [piece.id for piece in pieces if piece.end <= place]


def _digests_after(pieces: tuple[Piece, ...], place: int) -> list[str]:
    return [piece.id.partition("#")[2].partition("-")[0] for piece in pieces if piece.start >= place]


@given(st.lists(paragraphs, min_size=1, max_size=30), paragraphs)
def test_what_is_added_at_the_end_changes_only_the_end(story: list[str], more: str) -> None:
    """Text added to the end of a document leaves all but its last two pieces as they were."""
    old = chunk("\n\n".join(story), "text", "d")
    new = chunk("\n\n".join([*story, more]), "text", "d")
    assert [piece.id for piece in old[:-2]] == [piece.id for piece in new[: max(0, len(old) - 2)]]


@given(texts, kinds, bounds)
def test_no_piece_is_much_longer_than_allowed(text: str, kind: Kind, sizes: Bounds) -> None:
    """A piece has at most the allowed words and a crumb or two."""
    for piece in chunk(text, kind, "d", bounds=sizes):
        assert len(piece.text.split()) <= sizes.most + 2 * sizes.crumb


def test_a_paragraph_put_in_front_moves_few_pieces() -> None:
    """In plain text most pieces keep their ids when a paragraph is put before them."""
    story = [f"Paragraph {n} tells of {'water ' * (n % 23 + 5)}and ends here. It has number {n}." for n in range(120)]
    old = {piece.id for piece in chunk("\n\n".join(story), "text", "d")}
    new = {piece.id for piece in chunk("\n\n".join(["A new beginning of some words.", *story]), "text", "d")}
    assert len(old) > 8
    assert len(old & new) >= len(old) - 3


def test_pieces_carry_the_way_to_them() -> None:
    """A piece knows its headings from the title down; a heading with nothing under it goes with the next."""
    text = "# Guide\n\n## Install\n\nRun it.\n\n## Use\n\n### Often\n\nAsk it.\n\nOther\n=====\n\nThe end."
    pieces = chunk(text, "markdown", "g", "Manual")
    assert [piece.heading for piece in pieces] == [
        "Manual › Guide › Install",
        "Manual › Guide › Use › Often",
        "Manual › Other",
    ]
    assert pieces[1].text == "## Use\n\n### Often\n\nAsk it."


def test_the_title_is_not_said_twice() -> None:
    """A document whose first heading is its title has it once in the path."""
    assert chunk("# Guide\n\nText.", "markdown", "g", "Guide")[0].heading == "Guide"


def test_lists_and_code_stay_whole() -> None:
    """A list and a code block that fit into a piece are never torn, nor parted from the line that announces them."""
    filler = "This sentence fills the page with words. " * 25
    points = "\n".join(f"- point number {n} has exactly these words" for n in range(12))
    code = "```python\n" + "\n".join(f"value_{n} = compute({n})" for n in range(30)) + "\n```"
    text = f"{filler}\n\nThere are these:\n\n{points}\n\n{filler}\n\nIt reads:\n\n{code}\n\n{filler}"
    pieces = chunk(text, "markdown", "d")
    assert len(pieces) > 3
    assert any(f"There are these:\n\n{points}" in piece.text for piece in pieces)
    assert any(f"It reads:\n\n{code}" in piece.text for piece in pieces)


def test_a_hash_inside_code_is_no_heading() -> None:
    """What looks like a heading inside a code block is code."""
    assert [p.heading for p in chunk("# A\n\n```\n# not a heading\n```\n\nText.", "markdown", "d")] == ["A"]


def test_pieces_end_with_sentences() -> None:
    """A long paragraph is cut between sentences, not after an abbreviation or inside a number."""
    text = "Il dott. Rossi misura 3.14 metri, cfr. la fig. 2, e poi torna a casa con calma. " * 60
    pieces = chunk(text, "text", "d")
    assert len(pieces) > 3
    assert all(piece.text.startswith("Il dott.") and piece.text.endswith("calma.") for piece in pieces)
    assert all(120 <= len(piece.text.split()) <= 260 for piece in pieces)


def test_equal_passages_are_told_apart() -> None:
    """A passage that a document holds twice has two ids, the second numbered."""
    first, second = chunk("# A\n\nSame.\n\n# A\n\nSame.", "markdown", "d")
    assert second.id == f"{first.id}-2"


def test_wrapping_lines_anew_keeps_the_id() -> None:
    """A paragraph with other line breaks is the same passage."""
    assert chunk("One two three.", "text", "d")[0].id == chunk("One\ntwo three.", "text", "d")[0].id


def test_pages_are_counted_in_a_pdf_only() -> None:
    """Form feeds part the pages of a PDF; elsewhere they are blanks."""
    story = "A sentence that has nine words in it today. " * 30
    pieces = chunk(f"{story}\f{story}\f{story}", "pdf", "d")
    assert pieces[0].page == 1
    assert pieces[-1].page == 3
    assert all(piece.page is None for piece in chunk(f"{story}\f{story}", "text", "d"))


def test_a_document_that_is_too_large_is_refused() -> None:
    """More characters than allowed are refused with the title, the size and the remedy."""
    with pytest.raises(ValidationError, match=r"Long has 1,001 characters; 1,000 are allowed: add it in parts"):
        chunk("x" * 1001, "text", "d", "Long", bounds=Bounds(characters=1000))


def test_bounds_check_themselves() -> None:
    """Bounds that contradict themselves are refused."""
    with pytest.raises(ValidationError, match="bounds"):
        Bounds(least=300, most=200)


def test_an_unknown_kind_is_refused() -> None:
    """A kind that is none names those there are."""
    with pytest.raises(ValidationError, match="text, markdown, pdf"):
        chunk("x", "html", "d")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "kind"), [("a.md", "markdown"), ("B.MARKDOWN", "markdown"), ("c.txt", "text"), ("d.PDF", "pdf")]
)
def test_the_name_of_a_file_tells_its_kind(name: str, kind: str) -> None:
    """The ending of a file's name decides, in either case."""
    assert kind_of(name) == kind


def test_a_file_of_another_kind_is_refused() -> None:
    """A file that cannot be read is refused by name, with the kinds that can."""
    with pytest.raises(ValidationError, match=r"'slides.pptx'.*\.md, .*\.pdf"):
        kind_of("slides.pptx")


def test_a_chunk_is_offered_under_its_headings() -> None:
    """A piece is offered below the headings that it does not say itself."""
    assert as_chunk(Piece("d#1", 0, "## Use\n\nAsk.", "Guide › Use", 0, 12)).text == "# Guide\n\n## Use\n\nAsk."
    assert as_chunk(Piece("d#2", 1, "More.", "Guide › Use", 12, 17)).text == "# Guide › Use\n\nMore."
    assert as_chunk(Piece("d#3", 0, "# Guide\n\nHello.", "Guide", 0, 15)).text == "# Guide\n\nHello."
    assert as_chunk(Piece("d#4", 0, "Plain.", "", 0, 6)) == Chunk("d#4", "Plain.")
