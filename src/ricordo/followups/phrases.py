"""The noun phrases of a text, found without a tagger, and what the last answer named with them.

A phrase is a run of words that are neither grammar nor common verbs; "of" joins two runs, and a noun that only makes
sense of something ("types of sharks") gives way to that something. An `Entity` is a phrase of an answer with number,
gender, place, neighbours and appositions. A pronoun, a description ("that milk", "quelle serate") or a question about
the answer is bound to an entity by a few observations; where nothing speaks for one, the topic stays the antecedent.
"""

import re
import zlib
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from io import BytesIO
from itertools import accumulate, compress
from operator import attrgetter
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ricordo.followups.reference import MOST_CANDIDATES, Addition, ReferenceCue, Talk
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import WordSpans, is_content, is_topical, root, sentences, split_words, stem, stems

_START, _CAPITAL = attrgetter("start"), attrgetter("capital")


class Phrase(NamedTuple):
    """A run of words in a text; `topical` when it can stand as a topic, else it waits for one ("the symptoms")."""

    text: str
    words: tuple[str, ...]
    start: int
    end: int
    topical: bool
    proper: bool
    definite: bool
    plural: bool
    determiner: str = ""

    @property
    def several(self) -> bool:
        """Whether "they" can stand for it: a plural or a name."""
        return self.plural or self.proper or self.words[-1].endswith(("i", "e"))

    @property
    def counts(self) -> bool:
        """Whether it is nothing but a number ("1973")."""
        return all(map(str.isdecimal, self.words))

    @property
    def stems(self) -> frozenset[str]:
        """The words of the phrase without number."""
        return _stems(self.words)

    @property
    def roots(self) -> frozenset[str]:
        """The beginnings of the words of the phrase."""
        return _roots(self.words)


_stems = lru_cache(maxsize=4096)(stems)  # every rule asks for those of the same phrases


@lru_cache(maxsize=4096)
def _roots(words: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(root, words))


@lru_cache(maxsize=512)  # several rules read the same line
def phrases(line: WordSpans, language: FollowUpWords) -> tuple[Phrase, ...]:
    """The noun phrases of a line in the order of the words."""
    found_runs = [run for run in runs(line, language) if run]
    found: list[Phrase] = []
    at = 0
    while at < len(found_runs):
        first, last = found_runs[at]
        waits = not _topical(line, language, first, last)
        while at + 1 < len(found_runs) and _linked(line, language, last, found_runs[at + 1][0]):
            at += 1
            if waits:
                # "types of sharks": the first part is kept as what is asked, the second is the topic.
                found.append(_phrase(line, language, first, last, topical=False))
                first = found_runs[at][0]
            last = found_runs[at][1]
            waits = not _topical(line, language, first, last)
        found.append(_phrase(line, language, first, last, topical=not waits))
        at += 1
    return tuple(found)


def content_words(line: WordSpans, language: FollowUpWords) -> tuple[str, ...]:
    """The words of a line that carry meaning, in order, each once."""
    return tuple(dict.fromkeys(word for word in line.words if is_content(language, word) and len(word) > 1))


def runs(line: WordSpans, language: FollowUpWords) -> list[tuple[int, int] | None]:
    """The runs of content words, as first and last token; None where nothing of a run is left."""
    found: list[tuple[int, int] | None] = []
    begin: int | None = None
    grammar, verbs = language.function_words, language.verbs
    for at, token in enumerate(line.tokens):
        plain = token.is_word and not token.capital and token.word != "s"
        plain = plain and (token.word in grammar or token.word in verbs)
        if not plain and _belongs(line, language, at, begin is not None):
            begin = at if begin is None else begin
        elif begin is not None:
            found.append(_trim(line, language, begin, at - 1))
            begin = None
    if begin is not None:
        found.append(_trim(line, language, begin, len(line.tokens) - 1))
    return found


