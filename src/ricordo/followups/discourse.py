"""What the last answer named: its noun phrases with number, gender, place, neighbours and appositions.

A pronoun, a description ("that milk", "quelle serate") or a question about the answer is bound to one of these
entities by a few observations: words of the question that stand beside the entity in the answer, agreement, the head
of the description, recency. Where nothing speaks for an entity, the topic of the question stays the antecedent.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from ricordo.followups.phrases import Phrase, phrases
from ricordo.followups.reference import ReferenceCue
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import WordSpans, split_words, stem

_SENTENCE = re.compile(r"(?<=[.!?;…])\s+|\n+")
_READ = 1_500  # characters of an answer
_BESIDE = 3  # tokens
_LONGEST = 6  # words of an entity
_ROOT = 5
DESCRIBED = 1.6  # the same for a description whose head the answer does not hold
BOUND = 2.3  # the least score with which a pronoun is bound to an entity of the answer


@dataclass(frozen=True, slots=True)
class Entity:
    """One noun phrase of an answer; `beside` are roots of the words around it, `apposed` what it is called there."""

    phrase: Phrase
    sentence: int
    gender: str
    plural: bool | None
    beside: frozenset[str]
    apposed: str = ""
    last: bool = False


def root(word: str) -> str:
    """The beginning that forms of one word share ("smash", "smashed")."""
    bare = stem(word)
    return bare[:_ROOT] if len(bare) > _ROOT else bare


@lru_cache(maxsize=256)
def entities(answer: str, language: FollowUpWords) -> tuple[Entity, ...]:
    """The noun phrases of an answer, in order."""
    found: list[Entity] = []
    for number, sentence in enumerate(_SENTENCE.split(answer[:_READ])):
        line = split_words(sentence)
        inside = [phrase for phrase in phrases(line, language) if len(phrase.words) <= _LONGEST]
        for at, phrase in enumerate(inside):
            apposed = _apposed(sentence, inside, at, language)
            gender, plural = _agreement(phrase, language)
            found.append(Entity(phrase, number, gender, plural, _beside(line, phrase, language), apposed))
    if found:
        final = found[-1]
        found[-1] = Entity(
            final.phrase, final.sentence, final.gender, final.plural, final.beside, final.apposed, last=True
        )
    return tuple(found)


def _beside(line: WordSpans, phrase: Phrase, language: FollowUpWords) -> frozenset[str]:
    first, last = line.token_at_offset(phrase.start), line.token_at_offset(phrase.end - 1)
    around = [*range(max(0, first - _BESIDE), first), *range(last + 1, min(len(line.tokens), last + 1 + _BESIDE))]
    return frozenset(root(line.word(at)) for at in around if _tells(line.word(at), language))


def _tells(word: str, language: FollowUpWords) -> bool:
    return len(word) > 2 and word not in language.function_words and word not in language.light_verbs


def _apposed(sentence: str, inside: Sequence[Phrase], at: int, language: FollowUpWords) -> str:
    """ "a phenomenon called flutter", "peronospora, un fungo": the name beside a general noun."""
    phrase = inside[at]
    if at + 1 < len(inside):
        between = split_words(sentence[phrase.end : inside[at + 1].start]).words
        if between and between[0] in language.naming_words and len(between) <= 3:
            return inside[at + 1].text
    if at > 0:
        gap = sentence[inside[at - 1].end : phrase.start]
        words = split_words(gap).words
        if gap.lstrip().startswith((",", "(")) and words and (words[-1] in language.indefinite) and len(words) <= 2:
            return inside[at - 1].text
    return ""


def _agreement(phrase: Phrase, language: FollowUpWords) -> tuple[str, bool | None]:
    if not language.article_forms:
        return "", phrase.plural
    known = language.article_forms.get(phrase.determiner)
    if known is not None:
        return known[0], known[1] == "p"
    ending = phrase.words[0][-1]
    return {"a": "f", "o": "m"}.get(ending, ""), False if ending in "ao" else None


def described(noun: str, answer: str, language: FollowUpWords) -> tuple[Entity, ...]:
    """The entities of an answer that a description names by its head, each once."""
    wanted = stem(noun)
    found: dict[str, Entity] = {}
    for entity in entities(answer, language):
        if wanted in entity.phrase.stems:
            found.setdefault(entity.phrase.text.lower(), entity)
    return tuple(found.values())


def name_of(entity: Entity, noun: str) -> str:
    """What an entity adds to the noun that describes it: its name, or the fuller phrase; empty if neither."""
    if entity.apposed:
        return entity.apposed
    return entity.phrase.text if len(entity.phrase.words) > 1 else ""


def meant_by(
    noun: str, question: WordSpans, answer: str, known: frozenset[str], language: FollowUpWords
) -> Entity | None:
    """The entity that a description means without naming its head ("that museum"): a new one, names first.

    Words of the question beside an entity count most ("swim with those animals").
    """
    asked = {root(word) for word in question.words if _tells(word, language)}
    gender, plural = _noun_agreement(noun, language)
    scored: list[tuple[float, int, Entity]] = []
    for at, entity in enumerate(entities(answer, language)):
        if not entity.phrase.topical or not known.isdisjoint(entity.phrase.stems):
            continue
        score = 2.0 * bool(asked & entity.beside) + 1.2 * entity.phrase.proper
        score += 0.4 * (entity.plural == plural) + 0.4 * bool(gender and entity.gender == gender)
        scored.append((score, -at, entity))
    best = max(scored, key=lambda each: each[:2], default=None)
    return best[2] if best is not None and best[0] >= DESCRIBED else None


def _noun_agreement(noun: str, language: FollowUpWords) -> tuple[str, bool]:
    if not language.article_forms:
        return "", noun.endswith("s") and not noun.endswith("ss")
    return {"a": "f", "o": "m"}.get(noun[-1], ""), noun[-1] in "i"


def names_in(answer: str, known: frozenset[str], language: FollowUpWords) -> tuple[str, ...]:
    """The names of an answer that hold no known stem, each once."""
    found = (each.phrase for each in entities(answer, language) if each.phrase.proper)
    return tuple(dict.fromkeys(phrase.text for phrase in found if known.isdisjoint(phrase.stems)))


def best_phrase(content: str, answer: str, language: FollowUpWords) -> str:
    """The noun phrase of an answer that shares most words with a text; empty if none does."""
    wanted = {root(word) for word in split_words(content).words if _tells(word, language)}
    best, held = "", 0
    for entity in entities(answer, language):
        shared = len(wanted & {root(word) for word in entity.phrase.words})
        if shared > held:
            best, held = entity.phrase.text, shared
    return best


def spoken_of(reference: ReferenceCue, question: WordSpans, answer: str, language: FollowUpWords) -> Entity | None:
    """The entity of an answer that a pronoun stands for, if something speaks for one."""
    asked = {root(word) for word in question.words if _tells(word, language)}
    points = reference.text.lower() in language.demonstrative
    scored = [
        (_score(entity, reference, asked, points=points), at, entity)
        for at, entity in enumerate(entities(answer, language))
        if entity.phrase.topical or points
    ]
    best = max(scored, key=lambda each: each[:2], default=None)
    return best[2] if best is not None and best[0] >= BOUND else None


def _score(entity: Entity, reference: ReferenceCue, asked: set[str], *, points: bool) -> float:
    if asked & {root(word) for word in entity.phrase.words}:
        return 0.0  # The question names it beside the pronoun.
    score = 2.0 * bool(asked & entity.beside)
    if entity.plural is not None:
        score += 0.5 if entity.plural == reference.plural else -2
    else:
        score += 0.3
    if reference.gender and entity.gender:
        score += 0.8 if entity.gender == reference.gender else -3
    if reference.person:
        score += 2.2 if entity.phrase.proper and len(entity.phrase.words) > 1 else 0 if entity.phrase.proper else -3
    if points:
        score += 1.6 * entity.last
    elif reference.gender:
        score += 0.8 * entity.last
    return score
