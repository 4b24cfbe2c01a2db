"""Which past messages answer a question, whether any does, and which one counts now.

Pure: a question and messages go in, scored messages come out. A first model ranks them by meaning, words, speaker and
date, and by whether something of the wanted type (a name, an age, a time) stands near those words. Two more tell from
the best of them whether the talk knows the subject of the question, and whether it holds the detail that is asked for.
A last one tells whether a later message replaces the best one. All are logistic models with weights fitted on labelled
talk (docs/answering.md).
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import lru_cache
from operator import mul

from ricordo.chat.answer_weights import ANSWERED, RANKING, RELATED, REPLACED
from ricordo.chat.past import AMOUNT, NAMING, NOWHERE, UNTYPED, MemoryPassage, MessageWords
from ricordo.chat.question import ANSWER_TYPES, MemoryQuestion, folded, forms, heard, synonyms
from ricordo.languages.registry import AnyLanguage
from ricordo.languages.text import guess_language
from ricordo.recall.evidence import snowball_stems, tokens

# Quotes without anything of these types answer no question for it.
_MUST_HOLD = frozenset(("age", "surname", "brand", "colour", "amount", "number", "time"))
_PRECISELY_HELD = {
    "clock": AnyLanguage(r"\b\d{1,2}[:.]\d\d\b|<dialogue.held:clock>", flags=0),
    "year": AnyLanguage(r"\b(?:1[5-9]|20)\d\d\b|<dialogue.held:year>", flags=0),
    "duration": AnyLanguage(r"<dialogue.held:duration>", flags=0),
    "frequency": AnyLanguage(r"<dialogue.held:frequency>", flags=0),
    "date": AnyLanguage(r"\d+[/.]\d+|<dialogue.held:date>", flags=0),
}
_NAMED = AnyLanguage(r"\b(?:<dialogue.wanted:name>)\b", flags=0)
_REASON = AnyLanguage(r"<dialogue.held:reason>", flags=0)
CHANGED = AnyLanguage(r"\b(?:<dialogue.changed>)\b", flags=0)
_NEWEST = AnyLanguage(r"\b(?:<dialogue.wanted:newest>)\b", flags=0)
POINTING = AnyLanguage(r"\b(?:<dialogue.held:pronoun>)\b", flags=0)
_AROUND, _BEFORE = 0.6, 0.45  # weight of a word in the other message of the turn, and in the turn before
_SHAPE = re.compile(r"\d")  # of a number, with its separators: 62 and 44 have the same one
_DOUBTED = 0.7  # most certain where the thing that is asked for was not named
_SAME_FROM = 0.5  # share of the best message's coverage that one needs that counts instead of it
_OWN_SUBJECT = 2  # words by which a message speaks of something else
_OUTDATED_FROM = 0.2  # least probability that the best message replaces another, which is then not quoted beside it
_SMOOTHING = 6
_COMPARED = 3  # passages after the best one that it may replace
_COVERED, _COUNTED, _ANSWERS = 4, 12, 16  # places of features that are shown beside the probability
_MISSING = (NAMING, ("age",), ("colour", "code", "surname"), ("amount", "number"), ("time",), ("place",))
# A wrong name, age or amount misleads more than none: the nearest needs more for these.
_MISTAKEN, _MISTAKEN_FROM = frozenset(("name", "surname", "brand", "age", "amount")), 0.35
RELATED_FROM, NEAR_FROM, ANSWERED_FROM, REPLACED_FROM = 0.3, 0.25, 0.75, 0.2  # measured: docs/answering.md


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A passage with the probability that it holds the answer, and the share of the question that it covers."""

    passage: MemoryPassage
    probability: float
    coverage: float
    answers: bool = False  # something of the wanted type stands in it
    counted: bool = False  # a number stands right before what is counted
    replaced: bool = False  # the best passage, said later, replaces it


@dataclass(frozen=True, slots=True)
class Findings:
    """The scored passages, best first; how probably they know the subject, and how probably they hold the detail.

    `current` is a later message that replaces the best one, if any; `is_near`: the best one may answer, and is quoted
    as the nearest.
    """

    passages: tuple[ScoredMemory, ...]
    related: float = 0.0
    answered: float = 0.0
    current: ScoredMemory | None = None
    is_near: bool = False

    @property
    def is_answer(self) -> bool:
        """Whether the best passage answers the question."""
        return self.answered >= ANSWERED_FROM


