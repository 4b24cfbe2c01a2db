"""Train the judge of clauses: labelled talk in, `src/ricordo/people/facts/judge.npz` out.

    python training/facts/train.py [--cases DIR] [--talk DIR] [--threshold X] [--out FILE] [--unseen FILE] [--folds DIR]

Large teachers (`teacher.py`) learn the labelled talk and judge talk without labels (`pool.py`, `--talk`); the small
networks of the judge learn from both. Needs scikit-learn, PyTorch, transformers and onnx, which Ricordo itself does
not, the word vectors that `vectors.py` makes, and an accelerator. Rows whose id hashes to the untouched third are never
trained on; the script ends with the figures on that third. `--cases` adds the case files `facts_*.jsonl` of a folder,
and `--unseen` writes the same weights without them; `--folds` keeps weights that leave out a fold of the rows each, to
read the errors on it.
"""

import argparse
import json
import os
import sys
import zlib
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path
from typing import Any

os.environ["PYTORCH_NVML_BASED_CUDA_CHECK"] = "1"  # a process that is forked may then use the accelerator

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1] / "src"))

sys.path.insert(0, str(HERE.parents[1]))
sys.path.insert(0, str(HERE))

import network  # noqa: E402
import pool as unlabelled  # noqa: E402
import teacher as teaching  # noqa: E402
import voices  # noqa: E402
from bench.facts_talk import GROUP_OF, talk_rows, third_figures, untouched, weights  # noqa: E402

from ricordo.people.facts import judge as model  # noqa: E402

FOLDS = 3  # parts of the rows that are left out by one teacher and one network each
TEACHERS, STORED = 2, 2  # those that saw all rows: teachers, and networks that are kept
PSEUDO = 14_000  # messages without labels from which the linear models learn what teachers are sure of
SURE = 1.0  # logits
OTHER_VOICES = ("plain", "bare", "hasty")
SHARED: dict[str, Any] = {}  # what processes that are forked read


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
            size = span.end - span.start
            shares = [(min(span.end, end) - max(span.start, start), n) for n, (start, end, _) in enumerate(gold)]
            # A segment without stops may hold a question too: what it states counts.
            stated = [each for each in shares if gold[each[1]][2]["label"] != "none" and each[0] >= 0.35 * size]
            overlap, best = max(stated or shares, default=(0, -1))
            clause = gold[best][2] if best >= 0 and overlap >= 0.3 * size else None
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
    net = net.to(network.DEVICE)
    for chosen, tokens, mask, segment, count, *_ in network.batches(data, 64, shuffle=False):
        with network.torch.no_grad():
            logits = [each.cpu().numpy() for each in net(tokens, mask, segment, count)[:3]]
        for row, index in enumerate(chosen):
            told[index] = [each[row, : data[index][2]] for each in logits]
    return told


def quantized(weights):
    """Weights of several classes as signed bytes with a scale for each class; the smallest are left out."""
    scale = np.abs(weights).max(axis=1) / 127
    steps = np.round(weights / scale[:, None])
    return np.where(np.abs(steps) > 2, steps, 0).astype(np.int8), scale.astype(np.float32)


@dataclass(frozen=True)
class Talk:
    """The messages of a row, and the same in other voices."""

    id: str
    said: list[Any]
    others: list[list[Any]]


def talk_of(row):
    """A row with its copies."""
    return Talk(row["id"], list(messages(row)), [list(messages(voices.voiced(row, name))) for name in OTHER_VOICES])


def case_talks(folder: Path | None) -> list[Talk]:
    """The cases of a folder."""
    files = sorted(folder.glob("facts_*.jsonl")) if folder else []
    cases = [json.loads(line) for file in files for line in file.open(encoding="utf-8")]
    return [Talk(case["id"], said := list(case_messages(case)), [said] * len(OTHER_VOICES)) for case in cases]


def fold_of(identity: str) -> int:
    """The fold of a row."""
    return zlib.crc32(b"fold" + identity.encode()) % FOLDS


def sample(talk, soft=None):
    """A message as the network reads it."""
    text, before, spans, labels = talk
    named = [(label, name if label == "none" else name and GROUP_OF.get(name, model.OTHER)) for label, name in labels]
    return network.samples([(text, before, spans, named)], SHARED["word_id"], SHARED["names"], [soft])[0]


def read(talk):
    """A message as a teacher reads it."""
    return SHARED["reader"].sample(talk)


