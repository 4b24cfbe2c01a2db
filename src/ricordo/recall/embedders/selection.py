"""Which embedder to use: a setting goes in, an embedder and the reason for it come out.

"auto" takes the best one that can work here and now; it never uses the network, and when weights or
libraries are missing it says so, names the remedy, and still gives an embedder that recalls.
"""

import logging
import os
import threading
from collections.abc import Callable, Sequence
from typing import NoReturn

from ricordo.recall.embedders import Embedder, EmbedderChoice, EmbedderError, EmbedderUnavailable
from ricordo.recall.embedders.light import DeterministicEmbedder, LightEmbedder
from ricordo.recall.embedders.multilingual import ArcticEmbedder, BilingualEmbedder, MultilingualEmbedder
from ricordo.recall.embedders.remote import EmbeddingsEndpoint, RemoteEmbedder
from ricordo.recall.quantization import Vectors

log = logging.getLogger("ricordo.recall.embedders")

_BY_NAME: dict[str, Callable[[], Embedder]] = {
    "bilingual": BilingualEmbedder,
    "arctic": ArcticEmbedder,
    "multilingual": MultilingualEmbedder,
    "light": LightEmbedder,
    "deterministic": DeterministicEmbedder,
}

# Best first, by measured recall (docs/recall.md).
_PREFERRED = ("bilingual", "arctic", "multilingual")


_shared: dict[str, EmbedderChoice] = {}  # an embedder takes seconds to load and serves every memory of the process
_sharing = threading.Lock()


def shared_choice(setting: str) -> EmbedderChoice:
    """The embedder of a setting, made once; one that cannot be made leaves the words, and says why."""
    with _sharing:
        if setting not in _shared:
            try:
                _shared[setting] = choose(setting)
            except EmbedderError as error:
                log.warning("found by words only: %s", error, extra={"operation": "embedder"})
                return EmbedderChoice(AbsentEmbedder(setting, str(error)), f"words only: {error}")
        return _shared[setting]


def choose(setting: str = "auto") -> EmbedderChoice:
    """The embedder a setting names: auto, bilingual, arctic, multilingual, light, deterministic, URL#MODEL.

    Named ones raise EmbedderUnavailable when they cannot work here; "auto" never raises.
    """
    if setting == "auto":
        return _best_available()
    if setting.startswith(("http://", "https://")):
        url, _, model = setting.partition("#")
        endpoint = EmbeddingsEndpoint(url=url, model=model, key=os.environ.get("RICORDO_EMBEDDINGS_KEY"))
        return EmbedderChoice(RemoteEmbedder(endpoint), "chosen by setting: a remote endpoint")
    if setting not in _BY_NAME:
        known = ", ".join(["auto", *_BY_NAME])
        raise EmbedderError(f"unknown embedder {setting!r}: choose one of {known}, or give URL#MODEL")
    return EmbedderChoice(_BY_NAME[setting](), "chosen by setting")


def embedder_for(setting: str = "auto") -> Embedder:
    """Like `choose`, for callers that want the embedder alone; the reason goes to the log."""
    choice = choose(setting)
    log.info("embedder %s: %s", choice.embedder.name, choice.why)
    return choice.embedder


def _best_available() -> EmbedderChoice:
    refusals: list[str] = []
    for name in _PREFERRED:
        try:
            embedder = _BY_NAME[name]()
        except EmbedderError as refusal:
            refusals.append(str(refusal))
            continue
        if refusals:
            return EmbedderChoice(embedder, f"{name}: the best that works here; a better one cannot: {refusals[0]}")
        return EmbedderChoice(embedder, f"{name}: the best by measured recall, and its weights are here")
    why = f"light: no weights needed, but recall by meaning is weaker than it could be: {refusals[0]}"
    log.warning("embedder %s", why)
    return EmbedderChoice(LightEmbedder(), why)


class AbsentEmbedder:
    """Stands for an embedder that cannot be created: every call raises the reason, so that search uses words only."""

    dimensions = 0

    def __init__(self, setting: str, reason: str) -> None:
        self.name = f"{setting} (absent)"
        self._reason = reason

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self._refuse()

    def embed_query(self, text: str) -> Vectors:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise EmbedderUnavailable(self._reason)
