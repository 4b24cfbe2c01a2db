"""Text to words that can be compared: case and accents folded, stems taken, empty words left out.

A text goes in, a list of stems comes out; as stored they are 32-bit hashes, because ranking only ever asks
whether two words are the same. Numbers and codes are kept whole. The language is guessed per text from its
small words; a question is stemmed both ways, so that a wrong guess costs nothing.
"""

import re
import zlib
from collections.abc import Callable
from functools import cache, lru_cache

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from ricordo.languages.detect import guess_language_of
from ricordo.languages.registry import codes
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.word_spans import fold

Terms = NDArray[np.uint32]

# Letters and digits, with the joints of codes and numbers kept inside: ISO-8859, 3.14, v2.1.
_WORD = re.compile(r"[^\W_]+(?:[._-](?=\w)[^\W_]+)*")
_PLAIN = re.compile(r"[^\W_]+")

_LONGEST = 40  # longer strings are data, not words; their beginning identifies them


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
    spoken = language or guess_language_of(words)
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
    stop = language_by_code(guess_language_of(words)).vocabulary.stop_words
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
