"""The evidence for each message: its words and its neighbours' words, its meaning, time, speaker and topic.

Words are compared as stems: case and accents are folded, empty words left out, numbers and codes kept whole. As stored
they are 32-bit hashes, because ranking only asks whether two words are the same. The language is guessed per text; a
question is stemmed in every language, so that a wrong guess costs nothing.

Each function of evidence takes the index and the question and returns one number between 0 and 1 for every message, or
None when the question has nothing of that kind; `ranking` weighs and adds them.
"""

import re
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from itertools import compress
from typing import TYPE_CHECKING

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from ricordo.languages.registry import codes
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import fold, guess_language_of
from ricordo.recall.index import highest, idf
from ricordo.recall.quantization import Vectors, similarities

if TYPE_CHECKING:
    from ricordo.languages.dates import Period
    from ricordo.recall.index import Links, Matches, OwnerIndex, Rows

Terms = NDArray[np.uint32]

# Letters and digits, with the joints of codes and numbers kept inside: ISO-8859, 3.14, v2.1.
_WORD = re.compile(r"[^\W_]+(?:[._-](?=\w)[^\W_]+)*")
_PLAIN = re.compile(r"[^\W_]+")

_LONGEST = 40  # longer strings are data, not words; their beginning identifies them


def tokens(text: str) -> list[str]:
    """The words of a text in order, folded; a code such as "ISO-8859" gives itself and its parts."""
    folded = fold(text)
    matches = _WORD.findall(folded)
    if "-" not in folded and "." not in folded and "_" not in folded:  # no joints
        return [match[:_LONGEST] for match in matches]
    found: list[str] = []
    for match in matches:
        if match.isalnum():
            found.append(match[:_LONGEST])
            continue
        parts = _PLAIN.findall(match)
        found.extend(part[:_LONGEST] for part in parts)
        # Joined forms are worth keeping when a digit makes them a code or a number; words only have hyphens.
        if len(parts) > 1 and any(c.isdigit() for c in match):
            found.append(match[:_LONGEST])
    return found


@cache
def _stemmer(name: str) -> Callable[[str], str]:
    stem_word: Callable[[str], str] = snowballstemmer.stemmer(name).stemWord
    return stem_word


@lru_cache(maxsize=100_000)
def snowball_stem(word: str, language: str) -> str:
    """The stem of a folded word, irregular forms included; a word with a digit is a code and stays as it is."""
    if any(c.isdigit() for c in word):
        return word
    vocabulary = language_by_code(language).vocabulary
    return _stemmer(vocabulary.stemmer)(vocabulary.irregular_forms.get(word, word))


def snowball_stems(text: str, language: str | None = None) -> list[str]:
    """The stems of a text's meaningful words, in order, repetitions kept."""
    words = tokens(text)
    spoken = language or guess_language_of(words)
    stop = language_by_code(spoken).vocabulary.stop_words
    return [snowball_stem(word, spoken) for word in words if word not in stop]


@lru_cache(maxsize=100_000)
def hashed(stemmed: str) -> int:
    """The 32-bit name of a stem; the same on every machine."""
    return zlib.crc32(stemmed.encode("utf-8", "replace"))


def terms(text: str, language: str | None = None) -> Terms:
    """The hashed stems of a text, as they are stored with its message."""
    return np.fromiter((hashed(each) for each in snowball_stems(text, language)), dtype=np.uint32)


# Small Italian words that lose their vowel before another word: all'alba, quest'anno, dov'era.
_ELIDED = re.compile(
    r"\b(?:[cdlmnstv]|gl|un|all|dall|dell|nell|sull|coll|quest|quell|anch|quand|dov|com|cos|senz|nient|tutt|altr)"
    r"['’](?=[^\W\d])"
)
# Spellings that differ between countries, as endings and as words; a spelling that no message has does no harm.
_SPELLED = (("our", "or"), ("ise", "ize"), ("isation", "ization"), ("yse", "yze"), ("tre", "ter"), ("ence", "ense"))
_SPELLED_WORDS = (
    "mum mom, mums moms, mummy mommy, grey gray, tyre tire, pyjamas pajamas, cheque check, jewellery jewelry, "
    "programme program, plough plow, aluminium aluminum, doughnut donut, moustache mustache, storey story, kerb curb"
)
_LETTERS = re.compile(r"(?:l?led|l?ling|l?ler)$")


