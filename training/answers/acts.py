"""Trains the small networks that tell whether a message without a question mark asks (`people/facts/asks.npz`).

Labelled messages go in: `acts_{en,it}.txt`, what `acts_frames.txt` composes, the clauses of `training/facts`, the pairs
of this folder, follow-ups, and the talk of `--talk` (folder of `talk/` and `cases/`). Each is read as written, in lower
case or as a hasty writer types. Lines of `acts_*.txt` and clauses with crc32(key) % 3 == 0 are the untouched third.
"""

import argparse
import json
import random
import re
import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import nn
from torch.nn import functional

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "training/facts")]

from voices import bare, hasty, plain  # noqa: E402

from ricordo.chat.question import folded  # noqa: E402
from ricordo.languages.registry import AnyLanguage  # noqa: E402
from ricordo.people.facts import judge  # noqa: E402

LANGUAGES = ("en", "it")
ASKS = frozenset(("question", "request"))
TELLS = frozenset(("fact", "other", "plan", "change", "end", "remember", "forget", "instruction"))
TELLS_NOTHING = frozenset(
    ("state", "opinion_on_answer", "joke", "reported", "third_stranger", "past_closed", "smalltalk", "hypothesis",
     "idiom", "third person", "general truth")
)  # fmt: skip
BARE = 0.1  # weight of a question that is written like a statement: Italian, without a word that asks
WEIGHTS = {"own": 3.0, "composed": 0.8, "clause": 1.2, "message": 0.7, "said": 1.0, "asked": 0.4}
COMPOSED = 14_000  # composed messages of each language
LONGEST = 40  # words
HASHES, DIMENSIONS, CHANNELS, HIDDEN = 2_048, 10, 56, 48
BATCH, ROUNDS, RATE = 256, 6, 4e-3
SUBJECT = re.compile(r"^(?:I'm|I've|I|We've|We're|We) (?=\w+ \w)")  # left out in haste: "got a cat"
ARTICLES = {"dello ": "lo ", "dell'": "l'", "della ": "la ", "del ": "il ", "di ": ""}


class Row(NamedTuple):
    """A message, whether it asks, where it is from, and the key of its split."""

    source: str
    lang: str
    text: str
    asks: bool
    key: str

    @property
    def untouched(self) -> bool:
        """Whether it is only counted."""
        return self.source in ("own", "clause", "message") and zlib.crc32(self.key.encode()) % 3 == 0


_CUES = AnyLanguage(r"\b(?:<dialogue.wh_words>)\b|\W*(?:<dialogue.tell_me>)|\bo\b|\b(?:mica|caso)\b", flags=0)


def is_bare(row: Row) -> bool:
    """Whether only its question mark told that it asks."""
    return row.lang == "it" and row.asks and row.text.endswith("?") and _CUES.search(folded(row.text)) is None


def clean(text: str) -> str:
    """A message without its question marks and its last mark."""
    return " ".join(text.replace("?", "").split()).rstrip(".…!;,: ")


def records(*paths: Path) -> Iterator[dict]:
    for path in paths:
        yield from (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip())


