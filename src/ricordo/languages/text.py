"""Text as words with their offsets, the language it is written in, and its sentences.

Any text goes in, `WordSpans` come out: tokens with their offsets, and the words joined by single spaces. So a rule can
be a readable pattern over plain words and still report the exact span that triggered it. Which language a text is in
has three measures: `guess_language` counts stop words of the folded text and always answers: terms are stored by it.
`detect_language` counts them over many texts and has a default for a tie. `language_of` weighs grammar and common
words as well, and gives the table by which follow-ups are read.

Sentences are spans. A full stop ends one unless it belongs to an abbreviation, a number, an initial or a name such as
"v2.1". Only the caller knows where paragraphs, list points and headings end.
"""

import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import accumulate, compress, repeat
from typing import TYPE_CHECKING, NamedTuple

from ricordo.languages.registry import AnyLanguage, all_values, all_words, language, languages

if TYPE_CHECKING:
    from ricordo.languages.base import Language
    from ricordo.languages.followup_words import FollowUpWords

_ROOT_LETTERS = 5
_TOKEN = re.compile(r"(\w+|[^\w\s'’‘`´ʼ])")
_WORDS = re.compile(r"\w+")


class Token(NamedTuple):
    """One word or one punctuation mark, with its place in the original text."""

    word: str
    start: int
    end: int
    capital: bool
    is_word: bool


_new_token = tuple.__new__  # takes half the time of the constructor, and every word of a talk is a token


_HASTY = re.compile(r"[\w'\u2019]+")


def in_full(text: str, code: str) -> str:
    """A text in which words written in haste are spelled out: "im" as "I'm", "dont" as "don't", "qnd" as "quando"."""
    spelled = language(code).vocabulary.spelled_out
    return _HASTY.sub(lambda word: spelled.get(word[0].lower(), word[0]), text)


@dataclass(frozen=True, slots=True)
class WordSpans:
    """The tokens of one text, and the same tokens as one normalised string."""

    original: str
    tokens: tuple[Token, ...]
    text: str
    starts: tuple[int, ...]
    words: tuple[str, ...]  # without punctuation

    def __hash__(self) -> int:
        return hash((self.original, self.text))

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
        return max(0, bisect_right(self.tokens, offset, key=lambda token: token.start) - 1)

    def match_span(self, match: re.Match[str]) -> tuple[int, int]:
        """Offsets in the original text of a match over the normalised text."""
        begin, end = match.span()
        while begin < end and self.text[begin] == " ":
            begin += 1
        return self.span(self.token_at(begin), self.token_at(max(begin, end - 1)))


@lru_cache(maxsize=512)  # every rule splits the same question
def split_words(text: str) -> WordSpans:
    """Split a text into tokens; an apostrophe only separates words ("l'ultimo" is "l", "ultimo")."""
    parts = _TOKEN.split(text)  # between the tokens stands what is none
    pieces = list(map(str.lower, parts[1::2]))
    firsts = [piece[0] for piece in parts[1::2]]
    are_words = [first.isalnum() or first == "_" for first in firsts]
    ends = list(accumulate(map(len, parts)))
    tokens = map(
        _new_token, repeat(Token), zip(pieces, ends[::2], ends[1::2], map(str.isupper, firsts), are_words, strict=False)
    )
    starts = accumulate([len(piece) + 1 for piece in pieces[:-1]], initial=0)
    return WordSpans(text, tuple(tokens), " ".join(pieces), tuple(starts), tuple(compress(pieces, are_words)))


@lru_cache(maxsize=512)
def words_in(text: str) -> tuple[str, ...]:
    """The words that `split_words` finds, without their places: that takes a sixth of the time."""
    return tuple(map(str.lower, _WORDS.findall(text)))


def respelled(line: WordSpans, spellings: Mapping[str, str]) -> WordSpans:
    """The same tokens with abbreviations and common typing errors written out; offsets stay those of the original."""
    if spellings.keys().isdisjoint(line.words):
        return line
    tokens = tuple(
        token._replace(word=spellings[token.word]) if token.word in spellings else token for token in line.tokens
    )
    starts: list[int] = []
    position = 0
    for token in tokens:
        starts.append(position)
        position += len(token.word) + 1
    words = tuple(token.word for token in tokens if token.is_word)
    return WordSpans(line.original, tokens, " ".join(token.word for token in tokens), tuple(starts), words)


@lru_cache(maxsize=256)
def written_out(question: str, language: "FollowUpWords") -> WordSpans:
    """The words of a question with its abbreviations written out."""
    return respelled(split_words(question), language.spellings)


def fold(text: str) -> str:
    """The text in one case and without accents: «Perché» and «perche'» become the same."""
    if text.isascii():
        return text.lower()
    # Compatibility forms first, so that a long s, a ligature or a full-width digit is a plain one.
    plain = _ACCENTS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return plain if plain.isascii() else plain.translate(_WITHOUT_ACCENTS)


