"""Train the projections of a question's vector: talk with questions in, `recall/embedders/question*.npz` out.

    python training/recall/train.py --data DIR [--cache DIR] [--language en|other] [--out FILE]

DIR holds `talk/*.jsonl` and `train/longmemeval.jsonl` (README.md lists them with their hashes). Every text is
embedded by the default embedder, which takes about an hour on one core; `--cache` keeps the vectors. A projection
starts at the identity and is moved by InfoNCE in both directions: a question must stand nearer to its own message than
to the messages of other questions, and a message nearer to its own question than to other questions. Look-alikes that
answer nothing are left out: telling their style from that of answers is easier to learn, and of no use elsewhere.
"""

import argparse
import hashlib
import json
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from bench.recall_data import read_conversations  # noqa: E402

from ricordo.languages.text import guess_language  # noqa: E402
from ricordo.recall.embedders.multilingual import BilingualEmbedder  # noqa: E402
from ricordo.recall.quantization import unit_rows  # noqa: E402

Vectors = NDArray[np.float32]

SEED, STEPS, RATE, TEMPERATURE, RANK = 0, 200, 3e-4, 0.04, 64
TALK_BATCH, CHAT_BATCH, OTHERS = 384, 128, 5  # questions of a step; other messages of the same chat for each
# For questions in other languages: seeds that are averaged, steps that learn from English talk, and how far it goes.
SEEDS, OTHER_BATCH, FROM_ENGLISH, FURTHER = 3, 256, 0.4, 1.2
ENGLISH_HALF = 384  # dimensions
FILES = {
    language: ROOT / f"src/ricordo/recall/embedders/{name}.npz"
    for language, name in (("en", "question"), ("other", "question_other"))
}
LANGUAGES = (0.5, 0.25, 0.25)  # how often a batch of talk is of both languages, English alone, Italian alone


@dataclass(frozen=True)
class Asked:
    """A question, the messages that answer it, and other messages of the same chat."""

    question: str
    answers: tuple[str, ...]
    others: tuple[str, ...] = ()
    italian: bool = False


def untouched(name: str) -> bool:
    """Whether a row is of the third that is only measured with."""
    return zlib.crc32(name.encode()) % 3 == 0


def talk(folder: Path) -> list[Asked]:
    """The questions of the talk, two thirds of it."""
    found: list[Asked] = []
    for path in sorted(folder.glob("??_*.jsonl")):
        for line in path.open(encoding="utf-8"):
            row: dict[str, Any] = json.loads(line)
            if not untouched(row["id"]):
                found += [Asked(ask["q"], (row["said"],), italian=row["lang"] == "it") for ask in row["asks"]]
    return found


def own_talk() -> list[Asked]:
    """Italian questions: twice those of `talk_it.jsonl`, and those of the pairs for the reader; two thirds of each."""
    found: list[Asked] = []
    for path in (HERE / "talk_it.jsonl", *sorted((HERE.parent / "answers/pairs").glob("it_*.jsonl"))):
        for row in map(json.loads, path.open(encoding="utf-8")):
            if untouched(row["id"]):
                continue
            if "asks" in row:
                asks = [ask["q"] for ask in row["asks"] if ask["kind"] != "cross"]
                found += [Asked(question, (row["said"],), italian=True) for question in asks for _ in range(2)]
                continue
            found += [Asked(question, (row["said"],), italian=True) for question in row["yes"]]
            found += [Asked(row["newq"], (row["newer"],), italian=True)] if row.get("newq") else []
    return found


def chats(path: Path) -> list[Asked]:
    """The questions of labelled chats, two thirds of them; only what was said before a question counts for it."""
    found: list[Asked] = []
    with path.open(encoding="utf-8") as lines:
        seen = {
            (str(row["conv_id"]), str(query["id"])): query.get("visible")
            for row in map(json.loads, lines)
            for query in row["queries"]
        }
    for chat in read_conversations(path):
        for question in chat.questions:
            until = seen[chat.id, question.id] or len(chat.units)
            answers = tuple(chat.units[at].text for at in sorted(question.gold) if at < until)
            others = tuple(unit.text for at, unit in enumerate(chat.units[:until]) if at not in question.gold)
            if answers and others and not untouched(question.id):
                found.append(Asked(question.text, answers, others))
    return found


