"""Fits the weights that choose the topic of a turn, from labelled conversations.

Conversations go in: those of `--cases` and `tests/data/topics_own_*` (without the untouched third), and conversations
composed of the subjects in this folder. Every turn is a choice between the topics so far, a new one, and none; a
conditional logistic regression weighs the observations. Out come `src/ricordo/topics/weights.json` and the figures.
"""

import argparse
import json
import pickle
import random
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ricordo.recall.embedders.selection import choose
from ricordo.recall.quantization import vectors_from_blobs, vectors_to_blobs
from ricordo.topics.assign import TopicMessage
from ricordo.topics.subjects import (
    KnownTopic,
    TopicTurn,
    apart,
    decide_turn,
    form_of,
    manner_of,
    observe,
    small_observations,
    small_talk_of,
)
from ricordo.topics.thresholds import Chance, SubjectScale, SubjectWeights, scale_for

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(Path(__file__).resolve().parent)]

from bench.topics import with_turn  # noqa: E402

from talks import FOLDS, Case, compose, load, mixed, questions_of, subjects_of, untouched  # noqa: E402

STRONG = ("continuation", "ordinal", "comparison")
NEVER_AGAINST = frozenset(  # observations that may only count in favour
    (
        *("question_centre", "question_nearest", "turn_centre", "turn_nearest", "answer_centre", "answer_nearest"),
        *("question_nearest_lead", "turn_centre_lead", "turn_nearest_lead", "answer_nearest_lead"),
        *("answer_gain", "asked_asked", "asked_told", "told_asked", "told_told", "asked_part", "related"),
        *("past", "resumes"),
    )
)
WITHIN = 8  # directions in which turns of one subject differ
SHORT = 6  # words of a short question
NEVER_FOR = ["new_words", "defines", "opens"]
ARCTIC = 384  # dimensions of the first half of the bilingual embedder
Manner = dict[str, tuple[np.ndarray, float]]


class Vectors:
    """The vectors of texts, as the memory stores them; kept in a file as they were embedded, because that is slow."""

    def __init__(self, embedder: str, cache: Path | None) -> None:
        self._cache = cache
        self._name = embedder
        self._embedded: dict[str, np.ndarray] = pickle.loads(cache.read_bytes()) if cache and cache.exists() else {}
        self._stored: dict[str, np.ndarray] = {}

    def cut(self, part: slice) -> "Vectors":
        """Some dimensions of the known vectors, at length one."""
        cut = Vectors(self._name, None)
        cut._embedded = {text: row[part] / np.linalg.norm(row[part]) for text, row in self._embedded.items()}
        return cut

    def of(self, texts: Iterable[str]) -> dict[str, np.ndarray]:
        """Text to vector."""
        new = [text for text in dict.fromkeys(texts) if text not in self._stored]
        missing = [text for text in new if text not in self._embedded]
        if missing:
            rows = choose(self._name).embedder.embed_passages(missing)
            self._embedded |= dict(zip(missing, np.asarray(rows, dtype=np.float32), strict=True))
            if self._cache:
                self._cache.write_bytes(pickle.dumps(self._embedded))
        if new:
            rows = np.stack([self._embedded[text] for text in new])
            kept = vectors_from_blobs(vectors_to_blobs(rows), rows.shape[1]).floats()
            self._stored |= dict(zip(new, kept, strict=True))
        return self._stored


def direction(rows: np.ndarray, right: np.ndarray, decay: float = 1e-3, steps: int = 300) -> tuple[np.ndarray, float]:
    """A direction and an offset that tell the right rows from the others (balanced logistic regression), -1 to 1."""
    centre, weights, offset = rows.mean(axis=0), np.zeros(rows.shape[1]), 0.0
    moved, mean, square = rows - centre, np.zeros(rows.shape[1]), np.zeros(rows.shape[1])
    share = np.where(right, 0.5 / right.mean(), 0.5 / (1 - right.mean())) / len(right)
    for step in range(1, steps + 1):
        error = (1 / (1 + np.exp(-(moved @ weights + offset))) - right) * share
        gradient = moved.T @ error + decay * weights
        offset -= 2 * float(error.sum())
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        weights -= 0.2 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-9)
    found = (weights / 4).astype("<f2").astype(np.float32)  # four in log-odds is certain enough
    return found, round(float(offset / 4 - found @ centre), 3)


