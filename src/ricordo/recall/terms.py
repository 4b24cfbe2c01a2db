"""Text to words that can be compared: case and accents folded, stems taken, empty words left out.

A text goes in, a list of stems comes out; as stored they are 32-bit hashes, because ranking only ever asks
whether two words are the same. Numbers and codes are kept whole. The language is guessed per text from its
small words; a question is stemmed both ways, so that a wrong guess costs nothing.
"""

import re
import unicodedata
import zlib
from functools import lru_cache
from typing import Literal

import numpy as np
import snowballstemmer
from numpy.typing import NDArray

from ricordo.languages.words import ENGLISH, ENGLISH_FORMS, ITALIAN, ITALIAN_FORMS

Language = Literal["en", "it"]
Terms = NDArray[np.uint32]

# Letters and digits, with the joints of codes and numbers kept inside: ISO-8859, 3.14, v2.1.
_WORD = re.compile(r"[^\W_]+(?:[._-](?=\w)[^\W_]+)*")
_PLAIN = re.compile(r"[^\W_]+")

_STOP: dict[Language, frozenset[str]] = {"en": ENGLISH, "it": ITALIAN}
_STEMMER = {"en": snowballstemmer.stemmer("english"), "it": snowballstemmer.stemmer("italian")}
_FORMS: dict[Language, dict[str, str]] = {"en": ENGLISH_FORMS, "it": ITALIAN_FORMS}
_ONLY_ENGLISH = ENGLISH - ITALIAN
_ONLY_ITALIAN = ITALIAN - ENGLISH
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


def guess_language(text: str) -> Language:
    """Italian when its small words outnumber the English ones; English otherwise."""
    words = _PLAIN.findall(fold(text[:2_000]))
    return _language_of(words)


def _language_of(words: list[str]) -> Language:
    balance = sum((word in _ONLY_ITALIAN) - (word in _ONLY_ENGLISH) for word in words)
    if balance:
        return "it" if balance > 0 else "en"
    # No small words at all: Italian words end in a vowel, English ones mostly do not.
    long = [word for word in words if len(word) > 3 and word.isalpha()]
    return "it" if long and sum(word[-1] in "aeio" for word in long) > 0.75 * len(long) else "en"


@lru_cache(maxsize=100_000)
def stem(word: str, language: Language) -> str:
    """The stem of a folded word, irregular forms included; a word with a digit is a code and stays as it is."""
    if any(c.isdigit() for c in word):
        return word
    stemmed: str = _STEMMER[language].stemWord(_FORMS[language].get(word, word))
    return stemmed


def stems(text: str, language: Language | None = None) -> list[str]:
    """The stems of a text's meaningful words, in order, repetitions kept."""
    words = tokens(text)
    spoken = language or _language_of(words)
    stop = _STOP[spoken]
    return [stem(word, spoken) for word in words if word not in stop]


@lru_cache(maxsize=100_000)
def hashed(stemmed: str) -> int:
    """The 32-bit name of a stem; the same on every machine."""
    return zlib.crc32(stemmed.encode("utf-8", "replace"))


def terms(text: str, language: Language | None = None) -> Terms:
    """The hashed stems of a text, as they are stored with its message."""
    return np.fromiter((hashed(each) for each in stems(text, language)), dtype=np.uint32)


def question_words(text: str) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Each distinct meaningful word of a question with the hashes that may stand for it in a message.

    A word is meaningless only if the question's own language says so; it is stemmed in both languages, since
    a message may be in the other one. A question made of small words alone keeps them all.
    """
    words = tokens(text)
    stop = _STOP[_language_of(words)]
    kept = [word for word in words if word not in stop] or words
    found: dict[tuple[int, ...], str] = {}
    for word in kept:
        variants = {hashed(stem(word, "en")), hashed(stem(word, "it"))}
        found.setdefault(tuple(sorted(variants)), word)
    return tuple((word, variants) for variants, word in found.items())


def terms_to_blob(found: Terms) -> bytes:
    """Hashed stems as bytes: four each, little-endian, in the order they were said."""
    return found.astype("<u4").tobytes()


def terms_from_blob(blob: bytes) -> Terms:
    """The inverse of `terms_to_blob`."""
    return np.frombuffer(blob, dtype="<u4").astype(np.uint32)
