"""What a question asks for: its kind, and the words that say about what.

The kind (a definition, a list, a reason…) comes from how the question is put, Italian or English; the words that only
put it ("spiegami", "what is the difference") are told apart from those that name its subject, because an answer
repeats the second and hardly ever the first.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

from ricordo.languages.registry import AnyLanguage, all_words, codes, language
from ricordo.recall.terms import fold, guess_language, stem, tokens

# The question in a message, and what is said beside it.

_END = re.compile(r"(?<=[.!?…])[\"»”')]*\s+|\n+")
# Who says "hello, I am Anna, what is…" has put a sentence before a comma.
_ABOUT_ME = AnyLanguage(r"\W*(?:<questions.introductions>)\b", flags=0)
_COMMA = re.compile(r"\s*[,;:–—]\s+")
# They only ask whether one was understood, or for help.
_TAG = AnyLanguage(r"\W*(?:<questions.tags>)\W*", flags=0)
# A request that is put as an order: it asks without a question mark.
_REQUEST = AnyLanguage(r"\W*(?:per favore,? |please,? )?(?:<questions.requests>)\b", flags=0)


def split_question(message: str) -> tuple[str, str]:
    """What a message asks, and what else it says; all of it and nothing where only one of the two is there."""
    said = [part for sentence in _END.split(message) if sentence.strip() for part in _clauses(sentence.strip())]
    asking = [part for part in said if _asks(part)]
    if not asking or len(asking) == len(said):
        return message, ""
    return " ".join(asking), " ".join(part for part in said if part not in asking)


def _asks(part: str) -> bool:
    plain = _plain(part)
    if part.rstrip("\"»”') ").endswith("?"):
        return not _TAG.fullmatch(plain)
    return _REQUEST.match(plain) is not None


def _clauses(sentence: str) -> list[str]:
    """A sentence; without the introduction before its commas as a part of its own, where it begins with one."""
    rest, before = sentence, []
    while _ABOUT_ME.match(_plain(rest)) and (comma := _COMMA.search(rest)) and rest[comma.end() :]:
        before.append(rest[: comma.start()])
        rest = rest[comma.end() :]
    return [*before, rest]


def _plain(text: str) -> str:
    return fold(text.replace("’", "'"))


QuestionKind = Literal[
    "comparison", "list", "reason", "quantity", "place", "person",
    "time", "definition", "procedure", "explanation", "open",
]  # fmt: skip

# Tried in this order on the folded question; the first that matches decides.
_KINDS: tuple[tuple[QuestionKind, AnyLanguage], ...] = (
    ("comparison", AnyLanguage(r"\b(?:<questions.kinds:comparison>)\b", flags=0)),
    ("quantity", AnyLanguage(r"\b(?:<questions.kinds:quantity>)\b", flags=0)),
    ("list", AnyLanguage(r"\b(?:<questions.kinds:list>)\b", flags=0)),
    ("reason", AnyLanguage(r"\b(?:<questions.kinds:reason>)\b", flags=0)),
    ("person", AnyLanguage(r"^\W*(?:<questions.kinds:person>)\b", flags=0)),
    ("place", AnyLanguage(r"\b(?:<questions.kinds:place>)\b", flags=0)),
    ("time", AnyLanguage(r"\b(?:<questions.kinds:time>)\b", flags=0)),
    ("procedure", AnyLanguage(r"\b(?:<questions.kinds:procedure>)\b", flags=0)),
    ("definition", AnyLanguage(r"\b(?:<questions.kinds:definition>)\b", flags=0)),
    ("explanation", AnyLanguage(r"\b(?:<questions.kinds:explanation>)\b", flags=0)),
)
_PLURAL_DEFINITION = AnyLanguage(r"^\W*(?:<questions.plural_definitions>)\W*$", flags=0)
_DEGREE = AnyLanguage(r"(?:<questions.degrees>)\b")
_LIGHT_WORTH = 0.25
_BESIDE = 0.1  # what a word beside the question is worth, where the material has it
_MOST_WORDS = 64  # a longer question is judged by its beginning


@dataclass(frozen=True, slots=True)
class SubjectWord:
    """One word of the subject, in the stems it may have; `worth` is less for a verb that any question may hold.

    A word said `beside` the question helps where the material has it, and is no loss where it has not.
    """

    word: str
    stems: frozenset[str]
    worth: float = 1.0
    beside: bool = False


def kind_of_question(question: str) -> QuestionKind:
    """How a question is put; "open" when nothing tells."""
    folded = fold(split_question(question)[0].replace("’", "'"))
    if _PLURAL_DEFINITION.match(folded):
        return "definition"
    return next((kind for kind, pattern in _KINDS if pattern.search(folded)), "open")


def subject_words(question: str) -> tuple[SubjectWord, ...]:
    """The distinct words that say what a question is about, in order; none for "spiegami" or "perché?".

    Those that are said beside the question follow, and are worth less, unless it has no subject without them.
    """
    asked, beside = split_question(question)
    found = _subject(asked)
    share = _BESIDE if any(word.worth == 1.0 for word in found.values()) else 1.0
    for variants, word in _subject(beside).items():
        found.setdefault(variants, replace(word, worth=share * word.worth, beside=True))
    return tuple(found.values())[:_MOST_WORDS]


def _subject(text: str) -> dict[frozenset[str], SubjectWord]:
    small = language(guess_language(text)).vocabulary.stop_words
    asking, light = all_words("questions.asking_words"), all_words("questions.light_verbs")
    found: dict[frozenset[str], SubjectWord] = {}
    for word in tokens(_DEGREE.sub("", text)):
        if word in small or word in asking:
            continue
        variants = frozenset(stem(word, code) for code in codes())
        found.setdefault(variants, SubjectWord(word, variants, _LIGHT_WORTH if word in light else 1.0))
    return found