def manner(questions: dict[str, tuple[int, str]], vectors: Vectors, without: int | None = None) -> Manner:
    """How a message's own vector shows that it opens a subject, takes one up again or is small talk; without one fold
    if asked."""
    used = {text: kind for text, (fold, kind) in questions.items() if fold != without}
    known = vectors.of(used)
    rows, kinds = np.stack([known[text] for text in used]), np.array(list(used.values()))
    asks, moves = kinds != "small", (kinds == "first") | (kinds == "back")
    return {
        "opens": direction(rows[asks], kinds[asks] == "first"),
        "comes_back": direction(rows[moves], kinds[moves] == "back"),
        "chats": direction(rows, ~asks),
    }


def parts_of(embedder: str, vectors: Vectors) -> list[tuple[str, Vectors]]:
    """The embedders whose vectors are known with those of `embedder`: the bilingual one joins two."""
    if embedder == "light":
        return [("light-256", vectors)]
    whole, halves = "arctic-s-int8+use-multilingual-v3", (slice(0, ARCTIC), slice(ARCTIC, None))
    return [(whole, vectors), *((name, vectors.cut(half)) for name, half in zip(whole.split("+"), halves, strict=True))]


def common_of(sets: dict[str, list[Case]], vectors: Vectors) -> np.ndarray:
    """What the vectors of all texts have in common: their mean, as it is stored."""
    texts = sorted(
        {text for cases in sets.values() for case in cases for turn in case["turns"] for text in (turn["q"], turn["a"])}
    )
    known = vectors.of(texts)
    return np.stack([known[text] for text in texts]).mean(axis=0).astype("<f2").astype(np.float32)


def within_of(sets: dict[str, list[Case]], vectors: Vectors, size: int = WITHIN) -> np.ndarray:
    """The directions in which questions and answers of one subject differ most, as they are stored."""
    rows = []
    for subject in subjects_of(sets):
        known = vectors.of(subject)
        own = np.stack([known[text] for text in subject])
        rows.append(own - own.mean(axis=0))
    every = np.concatenate(rows)
    found = np.linalg.eigh(every.T @ every)[1][:, -size:].T
    return found.astype("<f2").astype(np.float32)


def chance_of(cases: Sequence[Case], vectors: Vectors, scale: SubjectScale) -> Chance:
    """Mean and spread of the cosines of turns with the questions, answers and turns of other subjects after them."""
    found: list[list[float]] = [[], [], []]
    for case in cases:
        labels, turns = [turn["topic"] for turn in case["turns"]], turns_of(case, vectors)
        for at, turn in enumerate(turns):
            others = [
                turns[i].vector for i in range(at) if "-" not in (labels[at], labels[i]) and labels[at] != labels[i]
            ]
            for cosines, row in zip(found, (turn.question.vector, turn.answer.vector, turn.vector), strict=True):
                rows = apart(scale, np.stack([row, *others]))
                cosines += (rows[1:] @ rows[0]).tolist()
    return tuple((round(float(np.mean(each)), 3), round(float(np.std(each)), 3)) for each in found)


def measured(sets: dict[str, list[Case]], vectors: Vectors, scale: SubjectScale) -> SubjectScale:
    """The scale with what these sets tell of the embedder, before any weight."""
    scale = replace(scale, common=common_of(sets, vectors), within=within_of(sets, vectors))
    labelled = [case for name, cases in sets.items() if not name.startswith(("mixed", "composed")) for case in cases]
    return replace(scale, chance=chance_of(labelled, vectors, scale))


def turns_of(case: Case, vectors: Vectors) -> list[TopicTurn]:
    """The turns of a conversation with their vectors."""
    known = vectors.of(text for turn in case["turns"] for text in (turn["q"], turn["a"]))
    return [
        TopicTurn(TopicMessage(turn["q"], known[turn["q"]]), TopicMessage(turn["a"], known[turn["a"]], "assistant"))
        for turn in case["turns"]
    ]


class Talk:
    """A conversation as it goes: its topics with their turns, and the active one."""

    def __init__(self) -> None:
        self.topics: dict[str, KnownTopic] = {}
        self.active: str | None = None

    def known(self) -> list[KnownTopic]:
        """The topics so far."""
        return list(self.topics.values())

    def put(self, key: str, turn: TopicTurn) -> str:
        """Add a turn to a topic, a new one if the key is new."""
        self.topics[key] = with_turn(key, self.topics.get(key), turn)
        self.active = key
        return key