def _belongs(line: WordSpans, language: FollowUpWords, at: int, inside: bool) -> bool:
    token = line.tokens[at]
    if not token.is_word:
        glued = line.is_word(at + 1) and line.tokens[at + 1].start == token.end
        initial = token.word == "." and len(line.word(at - 1)) == 1 and line.tokens[at - 1].capital
        if initial and line.is_word(at + 1) and line.tokens[at + 1].capital:
            return inside  # "William H. Seward"
        return inside and glued and token.word in "-/+.&" and line.tokens[at - 1].end == token.start
    if not token.capital and token.word != "s" and not is_content(language, token.word):
        return False
    if not token.capital and line.word(at - 1) in language.manner_words and line.word(at + 1) in language.copulas:
        return False  # "How reliable is…": a measure, not a topic.
    if language.gerund and token.word.endswith(language.gerund) and _object_at(line, language, at + 1):
        return False  # "signing a mortgage": a verb, its object is the topic.
    if not token.capital and _acts(line, language, at):
        return False
    if token.word == "s" and inside:
        # "Darwin's theory" is one phrase.
        owned = at > 0 and token.start == line.tokens[at - 1].end + 1
        return owned and line.is_word(at + 1) and is_content(language, line.word(at + 1))
    if token.capital and at > 0 and token.word not in language.function_words:
        return True
    if token.capital and inside and len(token.word) > 1:
        return token.word not in language.auxiliaries or (line.is_word(at + 1) and line.tokens[at + 1].capital)
    return is_content(language, token.word)


