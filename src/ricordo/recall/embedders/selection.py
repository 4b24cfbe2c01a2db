"""Which embedder to use: a setting goes in, an embedder and the reason for it come out.

"auto" takes the best one that can work here and now; it never uses the network, and when weights or
libraries are missing it says so, names the remedy, and still gives an embedder that recalls. A setting
URL#MODEL names an OpenAI-compatible embeddings endpoint: texts go out in batches; vectors come back checked
for number, order and dimensions, so that a server that changes its model is refused instead of mixing two
vector spaces.
"""

import logging
import os
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

import numpy as np

from ricordo.engine.http import Address, HttpError, JsonClient, RequestPolicy, read_json
from ricordo.recall.embedders import Embedder, EmbedderChoice, EmbedderError, EmbedderUnavailable
from ricordo.recall.embedders.light import DeterministicEmbedder, LightEmbedder
from ricordo.recall.embedders.multilingual import ArcticEmbedder, BilingualEmbedder, MultilingualEmbedder
from ricordo.recall.quantization import Vectors, unit_rows

log = logging.getLogger("ricordo.recall.embedders")


@dataclass(frozen=True, slots=True)
class EmbeddingsEndpoint:
    """An embeddings server: the base URL (ending before /embeddings), the model, the key, the limits."""

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 30.0
    batch: int = 64
    attempts: int = 3

    def __post_init__(self) -> None:
        address = self.address
        if not self.model:
            raise EmbedderError(f"embeddings endpoint {address.shown} needs a model name: write URL#MODEL")
        if self.batch < 1 or self.attempts < 1 or self.timeout_seconds <= 0:
            raise EmbedderError("embeddings endpoint: batch, attempts and timeout_seconds must be positive")

    @property
    def address(self) -> Address:
        """Where requests are sent."""
        try:
            return Address(self.url, "/embeddings")
        except ValueError as problem:
            raise EmbedderError(f"the address of an embeddings endpoint {problem}") from None

    @property
    def shown(self) -> str:
        """Address and model for error messages."""
        return f"embeddings endpoint {self.address.shown} (model {self.model!r})"

    @property
    def policy(self) -> RequestPolicy:
        """Timeouts and retries. Embedding a text twice does no harm, so read timeouts are retried."""
        each = self.timeout_seconds
        return RequestPolicy(each, each, total=20 * each, attempts=self.attempts, retry_read_timeouts=True)


class RemoteEmbedder:
    """An embeddings endpoint. Unless given, its dimensions are 0 until the first answer."""

    def __init__(
        self,
        endpoint: EmbeddingsEndpoint,
        *,
        dimensions: int | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._endpoint = endpoint
        self._dimensions = dimensions
        self._sleep = sleep

    @property
    def name(self) -> str:
        return f"remote:{self._endpoint.model}@{self._endpoint.url}"

    @property
    def dimensions(self) -> int:
        return self._dimensions or 0

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimensions), dtype=np.float32)
        step = self._endpoint.batch
        return np.concatenate([self._embed(list(texts[i : i + step])) for i in range(0, len(texts), step)])

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self._embed([text])[0]
        return row

    def embed_query_within(self, text: str, seconds: float) -> Vectors:
        """One attempt with a short timeout, for a chat that must not wait."""
        within = replace(self._endpoint, attempts=1, timeout_seconds=min(seconds, self._endpoint.timeout_seconds))
        row: Vectors = self._embed([text], within)[0]
        return row

    def _embed(self, texts: list[str], endpoint: EmbeddingsEndpoint | None = None) -> Vectors:
        # Endpoints refuse empty strings, so a space is sent instead.
        inputs = [text if text.strip() else " " for text in texts]
        body = {"model": self._endpoint.model, "input": inputs, "encoding_format": "float"}
        answer = self._post(body, endpoint or self._endpoint)
        shown = self._endpoint.shown
        try:
            items = sorted(answer["data"], key=lambda item: int(item["index"]))
            with np.errstate(over="ignore"):  # a value that is too large becomes infinite and is refused below
                rows = np.asarray([item["embedding"] for item in items], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as cause:
            raise EmbedderError(f"{shown} did not answer with embeddings ({cause!r})") from cause
        if rows.ndim != 2 or len(rows) != len(texts):
            raise EmbedderError(f"{shown} gave {len(rows)} vectors for {len(texts)} texts")
        if not rows.size or not np.isfinite(rows).all():  # null is read as NaN
            raise EmbedderError(f"{shown} gave vectors that are not finite numbers: check the model there")
        if self._dimensions is None:
            self._dimensions = int(rows.shape[1])
        if rows.shape[1] != self._dimensions:
            raise EmbedderError(
                f"{shown} gave {rows.shape[1]} dimensions where {self._dimensions} were expected: "
                "the model behind it changed; start the program again, and everything is embedded anew"
            )
        return unit_rows(rows)

    def _post(self, body: object, endpoint: EmbeddingsEndpoint) -> Any:
        client = JsonClient(
            endpoint.address, name=endpoint.shown, key=endpoint.key, policy=endpoint.policy, sleep=self._sleep
        )
        try:
            return client.post(body, read_json)
        except HttpError as error:
            raise EmbedderError(
                f"{endpoint.shown} did not answer ({error}): check the URL, the key and the network"
            ) from error


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