def rows(lang: str, talk: Path | None) -> Iterator[Row]:
    """The labelled messages of a language."""
    for line in (HERE / f"acts_{lang}.txt").read_text(encoding="utf-8").splitlines():
        yield Row("own", lang, line[2:], line[0] == "?", line)
    for row in records(*sorted((ROOT / "training/facts").glob(f"talk_{lang}_*.jsonl"))):
        said: dict[int, list[bool | None]] = {}
        for clause in row["clauses"]:
            why = clause.get("why")
            asks = True if why in ASKS else False if clause["label"] in TELLS or why in TELLS_NOTHING else None
            said.setdefault(clause["m"], []).append(asks)
            if asks is not None and " " in clause["text"]:
                yield Row("clause", lang, clause["text"], asks, row["id"])
        for number, acts in said.items():
            if len(acts) > 1 and None not in acts:
                yield Row("message", lang, row["messages"][number], any(acts), row["id"])
    for row in records(*sorted((HERE / "pairs").glob(f"{lang}_*.jsonl"))):
        told = (row.get(each) for each in ("said", "newer", "aside"))
        yield from (Row("said", lang, each, False, row["id"]) for each in told if each and "?" not in each)
        asked = (*row.get("yes", ()), *row.get("no", ()), row.get("newq"))
        yield from (Row("asked", lang, each, True, row["id"]) for each in asked if each)
    followups = [ROOT / f"training/followups/talk_{lang}.jsonl"]
    if talk:
        followups.append(talk / f"cases/followups_{lang}.jsonl")
        for row in records(*sorted((talk / "talk").glob(f"{lang}_*.jsonl"))):
            yield from (Row("asked", lang, each["q"], True, row["id"]) for each in row["asks"])
    for row in records(*followups):
        asked = (row["question"], *(turn["q"] for turn in row["history"]))
        yield from (Row("follow-up", lang, each, True, row["id"]) for each in asked if each.rstrip().endswith("?"))
    for line in (ROOT / f"training/topics/small_talk_{lang}.txt").read_text(encoding="utf-8").splitlines():
        said = line.partition(" => ")[0]
        if "?" not in said:
            yield Row("small", lang, said, False, said)
    for line in (HERE / f"general_{lang}.txt").read_text(encoding="utf-8").splitlines():
        yield Row("general", lang, line, True, line)