def in_processes(function, *arguments, processes: int):
    """The function of many arguments, in processes that are forked."""
    jobs = list(zip(*arguments, strict=True))
    with get_context("fork").Pool(processes) as pool:
        return pool.starmap(function, jobs, chunksize=max(1, len(jobs) // (processes * 8)))


def taught(fold: int):
    """What a teacher that never saw a fold says of the talk without labels, and of that fold in every voice."""
    kept = [n for n, own in enumerate(SHARED["fold"]) if own != fold]
    data, *others = ([voice[n] for n in kept] for voice in SHARED["read"])
    teacher = teaching.taught(data, others, SHARED["values"], len(SHARED["names"]), fold, SHARED["encoder"])
    left = [n for n, own in enumerate(SHARED["fold"]) if own == fold]
    own = [dict(zip(left, teaching.judged(teacher, [voice[n] for n in left]), strict=True)) for voice in SHARED["read"]]
    return teaching.judged(teacher, SHARED["read_more"]), own


def network_of(fold: int, seed: int, cases: bool):
    """A network that never saw the rows of one fold, nor talk made of them; beyond the folds, one that saw all."""
    kept = [n for n, own in enumerate(SHARED["fold"]) if own != fold]
    extra = SHARED["case_samples"] if cases else []
    data, *others = ([voice[n] for n in kept] + extra for voice in SHARED["samples"])
    told = SHARED["told"][min(fold, FOLDS)]
    rows = zip(SHARED["more"], SHARED["more_samples"], told, strict=True)
    more = [(*each[:-1], np.asarray(soft, np.float32)) for (*_, own), each, soft in rows if own != fold]
    return network.trained(data, SHARED["values"], len(SHARED["names"]), seed=seed, others=others, more=more)


def linear_of(fold: int, cases: bool):
    """The linear models without the rows of one fold: of clauses and messages, of labels, of groups."""
    kept = [each for each in SHARED["talks"] if fold_of(each.id) != fold] + (SHARED["cases"] if cases else [])
    told = SHARED["told"][min(fold, FOLDS)]
    chosen = np.random.RandomState(0).permutation(len(told))[:PSEUDO]
    sure = [
        (
            *SHARED["more_talks"][n][:3],
            [("fact" if x > SURE else "none" if x < -SURE else "", "") for x in told[n][:, 0]],
        )
        for n in chosen
        if SHARED["more"][n][-1] != fold
    ]
    first = first_stage([talk for each in kept for talk in (*each.said, *each.others[1])] + sure)
    seen, labels, groups = [], [], []
    for text, _, spans, marks in (talk for each in kept for talk in each.said):
        for span, (label, attribute) in zip(spans, marks, strict=True):
            if label not in ("", "none") and attribute:
                seen.append(model.own_observations(text[span.start : span.end]))
                labels.append(model.LABELS.index(label))
                groups.append(SHARED["names"].index(GROUP_OF.get(attribute, "other")))
    return first, fit(seen, labels, 4.0), fit(seen, groups, 4.0)


def store(file: Path, linear, second, networks, threshold: float) -> None:
    """Write the weights of a judge."""
    (clause, message), what, about = linear
    (label_weights, label_scale), (about_weights, about_scale) = quantized(what.coef_), quantized(about.coef_)
    table = SHARED["table"]
    np.savez_compressed(
        file,
        clause=clause.coef_[0].astype(np.float16),
        message=message.coef_[0].astype(np.float16),
        context=np.append(second.coef_[0], second.intercept_).astype(np.float32),
        biases=np.array([clause.intercept_[0], message.intercept_[0], threshold], np.float32),
        labels=label_weights,
        labels_scale=label_scale,
        labels_bias=what.intercept_.astype(np.float32),
        attributes=about_weights,
        attributes_scale=about_scale,
        attributes_bias=about.intercept_.astype(np.float32),
        names=np.array(SHARED["names"]),
        words=SHARED["hashes"],
        table=((table[:, 0::2] + 8) << 4 | (table[:, 1::2] + 8)).astype(np.uint8),
        **network.arrays(networks),
    )


def prepare(rows, options) -> None:
    """Everything that the processes share: labelled talk in every voice, talk without labels, and what teachers say."""
    names = sorted(set(GROUP_OF.values()) | {model.OTHER})
    hashes, table, word_id = word_table()
    values = np.vstack([np.zeros((1, table.shape[1])), table / model.LEVELS])
    SHARED.update(names=names, hashes=hashes, table=table, word_id=word_id, values=values, encoder=options.encoder)
    SHARED["reader"] = teaching.Reader(word_id, names, options.encoder)
    spread = partial(in_processes, processes=options.processes)
    talks = SHARED["talks"] = spread(talk_of, rows)
    SHARED["cases"] = case_talks(options.cases)
    said = [
        [talk for each in talks for talk in (each.said, *each.others)[voice]] for voice in range(1 + len(OTHER_VOICES))
    ]
    SHARED["fold"] = [fold_of(each.id) for each in talks for _ in each.said]
    with np.load(HERE / "vectors.npz") as stored:
        found = unlabelled.talk(rows, [fold_of(row["id"]) for row in rows], stored, options.talk, options.pool)
    spans = spread(model.segments, [text for _, text, _, _ in found])
    SHARED["more"] = [each for each, own in zip(found, spans, strict=True) if own]
    more = SHARED["more_talks"] = [
        (text, before, own, [("", "")] * len(own))
        for (_, text, before, _), own in zip(found, spans, strict=True)
        if own
    ]
    SHARED["read"], SHARED["read_more"] = [spread(read, voice) for voice in said], spread(read, more)
    print(f"{len(rows)} rows, {len(more)} messages without labels", flush=True)
    told = in_processes(taught, list(range(FOLDS + TEACHERS)), processes=FOLDS + TEACHERS)
    both = [np.mean([np.asarray(each[n], np.float32) for each, _ in told[FOLDS:]], axis=0) for n in range(len(more))]
    SHARED["told"] = [*(each for each, _ in told[:FOLDS]), both]
    # What a teacher says of a labelled row is said by the one that never saw it.
    soft = [{n: row for _, own in told[:FOLDS] for n, row in own[voice].items()} for voice in range(len(said))]
    SHARED["samples"] = [
        spread(sample, voice, [own[n] for n in range(len(voice))]) for voice, own in zip(said, soft, strict=True)
    ]
    SHARED["more_samples"] = spread(sample, more)
    SHARED["case_samples"] = [sample(talk) for each in SHARED["cases"] for talk in each.said]
    print("teachers are trained", flush=True)


def main() -> None:
    """Train, write, report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path)
    parser.add_argument("--talk", type=Path, help="a folder of talk without labels: files *.jsonl with said and asks")
    parser.add_argument("--pool", type=int, default=75_000)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--threshold", type=float, default=1.16)
    parser.add_argument("--encoder", type=Path, default=teaching.ENCODER)
    parser.add_argument("--out", type=Path, default=HERE.parents[1] / "src/ricordo/people/facts/judge.npz")
    parser.add_argument("--unseen", type=Path)
    parser.add_argument("--folds", type=Path)
    options = parser.parse_args()
    everything = talk_rows(HERE)
    prepare([row for row in everything if not untouched(row)], options)
    jobs = [(fold, fold, False) for fold in range(FOLDS)]
    jobs += [(FOLDS, FOLDS + seed, cases) for cases in (False, True) for seed in range(STORED)]
    with get_context("fork").Pool(len(jobs) + FOLDS + 2) as pool:
        lines = pool.starmap_async(
            linear_of, [*((fold, False) for fold in range(FOLDS + 1)), (FOLDS, True)], chunksize=1
        )
        nets, linear = pool.starmap(network_of, jobs, chunksize=1), lines.get()
    contexts, stated = [], []
    for fold, net in enumerate(nets[:FOLDS]):
        held = [talk for each in SHARED["talks"] if fold_of(each.id) == fold for talk in each.said]
        told = scores(net, [sample(talk) for talk in held])
        seen, wanted = second_stage(held, *linear[fold][0], told, SHARED["names"])
        contexts.append(seen)
        stated.append(wanted)
    second = LogisticRegression(C=1.0, max_iter=600).fit(np.concatenate(contexts), np.concatenate(stated))
    for fold in range(FOLDS) if options.folds else ():
        options.folds.mkdir(parents=True, exist_ok=True)
        store(options.folds / f"fold{fold}.npz", linear[fold], second, nets[fold : fold + 1], options.threshold)
    store(options.out, linear[FOLDS + 1], second, nets[FOLDS + STORED :], options.threshold)
    if options.unseen:
        store(options.unseen, linear[FOLDS], second, nets[FOLDS : FOLDS + STORED], options.threshold)
    with weights(options.unseen or options.out):
        for language in ("en", "it"):
            print(third_figures([row for row in everything if untouched(row)], language), flush=True)


if __name__ == "__main__":
    main()
