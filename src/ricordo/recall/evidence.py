"""What speaks for a message: its words and its neighbours' words, its meaning, its time, its speaker, its topic.

Each function takes the index and the question and gives one number between 0 and 1 for every message (or None when
the question says nothing of that kind), so that `ranking` only has to weigh and add.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from ricordo.recall.index import OwnerIndex
from ricordo.recall.posting_list import Matches, Rows
from ricordo.recall.quantization import Vectors, similarities
from ricordo.recall.terms import fold, question_words, tokens
from ricordo.recall.time_expressions import Period

# Whom a question points at: a speaker by name, or one side of the talk by person.

_PREFIX = re.compile(r"([A-ZÀ-Þ][\w.'’-]{0,24}(?: [A-ZÀ-Þ][\w.'’-]{0,24}){0,2}):\s+\S")
# Words that open a line with a colon and are no one's name.
_NOT_NAMES_TEXT = (
    "note nota warning attenzione example esempio question domanda answer risposta summary riassunto update "
    "aggiornamento todo edit ps tip important importante error errore problem problema solution soluzione step "
    "title titolo subject oggetto date data time ora total totale result risultato input output user assistant "
    "system tool utente assistente sistema tutor studente human bot"
)
_NOT_NAMES = frozenset(_NOT_NAMES_TEXT.split())
_ME = re.compile(r"\b(?:i|i'm|i've|i'd|my|me|mine|myself|io|mio|mia|miei|mie|mi|ho|avevo|ero)\b")
_YOU = re.compile(
    r"\b(?:did|have|had|were) you\b|\byou (?:said|say|told|tell|recommend\w*|suggest\w*|advis\w*|explain\w*"
    r"|propos\w*|mention\w*|wrote|gave|answer\w*)\b|\byour (?:advice|suggestion|recommendation|answer|explanation)s?\b"
    r"|\b(?:hai|avevi) (?:\w+ )?(?:detto|consigliato|suggerito|proposto|risposto|spiegato|raccomandato|scritto"
    r"|dato|indicato|citato)\b|\b(?:tuo|tuoi|tua|tue) (?:consigli\w*|suggeriment\w*|rispost\w*|spiegazion\w*)\b"
)


def speaker_in(text: str) -> str | None:
    """The name that a message begins with, as in "Anna: ciao"; None when it begins otherwise."""
    match = _PREFIX.match(text)
    if match is None or fold(match[1]) in _NOT_NAMES:
        return None
    return match[1]


def indexed_text(content: str, name: str | None) -> str:
    """What is indexed and embedded: the words with the speaker's name before them, once."""
    return f"{name}: {content}" if name and not content.startswith(f"{name}:") else content


def named_speakers(question: str, speakers: Iterable[str]) -> frozenset[str]:
    """The speakers that a question names, in full or by first name; none when it names them all."""
    everyone = {name for name in speakers if name}
    asked = set(tokens(question))
    named = frozenset(name for name in everyone if (parts := tokens(name)) and parts[0] in asked)
    return named if len(named) < len(everyone) else frozenset()


def pointed_role(question: str) -> str | None:
    """The side that a question asks about: "assistant" for what you said, "user" for me and mine."""
    folded = fold(question.replace("\u2019", "'"))
    if _YOU.search(folded):
        return "assistant"
    return "user" if _ME.search(folded) else None


