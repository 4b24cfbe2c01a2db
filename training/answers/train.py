"""Fit the weights of `ricordo.chat.answerability` on labelled talk, and print their figures.

    python training/answers/train.py FILE… > src/ricordo/chat/answer_weights.py

A file has the format of tests/data/memory_own_*.jsonl: past sessions, then questions with the words that an answer must
hold (`any`), or that are answered nowhere (kinds `refuse` and `nowhere`). Rows whose id has `zlib.crc32(id) % 3 == 0`
are left out. Questions of other rows serve as questions on an unknown subject; a question without the turns that answer
it serves as a near miss, with a lower weight; `general_*.txt` are questions that no talk answers. Every file is
measured with weights fitted on the others (on stderr).
"""

import json
import random
import sys
import tempfile
import zlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

import ricordo
from ricordo.chat.answerability import features, question_features, replacement_features
from ricordo.chat.past import MemoryPassage, Past
from ricordo.chat.question import memory_question

ANSWERED = ("fact", "recall", "update", "list", "count")
REFUSED = ("refuse", "nowhere")
RANKING_PENALTY, ORDER_PENALTY, ANSWER_PENALTY, REPLACED_PENALTY = 5.0, 10.0, 40.0, 15.0
PAST = 0.3  # weight, in the ranking, of a message that held the answer before: another model tells what counts now
FOREIGN, GENERAL = 3, 2  # questions of other rows, and of general knowledge, for each row
SHARES = {"deleted": 0.2, "foreign": 0.4, "general": 0.4}  # weights of questions without an answer


@dataclass(frozen=True)
class Asked:
    """One question with its passages as numbers: `right` hold the answer, `past` held it before."""

    file: str
    row: str
    kind: str
    question: Any
    passages: tuple[MemoryPassage, ...]
    rows: np.ndarray
    right: np.ndarray
    past: np.ndarray

    @staticmethod
    def of(file: str, row: str, ask: dict[str, Any], passages: tuple[MemoryPassage, ...]) -> "Asked":
        """Read a question with its passages; one that holds what must not be said is wrong."""
        question = memory_question(ask["q"])
        words = [word.casefold() for word in ask.get("any") or () if ask["kind"] in ANSWERED]
        never = [word.casefold() for word in ask.get("none") or ()]
        said = [each.text.casefold() for each in passages]
        right = [any(word in text for word in words) and not any(word in text for word in never) for text in said]
        old = [ask["kind"] == "update" and any(word in text for word in never) for text in said]
        rows = np.array(features(question, passages))
        return Asked(file, row, ask["kind"], question, passages, rows, np.array(right, float), np.array(old, float))

    def deleted(self, words: list[str]) -> "Asked | None":
        """The same question without the turns that answer it."""
        gone = {
            (each.session_id, each.turn_number)
            for each in self.passages
            if any(word.casefold() in each.text.casefold() for word in words)
        }
        left = tuple(each for each in self.passages if (each.session_id, each.turn_number) not in gone)
        if len(left) < 2:
            return None
        rows = np.array(features(self.question, left))
        none = np.zeros(len(left))
        return replace(self, kind="deleted", passages=left, rows=rows, right=none, past=none)


def read(path: str) -> list[Asked]:
    """The questions of a file, answered from a memory that holds its sessions."""
    scripts = [json.loads(line) for line in Path(path).read_text(encoding="utf-8").splitlines() if line]
    scripts = [each for each in scripts if zlib.crc32(each["id"].encode()) % 3 or not path.startswith("tests/")]
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
            lines = (Path(__file__).parent / f"general_{script['lang']}.txt").read_text(encoding="utf-8").splitlines()
            asks = [ask for ask in script["asks"] if ask["kind"] in (*ANSWERED, *REFUSED)]
            asks += [{"q": ask["q"], "kind": "foreign"} for ask in strange]
            asks += [{"q": q, "kind": "general"} for q in random.Random(script["id"]).sample(lines, GENERAL)]
            for ask in asks:
                passages = Past(memory, script["id"], "default", "").passages(ask["q"])
                if not passages:
                    continue
                each = Asked.of(path, script["id"], ask, passages)
                if each.right.any() or ask["kind"] not in ANSWERED:
                    found.append(each)
                if ask["kind"] in ("fact", "recall") and (near := each.deleted(ask["any"])):
                    found.append(near)
    return found


def logistic(rows: np.ndarray, labels: np.ndarray, penalty: float, shares: np.ndarray | None = None) -> np.ndarray:
    """The weights of a logistic model of standardized columns, for the columns as they are."""
    shares = np.ones(len(rows)) if shares is None else shares
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    mean[0], spread[0] = 0.0, 1.0
    scaled, weights = (rows - mean) / spread, np.zeros(rows.shape[1])
    for _ in range(25):
        chance = 1 / (1 + np.exp(-scaled @ weights))
        slope = scaled.T @ (shares * (chance - labels)) + penalty * np.r_[0, weights[1:]]
        curve = (scaled * (shares * chance * (1 - chance))[:, None]).T @ scaled + penalty * np.eye(len(weights))
        weights = weights - np.linalg.solve(curve, slope)
    found = weights / spread
    found[0] = weights[0] - (weights[1:] * mean[1:] / spread[1:]).sum()
    return found


