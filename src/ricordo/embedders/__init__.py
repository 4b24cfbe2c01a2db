"""Embedders: texts go in, unit vectors come out (see `port.Embedder` for the contract).

`embedder_for("auto")` gives the best one that works here; the others are one setting away. Nothing in here
is imported by `import ricordo`: numpy and the models are loaded when recall is first used.
"""

from ricordo.embedders.absent import AbsentEmbedder
from ricordo.embedders.choose import choose, embedder_for
from ricordo.embedders.deterministic import DeterministicEmbedder
from ricordo.embedders.light import LightEmbedder
from ricordo.embedders.port import Embedder, EmbedderError, EmbedderUnavailable, Vectors, WeightsRefused
from ricordo.embedders.remote import Endpoint, RemoteEmbedder
from ricordo.recall.embedder import Choice

__all__ = [
    "AbsentEmbedder",
    "Choice",
    "DeterministicEmbedder",
    "Embedder",
    "EmbedderError",
    "EmbedderUnavailable",
    "Endpoint",
    "LightEmbedder",
    "RemoteEmbedder",
    "Vectors",
    "WeightsRefused",
    "choose",
    "embedder_for",
]
