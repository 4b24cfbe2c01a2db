"""Which words of a talk carry its meaning, in which language it is, and what it is about.

Words are compared by a short form that Italian and English endings do not change; that is enough to count them, and
costs nothing. Key topics are the phrases and names that come back most.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache

from ricordo.languages import words
from ricordo.languages.followups_english import ENGLISH
from ricordo.languages.followups_italian import ITALIAN

LANGUAGES = ("it", "en")
_ONLY = {"it": words.ITALIAN - words.ENGLISH, "en": words.ENGLISH - words.ITALIAN}
_SMALL = words.ITALIAN | words.ENGLISH | ITALIAN.function_words | ENGLISH.function_words
_EMPTY = _SMALL | ITALIAN.verbs | ENGLISH.verbs
_CHATTER = frozenset(
    """ciao salve buongiorno buonasera grazie prego certo certamente ottimo perfetto benissimo esatto vorrei puoi
    potresti sapere capire aiutarmi domanda risposta cosa cose hello hi hey thanks thank please sure great cool nice
    wow awesome amazing glad good love like want need know think going thing things lot way time today really question
    answer help maybe definitely absolutely congrats congratulations appreciate yep yup bye sorry woah cheers gonna
    wanna gotta aww agreed totally hopefully lately guess seconda terza quarta scusa scusami dai ecco insomma comunque
    inoltre infine sounds fantastic gorgeous beautiful
    wonderful happy excited super pretty proud bet plus lots ah oh aw yay whoa oops nope nah ya haha lol
    vedi guarda prova piacere ovviamente sicuramente purtroppo""".split()  # noqa: SIM905 - a list of words reads better as words
)
_NOT_TOPICAL = _EMPTY | _CHATTER | ITALIAN.relational | ENGLISH.relational | ITALIAN.modifiers | ENGLISH.modifiers
_WORD = re.compile(r"[^\W\d_]+")
_PHRASE = re.compile(r"[^\W\d_]+|[^\w\s'’-]|\n|\d+")
_ID = re.compile(r"(?=\S*\d)[\w.:/@+~%-]*#[\w.:/-]+")  # of a chunk, say; a word after "#" without digits is a word
_VOWELS = "aeiouàèéìòù"
_LONGEST_PHRASE = 3
_BEGINNING = 600  # characters of a text: what it is about shows there


def language_of(texts: Iterable[str], default: str = "en") -> str:
    """Italian or English, by whose small words are more; `default` when there are none."""
    votes: Counter[str] = Counter()
    for text in texts:
        for word in _WORD.findall(text[:500].lower()):
            for language, small in _ONLY.items():
                votes[language] += word in small
        if sum(votes.values()) > 200:
            break
    best = max(LANGUAGES, key=lambda language: votes[language])
    return best if votes[best] > votes[LANGUAGES[1 - LANGUAGES.index(best)]] else default


@lru_cache(maxsize=20_000)
def short_form(word: str) -> str:
    """What a lower-case word has in common with its plural and its other gender."""
    if len(word) > 4 and word.endswith("s"):
        word = word[:-1]
    return word.rstrip(_VOWELS) if len(word) > 4 and word[-1] in _VOWELS else word


def terms(text: str) -> list[str]:
    """The short forms of the words that carry meaning, in order."""
    return [short_form(word) for word in _WORD.findall(text.lower()) if len(word) > 2 and not is_small(word)]


def is_small(word: str) -> bool:
    """Whether a lower-case word is grammar, a common verb or small talk: no name begins a sentence like that."""
    return word in _EMPTY or word in _CHATTER


def key_topics(texts: Sequence[str], *, most: int = 8, before: Sequence[str] = ()) -> tuple[str, ...]:
    """What comes back most: phrases of one to three words; what was noted before keeps its place beside it."""
    counts: Counter[tuple[str, ...]] = Counter()
    spelled: dict[tuple[str, ...], str] = {}
    for text in texts:
        for phrase in _phrases(text[:_BEGINNING]):
            for size in range(1, min(len(phrase), _LONGEST_PHRASE) + 1):
                for start in range(len(phrase) - size + 1):
                    words = phrase[start : start + size]
                    if words[0].isdigit():
                        continue  # a number names nothing, though it may belong to a name
                    key = tuple([short_form(word.lower()) for word in words])
                    counts[key] += 1
                    spelled.setdefault(key, " ".join(words))
    # A phrase is worth its uses times its words: "stenosi lombare" three times over "stenosi" five times.
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
    """Runs of words that can name a topic, divided by grammar and punctuation."""
    run: list[str] = []
    for word in _PHRASE.findall(_ID.sub("\n", text)):
        if len(word) > 2 and word.lower() not in _NOT_TOPICAL:
            run.append(word)
        elif run:
            yield run
            run = []
    if run:
        yield run


def _within(part: tuple[str, ...], whole: tuple[str, ...]) -> bool:
    size = len(part)
    return any(whole[start : start + size] == part for start in range(len(whole) - size + 1))
