"""The kind of a question, and the words that name its subject.

The kind (definition, list, reason…) follows from the phrasing, Italian or English. Words that only phrase the question
("spiegami", "what is the difference") are separated from subject words, because answers repeat only the latter.
"""

import re
from dataclasses import dataclass, replace
from typing import Literal

from ricordo.languages.detect import guess_language
from ricordo.languages.registry import AnyLanguage, all_words, codes, language
from ricordo.languages.sentences import sentences
from ricordo.languages.word_spans import fold
from ricordo.recall.evidence import stem, tokens

# An introduction before a comma: "hello, I am Anna, what is…".
_ABOUT_ME = AnyLanguage(r"\W*(?:<questions.introductions>)\b", flags=0)
_COMMA = re.compile(r"\s*[,;:–—]\s+")
# Questions that only ask for confirmation or help.
_TAG = AnyLanguage(r"\W*(?:<questions.tags>)\W*", flags=0)
_MOST_CHARACTERS = 8_000  # read at each end of a message
# A request without a question mark.
_REQUEST = AnyLanguage(r"\W*(?:(?:<questions.politeness>),? )?(?:<questions.requests>)\b", flags=0)


def split_question(message: str) -> tuple[str, str]:
    """The question in a message and the rest; the whole message if it has no separate rest.

    Of a long message the beginning and the end are read, where questions stand.
    """
    if len(message) > 2 * _MOST_CHARACTERS:
        message = f"{message[:_MOST_CHARACTERS]}\n{message[-_MOST_CHARACTERS:]}"
    lines = ((line, span) for line in message.splitlines() for span in sentences(line, chat=True))
    said = [part for line, (start, end) in lines for part in _clauses(line[start:end])]
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
    """The clauses of a sentence that starts with an introduction ("hello, I am Anna, what is…"); else one."""
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

# Tried in this order on the folded question; the first match decides.
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
_BESIDE = 0.1  # weight of a word outside the question
_MOST_WORDS = 64  # words read of a question


@dataclass(frozen=True, slots=True)
class SubjectWord:
    """A subject word with its possible stems; `worth` is its weight, lower for common verbs.

    A word `beside` the question counts if the material has it, and is ignored if not.
    """

    word: str
    stems: frozenset[str]
    worth: float = 1.0
    beside: bool = False


def kind_of_question(question: str) -> QuestionKind:
    """The kind of a question; "open" if no rule matches."""
    folded = fold(split_question(question)[0].replace("’", "'"))
    if _PLURAL_DEFINITION.match(folded):
        return "definition"
    return next((kind for kind, pattern in _KINDS if pattern.search(folded)), "open")


def subject_words(question: str) -> tuple[SubjectWord, ...]:
    """The distinct subject words of a question, in order; empty for "spiegami" or "perché?".

    Words outside the question follow with a lower weight, unless the question has no subject of its own.
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
