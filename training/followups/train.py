"""Train the scorer of antecedents and write src/ricordo/followups/antecedents.npz; see README.md beside this file."""

import argparse
import json
import random
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ricordo.followups.antecedents import named, pairs
from ricordo.followups.candidates import follow
from ricordo.followups.parse import refers_back
from ricordo.followups.reference import PastTurn, Talk
from ricordo.followups.resolve import mended_words, open_to_scorer, resolve
from ricordo.languages.registry import language

ROOT = Path(__file__).resolve().parents[2]
WEIGHTS = ROOT / "src" / "ricordo" / "followups" / "antecedents.npz"
HIDDEN, PENALTY, ROUNDS, BATCH, RATE, SEED = 32, 3e-3, 20, 512, 3e-3, 7
NETWORKS = 5  # their mean is one wider network that depends less on chance
POSITIVE = 3.0  # weight of a needed phrase: few of the candidates are needed
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Example:
    """One question with the observations of its candidates, and which of them it needs."""

    observations: np.ndarray
    needed: np.ndarray


def rows_of(path: Path) -> Iterator[Row]:
    with path.open(encoding="utf-8") as lines:
        yield from (json.loads(line) for line in lines if line.strip())


def untouched(row: Row) -> bool:
    return zlib.crc32(row["id"].encode()) % 3 == 0


def labelled_rows() -> Iterator[Row]:
    """The older labelled questions, in the form of the others."""
    data = ROOT / "tests" / "data"
    talks = {row["talk"]: row["turns"] for row in rows_of(data / "followups_talks.jsonl")}
    for row in rows_of(data / "followups_cases.jsonl"):
        turns = talks[row["talk"]][: row["after"]]
        yield {
            "id": row["id"],
            "history": [{"q": turn["query"], "a": turn["response"]} for turn in turns],
            "question": row["question"],
            "must": [[term] for term in row.get("terms") or []],
            "same": row["kind"] == "none",
        }


def changes_of_subject(rows: Sequence[Row]) -> Iterator[Row]:
    """Questions that open another talk are complete: each is asked once after a talk that it has nothing to do with."""
    chance = random.Random(SEED)
    for row in rows:
        others = [
            o["history"][0]["q"] for o in rows if o["lang"] == row["lang"] and o["history"][0] != row["history"][0]
        ]
        yield {**row, "question": chance.choice(others), "must": [], "same": True, "ask": False}


def example(row: Row) -> Example | None:
    """The candidates of a question that no strong cue decides; None where there is nothing to learn."""
    history = [PastTurn(at, turn["q"], turn.get("a") or "") for at, turn in enumerate(row["history"], start=1)]
    if not history or row.get("ask"):
        return None
    by_rules = resolve(row["question"], history, trained=False)
    if not open_to_scorer(by_rules.references, by_rules):
        return None
    wanted = [options for options in row["must"] if not _holds(row["question"], options)]
    if not wanted and not row.get("same"):
        return None
    words = language(by_rules.language).followups
    talk = Talk(history, words, None, row["question"], mended_words(row["question"], history, words))
    pool = named(talk)
    if not pool:
        return None
    focus = follow(history, words, refers_back)
    found = pairs(talk, by_rules.references, by_rules.additions, focus, pool)
    marks = [any(_holds(one.phrase.text, options) for options in wanted) for one in pool]
    return Example(np.array(found, dtype=np.float32), np.array(marks, dtype=np.float32))


def _holds(text: str, options: list[str]) -> bool:
    return any(option.casefold() in text.casefold() for option in options)


def network(rows: np.ndarray, marks: np.ndarray, weights: np.ndarray, seed: int) -> list[np.ndarray]:
    """One hidden layer, fitted by Adam: its two tables and their biases."""
    chance, (count, width) = np.random.default_rng(seed), rows.shape
    tables = [
        (chance.normal(size=(width, HIDDEN)) * np.sqrt(2 / width)).astype(np.float32),
        np.zeros(HIDDEN, np.float32),
        (chance.normal(size=HIDDEN) * np.sqrt(1 / HIDDEN)).astype(np.float32),
        np.zeros(1, np.float32),
    ]
    mean, spread = ([np.zeros_like(table) for table in tables] for _ in range(2))
    step = 0
    for turn in range(ROUNDS):
        order = chance.permutation(count)
        for start in range(0, count, BATCH):
            at = order[start : start + BATCH]
            hidden = rows[at] @ tables[0] + tables[1]
            active = np.maximum(hidden, 0)
            told = 1 / (1 + np.exp(-(active @ tables[2] + tables[3])))
            wrong = ((told - marks[at]) * weights[at] / len(at)).astype(np.float32)
            back = np.outer(wrong, tables[2]) * (hidden > 0)
            slopes = [
                rows[at].T @ back + PENALTY * tables[0],
                back.sum(axis=0),
                active.T @ wrong + PENALTY * tables[2],
                wrong.sum(keepdims=True),
            ]
            step += 1
            rate = RATE * (1 - 0.8 * turn / ROUNDS) * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            for k, slope in enumerate(slopes):
                mean[k] = 0.9 * mean[k] + 0.1 * slope
                spread[k] = 0.999 * spread[k] + 0.001 * slope**2
                tables[k] = tables[k] - (rate * mean[k] / (np.sqrt(spread[k]) + 1e-8)).astype(np.float32)
    return tables


def train(examples: Sequence[Example], networks: int = NETWORKS) -> dict[str, np.ndarray]:
    """The tables of the scorer."""
    rows = np.vstack([each.observations for each in examples])
    marks = np.concatenate([each.needed for each in examples])
    weights = 1 + (POSITIVE - 1) * marks
    centre, scale = rows.mean(axis=0), 1 / np.where(rows.std(axis=0) == 0, 1, rows.std(axis=0))
    scaled = ((rows - centre) * scale).astype(np.float32)
    fitted = [network(scaled, marks, weights, SEED + at) for at in range(networks)]
    tables = {
        "mean": centre,
        "scale": scale,
        "hidden": np.hstack([each[0] for each in fitted]),
        "hidden_bias": np.concatenate([each[1] for each in fitted]),
        "output": np.concatenate([each[2] for each in fitted]) / networks,
        "output_bias": np.mean([each[3] for each in fitted], axis=0),
    }
    return {name: table.astype(np.float16) for name, table in tables.items()}


def all_rows(cases: Path | None) -> Iterator[Row]:
    """Everything that may be trained on."""
    paths = [
        *sorted((ROOT / "training" / "followups").glob("talk_*.jsonl")),
        *sorted((ROOT / "tests" / "data").glob("followups_own_*.jsonl")),
        *(sorted(cases.glob("followups_*.jsonl")) if cases else ()),
    ]
    rows = [row for path in paths for row in rows_of(path) if "own" not in path.name or not untouched(row)]
    yield from (*rows, *labelled_rows(), *changes_of_subject(rows))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, help="a folder with more files followups_*.jsonl to train on")
    options = parser.parse_args()
    WEIGHTS.unlink(missing_ok=True)  # the rules alone find the candidates
    examples = [found for row in all_rows(options.cases) if (found := example(row)) is not None]
    np.savez_compressed(WEIGHTS, **train(examples))
    print(f"{len(examples)} questions, {sum(len(each.needed) for each in examples)} candidates")


if __name__ == "__main__":
    main()
