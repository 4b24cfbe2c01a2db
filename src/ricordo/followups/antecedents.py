"""Which phrases of the talk a question needs: candidates, observations of each pair, and a small trained scorer.

Candidates are the noun phrases of the last turns, answers first. Every pair of question and candidate is described by
observations: where the candidate stands, how often it is named, whether it agrees with the pronoun, whether words of
the question stand beside it, how much of the question the talk knows, what the rules chose. A small network
(`antecedents.npz`, written by training/followups/train.py) gives each candidate the probability that the question
needs it. A question without a cue is left alone unless a candidate is likely.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from io import BytesIO
from itertools import accumulate, chain, pairwise

import numpy as np
from numpy.typing import NDArray

from ricordo.followups.candidates import Focus, items_of, told_apart
from ricordo.followups.parse import words_of
from ricordo.followups.phrases import (
    Entity,
    Phrase,
    definite_nouns,
    entities,
    has_meaning,
    likenesses,
    nearest,
    phrases,
    tells,
)
from ricordo.followups.reference import (
    LONGEST_FOLLOW_UP,
    MOST_CANDIDATES,
    Addition,
    Candidate,
    Origin,
    ReferenceCue,
    Talk,
)
from ricordo.followups.rewrite import alternatives
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import all_words
from ricordo.languages.text import (
    WordSpans,
    is_content,
    is_topical,
    language_of,
    root,
    split_words,
    stem,
    stems,
    words_in,
)

ACTS = 0.6  # the least probability of the first phrase
ACTS_LATE = 0.75  # the same in a longer talk
ACTS_ON_CUE = 0.4  # where the question has a cue
ADDS = 0.35  # of a second phrase
ADDS_BESIDE = 0.2  # of what a question was about beside a phrase of its answer, and the other way round
KEEPS = 0.1  # of a phrase that the rules chose
ASKS = 0.12  # of some phrase, where a question without a cue may mean one of two things
SHORT_TALK = 2  # turns: in longer ones a cue is left to the rules
_MOST = 3  # phrases that are added
_TURNS = 3  # whose phrases are candidates
_READ = (900, 300, 0)  # characters of the last answer, of the one before, of the one before that
_FROM_ANSWER = 20  # entities
_FROM_QUESTION = 8
_MOST_RIVALS = 4
_ALIKE = 0.35  # likeness of two things that may be meant alike
_KINDRED = 0.45  # likeness of a word that belongs to what is talked about
_ASKED_WORDS = 12
_ROWS = 32  # for more at once the library of numpy starts threads, which take longer than the product


@dataclass(slots=True)
class Named:
    """A candidate: one phrase of the talk with all the places where it is named."""

    phrase: Phrase
    turn_number: int
    origin: Origin
    back: int
    entity: Entity
    order: int
    of: int  # how many phrases its text has
    in_question: bool = False


class Pool(tuple[Named, ...]):
    """The candidates of a talk, the newest first, with what is the same of them for every question."""

    words: tuple[str, ...]  # of all candidates and of what is said of them, each once
    groups: tuple[NDArray[np.intp], NDArray[np.intp]]  # places of the words of each, and of what is said; their starts
    around: tuple[tuple[frozenset[str], ...], ...]  # the roots of each, of what stands beside it, of its sentence
    observed: NDArray[np.float32]  # of each alone
    additions: tuple[Addition, ...]


def named(talk: Talk) -> Pool:
    """The candidates of a talk, the newest first; the same words are one candidate."""
    turns = tuple((turn.turn_number, turn.query, turn.response) for turn in talk.history[-_TURNS:])
    return _named(turns, talk.language)


@lru_cache(maxsize=64)
def _named(turns: tuple[tuple[int, str, str], ...], language: FollowUpWords) -> Pool:
    found: dict[frozenset[str], Named] = {}
    for back, (number, query, response) in enumerate(reversed(turns)):
        sources: tuple[tuple[Origin, str, int], ...] = (
            ("answer", response, _FROM_ANSWER),
            ("question", query, _FROM_QUESTION),
        )
        spoken = language_of(query[:LONGEST_FOLLOW_UP], default=language)
        for origin, text, most in sources:
            read = _READ[back] if origin == "answer" else LONGEST_FOLLOW_UP
            told = entities(text, spoken) if read else ()
            inside = [each for each in told if each.end <= read and not each.phrase.counts]
            ends = [*inside[: most - 4], *inside[-4:]]
            for order, entity in enumerate(inside[:most] if origin == "question" or len(inside) <= most else ends):
                stems = entity.phrase.stems
                known = found.get(stems)
                if known is None:
                    known = Named(entity.phrase, number, origin, back, entity, order, len(inside))
                    found[stems] = known
                known.in_question |= origin == "question" and back == 0
    return _described_alone(Pool(found.values()), language)


def _described_alone(pool: Pool, language: FollowUpWords) -> Pool:
    told = [(one, one.phrase, one.entity) for one in pool]
    said = [words for _, phrase, entity in told for words in (phrase.words, entity.said)]
    places = {word: at for at, word in enumerate(dict.fromkeys(chain(*said)))}
    pool.words = tuple(places)
    columns = [[places[word] for word in words] or [len(places)] for words in said]  # the last one: no words at all
    starts = list(accumulate(map(len, columns[:-1]), initial=0)) if columns else []
    pool.groups = np.array([*chain(*columns)]), np.array(starts)
    pool.around = tuple((own := p.roots, entity.beside - own, entity.around - own) for _, p, entity in told)
    articles = (phrase.determiner if phrase.definite else "" for _, phrase, _ in told)
    pool.additions = tuple(
        Addition(o.phrase.text, o.turn_number, o.origin, a) for o, a in zip(pool, articles, strict=True)
    )
    seen = [
        (
            one.back == 0 and one.origin == "answer",
            one.in_question,
            one.order == 0,
            one.order / max(1, one.of),
            entity.opens,
            phrase.proper,
            len(phrase.words) > 2,
            phrase.topical,
            phrase.definite,
            phrase.determiner in language.indefinite,
            any(map(str.isdecimal, phrase.words)),
        )
        for one, phrase, entity in told
    ]
    pool.observed = np.array(seen, dtype=np.float32)
    return pool


class Scorer:
    """The trained network: one hidden layer over standardised observations. Immutable."""

    def __init__(self, weights: Mapping[str, NDArray[np.float16]]) -> None:
        self._weights = {name: table.astype(np.float32) for name, table in weights.items()}

    def probabilities(self, pairs: NDArray[np.float32]) -> NDArray[np.float32]:
        """For each pair of question and candidate, how likely the question needs the candidate."""
        w = self._weights
        rows = (pairs - w["mean"]) * w["scale"]
        products = [rows[at : at + _ROWS] @ w["hidden"] for at in range(0, len(rows), _ROWS)]
        hidden = np.maximum(np.concatenate(products) + w["hidden_bias"], np.float32(0))
        found: NDArray[np.float32] = 1 / (1 + np.exp(-(hidden @ w["output"] + w["output_bias"])))
        return found


@cache
def shipped_scorer() -> Scorer | None:
    """The scorer of the package; None where its file was left out."""
    stored = files("ricordo.followups").joinpath("antecedents.npz")
    if not stored.is_file():
        return None
    with np.load(BytesIO(stored.read_bytes()), allow_pickle=False) as tables:
        return Scorer({name: tables[name] for name in tables.files})


def scored(
    talk: Talk, references: Sequence[ReferenceCue], offered: Sequence[Addition], focus: Focus, scorer: Scorer
) -> tuple[tuple[Addition, float], ...]:
    """The candidates with the probability that the question needs them, likeliest first."""
    pool = named(talk)
    if not pool:
        return ()
    found = scorer.probabilities(pairs(talk, references, offered, focus, pool)).tolist()
    order = sorted(range(len(pool)), key=found.__getitem__, reverse=True)  # of equals the first one, also in reverse
    return tuple([(pool.additions[at], found[at]) for at in order])


def needed(
    scores: Sequence[tuple[Addition, float]], offered: Sequence[Addition], least: float, *, points: bool, one: bool
) -> tuple[Addition, ...]:
    """The phrases that a question needs; empty if it is to be left as the rules read it.

    `points`: a word of the question may point into the answer ("that milk", "them"); `one`: it means one person.
    """
    if not scores or scores[0][1] < least:
        return ()
    first = scores[0][0]
    likely = [first]
    for addition, chance in scores[1:] if not one else ():
        beside = addition.origin != first.origin and (points or addition.origin == "question")
        if chance >= (ADDS_BESIDE if beside and len(likely) == 1 else ADDS):
            likely.append(addition)
    likely = likely if points else _once(likely)
    # What the rules chose stays unless the scorer finds it unlikely; older phrases are no candidates of the scorer.
    chances = {addition.text: chance for addition, chance in scores}
    known = {stem(word) for addition in likely for word in split_words(addition.text).words}
    kept = [each for each in offered if chances.get(each.text, KEEPS) >= KEEPS]
    extra = [each for each in kept if known.isdisjoint(stem(word) for word in split_words(each.text).words)]
    most = _MOST - (bool(offered) and offered[0].origin == "answer" and offered[0] in kept)  # it was called by name
    return (*likely[:most], *extra)[:most]


def _once(additions: Sequence[Addition]) -> list[Addition]:
    """The phrases without those that only say more of one before them ("hail", "large hail")."""
    known = [stems(split_words(each.text).words) for each in additions]
    return [one for at, one in enumerate(additions) if not any(own <= known[at] for own in known[:at])]


def pairs(
    talk: Talk, references: Sequence[ReferenceCue], offered: Sequence[Addition], focus: Focus, pool: Pool
) -> NDArray[np.float32]:
    """The observations of all pairs of the question and a candidate, those of the question first."""
    question = asked(talk, references)
    texts = [addition.text for addition in offered]
    chosen = [frozenset(stem(word) for word in split_words(text).words) for text in texts]
    seen = observe(question, pool, focus)
    offers = np.zeros((len(pool), 3), dtype=np.float32)
    for row, one in zip(offers, pool, strict=True) if texts else ():
        near = any(not one.phrase.stems.isdisjoint(stems) for stems in chosen)
        row[:] = one.phrase.text == texts[0], one.phrase.text in texts[1:], near
    same = np.tile(np.array([*question.kind, *question.facts], dtype=np.float32), (len(pool), 1))
    return np.hstack((same, pool.observed, seen, _described(talk, references, pool).astype(np.float32), offers))


def _described(talk: Talk, references: Sequence[ReferenceCue], pool: Pool) -> NDArray[np.float64]:
    """How like each candidate, and what is said of it, is to what the question calls it and to the whole question."""
    line, language = words_of(talk), talk.language
    calls = _description(line, references, language)
    asked = [word for word in line.words if tells(word, language)][:_ASKED_WORDS]
    words = tuple(dict.fromkeys((*calls, *asked)))
    if not words or not pool.words:
        return np.zeros((len(pool), 10))
    like = likenesses(words, pool.words)
    near = like[[words.index(word) for word in asked]].max(axis=1) if asked else np.zeros(1, np.float32)
    # The last column, of zeros, stands for no words at all; `held` has the best of each row in each group of words.
    table = np.zeros((len(calls) + 1, len(pool.words) + 1), np.float32)
    table[:-1, :-1], table[-1, :-1] = like[: len(calls)], like.max(axis=0)
    columns, starts = pool.groups
    held = np.maximum.reduceat(table[:, columns], starts, axis=1).astype(np.float64)
    own, said = held[:-1, ::2], held[:-1, 1::2]
    found = np.zeros((len(pool), 10))
    if calls:
        both = np.where([bool(one.entity.said) for one in pool], np.maximum(own, said), own)
        found[:, 0], found[:, 1] = own[0], said[0]
        found[:, 2], found[:, 3] = own.sum(axis=0) / len(calls), both.sum(axis=0) / len(calls)
        found[:, 5] = [not has_meaning(one.phrase.words[-1]) for one in pool]
    found[:, 4] = held[-1, 1::2]
    found[:, 6:] = near.mean(), near.max(), near.min(), (near >= _KINDRED).mean()
    return found


_LONGEST_DESCRIPTION = 3  # words


def _description(line: WordSpans, references: Sequence[ReferenceCue], language: FollowUpWords) -> tuple[str, ...]:
    """What the question calls the thing it means, head first: "that museum", "il lago rosso"."""
    noun = next(
        (cue.content or cue.noun for cue in references if cue.kind == "pronoun" and (cue.noun or cue.content)), ""
    )
    starts = [at for at in range(len(line.tokens)) if line.word(at) == noun] if noun else []
    starts = starts or [at + 1 for at in range(len(line.tokens)) if line.word(at) in language.articles]
    for at in starts:
        end = at
        while end - at < _LONGEST_DESCRIPTION and line.is_word(end) and is_content(language, line.word(end)):
            end += 1
        if end > at:
            words = [line.word(k) for k in range(at, end)]
            return (*words[::-1],) if not language.article_forms else (*words,)
    return ()


@dataclass(frozen=True, slots=True)
class QuestionFeatures:
    """What is known of a question before any candidate is looked at."""

    roots: frozenset[str]
    kind: tuple[float, ...]
    plural: bool | None
    gender: str
    person: bool
    facts: tuple[float, ...]


_KINDS = ("none", "it", "person", "plural", "bare", "noun", "general", "zero", "ellipsis", "about", "place")


def asked(talk: Talk, references: Sequence[ReferenceCue]) -> QuestionFeatures:
    """The observations of the question alone: its cue, and how much of it the talk knows."""
    language = talk.language
    line = words_of(talk)
    first = references[0] if references else None
    telling = [at for at, token in enumerate(line.tokens) if token.is_word and tells(token.word, language)]
    roots = frozenset(root(line.word(at)) for at in telling)
    last = talk.history[-1]
    said = _roots(last.response[: _READ[0]], language)
    put = _roots(last.query[:LONGEST_FOLLOW_UP], language)
    topical = [at for at in telling if is_topical(language, line.word(at))]
    known = sum(root(line.word(at)) in said for at in topical)
    new = sum(root(line.word(at)) not in said and root(line.word(at)) not in put for at in topical)
    names = [at for at in topical if at > 0 and line.tokens[at].capital]
    articles = [at for at in telling if line.word(at - 1) in language.articles]
    untold = [at for at in articles if not _told(line, language, at)]
    indefinite = sum(line.word(at - 1) in language.indefinite for at in telling)
    points = [word for word in line.words if word in language.demonstrative]
    words = max(1, len(line.words))
    polite = all_words("topics.polite_words")
    kind = _kind(first, language)
    facts = (
        min(words, 20) / 10,
        min(len(topical), 6) / 3,
        known / max(1, len(topical)),
        float(new == 0),
        min(new, 4) / 2,
        float(bool(names)),
        float(bool(untold)),
        float(any(root(line.word(at)) in said for at in untold)),
        min(indefinite, 2) / 2,
        float(line.word(0) in language.question_words or line.word(1) in language.question_words),
        float(any(word in language.second_person for word in line.words)),
        float(talk.question.rstrip().endswith("?")),
        float(bool(points)),
        float(any(word in language.owners for word in line.words)),
        float(not talk.question[:1].isupper()),
        first.confidence if first is not None else 0.0,
        float(len(references) > 1),
        float(any(word in polite for word in line.words)),
        float(line.word(0) in language.articles and bool(untold) and untold[0] <= 2),
        min(len(talk.history), 4) / 4,
    )
    return QuestionFeatures(
        roots,
        kind,
        first.plural if first is not None and (first.kind == "pronoun" or first.zero) else None,
        first.gender if first is not None else "",
        first is not None and first.person,
        facts,
    )


def _kind(first: ReferenceCue | None, language: FollowUpWords) -> tuple[float, ...]:
    if first is None:
        name = "none"
    elif first.kind == "pronoun":
        if first.person:
            name = "person"
        elif first.noun:
            name = "noun" if first.confidence > 0.6 else "general"
        elif first.text.lower() in language.place:
            name = "place"
        elif first.text.lower() in language.demonstrative:
            name = "bare"
        else:
            name = "plural" if first.plural else "it"
    elif first.about:
        name = "about"
    else:
        name = "zero" if first.zero else "ellipsis"
    return tuple(float(name == each) for each in _KINDS)


def _told(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    following = line.word(at + 1)
    return following in language.links or following in language.relatives


@lru_cache(maxsize=512)
def _roots(text: str, language: FollowUpWords) -> frozenset[str]:
    return frozenset(root(word) for word in words_in(text) if tells(word, language))


def observe(asked: QuestionFeatures, pool: Pool, focus: Focus) -> NDArray[np.float32]:
    """The observations of what each candidate shares with the question and with what the talk is about."""
    found, roots = np.zeros((len(pool), 13), dtype=np.float32), asked.roots
    found[:, :4] = [
        (not own.isdisjoint(roots), own <= roots, not beside.isdisjoint(roots), min(len(sentence & roots), 3) / 2)
        if not (own.isdisjoint(roots) and sentence.isdisjoint(roots))
        else (0, 0, 0, 0)
        for own, beside, sentence in pool.around
    ]
    if asked.plural is not None:
        known = [one.entity.plural for one in pool]
        found[:, 4] = [each is not None and each == asked.plural for each in known]
        found[:, 5] = [each is not None and each != asked.plural for each in known]
    if asked.gender:
        found[:, 6] = [one.entity.gender == asked.gender for one in pool]
        found[:, 7] = [bool(one.entity.gender) and one.entity.gender != asked.gender for one in pool]
    if asked.person:
        found[:, 8] = [one.phrase.proper and len(one.phrase.words) > 1 for one in pool]
    texts, centre = [one.phrase.text for one in pool], [mention.phrase.text for mention in focus.centre[:2]]
    found[:, 9], found[:, 10] = [text in centre[:1] for text in texts], [text in centre for text in texts]
    for column, mention in ((11, focus.person), (12, focus.opening)):
        if mention is not None:
            found[:, column] = [text == mention.phrase.text for text in texts]
    return found


def two_sides(talk: Talk) -> tuple[Candidate, ...]:
    """Two things that the last question named side by side and its answer spoke of, where the question names neither.

    A verb or a pronoun in the plural means both of them.
    """
    last, language = talk.history[-1], talk.language
    line = words_of(talk)
    if several(line, language) or not language.sorting_words.isdisjoint(line.words):
        return ()
    sides = alternatives(split_words(last.query), language) or _side_by_side(last.query, language)
    if len(sides) != 2:
        return ()
    meant = [stems(word for word in split_words(side).words if is_content(language, word)) for side in sides]
    asked = stems(line.words)
    if any(not names.isdisjoint(asked) for names in meant):
        return ()
    answered = words_in(last.response)
    said = stems(answered)
    named = sum(not names.isdisjoint(said) for names in meant)
    if language.both.isdisjoint(answered) and named == 1:
        return ()  # the answer chose one of them
    return tuple(Candidate(side, last.turn_number) for side in sides)


def several(line: WordSpans, language: FollowUpWords) -> bool:
    """Whether a verb of the question is in the plural: "possono", but not "il treno", "da Milano"."""
    return any(
        language.patterns["plural_verb"].fullmatch(token.word) is not None
        and not (token.capital and at > 0)
        and line.word(at - 1) not in language.articles | language.prepositions | language.indefinite
        for at, token in enumerate(line.tokens)
    )


def told_side_by_side(talk: Talk) -> tuple[Candidate, ...]:
    """The names that the last answer told of one after the other, where the question speaks of none of them."""
    last, language = talk.history[-1], talk.language
    told = told_apart(last.response, language) if not items_of(last) else ()
    line = words_of(talk)
    known = stems((*split_words(last.query).words, *line.words))
    new = [item for item in told if known.isdisjoint(stems(split_words(item.text).words))]
    if not 2 <= len(new) <= _MOST_RIVALS or len(new) < len(told) or not _of_a_kind([item.text for item in new]):
        return ()
    if several(line, language):
        return ()
    asked = {root(word) for word in line.words if tells(word, language)}
    ends = [*(item.start for item in new[1:]), len(last.response)]
    said = [_roots(last.response[item.end : end], language) for item, end in zip(new, ends, strict=True)]
    if any(not asked.isdisjoint(words) for words in said):
        return ()  # The question takes up what was said of one.
    return tuple(Candidate(item.text, last.turn_number) for item in new)


def _of_a_kind(names: Sequence[str]) -> bool:
    """Whether all are names, or nouns of like meaning: "the pug… the poodle"."""
    if all(name[0].isupper() for name in names):
        return True
    if any(name[0].isupper() for name in names):
        return False
    words = [split_words(name).words for name in names]
    known = [each for each in words if any(map(has_meaning, each))]  # rare words are names of things
    return all(nearest(first, second) >= _ALIKE for first, second in pairwise(known))


def namesakes(talk: Talk) -> tuple[Candidate, ...]:
    """The phrases of the last answer that "the policy" may mean: they end with the same noun and differ before it."""
    last, language = talk.history[-1], talk.language
    line = words_of(talk)
    asked = stems(line.words)
    for noun in definite_nouns(line, language):
        if len(noun) < 3:
            continue
        found: dict[frozenset[str], str] = {}
        for entity in entities(last.response, language):
            own = entity.phrase.stems - {noun}
            if noun in entity.phrase.stems and own and own.isdisjoint(asked) and not entity.phrase.plural:
                found.setdefault(own, entity.phrase.text)
        if 1 < len(found) <= MOST_CANDIDATES and not any(a < b for a in found for b in found):
            return tuple(Candidate(text, last.turn_number) for text in found.values())
    return ()


def _side_by_side(query: str, language: FollowUpWords) -> tuple[str, ...]:
    """ "the basil and the chilli", "Sciascia e Camilleri": two phrases with nothing but "and" and grammar between."""
    line = split_words(query)
    found = [phrase for phrase in phrases(line, language) if phrase.topical]
    for first, second in pairwise(found):
        between = split_words(query[first.end : second.start]).words
        rest = [word for word in between if word not in language.coordinators]
        joined = len(rest) == len(between) - 1 and between[0] in language.coordinators
        if joined and all(word in language.function_words for word in rest) and first.proper == second.proper:
            return first.text, second.text
    return ()
