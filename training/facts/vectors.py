"""Word vectors for the judge: the words of our own talk in, `vectors.npz` out.

    python training/facts/vectors.py

Each word is encoded by the multilingual embedder (Universal Sentence Encoder v3, Apache-2.0; `ricordo embedder fetch`
brings its weights) and reduced to a few dimensions, so that words of one meaning lie close together in both languages.
The words are those of the talk that was written for Ricordo: all files of `training` and the talk of `tests/data`.
"""

import re
import sys
from collections import defaultdict
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "src"))

from ricordo.languages.text import fold  # noqa: E402
from ricordo.people.facts.judge import LEVELS  # noqa: E402
from ricordo.recall.embedders import multilingual  # noqa: E402

DIMENSIONS = 48
BATCH = 256
WORD = re.compile(r"[^\W\d_]{1,24}")


def normed(x, gain, shift, epsilon):
    """Layer normalization."""
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(-1, keepdims=True) + np.float32(epsilon)) * gain + shift


def relu(x):
    """Negative values become 0."""
    return np.maximum(x, np.float32(0))


def encoded(model, ids):
    """The vectors of some words with the same number of pieces."""
    weights, part = model._w, ids % multilingual._PARTS
    raw = model._table[ids] * weights["scale"][part][..., None] + weights["lo"][part][..., None]
    seen = [raw]
    for width, before in multilingual._VIEWS:
        x = raw @ weights[f"proj{width}"] + weights[f"proj_b{width}"]
        x = normed(x, weights[f"ln_g{width}"], weights[f"ln_b{width}"], model._epsilon)
        for layer in (1, 2):
            padded = np.pad(x, ((0, 0), (before, width - 1 - before), (0, 0)))
            windows = np.concatenate([padded[:, k : k + x.shape[1]] for k in range(width)], axis=2)
            x = x + relu(windows @ weights[f"w{layer}_{width}"] + weights[f"b{layer}_{width}"])
        seen.append(x)
    features = normed(np.concatenate(seen, axis=2), weights["ln_g"], weights["ln_b"], model._epsilon)
    length = ids.shape[1]
    x = (features.sum(1) @ weights["cnn_W"] + length * weights["cnn_b"]) / np.sqrt(np.float32(length))
    y = relu(x @ weights["p1"] + relu(x @ weights["d0"]) @ weights["d1"])
    return np.tanh(y @ weights["p3"] + relu(y @ weights["d2"]) @ weights["d3"])


def own_words():
    """The folded words of our own talk, in order."""
    repository = HERE.parents[1]
    files = [*repository.glob("training/*/*.jsonl"), *repository.glob("training/*/*.txt")]
    files += [*repository.glob("tests/data/*_??.jsonl"), *repository.glob("tests/data/*_cases.jsonl")]
    found = {fold(word) for file in files for word in WORD.findall(file.read_text(encoding="utf-8"))}
    return sorted(found)


def main() -> None:
    """Encode, reduce, write."""
    words = own_words()
    model = multilingual.MultilingualEmbedder()
    pieces = [[multilingual._FIRST, *(model._tokenizer.encode(w).ids[:8] or [0]), multilingual._LAST] for w in words]
    by_length = defaultdict(list)
    for index, own in enumerate(pieces):
        by_length[len(own)].append(index)
    rows = np.zeros((len(words), model.dimensions), np.float32)
    for indices in by_length.values():
        for begin in range(0, len(indices), BATCH):
            chosen = indices[begin : begin + BATCH]
            rows[chosen] = encoded(model, np.array([pieces[index] for index in chosen]))
    np.savez(HERE / "vectors.npz", words=np.array(words), rows=reduced(rows))


def reduced(rows):
    """The principal dimensions of unit vectors, in whole steps from -8 to 7."""
    rows = rows / (np.linalg.norm(rows, axis=1, keepdims=True) + 1e-6)
    rows -= rows.mean(0)
    sample = rows[np.random.RandomState(0).choice(len(rows), min(8_000, len(rows)), replace=False)]
    _, _, directions = np.linalg.svd(sample, full_matrices=False)
    kept = rows @ directions[:DIMENSIONS].T
    return np.clip(np.round(kept / kept.std(0).mean() * LEVELS), -8, 7).astype(np.int8)


if __name__ == "__main__":
    main()