# Often all that is not ASCII; the table looks at every character. A joiner among them is no accent.
_ACCENTS = re.compile("[\u0300-\u034e\u0350-\u036f]+")


_POLITE = AnyLanguage(
    r"\W*(?:(?:<dialogue.polite_leads>)[\s,;.!]+)*(?P<form>(?:<dialogue.polite>))(?:(?<=')|(?!\w))", flags=0
)
_POLITE_WITHIN = AnyLanguage(r"(?<!\w)(?:<dialogue.polite_within>)(?!\w)", flags=0)
_TELLING = AnyLanguage(r"\W*(?:(?:<dialogue.polite_leads>)[\s,;.!]+)*(?:<dialogue.telling>)", flags=0)
_TELLING_TAG = AnyLanguage(r"\s*[,;.!…–—-]\s*(?:<dialogue.telling_tags>)\s*[?!.…]*\s*$", flags=0)


def _flat(text: str) -> str:
    """A text folded letter by letter, or empty where that would move its letters."""
    plain = fold(text.replace("’", "'"))
    return plain if len(plain) == len(text) else ""


@lru_cache(maxsize=256)
def familiar(text: str) -> str:
    """A text with its polite orders and questions put as to a friend: «Mi spieghi» becomes «spiegami»."""
    opening = _POLITE.match(_flat(text))
    if opening:
        start, end = opening.span("form")
        text = f"{text[:start]}{all_values('dialogue.polite')[opening['form']]}{text[end:]}"
    for found in reversed(list(_POLITE_WITHIN.finditer(_flat(text)))):
        text = f"{text[: found.start()]}{all_values('dialogue.polite_within')[found[0]]}{text[found.end() :]}"
    return text


@lru_cache(maxsize=1_024)
def as_told(text: str) -> str:
    """What a message tells, without what only makes it a question: "did you know that", "you know?"."""
    plain = _flat(text)
    tag = _TELLING_TAG.search(plain)
    if tag and len(plain[: tag.start()].split()) > 1 and not plain[: tag.start()].endswith("?"):
        text, plain = text[: tag.start()], plain[: tag.start()]
    opening = _TELLING.match(plain)
    return text[opening.end() :].rstrip(" ?") if opening and opening.end() < len(text) else text


class _WithoutAccents(dict[int, int | None]):
    """A table for `str.translate` that drops combining characters; it fills as characters are met."""

    def __missing__(self, character: int) -> int | None:
        kept = None if unicodedata.combining(chr(character)) else character
        self[character] = kept
        return kept


_WITHOUT_ACCENTS = _WithoutAccents()


@lru_cache(maxsize=8192)
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


@lru_cache(maxsize=8192)
def root(word: str) -> str:
    """The beginning that forms of one word share ("smash", "smashed")."""
    bare = stem(word)
    return bare[:_ROOT_LETTERS] if len(bare) > _ROOT_LETTERS else bare


_WORD = re.compile(r"[^\W_]+")
_LETTERS = re.compile(r"[^\W\d_]+")


def followup_languages() -> tuple["FollowUpWords", ...]:
    """The follow-up tables of all languages."""
    return _followups_of(languages())


@cache
def _followups_of(known: tuple["Language", ...]) -> tuple["FollowUpWords", ...]:
    return tuple(each.followups for each in known)


def language_of(text: str, default: "FollowUpWords | None" = None) -> "FollowUpWords":
    """The language whose grammar and common words a text uses most; `default`, or the first, where it uses none."""
    tables = followup_languages()
    scores = _scores(text[:1000], tables)
    best = max(scores, default=0)
    if best == 0:
        return default or tables[0]
    winners = [table for table, score in zip(tables, scores, strict=True) if score == best]
    return default if default in winners else winners[0]


@lru_cache(maxsize=256)
def _scores(text: str, known: tuple["FollowUpWords", ...]) -> list[int]:
    words = words_in(text)
    return [sum(map(each.language_weights.get, words, repeat(0))) for each in known]


def guess_language(text: str) -> str:
    """The code of the language whose own stop words a text uses most; the first language where nothing tells."""
    words = _WORD.findall(fold(text[:2_000]))
    return guess_language_of(words)


def guess_language_of(words: Sequence[str]) -> str:
    """The same for the folded words of a text."""
    known = languages()
    counts = [sum(map(own.__contains__, words)) for own in own_stop_words(known)]
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
def own_stop_words(known: tuple["Language", ...]) -> tuple[frozenset[str], ...]:
    """For each language its stop words that no other language has."""
    tables = [each.vocabulary.stop_words for each in known]
    return tuple(own.difference(*(other for other in tables if other is not own)) for own in tables)


