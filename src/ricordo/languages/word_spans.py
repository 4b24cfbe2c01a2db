"""A text as lower-case words with their offsets.

Any text goes in, `WordSpans` come out: tokens with their offsets, and the words joined by single spaces. So a rule can
be a readable pattern over plain words and still report the exact span that triggered it.
"""

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

_TOKEN = re.compile(r"\w+|[^\w\s'’‘`´ʼ]")


class Token(NamedTuple):
    """One word or one punctuation mark, with its place in the original text."""

    word: str
    start: int
    end: int
    capital: bool
    is_word: bool


@dataclass(frozen=True, slots=True)
class WordSpans:
    """The tokens of one text, and the same tokens as one normalised string."""

    original: str
    tokens: tuple[Token, ...]
    text: str
    starts: tuple[int, ...]
    words: tuple[str, ...]  # without punctuation

    def word(self, index: int) -> str:
        """The word at `index`, or the empty string outside the line."""
        return self.tokens[index].word if 0 <= index < len(self.tokens) else ""

    def is_word(self, index: int) -> bool:
        """Whether a word, and not a mark or nothing, stands at `index`."""
        return 0 <= index < len(self.tokens) and self.tokens[index].is_word

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Offsets in the original text of the tokens from `first` to `last`, both included."""
        return self.tokens[first].start, self.tokens[last].end

    def token_at(self, position: int) -> int:
        """The index of the token that holds a position of the normalised text."""
        return max(0, bisect_right(self.starts, position) - 1)

    def token_at_offset(self, offset: int) -> int:
        """The index of the token that begins at an offset of the original text, or of the last one before it."""
        return max(0, bisect_right([token.start for token in self.tokens], offset) - 1)

    def match_span(self, match: re.Match[str]) -> tuple[int, int]:
        """Offsets in the original text of a match over the normalised text."""
        begin, end = match.span()
        while begin < end and self.text[begin] == " ":
            begin += 1
        return self.span(self.token_at(begin), self.token_at(max(begin, end - 1)))


@lru_cache(maxsize=256)  # every rule splits the same question
def split_words(text: str) -> WordSpans:
    """Split a text into tokens; an apostrophe only separates words ("l'ultimo" is "l", "ultimo")."""
    tokens: list[Token] = []
    pieces: list[str] = []
    starts: list[int] = []
    words: list[str] = []
    position = 0
    for match in _TOKEN.finditer(text):
        piece = match[0]
        word, first = piece.lower(), piece[0]
        is_word = first.isalnum() or first == "_"
        tokens.append(Token(word, *match.span(), first.isupper(), is_word))
        pieces.append(word)
        starts.append(position)
        position += len(word) + 1
        if is_word:
            words.append(word)
    return WordSpans(text, tuple(tokens), " ".join(pieces), tuple(starts), tuple(words))


def respelled(line: WordSpans, spellings: Mapping[str, str]) -> WordSpans:
    """The same tokens with abbreviations and common typing errors written out; offsets stay those of the original."""
    if not any(word in spellings for word in line.words):
        return line
    tokens = tuple(token._replace(word=spellings.get(token.word, token.word)) for token in line.tokens)
    starts: list[int] = []
    position = 0
    for token in tokens:
        starts.append(position)
        position += len(token.word) + 1
    words = tuple(token.word for token in tokens if token.is_word)
    return WordSpans(line.original, tokens, " ".join(token.word for token in tokens), tuple(starts), words)


def fold(text: str) -> str:
    """The text in one case and without accents: «Perché» and «perche'» become the same."""
    if text.isascii():
        return text.lower()
    # Compatibility forms first, so that a long s, a ligature or a full-width digit is a plain one.
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def stem(word: str) -> str:
    """A noun without its number ("gradi" and "grado", "stretches" and "stretch" meet)."""
    if len(word) <= 3:
        return word
    if word.endswith("ies"):
        return word[:-3]
    if word.endswith("s") and not word.endswith("ss"):
        word = word[:-1]
    bare = word.rstrip("aeioyàèéìò")
    if len(bare) < 3:
        return word
    return bare[:-1] if bare.endswith(("ch", "gh")) else bare


def stems(words: Iterable[str]) -> frozenset[str]:
    """The stems of many words."""
    return frozenset(stem(word) for word in words)