def simulate(case: Case, vectors: Vectors, scale: SubjectScale) -> list[str | None]:
    """The topics that the product gives to the turns, one after the other."""
    talk = Talk()
    found: list[str | None] = []
    for number, turn in enumerate(turns_of(case, vectors)):
        decision = decide_turn(turn, talk.active, talk.known(), scale)
        small = decision.reason == "small talk"
        found.append(None if small else talk.put(decision.topic_id or f"x{number}", turn))
    return found


def figures(cases: Sequence[Case], found: Sequence[Sequence[str | None]]) -> str:
    """New subjects that open, follow-ups that stay, returns that find their topic, small talk that opens none, F1."""
    good, asked = (
        dict.fromkeys(("new", "stays", "returns", "small"), 0),
        dict.fromkeys(("new", "stays", "returns", "small"), 0),
    )
    precision, recall = [], []
    for case, ours in zip(cases, found, strict=True):
        gold = [turn["topic"] for turn in case["turns"]]
        last = None
        for i, label in enumerate(gold):
            before = [ours[j] for j in range(i) if gold[j] == label]
            if label == "-":
                kind, ok = "small", ours[i] is None or (i > 0 and ours[i] == ours[i - 1])
            elif not before:
                kind, ok = "new", ours[i] not in {ours[j] for j in range(i) if gold[j] != "-"}
            elif label == last:
                kind, ok = "stays", ours[i] == before[-1]
            else:
                kind, ok = "returns", ours[i] in before
            good[kind] += ok
            asked[kind] += 1
            last = last if label == "-" else label
        real = [i for i, label in enumerate(gold) if label != "-"]
        for i in real:
            mine = {j for j in real if ours[j] == ours[i]}
            theirs = {j for j in real if gold[j] == gold[i]}
            precision.append(len(mine & theirs) / len(mine))
            recall.append(len(mine & theirs) / len(theirs))
    p, r = float(np.mean(precision)), float(np.mean(recall))
    shares = " ".join(f"{kind} {good[kind] / max(asked[kind], 1):.3f}/{asked[kind]}" for kind in good)
    return f"{shares} F1 {2 * p * r / (p + r):.3f}"


def joins(cases: Sequence[Case], vectors: Vectors, scale: SubjectScale, count: int = 400) -> str:
    """How often a short first question on another subject joins a topic of two turns, and the time of a decision."""
    chance = random.Random(1)
    topics: list[list[TopicTurn]] = []
    for case in cases:
        by_label: dict[str, list[TopicTurn]] = {}
        for turn, said in zip(case["turns"], turns_of(case, vectors), strict=True):
            by_label.setdefault(turn["topic"], []).append(said)
        topics += [turns for label, turns in by_label.items() if label != "-"]
    short = [turns[0] for turns in topics if len(turns[0].question.text.split()) <= SHORT]
    known = []
    for number, turns in enumerate(chance.sample(topics, 20)):
        talk = Talk()
        talk.put(f"t{number}", turns[0])
        known += talk.known()
    joined, spent = 0, []
    for _ in range(count):
        pair, asked = chance.choice([turns for turns in topics if len(turns) > 1]), chance.choice(short)
        if asked in pair:
            continue
        talk = Talk()
        for turn in pair[:2]:
            talk.put("two", turn)
        joined += decide_turn(asked, "two", talk.known(), scale).topic_id == "two"
        begun = time.perf_counter()
        decide_turn(asked, "t0", known, scale)
        spent.append((time.perf_counter() - begun) * 1000)
    times = np.percentile(spent, (10, 50))
    return f"short question joins {joined / count:.3f}; among 20 topics {times[0]:.2f} ms (p10), {times[1]:.2f} (p50)"


