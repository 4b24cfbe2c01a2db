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
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np

from ricordo.recall.embedders.selection import choose
from ricordo.topics.assign import TopicMessage
from ricordo.topics.subjects import (
    KnownTopic,
    TopicTurn,
    decide_turn,
    form_of,
    observe,
    small_observations,
    small_talk_of,
)
from ricordo.topics.thresholds import SubjectScale, SubjectWeights, scale_for

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT))

from bench.topics import with_turn  # noqa: E402

STRONG = ("continuation", "ordinal", "comparison")
NEVER_AGAINST = frozenset(  # observations that may only count in favour
    (
        *("question_centre", "question_nearest", "turn_centre", "turn_nearest", "answer_centre", "answer_nearest"),
        *("question_nearest_lead", "turn_centre_lead", "turn_nearest_lead", "answer_nearest_lead", "answer_last"),
        *("answer_gain", "asked_asked", "asked_told", "told_asked", "told_told", "asked_part", "related"),
        *("past", "resumes"),
    )
)
SHORT = 6  # words of a short question
NEVER_FOR = ["new_words", "defines"]
Case = dict[str, object]


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Question and answer of each line "question => answer"."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if "=>" in line]
    return [tuple(part.strip() for part in line.split("=>", 1)) for line in lines]


def read_subjects(path: Path) -> list[dict]:
    """The subjects of a file: field, opening turns, and the turns by which the talk comes back."""
    subjects: list[dict] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("#"):
            subjects.append({"field": line[1:].split(":")[0].strip(), "first": [], "back": []})
        elif "=>" in line:
            question, answer = (part.strip() for part in line.removeprefix("<").split("=>", 1))
            subjects[-1]["back" if line.startswith("<") else "first"].append((question, answer))
    return subjects


def compose(lang: str, count: int, seed: int) -> list[Case]:
    """Conversations of three to six subjects, some of one field, with returns, small talk and single questions;
    every third one has one subject and then short questions."""
    chance = random.Random(f"{lang}{seed}")
    subjects = read_subjects(HERE / f"subjects_{lang}.txt")
    small, singles = (read_pairs(HERE / f"{name}_{lang}.txt") for name in ("small_talk", "singles"))
    fields = sorted({each["field"] for each in subjects})
    cases: list[Case] = []
    for number in range(count):
        size = chance.randint(3, 6) if number % 3 else 1  # every third one: two turns, then short questions
        near = size > 2 and chance.random() < 0.5
        first = [each for each in subjects if each["field"] == chance.choice(fields)] if near else []
        chosen = chance.sample(first, min(len(first), 3)) if first else []
        rest = [each for each in subjects if each not in chosen]
        chosen += chance.sample(rest, size - len(chosen)) if size > len(chosen) else []
        chance.shuffle(chosen)
        turns: list[dict] = []

        def say(pair: tuple[str, str], label: str, turns: list[dict] = turns) -> None:
            turns.append({"q": pair[0], "a": pair[1], "topic": label})

        if chance.random() < 0.3:
            say(chance.choice(small), "-")
        unsaid: list[tuple[str, dict, list]] = []
        for at, subject in enumerate(chosen):
            shown = chance.choice((1, 2, 2, 3, 3)) if size > 1 else 2
            for pair in subject["first"][:shown]:
                say(pair, f"t{at}")
            unsaid.append((f"t{at}", subject, subject["first"][shown:]))
            if chance.random() < 0.25:
                say(chance.choice(small), "-")
            for more, pair in enumerate(chance.sample(singles, 3 if size == 1 else chance.random() < 0.25)):
                say(pair, f"s{at}{more}")
            if size > 1 and at and chance.random() < 0.55:
                label, other, left = chance.choice(unsaid[:-1])
                if other["back"]:
                    back = list(other["back"])
                    chance.shuffle(back)
                    say(back[0], label)
                    if left and chance.random() < 0.5:
                        say(left.pop(0), label)
                    if len(back) > 1 and chance.random() < 0.2:
                        say(back[1], label)
                    unsaid = [each for each in unsaid if each[0] != label]
                    if not unsaid:
                        break
        cases.append({"id": f"composed-{lang}-{seed}-{number}", "lang": lang, "turns": turns})
    return cases


