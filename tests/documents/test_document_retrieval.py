"""Finding the pieces that answer a question."""

from dataclasses import replace

import numpy as np
import pytest
from document_samples import paragraphs
from hypothesis import given
from hypothesis import strategies as st

from ricordo.cli.story import lessons
from ricordo.documents import Piece, PieceIndex, chunk, rank
from ricordo.recall.embedders.light import LightEmbedder

texts = st.one_of(paragraphs, st.text(max_size=80))
COURSE = [piece for lesson in lessons() for piece in chunk(lesson.text, "markdown", lesson.id, lesson.title)]


def a_piece(number: int, text: str, heading: str = "") -> Piece:
    """A piece that stands somewhere."""
    return Piece(f"d#{number}", number, text, heading, 0, len(text))


piece_lists = st.lists(texts, max_size=12).map(lambda made: [a_piece(n, text) for n, text in enumerate(made)])


@given(texts, piece_lists, st.integers(0, 6))
def test_findings_are_ordered_and_bounded(question: str, pieces: list[Piece], limit: int) -> None:
    """At most `limit` different pieces come back, best first, with scores above 0 and at most 1."""
    found = rank(question, pieces, limit=limit)
    assert len(found) <= limit
    assert len({each.piece.id for each in found}) == len(found)
    scores = [each.score for each in found]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@given(texts, piece_lists)
def test_a_larger_limit_only_adds(question: str, pieces: list[Piece]) -> None:
    """What a small limit finds is the beginning of what a larger one finds."""
    index = PieceIndex(pieces, LightEmbedder().embed_passages([piece.text for piece in pieces]))
    vector = LightEmbedder().embed_query(question)
    assert (
        index.rank(question, question_vector=vector, limit=2)
        == (index.rank(question, question_vector=vector, limit=9)[:2])
    )


@given(texts, piece_lists, st.randoms(use_true_random=False))
def test_the_order_of_the_pieces_does_not_matter(question: str, pieces: list[Piece], chance: object) -> None:
    """The same pieces in another order have the same scores."""
    mixed = list(pieces)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    one = {each.piece.id: each.score for each in rank(question, pieces, limit=20)}
    other = {each.piece.id: each.score for each in rank(question, mixed, limit=20)}
    assert one == pytest.approx(other, abs=1e-5)


@given(paragraphs, piece_lists)
def test_every_reason_is_true(question: str, pieces: list[Piece]) -> None:
    """A piece found by words alone names at least one, and every piece without any is left out."""
    for each in rank(question, pieces, limit=20):
        assert each.reasons
        assert each.reasons[0].startswith("words: ")


@pytest.mark.parametrize(
    ("question", "heading"),
    [
        ("Quali sono i gradi delle ustioni?", "I gradi delle ustioni"),
        ("perche le foglie sono verdi", "Il cloroplasto e la clorofilla"),
        ("Why does bread go stale?", "Why bread goes stale"),
        ("Which stages does sleep have?", "The stages of sleep"),
    ],
)
def test_the_course_is_searched_in_both_languages(question: str, heading: str) -> None:
    """The section that answers a question comes first, in Italian and in English, with accents or without."""
    assert rank(question, COURSE, limit=3)[0].piece.heading.endswith(heading)


def test_a_heading_counts() -> None:
    """A piece is found by a word that only its heading says."""
    pieces = [a_piece(0, "Water boils at 100 degrees."), a_piece(1, "Keep it cool.", "Guide › Burns")]
    found = rank("what about burns", pieces, limit=5)
    assert [each.piece.id for each in found] == ["d#1"]
    assert found[0].reasons == ("words: burns",)


def test_meaning_finds_what_words_do_not() -> None:
    """A piece that shares no word is found by its vector, and says how near it is."""
    pieces = [a_piece(0, "alfa"), a_piece(1, "beta"), a_piece(2, "gamma"), a_piece(3, "delta")]
    vectors = np.eye(4, dtype=np.float32)
    found = rank("omega", pieces, vectors=vectors, question_vector=vectors[2], limit=1)
    assert (found[0].piece.id, found[0].reasons) == ("d#2", ("meaning: 1.00",))


def test_a_piece_without_a_vector_competes_by_its_words() -> None:
    """A piece that was just added is found by its words though it has no vector yet."""
    pieces = [a_piece(n, text) for n, text in enumerate(["sale e acqua", "pane", "olio", "maionese e olio"])]
    vectors = np.eye(4, dtype=np.float32)
    vectors[3] = 0
    found = rank("maionese", pieces, vectors=vectors, question_vector=vectors[0], limit=2)
    assert found[0].piece.id == "d#3"
    assert found[0].reasons == ("words: maionese",)


def test_vectors_must_match_the_pieces() -> None:
    """As many vectors as pieces are needed."""
    with pytest.raises(ValueError, match="1 pieces need as many vectors, not 2"):
        PieceIndex([a_piece(0, "x")], np.eye(2, dtype=np.float32))


def test_nothing_is_found_in_nothing() -> None:
    """No pieces, no question and no common word find nothing."""
    assert rank("acqua", [], limit=3) == ()
    assert rank("", COURSE, limit=3) == ()
    assert rank("xyzzy", COURSE, limit=3) == ()


def test_an_index_is_not_changed_by_asking() -> None:
    """The same index gives the same answer however often it is asked."""
    index = PieceIndex([*COURSE, replace(COURSE[0], id="again")])
    assert index.rank("ustioni") == index.rank("ustioni")
    assert len(index) == len(COURSE) + 1