@dataclass(frozen=True, slots=True)
class _Held:
    """What a message holds of a question: words of the question, possible answers, and how they stand together."""

    words: MessageWords
    fillers: list[int]
    heard: dict[int, frozenset[int]]
    gap: int

    @staticmethod
    def of(asked: MemoryQuestion, text: str) -> "_Held":
        words = MessageWords.of(text)
        said = words.heard(asked)
        fillers = [at for at in words.fillers(asked) if at not in said]
        return _Held(words, fillers, said, words.distance(asked, fillers, list(said)))

    def in_clause(self, worths: Sequence[float]) -> float:
        """The most of the question that one clause with a possible answer holds, as the sum of its words' weights."""
        clauses = {self.words.clauses[at] for at in self.fillers}
        found: dict[int, set[int]] = {}
        for at, numbers in self.heard.items():
            if self.words.clauses[at] in clauses:
                found.setdefault(self.words.clauses[at], set()).update(numbers)
        return max((sum(worths[number] for number in numbers) for numbers in found.values()), default=0.0)

    def counted(self, asked: MemoryQuestion) -> bool:
        """Whether a number stands right before what is counted."""
        noun = forms(asked.noun)
        return any(
            heard(noun, frozenset(), said)
            for at in self.words.matching("number")
            for said in self.words.stems[at + 1 : at + 4]
        )


@dataclass(frozen=True, slots=True)
class _Offered:
    """The messages that are offered for a question, with what is compared among all of them."""

    asked: MemoryQuestion
    passages: Sequence[MemoryPassage]
    own: Sequence[frozenset[str]]
    turns: dict[tuple[str, int], str]
    worths: Sequence[float]
    cosine: tuple[float, float, float]  # mean, spread, greatest
    rank: dict[datetime, float]

    @staticmethod
    def of(asked: MemoryQuestion, passages: Sequence[MemoryPassage]) -> "_Offered":
        own = [stems_of(each.text) for each in passages]
        turns: dict[tuple[str, int], str] = {}
        for passage in passages:
            turn = (passage.session_id, passage.turn_number)
            turns[turn] = f"{turns.get(turn, '')} {passage.text}"
        cosines = [each.cosine for each in passages]
        mean = sum(cosines) / max(1, len(cosines))
        spread = math.sqrt(sum((each - mean) ** 2 for each in cosines) / max(1, len(cosines))) + 0.02
        order = sorted({each.said_at for each in passages})
        rank = {moment: at / max(1, len(order) - 1) for at, moment in enumerate(order)}
        worths = _worths(asked, own)
        return _Offered(asked, passages, own, turns, worths, (mean, spread, max(cosines, default=0.0)), rank)

    def row(self, at: int) -> tuple[float, ...]:
        """What is known of one message; `_COVERED`, `_ANSWERS` and `_COUNTED` are places in it."""
        passage, plain = self.passages[at], folded(self.passages[at].text)
        held = _Held.of(self.asked, passage.text)
        return (
            1.0,
            *self._by_words(at),
            *_by_count(self.asked, held, self.own[at]),
            *_by_type(self.asked, held),
            *_by_speaker(self.asked, passage),
            *self._by_names(passage),
            *self._by_answer(held),
            *_by_kind(self.asked, held, plain),
            float(passage.text.rstrip().endswith("?")),
            float(len(self.own[at]) < 3),
            self.rank[passage.said_at],
            float(CHANGED.search(plain) is not None),
            min(1.0, len(self.own[at]) / 20),
        )

    def _by_words(self, at: int) -> tuple[float, ...]:
        """Meaning, and the share of the question in the message, its turn and the turn before."""
        asked, passage, total = self.asked, self.passages[at], sum(self.worths) or 1.0
        pairs = list(zip(asked.terms, asked.alike, strict=True))
        said = [heard(term, like, self.own[at]) for term, like in pairs]
        near = _at_least(said, _AROUND, pairs, passage.around)
        wide = _at_least(near, _BEFORE, pairs, self._beside(passage, -1))
        covered = (sum(map(mul, self.worths, each)) / total for each in (said, near, wide))
        fresh = len(self.own[at].difference(*asked.terms)) if asked.terms else len(self.own[at])
        mean, spread, greatest = self.cosine
        return (
            (passage.cosine - mean) / spread,
            passage.cosine - greatest,
            *covered,
            sum(each == 0 for each in wide) / max(1, len(wide)),
            float(not any(said)),
            float(not asked.terms),
            min(wide, default=0.5),
            float(fresh < 2),
            min(1.0, fresh / 8),
        )

    def _beside(self, passage: MemoryPassage, step: int) -> str:
        """The turn before or after the one of a message."""
        return self.turns.get((passage.session_id, passage.turn_number + step), "")

    def _by_names(self, passage: MemoryPassage) -> tuple[float, ...]:
        """Whether the names of the question are in the message, or at least around it."""
        names = self.asked.names.difference(_names(passage.text))
        around = (_names(passage.around), _names(self._beside(passage, -1)), _names(self._beside(passage, 1)))
        return (float(bool(names)), float(bool(names.difference(*around))), float(bool(self.asked.names) and not names))

    def _by_answer(self, held: _Held) -> tuple[float, ...]:
        """How a possible answer and the words of the question stand together."""
        unsaid = len(self.asked.terms) - len(frozenset().union(*held.heard.values()))
        linked = held.words.are_linked(held.fillers, list(held.heard))
        naming = self.asked.wanted == "name" and bool(held.fillers) and bool(held.heard or not self.asked.terms)
        named = naming and _NAMED.search(folded(held.words.text)) is not None
        return (
            float(bool(held.fillers)),
            held.in_clause(self.worths) / (sum(self.worths) or 1.0),
            float(linked),
            float(named),
            float(naming and not (named or linked)),
            1 / (1 + held.gap) if held.fillers else 0.0,
            min(3, unsaid) / 3,
            float(bool(self.asked.terms) and not unsaid),
        )


