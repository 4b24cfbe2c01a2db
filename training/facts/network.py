"""The small network of the judge: word vectors and hashed words, three convolutions, one reading of each segment.

Needs PyTorch to train. `arrays` gives the weights as the judge stores and uses them, with numpy alone.
"""

import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ricordo.people.facts import judge as model

EPOCHS, BATCH, RATE = 14, 192, 4e-3
HIDDEN = 128
SHARE = 0.3  # weight of label, group and reason beside whether a clause states something
# Why a clause states nothing, as the talk names it; what is named otherwise teaches no reason.
REASONS = {
    "question": "question", "request": "request", "state": "state", "smalltalk": "smalltalk", "joke": "joke",
    "idiom": "joke", "roleplay": "part", "role play": "part", "fiction": "part", "quotation": "others",
    "translation": "others", "code_or_paste": "others", "third_stranger": "stranger", "third person": "stranger",
    "general": "general", "general truth": "general", "hypothesis": "hypothesis", "opinion_on_answer": "answer",
    "assistant": "answer", "past_closed": "past", "once": "once", "reported": "reported",
}  # fmt: skip
NAMES = sorted(set(REASONS.values()))
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
torch.set_num_threads(1)


class Network(nn.Module):
    """Reads the tokens of a message and of the one before it; judges each segment."""

    def __init__(self, table, groups: int, hidden: int = HIDDEN, drop: float = 0.12, unknown: float = 0.3) -> None:
        super().__init__()
        self.register_buffer("table", torch.tensor(table, dtype=torch.float32))
        width = table.shape[1]
        self.hashed = nn.Embedding(model.BUCKETS, model.HASHED)
        nn.init.normal_(self.hashed.weight, std=0.1)
        self.inner = nn.Linear(width + model.HASHED + model.FLAGS, hidden)
        self.convolutions = nn.ModuleList(
            [nn.Conv1d(hidden, hidden, 3, padding=gap, dilation=gap) for gap in model.GAPS]
        )
        self.drop = nn.Dropout(drop)
        self.unknown = unknown
        self.whole = nn.Linear(hidden, hidden)
        self.head = nn.Linear(4 * hidden + width, hidden)
        self.stated = nn.Linear(hidden, 1)
        self.label = nn.Linear(hidden, len(model.LABELS))
        self.group = nn.Linear(hidden + width, groups)
        self.reason = nn.Linear(hidden, len(NAMES))  # why a clause states nothing: only to learn from, never stored

    def forward(self, tokens, mask, segment, count):
        """Logits for each segment: stated, label, group, reason."""
        words, hashes, flags = tokens[:, :, 0], tokens[:, :, 1:5], tokens[:, :, 5:].float()
        keep = torch.ones_like(hashes, dtype=torch.float32)
        if self.training:
            # A name is now and then any name: what is said of it must do.
            chance = torch.rand(words.shape, device=words.device)
            other = (chance < self.unknown) & (flags[:, :, 0] > 0)
            words = words * ((torch.rand(words.shape, device=words.device) > 0.06) & ~other).long()
            hashes = torch.where(other.unsqueeze(-1), torch.randint_like(hashes, model.BUCKETS), hashes)
            keep = (torch.rand(hashes.shape, device=words.device) > 0.15).float()
        vectors = self.table[words]
        hashed = (self.hashed(hashes) * keep.unsqueeze(-1)).sum(2)
        x = torch.cat([self.drop(vectors), self.drop(hashed), flags], -1)
        x = functional.relu(self.inner(x)) * mask.unsqueeze(-1)
        x = x.transpose(1, 2)
        for convolution in self.convolutions:
            x = x + functional.relu(convolution(self.drop(x))) * mask.unsqueeze(1)
        x = x.transpose(1, 2)
        own = mask * (segment >= 0).float()
        whole = (x - 1e4 * (1 - own.unsqueeze(-1))).max(1)[0].clamp(min=-10)
        most = int(count.max())
        of = functional.one_hot(segment.clamp(min=0), most).float() * own.unsqueeze(-1)
        size = of.sum(1).clamp(min=1).unsqueeze(-1)
        mean = torch.einsum("bln,blh->bnh", of, x) / size
        words_mean = torch.einsum("bln,blh->bnh", of, vectors) / size
        place = torch.where(own > 0, segment, most).unsqueeze(-1).expand_as(x)
        lowest = x.new_full((x.shape[0], most + 1, x.shape[2]), -10)
        peak = lowest.scatter_reduce(1, place, x, "amax")[:, :most]
        beside = functional.pad(mean, (0, 0, 1, 0))[:, :-1] + functional.pad(mean, (0, 0, 0, 1))[:, 1:]
        seen = torch.cat([mean, peak, self.whole(whole).unsqueeze(1).expand_as(mean), beside, words_mean], -1)
        z = self.drop(functional.relu(self.head(self.drop(seen))))
        groups = self.group(torch.cat([z, self.drop(words_mean)], -1))
        return self.stated(z)[..., 0], self.label(z), groups, self.reason(z)


