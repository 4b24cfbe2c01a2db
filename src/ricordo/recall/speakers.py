"""Whom a question points at: a speaker by name, or one side of the talk by person.

"What did Anna say?" points at Anna; "where did I park?" at the user; "what did you recommend?" at the assistant.
Names come from the messages themselves: the name they carry, or a "Name: " at their beginning.
"""

import re
from collections.abc import Iterable

from ricordo.recall.words import fold, tokens

_PREFIX = re.compile(r"([A-ZÀ-Þ][\w.'’-]{0,24}(?: [A-ZÀ-Þ][\w.'’-]{0,24}){0,2}):\s+\S")
# Words that open a line with a colon and are no one's name.
_NOT_NAMES_TEXT = (
    "note nota warning attenzione example esempio question domanda answer risposta summary riassunto update "
    "aggiornamento todo edit ps tip important importante error errore problem problema solution soluzione step "
    "title titolo subject oggetto date data time ora total totale result risultato input output user assistant "
    "system tool utente assistente sistema tutor studente human bot"
)
_NOT_NAMES = frozenset(_NOT_NAMES_TEXT.split())
_ME = re.compile(r"\b(?:i|i'm|i've|i'd|my|me|mine|myself|io|mio|mia|miei|mie|mi|ho|avevo|ero)\b")
_YOU = re.compile(
    r"\b(?:did|have|had|were) you\b|\byou (?:said|say|told|tell|recommend\w*|suggest\w*|advis\w*|explain\w*"
    r"|propos\w*|mention\w*|wrote|gave|answer\w*)\b|\byour (?:advice|suggestion|recommendation|answer|explanation)s?\b"
    r"|\b(?:hai|avevi) (?:\w+ )?(?:detto|consigliato|suggerito|proposto|risposto|spiegato|raccomandato|scritto"
    r"|dato|indicato|citato)\b|\b(?:tuo|tuoi|tua|tue) (?:consigli\w*|suggeriment\w*|rispost\w*|spiegazion\w*)\b"
)


def speaker_in(text: str) -> str | None:
    """The name that a message begins with, as in "Anna: ciao"; None when it begins otherwise."""
    match = _PREFIX.match(text)
    if match is None or fold(match[1]) in _NOT_NAMES:
        return None
    return match[1]


def indexed_text(content: str, name: str | None) -> str:
    """What is indexed and embedded: the words with the speaker's name before them, once."""
    return f"{name}: {content}" if name and not content.startswith(f"{name}:") else content


def named_speakers(question: str, speakers: Iterable[str]) -> frozenset[str]:
    """The speakers that a question names, in full or by first name; none when it names them all."""
    everyone = {name for name in speakers if name}
    asked = set(tokens(question))
    named = frozenset(name for name in everyone if (parts := tokens(name)) and parts[0] in asked)
    return named if len(named) < len(everyone) else frozenset()


def pointed_role(question: str) -> str | None:
    """The side that a question asks about: "assistant" for what you said, "user" for me and mine."""
    folded = fold(question.replace("\u2019", "'"))
    if _YOU.search(folded):
        return "assistant"
    return "user" if _ME.search(folded) else None
