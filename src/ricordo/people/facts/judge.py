"""Judge every clause of a message: does it state something lasting about the user, and what?

A message goes in, judged clauses come out. The message is cut into segments; each is scored by a linear model over
hashed observations (its words, its neighbours, punctuation, the message it stands in), then a second, small model
weighs each score against those of its neighbours and of the whole message. Weights come from `judge.npz`, which
`training/facts/train.py` makes; numpy is all that is needed here.
"""

import logging
import re
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ricordo.languages.registry import AnyLanguage
from ricordo.languages.text import fold

Weights = NDArray[np.float32]
log = logging.getLogger("ricordo")

SIZE = 1 << 15  # slots of the hashed observations
LABELS = ("fact", "other", "plan", "instruction", "change", "end", "remember", "forget")
SLACK = 4.0  # logits below the threshold at which clauses are still told, for guards that weigh more than words
LONGEST_JUDGED = 4_000  # characters of a message that are judged; more is pasted text
_QUOTED = re.compile(r"[\"“«„][^\"”»“]{2,}[\"”»]|```.*?(?:```|\Z)|(?<=[\s:])'[^'\n]{8,}'(?=[\s.,!?]|$)", re.DOTALL)
_MASK = "\ufffc"
_CUT = AnyLanguage(
    r"[.!?…;\n]+(?=\s|$)|\n+|[()\[\]]|\s[-–—]+\s|:(?=\s)|,(?!\d)|\s(?=(?:<facts.clause_openers>)\s)",
    flags=re.IGNORECASE,
)
_TOKEN = re.compile(r"[a-z]+'?|\d+|[^\sa-z\d]")