def samples(talks, word_ids, groups, soft=None):
    """Messages as arrays: tokens, segment of each token, and what is wanted of each segment.

    Wanted are whether it states something, its label, group and reason; with `soft`, what teachers say of the first
    three (logits a segment): then the mean of both is learned, or the teachers' word where nothing is labelled.
    """
    found = []
    for number, (text, before, spans, labels) in enumerate(talks):
        tokens, segment = model.token_rows(text, before, spans, word_ids)
        stated = [-1 if label == "" else int(label != "none") for label, _ in labels]
        label = [model.LABELS.index(kind) if kind in model.LABELS and group else -1 for kind, group in labels]
        group = [groups.index(name) if name and kind not in ("", "none") else -1 for kind, name in labels]
        reason = [NAMES.index(REASONS[why]) if label == "none" and why in REASONS else -1 for label, why in labels]
        told = soft[number] if soft else None
        found.append(
            (tokens.astype(np.int32), segment, len(spans), *map(np.array, (stated, label, group, reason)), told)
        )
    return found


def batches(data, size, *, shuffle):
    """Batches of messages of similar length, padded."""
    order = sorted(range(len(data)), key=lambda i: len(data[i][0]) + (8 * random.random() if shuffle else 0))
    groups = [order[begin : begin + size] for begin in range(0, len(order), size)]
    if shuffle:
        random.shuffle(groups)
    for chosen in groups:
        length, most = max(len(data[i][0]) for i in chosen), max(data[i][2] for i in chosen)
        tokens = np.zeros((len(chosen), length, 5 + model.FLAGS), np.int32)
        mask, segment = np.zeros((len(chosen), length), np.float32), np.full((len(chosen), length), -1)
        marks = np.full((4, len(chosen), most), -1)
        widths = next((told.shape[1] for *_, told in (data[i] for i in chosen) if told is not None), 1)
        soft = np.full((len(chosen), most, widths), np.nan, np.float32)
        for row, index in enumerate(chosen):
            own, place, count, *wanted, told = data[index]
            tokens[row, : len(own)], mask[row, : len(own)], segment[row, : len(own)] = own, 1, place
            for kind in range(4):
                marks[kind, row, :count] = wanted[kind]
            if told is not None:
                soft[row, :count] = told
        counts = torch.tensor([data[i][2] for i in chosen])
        ready = [torch.tensor(each).to(DEVICE) for each in (tokens.astype(np.int64), mask, segment)]
        yield chosen, *ready, counts, *(torch.tensor(each).to(DEVICE) for each in (*marks, soft))


def loss_of(outputs, stated, marks, soft):
    """How far a network is from the labels and from the teachers. Nothing here waits for the accelerator."""
    told, *named = outputs
    known, taught = stated >= 0, ~torch.isnan(soft[..., 0])
    soft = torch.nan_to_num(soft)
    likely, labelled = torch.sigmoid(soft[..., 0]), stated.clamp(min=0).float()
    wanted = torch.where(taught, torch.where(known, (labelled + likely) / 2, likely), labelled)
    judged = (known | taught).float()
    apart = functional.binary_cross_entropy_with_logits(told, wanted, reduction="none")
    loss = (apart * judged).sum() / judged.sum().clamp(min=1)
    for logits, right in zip(named, marks, strict=True):
        apart = functional.cross_entropy(logits.flatten(0, 1), right.flatten(), ignore_index=-1, reduction="sum")
        loss = loss + SHARE * apart / (right >= 0).sum().clamp(min=1)
    weight, begin = likely * taught.float(), 1
    for logits in named[:2] if soft.shape[-1] > 1 else ():
        end = begin + logits.shape[-1]
        shares = functional.softmax(soft[..., begin:end], -1)
        apart = -(shares * functional.log_softmax(logits, -1)).sum(-1)
        loss = loss + SHARE * (apart * weight).sum() / weight.sum().clamp(min=1)
        begin = end
    return loss


def trained(data, table, groups: int, seed: int = 0, epochs: int = EPOCHS, others=(), more=()) -> Network:
    """A network trained on samples.

    `others` are the same in other voices, half of which take their place; `more` are samples that only teachers judged.
    """
    random.seed(seed)
    torch.manual_seed(seed)
    network = Network(table, groups).to(DEVICE)
    own, *rest = (list(batches(part, BATCH, shuffle=True)) for part in (data, *others))
    judged = list(batches(more, BATCH, shuffle=True))
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=epochs * (len(own) + len(judged)))
    network.train()
    for _ in range(epochs):
        chosen = [random.choice(rest)[n] if rest and random.random() < 0.5 else each for n, each in enumerate(own)]
        for _, tokens, mask, segment, count, stated, *marks, soft in random.sample(
            chosen + judged, len(own) + len(judged)
        ):
            loss = loss_of(network(tokens, mask, segment, count), stated, marks, soft)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return network.eval().cpu()


def arrays(networks) -> dict[str, np.ndarray]:
    """The weights under the names by which the judge reads them; large ones as bytes with a scale a row."""
    stored: dict[str, np.ndarray] = {"networks": np.array(len(networks))}
    for number, network in enumerate(networks):
        for name, value in network.state_dict().items():
            if name == "table" or name.startswith("reason."):
                continue
            name, own = (
                f"net{number}_{name.removesuffix('.weight') if name == 'hashed.weight' else name.replace('.', '_')}",
                value.cpu().numpy(),
            )
            if own.ndim > 1:
                scale = np.abs(own).max(axis=tuple(range(1, own.ndim)), keepdims=True) / 127 + 1e-9
                scale = scale.max(keepdims=True) if name.endswith("hashed") else scale
                stored[f"{name}_scale"], own = scale.astype(np.float32), np.round(own / scale).astype(np.int8)
            stored[name] = own if own.dtype == np.int8 else own.astype(np.float16)
    return stored
