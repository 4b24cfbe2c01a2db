"""Train the scorer of antecedents and write src/ricordo/followups/antecedents.npz; see README.md beside this file."""

import argparse
import json
import random
import warnings
import zlib
from collections.abc import Iterator, Mapping
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
HIDDEN, PENALTY, ROUNDS, SEED = 32, 1.0, 60, 7
NETWORKS = 5  # their mean is one wider network that depends less on chance
MORE_POSITIVES = 2  # times that a needed phrase is seen again: few of the candidates are needed
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


def changes_of_subject(rows: list[Row]) -> Iterator[Row]:
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
    return Example(np.array(found, dtype=np.float32), np.array(marks))


def _holds(text: str, options: list[str]) -> bool:
    return any(option.casefold() in text.casefold() for option in options)


def train(examples: list[Example]) -> dict[str, np.ndarray]:
    """The tables of the network."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    rows = np.vstack([each.observations for each in examples])
    marks = np.concatenate([each.needed for each in examples])
    scaler = StandardScaler().fit(rows)
    again = np.repeat(np.flatnonzero(marks), MORE_POSITIVES)
    order = np.concatenate([np.arange(len(marks)), again])
    chosen, wanted = scaler.transform(rows)[order], marks[order]
    networks = [
        MLPClassifier((HIDDEN,), alpha=PENALTY, max_iter=ROUNDS, random_state=SEED + at, learning_rate_init=3e-3)
        for at in range(NETWORKS)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so many rounds are enough
        fitted = [network.fit(chosen, wanted) for network in networks]
    tables = {
        "mean": scaler.mean_,
        "scale": 1 / scaler.scale_,
        "hidden": np.hstack([each.coefs_[0] for each in fitted]),
        "hidden_bias": np.concatenate([each.intercepts_[0] for each in fitted]),
        "output": np.concatenate([each.coefs_[1][:, 0] for each in fitted]) / NETWORKS,
        "output_bias": np.mean([each.intercepts_[1] for each in fitted], axis=0),
    }
    return {name: table.astype(np.float16) for name, table in tables.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, help="a folder with more files followups_*.jsonl to train on")
    options = parser.parse_args()
    paths = [
        *sorted((ROOT / "training" / "followups").glob("talk_*.jsonl")),
        *sorted((ROOT / "tests" / "data").glob("followups_own_*.jsonl")),
        *(sorted(options.cases.glob("followups_*.jsonl")) if options.cases else ()),
    ]
    WEIGHTS.unlink(missing_ok=True)  # the rules alone find the candidates
    rows = [row for path in paths for row in rows_of(path) if "own" not in path.name or not untouched(row)]
    examples = [
        found for row in (*rows, *labelled_rows(), *changes_of_subject(rows)) if (found := example(row)) is not None
    ]
    tables = train(examples)
    np.savez_compressed(WEIGHTS, **tables)
    print(f"{len(examples)} questions, {sum(len(each.needed) for each in examples)} candidates")


if __name__ == "__main__":
    main()
