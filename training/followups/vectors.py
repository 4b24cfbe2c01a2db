"""Write src/ricordo/followups/meanings.npz: small vectors of common words, so that like words can be told.

A list of words (one a line, the most common first) goes in. Each is embedded by the multilingual embedder; the
vectors are centred, reduced to 32 principal axes and stored in four bits a number, under a hash of the word's stem.
"""

import argparse
import zlib
from pathlib import Path

import numpy as np

from ricordo.languages.text import stem

ROOT = Path(__file__).resolve().parents[2]
AXES = 32
BATCH = 200


def embedded(words: list[str]) -> np.ndarray:
    from ricordo.recall.embedders.multilingual import MultilingualEmbedder

    embedder = MultilingualEmbedder()
    found = [embedder.embed_passages(words[at : at + BATCH]) for at in range(0, len(words), BATCH)]
    return np.vstack(found)


def reduced(vectors: np.ndarray) -> np.ndarray:
    """Unit vectors of few axes; common words, which come first, count more in the choice of the axes."""
    weights = 1 / np.sqrt(np.arange(len(vectors)) + 100.0)
    weights /= weights.sum()
    centred = vectors - (vectors * weights[:, None]).sum(axis=0)
    centred /= np.linalg.norm(centred, axis=1, keepdims=True)
    _, _, axes = np.linalg.svd(centred * np.sqrt(weights)[:, None], full_matrices=False)
    few = centred @ axes[:AXES].T
    return few / np.linalg.norm(few, axis=1, keepdims=True)


def packed(vectors: np.ndarray) -> np.ndarray:
    """Two numbers a byte, each from -7 to 7."""
    scaled = vectors / np.abs(vectors).max(axis=1, keepdims=True) * 7
    levels = np.clip(np.round(scaled), -7, 7).astype(np.int8) + 8
    return (levels[:, 0::2] * 16 + levels[:, 1::2]).astype(np.uint8)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("words", type=Path)
    parser.add_argument("--vectors", type=Path, help="their vectors, if they are known")
    options = parser.parse_args()
    words = options.words.read_text(encoding="utf-8").split()
    vectors = np.load(options.vectors).astype(np.float32) if options.vectors else embedded(words)
    first: dict[int, int] = {}
    for at, word in enumerate(words):
        first.setdefault(zlib.crc32(stem(word).encode()), at)
    hashes = np.array(sorted(first), dtype=np.uint32)
    order = [first[int(name)] for name in hashes]
    path = ROOT / "src" / "ricordo" / "followups" / "meanings.npz"
    np.savez_compressed(path, hashes=hashes, vectors=packed(reduced(vectors))[order])
    print(f"{len(hashes)} words, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
