"""Embedders: texts go in, unit vectors come out. Here is their contract; each implementation has a file beside it.

Passages and questions are embedded by different calls because good models treat them differently; the name carries
the identity of the weights, so that vectors of two embedders are never compared. `selection.embedder_for("auto")`
returns the best one that works here. Nothing in here is imported by `import ricordo`: numpy and the models are loaded
when recall is first used.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, runtime_checkable

from ricordo.errors import RicordoError
from ricordo.recall.quantization import Vectors

AGAIN = 16  # texts whose vectors are kept: a chat embeds its question for recall, and again for its topic


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
        """Length of every vector this embedder gives; 0 as long as it is unknown, before the first vector."""

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """One row of unit length for each text to be found later."""

    def embed_query(self, text: str) -> Vectors:
        """One vector of unit length for a question asked of the passages."""


@runtime_checkable
class TimedEmbedder(Protocol):
    """An embedder that may be slow and accepts a timeout."""

    def embed_query_within(self, text: str, seconds: float) -> Vectors:
        """Like `embed_query`, with one attempt and a timeout in seconds."""


@dataclass(frozen=True)
class EmbedderChoice:
    """The embedder in use and the reason why it was chosen."""

    embedder: Embedder
    why: str

    @cached_property
    def timed(self) -> TimedEmbedder | None:
        """The embedder, if it accepts a timeout."""
        return self.embedder if isinstance(self.embedder, TimedEmbedder) else None


class EmbedderError(RicordoError):
    """An embedder could not be made or could not answer; the message names the remedy."""


class EmbedderUnavailable(EmbedderError):  # noqa: N818 - a state, not a fault of the caller
    """Its weights or libraries are missing: install or fetch them, or choose another embedder."""


class WeightsRefused(EmbedderError):  # noqa: N818 - a verdict on a file
    """A weights file has the wrong hash and was not loaded: fetch it again."""
