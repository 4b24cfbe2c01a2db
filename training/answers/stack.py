"""What the network's score adds to the logistic models of `ricordo.chat.answerability`, file by file.

    python training/answers/stack.py scores.jsonl FILE…

`scores.jsonl` was written by `pairs.py`: scores of networks that did not see the row. Every file is measured with
logistic models fitted on the others; the network reads the `READ` best messages of a question.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from gloss import in_english
from train import ANSWERED, PAST, RANKING_PENALTY, REFUSED, SHARES, Asked, Weights, fit, logistic, part, read

from ricordo.chat.answerability import question_features

READ = 5
COVERED, ANSWERS = 4, 16  # places of features, as in `answerability`
JUDGED_PENALTY, ANSWER_PENALTY = 3.0, 20.0
Scored = tuple[Asked, np.ndarray]


def ranking(some: Sequence[Scored]) -> np.ndarray:
    """The weights of the first model."""
    known = [asked for asked, _ in some if asked.kind in ANSWERED]
    labels, past = (np.concatenate([getattr(each, name) for each in known]) for name in ("right", "past"))
    shares = np.where((past > 0) & (labels == 0), PAST, 1.0)
    return logistic(np.concatenate([each.rows for each in known]), labels, RANKING_PENALTY, shares)


def judged(asked: Asked, told: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The places of the best messages, and what both models know of each."""
    logits = asked.rows @ weights
    best = np.argsort(-logits)[:READ]
    lead, sure = logits[best[0]], told[best].max()
    words = asked.rows[best][:, [ANSWERS, COVERED]]
    first = np.stack([np.ones(len(best)), logits[best], told[best], logits[best] - lead, told[best] - sure], axis=1)
    return best, np.concatenate([first, words], axis=1)


def of_question(asked: Asked, told: np.ndarray, weights: np.ndarray, second: np.ndarray) -> tuple[int, np.ndarray]:
    """The message that is best by both, and what is known of the question."""
    best, rows = judged(asked, told, weights)
    both = np.sort(rows @ second)[::-1]
    top = int(best[np.argmax(rows @ second)])
    numbers = question_features(asked.question, asked.passages, asked.rows, list(asked.rows @ weights))
    near = np.sort(told[best])
    more = (
        told[top],
        told.max(),
        near[-2] if len(near) > 1 else 0.0,
        both[0],
        both[0] - both[1] if len(both) > 1 else 4,
    )
    return top, np.array([*numbers, *more])


def fitted(some: Sequence[Scored]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three models, the later ones on scores of rows that the first was not fitted on."""
    parts = {third: ranking([each for each in some if part(each[0]) != third]) for third in range(3)}
    rows, labels = [], []
    for asked, told in some:
        if asked.kind in ANSWERED:
            best, known = judged(asked, told, parts[part(asked)])
            rows.append(known)
            labels.append(asked.right[best])
    second = logistic(np.concatenate(rows), np.concatenate(labels), JUDGED_PENALTY)
    asks = [of_question(asked, told, parts[part(asked)], second)[1] for asked, told in some]
    right = np.array([float(asked.right.any()) for asked, _ in some])
    shares = np.array([SHARES.get(asked.kind, 1.0) for asked, _ in some])
    return ranking(some), second, logistic(np.array(asks), right, ANSWER_PENALTY, shares)


def figures(name: str, some: Sequence[Scored], alone: Weights, models: tuple[np.ndarray, ...]) -> None:
    """Today's models alone, and with the network."""
    first, second, answer = models
    before: dict[bool, list[float]] = {True: [], False: []}
    after: dict[bool, list[float]] = {True: [], False: []}
    best, old, count = 0.0, 0.0, 0
    for asked, told in some:
        logits = asked.rows @ alone["RANKING"]
        top, numbers = of_question(asked, told, first, second)
        if asked.right.any():
            count, best, old = count + 1, best + asked.right[top], old + asked.right[int(np.argmax(logits))]
        if asked.kind in REFUSED or (asked.kind in ANSWERED and asked.right.any()):
            known = question_features(asked.question, asked.passages, asked.rows, list(logits))
            before[asked.kind in ANSWERED].append(float(np.dot(alone["ANSWERED"], known)))
            after[asked.kind in ANSWERED].append(float(numbers @ answer))
    if not (count and before[False]):
        return
    areas, kept = [], []
    for told_apart in (before, after):
        good, bad = np.array(told_apart[True]), np.array(told_apart[False])
        areas.append(f"{(good[:, None] > bad[None]).mean():.3f}")
        kept.append(f"{(good > np.quantile(bad, 0.95)).mean():.2f}")
    print(f"{name}: first {old / count:.3f} -> {best / count:.3f}, area {' -> '.join(areas)}, kept {' -> '.join(kept)}")


def main() -> None:
    """Read the scores and the files, and print the figures of each file."""
    told: dict[tuple[str, ...], list[float]] = {}
    for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        told[row["set"], row["row"], row["kind"], row["q"]] = row["answers"]
    every: list[Scored] = []
    for asked in (each for path in sys.argv[2:] for each in read(path)):
        known = told.get((Path(asked.file).stem, asked.row, asked.kind, in_english(asked.question.text)))
        if known and len(known) == len(asked.passages):
            every.append((asked, np.array(known)))
    for path in sys.argv[2:]:
        others = [each for each in every if each[0].file != path]
        left = [each for each in every if each[0].file == path]
        figures(Path(path).stem, left, fit([asked for asked, _ in others]), fitted(others))


if __name__ == "__main__":
    main()