def _acts(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """ "devo portare", "dove compro": a word in the place of a verb names no topic."""
    before, word = line.word(at - 1), line.word(at)
    if before not in language.before_verbs:
        return False
    if before in language.verb_markers and (_object_at(line, language, at + 1) or language.verb_markers_alone):
        return True
    if before in language.subject_pronouns and _object_at(line, language, at + 1):
        return True  # "How do I mend a tyre?"
    if before in language.auxiliaries and language.patterns["participle"].fullmatch(word):
        return True
    if before in language.auxiliaries:
        return language.patterns["infinitive"].fullmatch(word) is not None
    if (before in language.question_words) and _object_at(line, language, at + 1) and language.verb_markers_alone:
        return True
    asks = before in language.manner_words or before in language.action_askers
    return asks and language.patterns["first_person"].fullmatch(word) is not None


def _object_at(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    return line.word(at) in language.determiners


def _trim(line: WordSpans, language: FollowUpWords, first: int, last: int) -> tuple[int, int] | None:
    """Drop the verb that do-support leaves at an edge, then adjectives that say nothing of the topic."""
    if first < last and _asks_directly(line, language, first):
        if line.word(first - 1) in language.subject_pronouns:
            first += 1
        elif not line.tokens[last].capital and _verb_missing(line, language, last):
            last -= 1
    while first < last and (_said_after(line, language, first, last) or _governs(line, language, last)):
        last -= 1
    while first < last and line.word(first) in language.empty_adjectives and not _proper_at(line, first):
        first += 1
    while first < last and line.word(last) in language.empty_adjectives and not _proper_at(line, last):
        last -= 1
    while first < last and not line.is_word(first):
        first += 1
    return (first, last) if line.is_word(first) else None


def _asks_directly(line: WordSpans, language: FollowUpWords, first: int) -> bool:
    """ "does the heat pump", "did he": only grammar stands between do-support and the phrase."""
    at = first - 1
    while at >= 0 and first - at < 3 and (_object_at(line, language, at) or line.word(at) in language.subject_pronouns):
        at -= 1
    return line.word(at) in language.do_support


def _said_after(line: WordSpans, language: FollowUpWords, first: int, last: int) -> bool:
    """ "the Powhatan involved", "Epiphany successful": what is said of a name is no part of it."""
    token = line.tokens[last]
    if token.capital or not token.is_word:
        return not token.is_word
    if language.patterns["past"].fullmatch(token.word):
        return True
    said = token.word in language.modifiers or token.word in language.empty_adjectives or bool(language.article_forms)
    return said and any(_proper_at(line, at) for at in range(first, last))


def _governs(line: WordSpans, language: FollowUpWords, last: int) -> bool:
    """ "the kitten scratches the sofa", "la Mole ospita il museo": what an article follows is a verb."""
    following = line.word(last + 1)
    return (
        _object_at(line, language, last + 1) and following not in language.contracted and not line.tokens[last].capital
    )


def _verb_missing(line: WordSpans, language: FollowUpWords, last: int) -> bool:
    return not any(token.word in language.verbs for token in line.tokens[last + 1 :])


def _linked(line: WordSpans, language: FollowUpWords, last: int, following: int) -> bool:
    between = [line.word(at) for at in range(last + 1, following)]
    if len(between) == 1 and between[0] in language.coordinators:
        return _proper_at(line, last) and _proper_at(line, following)
    if not 1 <= len(between) <= 2 or between[0] not in language.links:
        return False
    return len(between) == 1 or between[1] in language.articles or between[1] in language.indefinite


def _topical(line: WordSpans, language: FollowUpWords, first: int, last: int) -> bool:
    tokens = line.tokens[first : last + 1]
    return _proper(line, first, last) or any(token.is_word and is_topical(language, token.word) for token in tokens)


def _proper(line: WordSpans, first: int, last: int) -> bool:
    """Whether a word from `first` to `last` has a capital that does not only open the text."""
    return any(map(_CAPITAL, line.tokens[first or 1 : last + 1]))


def _proper_at(line: WordSpans, at: int) -> bool:
    return at > 0 and line.tokens[at].capital


def _phrase(line: WordSpans, language: FollowUpWords, first: int, last: int, *, topical: bool) -> Phrase:
    start, end = line.span(first, last)
    words = tuple([token.word for token in line.tokens[first : last + 1] if token.is_word])
    before = line.word(first - 1)
    head = words[-1]
    article = before in language.articles
    return Phrase(
        line.original[start:end],
        words,
        start,
        end,
        topical,
        _proper(line, first, last),
        article or before in language.demonstrative,
        head.endswith("s") and not head.endswith("ss"),
        before if article or before in language.indefinite else "",
    )


_WORD_OF_NAME = r"[A-ZÀ-ÞĀ-Ž](?:[\w.-]|['’][A-ZÀ-Þ])*"
_NAME = re.compile(rf"{_WORD_OF_NAME}(?:(?: (?:of|the|de|di|da|del|della|van|von|der|al|la|le|el))* {_WORD_OF_NAME})*")


def name_in(text: str) -> str:
    """The name that a phrase holds: "Donald Trump's wealth", "wife Edith"; empty if it holds none."""
    found = _NAME.search(text)
    return found.group() if found is not None else ""


_READ_CHARACTERS = 1_500  # characters of an answer
_BESIDE = 3  # tokens
_SAID_CHARACTERS = 120  # after a phrase, that may tell something of it
_LONGEST_ENTITY = 6  # words of an entity


@dataclass(frozen=True, slots=True)
class Entity:
    """One noun phrase of a text; `beside` and `around` are roots of the words near it and in its sentence.

    `end` is its end in the whole text; `opens`: it is the first phrase of its sentence; `said` are the words from it to
    the next name.
    """

    phrase: Phrase
    end: int
    gender: str
    plural: bool | None
    beside: frozenset[str]
    around: frozenset[str]
    opens: bool = False
    said: tuple[str, ...] = ()


@lru_cache(maxsize=256)
def entities(answer: str, language: FollowUpWords) -> tuple[Entity, ...]:
    """The noun phrases of an answer, in order."""
    found: list[Entity] = []
    for begin, stop in sentences(answer[:_READ_CHARACTERS], chat=True):
        sentence = answer[begin:stop]
        line = split_words(sentence)
        inside = [phrase for phrase in phrases(line, language) if len(phrase.words) <= _LONGEST_ENTITY]
        starts = list(map(_START, line.tokens))
        roots = [root(token.word) if tells(token.word, language) else "" for token in line.tokens] if inside else []
        around = frozenset(filter(None, roots))
        names = [phrase.start for phrase in reversed(inside) if phrase.proper]  # the next one last
        for at, phrase in enumerate(inside):
            gender, plural = _agreement(phrase, language)
            first, after = bisect_left(starts, phrase.start), bisect_left(starts, phrase.end)
            near = (*roots[max(0, first - _BESIDE) : first], *roots[after : after + _BESIDE])
            beside, end = frozenset(filter(None, near)), begin + phrase.end
            if names and names[-1] == phrase.start:
                names.pop()
            until = names[-1] if names else len(sentence)
            said = _said(line, roots, after, min(until, phrase.end + _SAID_CHARACTERS), language)
            found.append(Entity(phrase, end, gender, plural, beside, around, at == 0, said=said))
    return tuple(found)


def _said(line: WordSpans, roots: Sequence[str], at: int, end: int, language: FollowUpWords) -> tuple[str, ...]:
    """The words that tell something from a token on, up to an offset, at which the last one may be cut."""
    stop = bisect_left(line.tokens, end, at, key=_START)
    cut = stop > at and line.tokens[stop - 1].end > end
    found = [token.word for token in compress(line.tokens[at : stop - cut], roots[at : stop - cut])]
    if cut and tells(word := line.original[line.tokens[stop - 1].start : end].lower(), language):
        found.append(word)
    return tuple(found)


def tells(word: str, language: FollowUpWords) -> bool:
    """Whether a word tells something of what it stands beside."""
    return len(word) > 2 and word not in language.function_words and word not in language.light_verbs


def _agreement(phrase: Phrase, language: FollowUpWords) -> tuple[str, bool | None]:
    if not language.article_forms:
        return "", phrase.plural
    known = language.article_forms.get(phrase.determiner)
    if known is not None:
        return known[0], known[1] == "p"
    ending = phrase.words[0][-1]
    return {"a": "f", "o": "m"}.get(ending, ""), False if ending in "ao" else None


def definite_nouns(line: WordSpans, language: FollowUpWords) -> Iterator[str]:
    """The stems of nouns after a plain article, where nothing after them tells which ("the therapy")."""
    for at in range(len(line.tokens) - 1):
        article, after = line.word(at), line.word(at + 2)
        told = after in language.links or after in language.relatives or after in language.comparatives
        several = language.article_forms.get(article, ("", "s"))[1] == "p"
        if article in language.articles and article not in language.contracted and not told and not several:
            yield stem(line.word(at + 1))


def described(noun: str, answer: str, language: FollowUpWords) -> tuple[Entity, ...]:
    """The entities of an answer that a description names by its head, each once."""
    wanted = stem(noun)
    found: dict[str, Entity] = {}
    for entity in entities(answer, language):
        if wanted in entity.phrase.stems:
            found.setdefault(entity.phrase.text.lower(), entity)
    return tuple(found.values())


_LONGEST_CLAUSE = 14  # words
_LIKE = 0.4  # the least likeness of a word that may mean another
_BY_MEANING = 0.8  # what a word of like meaning counts, where the word itself counts 1
_BESIDE_IT = 0.3  # what the rest of a question counts
_IN_SENTENCE = 0.25  # what a word counts that stands elsewhere in the sentence


def clause_saying(
    wanted: Sequence[str], answer: str, language: FollowUpWords, beside: Sequence[str] = ()
) -> tuple[float, float, str]:
    """The clause of an answer that says most of some words, by meaning too: its rank, the share it says, its text.

    Words `beside` them decide where several say as much. The clause is widened until it names something new.
    """
    read = answer[:_READ_CHARACTERS]
    pieces = _pieces(read, language) if wanted else ()
    known = {word: at for at, word in enumerate(dict.fromkeys(word for _, _, words in pieces for word in words))}
    if not known:
        return 0.0, 0.0, ""
    like = likenesses((*wanted, *beside), tuple(known))
    like = np.where(like >= 1, like, np.where(like >= _LIKE, _BY_MEANING * like, 0))
    starts = [0, *accumulate(len(words) for _, _, words in pieces)][:-1]
    held = np.maximum.reduceat(like[:, [known[word] for _, _, words in pieces for word in words]], starts, axis=1).T
    opens = np.flatnonzero(np.diff([number for _, number, _ in pieces], prepend=-1))  # the first piece of each sentence
    best_of = np.maximum.reduceat(held, opens, axis=0).repeat(np.diff(opens, append=len(pieces)), axis=0)
    held = np.ascontiguousarray(np.maximum(held, _IN_SENTENCE * best_of))
    shares = held[:, : len(wanted)].mean(axis=1)
    ranks = shares + _BESIDE_IT * held[:, len(wanted) :].sum(axis=1) / max(1, len(beside))
    best = int(ranks.argmax())
    first = last = best
    said = {root(word) for word in wanted}
    joining = language.coordinators | language.choice_words
    if first > 0 and pieces[first - 1][1] == pieces[best][1] and _goes_on(read, pieces[best][0], language):
        first -= 1
    while not any(is_topical(language, w) and root(w) not in said for p in pieces[first : last + 1] for w in p[2]):
        if first > 0 and pieces[first - 1][1] == pieces[best][1]:
            first -= 1
        elif last + 1 < len(pieces) and pieces[last + 1][1] == pieces[best][1]:
            last += 1
        else:
            break
    line = split_words(read[pieces[first][0][0] : pieces[last][0][1]])
    begin = next((at for at, t in enumerate(line.tokens) if t.is_word and t.word not in joining), 0)
    text = line.original[line.tokens[begin].start :].strip(" ,;:.!?")
    return float(ranks[best]), float(shares[best]), " ".join(text.split()[:_LONGEST_CLAUSE])


def _goes_on(answer: str, span: tuple[int, int], language: FollowUpWords) -> bool:
    """Whether a clause says more of what the one before it named: "which makes a loop", "and shares data with…"."""
    line = split_words(answer[span[0] : span[1]])
    words = [token for token in line.tokens[:4] if token.is_word]
    joined = bool(words) and words[0].word in language.coordinators
    first = words[joined] if len(words) > joined else None
    if first is None or first.word in language.relatives:
        return True
    verb = first.word in language.verbs or first.word in language.auxiliaries
    return verb or (joined and not first.capital and is_content(language, first.word) and len(line.words) > 3)


@lru_cache(maxsize=256)
def _pieces(answer: str, language: FollowUpWords) -> tuple[tuple[tuple[int, int], int, tuple[str, ...]], ...]:
    """The clauses of an answer, more or less: span, number of the sentence, and the words that tell something."""
    line = split_words(answer)
    ends = [end for _, end in sentences(answer, chat=True)]
    parting = language.coordinators | language.choice_words | _PARTING
    found = []
    first = 0
    for at in range(len(line.tokens) + 1):
        token = line.tokens[at] if at < len(line.tokens) else None
        opens = (
            token is not None
            and token.start > 0
            and bisect_left(ends, token.start) > bisect_left(ends, line.tokens[first].start)
        )
        if at == first or not (token is None or opens or token.word in parting):
            continue
        words = tuple(word for word in (t.word for t in line.tokens[first:at]) if tells(word, language))
        start, end = line.span(first, at - 1)
        if words:
            found.append(((start, end), bisect_left(ends, start), words))
        first = at
    return tuple(found)


_PARTING = frozenset(",;:(")


def in_answer(reference: ReferenceCue, talk: Talk) -> tuple[Addition, ...]:
    """What the last answer calls by the noun of a reference; several where it fits them alike."""
    last = talk.history[-1]
    if not last.response or not reference.noun or reference.kind not in ("pronoun", "ellipsis"):
        return ()
    if talk.language.ordinals.get(reference.noun) == -1:
        named = [entity.phrase.text for entity in _last_named(reference, talk)]
    else:
        found = described(reference.noun, last.response, talk.language)
        named = [entity.phrase.text for entity in found if len(entity.phrase.words) > 1]
        if len(named) > 1 and (reference.plural or reference.about or len(named) > MOST_CANDIDATES):
            named = named[:1]
    return tuple(Addition(name, last.turn_number, "answer") for name in dict.fromkeys(named))


def _last_named(reference: ReferenceCue, talk: Talk) -> tuple[Entity, ...]:
    """ "quest'ultimo": what the last answer named last, of the same gender where both show it."""
    gender = {"a": "f", "o": "m"}.get(reference.noun[-1], "") if talk.language.article_forms else ""
    found = [
        entity
        for entity in entities(talk.history[-1].response, talk.language)
        if entity.phrase.topical and not (gender and entity.gender and entity.gender != gender)
    ]
    return tuple(found[-1:])


def has_meaning(word: str) -> bool:
    """Whether a word is a common one, so that it is no other word misspelt."""
    return _place(word) > 0


def likenesses(first: Sequence[str], second: Sequence[str]) -> NDArray[np.float32]:
    """The likeness in meaning of each word of one list to each of another, from -1 to 1.

    It is 1 for forms of one word, and 0 where a word is not known.
    """
    (units, rows), (others, columns) = _meant(tuple(first)), _meant(tuple(second))
    found: NDArray[np.float32] = units @ others.T
    for same in rows.keys() & columns.keys():
        found[rows[same][-1], columns[same]] = 1.0
    return found


@lru_cache(maxsize=256)  # the words of an answer are compared with those of several questions
def _meant(words: tuple[str, ...]) -> tuple[NDArray[np.float32], dict[str, list[int]]]:
    """The vectors of some words, of length one, and the places of their roots."""
    places: dict[str, list[int]] = {}
    for at, word in enumerate(words):
        places.setdefault(root(word), []).append(at)
    return _units(_meanings()[1][[*map(_place, words)]]), places


def nearest(first: Sequence[str], second: Sequence[str]) -> float:
    """How alike in meaning the two words are that are most alike; 0 where none is known."""
    return float(likenesses(first, second).max(initial=0))


def _units(rows: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The vectors of length one that rows of pairs of four bits stand for."""
    numbers = np.stack([rows >> 4, rows & 15], axis=2).reshape(len(rows), 32).astype(np.float32) - 8
    lengths = np.sqrt((numbers * numbers).sum(axis=1, keepdims=True))
    found: NDArray[np.float32] = numbers / np.maximum(lengths, np.float32(1))
    return found


@lru_cache(maxsize=8192)
def _place(word: str) -> int:
    """The row of a word in the table of meanings; 0, a row of zeros, where it is not known."""
    hashes, name = _meanings()[0], zlib.crc32(stem(word).encode())
    at = bisect_left(hashes, name)
    return at + 1 if at < len(hashes) and hashes[at] == name else 0


@cache
def _meanings() -> tuple[Sequence[int], NDArray[np.uint8]]:
    """The hashes of known stems, sorted, and their vectors after one of zeros; nothing where the file was left out."""
    nothing = np.full((1, 16), 0x88, np.uint8)
    stored = files("ricordo.followups").joinpath("meanings.npz")
    if not stored.is_file():
        return (), nothing
    with np.load(BytesIO(stored.read_bytes()), allow_pickle=False) as tables:
        return array("I", tables["hashes"].astype(np.uint32).tobytes()), np.vstack([nothing, tables["vectors"]])
