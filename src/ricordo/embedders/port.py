"""What all embedders share: their errors, and vectors brought to unit length. The contract is `recall.embedder`."""

import numpy as np

from ricordo.errors import RicordoError
from ricordo.recall.embedder import Embedder
from ricordo.recall.vectors import Vectors

__all__ = ["Embedder", "EmbedderError", "EmbedderUnavailable", "Vectors", "WeightsRefused", "unit_rows"]


class EmbedderError(RicordoError):
    """An embedder could not be made or could not answer; the message names the remedy."""


class EmbedderUnavailable(EmbedderError):  # noqa: N818 - a state, not a fault of the caller
    """Its weights or its libraries are not here: install or fetch them, or choose another embedder."""


class WeightsRefused(EmbedderError):  # noqa: N818 - a verdict on a file
    """A weights file is not the one that was promised: it is not loaded. Fetch it again."""


def unit_rows(rows: Vectors) -> Vectors:
    """The rows scaled to length one; rows without direction become zeros instead of not-a-number."""
    # In double precision, because the square of a large float has no room in a single one.
    finite = np.nan_to_num(rows, nan=0.0, posinf=0.0, neginf=0.0).astype(np.float64)
    lengths = np.linalg.norm(finite, axis=-1, keepdims=True)
    unit = np.divide(finite, lengths, out=np.zeros_like(finite), where=lengths > 1e-12)
    single: Vectors = unit.astype(np.float32)
    return single
