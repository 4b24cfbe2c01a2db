"""Train the judge of clauses: labelled talk in, `src/ricordo/people/facts/judge.npz` out.

    python training/facts/train.py [--cases DIR] [--threshold X] [--processes N] [--out FILE]

Needs scikit-learn and PyTorch, which Ricordo itself does not, and the word vectors that `vectors.py` makes. Rows whose
id hashes to the untouched third are never trained on; the script ends with the figures on that third. `--cases` adds
the case files `facts_*.jsonl` of a folder.
"""

import argparse
import json
import sys
import zlib
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
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
import voices  # noqa: E402
from bench.facts_talk import GROUP_OF, talk_rows, third_figures, untouched, weights  # noqa: E402

from ricordo.people.facts import judge as model  # noqa: E402

FOLDS, STORED = 3, 3  # networks that leave out a fold each, and those that are kept
DATA: list[Any] = []  # what the networks are trained on, for processes that are forked
OTHER_VOICES = ("plain", "bare", "hasty")


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
            labels.append(
                (clause["label"], clause.get("attribute") or clause.get("why", "")) if clause else ("none", "")
            )
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


def second_stage(talks, clause, message, told, names):
    """What the last stage sees of each segment, and whether it states something; `told` are the network's scores."""
    seen, wanted = [], []
    for (text, before, spans, labels), (net, kinds, groups) in zip(talks, told, strict=True):
        observed = [model.observations(text, spans, index, before) for index in range(len(spans))]
        logits = list(clause.decision_function(matrix(observed)))
        whole = float(message.decision_function(matrix([model.message_observations(text, before)]))[0])
        for index, (label, _) in enumerate(labels):
            if label:
                said = text[spans[index].start : spans[index].end]
                seen_kinds = model.kind_observations(said, kinds[index], groups[index], names)
                context = model.context_observations(logits, index, whole, net)
                seen.append(np.append(context, seen_kinds * [[1], [net[index]]]))
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
    """The network's scores of each segment of each message: whether it states something, its label, its group."""
    told = [None] * len(data)
    for chosen, tokens, mask, segment, count, *_ in network.batches(data, 64, shuffle=False):
        with network.torch.no_grad():
            logits = [each.numpy() for each in net(tokens, mask, segment, count)[:3]]
        for row, index in enumerate(chosen):
            told[index] = [each[row, : data[index][2]] for each in logits]
    return told


def quantized(weights):
    """Weights of several classes as signed bytes with a scale for each class."""
    scale = np.abs(weights).max(axis=1) / 127
    return np.round(weights / scale[:, None]).astype(np.int8), scale.astype(np.float32)


@dataclass(frozen=True)
class Talk:
    """The messages of a row, and the same in other voices."""

    id: str
    said: list[Any]
    others: list[list[Any]]


def talk_of(row):
    """A row with its copies."""
    return Talk(row["id"], list(messages(row)), [list(messages(voices.voiced(row, name))) for name in OTHER_VOICES])


def prepared(talks, word_id, names):
    """Messages as the network reads them."""
    grouped = [
        (
            text,
            before,
            spans,
            [(label, name if label == "none" else name and GROUP_OF.get(name, model.OTHER)) for label, name in labels],
        )
        for text, before, spans, labels in talks
    ]
    return network.samples(grouped, word_id, names)


def without_fold(number, values, groups):
    """A network that never saw the rows of one fold; beyond the folds, one that saw all rows."""
    kept = [voices_of for voices_of, own in DATA if own != number]
    flat = [[each for voices_of in kept for each in voices_of[number]] for number in range(1 + len(OTHER_VOICES))]
    return network.trained(flat[0], values, groups, seed=number, others=flat[1:])


def main() -> None:
    """Train, write, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--processes", type=int, default=FOLDS)
    parser.add_argument("--threshold", type=float, default=0.5)
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "src/ricordo/people/facts/judge.npz")
    options = parser.parse_args()
    everything = talk_rows(HERE)
    rows = [row for row in everything if not untouched(row)]
    train = [
        Talk(row["id"], list(messages(row)), [list(messages(voices.voiced(row, v))) for v in OTHER_VOICES])
        for row in rows
    ]
    if options.cases:
        for file in sorted(options.cases.glob("facts_*.jsonl")):
            for line in file.open(encoding="utf-8"):
                case = json.loads(line)
                said = list(case_messages(case))
                train.append(Talk(case["id"], said, [said] * len(OTHER_VOICES)))
    hashes, table, word_id = word_table()
    values = np.vstack([np.zeros((1, table.shape[1])), table / model.LEVELS])
    names = sorted(set(GROUP_OF.values()) | {model.OTHER})
    prepare = partial(prepared, word_id=word_id, names=names)
    # Each fold is left out by one network: the last stage is fitted on what that one says of it. Those stored saw all.
    folds = [zlib.crc32(b"fold" + talk.id.encode()) % FOLDS for talk in train]
    DATA.extend(([prepare(said) for said in (t.said, *t.others)], fold) for t, fold in zip(train, folds, strict=True))
    with get_context("fork").Pool(options.processes) as pool:
        nets = pool.starmap(
            without_fold, [(number, values, len(names)) for number in range(FOLDS + STORED)], chunksize=1
        )
    contexts, stated = [], []
    for fold, net in enumerate(nets[:FOLDS]):
        kept = [talk for each, own in zip(train, folds, strict=True) if own != fold for talk in each.said]
        held = [talk for each, own in zip(train, folds, strict=True) if own == fold for talk in each.said]
        seen, wanted = second_stage(held, *first_stage(kept), scores(net, prepare(held)), names)
        contexts.append(seen)
        stated.append(wanted)
    second = LogisticRegression(C=1.0, max_iter=600).fit(np.concatenate(contexts), np.concatenate(stated))
    clause, message = first_stage([talk for each in train for talk in (*each.said, *each.others[1])])
    seen, labels, attributes, about = [], [], [], []
    for each in train:
        for text, _, spans, marks in each.said:
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
        **network.arrays(nets[FOLDS:]),
    )
    model._model.cache_clear()
    with weights(options.out):
        for language in ("en", "it"):
            print(third_figures([row for row in everything if untouched(row)], language))


if __name__ == "__main__":
    main()
