"""Conversations to measure with: the same words for every system, of realistic length, cheap to make by the million.

In: a session's name and a turn's index. Out: a question (median 25 words) and an answer (median 100 words), each
opened by a mark that says where it belongs. Bodies come from a pool, so that a million turns cost no time to write.
"""

import random
from collections.abc import Iterator
from functools import cache
from zlib import crc32

POOL = 1_000
TIGHT = "tight"  # in this session two turns fill the window's 2,000 tokens and three do not fit

_VOCABULARY = """
the a of and to in is it that for on with as this be by are or from at which when what how why can not but if then
time memory answer question turn window budget token model prompt session history page line table index write read
student lesson doctor patient recipe flour water oven river mountain train ticket price contract market energy light
small large early late clear simple careful several another between because during without against perhaps usually
explain compare remember describe measure improve consider suppose therefore however example reason result problem
il la di che e un una per non con del sono come anche più ma quando perché dove questo quella nella degli ogni
memoria domanda risposta lezione capitolo esempio esercizio febbre grado pane lievito forno strada treno biglietto
prezzo mercato energia luce piccolo grande chiaro semplice spesso sempre forse quindi però prima dopo durante senza
spiegare ricordare scrivere leggere misurare confrontare pensare trovare
"""
WORDS = _VOCABULARY.split()


def turn(session: str, index: int) -> tuple[str, str]:
    """The question and the answer of one turn."""
    question, answer = _pool()[(crc32(session.encode()) + 7 * index) % POOL]
    if session == TIGHT:
        answer = _body(random.Random(index), 560)
    return f"[{session} {index} u]{question}", f"[{session} {index} a]{answer}"


def turns(session: str, count: int, start: int = 0) -> Iterator[tuple[str, str]]:
    """Many turns of a session, in order."""
    return (turn(session, index) for index in range(start, start + count))


def window(session: str, count: int, most: int = 3) -> list[list[str]]:
    """What the window of a session with `count` turns must hold."""
    kept = turns(session, min(most, count), max(0, count - most))
    return [[role, text] for pair in kept for role, text in zip(("user", "assistant"), pair, strict=True)]


def mark(text: str) -> str:
    """Where a text belongs."""
    return text[: text.index("]") + 1]


def chunks(index: int, count: int = 8) -> list[tuple[str, str]]:
    """What retrieval brings for the `index`-th question: some of a document's 40 passages."""
    return [_document()[(5 * index + n) % 40] for n in range(count)]


SYSTEM_PROMPT = "You are a patient tutor. " + " ".join(WORDS[:150])


@cache
def _pool() -> tuple[tuple[str, str], ...]:
    rng = random.Random("ricordo")
    return tuple((_body(rng, _length(rng, 25, 75)), _body(rng, _length(rng, 100, 300))) for _ in range(POOL))


@cache
def _document() -> tuple[tuple[str, str], ...]:
    return tuple((f"doc-{n}", _body(random.Random(f"doc-{n}"), 120)) for n in range(40))


def _length(rng: random.Random, median: int, most: int) -> int:
    return max(3, min(most, round(median * rng.lognormvariate(0, 0.6))))


def _body(rng: random.Random, words: int) -> str:
    """A text that begins with a space, as it follows a mark."""
    return "".join(f" {WORDS[int(len(WORDS) * rng.random() ** 1.5)]}" for _ in range(words))