class Space:
    """The vectors of texts, made once; with a folder they are kept there."""

    def __init__(self, folder: Path | None) -> None:
        self._embedder = BilingualEmbedder(projected=False)
        self._folder = folder
        self._rows: dict[tuple[str, bool], Vectors] = {}

    def add(self, name: str, texts: Sequence[str], *, questions: bool) -> None:
        """Embed texts as questions or as messages."""
        wanted = list(dict.fromkeys(texts))
        digest = hashlib.sha256("\0".join(wanted).encode()).hexdigest()[:16]
        path = (
            self._folder / f"{name}-{'questions' if questions else 'messages'}-{digest}.npy" if self._folder else None
        )
        if path and path.exists():
            rows = np.load(path)
        elif questions:
            rows = np.stack([self._embedder.embed_query(text) for text in wanted])
        else:
            rows = self._embedder.embed_passages(wanted)
        if path and not path.exists():
            np.save(path, rows)
        self._rows.update(((text, questions), row) for text, row in zip(wanted, rows, strict=True))

    def of(self, texts: Sequence[str], *, questions: bool) -> Vectors:
        """The vectors of texts that were added."""
        return np.stack([self._rows[text, questions] for text in texts])


def batches(
    space: Space, said: Sequence[Asked], sources: Sequence[Sequence[Asked]], talk_share: float
) -> Iterator[tuple[Vectors, Vectors]]:
    """Questions, and candidates of which the first ones answer them in turn."""
    chance = np.random.default_rng(SEED)
    shares = [talk_share, *((1 - talk_share) / len(sources) for _ in sources)]
    pools = [
        np.arange(len(said)),
        np.array([at for at, each in enumerate(said) if not each.italian]),
        np.array([at for at, each in enumerate(said) if each.italian]),
    ]
    while True:
        source = int(chance.choice(len(shares), p=shares))
        if source == 0:
            drawn = chance.permutation(pools[chance.choice(3, p=LANGUAGES)])[: 2 * TALK_BATCH]
            one_each = {said[at].answers[0]: said[at] for at in drawn}
            chosen = list(one_each.values())[:TALK_BATCH]
            candidates = [each.answers[0] for each in chosen]
        else:
            pool = sources[source - 1]
            drawn = chance.permutation(len(pool))[:CHAT_BATCH]
            one_each = {pool[at].answers[chance.integers(len(pool[at].answers))]: pool[at] for at in drawn}
            chosen = list(one_each.values())
            others = [each.others[at] for each in chosen for at in chance.integers(0, len(each.others), OTHERS)]
            candidates = [*one_each, *others]
        questions = [each.question for each in chosen]
        yield space.of(questions, questions=True), space.of(candidates, questions=False)


def other_batches(space: Space, said: Sequence[Asked], seed: int) -> Iterator[tuple[Vectors, Vectors]]:
    """The same for questions in other languages: Italian ones, and English ones without their English half."""
    chance = np.random.default_rng(seed)
    pools = [[e for e in said if e.italian and guess_language(e.question) != "en"], [e for e in said if not e.italian]]
    while True:
        english = bool(chance.random() < FROM_ENGLISH)
        pool = pools[english]
        drawn = [pool[at] for at in chance.permutation(len(pool))[: 2 * OTHER_BATCH]]
        chosen = list({each.answers[0]: each for each in drawn}.values())[:OTHER_BATCH]
        asked = space.of([each.question for each in chosen], questions=True)
        if english:
            asked[:, :ENGLISH_HALF] = 0
            asked = unit_rows(asked)
        yield asked, space.of([each.answers[0] for each in chosen], questions=False)


def levelled(move: Vectors, like: Vectors, asked: Vectors, told: Vectors, every: Vectors) -> Vectors:
    """The move with one number more in all cosines, so that chance pairs are as near as another move makes them.

    Thresholds and readers know cosines of that size. The order of messages stays nearly the same: what is added
    points where all messages are equally far.
    """
    towards, away = (
        np.linalg.solve(rows.T @ rows + ease * np.eye(rows.shape[1]), rows.sum(axis=0))
        for rows, ease in ((every.astype(float), 1.0), (asked.astype(float), 5.0))
    )
    shift = np.outer(towards / np.linalg.norm(towards), away)

    def by_chance(each: Vectors) -> float:
        return float((unit_rows(asked + asked @ each.T) @ told.T).mean())

    low, high = 0.0, 3.0
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if by_chance(move + middle * shift) < by_chance(like) else (low, middle)
    levelled: Vectors = (move + low * shift).astype(np.float32)
    return levelled


def gradient(move: Vectors, asked: Vectors, candidates: Vectors) -> Vectors:
    """The gradient of the loss of one batch."""
    count = len(asked)
    moved = asked + asked @ move.T
    lengths = np.linalg.norm(moved, axis=1, keepdims=True)
    unit = moved / lengths
    near = unit @ candidates.T / np.float32(TEMPERATURE)
    wrong = _softmax(near)
    wrong[np.arange(count), np.arange(count)] -= 1
    back = _softmax(near[:, :count].T).T
    back[np.arange(count), np.arange(count)] -= 1
    wrong[:, :count] += back
    pull = wrong @ candidates / np.float32(TEMPERATURE) / count
    tangent = (pull - (pull * unit).sum(axis=1, keepdims=True) * unit) / lengths
    found: Vectors = tangent.T @ asked
    return found


