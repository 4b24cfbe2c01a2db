"""Train the judge of clauses: labelled talk in, `src/ricordo/people/facts/judge.npz` out.

    python training/facts/train.py [--cases DIR] [--threshold X]

Needs scikit-learn, which Ricordo itself does not. Rows whose id hashes to the untouched third are never trained on;
the script ends with the figures on that third. `--cases` adds the case files `facts_*.jsonl` of a folder.
"""

import argparse
import json
import sys
import zlib
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "src"))

from ricordo.people.facts import judge as model  # noqa: E402

FOLDS = 4
# Attributes that the data name, in the groups that the judge tells apart.
GROUPS = {
    "name": "name nickname", "age": "age birthday", "home": "home", "origin": "origin nationality",
    "work": "work employer", "study": "education course", "partner": "partner", "family": "family children",
    "pet": "pet", "health": "health condition medication allergy", "diet": "diet",
    "taste": "like dislike hobby sport instrument", "habit": "habit", "thing": "possession vehicle device",
    "skill": "skill language difficulty", "goal": "goal", "event": "appointment exam trip event",
    "manner": "style format address_form",
}  # fmt: skip
GROUP_OF = {name: group for group, names in GROUPS.items() for name in names.split()}


def untouched(row: dict[str, Any]) -> bool:
    """Whether a row is of the third that is only measured with."""
    return zlib.crc32(row["id"].encode()) % 3 == 0


def rows() -> list[dict[str, Any]]:
    """All labelled rows."""
    return [json.loads(line) for file in sorted(HERE.glob("talk_*.jsonl")) for line in file.open(encoding="utf-8")]


def messages(row: dict[str, Any]):
    """Each message of a row with its segments and the label and attribute of each."""
    for number, text in enumerate(row["messages"]):
        gold, begin = [], 0
        for clause in row["clauses"]:
            if clause["m"] == number and (at := text.find(clause["text"], begin)) >= 0:
                gold.append((at, at + len(clause["text"]), clause))
                begin = at + len(clause["text"])
        spans = model.segments(text)
        labels = []
        for span in spans:
            overlap, best = max(
                ((min(span.end, end) - max(span.start, start), n) for n, (start, end, _) in enumerate(gold)),
                default=(0, -1),
            )
            clause = gold[best][2] if best >= 0 and overlap >= 0.3 * (span.end - span.start) else None
            labels.append((clause["label"], clause.get("attribute", "")) if clause else ("none", ""))
        if spans:
            yield text, row["messages"][number - 1] if number else None, spans, labels


def case_messages(case: dict[str, Any]):
    """A case: segments with a wanted word state something, those of a trap do not; the rest is not used."""
    for number, text in enumerate(case["messages"]):
        spans = model.segments(text)
        labels = []
        for span in spans:
            said = text[span.start : span.end].casefold()
            if any(word.casefold() in said for group in case.get("want", []) for word in group):
                labels.append(("fact", ""))
            elif case.get("none") or case["kind"] == "trap" or text[span.end : span.end + 1] == "?":
                labels.append(("none", ""))
            else:
                labels.append(("", ""))
        if spans:
            yield text, case["messages"][number - 1] if number else None, spans, labels


@cache
def slots(*seen):
    """The slots of some observations."""
    return model._slots(seen)


def matrix(observed):
    """Hashed observations as a sparse matrix."""
    columns, starts = [], [0]
    for each in observed:
        columns += slots(*each)
        starts.append(len(columns))
    shape = (len(observed), model.SIZE)
    return csr_matrix((np.ones(len(columns), np.float32), columns, starts), shape=shape)


def fit(observed, wanted, strength=2.0):
    """A logistic regression over observations."""
    return LogisticRegression(C=strength, max_iter=200, tol=1e-3).fit(matrix(observed), wanted)


def first_stage(talks):
    """The two models of the first stage."""
    seen, wanted, whole, stated = [], [], [], []
    for text, before, spans, labels in talks:
        for index, (label, _) in enumerate(labels):
            if label:
                seen.append(model.observations(text, spans, index, before))
                wanted.append(label != "none")
        if any(label for label, _ in labels):
            whole.append(model.message_observations(text, before))
            stated.append(any(label not in ("none", "") for label, _ in labels))
    return fit(seen, wanted), fit(whole, stated, 1.0)


def second_stage(talks, clause, message):
    """What the second stage sees of each segment, and whether it states something."""
    seen, wanted = [], []
    for text, before, spans, labels in talks:
        observed = [model.observations(text, spans, index, before) for index in range(len(spans))]
        logits = list(clause.decision_function(matrix(observed)))
        whole = float(message.decision_function(matrix([model.message_observations(text, before)]))[0])
        for index, (label, _) in enumerate(labels):
            if label:
                seen.append(model.context_observations(logits, index, whole))
                wanted.append(label != "none")
    return np.array(seen), np.array(wanted)


