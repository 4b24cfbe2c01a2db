"""Tune the English embedder's network to tell whether a message answers a question and a later one replaces it.

    python training/answers/pairs.py PAIRS.json.gz [--scores FILE] [--out model.onnx] [--layers 12] [--epochs 5]

PAIRS is what `collect.py` wrote. Needs torch, transformers, onnx, tokenizers, onnxruntime and a GPU. The network starts
from the published weights of the embedder, reads question and message together and gives two numbers: how sure it is
that the message holds the answer, and, with an older message between them, that the newer one counts instead.
Three parts of the scripts in turn are left out of training and scored: `train.py` fits the other models on these scores
(--scores). The rows of single messages with `zlib.crc32(id) % 3 == 0` are learned from by the written network alone.
"""

import argparse
import gzip
import json
import random
import sys
import time
import zlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import nn

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "embedder"))

from model import read as published  # noqa: E402

WEIGHTS = HERE.parents[1] / "packages/ricordo-embedder/src/ricordo_embedder/arctic-s-int8"
QUESTION, MESSAGE = 40, 88  # word pieces that are read
BEST = 3  # messages that a later one may replace
SHARES = {"deleted": 0.3, "foreign": 0.4, "general": 0.3}
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"


@dataclass(frozen=True)
class Pair:
    """What the network reads, which of its two numbers is meant, the label and its weight."""

    texts: tuple[str, ...]
    task: int
    label: float
    share: float = 1.0


class Judge(nn.Module):
    """The first layers of the embedder's network with two outputs."""

    def __init__(self, layers: int) -> None:
        super().__init__()
        self.network = published(WEIGHTS / "model.onnx")
        self.network.encoder.layer = self.network.encoder.layer[:layers]
        self.network.config.num_hidden_layers = layers
        self.network.embeddings.word_embeddings.weight.requires_grad_(False)
        self.head = nn.Linear(384, 2)

    def forward(self, ids: torch.Tensor, mask: torch.Tensor, kinds: torch.Tensor) -> torch.Tensor:
        state = self.network(input_ids=ids, attention_mask=mask, token_type_ids=kinds).last_hidden_state[:, 0]
        return self.head(nn.functional.dropout(state, 0.1, self.training))