def _softmax(rows: Vectors) -> Vectors:
    raised = np.exp(rows - rows.max(axis=1, keepdims=True))
    shares: Vectors = raised / raised.sum(axis=1, keepdims=True)
    return shares


def learn(pairs: Iterator[tuple[Vectors, Vectors]], dimensions: int) -> Vectors:
    """What is added to a question's vector, as a matrix: Adam with a warm-up and a cosine schedule."""
    move = np.zeros((dimensions, dimensions), dtype=np.float32)
    first, second = np.zeros_like(move), np.zeros_like(move)
    for step in range(1, STEPS + 1):
        slope = gradient(move, *next(pairs))
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
        rate = RATE * min(1, step / 10) * (0.5 * (1 + np.cos(np.pi * step / STEPS)) + 0.02)
        move -= (rate * (first / (1 - 0.9**step)) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)).astype(np.float32)
    return move


def found_among(space: Space, move: Vectors, said: Sequence[Asked], first: int = 10) -> float:
    """The share of questions whose message is among the first ones, of all messages in `said`; vectors alone."""
    texts = list(dict.fromkeys(each.answers[0] for each in said))
    asked = space.of([each.question for each in said], questions=True)
    near = unit_rows(asked + asked @ move.T) @ space.of(texts, questions=False).T
    own = near[np.arange(len(said)), [texts.index(each.answers[0]) for each in said]]
    return float(((near > own[:, None]).sum(axis=1) < first).mean())


def main() -> None:
    """Train and write the file; print the figures before and after."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--chats", nargs="+", default=["longmemeval"], help="files of train/ to learn from")
    parser.add_argument("--talk", type=float, default=0.7, help="share of the steps that learn from talk")
    parser.add_argument("--language", choices=("en", "other"), default="en", help="of the questions to move")
    parser.add_argument("--out", type=Path, help="default: the file of the package")
    given = parser.parse_args()
    out = given.out or FILES[given.language]
    said = talk(given.data / "talk")
    space, embedder = Space(given.cache), BilingualEmbedder(projected=False)
    if given.language == "en":
        sources = {name: chats(given.data / f"train/{name}.jsonl") for name in given.chats}
        read(space, {"talk": said, **sources})
        move = learn(batches(space, said, list(sources.values()), given.talk), embedder.dimensions)
    else:
        mine = own_talk()
        read(space, {"talk": said, "own": mine})
        move = np.mean(
            [learn(other_batches(space, said + mine, seed), embedder.dimensions) for seed in range(SEEDS)], axis=0
        )
        asked = [each.question for each in said if each.italian and guess_language(each.question) != "en"]
        told = [each.answers[0] for each in said if each.italian]
        every = [text for each in said + mine for text in each.answers]
        rows = (space.of(list(dict.fromkeys(texts)), questions=False) for texts in (told, every))
        move = levelled(FURTHER * move, moving(FILES["en"]), space.of(asked, questions=True), *rows)
    left, sizes, right = np.linalg.svd(move)
    scale = np.sqrt(sizes[:RANK])
    factors = (right[:RANK].T * scale).astype(np.float16), (left[:, :RANK] * scale).T.astype(np.float16)
    np.savez(out, into=factors[0], out=factors[1], embedder=np.array(embedder.name))
    kept = moving(out)
    for label, rows in (("English", [e for e in said if not e.italian]), ("Italian", [e for e in said if e.italian])):
        before, after = (found_among(space, each, rows) for each in (np.zeros_like(kept), kept))
        print(f"{label}, trained on, found among ten: {before:.3f} -> {after:.3f}")
    print(f"{out}: sha256 {hashlib.sha256(out.read_bytes()).hexdigest()}")


def read(space: Space, sets: Mapping[str, Sequence[Asked]]) -> None:
    """Embed the questions and messages of sets, each under a name of its own."""
    for name, rows in sets.items():
        space.add(name, [each.question for each in rows], questions=True)
        space.add(name, [text for each in rows for text in (*each.answers, *each.others)], questions=False)


def moving(file: Path) -> Vectors:
    """The matrix of a file."""
    with np.load(file) as stored:
        found: Vectors = (stored["into"].astype(np.float32) @ stored["out"].astype(np.float32)).T
    return found


if __name__ == "__main__":
    main()
