"""Any OpenAI-compatible embeddings endpoint, called with the standard library alone.

Texts go out in batches; vectors come back checked for number, order and dimensions, so that a server that changes its
model is refused instead of mixing two vector spaces.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ricordo.engine.http import Address, HttpError, JsonClient, RequestPolicy, read_json
from ricordo.recall.embedders import EmbedderError
from ricordo.recall.quantization import Vectors, unit_rows


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
