"""Tune the English embedder to talk: labelled talk and chats in, int8 ONNX weights out.

    python training/embedder/train.py --data DIR --weights DIR --out FILE [--recipe NAME]

DIR holds `talk/en_*.jsonl`, `train/longmemeval.jsonl` and `train/realmem.jsonl` (README.md lists them with hashes), the
other DIR the published `model.onnx` and `tokenizer.json`. Needs torch, transformers, onnx, tokenizers and a GPU.

A question must stand nearer to the message that answers it than to the other messages of its batch (InfoNCE). Where
there is a chat around the answer, its messages that the published model takes for the answer are among the others.
The result is averaged with the published weights.
"""

import argparse
import hashlib
import json
import random
import re
import sys
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from model import read, write
from numpy.typing import NDArray
from tokenizers import Tokenizer
from torch.nn import functional
from transformers import BertModel

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT)]

from bench.recall_data import read_conversations  # noqa: E402

QUESTION = "Represent this sentence for searching relevant passages: "
LEFT_OUT = ("person-4", "person-5")  # people of RealMem who are only measured with
TALK_BATCH, CHAT_BATCH, OTHERS, HARDEST = 160, 32, 7, 60
LENGTH = 256  # word pieces of a text that are read, as in the product
_PIECES: dict[str, list[int]] = {}  # of texts that were read once
NAMES = [
    "Anna",
    "Ben",
    "Carla",
    "David",
    "Ella",
    "Femi",
    "Grace",
    "Hugo",
    "Ines",
    "Jack",
    "Keiko",
    "Liam",
    "Maya",
    "Noah",
    "Olga",
    "Priya",
    "Quentin",
    "Rosa",
    "Sam",
    "Tara",
    "Umar",
    "Vera",
    "Will",
    "Xenia",
    "Yusuf",
    "Zoe",
    "Nora",
    "Marco",
    "Linh",
    "Pedro",
    "Aisha",
    "Tom",
]


@dataclass(frozen=True)
class Recipe:
    """How much of a run learns from what, and how."""

    talk: float = 0.4  # single messages with questions
    named: float = 0.2  # the same, told by named people and asked about them
    longmemeval: float = 0.2
    realmem: float = 0.1
    replies: float = 0.1  # what was answered to what was asked, in the chats
    near: float = 0.5  # how often the look-alike of a message is among the others
    steps: int = 700
    rate: float = 2e-5
    temperature: float = 0.03
    hold: float = 0.0  # how much straying from the published vectors costs
    seed: int = 0


RECIPES = {
    "all": Recipe(),
    "talk": Recipe(talk=0.7, named=0.3, longmemeval=0, realmem=0, replies=0),
    "prototype": Recipe(talk=0.6, named=0, longmemeval=0.25, realmem=0.15, replies=0, near=1.0),
    "chats": Recipe(talk=0.2, named=0.1, longmemeval=0.3, realmem=0.2, replies=0.2),
    "held": Recipe(hold=1.0),
    "plain": Recipe(near=0.0, steps=450),
    "gentle": Recipe(rate=1e-5),
}


@dataclass(frozen=True)
class Asked:
    """A question, the messages that answer it, and others of the same chat, the most deceptive first."""

    question: str
    answers: tuple[str, ...]
    others: tuple[str, ...] = ()


def untouched(name: str) -> bool:
    """Whether a row is of the third that is only measured with."""
    return zlib.crc32(name.encode()) % 3 == 0


def talk(folder: Path) -> list[dict[str, Any]]:
    """The English rows of talk, two thirds of them, and those of this folder."""
    rows: list[dict[str, Any]] = []
    for path in (*sorted(folder.glob("en_*.jsonl")), *sorted(HERE.glob("talk_*.jsonl"))):
        rows += [row for line in path.open(encoding="utf-8") if not untouched((row := json.loads(line))["id"])]
    return rows


def chats(path: Path) -> list[tuple[str, tuple[str, ...], list[Asked], list[tuple[str, str]]]]:
    """Each chat: its id, its messages, its questions, and pairs of what was asked and answered."""
    found = []
    with path.open(encoding="utf-8") as lines:
        seen = {
            (str(row["conv_id"]), str(query["id"])): query.get("visible")
            for row in map(json.loads, lines)
            for query in row["queries"]
        }
    for chat in read_conversations(path):
        if chat.id in LEFT_OUT:
            continue
        texts = tuple(unit.text for unit in chat.units)
        asked = []
        for question in chat.questions:
            until = seen[chat.id, question.id] or len(texts)
            answers = tuple(texts[at] for at in sorted(question.gold) if at < until)
            others = tuple(text for at, text in enumerate(texts[:until]) if at not in question.gold)
            if answers and len(others) > OTHERS and not untouched(question.id):
                asked.append(Asked(question.text, answers, others))
        pairs = [
            (one.text, two.text)
            for one, two in zip(chat.units, chat.units[1:], strict=False)
            if (one.role, two.role) == ("user", "assistant") and one.session == two.session and len(one.text) > 20
        ]
        found.append((chat.id, texts, asked, pairs))
    return found


