"""The contextual English embedder: snowflake-arctic-embed-s, int8 ONNX, 384 dimensions.

Texts go through a word-piece tokenizer and a small transformer; the first token's state is the vector.
Each text runs alone: the quantised model scales by what is in the batch, so neighbours would change a vector,
and on one core a batch is not faster.
"""

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ricordo.recall.embedders.protocol import EmbedderUnavailable, Vectors, unit_rows
from ricordo.recall.embedders.weights import ARCTIC, verified

# The model was trained to see questions with this sentence in front; without it recall falls by a third.
_QUESTION_PREFIX = "Represent this sentence for searching relevant passages: "
_MAX_TOKENS = 256


class ArcticEmbedder:
    """snowflake-arctic-embed-s; needs the `embed` extra and its verified weights."""

    def __init__(self, folder: Path | None = None, *, threads: int = 1) -> None:
        paths = verified(ARCTIC, folder)
        try:
            runtime: Any = importlib.import_module("onnxruntime")
            tokenizers: Any = importlib.import_module("tokenizers")
        except ImportError as cause:
            raise EmbedderUnavailable(
                f"embedder 'arctic' needs the package {cause.name!r}: install ricordo[embed]"
            ) from cause
        options = runtime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        # Spinning threads take CPU time from the application on a busy machine.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        self._session: Any = runtime.InferenceSession(
            str(paths["model.onnx"]), options, providers=["CPUExecutionProvider"]
        )
        self._tokenizer: Any = tokenizers.Tokenizer.from_file(str(paths["tokenizer.json"]))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(_MAX_TOKENS)

    @property
    def name(self) -> str:
        return f"arctic-s-int8@{ARCTIC.files[0].sha256[:8]}"

    @property
    def dimensions(self) -> int:
        return 384

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for i, text in enumerate(texts):
            rows[i] = self._state(text)
        return unit_rows(rows)

    def embed_query(self, text: str) -> Vectors:
        return unit_rows(self._state(_QUESTION_PREFIX + text))

    def _state(self, text: str) -> Vectors:
        ids = np.asarray([self._tokenizer.encode(_without_surrogates(text)).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        state: Vectors = self._session.run(None, feed)[0][0, 0]
        return state


def _without_surrogates(text: str) -> str:
    """The text without lone surrogates, which the tokenizer refuses."""
    return text.encode("utf-8", "replace").decode("utf-8")