class Reader:
    """Word pieces of texts, each text read once."""

    def __init__(self) -> None:
        self.tokenizer = Tokenizer.from_file(str(WEIGHTS / "tokenizer.json"))
        self.tokenizer.no_truncation()
        self.tokenizer.no_padding()
        self.known: dict[str, list[int]] = {}

    def pieces(self, text: str, most: int) -> list[int]:
        if text not in self.known:
            self.known[text] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return self.known[text][:most]

    def batch(self, pairs: list[Pair]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Question, message and, for changes, the newer message, with separators."""
        rows = []
        for pair in pairs:
            question, *messages = pair.texts
            ids = [101, *self.pieces(question, QUESTION), 102]
            kinds = [0] * len(ids)
            for text in messages:
                told = [*self.pieces(text, MESSAGE // len(messages)), 102]
                ids += told
                kinds += [1] * len(told)
            rows.append((ids, kinds))
        width = max(len(ids) for ids, _ in rows)
        told = torch.zeros(3, len(rows), width, dtype=torch.long)
        for at, (ids, kinds) in enumerate(rows):
            told[0, at, : len(ids)] = torch.tensor(ids)
            told[1, at, : len(ids)] = 1
            told[2, at, : len(ids)] = torch.tensor(kinds)
        ids, mask, kinds = told.to(DEVICE)
        return ids, mask, kinds


def untouched(row: str) -> bool:
    return zlib.crc32(row.encode()) % 3 == 0


def part(row: str) -> int:
    return zlib.crc32(row.encode()) // 3 % 3


def examples(rows: list[dict[str, Any]], chance: random.Random) -> list[Pair]:
    """The pairs of labelled questions, with messages of other rows as further ones that do not answer."""
    by_set: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        by_set[row["set"]] += row["m"]
    found: list[Pair] = []
    for row in rows:
        q, told, labels = row["q"], row["m"], row["y"]
        scripted = "at" in row
        share = SHARES.get(row["kind"], 1.0)
        if row["kind"] == "change":
            old, new, aside = told
            found += [Pair((q, old, new), 1, 1.0), Pair((q, old, aside), 1, 0.0), Pair((q, new, old), 1, 0.0, 0.5)]
            found.append(Pair((q, old, chance.choice(by_set[row["set"]])), 1, 0.0, 0.3))
        for text, label in zip(told, labels, strict=True):
            if label >= 0:
                weight = share * (1.5 if label else 0.25) if scripted else 1.0
                found.append(Pair((q, text), 0, float(label), weight))
        if not scripted:
            found += [Pair((q, chance.choice(by_set[row["set"]])), 0, 0.0, 0.3)]
            continue
        order = sorted(range(len(told)), key=lambda at: row["at"][at])
        if row["kind"] == "update":
            for old in (at for at in order if labels[at] == -1):
                later = [at for at in order if row["at"][at] > row["at"][old]]
                found += [
                    Pair((q, told[old], told[at]), 1, float(labels[at] == 1), 1.0 if labels[at] == 1 else 0.3)
                    for at in later[:8]
                ]
        for best in (at for at in order if labels[at] == 1):
            later = [at for at in order if row["at"][at] > row["at"][best] and labels[at] == 0]
            found += [Pair((q, told[best], told[at]), 1, 0.0, 0.3) for at in chance.sample(later, min(2, len(later)))]
    return found


def train(rows: list[dict[str, Any]], seed: int, reader: Reader, *, layers: int, epochs: int, rate: float) -> Judge:
    torch.manual_seed(seed)
    chance = random.Random(seed)
    judge = Judge(layers).to(DEVICE)
    pairs = examples(rows, chance)
    size, began = 256, time.time()
    steps = epochs * len(pairs) // size
    best = torch.optim.AdamW(
        [
            {"params": [p for p in judge.network.parameters() if p.requires_grad], "lr": rate},
            {"params": judge.head.parameters(), "lr": 1e-3},
        ],
        weight_decay=0.01,
    )
    plan = torch.optim.lr_scheduler.OneCycleLR(best, [rate, 1e-3], total_steps=steps + 1, pct_start=0.1)
    judge.train()
    done = 0
    while done < steps:
        chance.shuffle(pairs)
        for at in range(0, len(pairs) - size, size):
            some = pairs[at : at + size]
            ids, mask, kinds = reader.batch(some)
            with torch.autocast("cuda", dtype=torch.bfloat16):
                told = judge(ids, mask, kinds)
            task = torch.tensor([p.task for p in some], device=DEVICE)
            label, share = (torch.tensor([getattr(p, n) for p in some], device=DEVICE) for n in ("label", "share"))
            chosen = told.float().gather(1, task[:, None])[:, 0]
            loss = (
                nn.functional.binary_cross_entropy_with_logits(chosen, label, reduction="none") * share
            ).sum() / share.sum()
            best.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
            best.step()
            plan.step()
            done += 1
            if done >= steps:
                break
    print(f"  trained {len(pairs)} pairs, {steps} steps, {time.time() - began:.0f} s", flush=True)
    return judge.eval()


@torch.no_grad()
def scores(judge: Judge, pairs: list[Pair], reader: Reader) -> list[float]:
    found: list[float] = []
    for at in range(0, len(pairs), 512):
        some = pairs[at : at + 512]
        with torch.autocast("cuda", dtype=torch.bfloat16):
            told = judge(*reader.batch(some))
        found += [float(row[p.task]) for row, p in zip(told.float().tolist(), some, strict=True)]
    return found


def area(good: list[float], bad: list[float]) -> float:
    if not good or not bad:
        return float("nan")
    one, other = np.array(good)[:, None], np.array(bad)[None]
    return float((one > other).mean() + (one == other).mean() / 2)


def figures(rows: list[dict[str, Any]], told: list[list[float]]) -> None:
    """First message right; refusals told from answers by the best score; pairs and changes told apart."""
    by: dict[str, list[int]] = defaultdict(list)
    for at, row in enumerate(rows):
        by[row["set"]].append(at)
    for name, some in sorted(by.items()):
        if "at" in rows[some[0]]:
            asked = [at for at in some if 1 in rows[at]["y"]]
            first = np.mean([rows[at]["y"][int(np.argmax(told[at]))] == 1 for at in asked])
            good = [max(told[at]) for at in asked]
            bad = [max(told[at]) for at in some if rows[at]["kind"] in ("refuse", "nowhere")]
            gone = [max(told[at]) for at in some if rows[at]["kind"] in ("deleted",)]
            refused = f"AUC refused {area(good, bad):.3f} ({len(bad)}), deleted {area(good, gone):.3f}"
            print(f"  {name}: {len(asked)} questions, first {first:.3f}, {refused}", flush=True)
        else:
            good = [s for at in some for s, y in zip(told[at], rows[at]["y"], strict=True) if y == 1]
            bad = [s for at in some for s, y in zip(told[at], rows[at]["y"], strict=True) if y == 0]
            print(f"  {name}: {len(good)} + {len(bad)}, AUC {area(good, bad):.3f}", flush=True)


def scored(judge: Judge, rows: list[dict[str, Any]], reader: Reader) -> list[list[float]]:
    flat = scores(judge, [Pair((row["q"], text), 0, 0.0) for row in rows for text in row["m"]], reader)
    told, at = [], 0
    for row in rows:
        told.append(flat[at : at + len(row["m"])])
        at += len(row["m"])
    return told


def changes(judge: Judge, rows: list[dict[str, Any]], reader: Reader) -> float:
    some = [row for row in rows if row["kind"] == "change"]
    new = scores(judge, [Pair((row["q"], row["m"][0], row["m"][1]), 1, 0.0) for row in some], reader)
    other = scores(judge, [Pair((row["q"], row["m"][0], row["m"][2]), 1, 0.0) for row in some], reader)
    return area(new, other)


def measure(rows: list[dict[str, Any]], reader: Reader, **chosen: Any) -> Iterator[dict[str, Any]]:
    """Scores of scripted questions by networks that did not see their row."""
    scripted = [row for row in rows if "at" in row]
    own = [row for row in rows if "at" not in row]
    learned, kept = ([row for row in own if untouched(row["row"]) == out] for out in (False, True))
    found: list[tuple[dict[str, Any], list[float]]] = []
    for third in range(3):
        judge = train(learned + [row for row in scripted if part(row["row"]) != third], third, reader, **chosen)
        left = [row for row in scripted if part(row["row"]) == third]
        told = scored(judge, left, reader)
        found += zip(left, told, strict=True)
        later = later_scores(judge, left, told, reader)
        for row, answers, replaces in zip(left, told, later, strict=True):
            named = {name: row[name] for name in ("set", "row", "kind", "q")}
            yield {**named, "answers": answers, "replaces": replaces}
        if third == 0:
            figures(kept, scored(judge, kept, reader))
            print(f"  changes left out: AUC {changes(judge, kept, reader):.3f}", flush=True)
    figures([row for row, _ in found], [told for _, told in found])


def export(judge: Judge, path: Path) -> None:
    """The network as an int8 ONNX file."""
    from onnxruntime.quantization import QuantType, quantize_dynamic

    judge = judge.float().cpu().eval()
    ids = torch.ones(2, 16, dtype=torch.long)
    names = ["input_ids", "attention_mask", "token_type_ids"]
    whole = path.with_suffix(".float.onnx")
    torch.onnx.export(
        judge,
        (ids, ids, ids),
        str(whole),
        input_names=names,
        output_names=["told"],
        dynamo=False,
        dynamic_axes={name: {0: "batch", 1: "length"} for name in names},
        opset_version=17,
    )
    quantize_dynamic(str(whole), str(path), weight_type=QuantType.QInt8, per_channel=True)


def later_scores(
    judge: Judge, rows: list[dict[str, Any]], told: list[list[float]], reader: Reader
) -> list[dict[str, dict[str, float]]]:
    """For each question, how surely later messages replace each of the three that answer best."""
    places = [
        (at, old, new)
        for at, row in enumerate(rows)
        for old in sorted(range(len(told[at])), key=lambda each: -told[at][each])[:BEST]
        for new, moment in enumerate(row["at"])
        if moment > row["at"][old]
    ]
    pairs = [Pair((rows[at]["q"], rows[at]["m"][old], rows[at]["m"][new]), 1, 0.0) for at, old, new in places]
    found: list[dict[str, dict[str, float]]] = [{} for _ in rows]
    for (at, old, new), score in zip(places, scores(judge, pairs, reader), strict=True):
        found[at].setdefault(str(old), {})[str(new)] = round(score, 3)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pairs")
    parser.add_argument("--scores")
    parser.add_argument("--out")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--rate", type=float, default=1e-4)
    options = parser.parse_args()
    with gzip.open(options.pairs, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    reader = Reader()
    chosen = {"layers": options.layers, "epochs": options.epochs, "rate": options.rate}
    if options.out:
        export(train(rows, 0, reader, **chosen), Path(options.out))
    if options.scores:
        written = [json.dumps(each) for each in measure(rows, reader, **chosen)]
        Path(options.scores).write_text("\n".join(written), encoding="utf-8")


if __name__ == "__main__":
    main()