_ALREADY = re.compile(r"^([A-Z][\w’'-]+): ")
_PERSONS: tuple[tuple[str, str], ...] = (
    (r"\bmy (?:friend|mate|pal|colleague|tenant)'s\b", "{}'s"),
    (r"\bmy (?:friend|mate|pal|colleague|tenant)\b", "{}"),
    (r"\bam I\b", "is {}"),
    (r"\b[Dd]o I\b", "does {}"),
    (r"\b[Hh]ave I\b", "has {}"),
    (r"\bI'm\b|\bI am\b", "{} is"),
    (r"\bI've\b|\bI have\b", "{} has"),
    (r"\bI'd\b", "{} would"),
    (r"\bI'll\b", "{} will"),
    (r"\bI\b", "{}"),
    (r"\b[Mm]y\b", "{}'s"),
    (r"\bme\b", "{}"),
)
_THIRD: tuple[tuple[str, str], ...] = ((r"\b(?:he|she|they)\b", "{}"), (r"\b(?:his|her|their)\b", "{}'s"))


def about(question: str, name: str) -> str | None:
    """A question that is put to the speaker, asked about a person of that name instead."""
    if re.search(r"\byou(?:r|rs)?\b", question, re.IGNORECASE):
        return None
    changed = question
    for pattern, put in _PERSONS:
        changed = re.sub(pattern, put.format(name), changed)
    if changed != question:
        return changed
    for pattern, put in _THIRD:
        changed, count = re.subn(pattern, put.format(name), question, count=1)
        if count:
            return changed
    return None


@dataclass
class Encoder:
    """Texts as unit vectors, by a network and the published tokenizer."""

    network: BertModel
    tokenizer: Tokenizer
    device: str = "cuda"

    def __call__(self, texts: Sequence[str]) -> torch.Tensor:
        pieces = self._pieces(texts)
        ids = np.zeros((len(pieces), max(map(len, pieces))), dtype=np.int64)
        for row, each in zip(ids, pieces, strict=True):
            row[: len(each)] = each
        fed = torch.from_numpy(ids).to(self.device)
        mask = (fed != 0).long()  # 0 is the padding
        state = self.network(fed, attention_mask=mask, token_type_ids=torch.zeros_like(fed)).last_hidden_state
        return functional.normalize(state[:, 0].float(), dim=1)

    def _pieces(self, texts: Sequence[str]) -> list[list[int]]:
        new = [text for text in dict.fromkeys(texts) if text not in _PIECES]
        if new:
            self.tokenizer.no_padding()
            self.tokenizer.enable_truncation(LENGTH)
            _PIECES.update((text, each.ids) for text, each in zip(new, self.tokenizer.encode_batch(new), strict=True))
        return [_PIECES[text] for text in texts]

    @torch.no_grad()
    def rows(self, texts: Sequence[str], batch: int = 512) -> NDArray[np.float32]:
        """The vectors of many texts, in their order."""
        order = sorted(range(len(texts)), key=lambda at: len(texts[at]))
        found = np.zeros((len(texts), 384), dtype=np.float32)
        for start in range(0, len(order), batch):
            chosen = order[start : start + batch]
            found[chosen] = self([texts[at] for at in chosen]).cpu().numpy()
        return found


@dataclass
class Material:
    """What is learned from; `draw` gives a batch of one kind: questions, candidates, and who answers what."""

    talk: list[dict[str, Any]]
    sources: dict[str, list[Asked]]
    pairs: list[tuple[str, str]]

    def draw(
        self, kind: str, recipe: Recipe, chance: random.Random
    ) -> tuple[list[str], list[str], list[int], list[set[str]]]:
        """A batch: questions, candidates, the place of each question's answer, and all that answers it."""
        if kind in ("talk", "named"):
            return self._talk(kind == "named", recipe, chance)
        if kind == "replies":
            chosen = chance.sample(self.pairs, 4 * CHAT_BATCH)
            chosen = list({two: (one, two) for one, two in chosen}.values())
            answers = [two for _, two in chosen]
            return [one for one, _ in chosen], answers, list(range(len(chosen))), [{each} for each in answers]
        asked = chance.sample(self.sources[kind], CHAT_BATCH)
        candidates: list[str] = []
        places: list[int] = []
        for each in asked:
            places.append(len(candidates))
            weights = [1 / (5 + at) for at in range(min(HARDEST, len(each.others)))]
            others = {chance.choices(each.others[:HARDEST], weights)[0] for _ in range(3 * OTHERS)}
            candidates += [chance.choice(each.answers), *list(others)[:OTHERS]]
        return [each.question for each in asked], candidates, places, [set(each.answers) for each in asked]

    def _talk(
        self, named: bool, recipe: Recipe, chance: random.Random
    ) -> tuple[list[str], list[str], list[int], list[set[str]]]:
        present = chance.sample(NAMES, 4)
        questions: list[str] = []
        candidates: list[str] = []
        places: list[int] = []
        for row in chance.sample(self.talk, min(TALK_BATCH, len(self.talk))):
            question, said, near = chance.choice(row["asks"])["q"], row["said"], row["near"]
            if named and not _ALREADY.match(said):
                name = chance.choice(present)
                if (moved := about(question, name)) is None:
                    continue
                question, said, near = moved, f"{name}: {said}", f"{name}: {near}"
            questions.append(question)
            places.append(len(candidates))
            candidates.append(said)
            if chance.random() < recipe.near:
                candidates.append(near)
        return questions, candidates, places, [{candidates[at]} for at in places]


