"""Any OpenAI-compatible embeddings endpoint, called with the standard library alone.

Texts go out in batches with a time limit; vectors come back checked for number, order and dimensions,
so that a server that changes its model is refused instead of mixed in.
"""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ricordo.recall.embedders.protocol import EmbedderError, Vectors, unit_rows

_RETRIED = frozenset({408, 429, 500, 502, 503, 504})


@dataclass(frozen=True, slots=True)
class EmbeddingsEndpoint:
    """Where and how to ask: the base URL (ending before /embeddings), the model, the key, the limits."""

    url: str
    model: str
    key: str | None = field(default=None, repr=False)
    timeout_seconds: float = 30.0
    batch: int = 64
    attempts: int = 3

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise EmbedderError(f"embeddings endpoint {self.url!r} is not a URL: give one such as https://host/v1")
        if not self.model:
            raise EmbedderError(f"embeddings endpoint {self.url!r} needs a model name: write URL#MODEL")
        if self.batch < 1 or self.attempts < 1 or self.timeout_seconds <= 0:
            raise EmbedderError("embeddings endpoint: batch, attempts and timeout_seconds must be positive")


class RemoteEmbedder:
    """An embeddings endpoint; its dimensions are the given ones, or those of its first answer and 0 before."""

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
        return np.concatenate([self._ask(list(texts[i : i + step])) for i in range(0, len(texts), step)])

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self._ask([text])[0]
        return row

    def embed_query_within(self, text: str, seconds: float) -> Vectors:
        """One attempt with a short limit: for a chat that must not wait."""
        hurried = replace(self._endpoint, attempts=1, timeout_seconds=min(seconds, self._endpoint.timeout_seconds))
        row: Vectors = self._ask([text], hurried)[0]
        return row

    def _ask(self, texts: list[str], endpoint: EmbeddingsEndpoint | None = None) -> Vectors:
        # Endpoints refuse empty strings; a space has the same (lack of) meaning.
        asked = [text if text.strip() else " " for text in texts]
        body = {"model": self._endpoint.model, "input": asked, "encoding_format": "float"}
        answer = self._post(body, endpoint or self._endpoint)
        try:
            items = sorted(answer["data"], key=lambda item: int(item["index"]))
            with np.errstate(over="ignore"):  # what is too large is infinite then, and refused
                rows = np.asarray([item["embedding"] for item in items], dtype=np.float32)
        except (KeyError, TypeError, ValueError) as cause:
            raise EmbedderError(f"{self._where()} did not answer with embeddings ({cause!r})") from cause
        if rows.ndim != 2 or len(rows) != len(texts):
            raise EmbedderError(f"{self._where()} gave {len(rows)} vectors for {len(texts)} texts")
        if not rows.size or not np.isfinite(rows).all():  # a null is read as not-a-number
            raise EmbedderError(f"{self._where()} gave vectors that are not finite numbers: check the model there")
        if self._dimensions is None:
            self._dimensions = int(rows.shape[1])
        if rows.shape[1] != self._dimensions:
            raise EmbedderError(
                f"{self._where()} gave {rows.shape[1]} dimensions where {self._dimensions} were expected: "
                "the model behind it changed; start the program again, and everything is embedded anew"
            )
        return unit_rows(rows)

    def _post(self, body: dict[str, Any], endpoint: EmbeddingsEndpoint) -> dict[str, Any]:
        headers = {"Content-Type": "application/json"}
        if endpoint.key:
            headers["Authorization"] = f"Bearer {endpoint.key}"
        data = json.dumps(body).encode("utf-8", "replace")
        url = endpoint.url.rstrip("/") + "/embeddings"
        for attempt in range(1, endpoint.attempts + 1):
            request = urllib.request.Request(url, data=data, headers=headers)
            try:
                with urllib.request.urlopen(request, timeout=endpoint.timeout_seconds) as answer:
                    parsed: dict[str, Any] = json.loads(answer.read())
                    return parsed
            except urllib.error.HTTPError as cause:
                failure: Exception = cause
                cause.close()
                if cause.code not in _RETRIED:
                    break
            except (OSError, ValueError) as cause:
                failure = cause
            if attempt < endpoint.attempts:
                self._sleep(0.5 * 2 ** (attempt - 1))
        raise EmbedderError(
            f"{self._where()} did not answer ({failure}): check the URL, the key and the network"
        ) from failure

    def _where(self) -> str:
        return f"embeddings endpoint {self._endpoint.url} (model {self._endpoint.model!r})"
