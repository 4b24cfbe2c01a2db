"""Embedders: texts go in, unit vectors come out (see `port.Embedder` for the contract).

`embedder_for("auto")` gives the best one that works here; the others are one setting away. Nothing in here
is imported by `import ricordo`: numpy and the models are loaded when recall is first used.
"""

from ricordo.recall.embedders.light import DeterministicEmbedder, LightEmbedder
from ricordo.recall.embedders.protocol import (
    Embedder,
    EmbedderChoice,
    EmbedderError,
    EmbedderUnavailable,
    Vectors,
    WeightsRefused,
)
from ricordo.recall.embedders.remote import EmbeddingsEndpoint, RemoteEmbedder
from ricordo.recall.embedders.selection import AbsentEmbedder, choose, embedder_for

__all__ = [
    "AbsentEmbedder",
    "DeterministicEmbedder",
    "Embedder",
    "EmbedderChoice",
    "EmbedderError",
    "EmbedderUnavailable",
    "EmbeddingsEndpoint",
    "LightEmbedder",
    "RemoteEmbedder",
    "Vectors",
    "WeightsRefused",
    "choose",
    "embedder_for",
]
