"""What an embedder is: texts go in, unit vectors come out.

Passages and questions are embedded by different calls because good models treat them differently;
the name carries the identity of the weights, so that vectors of two embedders are never compared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from ricordo.recall.vectors import Vectors


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
class Hurried(Protocol):
    """An embedder that may keep somebody waiting, and can be told how long."""

    def embed_query_within(self, text: str, seconds: float) -> Vectors:
        """Like `embed_query`, tried once and given up after so many seconds."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The embedder in use and a sentence that says why it is this one."""

    embedder: Embedder
    why: str
