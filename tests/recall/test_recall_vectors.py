"""Stored vectors: what goes in comes out, small and near to what it was."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from ricordo.recall.quantization import (
    BinaryVectors,
    blob_size,
    rotated,
    similarities,
    unrotated,
    vectors_from_blobs,
    vectors_to_blobs,
)

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


def test_the_first_stage_keeps_what_is_near() -> None:
    """Among random vectors, the planted neighbours of a question are found among the likeliest tenth."""
    chance = np.random.default_rng(3)
    vectors = chance.standard_normal((2_000, 256)).astype(np.float32)
    query = chance.standard_normal(256).astype(np.float32)
    planted = [17, 600, 1_999]
    vectors[planted] = query + 0.8 * vectors[planted]
    codes = vectors_from_blobs(vectors_to_blobs(vectors), 256)
    scores = BinaryVectors(codes, np.ones(2_000, dtype=np.bool_)).scores(query)
    assert set(planted) <= set(np.argsort(-scores)[:200].tolist())


long_matrices = arrays.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(512, 900)), elements=numbers)


def bell_curves(rows: int, dimensions: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((rows, dimensions)).astype(np.float32)


@given(long_matrices)
def test_turning_changes_nothing_that_is_compared(vectors: np.ndarray) -> None:
    """Turned vectors have the same scalar products, and turning back gives what was there."""
    assert np.allclose(rotated(vectors) @ rotated(vectors).T, vectors @ vectors.T, atol=1e-2)
    assert np.allclose(unrotated(rotated(vectors)), vectors, atol=1e-4)


@given(long_matrices)
def test_a_long_vector_takes_two_bits_a_dimension(vectors: np.ndarray) -> None:
    """A stored long vector has two bits a dimension, a byte for each 128, and its scale."""
    dimensions = vectors.shape[1]
    size = 4 + -(-dimensions // 128) + -(-dimensions // 4)
    assert {len(blob) for blob in vectors_to_blobs(vectors)} == {blob_size(dimensions)} == {size}


@given(long_matrices)
def test_a_long_vector_is_as_similar_to_itself_as_before(vectors: np.ndarray) -> None:
    """The scalar product of a decoded vector with its original is the original's square."""
    decoded = vectors_from_blobs(vectors_to_blobs(vectors), vectors.shape[1]).floats().astype(np.float64)
    met = (decoded * vectors).sum(axis=1)
    assert np.allclose(met, (vectors.astype(np.float64) ** 2).sum(axis=1), rtol=1e-3, atol=1e-6)


@given(st.integers(0, 2**32 - 1), st.sampled_from([512, 640, 896, 1000, 1536]))
def test_the_direction_of_a_long_vector_is_kept(seed: int, dimensions: int) -> None:
    """A decoded long vector points nearly where the original did, and stays far from others."""
    vectors = bell_curves(8, dimensions, seed)
    vectors[:, :3] *= 30  # a few dimensions that stand out, as embedders have them
    vectors[4:] = vectors[:4] + 0.3 * vectors[4:]
    decoded = vectors_from_blobs(vectors_to_blobs(vectors), dimensions).floats()

    def cosines(rows: np.ndarray) -> np.ndarray:
        units = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return units @ units.T

    between = np.einsum("ij,ij->i", decoded, vectors) / np.linalg.norm(decoded, axis=1)
    assert (between / np.linalg.norm(vectors, axis=1) > 0.9).all()
    # Of thousands of pairs the worst is off by 0.3; the typical error of eight vectors is what recall feels.
    assert np.sqrt(((cosines(decoded) - cosines(vectors)) ** 2).mean()) < 0.2


@given(st.integers(0, 2**32 - 1))
def test_similarities_of_long_vectors_are_near_the_true_ones(seed: int) -> None:
    """Comparing two-bit codes with a question gives the cosines of the floats, within a few hundredths."""
    vectors = bell_curves(20, 896, seed)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    query = vectors[3] + 0.5 * vectors[4]
    query /= np.linalg.norm(query)
    codes = vectors_from_blobs(vectors_to_blobs(vectors), 896)
    assert np.abs(similarities(codes, query) - vectors @ query).max() < 0.08
    assert np.allclose(similarities(codes, query), codes.floats() @ query, atol=1e-4)


def test_the_bytes_of_a_long_vector() -> None:
    """The stored bytes of a given vector never change: files written today are read for ever."""
    vector = np.sin(np.arange(600, dtype=np.float32))[None, :]
    blob = vectors_to_blobs(vector)[0]
    assert (len(blob), blob[9:17].hex()) == (159, "fa33f66baa68926a")


def test_the_first_stage_keeps_what_is_near_among_long_vectors() -> None:
    """The planted neighbours of a question are found by their bits though vectors are stored turned."""
    vectors, query = bell_curves(2_000, 896, 3), bell_curves(1, 896, 4)[0]
    planted = [17, 600, 1_999]
    vectors[planted] = query + 0.8 * vectors[planted]
    codes = vectors_from_blobs(vectors_to_blobs(vectors), 896)
    scores = BinaryVectors(codes, np.ones(2_000, dtype=np.bool_)).scores(query)
    assert set(planted) <= set(np.argsort(-scores)[:200].tolist())