def frames() -> dict[tuple[str, str], list[str]]:
    """The parts of `acts_frames.txt`, by language and name."""
    found: dict[tuple[str, str], list[str]] = {}
    for line in (HERE / "acts_frames.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            lang, name = line.strip("[]").split()
            part = found.setdefault((lang, name), [])
        elif not line.startswith("#"):
            part += [line] if name == "frames" else [each.strip() for each in line.split(";")]
    return found


def composed(lang: str, told: list[str], asked: list[str], rng: random.Random) -> Iterator[Row]:
    """Messages put together from frames, and from clauses that tell and questions behind all kinds of openings."""
    parts = frames()
    told = [each for each in told if 2 < len(each.split()) < 14]
    asked = [each for each in asked if 3 < len(each.split()) < 14]
    read = (re.fullmatch(r"([?.]) (.*?)(?: \*(\d+))?", line) for line in parts[lang, "frames"])
    whole = [(frame[1] == "?", frame[2]) for frame in read if frame for _ in range(int(frame[3] or 1))]

    def one(name: str) -> str:
        return rng.choice(parts[lang, name])

    def slot(match: re.Match[str]) -> str:
        word = one(match[2])
        of = next((of for of in ARTICLES if match[1] and word.startswith(of)), "")
        return ARTICLES.get(of, "") + word[len(of) :]

    def low(text: str) -> str:
        return text[0].lower() + text[1:]

    def join(first: str, then: str) -> str:
        return first + rng.choice((", ", ", ", ", ", " ")) + then

    makers = (
        (0.55, lambda: None),
        (0.07, lambda: (False, join(one("exclaims"), low(rng.choice(told))))),
        (0.10, lambda: (False, join(one("subordinate"), low(rng.choice(told))))),
        (0.06, lambda: (False, join(f"{one('knows')} {one('embedded')}", low(rng.choice(told))))),
        (0.04, lambda: (True, join(one("subordinate"), low(rng.choice(asked))))),
        (0.07, lambda: (True, join(rng.choice(told), one("request")))),
        (0.04, lambda: (True, join(rng.choice(told), low(rng.choice(asked))))),
        (0.02, lambda: (False, join(low(rng.choice(told)), f"{one('knows')} {one('embedded')}"))),
        (0.02, lambda: (False, join(rng.choice(told), one("exclaims")))),
        (0.03, lambda: (False, join(rng.choice(told), one("trails")))),
    )
    for make in rng.choices([make for _, make in makers], [share for share, _ in makers], k=COMPOSED):
        asks, text = make() or rng.choice(whole)
        text = re.sub(r"\{(-?)(\w+)\}", slot, text)
        yield Row("composed", lang, text, asks, text)


def voices(row: Row, rng: random.Random) -> list[str]:
    """The ways in which a message is written for the training; as it is for the untouched third."""
    text = clean(row.text)
    if row.untouched:
        return [text]
    if not row.asks and rng.random() < 0.3:
        text = SUBJECT.sub("", text)
    ways = [text, plain(text), bare(text), hasty(text, row.lang, zlib.crc32(text.encode()))]
    if row.source == "asked" and rng.random() < 0.5:
        return []
    if row.source != "own":
        ways = [rng.choice(ways)] if row.source == "composed" or rng.random() < 0.5 else [text, rng.choice(ways[1:])]
    return [each for each in dict.fromkeys(ways) if 0 < len(each.split()) <= LONGEST]


class Network(nn.Module):
    """Three convolutions over word vectors and hashed words, then one hidden layer; as in `judge.asks`."""

    def __init__(self, vectors: torch.Tensor) -> None:
        super().__init__()
        self.vectors = vectors
        self.hashed = nn.EmbeddingBag(HASHES, DIMENSIONS, mode="sum")
        nn.init.normal_(self.hashed.weight, 0, 0.1)
        self.inner = nn.Linear(vectors.shape[1] + DIMENSIONS + judge.FLAGS, CHANNELS)
        self.convolutions = nn.ModuleList(
            nn.Conv1d(CHANNELS, CHANNELS, 3, padding=gap, dilation=gap) for gap in judge.GAPS
        )
        self.head, self.asks = nn.Linear(4 * CHANNELS, HIDDEN), nn.Linear(HIDDEN, 1)

    def forward(self, tokens: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        count, longest, _ = tokens.shape
        hashed = self.hashed((tokens[:, :, 1:5] % HASHES).reshape(-1, 4)).reshape(count, longest, -1)
        x = torch.cat([self.vectors[tokens[:, :, 0]], hashed, tokens[:, :, 5:].float()], 2)
        x = functional.dropout(x, 0.1, self.training)
        mask = (torch.arange(longest)[None] < lengths[:, None]).float()[:, :, None]
        x = functional.relu(self.inner(x)) * mask
        for convolution in self.convolutions:
            x = (x + functional.relu(convolution(x.transpose(1, 2)).transpose(1, 2))) * mask
        last = x[torch.arange(count), lengths - 1]
        seen = torch.cat([x.sum(1) / lengths[:, None], x.max(1)[0], x[:, 0], last], 1)
        hidden = functional.relu(self.head(functional.dropout(seen, 0.3, self.training)))
        return self.asks(hidden)[:, 0]


def batches(order: np.ndarray, lengths: np.ndarray) -> Iterator[np.ndarray]:
    """Batches of messages of nearly the same length, in random order."""
    chunks = []
    for start in range(0, len(order), BATCH * 40):
        part = order[start : start + BATCH * 40]
        part = part[np.argsort(lengths[part], kind="stable")]
        chunks += [part[at : at + BATCH] for at in range(0, len(part), BATCH)]
    return (chunks[at] for at in np.random.permutation(len(chunks)))


def scores(network: Network, tokens: list[np.ndarray]) -> np.ndarray:
    network.eval()
    with torch.no_grad():
        return np.concatenate([network(*padded(tokens[at : at + BATCH])) for at in range(0, len(tokens), BATCH)])


def padded(tokens: list[np.ndarray]) -> tuple[torch.Tensor, torch.Tensor]:
    lengths = np.array([len(each) for each in tokens])
    found = np.zeros((len(tokens), lengths.max(), tokens[0].shape[1]), np.int64)
    for at, each in enumerate(tokens):
        found[at, : len(each)] = each
    return torch.from_numpy(found), torch.from_numpy(lengths)


def fit(seed: int, tokens: list[np.ndarray], asks: np.ndarray, weights: np.ndarray, vectors: torch.Tensor) -> Network:
    torch.manual_seed(seed)
    np.random.seed(seed)
    network = Network(vectors)
    lengths = np.array([len(each) for each in tokens])
    steps = ROUNDS * (len(tokens) // BATCH + len(tokens) // (BATCH * 40) + 2)
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=1e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    wanted, weigh = torch.from_numpy(asks * 0.94 + 0.03).float(), torch.from_numpy(weights).float()
    for number in range(ROUNDS):
        network.train()
        total = 0.0
        for each in batches(np.random.permutation(len(tokens)), lengths):
            logits = network(*padded([tokens[at] for at in each]))
            lost = functional.binary_cross_entropy_with_logits(logits, wanted[each], reduction="none")
            lost = (lost * weigh[each]).mean()
            optimizer.zero_grad()
            lost.backward()
            optimizer.step()
            schedule.step()
            total += lost.item() * len(each)
        print(f"seed {seed} round {number + 1}: {total / len(tokens):.4f}", flush=True)
    return network


def stored(network: Network, prefix: str) -> dict[str, np.ndarray]:
    """The weights as they are shipped: integers of eight bits with a scale for each row, biases in sixteen."""
    found: dict[str, np.ndarray] = {}
    for name, value in network.state_dict().items():
        name = prefix + ("hashed" if name == "hashed.weight" else name.replace(".", "_"))
        weight = value.numpy()
        if weight.ndim == 1:
            found[name] = weight.astype(np.float16)
            continue
        rows_of = tuple(range(0 if name.endswith("hashed") else 1, weight.ndim))
        scale = np.abs(weight).max(axis=rows_of, keepdims=True) / 127
        found[name] = np.round(weight / scale).astype(np.int8)
        found[f"{name}_scale"] = scale.astype(np.float32)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--talk", type=Path, help="folder with talk/ and cases/")
    parser.add_argument("--out", type=Path, default=ROOT / "src/ricordo/people/facts/asks.npz")
    parser.add_argument("--networks", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    rng, every = random.Random(5), list[Row]()
    for lang in LANGUAGES:
        own = list(rows(lang, options.talk))
        learned = [row for row in own if not row.untouched]
        told = [clean(row.text) for row in learned if row.source == "clause" and not row.asks and "?" not in row.text]
        asked = [clean(row.text) for row in learned if row.source in ("asked", "clause") and row.asks]
        every += own + list(composed(lang, told, asked, rng))
    written = [(row, text) for row in every for text in voices(row, rng)]
    model = judge._model()
    assert model is not None
    tokens = [judge.token_rows(text, None, (), model.word_id)[0] for _, text in written]
    vectors = torch.from_numpy(model.vectors(np.arange(len(model.words) + 1)))
    asks = np.array([float(row.asks) for row, _ in written])
    weights = np.array([WEIGHTS.get(row.source, 0.7) * (BARE if is_bare(row) else 1.0) for row, _ in written])
    kept = np.array([row.untouched for row, _ in written])
    learned_at = np.flatnonzero(~kept)
    print(f"{len(learned_at)} messages, {int(kept.sum())} untouched", flush=True)
    out: dict[str, np.ndarray] = {"networks": np.array(options.networks)}
    logits = np.zeros(len(written))
    for seed in range(options.networks):
        network = fit(seed, [tokens[at] for at in learned_at], asks[learned_at], weights[learned_at], vectors)
        out |= stored(network, f"net{seed}_")
        logits += scores(network, tokens) / options.networks
    np.savez_compressed(options.out, **out)
    for source in ("own", "clause", "message"):
        of_it = kept & np.array([row.source == source for row, _ in written])
        right = [((logits > 0) == (asks > 0))[of_it & (asks == each)] for each in (1, 0)]
        print(f"{source}, untouched: asks {right[0].sum()}/{len(right[0])}, tells {right[1].sum()}/{len(right[1])}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