class Vectors:
    """The vectors of texts, as the memory stores them; kept in a file, because embedding is slow."""

    def __init__(self, embedder: str, cache: Path | None) -> None:
        self._cache = cache
        self._name = embedder
        self._known: dict[str, np.ndarray] = pickle.loads(cache.read_bytes()) if cache and cache.exists() else {}

    def of(self, texts: Iterable[str]) -> dict[str, np.ndarray]:
        """Text to vector."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known]
        if missing:
            rows = choose(self._name).embedder.embed_passages(missing)
            self._known |= dict(zip(missing, np.asarray(rows, dtype=np.float32), strict=True))
            if self._cache:
                self._cache.write_bytes(pickle.dumps(self._known))
        return self._known


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


def choices(case: Case, vectors: Vectors, scale: SubjectScale, *, answered: bool) -> list[tuple]:
    """Each decision of a conversation with the true topics before it: observations of every choice, the right one."""
    talk = Talk()
    rows = []
    gold = [turn["topic"] for turn in case["turns"]]
    for label, whole in zip(gold, turns_of(case, vectors), strict=True):
        turn = whole if answered else TopicTurn(whole.question)
        known = talk.known()
        form = form_of(turn.question.text)
        follows = form.kind if talk.active or form.kind == "past" else "no"
        small = small_observations(turn, small_talk_of(turn.question.text), form, first=not known)
        seen = observe(turn, known, scale.chance) if known else {}
        topics = [
            (
                each.topic.id == talk.active,
                {name: float(column[row]) for name, column in seen.items()} | form.observations,
            )
            for row, each in enumerate(known)
        ]
        keys = [each.topic.id for each in known]
        right = keys.index(label) if label in keys else len(keys) if label != "-" else len(keys) + 1
        open_new, open_small = follows == "no" or not known, follows != "past"
        masked = (right == len(keys) and not open_new) or (right == len(keys) + 1 and not open_small)
        if not masked and not (follows == "talk" and form.main in STRONG):
            rows.append((topics, small, right, open_new, open_small))
        if label != "-":
            talk.put(label, whole)
    return rows


def fit(rows: Sequence[tuple], weight: Sequence[float], *, decay: float, steps: int) -> SubjectWeights:
    """Weights by conditional logistic regression: full gradient steps, projected onto the allowed signs."""
    topic_names = list(next(topics[0][1] for topics, *_ in rows if topics))
    small_names = list(rows[0][1])
    size, most = len(topic_names), max(len(topics) for topics, *_ in rows) + 2
    table = np.zeros((len(rows), most, 2 * size + len(small_names)), dtype=np.float32)
    allowed = np.zeros((len(rows), most), dtype=bool)
    right = np.zeros(len(rows), dtype=int)
    for number, (topics, small, correct, open_new, open_small) in enumerate(rows):
        for at, (here, seen) in enumerate(topics):
            table[number, at, slice(0, size) if here else slice(size, 2 * size)] = [seen[name] for name in topic_names]
        table[number, len(topics) + 1, 2 * size :] = [small[name] for name in small_names]
        allowed[number, : len(topics)] = True
        allowed[number, len(topics)], allowed[number, len(topics) + 1] = open_new, open_small
        right[number] = correct
    lowest, highest = np.full(table.shape[2], -np.inf), np.full(table.shape[2], np.inf)
    for at, name in enumerate(topic_names * 2):
        lowest[at] = 0.0 if name in NEVER_AGAINST else -np.inf
        highest[at] = 0.0 if name in NEVER_FOR else np.inf
    target = np.eye(most, dtype=np.float32)[right]
    share = np.asarray(weight, dtype=np.float32)[:, None] / float(np.sum(weight))
    flat = table.reshape(-1, table.shape[2])
    weights, mean, square = (np.zeros(table.shape[2], dtype=np.float32) for _ in range(3))
    free = np.ones_like(weights)
    free[[at for at, name in enumerate([*topic_names * 2, *small_names]) if name == "bias"]] = 0.0
    for step in range(1, steps + 1):
        scores = np.where(allowed, (flat @ weights).reshape(len(rows), most), -1e9)
        scores -= scores.max(axis=1, keepdims=True)
        chances = np.exp(scores)
        chances /= chances.sum(axis=1, keepdims=True)
        gradient = ((chances - target) * share).reshape(-1) @ flat + decay * free * weights
        mean, square = 0.9 * mean + 0.1 * gradient, 0.99 * square + 0.01 * gradient**2
        weights = weights - 0.05 * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
        weights = np.clip(weights, lowest, highest).astype(np.float32)

    def named(names: Sequence[str], values: np.ndarray) -> dict[str, float]:
        return {name: round(float(value), 2) for name, value in zip(names, values, strict=True) if abs(value) >= 0.005}

    return SubjectWeights(
        named(topic_names, weights[:size]),
        named(topic_names, weights[size : 2 * size]),
        named(small_names, weights[2 * size :]),
    )


def untouched(case: Case) -> bool:
    """Whether a conversation of tests/data belongs to the third that no fit and no choice sees."""
    return zlib.crc32(str(case["id"]).encode()) % 3 == 0


def load(path: Path) -> list[Case]:
    """The conversations of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def train(sets: dict[str, list[Case]], vectors: Vectors, scale: SubjectScale, decay: float, steps: int) -> SubjectScale:
    """The scale with weights fitted on these sets; composed sets weigh half, turns without answers a fifth."""
    rows, weight = [], []
    for name, cases in sets.items():
        size = sum(len(case["turns"]) for case in cases) * (2 if name.startswith("composed") else 1)
        for answered, part in ((True, 1.0), (False, 0.2)):
            found = [row for case in cases for row in choices(case, vectors, scale, answered=answered)]
            rows += found
            weight += [part / size] * len(found)
    return SubjectScale(scale.chance, fit(rows, weight, decay=decay, steps=steps))