def choices(
    case: Case, vectors: Vectors, scale: SubjectScale, signs: Callable[[TopicTurn], dict[str, float]], *, answered: bool
) -> list[tuple]:
    """Each decision of a conversation with the true topics before it: observations of every choice, the right one."""
    talk = Talk()
    rows = []
    gold = [turn["topic"] for turn in case["turns"]]
    for label, whole in zip(gold, turns_of(case, vectors), strict=True):
        turn = whole if answered else TopicTurn(whole.question)
        known = talk.known()
        form = form_of(turn.question.text)
        follows = form.kind if talk.active or form.kind == "past" else "no"
        small = small_observations(turn, small_talk_of(turn.question.text), form, first=not known) | signs(turn)
        seen = observe(turn, known, scale) if known else {}
        topics = [
            (
                each.topic.id == talk.active,
                {name: float(column[row]) for name, column in seen.items()} | form.observations | signs(turn),
            )
            for row, each in enumerate(known)
        ]
        keys = [each.topic.id for each in known]
        right = keys.index(label) if label in keys else len(keys) if label != "-" else len(keys) + 1
        open_new, open_small = follows == "no" or not form.binds or not known, follows != "past"
        masked = (right == len(keys) and not open_new) or (right == len(keys) + 1 and not open_small)
        if not masked and not (follows == "talk" and form.main in STRONG):
            rows.append((topics, small, right, open_new, open_small))
        if label != "-":
            talk.put(label, whole)
    return rows


def fit(rows: Sequence[tuple], weight: Sequence[float], *, decay: float, steps: int) -> SubjectWeights:
    """Weights by conditional logistic regression: full gradient steps, projected onto the allowed signs."""
    names = list(next(topics[0][1] for topics, *_ in rows if topics))
    small_names, everyone = list(rows[0][1]), np.arange(len(rows))
    sizes, right = np.array([len(row[0]) for row in rows]), np.array([row[2] for row in rows])
    places: list[list[tuple[int, int]]] = [[], []]
    values: list[list[list[float]]] = [[], []]
    for number, (topics, *_) in enumerate(rows):
        for at, (here, seen) in enumerate(topics):
            places[not here].append((number, at))
            values[not here].append([seen[name] for name in names])
    # Three blocks of observations, each with its own weights: staying, returning, small talk.
    at_row = [*(np.array(each).T for each in places), np.array([everyone, sizes + 1])]
    blocks = [*values, [[row[1][name] for name in small_names] for row in rows]]
    tables = [np.asarray(block, dtype=np.float32) for block in blocks]
    allowed = np.full((len(rows), sizes.max() + 2), -1e9, dtype=np.float32)
    for place in at_row[:2]:
        allowed[place[0], place[1]] = 0.0
    for number, (*_, open_new, open_small) in enumerate(rows):
        allowed[number, sizes[number]] = 0.0 if open_new else -1e9
        allowed[number, sizes[number] + 1] = 0.0 if open_small else -1e9
    share = (np.asarray(weight, dtype=np.float32) / float(np.sum(weight)))[:, None]
    titles = [names, names, small_names]
    lowest = [[0.0 if name in NEVER_AGAINST and at < 2 else -np.inf for name in titles[at]] for at in range(3)]
    highest = [[0.0 if name in NEVER_FOR and at < 2 else np.inf for name in titles[at]] for at in range(3)]
    free = [np.array([name != "bias" for name in each], dtype=np.float32) for each in titles]
    weights, mean, square = ([np.zeros(len(each), dtype=np.float32) for each in titles] for _ in range(3))
    for step in range(1, steps + 1):
        scores = allowed.copy()
        for place, table, own in zip(at_row, tables, weights, strict=True):
            scores[place[0], place[1]] += table @ own
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        chances /= chances.sum(axis=1, keepdims=True)
        chances[everyone, right] -= 1
        chances *= share
        for at, (place, table) in enumerate(zip(at_row, tables, strict=True)):
            gradient = chances[place[0], place[1]] @ table + decay * free[at] * weights[at]
            mean[at], square[at] = 0.9 * mean[at] + 0.1 * gradient, 0.99 * square[at] + 0.01 * gradient**2
            moved = 0.05 * (mean[at] / (1 - 0.9**step)) / (np.sqrt(square[at] / (1 - 0.99**step)) + 1e-8)
            weights[at] = np.clip(weights[at] - moved, lowest[at], highest[at]).astype(np.float32)
    return SubjectWeights(
        *(
            {name: round(float(value), 2) for name, value in zip(each, own, strict=True) if abs(value) >= 0.005}
            for each, own in zip(titles, weights, strict=True)
        )
    )