def _by_count(asked: MemoryQuestion, held: _Held, own: Collection[str]) -> tuple[float, ...]:
    """Whether what is counted or asked for ("which instrument") is there, and a number before it."""
    counting = bool(asked.noun) and asked.counts
    counted = counting and held.counted(asked)
    return (
        float(counted),
        float(counting and not counted),
        float(bool(asked.noun)),
        float(bool(asked.noun) and heard(forms(asked.noun), frozenset(), own) > 0),
    )


def _by_type(asked: MemoryQuestion, held: _Held) -> tuple[float, ...]:
    """Whether something of the wanted type is there, and how near the words of the question."""
    kind, typed = asked.wanted, asked.wanted not in UNTYPED
    answers, gap = typed and bool(held.fillers), held.gap if typed else NOWHERE
    missing = typed and not answers
    return (
        float(answers),
        float(missing),
        1 / (1 + gap) if answers else 0.0,
        *(float(missing and kind in kinds) for kinds in _MISSING),
        float(asked.own_name and answers),
        float(asked.own_name and not answers),
    )


def _by_speaker(asked: MemoryQuestion, passage: MemoryPassage) -> tuple[float, ...]:
    """Whether the speaker is the wanted one."""
    return (
        float(passage.role == asked.speaker),
        float(asked.speaker == "user" and passage.role == "assistant"),
        float(asked.seeks_advice and passage.role == "assistant"),
    )


def _by_kind(asked: MemoryQuestion, held: _Held, plain: str) -> tuple[float, ...]:
    """Whether a wanted clock time, date, reason or person is there."""
    precise = bool(asked.precise) and _PRECISELY_HELD[asked.precise].search(plain) is not None
    return (
        float(precise),
        float(bool(asked.precise) and not precise),
        float(asked.wanted == ""),
        float(asked.wanted == "reason" and _REASON.search(plain) is not None),
    )


def features(asked: MemoryQuestion, passages: Sequence[MemoryPassage]) -> list[tuple[float, ...]]:
    """What is known of each passage, as numbers; `RANKING` weighs them."""
    offered = _Offered.of(asked, passages)
    return [offered.row(at) for at in range(len(passages))]


def _at_least(
    known: Sequence[float], share: float, pairs: Sequence[tuple[frozenset[str], frozenset[str]]], text: str
) -> list[float]:
    """How well each word is heard, where what another text holds counts by a share."""
    said = stems_of(text) if text else frozenset()
    return [max(one, share * heard(term, like, said)) for one, (term, like) in zip(known, pairs, strict=True)]