# BM25: how soon repetition stops helping, and how much length is held against a message.
_REPETITION, _LENGTH = 1.2, 0.75
_ELSEWHERE = 50  # messages imagined beside those there are: among a handful, no word is rare or common yet
_MOST_WORDS = 32  # a longer question is judged by its rarest words
_NEIGHBOUR_MEANING = 0.1
_LIKELY_WORDS = 0.5  # share of the best words from which on a message is compared in meaning whatever its bits say
_DAY = 86_400.0
_YEAR = 365.2425 * _DAY
_YEARS_BACK = 10


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """How much of the question's words each message and its neighbours say, and which rows say which word.

    `said` has a line for each of `found`, the words that anybody says, and a column for each row; the last column is of
    nobody. `worths` tells what each of these words is worth, `asked` what all of the question's words are, said or not.
    """

    share: Vectors
    found: tuple[str, ...]
    said: NDArray[np.bool_]
    worths: NDArray[np.float64]
    asked: float

    def covered_by(self, rows: Sequence[int]) -> float:
        """How much of what is asked some rows say between them, from 0 to 1: a rare word is more of it."""
        heard = float(self.worths @ self.said[:, rows].any(axis=1))
        return heard / self.asked if self.asked > 0 else 0.0

    def said_by(self, index: OwnerIndex, rows: Sequence[int]) -> list[tuple[list[str], list[str]]]:
        """The question's words that each of some messages says itself, and those that only its neighbours say."""
        links = index.links
        own = self.said[:, rows]
        near = self.said[:, links.before[rows]] | self.said[:, links.two_before[rows]] | self.said[:, links.after[rows]]
        columns = zip(own.T.tolist(), (near & ~own).T.tolist(), strict=True)
        return [(list(compress(self.found, mine)), list(compress(self.found, theirs))) for mine, theirs in columns]


def word_evidence(index: OwnerIndex, question: str, allowed: NDArray[np.bool_]) -> WordEvidence:
    """BM25 over each message together with its neighbours, as a share of the best that the filters allow.

    A neighbour's words count nearly as if said here, but a long neighbour's each count less: a page of advice
    must not lend its whole vocabulary to the short thanks that follow it.
    """
    count = len(index)
    width = count + 1  # the last place takes what falls off the ends of sessions
    asked = question_words(question)
    heard = index.postings.find([variants for _, variants in asked], count)
    holders = np.bincount(heard.words, minlength=len(asked))
    heard, chosen = _rarest(heard, holders)
    worths = _rarity(count + _ELSEWHERE, holders[chosen])
    links = index.links
    lengths = links.window_lengths
    norm = _REPETITION * (1 - _LENGTH + _LENGTH * np.append(lengths, 1) / max(float(lengths.mean()), 1.0))
    times = np.zeros((len(chosen), width), dtype=np.float32)
    cells, first = times.reshape(-1), heard.words * width
    cells[first + heard.rows] = heard.times
    said = times > 0
    lent = links.lending[heard.rows] * heard.times
    for beside in (links.after, links.two_after, links.before):
        cells[first + beside[heard.rows]] += lent
    gain = _rarity(count, holders[chosen]) * (_REPETITION + 1)
    times /= times + norm.astype(np.float32)
    times *= gain.astype(np.float32)[:, np.newaxis]
    total = times.sum(axis=0)[:count]
    best = float(total.max(initial=0, where=allowed))
    return WordEvidence(
        np.minimum(total / np.float32(best) if best > 0 else total, np.float32(1)),
        tuple(asked[at][0] for at in chosen),
        said,
        worths,
        float(worths.sum() + (holders == 0).sum() * _rarity(count + _ELSEWHERE, np.zeros(1))[0]),
    )


def _rarest(heard: Matches, holders: NDArray[np.int64]) -> tuple[Matches, NDArray[np.int64]]:
    """The sayings of the rarest words that anybody says, numbered by rarity, and which words those are."""
    said = np.flatnonzero(holders)
    chosen = said[np.argsort(holders[said], kind="stable")][:_MOST_WORDS]
    rank = np.full(len(holders), -1)
    rank[chosen] = np.arange(len(chosen))
    words = rank[heard.words]
    if len(chosen) == len(said):
        return heard._replace(words=words), chosen
    kept = words >= 0
    return Matches(words[kept], heard.rows[kept], heard.times[kept]), chosen


def _rarity(count: int, holders: NDArray[np.int64] | NDArray[np.float64]) -> NDArray[np.float64]:
    """What words are worth that so many of all messages say."""
    found: NDArray[np.float64] = np.log(1 + (count - holders + 0.5) / (holders + 0.5))
    return found


