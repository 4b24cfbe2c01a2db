"""How much of a question some texts speak of: each word of the question has a worth, and a share of it is covered.

A word that much of the material says is worth little, one that nothing says is worth most: what is asked and never
mentioned is the best sign that the answer is not there. Stems count as the same when one begins like the other.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ricordo.answering.asking import AskedWord, asked_words
from ricordo.recall.words import guess_language, stems

_ELSEWHERE = 20  # passages imagined beside those offered: they were found by these very words
_SHORTEST_BEGINNING = 5
_LONGEST_ENDING = 4
_ALIKE = 0.75  # what a word of the same beginning is worth of the word itself


@dataclass(frozen=True, slots=True)
class Weighed:
    """A question's words with their worth in some material, and which of its stems stand for each."""

    words: tuple[AskedWord, ...]
    worths: tuple[float, ...]
    matches: tuple[Mapping[str, float], ...]

    @property
    def asked(self) -> float:
        """What all words are worth together."""
        return sum(self.worths)

    def heard(self, said: Collection[str]) -> tuple[float, ...]:
        """How well each word is said, from 0 to 1."""
        return tuple(_best(matches, said) for matches in self.matches)

    def share(self, heard: Sequence[float]) -> float:
        """The worth of what is heard as a share of all that is asked; 0 for a question without a subject."""
        total = self.asked
        return min(1.0, sum(w * h for w, h in zip(self.worths, heard, strict=True)) / total) if total > 0 else 0.0


def weigh(words: Sequence[AskedWord], material: Sequence[Collection[str]]) -> Weighed:
    """What each word of a question is worth among passages, given as the stems they say."""
    holders = Counter(each for said in material for each in set(said))
    matches = tuple(_matching(word, holders) for word in words)
    count = len(material) + _ELSEWHERE
    worths = []
    for word, found in zip(words, matches, strict=True):
        saying = sum(1 for said in material if any(each in said for each in found)) if found else 0
        if word.beside and not found:
            worths.append(0.0)
            continue
        worths.append(word.worth * math.log(1 + (count - saying + 0.5) / (saying + 0.5)))
    return Weighed(tuple(words), tuple(worths), matches)


def coverage(question: str, texts: Iterable[str]) -> float:
    """The share of a question's subject that texts speak of, each word weighed as above; more texts never say less."""
    said = {each for text in texts for each in stems(text, guess_language(text))}
    every = asked_words(question)
    words = [word for word in every if not word.beside] or every
    # Worths must not move with the texts: each word counts as rare, a light verb as little.
    total = sum(word.worth for word in words)
    heard = sum(word.worth * _best(_matching(word, said), said) for word in words)
    return min(1.0, heard / total) if total > 0 else 0.0


def _best(matches: Mapping[str, float], said: Collection[str]) -> float:
    return max((likeness for each, likeness in matches.items() if each in said), default=0.0)


def _matching(word: AskedWord, vocabulary: Iterable[str]) -> dict[str, float]:
    found = {}
    for each in vocabulary:
        if each in word.stems:
            found[each] = 1.0
        elif any(_alike(each, own) for own in word.stems):
            found[each] = _ALIKE
    return found


def _alike(one: str, other: str) -> bool:
    """Whether two stems begin alike and differ only in a short ending: ustion-, ustionat-."""
    short, long = sorted((one, other), key=len)
    return len(short) >= _SHORTEST_BEGINNING and len(long) - len(short) <= _LONGEST_ENDING and long.startswith(short)
