"""Scales of embedders."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.recall.embedders.light import LightEmbedder
from ricordo.topics.thresholds import known_embedders, measure, scale, scale_for

means = st.floats(min_value=-0.9, max_value=0.95)
spreads = st.floats(min_value=0.001, max_value=0.5)


@given(means, spreads, st.floats(min_value=-1, max_value=1))
def test_a_threshold_by_hand_is_the_threshold(mean: float, spread: float, threshold: float) -> None:
    """Setting the line by hand sets it exactly, and the line for coming back never lies below it."""
    made = scale(mean, spread).at(threshold)
    assert made.threshold == threshold
    assert made.return_threshold >= threshold - 1e-9


@given(means, spreads)
def test_setting_the_same_threshold_changes_nothing(mean: float, spread: float) -> None:
    """A scale at its own threshold is itself."""
    made = scale(mean, spread)
    assert made.at(made.threshold) == made


@pytest.mark.parametrize("name", known_embedders())
def test_the_identity_of_the_weights_does_not_move_the_line(name: str) -> None:
    """A scale belongs to the model: the hash of its weights in the name is not looked at."""
    hashed = "+".join(f"{part}@0123abcd" for part in name.split("+"))
    assert scale_for(hashed) == scale_for(name)
    assert scale_for(name) != scale_for("an embedder nobody measured")


def test_an_unknown_embedder_joins_at_seven_tenths() -> None:
    """Without a measurement the line lies at 0.7, and the session is trusted sooner."""
    unknown = scale_for("an embedder nobody measured")
    assert unknown.threshold == pytest.approx(0.7)
    assert unknown.trust < scale_for("light-256@1").trust


def test_a_scale_is_measured_without_labels() -> None:
    """Mean and spread come from the cosines of consecutive messages of any conversations."""
    one = np.eye(3, dtype=np.float32)[[0, 0, 1]]
    other = np.eye(3, dtype=np.float32)[[2]]
    made = measure([one, other])
    assert (made.mean, made.spread) == (0.5, 0.5)


def test_messages_that_do_not_differ_measure_nothing() -> None:
    """A scale needs pairs, and pairs that differ."""
    with pytest.raises(ValueError, match="two pairs"):
        measure([np.eye(3, dtype=np.float32)[[0]]])
    with pytest.raises(ValueError, match="spread"):
        measure([np.eye(3, dtype=np.float32)[[0, 0, 0]]])


def test_a_shipped_scale_fits_its_embedder() -> None:
    """The light embedder's scale is near what it gives on a few lines of ordinary talk."""
    talk = [
        "Ciao, come stai? Hai passato un bel fine settimana?",
        "Sì, sono stata al mare con mia sorella, abbiamo passato due giorni bellissimi.",
        "Che bello! Anche a me piace il mare, ma questo fine settimana ho lavorato.",
        "Mi dispiace. Che lavoro fai?",
        "Sono infermiere, lavoro in ospedale da cinque anni.",
        "Deve essere un lavoro difficile, vero?",
    ]
    embedder = LightEmbedder()
    measured = measure([embedder.embed_passages(talk)])
    assert measured.mean == pytest.approx(scale_for(embedder.name).mean, abs=0.15)