def softmax(asked: list["Asked"], penalty: float) -> np.ndarray:
    """The weights by which the right messages of a question are most probable among all of it.

    What held the answer before is left out. The scores are then scaled to the probability that one message is right.
    """
    kept = [
        (each.rows[clear], each.right[clear]) for each in asked if (clear := (each.past == 0) | (each.right > 0)).any()
    ]
    rows = np.concatenate([each for each, _ in kept])
    mean, spread = rows.mean(0), rows.std(0) + 1e-6
    scaled = [((each - mean) / spread, right) for each, right in kept if right.any()]
    weights = np.zeros(rows.shape[1])
    for _ in range(10):
        slope, curve = penalty * weights, penalty * np.eye(len(weights))
        for each, right in scaled:
            chance = np.exp(each @ weights - (each @ weights).max())
            wanted = chance * right / (chance * right).sum()
            chance /= chance.sum()
            expected = each.T @ chance
            slope += expected - each.T @ wanted
            curve += (each.T * chance) @ each - np.outer(expected, expected)
        weights = weights - np.linalg.solve(curve, slope)
    scores = ((rows - mean) / spread) @ weights
    shift, scale = logistic(np.stack([np.ones(len(rows)), scores], axis=1), np.concatenate([r for _, r in kept]), 0.0)
    found = scale * weights / spread
    found[0] = shift - (found[1:] * mean[1:]).sum()
    return found


Weights = dict[str, np.ndarray]


def part(each: Asked) -> int:
    """The third of its rows that a question belongs to."""
    return zlib.crc32(each.row.encode()) // 3 % 3


def fit(asked: list[Asked]) -> Weights:
    """The weights of all models. The later ones see scores of rows that the first was not fitted on."""

    def ranking(some: list[Asked]) -> np.ndarray:
        """Between a model of single messages, which tells how good the best is, and one of their order."""
        known = [each for each in some if each.kind in ANSWERED]
        labels, past = (np.concatenate([getattr(each, name) for each in known]) for name in ("right", "past"))
        shares = np.where((past > 0) & (labels == 0), PAST, 1.0)
        single = logistic(np.concatenate([each.rows for each in known]), labels, RANKING_PENALTY, shares)
        return (single + softmax(known, ORDER_PENALTY)) / 2

    best: list[tuple[str, Any, float, float]] = []
    later: list[tuple[tuple[float, ...], float]] = []
    for third in range(3):
        weights = ranking([each for each in asked if part(each) != third])
        for each in asked:
            if part(each) == third:
                logits = list(each.rows @ weights)
                numbers = question_features(each.question, each.passages, each.rows, logits)
                best.append((each.kind, numbers, float(each.right.any()), SHARES.get(each.kind, 1.0)))
                later += replacements(each, logits)
    found = {"RANKING": ranking(asked)}
    for name, left_out in (("RELATED", (*REFUSED, "deleted")), ("ANSWERED", ())):
        kept = [row for row in best if row[0] not in left_out]
        rows, labels, shares = (np.array([row[at] for row in kept]) for at in (1, 2, 3))
        found[name] = logistic(rows, labels, ANSWER_PENALTY, shares)
    rows, labels = np.array([row for row, _ in later]), np.array([label for _, label in later])
    found["REPLACED"] = logistic(rows, labels, REPLACED_PENALTY)
    return found


def replacements(each: Asked, logits: list[float]) -> list[tuple[tuple[float, ...], float]]:
    """The later messages of a question, with whether they replace its best one."""
    if each.kind not in ANSWERED:
        return []
    best = int(np.argmax(logits))
    found = replacement_features(each.question, each.passages, logits, best)
    if each.right[best]:
        return [(row, 0.0) for at, row in found.items() if not each.right[at]]
    old = bool(each.past[best])  # only what held before can be replaced
    return [(row, float(each.right[at])) for at, row in found.items() if old or not each.right[at]]


def figures(name: str, asked: list[Asked], weights: Weights) -> None:
    """Print how often the first passages hold the answer, and how well refusals are told from answers."""
    first = second = answerable = 0
    chances: dict[bool, list[float]] = {True: [], False: []}
    for each in asked:
        logits = each.rows @ weights["RANKING"]
        order = np.argsort(-logits)
        numbers = question_features(each.question, each.passages, each.rows, list(logits))
        if each.kind not in SHARES:
            chances[bool(each.right.any())].append(float(np.dot(weights["ANSWERED"], numbers)))
        if each.right.any():
            answerable += 1
            first += bool(each.right[order[0]])
            second += bool(each.right[order[:2]].any())
    pairs = [one > other for one in chances[True] for other in chances[False]]
    shares = f"first {first / max(1, answerable):.3f}, first two {second / max(1, answerable):.3f}"
    near = f"AUC against near misses {np.mean(pairs):.3f}" if pairs else "no pairs"
    print(f"{name}: {answerable} questions, {shares}, {near}", file=sys.stderr)


def written(weights: Weights) -> str:
    """The module with the weights."""
    lines = ['"""The weights of `chat.answerability`, fitted by training/answers/train.py on labelled talk."""\n']
    for name, values in weights.items():
        lines.append(f"{name} = (")
        told = [f"{float(each):.2f}," for each in values]
        lines += [f"    {' '.join(told[at : at + 16])}" for at in range(0, len(told), 16)]
        lines.append(")  # fmt: skip")
    return "\n".join(lines)


if __name__ == "__main__":
    every = [each for path in sys.argv[1:] for each in read(path)]
    for path in sys.argv[1:]:
        figures(path, [e for e in every if e.file == path], fit([e for e in every if e.file != path] or every))
    print(written(fit(every)))