def meaning_evidence(
    index: OwnerIndex, query: Vectors | None, words: Vectors, allowed: NDArray[np.bool_]
) -> Vectors | None:
    """How near each message is in meaning, from well below the average (0) to the nearest (1).

    A message not embedded yet is taken to mean as much as its words say, neither more nor less.
    """
    if query is not None and len(query) != index.dimensions:
        raise ValueError(f"a question's vector has {len(query)} dimensions, the index {index.dimensions}")
    known = index.has_vector & allowed
    if query is None or not query.any() or not known.any():
        return None
    rows = index.near(query, np.flatnonzero(words > _LIKELY_WORDS))
    alone = similarities(index.codes.take(rows), query)
    # A little of the neighbours' meaning: an answer is near to its question's topic even when it does not name it.
    weight = np.float32(_NEIGHBOUR_MEANING) * index.links.nearness[rows]
    raw = (alone + index.links.around(rows, weight * alone)) / (1 + index.links.around(rows, weight))
    mean, spread = _typical(index, query, known, rows, alone)
    low, high = mean - 3 * spread, float(raw.max(initial=mean, where=allowed[rows]))
    if high - low < 1e-6:
        return np.where(index.has_vector, np.float32(1), words)
    meaning = np.where(index.has_vector, np.float32(0), words).astype(np.float32)
    meaning[rows] = ((raw - np.float32(low)) / np.float32(high - low)).clip(0, 1)
    return meaning


def _typical(
    index: OwnerIndex, query: Vectors, known: NDArray[np.bool_], rows: Rows, alone: Vectors
) -> tuple[float, float]:
    """Mean and spread of the similarity to all that may be found; a sample stands for very many."""
    likeness = alone[known[rows]] if index.is_exact else index.sample(query, known)
    return float(likeness.mean()), float(likeness.std())


def time_evidence(index: OwnerIndex, named: Sequence[Period]) -> Vectors | None:
    """How near each message was said to a period that the question names.

    People tell things a little later than they happen, so nearness fades slowly after a period and faster
    before it. A period that holds most messages says little, one that holds few says much, one without any
    says nothing: it is weighed like a word, by its rarity.
    """
    times, count = index.times, len(index)
    total: Vectors | None = None
    for period in named:
        start, end, inside = _messages_within(times, period)
        if not inside or count < 2:
            continue
        rarity = min(1.0, np.log(count / inside) / np.log(20))
        late, early = _DAY + (end - start) / 8, _DAY / 2 + (end - start) / 16
        gap = np.where(times >= end, (times - end) / late, np.where(times < start, (start - times) / early, 0.0))
        nearness = (rarity * np.exp(-gap)).astype(np.float32)
        total = nearness if total is None else np.maximum(total, nearness)
    return total


def _messages_within(times: NDArray[np.float64], period: Period) -> tuple[float, float, int]:
    """Beginning and end of a period and how many messages are from then or, where there are none, from the day after.

    The day after does not count otherwise: after yesterday comes today, and that may be all the talk there is. One that
    recurs every year is looked for in earlier years until there are messages.
    """
    start, end = period.start.timestamp(), period.end.timestamp()
    for years in range(_YEARS_BACK if period.recurs else 1):
        first, last = start - years * _YEAR, end - years * _YEAR
        since = times[times >= first]
        inside = int((since < last).sum()) or int((since < last + _DAY).sum())
        if inside:
            return first, last, inside
    return start, end, 0


def speaker_evidence(index: OwnerIndex, question: str) -> Vectors | None:
    """One for the messages of whom the question points at: a named speaker, or one side of the talk."""
    named = named_speakers(question, index.speakers.names)
    if named:
        return index.speakers.among(named).astype(np.float32)
    role = pointed_role(question)
    if role is None or len(index.roles.names) < 2:
        return None
    return index.roles.among([role]).astype(np.float32)


def topic_evidence(index: OwnerIndex, topics: Mapping[str, float]) -> Vectors | None:
    """How near each message's topic is to the question, as far as the caller knows."""
    if not topics:
        return None
    # One place more than there are names: messages without a topic have the code -1 and find a zero there.
    worth = np.zeros(len(index.topics.names) + 1, dtype=np.float32)
    for place, name in enumerate(index.topics.names):
        worth[place] = min(1.0, max(0.0, topics.get(name, 0.0)))
    found: Vectors = worth[index.topics.codes]
    return found
