"""The judge: a classifier that finds the clauses which state something lasting about the user, and what it is about.

A message goes in, judged clauses come out. The message is cut into segments. Two models score each segment: a linear
one over hashed features (its words, its neighbours, punctuation, the whole message), and the mean of a few small
networks of three convolutions over word vectors, which also handle words that no training message had. A last linear
model combines both scores with those of the neighbours and of the whole message. Weights and word vectors are in
`judge.npz`, which `training/facts/train.py` makes; only numpy is needed here. Smaller networks of the same form tell
whether a message without a question mark asks: `asks.npz`, which `training/answers/acts.py` makes.
"""

import logging
import re
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from ricordo.languages.registry import AnyLanguage, all_words
from ricordo.languages.text import fold
from ricordo.people.facts.clauses import run_ons
from ricordo.worker import give_way

Weights = NDArray[np.float32]
log = logging.getLogger("ricordo")

SIZE = 1 << 15  # slots of the hashed observations
LABELS = ("fact", "other", "plan", "instruction", "change", "end", "remember", "forget")
SLACK = 4.0  # logits below the threshold at which a clause is still returned: callers have rules of their own
SURE_GROUP = 0.4  # least probability of a group that is returned
SURE_FORGET = 0.9  # least probability of a command to forget without a word such as "forget"
OTHER = "other"
BUCKETS, HASHED, FLAGS = 8_192, 16, 6  # of the network: slots of hashed words, their dimensions, marks of a token
LEVELS = 2.5  # steps of a standard deviation in a word vector
GAPS = (1, 2, 4)  # tokens between those that each convolution sees
_ONE_THREAD = 262_144  # multiplications of a product that the library of numpy makes without starting threads
_EARLIER, _LATER = 40, 400  # tokens read of the message before, and of this one
LONGEST_JUDGED = 4_000  # characters of a message that are judged; more is pasted text
_LAST_MARKS = " .…!?;,:"  # of a message, which the networks that tell questions do not see
_QUOTED = re.compile(r"[\"“«„][^\"”»“]{2,}[\"”»]|```.*?(?:```|\Z)|(?<=[\s:])'[^'\n]{8,}'(?=[\s.,!?]|$)", re.DOTALL)
_MASK = "\ufffc"
_CUT = AnyLanguage(
    r"[.!?…;\n]+(?=\s|$)|\n+|[()\[\]]|\s[-–—]+\s|:(?=\s)(?!\s[\d€$£])|,(?!\d)(?!\s[A-ZÀ-Ý][\w'-]+,)|\s(?=(?:<facts.clause_openers>)\s)",
    flags=re.IGNORECASE,
)
_FORGET = AnyLanguage(r"\b(?:<facts.forget>)", flags=re.IGNORECASE)
_SELF = AnyLanguage(r"\b(?:<facts.self_words>)\b", flags=re.IGNORECASE)
_JOIN = AnyLanguage(r"(?:<facts.joins>)\s", flags=re.IGNORECASE)
_ONLY_JOINS = AnyLanguage(
    r"(?:<facts.joins>)\s+(?!(?:<facts.self_words>|<facts.clause_openers>)\b)", flags=re.IGNORECASE
)
_COUNTS_ON = AnyLanguage(r"(?i:<facts.joins>)\s+(?:\d|[A-ZÀ-Ý][\w'-]+ (?:\w+ )?\d+\b)", flags=0)
_ABBREVIATED = AnyLanguage(r"\b(?:<vocabulary.name_titles>|[A-HJ-Z])$", flags=0)
_ENDS_IN_NAME = re.compile(r",\s[A-ZÀ-Ý][\w'-]+$")
_SHORT = 3  # words before "and" that may be one item of a list of names or things
_TOKEN = re.compile(r"[a-z]+'?|\d+|[^\sa-z\d]")
_PIECE = re.compile(r"[^\W\d_]+|\d+|[^\w\s]|\n")
_WORD = re.compile(r"[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class ClauseSegment:
    """A span of a message and the mark that ends it."""

    start: int
    end: int
    mark: str


@dataclass(frozen=True, slots=True)
class Judged:
    """A clause that states something: its span, label, group, and its margin above the threshold in logits.

    `change` is the probability that it changes or ends a known fact, `wish` that it is a standing instruction.
    """

    start: int
    end: int
    label: str
    attribute: str
    margin: float
    change: float = 0.0
    wish: float = 0.0


def judge(text: str, before: str | None = None) -> tuple[Judged, ...]:
    """The clauses of a message that may state something lasting; `before` is the user's message before it.

    For the classifier, those with a margin of 0 or more do.
    """
    model = _model()
    return _judge(model, text[:LONGEST_JUDGED], before) if model else ()


@lru_cache(maxsize=16)
def _judge(model: "_Model", read: str, before: str | None) -> tuple[Judged, ...]:
    give_way()  # this takes some milliseconds: background work must not delay a chat
    spans = segments(read)
    if not spans:
        return ()
    logits = [
        _dot(observations(read, spans, index, before), model.clause, model.clause_bias) for index in range(len(spans))
    ]
    whole = _dot(message_observations(read, before), model.message, model.message_bias)
    scores, labels, groups = network_scores(model, read, before, spans)
    found = []
    for index, span in enumerate(spans):
        kinds = kind_observations(read[span.start : span.end], labels[index], groups[index], model.names)
        seen = np.concatenate([context_observations(logits, index, whole, scores), kinds, kinds * scores[index]])
        margin = float(seen @ model.context[:-1] + model.context[-1]) - model.threshold
        if margin >= -SLACK:
            label, group, *shares = _described(model, read[span.start : span.end], labels[index], groups[index])
            found.append(Judged(span.start, span.end, label, group, margin, *shares))
    return tuple(found)


def is_available() -> bool:
    """Whether there are weights to judge with."""
    return _model() is not None


def describe(said: str, *, least: float = SURE_GROUP) -> tuple[str, str]:
    """The label of a clause, if it states something, and the group of its subject, if that has the `least` share."""
    model = _model()
    if model is None or not said.strip():
        return "fact", OTHER
    _, labels, groups = network_scores(model, said, None, [ClauseSegment(0, len(said), "")])
    label, group, *_ = _described(model, said, labels[0], groups[0], least)
    return label, group


def likeness(one: str, other: str) -> float:
    """How close two sentences are in meaning, about 0 to 1, also in two languages.

    The mean of two cosines: that of their word vectors, and that of the probabilities of their groups.
    """
    model = _model()
    if model is None:
        return 0.0
    words = _cosine(_mean_vector(model, one), _mean_vector(model, other))
    return (words + _cosine(_group_shares(model, one), _group_shares(model, other))) / 2


def _cosine(one: Weights, other: Weights) -> float:
    size = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(one @ other) / size if size else 0.0


@lru_cache(maxsize=512)
def _group_shares(model: "_Model", said: str) -> Weights:
    """The probability of each group for a clause."""
    _, _, groups = network_scores(model, said, None, [ClauseSegment(0, len(said), "")])
    slots = _slots(own_observations(said))
    return _shares(model.attributes[:, slots].sum(axis=1) * model.attributes_scale + model.attributes_bias + groups[0])


@lru_cache(maxsize=512)
def _mean_vector(model: "_Model", text: str) -> Weights:
    """The mean vector of the longer words of a text; zeros if none is known."""
    ids = [model.word_id(fold(match[0])) for match in _WORD.finditer(text) if len(match[0]) > 3]
    known = [each for each in ids if each]
    mean: Weights = model.vectors(np.array(known or [0])).mean(axis=0)
    return mean


def _described(
    model: "_Model", said: str, labels: Weights, groups: Weights, least: float = SURE_GROUP
) -> tuple[str, str, float, float]:
    """Label and group by both models ("other" where neither is sure), the probabilities of a change and of a wish."""
    slots = _slots(own_observations(said))
    named = model.labels[:, slots].sum(axis=1) * model.labels_scale + model.labels_bias + labels
    about = model.attributes[:, slots].sum(axis=1) * model.attributes_scale + model.attributes_bias + groups
    groups, best = _shares(about), int(np.argmax(about))
    group = model.names[best] if groups[best] >= least else OTHER
    shares = _shares(named)
    change = shares[[LABELS.index("change"), LABELS.index("end")]].sum()
    forget = LABELS.index("forget")
    if shares[forget] < SURE_FORGET and not _FORGET.search(said):  # because a fact that is forgotten by mistake is lost
        named[forget] = -np.inf
    return LABELS[int(np.argmax(named))], group, float(change), float(shares[LABELS.index("instruction")])


def _shares(logits: Weights) -> Weights:
    """Logits as probabilities (softmax); those of two models were added, so they are halved first."""
    odds: Weights = np.exp((logits - logits.max()) / 2)
    shares: Weights = odds / odds.sum()
    return shares


@lru_cache(maxsize=32)
def segments(text: str) -> tuple[ClauseSegment, ...]:
    """The message cut at sentence ends, commas, dashes and words that open a clause; quotations stay whole."""
    masked = _QUOTED.sub(lambda match: _MASK * len(match[0]), text)
    found, begin = [], 0
    cuts = sorted((*_CUT.finditer(masked), *run_ons(masked)), key=re.Match.start)
    for cut in [*cuts, None]:
        if cut and cut[0].isspace() and "\n" not in cut[0] and _goes_on(masked, begin, cut):
            continue
        if cut and cut[0] == "." and _ABBREVIATED.search(masked[begin : cut.start()]):  # "Dr. N. Eze"
            continue
        if cut and cut[0] == "," and _ENDS_IN_NAME.search(masked[begin : cut.start()]):  # "a friend, Ann, is ill"
            continue
        end = cut.start() if cut else len(masked)
        start = begin
        while start < end and masked[start].isspace():
            start += 1
        while end > start and masked[end - 1].isspace():
            end -= 1
        if re.search(rf"\w|{_MASK}", masked[start:end]):
            found.append(ClauseSegment(start, end, cut[0].strip() if cut else ""))
        begin = cut.end() if cut else end
    return tuple(found)


def _goes_on(masked: str, begin: int, cut: re.Match[str]) -> bool:
    """Whether the clause goes on: the opening word is after "I" or a preposition ("da quando"), or between nouns."""
    said, rest = masked[begin : cut.start()].split(), masked[cut.end() :]
    if _COUNTS_ON.match(rest):  # "3 euros and 20", "Ann of 9 and Tom of 6"
        return True
    if _JOIN.match(rest):  # "Ann and I", "two cats and a dog"
        return len(said) == 1 or (len(said) <= _SHORT and _ONLY_JOINS.match(rest) is not None)
    return bool(said) and fold(said[-1]) in all_words("facts.leaning") | all_words("facts.bound")


@lru_cache(maxsize=128)
def words_of(text: str) -> tuple[str, ...]:
    """Folded words and marks, with digits made equal."""
    return tuple(_TOKEN.findall(re.sub(r"\d", "0", fold(text.replace("\u2019", "'")))))


@lru_cache(maxsize=128)
def _is_quoting(text: str) -> bool:
    return _QUOTED.search(text) is not None


def own_observations(said: str) -> list[str]:
    """Features of a clause by itself, for its label and its group."""
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
    """Features of one segment."""
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
    if _is_quoting(said):
        seen.append("quoted")
    if index:
        last = words_of(text[spans[index - 1].start : spans[index - 1].end])
        seen += [f"P:{word}" for word in last[-3:]] + [f"PF:{word}" for word in last[:2]]
    if index + 1 < len(spans):
        seen += [f"N:{word}" for word in words_of(text[spans[index + 1].start : spans[index + 1].end])[:3]]
    opening = words_of(text[:200])[:4]
    seen += [f"M:{word}" for word in opening] + [f"MB:{'_'.join(opening[:2])}"]
    if _is_quoting(text):
        seen.append("holds a quotation")
    if before is not None:
        seen += [f"R:{word}" for word in set(words_of(before[:400])[:12])] + ["later"]
    return seen


def message_observations(text: str, before: str | None) -> list[str]:
    """Features of a whole message."""
    words = words_of(text)
    seen = [f"mu:{word}" for word in set(words)] + [f"mb:{one}_{two}" for one, two in pairwise(words)]
    seen += [f"mo:{'_'.join(words[:2])}", f"mo1:{words[0] if words else ''}"]
    if _is_quoting(text):
        seen.append("mq")
    if before is not None:
        seen += [f"mR:{word}" for word in set(words_of(before[:400])[:15])] + ["mlater"]
    return seen


def context_observations(logits: Sequence[float], index: int, whole: float, scores: Weights) -> Weights:
    """Features from the scores of both models: of the segment, its neighbours and the message."""
    own, net = logits[index], float(scores[index])
    last = logits[index - 1] if index else -3.0
    following = logits[index + 1] if index + 1 < len(logits) else -3.0
    seen = [
        own, last, following, max(logits), whole, own if whole < 0 else 0.0, sum(logits) / len(logits),
        float(index == 0), float(index + 1 == len(logits)), min(len(logits), 8) / 8, float(last > 0 and own > -1),
        float(whole < -1), net, min(net, own), float(scores[index - 1]) if index else -3.0,
        float(scores[index + 1]) if index + 1 < len(logits) else -3.0, float(max(scores)),
    ]  # fmt: skip
    return np.array(seen, dtype=np.float32)


def kind_observations(said: str, labels: Weights, groups: Weights, names: Sequence[str]) -> Weights:
    """Features from the labels and groups of a segment, so that each has its own threshold and slope."""
    shares = np.exp(groups - groups.max())
    shares /= shares.sum()
    odds = np.exp(labels - labels.max())
    length, of_oneself = min(len(said.split()), 10) / 10, _SELF.search(said) is not None
    own = (1.0, length, of_oneself, shares[names.index(OTHER)], shares.max())
    return np.append(odds / odds.sum(), own).astype(np.float32)


def token_rows(
    text: str, before: str | None, spans: Sequence[ClauseSegment], word_id: Callable[[str], int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The tokens of a message after those of the one before it, as numbers, and the segment of each (-1: of none)."""
    rows = [(*_token(match[0], word_id), 1) for match in islice(_PIECE.finditer(before or ""), _EARLIER)]
    rows.append((0, *(_bucket(f"<{number}>") for number in range(4)), *[0] * FLAGS))
    segment, starts = [-1] * len(rows), [span.start for span in spans]
    for match in islice(_PIECE.finditer(text), _LATER):
        rows.append((*_token(match[0], word_id), 0))
        place = bisect_right(starts, match.start()) - 1
        segment.append(place if place >= 0 and match.start() < spans[place].end else -1)
    return np.array(rows), np.array(segment)


@lru_cache(maxsize=20_000)
def _token(piece: str, word_id: Callable[[str], int]) -> tuple[int, ...]:
    """The word, four hashes of it, and marks: capital, all capitals, number, punctuation, no vector."""
    word = "0" * min(len(piece), 4) if piece.isdigit() else fold(piece)
    known = word_id(word)
    hashes = (_bucket(f"w{word}"), _bucket(f"p{word[:3]}"), _bucket(f"s{word[-3:]}"), _bucket(f"q{word[:5]}"))
    capitals = piece.isupper() and len(piece) > 1
    return (known, *hashes, piece[:1].isupper(), capitals, piece.isdigit(), not piece[0].isalnum(), known == 0)


def _bucket(word: str) -> int:
    return zlib.crc32(word.encode("utf-8", "replace")) % BUCKETS


def network_scores(
    model: "_Model", text: str, before: str | None, spans: Sequence[ClauseSegment]
) -> tuple[Weights, Weights, Weights]:
    """The mean scores of the networks for each segment: whether it states something, its label, its group."""
    tokens, segment = token_rows(text, before, spans, model.word_id)
    vectors = model.vectors(tokens[:, 0])
    scores = [_one_network(net, tokens, segment, vectors, len(spans)) for net in model.networks]
    stated, labels, groups = (np.mean(each, axis=0) for each in zip(*scores, strict=True))
    return stated, labels, groups


def _one_network(
    net: Mapping[str, Weights],
    tokens: NDArray[np.int64],
    segment: NDArray[np.int64],
    vectors: Weights,
    count: int,
) -> tuple[Weights, Weights, Weights]:
    x = _convolved(net, tokens, vectors)
    mean, peak = np.zeros((count, x.shape[1]), np.float32), np.full((count, x.shape[1]), -10, np.float32)
    words = np.zeros((count, vectors.shape[1]), np.float32)
    places, starts, sizes = np.unique(segment[segment >= 0], return_index=True, return_counts=True)
    if len(places):  # the tokens of a segment are consecutive
        x, own = x[segment >= 0], vectors[segment >= 0]
        mean[places] = np.add.reduceat(x, starts) / sizes[:, None]
        peak[places] = np.maximum.reduceat(x, starts)
        words[places] = np.add.reduceat(own, starts) / sizes[:, None]
    whole = peak.max(axis=0)
    beside = np.pad(mean, ((1, 1), (0, 0)))
    scores = np.broadcast_to(whole @ net["whole_weight"].T + net["whole_bias"], mean.shape)
    seen = np.concatenate([mean, peak, scores, beside[:-2] + beside[2:], words], axis=1)
    z = _relu(_product(seen, net["head_weight"].T) + net["head_bias"])
    stated = z @ net["stated_weight"].T + net["stated_bias"]
    groups = np.concatenate([z, words], axis=1) @ net["group_weight"].T + net["group_bias"]
    return stated[:, 0], z @ net["label_weight"].T + net["label_bias"], groups


def _product(rows: Weights, weight: Weights) -> Weights:
    """The product of two matrices, as many rows at a time as the library of numpy multiplies without other threads.

    Those wait for one another, which on a busy machine takes ten times the time of the product.
    """
    most = max(1, _ONE_THREAD // weight.size)
    return np.concatenate([rows[at : at + most] @ weight for at in range(0, len(rows), most)])


def _convolved(net: Mapping[str, Weights], tokens: NDArray[np.int64], vectors: Weights) -> Weights:
    """The state of each token after the convolutions."""
    hashed = net["hashed"][tokens[:, 1:5] % len(net["hashed"])].sum(axis=1)
    x = np.concatenate([vectors, hashed, tokens[:, 5:].astype(np.float32)], axis=1)
    x = _relu(_product(x, net["inner_weight"].T) + net["inner_bias"])
    for number, gap in enumerate(GAPS):
        padded = np.zeros((len(x) + 2 * gap, x.shape[1]), np.float32)
        padded[gap:-gap] = x
        seen = np.concatenate([padded[k * gap : k * gap + len(x)] for k in range(3)], axis=1)
        x = x + _relu(_product(seen, net[f"convolutions_{number}_weight"]) + net[f"convolutions_{number}_bias"])
    return x


@lru_cache(maxsize=512)
def asks(said: str) -> float:
    """How probably a message without a question mark asks something, in logits; 0 where there are no weights."""
    model, networks = _model(), _asking_networks()
    if model is None or not networks:
        return 0.0
    tokens = token_rows(said[:LONGEST_JUDGED].rstrip(_LAST_MARKS), None, (), model.word_id)[0]
    vectors, logits = model.vectors(tokens[:, 0]), 0.0
    for net in networks:
        x = _convolved(net, tokens, vectors)
        seen = np.concatenate([x.mean(axis=0), x.max(axis=0), x[0], x[-1]])
        hidden = _relu(net["head_weight"] @ seen + net["head_bias"])
        logits += float((net["asks_weight"] @ hidden + net["asks_bias"])[0]) / len(networks)
    return logits


@cache
def _asking_networks() -> tuple[Mapping[str, Weights], ...]:
    """The networks of `asks`; none, with a log line, if their file is missing or damaged."""
    try:
        with files("ricordo.people.facts").joinpath("asks.npz").open("rb") as file, np.load(file) as stored:
            return tuple(_stored_network(stored, f"net{number}_") for number in range(int(stored["networks"])))
    except Exception as error:  # numpy raises many kinds for a damaged file
        log.error("questions are told by their form alone: asks.npz: %s", type(error).__name__)
        return ()


def _relu(x: Weights) -> Weights:
    return np.maximum(x, np.float32(0))


@dataclass(frozen=True, slots=True, eq=False)
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
    words: NDArray[np.uint32]  # hashes of the known words, in order
    table: NDArray[np.uint8]  # their vectors, two values a byte
    networks: tuple[Mapping[str, Weights], ...]

    @property
    def width(self) -> int:
        """Dimensions of a word vector."""
        return 2 * int(self.table.shape[1])

    def word_id(self, word: str) -> int:
        """The row of a folded word, counted from 1; 0 for an unknown one."""
        wanted = np.uint32(zlib.crc32(word.encode("utf-8", "replace")))
        place = int(np.searchsorted(self.words, wanted))
        return place + 1 if place < len(self.words) and self.words[place] == wanted else 0

    def vectors(self, ids: NDArray[np.int64]) -> Weights:
        """The vectors of some words; zeros for unknown ones."""
        packed = self.table[np.maximum(ids - 1, 0)]
        values = np.stack([packed >> 4, packed & 15], axis=-1).reshape(len(ids), self.width).astype(np.float32) - 8
        return np.where(ids[:, None] > 0, values / np.float32(LEVELS), np.float32(0))


@cache
def _model() -> _Model | None:
    """The weights; None, with a log line, if their file is missing or damaged."""
    try:
        return _stored_model()
    except Exception as error:  # numpy raises many kinds for a damaged file
        log.error("clauses are not judged, facts come from patterns alone: judge.npz: %s", type(error).__name__)
        return None


def _stored_model() -> _Model:
    with files("ricordo.people.facts").joinpath("judge.npz").open("rb") as file, np.load(file) as stored:
        clause_bias, message_bias, threshold = (float(each) for each in stored["biases"])
        return _Model(
            stored["clause"].astype(np.float32), clause_bias, stored["message"].astype(np.float32), message_bias,
            stored["context"].astype(np.float32), threshold, stored["labels"], stored["labels_scale"],
            stored["labels_bias"], stored["attributes"], stored["attributes_scale"], stored["attributes_bias"],
            tuple(str(name) for name in stored["names"]), stored["words"], stored["table"],
            tuple(_stored_network(stored, f"net{number}_") for number in range(int(stored["networks"]))),
        )  # fmt: skip


def _stored_network(stored: Mapping[str, NDArray[np.float32]], prefix: str) -> Mapping[str, Weights]:
    own = {name.removeprefix(prefix): stored[name] for name in stored if name.startswith(prefix)}
    net = {name: value.astype(np.float32) * own.get(f"{name}_scale", np.float32(1)) for name, value in own.items()}
    for number in range(len(GAPS)):  # one product for the three tokens that a convolution sees
        weight = net[f"convolutions_{number}_weight"]
        net[f"convolutions_{number}_weight"] = weight.transpose(2, 1, 0).reshape(-1, len(weight))
    return net


def _slots(seen: Iterable[str]) -> list[int]:
    return sorted({zlib.crc32(each.encode()) % SIZE for each in seen})


def _dot(seen: Iterable[str], weights: Weights, bias: float) -> float:
    return float(weights[_slots(seen)].sum()) + bias
