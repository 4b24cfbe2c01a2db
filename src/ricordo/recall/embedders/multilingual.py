"""The multilingual embedder: Universal Sentence Encoder v3, 512 dimensions, Italian and 15 more.

A text becomes word pieces, each piece a vector; three small convolutions look at 2, 3 and 5 pieces at a time,
and the average goes through a few dense layers. All of it is numpy, one text at a time, so that a vector
never depends on its neighbours; the pieces come from the `tokenizers` library.
"""

import importlib
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from ricordo.languages.text import guess_language
from ricordo.recall.embedders import AGAIN, Embedder, EmbedderUnavailable
from ricordo.recall.embedders.weights import ARCTIC, MULTILINGUAL, verified
from ricordo.recall.quantization import Vectors, unit_rows

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
        whole = text.encode("utf-8", "replace").decode("utf-8")  # the tokenizer refuses lone surrogates
        ids = np.asarray([self._tokenizer.encode(whole).ids], dtype=np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        state: Vectors = self._session.run(None, feed)[0][0, 0]
        return state


_FIRST, _LAST = 1, 2  # ids of the pieces that open and close a text
_MAX_PIECES = 256
_PARTS = 17  # the embedding table is stored in 17 interleaved parts, each with its own scale
_PIECE_DIMENSIONS, _VIEW_DIMENSIONS = 512, 256
_VIEWS = ((2, 0), (3, 1), (5, 2))  # pieces seen at once, and how many of them lie before


class MultilingualEmbedder:
    """USE multilingual v3; needs the `embed` extra and its verified weights."""

    def __init__(self, folder: Path | None = None) -> None:
        paths = verified(MULTILINGUAL, folder)
        self._tokenizer = _piece_tokenizer(paths["sp.model"].read_bytes())
        with np.load(paths["weights.npz"], allow_pickle=False) as stored:
            rows = stored["q1"].shape[0]
            self._table = np.empty((_PARTS * rows, _PIECE_DIMENSIONS), dtype=np.uint8)
            for part in range(_PARTS):
                self._table[part::_PARTS] = stored[f"q{part + 1}"]
            self._w: dict[str, Vectors] = {
                key: stored[key] for key in stored.files if not key.startswith("q") and key != "bits"
            }
        self._epsilon = float(self._w["eps"])
        self._encoded = lru_cache(maxsize=AGAIN)(self._encode)

    @property
    def name(self) -> str:
        return f"use-multilingual-v3@{MULTILINGUAL.files[0].sha256[:8]}"

    @property
    def dimensions(self) -> int:
        return 512

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        rows = np.zeros((len(texts), self.dimensions), dtype=np.float32)
        for i, text in enumerate(texts):
            rows[i] = self._encoded(text)
        return unit_rows(rows)

    def embed_query(self, text: str) -> Vectors:
        return unit_rows(self._encoded(text))

    def _encode(self, text: str) -> Vectors:
        speakable = text.encode("utf-8", "replace").decode("utf-8")
        pieces: list[int] = self._tokenizer.encode(speakable).ids[:_MAX_PIECES] or [0]
        ids = np.array([_FIRST, *pieces, _LAST])
        w = self._w
        part = ids % _PARTS
        raw = self._table[ids] * w["scale"][part, None] + w["lo"][part, None]
        seen = [raw] + [self._view(raw, width, before) for width, before in _VIEWS]
        features = _layer_norm(np.concatenate(seen, axis=1), w["ln_g"], w["ln_b"], self._epsilon)
        total = features.sum(axis=0) @ w["cnn_W"] + len(ids) * w["cnn_b"]
        x = total / np.sqrt(np.float32(len(ids)))
        y = _relu(x @ w["p1"] + _relu(x @ w["d0"]) @ w["d1"])
        out: Vectors = np.tanh(y @ w["p3"] + _relu(y @ w["d2"]) @ w["d3"])
        return out

    def _view(self, raw: Vectors, width: int, before: int) -> Vectors:
        """Two residual convolutions over `width` pieces, `before` of them to the left."""
        w = self._w
        projected = raw @ w[f"proj{width}"] + w[f"proj_b{width}"]
        x = _layer_norm(projected, w[f"ln_g{width}"], w[f"ln_b{width}"], self._epsilon)
        for layer in (1, 2):
            padded = np.pad(x, ((before, width - 1 - before), (0, 0)))
            windows = np.concatenate([padded[k : k + len(x)] for k in range(width)], axis=1)
            x = x + _relu(windows @ w[f"w{layer}_{width}"] + w[f"b{layer}_{width}"])
        return x


def _relu(x: Vectors) -> Vectors:
    return np.maximum(x, np.float32(0))


def _layer_norm(x: Vectors, gain: Vectors, shift: Vectors, epsilon: float) -> Vectors:
    """Layer normalization: each row to mean zero and variance one, then scaled and shifted as learned."""
    centred = x - x.mean(axis=1, keepdims=True)
    spread = np.sqrt((centred * centred).mean(axis=1, keepdims=True) + np.float32(epsilon))
    normalized: Vectors = centred / spread * gain + shift
    return normalized


def _piece_tokenizer(model: bytes) -> Any:
    """A tokenizer made from the bytes of a sentence-piece model: its pieces, scores and character map."""
    try:
        tokenizers: Any = importlib.import_module("tokenizers")
    except ImportError as cause:
        raise EmbedderUnavailable(
            "embedder 'multilingual' needs the package 'tokenizers': install ricordo[embed]"
        ) from cause
    pieces: list[tuple[str, float]] = []
    character_map = b""
    for field, value in _fields(model):
        if field == 1 and isinstance(value, bytes):
            entry = dict(_fields(value))
            piece, score = entry[1], entry.get(2)
            if isinstance(piece, bytes):
                bits = score if isinstance(score, bytes) else b"\0\0\0\0"
                pieces.append((piece.decode("utf-8"), struct.unpack("<f", bits)[0]))
        elif field == 3 and isinstance(value, bytes):
            found = dict(_fields(value)).get(2)
            character_map = found if isinstance(found, bytes) else b""
    normalizers: Any = tokenizers.normalizers
    tokenizer = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, 0))
    tokenizer.normalizer = normalizers.Sequence(
        [
            normalizers.Precompiled(character_map),
            normalizers.Replace(tokenizers.Regex(" {2,}"), " "),
            normalizers.Strip(),
        ]
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace(
        replacement="\u2581", prepend_scheme="always", split=False
    )
    return tokenizer


def _fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """The (field number, value) pairs of a protocol-buffer message, one level deep."""
    at = 0

    def number() -> int:
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        tag = number()
        kind = tag & 7
        if kind == 0:
            yield tag >> 3, number()
            continue
        size = number() if kind == 2 else 8 if kind == 1 else 4
        yield tag >> 3, message[at : at + size]
        at += size


# Share of the English half in a question's vector, and what moves it. The cosines of the multilingual half spread two
# to three times as wide, so that equal shares would let it lead in English; the fifth that it keeps finds Italian ones.
_ASKED = {"en": (0.8, "question.npz")}
_ASKED_ELSE = (0.3, "question_other.npz")  # in every other language


@dataclass(frozen=True, slots=True)
class QuestionProjection:
    """What is learned about questions: a low-rank matrix that moves a question's vector towards its answers.

    Messages keep their vectors (training/recall). It belongs to the weights of `embedder` and to no others.
    """

    embedder: str
    into: Vectors
    out: Vectors

    def moved(self, question: Vectors) -> Vectors:
        """The vector of a question, moved."""
        return unit_rows(np.asarray(question + question @ self.into @ self.out, dtype=np.float32))


@cache
def question_projection(file: str = "question.npz") -> QuestionProjection:
    """The projection that comes with the package; without it cosines would be of another size."""
    try:
        with files("ricordo.recall.embedders").joinpath(file).open("rb") as opened, np.load(opened) as stored:
            into, out = (stored[name].astype(np.float32) for name in ("into", "out"))
            found = QuestionProjection(str(stored["embedder"]), into, out)
            found.moved(np.ones(len(into), dtype=np.float32))
    except (OSError, ValueError, KeyError, EOFError, BadZipFile) as error:
        raise EmbedderUnavailable(
            f"embedder 'bilingual' needs the file {file} of its package ({type(error).__name__}): install ricordo again"
        ) from error
    return found


class BilingualEmbedder:
    """English and multilingual halves in one vector of their summed dimensions; questions are projected."""

    def __init__(
        self,
        folder: Path | None = None,
        *,
        english: Embedder | None = None,
        multilingual: Embedder | None = None,
        projected: bool = True,
    ) -> None:
        self._english = english or ArcticEmbedder(folder)
        self._multilingual = multilingual or MultilingualEmbedder(folder)
        wanted = [file for _, file in (*_ASKED.values(), _ASKED_ELSE)] if projected else []
        known = {file: question_projection(file) for file in wanted}
        self._projections = {file: each for file, each in known.items() if each.embedder == self.name}

    @property
    def name(self) -> str:
        return f"{self._english.name}+{self._multilingual.name}"

    @property
    def dimensions(self) -> int:
        return self._english.dimensions + self._multilingual.dimensions

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        halves = [self._english.embed_passages(texts), self._multilingual.embed_passages(texts)]
        return unit_rows(np.concatenate(halves, axis=1))

    def embed_query(self, text: str) -> Vectors:
        share, file = _ASKED.get(guess_language(text), _ASKED_ELSE)
        halves = [self._english.embed_query(text) * share, self._multilingual.embed_query(text) * (1 - share)]
        joined = unit_rows(np.concatenate(halves))
        projection = self._projections.get(file)
        return projection.moved(joined) if projection else joined
