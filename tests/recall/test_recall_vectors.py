"""Stored vectors: what goes in comes out, small and near to what it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ricordo.recall.sketch import Sketch
from ricordo.recall.vectors import blob_size, similarities, vectors_from_blobs, vectors_to_blobs

numbers = st.floats(-1, 1, width=32)
matrices = arrays.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 70)), elements=numbers)


@given(matrices)
def test_every_blob_has_the_promised_size(vectors: np.ndarray) -> None:
    """A stored vector's size depends on its dimensions alone."""
    assert {len(blob) for blob in vectors_to_blobs(vectors)} == {blob_size(vectors.shape[1])}


@given(matrices)
def test_rounding_is_bounded(vectors: np.ndarray) -> None:
    """No value moves by more than a seventh of its row's largest, and the length of a row is kept."""
    decoded = vectors_from_blobs(vectors_to_blobs(vectors), vectors.shape[1]).floats()
    largest = np.abs(vectors).max(axis=1, keepdims=True)
    assert np.all(np.abs(decoded - vectors) <= largest / 7 + 1e-6)
    assert np.allclose(np.linalg.norm(decoded, axis=1), np.linalg.norm(vectors, axis=1), rtol=1e-3, atol=1e-6)


@given(arrays.arrays(np.float32, (4, 64), elements=st.floats(-1, 1, width=16)))
def test_direction_is_kept(vectors: np.ndarray) -> None:
    """A decoded vector points where the original did: the cosine is never under 0.95."""
    decoded = vectors_from_blobs(vectors_to_blobs(vectors), 64).floats()
    for before, after in zip(vectors.astype(np.float64), decoded.astype(np.float64), strict=True):
        length = np.linalg.norm(before) * np.linalg.norm(after)
        assert length == 0 or before @ after / length > 0.95


@given(matrices)
def test_decoding_is_the_inverse_of_storing(vectors: np.ndarray) -> None:
    """Blobs decoded and compared give the same whether they come together or one by one."""
    blobs = vectors_to_blobs(vectors)
    together = vectors_from_blobs(blobs, vectors.shape[1])
    for number, blob in enumerate(blobs):
        alone = vectors_from_blobs([blob], vectors.shape[1])
        assert np.array_equal(alone.values[0], together.values[number])
        assert alone.scales[0] == together.scales[number]


@given(arrays.arrays(np.float32, (3, 8), elements=st.floats(width=32)))
def test_numbers_that_are_none_do_no_harm(vectors: np.ndarray) -> None:
    """Infinities and not-a-numbers are stored as zeros."""
    with np.errstate(over="ignore"):
        decoded = vectors_from_blobs(vectors_to_blobs(np.clip(vectors, -1e9, 1e9)), 8).floats()
    assert np.isfinite(decoded).all()


@given(matrices, st.integers(0, 2**32 - 1))
def test_similarities_are_scalar_products(vectors: np.ndarray, seed: int) -> None:
    """Comparing codes gives what multiplying the decoded floats gives."""
    codes = vectors_from_blobs(vectors_to_blobs(vectors), vectors.shape[1])
    query = np.random.default_rng(seed).standard_normal(vectors.shape[1]).astype(np.float32)
    assert np.allclose(similarities(codes, query), codes.floats() @ query, atol=1e-4)


def test_a_vector_of_another_model_is_refused() -> None:
    """Blobs of another size raise instead of being read as something else."""
    blobs = vectors_to_blobs(np.ones((1, 32), dtype=np.float32))
    with pytest.raises(ValueError, match="embed these messages again"):
        vectors_from_blobs(blobs, 64)


def test_the_sketch_keeps_what_is_near() -> None:
    """Among random vectors, the planted neighbours of a question are found among the likeliest tenth."""
    chance = np.random.default_rng(3)
    vectors = chance.standard_normal((2_000, 256)).astype(np.float32)
    query = chance.standard_normal(256).astype(np.float32)
    planted = [17, 600, 1_999]
    vectors[planted] = query + 0.8 * vectors[planted]
    codes = vectors_from_blobs(vectors_to_blobs(vectors), 256)
    likeness = Sketch(codes, np.ones(2_000, dtype=np.bool_)).likeness(query)
    assert set(planted) <= set(np.argsort(-likeness)[:200].tolist())