@dataclass(frozen=True, slots=True)
class ClauseSegment:
    """A span of a message and the mark that ends it."""

    start: int
    end: int
    mark: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A clause that states something: its span, what it is, what it is about, and how far above the threshold."""

    start: int
    end: int
    label: str
    attribute: str
    margin: float


def judge(text: str, before: str | None = None) -> tuple[Judged, ...]:
    """The clauses of a message that may state something lasting; `before` is the user's message before it.

    Those with a margin of 0 or more do, as far as words tell.
    """
    read = text[:LONGEST_JUDGED]
    spans = segments(read)
    if not spans:
        return ()
    model = _model()
    if model is None:
        return ()
    observed = [observations(read, spans, index, before) for index in range(len(spans))]
    logits = [_dot(each, model.clause, model.clause_bias) for each in observed]
    whole = _dot(message_observations(read, before), model.message, model.message_bias)
    found = []
    for index, span in enumerate(spans):
        logit = float(context_observations(logits, index, whole) @ model.context[:-1] + model.context[-1])
        if logit >= model.threshold - SLACK:
            label, about = describe(read[span.start : span.end])
            found.append(Judged(span.start, span.end, label, about, logit - model.threshold))
    return tuple(found)


def describe(said: str) -> tuple[str, str]:
    """What a clause is, if it states something, and the group of its subject."""
    model = _model()
    if model is None:
        return "fact", "other"
    slots = _slots(own_observations(said))
    label = LABELS[int(np.argmax(model.labels[:, slots].sum(axis=1) * model.labels_scale + model.labels_bias))]
    kind = model.attributes[:, slots].sum(axis=1) * model.attributes_scale + model.attributes_bias
    return label, model.names[int(np.argmax(kind))]


def segments(text: str) -> list[ClauseSegment]:
    """The message cut at sentence ends, commas, dashes and words that open a clause; quotations stay whole."""
    masked = _QUOTED.sub(lambda match: _MASK * len(match[0]), text)
    found, begin = [], 0
    for cut in [*_CUT.finditer(masked), None]:
        end = cut.start() if cut else len(masked)
        start = begin
        while start < end and masked[start].isspace():
            start += 1
        while end > start and masked[end - 1].isspace():
            end -= 1
        if re.search(rf"\w|{_MASK}", masked[start:end]):
            found.append(ClauseSegment(start, end, cut[0].strip() if cut else ""))
        begin = cut.end() if cut else end
    return found


def words_of(text: str) -> list[str]:
    """Folded words and marks, with digits made equal."""
    return [re.sub(r"\d", "0", token) for token in _TOKEN.findall(fold(text.replace("\u2019", "'")))]


def own_observations(said: str) -> list[str]:
    """What is observed of a clause by itself, to tell what kind of statement it is and what it is about."""
    return _word_observations(said) + [f"p5:{word[:5]}" for word in set(words_of(said)) if len(word) > 4]


def _word_observations(said: str) -> list[str]:
    """Words, pairs of words, their beginnings and ends, and whether there is a number or a name."""
    own = words_of(said)
    seen = [f"u:{word}" for word in set(own)]
    seen += [f"b:{one}_{two}" for one, two in pairwise(["<", *own, ">"])]
    for word in set(own):
        if len(word) > 4:
            seen += [f"s:{word[-3:]}", f"p:{word[:4]}"]
    if re.search(r"\d", said):
        seen.append("number")
    if re.search(r"[A-Z][a-z]", said[1:]):
        seen.append("name")
    return seen


def observations(text: str, spans: Sequence[ClauseSegment], index: int, before: str | None) -> list[str]:
    """What is observed of one segment."""
    span = spans[index]
    said = text[span.start : span.end]
    own = words_of(said)
    framed = ["<", *own, ">"]
    seen = _word_observations(said)
    seen += [f"t:{one}_{two}_{three}" for one, two, three in zip(framed, framed[1:], framed[2:], strict=False)]
    closing = next((each.mark for each in spans[index:] if each.mark[:1] in tuple(".!?…;")), "")
    seen += [
        f"len:{min(len(own), 12)}",
        f"mark:{span.mark[:1]}",
        f"at:{min(index, 3)}",
        f"left:{min(len(spans) - 1 - index, 3)}",
        f"opened:{spans[index - 1].mark[:1] if index else '^'}",
        f"closing:{closing[:1]}",
        f"segments:{min(len(spans), 8)}",
    ]
    if closing[:1] == "?":
        seen += [f"asked:{word}" for word in own[:3]]
    if _QUOTED.search(said):
        seen.append("quoted")
    if index:
        last = words_of(text[spans[index - 1].start : spans[index - 1].end])
        seen += [f"P:{word}" for word in last[-3:]] + [f"PF:{word}" for word in last[:2]]
    if index + 1 < len(spans):
        seen += [f"N:{word}" for word in words_of(text[spans[index + 1].start : spans[index + 1].end])[:3]]
    opening = words_of(text[:200])[:4]
    seen += [f"M:{word}" for word in opening] + [f"MB:{'_'.join(opening[:2])}"]
    if _QUOTED.search(text):
        seen.append("holds a quotation")
    if before is not None:
        seen += [f"R:{word}" for word in set(words_of(before[:400])[:12])] + ["later"]
    return seen


def message_observations(text: str, before: str | None) -> list[str]:
    """What is observed of a whole message."""
    words = words_of(text)
    seen = [f"mu:{word}" for word in set(words)] + [f"mb:{one}_{two}" for one, two in pairwise(words)]
    seen += [f"mo:{'_'.join(words[:2])}", f"mo1:{words[0] if words else ''}"]
    if _QUOTED.search(text):
        seen.append("mq")
    if before is not None:
        seen += [f"mR:{word}" for word in set(words_of(before[:400])[:15])] + ["mlater"]
    return seen


def context_observations(logits: Sequence[float], index: int, whole: float) -> Weights:
    """A segment's score beside its neighbours' and the message's."""
    own = logits[index]
    last = logits[index - 1] if index else -3.0
    following = logits[index + 1] if index + 1 < len(logits) else -3.0
    return np.array(
        [
            own,
            last,
            following,
            max(logits),
            whole,
            own if whole < 0 else 0.0,
            sum(logits) / len(logits),
            float(index == 0),
            float(index + 1 == len(logits)),
            min(len(logits), 8) / 8,
            float(last > 0 and own > -1),
            float(whole < -1),
        ],
        dtype=np.float32,
    )


@dataclass(frozen=True, slots=True)
class _Model:
    clause: Weights
    clause_bias: float
    message: Weights
    message_bias: float
    context: Weights
    threshold: float
    labels: NDArray[np.int8]
    labels_scale: Weights
    labels_bias: Weights
    attributes: NDArray[np.int8]
    attributes_scale: Weights
    attributes_bias: Weights
    names: tuple[str, ...]


@cache
def _model() -> _Model | None:
    """The weights; None, and a line in the log, if their file is missing or damaged."""
    try:
        return _stored_model()
    except Exception as error:  # numpy raises many kinds for a damaged file
        log.error("clauses are not judged, facts come from patterns alone: judge.npz: %s", type(error).__name__)
        return None


def _stored_model() -> _Model:
    with files("ricordo.people.facts").joinpath("judge.npz").open("rb") as file, np.load(file) as stored:
        return _Model(
            stored["clause"].astype(np.float32),
            float(stored["biases"][0]),
            stored["message"].astype(np.float32),
            float(stored["biases"][1]),
            stored["context"].astype(np.float32),
            float(stored["biases"][2]),
            stored["labels"],
            stored["labels_scale"],
            stored["labels_bias"],
            stored["attributes"],
            stored["attributes_scale"],
            stored["attributes_bias"],
            tuple(str(name) for name in stored["names"]),
        )


def _slots(seen: Iterable[str]) -> list[int]:
    return sorted({zlib.crc32(each.encode()) % SIZE for each in seen})


def _dot(seen: Iterable[str], weights: Weights, bias: float) -> float:
    return float(weights[_slots(seen)].sum()) + bias