def question_features(
    asked: MemoryQuestion, passages: Sequence[MemoryPassage], rows: Sequence[tuple[float, ...]], logits: Sequence[float]
) -> tuple[float, ...]:
    """What is known of a question and its best passage, as numbers; `RELATED` and `ANSWERED` weigh them."""
    order = sorted(range(len(logits)), key=lambda at: -logits[at])
    best = logits[order[0]]
    lead = min(4.0, best - logits[order[1]]) if len(order) > 1 else 4.0
    total = math.log(sum(math.exp(each) for each in logits))
    kinds = (float(asked.wanted == kind) for kind in ANSWER_TYPES)
    top = rows[order[0]]
    close = max(passage.cosine for passage in passages)
    length = min(1.0, len(asked.text.split()) / 12)
    general = not asked.is_personal  # then meaning alone is weak evidence
    foreign = guess_language(asked.text) != guess_language(passages[order[0]].text)
    return (
        1.0, best, lead, total, close, top[1], *top[3:], *kinds, length,
        float(general), float(general and top[_COVERED] == 0), float(foreign),
    )  # fmt: skip


def replacement_features(
    asked: MemoryQuestion, passages: Sequence[MemoryPassage], logits: Sequence[float], best: int, by: int | None = None
) -> dict[int, tuple[float, ...]]:
    """What is known of later messages, or one, that may replace the best one, as numbers; `REPLACED` weighs them."""
    old, old_stems = passages[best], stems_of(passages[best].text)
    before, plain = MessageWords.of(old.text), folded(old.text)
    typed, wanted = asked.wanted not in UNTYPED, frozenset[str]().union(*asked.terms)
    gone = {before.plain[each] for each in before.fillers(asked)} if typed else set[str]()
    shapes, precise = _shapes(before), _PRECISELY_HELD.get(asked.precise)
    others = [stems_of(each.text) for each in passages if each is not old]
    found: dict[int, tuple[float, ...]] = {}
    for at in range(len(passages)) if by is None else (by,):
        new = passages[at]
        if not _may_replace(new, old):
            continue
        words, said, own = MessageWords.of(new.text), folded(new.text), stems_of(new.text)
        answers = {words.plain[each] for each in words.fillers(asked)} if typed else set[str]()
        taken_up = max((len(own & each) for each in others if each != own), default=0)
        found[at] = (
            1.0,
            logits[best] - logits[at],
            float(bool((old_stems & own) - wanted)),
            float(bool(own & wanted)),
            float(precise is not None and precise.search(said) is not None and precise.search(plain) is not None),
            float(new.session_id == old.session_id),
            float(new.role == old.role),
            min(1.0, len(words.plain) / 30),
            new.cosine - old.cosine,
            new.cosine,
            float(bool(answers) and CHANGED.search(said) is not None),
            float(_NEWEST.search(asked.text) is not None),
            float(bool(shapes and shapes & _shapes(words))),
            min(3, taken_up) / 3,
            float(bool(answers - gone) and not gone.isdisjoint(words.plain)),  # "Osric left, I swim with Bettina"
        )
    return found


def _shapes(words: MessageWords) -> set[str]:
    """The forms of the numbers of a message."""
    return {_SHAPE.sub("0", word) for word in words.plain if word[0].isdigit()}


def _may_replace(new: MemoryPassage, old: MemoryPassage) -> bool:
    later = new.said_at > old.said_at and (new.session_id, new.turn_number) != (old.session_id, old.turn_number)
    return later and (new.role == "user" or old.role == "assistant")


def _worths(asked: MemoryQuestion, own: Sequence[Collection[str]]) -> list[float]:
    count = len(own) + _SMOOTHING
    return [
        _rarity(sum(1 for said in own if heard(term, like, said) > 0), count)
        for term, like in zip(asked.terms, asked.alike, strict=True)
    ]


def _rarity(saying: int, count: int) -> float:
    return math.log(1 + (count - saying + 0.5) / (saying + 0.5))


@lru_cache(maxsize=2_048)
def stems_of(text: str) -> frozenset[str]:
    """The stems of a message; messages are asked about again and again."""
    return frozenset(snowball_stems(text, guess_language(text)))


@lru_cache(maxsize=2_048)
def _names(text: str) -> frozenset[str]:
    """The words of a message, and without a genitive s: "Odile's" speaks of Odile."""
    return frozenset(form for word in tokens(text) for form in (word, word.removesuffix("s"), f"{word}s"))