def quantized(weights):
    """Weights of several classes as signed bytes with a scale for each class."""
    scale = np.abs(weights).max(axis=1) / 127
    return np.round(weights / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def main() -> None:
    """Train, write, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--threshold", type=float, default=0.0)
    options = parser.parse_args()
    everything = rows()
    train = [(row["id"], list(messages(row))) for row in everything if not untouched(row)]
    if options.cases:
        for file in sorted(options.cases.glob("facts_*.jsonl")):
            for line in file.open(encoding="utf-8"):
                case = json.loads(line)
                train.append((case["id"], list(case_messages(case))))
    fold = [zlib.crc32(b"fold" + name.encode()) % FOLDS for name, _ in train]
    contexts, stated = [], []
    for number in range(FOLDS):
        kept = [talk for (_, talks), own in zip(train, fold, strict=True) if own != number for talk in talks]
        held = [talk for (_, talks), own in zip(train, fold, strict=True) if own == number for talk in talks]
        seen, wanted = second_stage(held, *first_stage(kept))
        contexts.append(seen)
        stated.append(wanted)
    second = LogisticRegression(C=1.0, max_iter=600).fit(np.vstack(contexts), np.concatenate(stated))
    clause, message = first_stage([t for _, talks in train for t in talks])
    seen, labels, attributes, about = [], [], [], []
    for _, talks in train:
        for text, _, spans, marks in talks:
            for index, (label, attribute) in enumerate(marks):
                if label not in ("", "none") and attribute:
                    span = spans[index]
                    seen.append(model.own_observations(text[span.start : span.end]))
                    labels.append(model.LABELS.index(label))
                    attributes.append(GROUP_OF.get(attribute, "other"))
    names = sorted(set(attributes))
    what = fit(seen, labels, 4.0)
    about = fit(seen, [names.index(name) for name in attributes], 4.0)
    label_weights, label_scale = quantized(what.coef_)
    about_weights, about_scale = quantized(about.coef_)
    np.savez_compressed(
        HERE.parents[1] / "src/ricordo/people/facts/judge.npz",
        clause=clause.coef_[0].astype(np.float16),
        message=message.coef_[0].astype(np.float16),
        context=np.append(second.coef_[0], second.intercept_).astype(np.float32),
        biases=np.array([clause.intercept_[0], message.intercept_[0], options.threshold], np.float32),
        labels=label_weights,
        labels_scale=label_scale,
        labels_bias=what.intercept_.astype(np.float32),
        attributes=about_weights,
        attributes_scale=about_scale,
        attributes_bias=about.intercept_.astype(np.float32),
        names=np.array(names),
    )
    report([row for row in everything if untouched(row)])


def report(kept: list[dict[str, Any]]) -> None:
    """Clauses found, rows without a fact left alone, labels and attributes right, on rows that were not trained on."""
    model._model.cache_clear()
    for language in ("en", "it"):
        found = wanted = right = labelled = about = quiet = silent = wrong = 0
        for row in kept:
            if row["lang"] != language:
                continue
            claimed = 0
            for number, text in enumerate(row["messages"]):
                judged = model.judge(text, row["messages"][number - 1] if number else None)
                begin = 0
                hits = set()
                for clause in row["clauses"]:
                    if clause["m"] != number:
                        continue
                    at = text.find(clause["text"], begin)
                    begin = at + len(clause["text"])
                    over = [j for j in judged if min(j.end, begin) - max(j.start, at) > 0.3 * (j.end - j.start)]
                    if clause["label"] == "none":
                        wrong += len(over)
                        continue
                    wanted += 1
                    hits.update(over)
                    if over:
                        found += 1
                        labelled += any(j.label == clause["label"] for j in over)
                        about += any(j.attribute == GROUP_OF.get(clause["attribute"], "other") for j in over)
                claimed += len(judged)
                right += len(hits)
            if all(clause["label"] == "none" for clause in row["clauses"]):
                quiet += 1
                silent += claimed == 0
        print(
            f"{language}: clauses found {found}/{wanted} = {found / wanted:.3f}, wrong clauses {wrong}, "
            f"rows without a fact left alone {silent}/{quiet} = {silent / quiet:.3f}, "
            f"label right {labelled / max(1, found):.3f}, attribute right {about / max(1, found):.3f}"
        )


if __name__ == "__main__":
    main()
