"""The small network of the judge: word vectors and hashed words, three convolutions, one reading of each segment.

Needs PyTorch to train. `arrays` gives the weights as the judge stores and uses them, with numpy alone.
"""

import random

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from ricordo.people.facts import judge as model

EPOCHS, BATCH, RATE = 14, 64, 4e-3
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
torch.set_num_threads(1)


class Network(nn.Module):
    """Reads the tokens of a message and of the one before it; judges each segment."""

    def __init__(self, table, groups: int, hidden: int = 64, drop: float = 0.3, unknown: float = 0.3) -> None:
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
        keep = torch.ones(hashes.shape)
        if self.training:
            # A name is now and then any name: what is said of it must do.
            other = (torch.rand(words.shape) < self.unknown) & (flags[:, :, 0] > 0)
            words = words * ((torch.rand(words.shape) > 0.06) & ~other).long()
            hashes = torch.where(other.unsqueeze(-1), torch.randint_like(hashes, model.BUCKETS), hashes)
            keep = (torch.rand(hashes.shape) > 0.15).float()
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


def samples(talks, word_ids, groups):
    """Messages as arrays: tokens, segment of each token, and per segment whether it states, its label and group."""
    found = []
    for text, before, spans, labels in talks:
        tokens, segment = model.token_rows(text, before, spans, word_ids)
        stated = [-1 if label == "" else int(label != "none") for label, _ in labels]
        label = [model.LABELS.index(kind) if kind in model.LABELS and group else -1 for kind, group in labels]
        group = [groups.index(name) if name and kind not in ("", "none") else -1 for kind, name in labels]
        reason = [NAMES.index(REASONS[why]) if label == "none" and why in REASONS else -1 for label, why in labels]
        found.append((tokens, segment, len(spans), *map(np.array, (stated, label, group, reason))))
    return found


def batches(data, size, *, shuffle):
    """Batches of messages of similar length, padded."""
    order = sorted(range(len(data)), key=lambda i: len(data[i][0]) + (8 * random.random() if shuffle else 0))
    groups = [order[begin : begin + size] for begin in range(0, len(order), size)]
    if shuffle:
        random.shuffle(groups)
    for chosen in groups:
        length, most = max(len(data[i][0]) for i in chosen), max(data[i][2] for i in chosen)
        tokens = np.zeros((len(chosen), length, 5 + model.FLAGS), int)
        mask, segment = np.zeros((len(chosen), length), np.float32), np.full((len(chosen), length), -1)
        marks = np.full((4, len(chosen), most), -1)
        for row, index in enumerate(chosen):
            own, place, count, *wanted = data[index]
            tokens[row, : len(own)], mask[row, : len(own)], segment[row, : len(own)] = own, 1, place
            for kind in range(4):
                marks[kind, row, :count] = wanted[kind]
        counts = torch.tensor([data[i][2] for i in chosen])
        yield chosen, *map(torch.tensor, (tokens, mask, segment)), counts, *map(torch.tensor, marks)


def trained(data, table, groups: int, seed: int = 0, epochs: int = EPOCHS, others=()) -> Network:
    """A network trained on samples; `others` are the same in other voices, half of which take their place."""
    random.seed(seed)
    torch.manual_seed(seed)
    network = Network(table, groups)
    steps = epochs * (len(data) // BATCH + 2)
    optimizer = torch.optim.AdamW(network.parameters(), lr=RATE, weight_decay=0.02)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps)
    for _ in range(epochs):
        network.train()
        chosen = [random.choice(others)[n] if others and random.random() < 0.5 else each for n, each in enumerate(data)]
        for _, tokens, mask, segment, count, stated, *marks in batches(chosen, BATCH, shuffle=True):
            told, *named = network(tokens, mask, segment, count)
            known = stated >= 0
            if not known.any():
                continue
            loss = functional.binary_cross_entropy_with_logits(told[known], stated[known].float())
            for logits, wanted in zip(named, marks, strict=True):
                if (wanted >= 0).any():
                    loss = loss + SHARE * functional.cross_entropy(logits[wanted >= 0], wanted[wanted >= 0])
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return network.eval()


def arrays(networks) -> dict[str, np.ndarray]:
    """The weights under the names by which the judge reads them."""
    stored: dict[str, np.ndarray] = {"networks": np.array(len(networks))}
    for number, network in enumerate(networks):
        state = {name: value.detach().numpy() for name, value in network.state_dict().items()}
        hashed = state.pop("hashed.weight")
        for name in ("table", "reason.weight", "reason.bias"):
            del state[name]
        scale = float(np.abs(hashed).max() / 127)
        named = {name.replace(".", "_"): value.astype(np.float16) for name, value in state.items()}
        named |= {"hashed": np.round(hashed / scale).astype(np.int8), "hashed_scale": np.array(scale)}
        stored |= {f"net{number}_{name}": value for name, value in named.items()}
    return stored
