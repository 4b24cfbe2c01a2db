"""Teachers of the judge's networks: labelled messages in, a fine-tuned encoder out, and what it says of other messages.

The encoder is the default English embedder (snowflake-arctic-embed-s, Apache-2.0), read from its file of `packages`.
The multilingual word vectors of `vectors.py` are added to its input, so that it also reads Italian. A teacher is far
too large to be shipped: the small networks learn from its judgement of talk that has no labels. Needs PyTorch,
transformers, onnx, and an accelerator to end within minutes.
"""

import random
from pathlib import Path

import network
import numpy as np
import onnx
import torch
from bench.facts_talk import GROUP_OF
from onnx import numpy_helper
from tokenizers import Tokenizer
from torch import nn
from torch.nn import functional
from transformers import BertConfig, BertModel

from ricordo.languages.text import fold
from ricordo.people.facts import judge as model

ENCODER = Path(__file__).resolve().parents[2] / "packages/ricordo-embedder/src/ricordo_embedder/arctic-s-int8"
EPOCHS, BATCH, RATE = 9, 48, 1.5e-4
WIDTH, EARLIER, LATER = 384, 48, 300
FIRST, LAST = 101, 102


def encoder(folder: Path) -> BertModel:
    """The encoder with the weights of its quantized file."""
    graph = onnx.load(folder / "model.onnx").graph
    known = {each.name: numpy_helper.to_array(each) for each in graph.initializer}

    def exact(name):
        base = name.removesuffix("_quantized")
        zero, scale = (known[base + end].astype(np.float32) for end in ("_zero_point", "_scale"))
        return (known[name].astype(np.float32) - zero) * scale

    config = BertConfig(hidden_size=WIDTH, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536)
    bert = BertModel(config, add_pooling_layer=False)
    state, read = bert.state_dict(), {}
    for name in state:
        if name in known:
            read[name] = known[name]
        elif f"{name}_quantized" in known:
            read[name] = exact(f"{name}_quantized")
    for node in graph.node:
        name = node.name.strip("/").split("/MatMul")[0].replace("/", ".") + ".weight"
        if node.op_type == "MatMulInteger" and node.input[1] in known and name in state:
            read[name] = exact(node.input[1]).T.copy()
    if missing := set(state) - set(read):
        raise ValueError(f"not in the file of the encoder: {sorted(missing)}")
    bert.load_state_dict({name: torch.tensor(value) for name, value in read.items()})
    return bert


class Teacher(nn.Module):
    """Reads a message after the one before it; judges each segment."""

    def __init__(self, values, groups: int, folder: Path) -> None:
        super().__init__()
        self.bert = encoder(folder)
        self.register_buffer("values", torch.tensor(values, dtype=torch.float32))
        self.meaning = nn.Linear(values.shape[1], WIDTH, bias=False)
        nn.init.zeros_(self.meaning.weight)
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(3 * WIDTH, WIDTH), nn.GELU(), nn.Dropout(0.1))
        sizes = (1, len(model.LABELS), groups, len(network.NAMES))
        self.outputs = nn.ModuleList([nn.Linear(WIDTH, size) for size in sizes])

    def forward(self, ids, words, mask, segment, most: int):
        """Logits for each segment: stated, label, group, reason."""
        seen = self.bert.embeddings.word_embeddings(ids) + self.meaning(self.values[words])
        x = self.bert(inputs_embeds=seen, attention_mask=mask).last_hidden_state.float()
        of = functional.one_hot(segment.clamp(min=0), most).float() * (segment >= 0).unsqueeze(-1)
        mean = torch.einsum("bln,blh->bnh", of, x) / of.sum(1).clamp(min=1).unsqueeze(-1)
        peak = (x.unsqueeze(1) - 1e4 * (1 - of.transpose(1, 2).unsqueeze(-1))).max(2)[0].clamp(min=-10)
        z = self.head(torch.cat([mean, peak, x[:, :1].expand(-1, most, -1)], -1))
        told, *named = (output(z) for output in self.outputs)
        return told[..., 0], *named


