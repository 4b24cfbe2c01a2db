"""The dialogue act of a message: small talk, a command, a statement, a claim about the past, or a question.

A message goes in; its act and the words it is about come out. Rules of all languages are tried on the folded message.
"""

import re
from dataclasses import dataclass
from typing import Literal

from ricordo.languages.registry import AnyLanguage
from ricordo.languages.word_spans import fold

Act = Literal[
    "greeting", "thanks", "okay", "farewell", "remember", "forget", "standing",
    "claim", "own_claim", "talk", "about_me", "question", "statement",
]  # fmt: skip
SMALL_TALK: frozenset[Act] = frozenset(("greeting", "thanks", "okay", "farewell"))
COMMANDS: frozenset[Act] = frozenset(("remember", "forget", "standing"))
STATED: frozenset[Act] = COMMANDS | {"statement"}  # what the user said in such a turn is a source of answers

_LONGEST_SMALL_TALK = 9  # words
_CLAUSE = re.compile(r"[,.!?;:()…\-]+(?:\s+|$)|\s*\n\s*|\s+(?:and|e)\s+")
_TAIL = r"(?:\s+[^\W\d]+){0,2}"
_GREETING = AnyLanguage(rf"(?:<dialogue.greetings>){_TAIL}", flags=0)
_THANKS = AnyLanguage(rf"(?:<dialogue.thanks>){_TAIL}", flags=0)
_FAREWELL = AnyLanguage(rf"(?:<dialogue.farewells>){_TAIL}", flags=0)
_OKAY = AnyLanguage(r"(?:<dialogue.okays>)(?:\s+(?:<dialogue.okays>))*", flags=0)
_ASKING = AnyLanguage(r"\W*(?:<dialogue.question_openings>)", flags=0)
_WH = AnyLanguage(r"\b(?:<dialogue.wh_words>)\b", flags=0)
_TELL = AnyLanguage(r"\W*(?:<dialogue.tell_me>)\b", flags=0)
_REMEMBER = AnyLanguage(r"\W*(?:<dialogue.remember>)", flags=0)
_FORGET = AnyLanguage(r"\W*(?:<dialogue.forget>)", flags=0)
_STANDING = AnyLanguage(r"\W*(?:<dialogue.standing>)[:,]?\s*", flags=0)
_YOU_SAID = AnyLanguage(r"\b(?:<dialogue.assistant_said>)\b", flags=0)
_I_SAID = AnyLanguage(r"\b(?:<dialogue.user_said>)\b", flags=0)
_TALK = AnyLanguage(r"\b(?:<dialogue.talk>)\b", flags=0)
_ABOUT_ME = AnyLanguage(r"\b(?:<dialogue.about_me>)", flags=0)
_FIRST_PERSON = AnyLanguage(r"\b(?:<dialogue.first_person>)\b", flags=0)


@dataclass(frozen=True, slots=True)
class DialogueAct:
    """What a message does. `content` is what a command wants kept or forgotten, or the message itself."""

    act: Act
    content: str
    about_oneself: bool = False


def folded(text: str) -> str:
    """A text as the rules read it."""
    return fold(text.replace("’", "'")).strip()


def dialogue_act(message: str) -> DialogueAct:
    """The act of a message."""
    plain = folded(message)
    small = _small_talk(plain)
    if small is not None:
        return DialogueAct(small, message)
    if _ABOUT_ME.search(plain):
        return DialogueAct("about_me", message)
    asks = _ASKING.match(plain) is not None and not plain.endswith("!")
    if _TALK.search(plain) and (asks or _TELL.match(plain) or "?" in plain or len(plain.split()) <= 12):
        return DialogueAct("talk", message)
    wh = asks and _opens_with_wh(plain)
    if not wh and (said := _YOU_SAID.search(plain)) and said.start() <= 40:
        return DialogueAct("claim", message)
    if not wh and "?" in plain and _I_SAID.search(plain):
        return DialogueAct("own_claim", message)
    if not plain.endswith("?"):
        for act, pattern in (("remember", _REMEMBER), ("forget", _FORGET), ("standing", _STANDING)):
            if (order := pattern.match(plain)) and not (act == "remember" and _opens_with_wh(plain[order.end() :])):
                rest = _rest(message, plain, order.end()) if act != "standing" or order.end() < len(plain) else message
                return DialogueAct(act, rest)  # type: ignore[arg-type]
    if asks or "?" in plain or _TELL.match(plain):
        return DialogueAct("question", message)
    return DialogueAct("statement", message, _FIRST_PERSON.search(plain) is not None)


def asks_for_answers(message: str) -> bool:
    """Whether a question wants to know what the assistant said."""
    return _YOU_SAID.search(folded(message)) is not None


def _opens_with_wh(plain: str) -> bool:
    first = _WH.search(plain)
    return first is not None and first.start() <= 12


def _small_talk(plain: str) -> Act | None:
    clauses = [part.strip(" '\"") for part in _CLAUSE.split(plain) if part and part.strip(" '\"")]
    if not clauses or len(plain.split()) > _LONGEST_SMALL_TALK:
        return None
    acts: list[Act] = []
    for clause in clauses:
        act = _clause_act(clause)
        if act is None:
            return None
        acts.append(act)
    ranked: tuple[Act, ...] = ("farewell", "thanks", "greeting", "okay")
    return next(act for act in ranked if act in acts)


def _clause_act(clause: str) -> Act | None:
    for act, pattern in (("greeting", _GREETING), ("thanks", _THANKS), ("farewell", _FAREWELL), ("okay", _OKAY)):
        if pattern.fullmatch(clause):
            return act  # type: ignore[return-value]
    return None


def _rest(message: str, plain: str, start: int) -> str:
    """The end of the message that corresponds to the end of its folded form."""
    return message.strip()[-(len(plain) - start) :].strip(" .") if start < len(plain) else message
