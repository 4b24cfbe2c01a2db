"""What every embedder promises, tried on those that need nothing, and on the contextual ones where weights are here."""

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.recall.embedders import Embedder, EmbedderError
from ricordo.recall.embedders.light import DeterministicEmbedder, LightEmbedder
from ricordo.recall.embedders.multilingual import BilingualEmbedder
from ricordo.recall.embedders.selection import choose
from ricordo.recall.quantization import unit_rows

FREE: list[Embedder] = [LightEmbedder(), LightEmbedder(64), DeterministicEmbedder()]
texts = st.text(st.characters(codec=None), max_size=80)


@pytest.mark.parametrize("embedder", FREE, ids=lambda e: e.name)
@given(batch=st.lists(texts, max_size=5))
def test_vectors_have_unit_length_or_none(embedder: Embedder, batch: list[str]) -> None:
    """Any texts, lone surrogates included, give one finite row each, of length one or zero."""
    rows = embedder.embed_passages(batch)
    assert rows.shape == (len(batch), embedder.dimensions)
    assert rows.dtype == np.float32
    lengths = np.linalg.norm(rows, axis=1)
    assert np.all(np.isclose(lengths, 1, atol=1e-4) | (lengths == 0))


@pytest.mark.parametrize("embedder", FREE, ids=lambda e: e.name)
@given(text=texts, others=st.lists(texts, max_size=3))
def test_neighbours_do_not_change_a_vector(embedder: Embedder, text: str, others: list[str]) -> None:
    """A text embedded alone and in company gives the same vector."""
    alone = embedder.embed_passages([text])[0]
    assert np.array_equal(embedder.embed_passages([*others, text])[-1], alone)


@given(st.lists(st.lists(st.floats(allow_nan=True, allow_infinity=True, width=32), min_size=3, max_size=3), max_size=4))
def test_unit_rows_never_give_nonsense(rows: list[list[float]]) -> None:
    """Whatever numbers come in, rows come out finite and no longer than one."""
    out = unit_rows(np.array(rows, dtype=np.float32).reshape(len(rows), 3))
    assert np.isfinite(out).all()
    assert np.all(np.linalg.norm(out, axis=1) <= 1.0001)


def test_the_light_embedder_forgives_inflection_and_accents() -> None:
    """A word in another form is nearer than another word."""
    light = LightEmbedder()
    rows = light.embed_passages(["la città di Perugia", "un gatto nero"])
    asked = light.embed_query("le citta e Perugia")
    assert asked @ rows[0] > 0.4 > asked @ rows[1]


def test_names_tell_embedders_apart() -> None:
    """Embedders whose vectors must not be mixed have different names."""
    names = [embedder.name for embedder in FREE]
    assert len(set(names)) == len(names)


def test_the_bilingual_embedder_asks_its_halves_by_language() -> None:
    """An English question weighs the English half, an Italian one the many-language half; passages weigh both alike."""
    both = BilingualEmbedder(english=DeterministicEmbedder(32), multilingual=DeterministicEmbedder(16))
    assert both.dimensions == 48
    passage = both.embed_passages(["where is the cat"])[0]
    assert np.isclose(np.linalg.norm(passage[:32]), np.linalg.norm(passage[32:]))
    english = both.embed_query("where is the cat that I saw")
    italian = both.embed_query("dove è il gatto che ho visto")
    assert np.linalg.norm(english[:32]) > 0.95
    assert np.linalg.norm(italian[32:]) > np.linalg.norm(italian[:32])


@pytest.fixture(params=["arctic", "multilingual", "bilingual"], scope="module")
def contextual(request: pytest.FixtureRequest) -> Iterator[Embedder]:
    """A contextual embedder, where its weights were fetched."""
    try:
        yield choose(request.param).embedder
    except EmbedderError as reason:
        pytest.skip(f"{request.param} cannot be tried here: {reason}")


@pytest.mark.slow  # runs a model
def test_contextual_embedders_keep_the_contract(contextual: Embedder) -> None:
    """Real models give unit vectors that do not depend on the batch, for empty and strange texts too."""
    batch = ["", "ciao", "\ud800", "x" * 10_000, "Anna: I adopted a kitten yesterday"]
    rows = contextual.embed_passages(batch)
    assert rows.shape == (5, contextual.dimensions)
    assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-3)
    assert np.array_equal(contextual.embed_passages(batch[1:2])[0], rows[1])
    assert contextual.embed_passages([]).shape == (0, contextual.dimensions)


@pytest.mark.slow  # runs a model
def test_contextual_embedders_know_meaning_beyond_words(contextual: Embedder) -> None:
    """A question is nearer to its answer than to a sentence about something else, without a shared word."""
    rows = contextual.embed_passages(["My daughter was born in October", "The printer is out of paper"])
    asked = contextual.embed_query("when did the baby arrive?")
    assert asked @ rows[0] > asked @ rows[1]
