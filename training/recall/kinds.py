"""Make the table of kinds: `kinds.txt` in, `src/ricordo/recall/kinds.npz` out.

    python training/recall/kinds.py

The table holds hashed stems, so that a search stems nothing of it: `kinds` with the number of their `lines`, and the
`things` of all lines one after another, `ends` saying where each line ends. No word is stored.
"""

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "src"))

from ricordo.languages.registry import codes  # noqa: E402
from ricordo.languages.text import fold  # noqa: E402
from ricordo.recall.evidence import hashed, snowball_stem  # noqa: E402


def stems(words: str) -> set[int]:
    """The hashes of words, stemmed in every language."""
    return {hashed(snowball_stem(fold(word), code)) for word in words.split() for code in codes()}


def table() -> dict[str, np.ndarray]:
    """The arrays of the file."""
    rows = [line for line in (HERE / "kinds.txt").read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    sides = [(stems(kinds), stems(members)) for kinds, _, members in (row.partition("|") for row in rows)]
    pairs = sorted((kind, line) for line, (kinds, _) in enumerate(sides) for kind in kinds)
    things = [members for _, members in sides]
    return {
        "kinds": np.array([kind for kind, _ in pairs], dtype=np.uint32),
        "lines": np.array([line for _, line in pairs], dtype=np.uint8),
        "things": np.array([each for members in things for each in sorted(members)], dtype=np.uint32),
        "ends": np.cumsum([len(members) for members in things]).astype(np.uint16),
    }


if __name__ == "__main__":
    np.savez(ROOT / "src/ricordo/recall/kinds.npz", **table())
