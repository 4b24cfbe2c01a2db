"""Fit the weights of `ricordo.chat.answerability` on labelled talk, and print them with their figures.

    python training/answers/train.py FILE…

A file has the format of tests/data/memory_own_*.jsonl: past sessions, then questions with the words that an answer must
hold (`any`), or that are answered nowhere (kind `refuse`). Rows whose id has `zlib.crc32(id) % 3 == 0` are left out.
Questions of other rows serve as questions on an unknown subject. Every file is measured with weights fitted on the
others.
"""

import json
import random
import sys
import tempfile
import zlib
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import ricordo
from ricordo.chat.answerability import features, memory_question, question_features
from ricordo.chat.past import MemoryPassage, Past

ANSWERED = ("fact", "recall", "update", "list", "count")
RANKING_PENALTY, ANSWER_PENALTY = 5.0, 20.0
FOREIGN = 3  # questions of other rows for each row


@dataclass(frozen=True)
class Asked:
    """One question with its passages as numbers; `right` marks those that hold the answer."""

    file: str
    row: str
    kind: str
    question: Any
    passages: tuple[MemoryPassage, ...]
    rows: np.ndarray
    right: np.ndarray


def read(path: str) -> list[Asked]:
    """The questions of a file, answered from a memory that holds its sessions."""
    scripts = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines() if line]
    scripts = [each for each in scripts if zlib.crc32(each["id"].encode()) % 3]
    found: list[Asked] = []
    with ricordo.open(str(Path(tempfile.mkdtemp()) / "m.db")) as memory:
        for script in scripts:
            for past in script["sessions"]:
                session = memory.session(user_id=script["id"])
                begun = datetime.now(UTC) + timedelta(days=past["day"])
                for number, turn in enumerate(past["turns"]):
                    at = begun + timedelta(minutes=3 * number)
                    session.add_turn(turn["q"], turn.get("a") or "OK.", created_at=at)
        memory.settle(900)
        others = [ask for script in scripts for ask in script["asks"] if ask["kind"] in ("recall", "update")]
        for script in scripts:
            foreign = [ask for ask in others if ask not in script["asks"]]
            strange = random.Random(script["id"]).sample(foreign, min(FOREIGN, len(foreign)))
            asks = [ask for ask in script["asks"] if ask["kind"] in (*ANSWERED, "refuse")]
            for ask in [*asks, *({"q": ask["q"], "kind": "foreign"} for ask in strange)]:
                question = memory_question(ask["q"])
                passages = Past(memory, script["id"], "default", "").passages(ask["q"])
                words = [word.casefold() for word in ask.get("any") or () if ask["kind"] in ANSWERED]
                right = np.array([float(any(word in each.text.casefold() for word in words)) for each in passages])
                if passages and (right.any() or ask["kind"] in ("refuse", "foreign")):
                    rows = np.array(features(question, passages))
                    found.append(Asked(path, script["id"], ask["kind"], question, passages, rows, right))
    return found


def logistic(rows: np.ndarray, labels: np.ndarray, penalty: float) -> np.ndarray:
    """The weights of a logistic model of standardized columns, for the columns as they are."""
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    mean[0], spread[0] = 0.0, 1.0
    scaled, weights = (rows - mean) / spread, np.zeros(rows.shape[1])
    for _ in range(60):
        chance = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (chance - labels) + penalty * np.r_[0, weights[1:]]
        curve = (scaled * (chance * (1 - chance))[:, None]).T @ scaled + penalty * np.eye(len(weights))
        weights = weights - np.linalg.solve(curve, slope)
    found = weights / spread
    found[0] = weights[0] - (weights[1:] * mean[1:] / spread[1:]).sum()
    return found


def fit(asked: list[Asked]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The weights of `_RANKING`, `_RELATED` and `_ANSWERED`."""

    def ranking(some: list[Asked]) -> np.ndarray:
        known = [each for each in some if each.kind != "foreign"]
        labels = np.concatenate([each.right for each in known])
        return logistic(np.concatenate([each.rows for each in known]), labels, RANKING_PENALTY)

    best = []
    for part in range(3):  # the second models see scores of rows that the first was not fitted on
        weights = ranking([each for each in asked if zlib.crc32(each.row.encode()) // 3 % 3 != part])
        for each in asked:
            if zlib.crc32(each.row.encode()) // 3 % 3 == part:
                numbers = question_features(each.question, each.passages, each.rows, list(each.rows @ weights))
                best.append((each.kind, numbers, float(each.right.any())))
    models = []
    for left_out in ("refuse", "foreign"):
        kept = [(numbers, label) for kind, numbers, label in best if kind != left_out]
        models.append(logistic(np.array([row for row, _ in kept]), np.array([y for _, y in kept]), ANSWER_PENALTY))
    return ranking(asked), models[0], models[1]


def figures(name: str, asked: list[Asked], weights: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    """Print how often the first two passages hold the answer, and how well refusals are told from answers."""
    first = second = answerable = 0
    chances: dict[bool, list[float]] = {True: [], False: []}
    for each in asked:
        logits = each.rows @ weights[0]
        order = np.argsort(-logits)
        numbers = question_features(each.question, each.passages, each.rows, list(logits))
        if each.kind != "foreign":
            chances[bool(each.right.any())].append(float(np.dot(weights[2], numbers)))
        if each.right.any():
            answerable += 1
            first += bool(each.right[order[0]])
            second += bool(each.right[order[:2]].any())
    pairs = [one > other for one in chances[True] for other in chances[False]]
    shares = f"first {first / answerable:.3f}, first two {second / answerable:.3f}"
    print(f"{name}: {answerable} questions, {shares}, AUC against near misses {np.mean(pairs):.3f}")


if __name__ == "__main__":
    every = [each for path in sys.argv[1:] for each in read(path)]
    for path in sys.argv[1:]:
        figures(path, [e for e in every if e.file == path], fit([e for e in every if e.file != path] or every))
    for name, weights in zip(("_RANKING", "_RELATED", "_ANSWERED"), fit(every), strict=True):
        print(name, "=", tuple(round(float(each), 2) for each in weights))
