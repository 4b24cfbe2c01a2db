"""Keywords of a conversation, its language, and its key topics.

Words are compared by a base form that Italian and English endings do not change, which is enough to count them. Key
topics are the phrases and names that occur most.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache

from ricordo.languages.base import Language
from ricordo.languages.registry import all_words, languages

_WORD = re.compile(r"[^\W\d_]+")
_PHRASE = re.compile(r"[^\W\d_]+|[^\w\s'’-]|\n|\d+")
_ID = re.compile(r"(?=\S*\d)[\w.:/@+~%-]*#[\w.:/-]+")  # a chunk id, for example; "#" before letters only is a hashtag
_VOWELS = "aeiouàèéìòù"
_LONGEST_PHRASE = 3
_BEGINNING = 600  # characters read of each text


@lru_cache(maxsize=20_000)
def base_form(word: str) -> str:
    """A lower-case word without its plural and gender ending."""
    if len(word) > 4 and word.endswith("s"):
        word = word[:-1]
    return word.rstrip(_VOWELS) if len(word) > 4 and word[-1] in _VOWELS else word


def keywords(text: str) -> list[str]:
    """The base forms of the content words, in order."""
    return [base_form(word) for word in _WORD.findall(text.lower()) if len(word) > 2 and not is_stop_word(word)]


def is_stop_word(word: str) -> bool:
    """Whether a lower-case word is a function word, a common verb or small talk."""
    return word in _small_words(languages())


@cache
def _small_words(known: tuple[Language, ...]) -> frozenset[str]:
    fields = ("vocabulary.stop_words", "vocabulary.small_talk", "followups.function_words", "followups.verbs")
    return frozenset().union(*map(all_words, fields))


@cache
def _not_topical(known: tuple[Language, ...]) -> frozenset[str]:
    return _small_words(known).union(all_words("followups.relational"), all_words("followups.modifiers"))


def key_topics(texts: Sequence[str], *, most: int = 8, before: Sequence[str] = ()) -> tuple[str, ...]:
    """The most frequent phrases of one to three words, interleaved with the topics of `before`."""
    counts: Counter[tuple[str, ...]] = Counter()
    spelled: dict[tuple[str, ...], str] = {}
    for text in texts:
        for phrase in _phrases(text[:_BEGINNING]):
            for size in range(1, min(len(phrase), _LONGEST_PHRASE) + 1):
                for start in range(len(phrase) - size + 1):
                    words = phrase[start : start + size]
                    if words[0].isdigit():
                        continue  # a number may only continue a name
                    key = tuple([base_form(word.lower()) for word in words])
                    counts[key] += 1
                    spelled.setdefault(key, " ".join(words))
    # Score: uses times words, so "stenosi lombare" three times beats "stenosi" five times.
    enough = 2 if len(texts) > 2 else 1
    ranked = sorted((key for key in counts if counts[key] >= enough), key=lambda key: (-counts[key] * len(key), key))
    fresh: list[tuple[str, ...]] = []
    for key in ranked:
        if len(fresh) >= most:
            break
        if not any(_within(key, other) or _within(other, key) for other in fresh):
            fresh.append(key)
    return _beside(before, [spelled[key] for key in fresh])[:most]


def _beside(before: Sequence[str], fresh: Sequence[str]) -> tuple[str, ...]:
    mixed: dict[str, str] = {}
    for position in range(max(len(before), len(fresh))):
        for source in (before, fresh):
            if position < len(source):
                mixed.setdefault(source[position].lower(), source[position])
    return tuple(mixed.values())


def _phrases(text: str) -> Iterable[list[str]]:
    """Runs of words that can name a topic, split at stop words and punctuation."""
    run: list[str] = []
    passed_over = _not_topical(languages())
    for word in _PHRASE.findall(_ID.sub("\n", text)):
        if len(word) > 2 and word.lower() not in passed_over:
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    size = len(part)
    return any(whole[start : start + size] == part for start in range(len(whole) - size + 1))