def main() -> None:
    """Fit, report sets that were left out and the untouched third, write the weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, help="folder with topics_en.jsonl and topics_it.jsonl")
    parser.add_argument("--embedder", default="bilingual", choices=["bilingual", "light"])
    parser.add_argument("--vectors", type=Path, help="file that keeps the vectors between runs")
    parser.add_argument("--decay", type=float, default=3e-4)
    parser.add_argument("--steps", type=int, default=250)
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
    sets |= {f"composed {lang}": compose(lang, 90, 1) for lang in ("en", "it")}
    kinds = sorted({name.split()[0] for name in sets})

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
        for kind in (kind for kind in kinds if kind != "composed"):
            others = {name: cases for name, cases in sets.items() if not name.startswith(kind)}
            trained = train(others, vectors, scale, options.decay, options.steps)
            report([name for name in sets if name.startswith(kind)], trained, sets.__getitem__, "left out")
    trained = train(sets, vectors, scale, options.decay, options.steps)
    report(list(sets), trained, sets.__getitem__, "in sample")
    report(list(own), trained, lambda lang: [case for case in own[lang] if untouched(case)], "untouched third")
    if options.write:
        path = ROOT / "src/ricordo/topics/weights.json"
        stored = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        weights = trained.weights
        stored["words" if options.embedder == "light" else "meaning"] = {
            "stay": dict(weights.stay),
            "back": dict(weights.back),
            "small": dict(weights.small),
        }
        path.write_text(json.dumps(stored, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