def gather(data: Path, base: Encoder) -> Material:
    """All that is learned from; the others of a chat are put in the order of the published model."""
    sources: dict[str, list[Asked]] = {}
    pairs: list[tuple[str, str]] = []
    for name in ("longmemeval", "realmem"):
        found = []
        for _, texts, asked, replies in chats(data / f"train/{name}.jsonl"):
            pairs += replies
            if not asked:
                continue
            rows = dict(zip(texts, base.rows(texts), strict=True))
            for each, vector in zip(asked, base.rows([QUESTION + each.question for each in asked]), strict=True):
                others = sorted(set(each.others) - set(each.answers), key=lambda text: -float(rows[text] @ vector))
                found.append(Asked(each.question, each.answers, tuple(others[:HARDEST])))
        sources[name] = found
    return Material(talk(data / "talk"), sources, pairs)


def learn(
    material: Material, recipe: Recipe, fresh: Callable[[], BertModel], tokenizer: Tokenizer, device: str = "cuda"
) -> BertModel:
    """A network that was trained by a recipe."""
    torch.manual_seed(recipe.seed)
    chance = random.Random(recipe.seed)
    network, base = fresh().to(device).train(), Encoder(fresh().to(device).eval(), tokenizer, device)
    for table in ("word", "position", "token_type"):  # the tables keep their bytes
        getattr(network.embeddings, f"{table}_embeddings").weight.requires_grad_(False)
    taught = [each for each in network.parameters() if each.requires_grad]
    optimiser = torch.optim.AdamW(taught, lr=recipe.rate, weight_decay=0.01, fused=device == "cuda")
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimiser, recipe.rate, total_steps=recipe.steps + 1, pct_start=0.1)
    encode = Encoder(network, tokenizer, device)
    shares = {name: getattr(recipe, name) for name in ("talk", "named", "longmemeval", "realmem", "replies")}
    for _ in range(recipe.steps):
        kind = chance.choices(list(shares), list(shares.values()))[0]
        questions, candidates, places, answers = material.draw(kind, recipe, chance)
        with torch.autocast(device, torch.bfloat16):
            asked, said = encode([QUESTION + each for each in questions]), encode(candidates)
        near = asked @ said.T / recipe.temperature
        own = torch.tensor(places, device=device)
        also = torch.tensor([[text in good for text in candidates] for good in answers], device=device)
        also[torch.arange(len(places), device=device), own] = False
        near = near.masked_fill(also, -1e4)
        loss = functional.cross_entropy(near, own)
        back = near[:, own].T
        loss = loss + 0.5 * functional.cross_entropy(back, torch.arange(len(places), device=device))
        if recipe.hold:
            with torch.no_grad(), torch.autocast(device, torch.bfloat16):
                before = base(candidates)
            loss = loss + recipe.hold * 10 * (1 - (said * before).sum(dim=1)).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(taught, 1.0)
        optimiser.step()
        schedule.step()
    return network.eval()


def averaged(fresh: Callable[[], BertModel], networks: Sequence[BertModel], share: float) -> BertModel:
    """The published weights with a share of the mean of trained ones."""
    found = fresh()
    state = found.state_dict()
    for name, value in state.items():
        if value.is_floating_point():
            mean = torch.stack([each.state_dict()[name].cpu() for each in networks]).mean(dim=0)
            state[name] = value * (1 - share) + mean * share
    found.load_state_dict(state)
    return found.eval()


def main() -> None:
    """Train by a recipe with one or more seeds, average, write, print the hash."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument(
        "--weights", type=Path, required=True, help="folder with the published model.onnx, tokenizer.json"
    )
    parser.add_argument("--recipe", choices=RECIPES, default="plain")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--share", type=float, default=0.5, help="of the trained weights in the average")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    published = given.weights / "model.onnx"
    tokenizer = Tokenizer.from_file(str(given.weights / "tokenizer.json"))

    def fresh() -> BertModel:
        return read(published)

    material = gather(given.data, Encoder(fresh().cuda().eval(), tokenizer))
    recipe = RECIPES[given.recipe]
    trained = [learn(material, _seeded(recipe, seed), fresh, tokenizer) for seed in range(given.seeds)]
    write(averaged(fresh, trained, given.share), published, given.out)
    print(f"{given.out}: sha256 {hashlib.sha256(given.out.read_bytes()).hexdigest()}")


def _seeded(recipe: Recipe, seed: int) -> Recipe:
    return Recipe(**{**recipe.__dict__, "seed": seed})


if __name__ == "__main__":
    main()