class Reader:
    """Messages as the teacher reads them."""

    def __init__(self, word_id, groups, folder: Path = ENCODER) -> None:
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.no_truncation()
        self.word_id, self.groups = word_id, groups

    def pieces(self, text: str, most: int):
        """Ids of word pieces, the rows of their words, and where they begin."""
        read = self.tokenizer.encode(text, add_special_tokens=False)
        spans, ids = {}, []
        for begin, end in read.offsets[:most]:
            first, last = begin, end
            while first > 0 and text[first - 1].isalpha() and text[begin : begin + 1].isalpha():
                first -= 1
            while last < len(text) and text[last].isalpha() and text[end - 1 : end].isalpha():
                last += 1
            if (first, last) not in spans:
                spans[first, last] = self.word_id(fold(text[first:last]))
            ids.append(spans[first, last])
        return read.ids[:most], ids, [begin for begin, _ in read.offsets[:most]]

    def sample(self, talk):
        """Pieces, words, the segment of each piece, and what is wanted of each segment."""
        text, before, spans, labels = talk
        earlier, earlier_words, _ = self.pieces(before or "", EARLIER)
        own, own_words, begins = self.pieces(text, LATER)
        segment = [-1] * (len(earlier) + 2)
        for begin in begins:
            place = max((n for n, span in enumerate(spans) if span.start <= begin), default=-1)
            segment.append(place if place >= 0 and begin < spans[place].end else -1)
        stated = [-1 if label == "" else int(label != "none") for label, _ in labels]
        label = [model.LABELS.index(kind) if kind in model.LABELS and name else -1 for kind, name in labels]
        group = [
            self.groups.index(GROUP_OF.get(name, model.OTHER)) if name and kind not in ("", "none") else -1
            for kind, name in labels
        ]
        reasons = network.REASONS
        reason = [
            network.NAMES.index(reasons[name]) if kind == "none" and name in reasons else -1 for kind, name in labels
        ]
        ids = [FIRST, *earlier, LAST, *own, LAST]
        words = [0, *earlier_words, 0, *own_words, 0]
        return ids, words, [*segment, -1], len(spans), (stated, label, group, reason)


def batches(data, size: int, *, shuffle: bool):
    """Batches of messages of similar length, padded."""
    order = sorted(range(len(data)), key=lambda i: len(data[i][0]) + (8 * random.random() if shuffle else 0))
    groups = [order[begin : begin + size] for begin in range(0, len(order), size)]
    if shuffle:
        random.shuffle(groups)
    for chosen in groups:
        length, most = max(len(data[i][0]) for i in chosen), max(data[i][3] for i in chosen)
        read = np.zeros((3, len(chosen), length), np.int64)
        segment, marks = np.full((len(chosen), length), -1), np.full((4, len(chosen), most), -1)
        for row, index in enumerate(chosen):
            ids, words, place, count, wanted = data[index]
            read[:, row, : len(ids)] = ids, words, [1] * len(ids)
            segment[row, : len(ids)] = place
            for kind in range(4):
                marks[kind, row, :count] = wanted[kind]
        ready = [torch.tensor(each).to(network.DEVICE) for each in (*read, segment)]
        yield chosen, *ready, most, torch.tensor(marks).to(network.DEVICE)


def taught(data, others, values, groups: int, seed: int, folder: Path = ENCODER) -> Teacher:
    """A teacher trained on samples; `others` are the same in other voices, half of which take their place."""
    random.seed(seed)
    torch.manual_seed(seed)
    teacher = Teacher(values, groups, folder).to(network.DEVICE)
    steps = EPOCHS * (len(data) // BATCH + 2)
    own = [value for name, value in teacher.named_parameters() if not name.startswith("meaning")]
    optimizer = torch.optim.AdamW(
        [{"params": own}, {"params": teacher.meaning.parameters(), "lr": 10 * RATE}], lr=RATE, weight_decay=0.01
    )
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, [RATE, 10 * RATE], total_steps=steps, pct_start=0.1)
    for _ in range(EPOCHS):
        teacher.train()
        chosen = [random.choice(others)[n] if random.random() < 0.5 else each for n, each in enumerate(data)]
        for _, ids, words, mask, segment, most, marks in batches(chosen, BATCH, shuffle=True):
            with torch.autocast(network.DEVICE, torch.bfloat16):
                outputs = teacher(ids, words, mask, segment, most)
            nothing = torch.full((*marks.shape[1:], 1), torch.nan, device=marks.device)
            loss = network.loss_of([each.float() for each in outputs], marks[0], marks[1:], nothing)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return teacher.eval()


def judged(teacher: Teacher, data) -> list[np.ndarray]:
    """What a teacher says of each segment of each message: one row of logits (stated, labels, groups)."""
    told: list[np.ndarray] = [np.zeros(0)] * len(data)
    for chosen, ids, words, mask, segment, most, _ in batches(data, 128, shuffle=False):
        with torch.no_grad(), torch.autocast(network.DEVICE, torch.bfloat16):
            stated, labels, groups, _ = teacher(ids, words, mask, segment, most)
        rows = torch.cat([stated.unsqueeze(-1), labels, groups], -1).float().cpu().numpy()
        for row, index in enumerate(chosen):
            told[index] = rows[row, : data[index][3]].astype(np.float16)
    return told
