"""The fitted numbers behind the choice of a turn's topic: weights of observations, and what is chance.

Weights are in spreads of chance, so that one set serves all embedders that see meaning. An embedder that sees only
words has a set in which words in common count more.
"""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Chance:
    """Mean and spread of the cosines of unrelated texts of one session: questions, answers, whole turns."""

    question: tuple[float, float]
    answer: tuple[float, float]
    turn: tuple[float, float]

    def of_question(self, cosine: float) -> float:
        """A question's cosine, in spreads above chance."""
        return (cosine - self.question[0]) / self.question[1]

    def of_answer(self, cosine: float) -> float:
        """An answer's cosine, in spreads above chance."""
        return (cosine - self.answer[0]) / self.answer[1]

    def moved(self, by: float) -> "Chance":
        """This chance with every mean moved."""
        (question, first), (answer, second), (turn, third) = self.question, self.answer, self.turn
        return Chance((question + by, first), (answer + by, second), (turn + by, third))


@dataclass(frozen=True, slots=True)
class SubjectWeights:
    """How much each observation counts for staying, for returning, and for small talk."""

    stay: Mapping[str, float]
    back: Mapping[str, float]
    small: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class SubjectScale:
    """What whole turns are judged by: what is chance for an embedder, and the weights."""

    chance: Chance
    weights: SubjectWeights

    def moved(self, by: float) -> "SubjectScale":
        """This scale with a threshold set by hand, so much above the measured one."""
        return SubjectScale(self.chance.moved(by), self.weights)


BY_MEANING = SubjectWeights(
    stay={
        "answer_shared": 0.34,
        "asks": -1.27,
        "bias": 0.58,
        "turn_centre": 0.62,
        "question_centre": 0.67,
        "answer_centre": 0.58,
        "defines": -4.04,
        "answer_gain": 0.63,
        "joins": -0.25,
        "length": -3.24,
        "new_words": -0.48,
        "points": 0.57,
        "names": -1.59,
        "shared": 0.18,
        "shared_part": 1.81,
        "turn_lead": 0.39,
        "no_word": 2.35,
        "one_word": 1.42,
        "two_words": 0.99,
        "refers": 0.77,
        "follows": 0.57,
    },
    back={
        "answer_shared": 0.51,
        "bias": -3.18,
        "turn_centre": 1.11,
        "turn_recent": 0.56,
        "answer_centre": 0.37,
        "past": 1.57,
        "shared": 2.18,
        "turn_lead": 0.24,
    },
    small={
        "empty": 0.96,
        "asks": -2.42,
        "exclaims": 5.03,
        "bias": -0.17,
        "defines": -1.49,
        "first": 0.47,
        "first_reply": 1.19,
        "answer_length": -1.69,
        "only_polite": 1.61,
        "polite": 1.50,
        "content": -0.94,
        "reply": 4.19,
    },
)

BY_WORDS = SubjectWeights(
    stay={
        "answer_shared": 2.17,
        "asks": -0.77,
        "bias": 2.12,
        "question_centre": 0.09,
        "answer_centre": 0.25,
        "defines": -4.09,
        "answer_gain": 0.03,
        "joins": 0.08,
        "length": -3.68,
        "new_words": -0.24,
        "points": 0.81,
        "names": -1.43,
        "shared": 0.81,
        "shared_part": 2.37,
        "no_word": 2.62,
        "one_word": 1.88,
        "two_words": 1.19,
        "refers": 0.37,
        "follows": 0.53,
    },
    back={
        "answer_shared": 2.35,
        "bias": -2.70,
        "turn_centre": 0.41,
        "turn_recent": 0.11,
        "question_centre": 0.21,
        "answer_centre": 0.04,
        "past": 2.91,
        "shared": 2.98,
    },
    small={
        "empty": -0.11,
        "asks": -2.37,
        "exclaims": 5.27,
        "bias": -0.28,
        "defines": -1.38,
        "first": 0.56,
        "first_reply": 1.17,
        "answer_length": -1.73,
        "only_polite": 1.76,
        "polite": 1.64,
        "content": -0.91,
        "reply": 4.04,
    },
)