def detect_language(texts: Iterable[str], default: str = "en") -> str:
    """The language whose own stop words are used most; `default` where two are used alike, or none."""
    known = languages()
    votes: Counter[str] = Counter()
    for text in texts:
        for word in _LETTERS.findall(text[:500].lower()):
            for each, own in zip(known, own_stop_words(known), strict=True):
                votes[each.code] += word in own
        if sum(votes.values()) > 200:
            break
    (best, most), *others = votes.most_common(2) or [(default, 0)]
    return best if most and all(most > fewer for _, fewer in others) else default


Span = tuple[int, int]

# A stop, closing quotes or brackets, citations that follow it, then space: the sentence may end there.
_END = re.compile(
    r"(?<![.!?…])(?P<mark>[.!?…]++)(?P<close>[\"'»”’)\]*_]*+)(?=\s|$)|(?P<wide>[。！？]+)|(?P<line>[\n\r\u2028\u2029])"
)
_MARK = re.compile(r"[.!?…。！？\n\r\u2028\u2029]")
_WORD_BEFORE = re.compile(r"[^\s(\[\"'«“‘*_]*$")
_LONGEST_WORD, _LONGEST_GAP = 40, 80


def sentences(text: str, start: int = 0, end: int | None = None, *, chat: bool = False) -> tuple[Span, ...]:
    """The sentences of `text[start:end]` in order, without the blanks around them; nothing but blanks is left out.

    In a `chat` a sentence may begin with a small letter, and none is longer than its line.
    """
    stop = len(text) if end is None else end
    found: list[Span] = []
    begin = start
    for at in _ends(text, start, stop, chat=chat):
        _keep(text, begin, at, found)
        begin = at
    _keep(text, begin, stop, found)
    return tuple(found)


def trimmed(text: str, start: int, end: int) -> Span:
    """The span without the blanks at its ends; empty (start = end) if there is nothing else."""
    inside = text[start:end]
    left = len(inside) - len(inside.lstrip())
    kept = len(inside.strip())
    return start + left, start + left + kept


def _keep(text: str, start: int, end: int, found: list[Span]) -> None:
    span = trimmed(text, start, end)
    if span[0] < span[1]:
        found.append(span)


def _ends(text: str, start: int, stop: int, *, chat: bool) -> Iterator[int]:
    for match in _marks(text, start, stop):
        if match["wide"] or match["line"]:
            if match["wide"] or chat:
                yield match.end()
            continue
        if match["mark"] != "." or match["close"]:
            if chat or not _goes_on(text, match.end(), stop):
                yield match.end()
            continue
        word = _word_before(text, start, match.start())
        begin = match.start() - len(word)
        numbers_a_point = word.isdigit() and (begin == start or _opens_line(text, begin))
        following = text[match.end() : min(stop, match.end() + _LONGEST_GAP)].lstrip()[:1]
        if numbers_a_point or _is_abbreviation(word, following, chat=chat):
            continue
        if chat or not _goes_on(text, match.end(), stop):
            yield match.end()


def _marks(text: str, start: int, stop: int) -> Iterator[re.Match[str]]:
    """What `_END` finds; looking for one of its characters first is faster, because most places hold none."""
    while found := _MARK.search(text, start, stop):
        match = _END.match(text, found.start(), stop)
        start = match.end() if match else found.end()
        if match:
            yield match


def _opens_line(text: str, at: int) -> bool:
    return text[max(0, at - 20) : at].rpartition("\n")[2].strip() == "" and "\n" in text[max(0, at - 20) : at]


def _word_before(text: str, start: int, at: int) -> str:
    found = _WORD_BEFORE.search(text[max(start, at - _LONGEST_WORD) : at])
    return found.group() if found else ""


def _is_abbreviation(word: str, following: str, *, chat: bool) -> bool:
    low = word.lower()
    if len(word) == 1 and word.isalpha():  # an initial, or a letter by itself
        return following.isupper() == word.isupper() if chat else word.isupper()
    return (
        low in all_words("vocabulary.abbreviations")
        or (low in all_words("vocabulary.number_signs") and following.isdigit())
        or (chat and low in all_words("vocabulary.chat_abbreviations"))
    )


def _goes_on(text: str, at: int, stop: int) -> bool:
    """Whether what follows begins with a small letter, as no sentence does outside a chat."""
    return text[at : min(stop, at + _LONGEST_GAP)].lstrip()[:1].islower()


def is_content(language: "FollowUpWords", word: str) -> bool:
    """Whether a word carries meaning of its own (it is not grammar and not a common verb)."""
    return word not in language.function_words and word not in language.verbs


def is_topical(language: "FollowUpWords", word: str) -> bool:
    """Whether a word can name a topic: content, and not a noun or adjective that waits for one."""
    return is_content(language, word) and word not in language.relational and word not in language.modifiers
