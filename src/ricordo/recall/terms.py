"""Text to words that can be compared: case and accents folded, stems taken, empty words left out.

A text goes in, a list of stems comes out; as stored they are 32-bit hashes, because ranking only ever asks
whether two words are the same. Numbers and codes are kept whole. The language is guessed per text from its
small words; a question is stemmed both ways, so that a wrong guess costs nothing.
"""

import re
import unicodedata
import zlib
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from ricordo.languages.base import Language
from ricordo.languages.registry import codes, languages
from ricordo.languages.registry import language as language_by_code

Terms = NDArray[np.uint32]

# Letters and digits, with the joints of codes and numbers kept inside: ISO-8859, 3.14, v2.1.
_WORD = re.compile(r"[^\W_]+(?:[._-](?=\w)[^\W_]+)*")
_PLAIN = re.compile(r"[^\W_]+")

_LONGEST = 40  # longer strings are data, not words; their beginning identifies them


def fold(text: str) -> str:
    """The text in one case and without accents: «Perché» and «perche'» become the same."""
    if text.isascii():
        return text.lower()
    # Compatibility forms first, so that a long s, a ligature or a full-width digit is a plain one.
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def tokens(text: str) -> list[str]:
    """The words of a text in order, folded; a code such as "ISO-8859" gives itself and its parts."""
    found: list[str] = []
    for match in _WORD.findall(fold(text)):
        parts = _PLAIN.findall(match)
        found.extend(part[:_LONGEST] for part in parts)
        # Joined forms are worth keeping when a digit makes them a code or a number; words only have hyphens.
        if len(parts) > 1 and any(c.isdigit() for c in match):
            found.append(match[:_LONGEST])
    return found


def guess_language(text: str) -> str:
    """The code of the language whose own stop words a text uses most; the first language where nothing tells."""
    words = _PLAIN.findall(fold(text[:2_000]))
    return _language_of(words)


def _language_of(words: list[str]) -> str:
    known = languages()
    counts = [sum(word in own for word in words) for own in own_stop_words(known)]
    best = max(counts)
    if counts.count(best) == 1:
        return known[counts.index(best)].code
    # No stop word decides: the words of some languages, as of Italian, mostly end in one of a few letters.
    long = [word for word in words if len(word) > 3 and word.isalpha()]
    for each in known:
        letters = each.vocabulary.final_letters
        if long and letters and sum(word[-1] in letters for word in long) > 0.75 * len(long):
            return each.code
    return known[0].code


@cache
def own_stop_words(known: tuple[Language, ...]) -> tuple[frozenset[str], ...]:
    """For each language its stop words that no other language has."""
    tables = [each.vocabulary.stop_words for each in known]
    return tuple(own.difference(*(other for other in tables if other is not own)) for own in tables)


@cache
def _stemmer(name: str) -> Callable[[str], str]:
    stem_word: Callable[[str], str] = snowballstemmer.stemmer(name).stemWord
    return stem_word


@lru_cache(maxsize=100_000)
def stem(word: str, language: str) -> str:
    """The stem of a folded word, irregular forms included; a word with a digit is a code and stays as it is."""
    if any(c.isdigit() for c in word):
        return word
    vocabulary = language_by_code(language).vocabulary
    return _stemmer(vocabulary.stemmer)(vocabulary.irregular_forms.get(word, word))


def stems(text: str, language: str | None = None) -> list[str]:
    """The stems of a text's meaningful words, in order, repetitions kept."""
    words = tokens(text)
    spoken = language or _language_of(words)
    stop = language_by_code(spoken).vocabulary.stop_words
    return [stem(word, spoken) for word in words if word not in stop]


@lru_cache(maxsize=100_000)
def hashed(stemmed: str) -> int:
    """The 32-bit name of a stem; the same on every machine."""
    return zlib.crc32(stemmed.encode("utf-8", "replace"))


def terms(text: str, language: str | None = None) -> Terms:
    """The hashed stems of a text, as they are stored with its message."""
    return np.fromiter((hashed(each) for each in stems(text, language)), dtype=np.uint32)


def question_words(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Each distinct meaningful word of a question with the hashes that may stand for it in a message.

    A word is meaningless only if the question's own language says so; it is stemmed in every language, since
    a message may be in another one. A question made of small words alone keeps them all.
    """
    words = tokens(text)
    stop = language_by_code(_language_of(words)).vocabulary.stop_words
    kept = [word for word in words if word not in stop] or words
    found: dict[tuple[int, ...], str] = {}
    for word in kept:
        variants = {hashed(stem(word, code)) for code in codes()}
        found.setdefault(tuple(sorted(variants)), word)
    return tuple((word, variants) for variants, word in found.items())


def terms_to_blob(found: Terms) -> bytes:
    """Hashed stems as bytes: four each, little-endian, in the order they were said."""
    return found.astype("<u4").tobytes()


def terms_from_blob(blob: bytes) -> Terms:
    """The inverse of `terms_to_blob`."""
    return np.frombuffer(blob, dtype="<u4").astype(np.uint32)
