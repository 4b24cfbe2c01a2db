"""What an embedder is: texts go in, unit vectors come out.

Passages and questions are embedded by different calls because good models treat them differently;
the name carries the identity of the weights, so that vectors of two embedders are never compared.
"""

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from ricordo.errors import RicordoError

Vectors = NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Two calls and an identity.

    The same text always gives the same vector, whatever stands beside it in the batch; an empty sequence
    gives shape (0, dimensions); an empty text gives a vector (possibly all zeros), never an error.
    """

    @property
    def name(self) -> str:
        """Identity of model and weights; two embedders of one name give interchangeable vectors."""

    @property
    def dimensions(self) -> int:
        """Length of every vector this embedder gives."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row of unit length for each text to be found later."""

    def embed_query(self, text: str) -> Vectors:
        """One vector of unit length for a question asked of the passages."""


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
