"""Train the judge of clauses: labelled talk in, `src/ricordo/people/facts/judge.npz` out.

    python training/facts/train.py [--cases DIR] [--threshold X] [--out FILE]

Needs scikit-learn and PyTorch, which Ricordo itself does not, and the word vectors that `vectors.py` makes. Rows whose
id hashes to the untouched third are never trained on; the script ends with the figures on that third. `--cases` adds
the case files `facts_*.jsonl` of a folder.
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

sys.path.insert(0, str(HERE.parents[1]))
sys.path.insert(0, str(HERE))

import network  # noqa: E402
from bench.facts_talk import GROUP_OF, talk_rows, third_figures, untouched, weights  # noqa: E402

from ricordo.people.facts import judge as model  # noqa: E402

FOLDS = 4


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


def second_stage(talks, clause, message, told):
    """What the last stage sees of each segment, and whether it states something; `told` are the network's scores."""
    seen, wanted = [], []
    for (text, before, spans, labels), net in zip(talks, told, strict=True):
        observed = [model.observations(text, spans, index, before) for index in range(len(spans))]
        logits = list(clause.decision_function(matrix(observed)))
        whole = float(message.decision_function(matrix([model.message_observations(text, before)]))[0])
        for index, (label, _) in enumerate(labels):
            if label:
                seen.append(model.context_observations(logits, index, whole, net))
                wanted.append(label != "none")
    return np.array(seen), np.array(wanted)


def word_table():
    """Hashes of the words in order, their vectors, and the row of a word."""
    with np.load(HERE / "vectors.npz") as stored:
        rows = {zlib.crc32(word.encode()): row for word, row in zip(stored["words"], stored["rows"], strict=True)}
    hashes = np.array(sorted(rows), np.uint32)
    table = np.stack([rows[int(each)] for each in hashes])
    places = {int(each): index + 1 for index, each in enumerate(hashes)}
    return hashes, table, lambda word: places.get(zlib.crc32(word.encode("utf-8", "replace")), 0)


def scores(net, data):
    """The network's score of each segment of each message."""
    told = [None] * len(data)
    for chosen, tokens, mask, segment, count, *_ in network.batches(data, 64, shuffle=False):
        with network.torch.no_grad():
            logits = net(tokens, mask, segment, count)[0].numpy()
        for row, index in enumerate(chosen):
            told[index] = logits[row, : data[index][2]]
    return told


def quantized(weights):
    """Weights of several classes as signed bytes with a scale for each class."""
    scale = np.abs(weights).max(axis=1) / 127
    return np.round(weights / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def main() -> None:
    """Train, write, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--threshold", type=float, default=0.0)
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "src/ricordo/people/facts/judge.npz")
    options = parser.parse_args()
    everything = talk_rows(HERE)
    train = [(row["id"], list(messages(row))) for row in everything if not untouched(row)]
    if options.cases:
        for file in sorted(options.cases.glob("facts_*.jsonl")):
            for line in file.open(encoding="utf-8"):
                case = json.loads(line)
                train.append((case["id"], list(case_messages(case))))
    hashes, table, word_id = word_table()
    values = np.vstack([np.zeros((1, table.shape[1])), table / model.LEVELS])
    names = sorted(set(GROUP_OF.values()) | {model.OTHER})

    def prepared(talks):
        grouped = [
            (text, before, spans, [(label, group and GROUP_OF.get(group, model.OTHER)) for label, group in labels])
            for text, before, spans, labels in talks
        ]
        return network.samples(grouped, word_id, names)

    # One part is left out: the last stage is fitted on what the others say of it.
    kept = [talk for name, talks in train if zlib.crc32(b"fold" + name.encode()) % FOLDS for talk in talks]
    held = [talk for name, talks in train if not zlib.crc32(b"fold" + name.encode()) % FOLDS for talk in talks]
    apart = network.trained(prepared(kept), values, len(names))
    contexts, stated = second_stage(held, *first_stage(kept), scores(apart, prepared(held)))
    second = LogisticRegression(C=1.0, max_iter=600).fit(contexts, stated)
    everyone = [talk for _, talks in train for talk in talks]
    clause, message = first_stage(everyone)
    net = network.trained(prepared(everyone), values, len(names))
    seen, labels, attributes, about = [], [], [], []
    for _, talks in train:
        for text, _, spans, marks in talks:
            for index, (label, attribute) in enumerate(marks):
                if label not in ("", "none") and attribute:
                    span = spans[index]
                    seen.append(model.own_observations(text[span.start : span.end]))
                    labels.append(model.LABELS.index(label))
                    attributes.append(GROUP_OF.get(attribute, "other"))
    what = fit(seen, labels, 4.0)
    about = fit(seen, [names.index(name) for name in attributes], 4.0)
    label_weights, label_scale = quantized(what.coef_)
    about_weights, about_scale = quantized(about.coef_)
    np.savez_compressed(
        options.out,
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
        words=hashes,
        table=((table[:, 0::2] + 8) << 4 | (table[:, 1::2] + 8)).astype(np.uint8),
        **network.arrays(net),
    )
    model._model.cache_clear()
    with weights(options.out):
        for language in ("en", "it"):
            print(third_figures([row for row in everything if untouched(row)], language))


if __name__ == "__main__":
    main()