@cache
def _same_words() -> dict[str, str]:
    pairs = [pair.split() for pair in _SPELLED_WORDS.split(", ")]
    return {one: other for pair in pairs for one, other in (pair, pair[::-1])}


def spellings(word: str) -> set[str]:
    """A folded English word as other countries spell it: favourite and favorite, organise and organize, mum and mom."""
    found = {word, _same_words().get(word, word)}
    for british, american in _SPELLED:
        for one, other in ((british, american), (american, british)):
            place = word.rfind(one)
            if place > 1:
                found.add(word[:place] + other + word[place + len(one) :])
    if match := _LETTERS.search(word):
        ending = match[0].lstrip("l")
        found |= {word[: match.start()] + "l" * count + ending for count in (1, 2)}
    return found


@lru_cache(maxsize=64)
def question_words(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Each distinct meaningful word of a question with the hashes that may stand for it in a message.

    A word is meaningless only if the question's own language says so; it is stemmed in every language, since
    a message may be in another one, and spelled in every way. A question made of small words alone keeps them all.
    """
    stop = language_by_code(_language(text)).vocabulary.stop_words
    folded = fold(text)
    if "'" in folded or "’" in folded:
        folded = _ELIDED.sub(" ", folded)
    kept = [word for word in tokens(folded) if word not in stop] or tokens(text)
    found: dict[tuple[int, ...], str] = {}
    for word in kept:
        found.setdefault(_variants(word), word)
    return tuple((word, variants) for variants, word in found.items())


@lru_cache(maxsize=64)
def _language(question: str) -> str:
    return guess_language_of(tokens(question))


@lru_cache(maxsize=20_000)
def _variants(word: str) -> tuple[int, ...]:
    variants = {hashed(snowball_stem(word, code)) for code in codes()} | {
        hashed(snowball_stem(each, "en")) for each in spellings(word)
    }
    return tuple(sorted(variants))


WORDS_VERSION = 2  # to be raised when the code of `terms` gives other terms, or rows other marks


def words_version() -> int:
    """A number that changes with all that decides the terms of a text: the code, and the tables of every language."""
    return _version_for(codes())


@cache
def _version_for(known: tuple[str, ...]) -> int:
    tables = [language_by_code(code).vocabulary for code in known]
    decisive = [
        (each.stemmer, each.final_letters, sorted(each.stop_words), sorted(each.irregular_forms.items()))
        for each in tables
    ]
    return zlib.crc32(repr((WORDS_VERSION, known, decisive)).encode())


_ME = re.compile(r"\b(?:i|i'm|i've|i'd|my|me|mine|myself|io|mio|mia|miei|mie|mi|ho|avevo|ero)\b")
_YOU = re.compile(
    r"\b(?:did|have|had|were) you\b|\byou (?:said|say|told|tell|recommend\w*|suggest\w*|advis\w*|explain\w*"
    r"|propos\w*|mention\w*|wrote|gave|answer\w*)\b|\byour (?:advice|suggestion|recommendation|answer|explanation)s?\b"
    r"|\b(?:hai|avevi) (?:\w+ )?(?:detto|consigliato|suggerito|proposto|risposto|spiegato|raccomandato|scritto"
    r"|dato|indicato|citato)\b|\b(?:tuo|tuoi|tua|tue) (?:consigli\w*|suggeriment\w*|rispost\w*|spiegazion\w*)\b"
)
_YOURS = ("you", "hai ", "avevi ", "tuo", "tua", "tue")  # in everything that `_YOU` finds


def named_speakers(question: str, speakers: Iterable[str]) -> frozenset[str]:
    """The speakers that a question names, in full or by first name; none when it names them all."""
    everyone = {name for name in speakers if name}
    asked = set(tokens(question)) if everyone else set()
    named = frozenset(name for name in everyone if (parts := tokens(name)) and parts[0] in asked)
    return named if len(named) < len(everyone) else frozenset()


@lru_cache(maxsize=64)
def pointed_role(question: str) -> str | None:
    """The role that a question asks about: "assistant" for what you said, "user" for me and mine."""
    folded = fold(question.replace("\u2019", "'"))
    if any(word in folded for word in _YOURS) and _YOU.search(folded):
        return "assistant"
    return "user" if _ME.search(folded) else None


_ELSEWHERE = 50  # messages added to the count for rarity: in a small index no word is rare or common yet
_MOST_WORDS = 32  # of a longer question only the rarest words count
_LEADING = 64  # messages among which the one with most of the question's words is looked for
_MOST_OF_IT = 0.8  # share of the question from which on words know it
_DOUBT, _DOUBT_ELSE = {"en": 1.5}, 3.0  # how steeply the certainty of words falls below that share, by language
_STRIKING = 4.0  # standard deviations above the average at which a message speaks for itself, however short
_MOST_SIMILAR = 8.0  # standard deviations; what is beyond counts no more
_NAMED = 2 / 3  # how much a named speaker's own messages count beside those of a role
_LIKELY_WORDS = 0.5  # word evidence from which on the first-stage search keeps a message in any case
_DAY = 86_400.0
_YEAR = 365.2425 * _DAY
_YEARS_BACK = 10


@dataclass(frozen=True, slots=True)
class WordEvidence:
    """How much of the question each message and its neighbours contain, and which rows contain which word.

    `found` are the words that occur in the index, `said` in which rows each occurs, with one more for no row;
    `worths` are the weights of these words, `asked` is the weight of all words of the question. `certainty` says how
    much words know of this question: 1 if some message and its neighbours contain most of it, near 0 if the best has
    only a common word of it.
    """

    share: Vectors
    found: tuple[str, ...]
    said: NDArray[np.bool_]
    worths: NDArray[np.float64]
    asked: float
    certainty: float

    def coverage(self, index: "OwnerIndex", rows: Sequence[int]) -> list[float]:
        """The share of the question that the whole turn of each row contains, from 0 to 1; rare words count more."""
        if not rows or self.asked <= 0:
            return [0.0] * len(rows)
        said = self.said.take(rows, axis=1)
        for others in index.same_turn(np.array(rows)):
            said |= self.said.take(others, axis=1)
        # Rounded, because the last bit of a sum may depend on the number of turns.
        shares: list[float] = (np.einsum("i,ij->j", self.worths, said) / self.asked).round(9).tolist()
        return shares

    def said_by(self, index: "OwnerIndex", rows: Sequence[int]) -> list[tuple[list[str], list[str]]]:
        """The words of the question in each of some messages, and those that only its neighbours contain."""
        around = _said_around(index.links, self.said, np.array(rows, dtype=np.intp))
        own, near = around[:, 0], around.any(axis=1)
        columns = zip(own.T.tolist(), (near & ~own).T.tolist(), strict=True)
        return [(list(compress(self.found, mine)), list(compress(self.found, theirs))) for mine, theirs in columns]


def word_evidence(index: "OwnerIndex", question: str, allowed: NDArray[np.bool_]) -> WordEvidence:
    """BM25 over each message together with its neighbours, as a share of the best score that the filters allow.

    Words of a neighbour count nearly as much as the message's own, but less if the neighbour is long: a short reply
    must not be found by every word of the page before it.
    """
    count = len(index)
    asked = question_words(question)
    found = index.postings.find([variants for _, variants in asked])
    sizes = [sum([len(each.keys) for each in own]) for own in found]
    chosen = sorted((at for at, size in enumerate(sizes) if size), key=sizes.__getitem__)[:_MOST_WORDS]
    links = index.links
    weigh = _weighed_one_by_one if index.is_large else _weighed_at_once
    total, said, holders = weigh(index, [(asked[at][1], found[at]) for at in chosen])
    worths = np.array([idf(count + _ELSEWHERE, each) for each in holders])
    everywhere = allowed.all()
    among = total if everywhere else np.where(allowed, total, np.float32(0))
    best = float(among.max(initial=0))
    weight = float(worths.sum() + sizes.count(0) * idf(count + _ELSEWHERE, 0))
    around = _said_around(links, said, _leading(among, best))
    contained = float((worths @ around.any(axis=1)).max(initial=0))
    doubt = _DOUBT.get(_language(question), _DOUBT_ELSE)
    if best > 0:
        total /= np.float32(best)
    return WordEvidence(
        total if everywhere else np.minimum(total, np.float32(1)),
        tuple(asked[at][0] for at in chosen),
        said,
        worths,
        weight,
        min(1.0, contained / weight / _MOST_OF_IT) ** doubt if weight > 0 else 0.0,
    )


_Said = tuple[tuple[int, ...], Sequence["Matches"]]  # the variants of a word, and where they occur
_Weighed = tuple[Vectors, NDArray[np.bool_], Sequence[int]]  # scores of rows, which word is in which row, in how many


def _weighed_at_once(index: "OwnerIndex", words: Sequence["_Said"]) -> _Weighed:
    """The words of a small index in one table of words x rows; the last row is beyond the ends of sessions."""
    count, links = len(index), index.links
    matches = [each for _, own in words for each in own]
    if not matches:
        return np.zeros(count, dtype=np.float32), np.zeros((0, count + 1), dtype=np.bool_), ()
    starts = [place * (count + 1) for place, (_, own) in enumerate(words) for _ in own]
    cells = np.repeat(starts, [len(each.keys) for each in matches]) + np.concatenate([each.rows for each in matches])
    counts = np.concatenate([each.counts for each in matches])
    times = np.bincount(cells, counts, len(words) * (count + 1)).astype(np.float32).reshape(len(words), count + 1)
    said = times > 0
    holders = said.sum(axis=1).tolist()
    lent = links.lending * times
    for beside in (links.before, links.two_before, links.after):
        times += lent[:, beside]
    times /= times + links.norm
    times *= np.array([[idf(count, each)] for each in holders], dtype=np.float32)
    return times.sum(axis=0)[:count], said, holders


def _weighed_one_by_one(index: "OwnerIndex", words: Sequence["_Said"]) -> _Weighed:
    """The same in a large index, where most words are in few rows, and common ones are kept as columns."""
    count, links = len(index), index.links
    said = np.zeros((len(words), count + 1), dtype=np.bool_)
    holders: list[int] = []
    # The last place of these stands for neighbours beyond the ends of sessions.
    total, times = np.zeros(count + 1, dtype=np.float32), np.zeros(count + 1, dtype=np.float32)
    for place, (variants, matches) in enumerate(words):
        if column := index.column(variants, matches):
            said[place] = column.said
            holders.append(column.holders)
            total += column.score
            continue
        for each in matches:  # the variants of a word: a message may contain two
            times[each.rows] += each.counts
        rows = matches[0].rows if len(matches) == 1 else np.flatnonzero(times)
        said[place, rows] = True
        holders.append(len(rows))
        links.lend(times, rows)
        reached = np.concatenate((rows, links.after[rows], links.two_after[rows], links.before[rows]))
        score = times[reached]
        score /= score + links.norm[reached]
        score *= np.float32(idf(count, len(rows)))
        total[reached] += score
        times[reached] = 0
    return total[:count], said, holders


_FEW, _MANY = 6, 12  # words up to which a question is asked with care, and from which on a kind is named in passing
_VECTORS_KNOW = {"en": 2 / 3}  # share that counts in a language in which the vectors know many kinds themselves


def kind_evidence(index: "OwnerIndex", question: str) -> Vectors | None:
    """Which messages name a thing of a kind that the question names ("which vegetable": "peppers"), rare ones more."""
    asked = question_words(question)
    if len(asked) >= _MANY:
        return None
    table = _kinds()
    named = [things for _, variants in asked if (things := tuple(t for v in variants for t in table.get(v, ())))]
    if not named:
        return None
    found = np.zeros(len(index), dtype=np.float32)
    for heard in filter(None, index.postings.find(named)):
        among = np.zeros(len(index), dtype=bool)
        among[np.concatenate([each.rows for each in heard])] = True
        rows = np.flatnonzero(among)
        rarity = np.log((len(index) + _ELSEWHERE) / (len(rows) + 0.5)) / np.log(20)
        found[rows] = np.maximum(found[rows], np.float32(min(1.0, max(0.0, rarity))))
    needed = _VECTORS_KNOW.get(_language(question), 1.0) * min(1.0, (_MANY - len(asked)) / _FEW)
    found *= np.float32(needed) * (1 - index.links.pages)
    return found


@cache
def _kinds() -> dict[int, tuple[int, ...]]:
    """The things of each kind, as hashed stems (training/recall/kinds.txt)."""
    with files("ricordo.recall").joinpath("kinds.npz").open("rb") as opened, np.load(opened) as stored:
        lines = [tuple(each.tolist()) for each in np.split(stored["things"], stored["ends"][:-1])]
        found: dict[int, tuple[int, ...]] = {}
        for kind, line in zip(stored["kinds"].tolist(), stored["lines"].tolist(), strict=True):
            found[kind] = found.get(kind, ()) + lines[line]
    return found


def _leading(scores: Vectors, best: float) -> "Rows":
    """The rows with the highest scores, above half of the best, in no order."""
    bar = highest(scores, _LEADING)
    return np.flatnonzero(scores >= bar if bar > best / 2 else scores > best / 2)[:_LEADING]


def _said_around(links: "Links", said: NDArray[np.bool_], rows: "Rows") -> NDArray[np.bool_]:
    """Which words each of some rows, the two before it and the one after it contain: words x 4 x rows."""
    around = np.concatenate((rows, links.before[rows], links.two_before[rows], links.after[rows]))
    return said.take(around, axis=1).reshape(len(said), 4, len(rows))


@dataclass(frozen=True, slots=True)
class MeaningEvidence:
    """How similar each message is in meaning: `share` from well below the average (0) to the most similar (1).

    `alone` is the similarity of the message without its neighbours, in standard deviations above the average.
    """

    share: Vectors
    alone: Vectors


def meaning_evidence(
    index: "OwnerIndex", query: Vectors | None, words: Vectors, allowed: NDArray[np.bool_]
) -> MeaningEvidence | None:
    """The evidence by vectors; a message that is not embedded yet gets its word evidence instead."""
    if query is not None and len(query) != index.dimensions:
        raise ValueError(f"a question's vector has {len(query)} dimensions, the index {index.dimensions}")
    known = index.has_vector & allowed
    if query is None or not query.any() or not known.any():
        return None
    rows = index.near(query, np.flatnonzero(words > _LIKELY_WORDS))
    alone = similarities(index.codes if isinstance(rows, slice) else index.codes.take(rows), query)
    # A little of the neighbours' similarity: an answer belongs to its question's topic even if it does not name it.
    links = index.links
    weight = links.meaning[rows]
    around = links.meaning_around if isinstance(rows, slice) else links.around(rows, weight)
    share = (alone + links.around(rows, weight * alone)) / (1 + around)
    mean, spread = _typical(index, query, known, rows, alone)
    among = share if known.all() else share[allowed[rows]]
    low, high = mean - 3 * spread, float(among.max(initial=mean))
    if high - low < 1e-6:
        return MeaningEvidence(np.where(index.has_vector, np.float32(1), words), np.zeros_like(words))
    share -= np.float32(low)
    share /= np.float32(high - low)
    np.clip(share, 0, 1, out=share)
    deviations = (alone - np.float32(mean)) / np.float32(max(spread, 1e-6))
    if isinstance(rows, slice):
        return MeaningEvidence(share, deviations)
    whole, typical = np.where(index.has_vector, np.float32(0), words), np.zeros_like(words)
    whole[rows], typical[rows] = share, deviations
    return MeaningEvidence(whole, typical)


def substance_evidence(index: "OwnerIndex", meaning: MeaningEvidence | None) -> Vectors:
    """Whether a message can hold an answer by itself: it has enough words, or is strikingly similar in meaning."""
    enough: Vectors = index.links.enough
    if meaning is None:
        return enough
    found: Vectors = np.maximum(enough, meaning.alone / np.float32(_STRIKING))
    np.minimum(found, np.float32(1), out=found)
    return found


def answer_evidence(index: "OwnerIndex", meaning: MeaningEvidence | None) -> Vectors | None:
    """How similar the question before each message is to the question asked: the message answers it, if it is short."""
    if meaning is None:
        return None
    asked = np.flatnonzero(index.asks)
    after = index.links.after[asked]
    similar = np.zeros(len(index) + 1, dtype=np.float32)  # the last one stands for a question that nothing follows
    similar[after] = meaning.alone[asked].clip(0, _MOST_SIMILAR) / np.float32(_MOST_SIMILAR)
    answered: Vectors = similar[:-1] * (1 - index.links.pages)
    return answered


def assistant_evidence(index: "OwnerIndex", question: str) -> Vectors | None:
    """Against what the assistant said, unless the question asks for it: what people told is asked for more often."""
    if len(index.roles.names) < 2 or pointed_role(question) == "assistant":
        return None
    return index.roles.among(["assistant"]).astype(np.float32)


def _typical(
    index: "OwnerIndex", query: Vectors, known: NDArray[np.bool_], rows: "Rows | slice", alone: Vectors
) -> tuple[float, float]:
    """Mean and standard deviation of the similarity to all allowed messages; estimated by a sample in a large index."""
    if not index.is_exact:
        likeness = index.sample(query, known)
    else:
        likeness = alone if isinstance(rows, slice) and known.all() else alone[known[rows]]
    # As `mean` and `std` compute them, which take longer to begin than a few thousand numbers take.
    mean = np.add.reduce(likeness) / np.float32(len(likeness))
    away = likeness - mean
    return float(mean), float(np.sqrt(np.add.reduce(away * away) / np.float32(len(likeness))))


def time_evidence(index: "OwnerIndex", named: Sequence["Period"]) -> Vectors | None:
    """How close in time each message is to a period that the question names.

    People report things a little later than they happen, so the value falls slowly after a period and faster before it.
    Like a word, a period is weighted by its rarity: one that holds most messages counts little, one that holds none not
    at all.
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


def _messages_within(times: NDArray[np.float64], period: "Period") -> tuple[float, float, int]:
    """Start and end of a period and how many messages it holds or, if none, the day after it.

    Otherwise the day after does not count: after "yesterday" it is today, which may hold all messages. A period that
    recurs every year is moved back by years until it holds messages.
    """
    start, end = period.start.timestamp(), period.end.timestamp()
    for years in range(_YEARS_BACK if period.recurs else 1):
        first, last = start - years * _YEAR, end - years * _YEAR
        since = times[times >= first]
        inside = int((since < last).sum()) or int((since < last + _DAY).sum())
        if inside:
            return first, last, inside
    return start, end, 0


def speaker_evidence(index: "OwnerIndex", question: str) -> Vectors | None:
    """1 for the messages of the role that the question asks about; less for a speaker: another may tell of them."""
    named = named_speakers(question, index.speakers.names)
    if named:
        return index.speakers.among(named) * np.float32(_NAMED)
    role = pointed_role(question)
    if role is None or len(index.roles.names) < 2:
        return None
    return index.roles.among([role]).astype(np.float32)


def topic_evidence(index: "OwnerIndex", topics: Mapping[str, float]) -> Vectors | None:
    """How similar the topic of each message is to the question, as given by the caller."""
    if not topics:
        return None
    # One more than there are names: messages without a topic have the code -1, which is the last one.
    worth = np.zeros(len(index.topics.names) + 1, dtype=np.float32)
    for place, name in enumerate(index.topics.names):
        worth[place] = min(1.0, max(0.0, topics.get(name, 0.0)))
    found: Vectors = worth[index.topics.codes]
    return found