def train(sets: dict[str, list[Case]], vectors: Vectors, scale: SubjectScale, decay: float, steps: int) -> SubjectScale:
    """The scale fitted on these sets; mixed sets weigh half, turns without answers a fifth.

    The manner of a question is told by directions that were fitted without its fold, or it would be trusted too much.
    """
    scale = measured(sets, vectors, scale)
    questions = questions_of(sets)
    folds = [replace(scale, manner=manner(questions, vectors, fold)) for fold in range(FOLDS)]
    whole = replace(scale, manner=manner(questions, vectors))

    def signs(turn: TopicTurn) -> dict[str, float]:
        fold, _ = questions.get(turn.question.text, (0, ""))
        return manner_of(turn.question.vector, folds[fold])

    rows, weight = [], []
    for name, cases in sets.items():
        size = sum(len(case["turns"]) for case in cases) * (2 if name.startswith("mixed") else 1)
        for answered, part in ((True, 1.0), (False, 0.2)):
            found = [row for case in cases for row in choices(case, vectors, scale, signs, answered=answered)]
            rows += found
            weight += [part / size] * len(found)
    return replace(whole, weights=fit(rows, weight, decay=decay, steps=steps))


def encoded(row: np.ndarray) -> str:
    """Numbers as they are stored."""
    return b64encode(row.astype("<f2").tobytes()).decode()


def main() -> None:
    """Fit, report sets that were left out and the untouched third, write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, help="folder with topics_en.jsonl and topics_it.jsonl")
    parser.add_argument("--embedder", default="bilingual", choices=["bilingual", "light"])
    parser.add_argument("--vectors", type=Path, help="file that keeps the vectors between runs")
    parser.add_argument("--decay", type=float, default=1e-4)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--left-out", action="store_true", help="also fit without each set and report it")
    parser.add_argument("--stored", action="store_true", help="report the stored weights instead of fitting")
    parser.add_argument("--write", action="store_true", help="write the weights")
    options = parser.parse_args()
    vectors = Vectors(options.embedder, options.vectors)
    scale = scale_for(choose(options.embedder).embedder.name).subjects
    assert scale is not None
    own = {lang: load(ROOT / f"tests/data/topics_own_{lang}.jsonl") for lang in ("en", "it")}
    sets = {f"own {lang}": [case for case in cases if not untouched(case)] for lang, cases in own.items()}
    if options.cases:
        sets |= {f"cases {lang}": load(options.cases / f"topics_{lang}.jsonl") for lang in ("en", "it")}
    sets |= {f"mixed {name}": mixed(name[-2:], cases, 45, 1) for name, cases in list(sets.items())}
    sets |= {f"composed {lang}": compose(lang, 90, 1) for lang in ("en", "it")}
    kinds = sorted({name.split()[0] for name in sets} - {"mixed", "composed"})

    def report(names: Sequence[str], trained: SubjectScale, cases: Callable[[str], list[Case]], note: str) -> None:
        for name in names:
            found = [simulate(case, vectors, trained) for case in cases(name)]
            print(f"{note} {name}: {figures(cases(name), found)}", flush=True)

    if options.stored:
        report(list(sets), scale, sets.__getitem__, "stored weights")
        report(list(own), scale, lambda lang: [case for case in own[lang] if untouched(case)], "untouched third")
        for name, cases in sets.items():
            print(f"{name}: {joins(cases, vectors, scale)}", flush=True)
        return
    if options.left_out:
        for kind in kinds:
            others = {name: cases for name, cases in sets.items() if kind not in name}
            trained = train(others, vectors, scale, options.decay, options.steps)
            report([name for name in sets if name.startswith(kind)], trained, sets.__getitem__, "left out")
    trained = train(sets, vectors, scale, options.decay, options.steps)
    if options.write:
        path = ROOT / "src/ricordo/topics/weights.json"
        stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        weights = trained.weights
        stored["words" if options.embedder == "light" else "meaning"] = {
            "stay": dict(weights.stay),
            "back": dict(weights.back),
            "small": dict(weights.small),
        }
        for name, part in parts_of(options.embedder, vectors):
            found = measured(sets, part, scale)
            stored["common"][name], stored["within"][name] = encoded(found.common), encoded(found.within)
            stored["chance"][name] = found.chance
            stored["manner"][name] = {
                sign: (encoded(row), offset) for sign, (row, offset) in manner(questions_of(sets), part).items()
            }
        path.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    report(list(sets), trained, sets.__getitem__, "in sample")
    report(list(own), trained, lambda lang: [case for case in own[lang] if untouched(case)], "untouched third")


if __name__ == "__main__":
    main()