def score_memory(asked: MemoryQuestion, passages: Sequence[MemoryPassage]) -> Findings:
    """Every passage with its probability, best first; whether the best one answers, and what replaces it."""
    if not passages:
        return Findings(())
    rows = features(asked, passages)
    logits = [_weighed(RANKING, row) for row in rows]
    best = question_features(asked, passages, rows, logits)
    found = [
        ScoredMemory(passage, _probability(logit), row[_COVERED], answers=row[_ANSWERS] > 0, counted=row[_COUNTED] > 0)
        for passage, row, logit in zip(passages, rows, logits, strict=True)
    ]
    first, *others = sorted(range(len(logits)), key=lambda at: -logits[at])
    for at in others[:_COMPARED]:
        if _replacing(replacement_features(asked, passages, logits, at, first), _OUTDATED_FROM) is not None:
            found[at] = replace(found[at], replaced=True)
    later = replacement_features(asked, passages, logits, first)
    newest = _replacing(later, REPLACED_FROM)
    current = found[newest] if newest is not None and _may_count(asked, found[newest], found[first]) else None
    ordered = (found[first], *(found[at] for at in others))
    answered = min(_probability(_weighed(ANSWERED, best)), 1.0 if _names_it(asked, ordered[:2]) else _DOUBTED)
    related = _probability(_weighed(RELATED, best))
    near = related >= RELATED_FROM and answered >= (_MISTAKEN_FROM if asked.wanted in _MISTAKEN else NEAR_FROM)
    return Findings(ordered, related, answered, current, near)


def _names_it(asked: MemoryQuestion, best: Sequence[ScoredMemory]) -> bool:
    """Whether the best messages name what an untyped question asks for ("which airline") or wants confirmed.

    "My knee hurts" does not say which knee: a word beside it has to.
    """
    if asked.wanted or asked.is_list or not (asked.noun or asked.is_yes_no):
        return True
    if asked.for_advice and best[0].passage.role == "assistant" and not asked.is_yes_no:
        return True  # "which method did you suggest": advice need not be called one
    said = " ".join(f"{each.passage.text} {each.passage.around}" for each in best)
    if asked.is_yes_no:
        return all(heard(*pair, stems_of(said)) for pair in zip(asked.terms, asked.alike, strict=True))
    return MessageWords.of(said).tells_which(forms(asked.noun), synonyms(asked.noun))


def _replacing(later: dict[int, tuple[float, ...]], least: float) -> int | None:
    """The message that most probably replaces another one, if any does."""
    chances = {at: _probability(_weighed(REPLACED, row)) for at, row in later.items()}
    newest = max(chances, key=lambda at: chances[at], default=None)
    return newest if newest is not None and chances[newest] >= least else None


def _may_count(asked: MemoryQuestion, new: ScoredMemory, best: ScoredMemory) -> bool:
    """Whether a later message may count instead of the best one: it answers as well, and speaks of nothing else."""
    known, told = (MessageWords.of(each.passage.text).names for each in (best, new))
    if asked.words & known and not known & told and told - known:  # "when does Leo play": Mina plays on Sundays
        return False
    if best.answers and not new.answers:
        return False
    shared = stems_of(new.passage.text) & stems_of(best.passage.text)
    if new.coverage >= _SAME_FROM * best.coverage > 0 or any(not AMOUNT.fullmatch(each) for each in shared):
        return True
    own = [word for word in MessageWords.of(new.passage.text).subjects() if not CHANGED.search(word)]
    return len(own) < _OWN_SUBJECT or POINTING.search(folded(new.passage.text)) is not None


def lacks_detail(asked: MemoryQuestion, chosen: Sequence[ScoredMemory]) -> bool:
    """Whether a question wants something of a certain type, as a clock time, that none of the messages holds."""
    if not any(holds_precisely(asked, each.passage.text) for each in chosen):
        return True
    return asked.wanted in _MUST_HOLD and not any(each.answers for each in chosen)


def holds_precisely(asked: MemoryQuestion, text: str) -> bool:
    """Whether a text has the clock time, duration or frequency that a question wants; true where it wants none."""
    exact = asked.precise in ("clock", "duration", "frequency")
    return not exact or _PRECISELY_HELD[asked.precise].search(folded(text)) is not None


def lacks_purpose(asked: MemoryQuestion, chosen: Sequence[ScoredMemory]) -> bool:
    """Whether a question for an amount names what it is paid for, and none of the messages or their turns does."""
    said = stems_of(" ".join(f"{each.passage.text} {each.passage.around}" for each in chosen))
    return bool(asked.paid_for) and not heard(forms(asked.paid_for), synonyms(asked.paid_for), said)


def _weighed(weights: Sequence[float], row: Sequence[float]) -> float:
    return sum(weight * value for weight, value in zip(weights, row, strict=True))


def _probability(logit: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, logit))))
