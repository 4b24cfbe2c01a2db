"""The conversations that the choice of a topic is fitted on: read from files, and composed of written parts."""

import json
import random
import zlib
from collections.abc import Iterable
from pathlib import Path

FOLDS = 5  # parts of the questions that are left out in turn
HERE = Path(__file__).resolve().parent
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
        field = chance.choice(fields)
        first = [each for each in subjects if each["field"] == field] if near else []
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


def mixed(lang: str, cases: Iterable[Case], count: int, seed: int) -> list[Case]:
    """Conversations of three to six subjects of other conversations, cut short, with their returns and small talk;
    every third one has two turns on one subject and then one on each of the others."""
    chance = random.Random(f"{lang}{seed}")
    small = read_pairs(HERE / f"small_talk_{lang}.txt")
    subjects: list[list[list[dict]]] = []
    for case in cases:
        runs: dict[str, list[list[dict]]] = {}
        last = "-"
        for turn in case["turns"]:
            if turn["topic"] != "-":
                if turn["topic"] != last:
                    runs.setdefault(turn["topic"], []).append([])
                runs[turn["topic"]][-1].append(turn)
                last = turn["topic"]
        subjects += runs.values()
    found: list[Case] = []
    for number in range(count):
        turns: list[dict] = []
        waiting: list[tuple[str, list[dict]]] = []
        for at, runs_of in enumerate(chance.sample(subjects, chance.randint(3, 6))):
            shown = chance.choice((1, 2, 2, 3, 4)) if number % 3 else 1 if at else 2
            turns += [turn | {"topic": f"t{at}"} for turn in runs_of[0][:shown]]
            if chance.random() < 0.15:
                question, answer = chance.choice(small)
                turns.append({"q": question, "a": answer, "topic": "-"})
            if waiting and chance.random() < 0.7:
                label, more = waiting.pop(chance.randrange(len(waiting)))
                turns += [turn | {"topic": label} for turn in more]
            waiting += [(f"t{at}", more) for more in runs_of[1:2]]
        found.append({"id": f"mixed-{lang}-{seed}-{number}", "lang": lang, "turns": turns})
    return found


def untouched(case: Case) -> bool:
    """Whether a conversation of tests/data belongs to the third that no fit and no choice sees."""
    return zlib.crc32(str(case["id"]).encode()) % 3 == 0


def load(path: Path) -> list[Case]:
    """The conversations of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def questions_of(sets: dict[str, list[Case]]) -> dict[str, tuple[int, str]]:
    """Message to its fold and its kind: first, later, back or small; texts of one conversation or subject share a
    fold."""
    found: dict[str, tuple[int, str]] = {}
    for name, cases in sets.items():
        if name.startswith("composed"):
            subjects = read_subjects(HERE / f"subjects_{name[-2:]}.txt")
            subjects += [{"first": [pair], "back": []} for pair in read_pairs(HERE / f"singles_{name[-2:]}.txt")]
            for subject in subjects:
                fold = zlib.crc32(subject["first"][0][0].encode()) % FOLDS
                found |= {q: (fold, "later" if at else "first") for at, (q, _) in enumerate(subject["first"])}
                found |= {q: (fold, "back") for q, _ in subject["back"]}
            small = [q for q, _ in read_pairs(HERE / f"small_talk_{name[-2:]}.txt")]
            found |= {q: (zlib.crc32(q.encode()) % FOLDS, "small") for q in small}
        elif not name.startswith("mixed"):
            for case in cases:
                seen: list[str] = []
                for turn in case["turns"]:
                    label, now = turn["topic"], seen[-1:]
                    kind = "small" if label == "-" else "later" if [label] == now else "back"
                    kind = kind if label == "-" or label in seen else "first"
                    found[turn["q"]] = (zlib.crc32(str(case["id"]).encode()) % FOLDS, kind)
                    seen += [label] if label != "-" else []
    return found


def subjects_of(sets: dict[str, list[Case]]) -> list[list[str]]:
    """The questions and answers of each subject."""
    found: list[list[str]] = []
    for name, cases in sets.items():
        if name.startswith("composed"):
            subjects = read_subjects(HERE / f"subjects_{name[-2:]}.txt")
            found += [[text for pair in each["first"] + each["back"] for text in pair] for each in subjects]
        elif not name.startswith("mixed"):
            for case in cases:
                own: dict[str, list[str]] = {}
                for turn in case["turns"]:
                    own.setdefault(turn["topic"], []).extend((turn["q"], turn["a"]))
                found += [texts for label, texts in own.items() if label != "-"]
    return found
