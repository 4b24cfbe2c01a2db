"""Words that tell where a talk stands, in Italian and English: openings, closings, words that lean on what was said.

Data, not decisions: each table is a tuple of plain phrases, compiled once. The languages are matched together, since a
message is short and its language often a guess; what would be ambiguous across the two is left out.
"""

import re

_OPENING = (
    # Italian
    "ciao", "salve", "buongiorno", "buon giorno", "buonasera", "buona sera", "pronto", "scusi", "mi scusi", "scusa",
    "senti", "senta", "a proposito", "comunque", "cambiando argomento", "cambiando discorso", "altra domanda",
    "un'altra domanda", "un'altra cosa", "passiamo a", "parliamo di", "torniamo a", "torniamo al", "torniamo alla",
    "torniamo ai", "tornando a", "tornando al", "tornando alla",
    # English
    "hi", "hello", "hey", "good morning", "good afternoon", "good evening", "excuse me", "by the way", "btw", "anyway",
    "another question", "another thing", "on another note", "changing the subject", "let's talk about",
    "back to", "going back to", "coming back to",
)  # fmt: skip

_CLOSING = (
    # Italian
    "arrivederci", "a presto", "a dopo", "ci vediamo", "buonanotte", "buona notte", "buona serata", "buona giornata",
    "grazie", "prego", "di niente", "di nulla",
    # English
    "bye", "goodbye", "see you", "talk to you later", "good night", "take care", "thanks", "thank you", "welcome",
)  # fmt: skip

_LEANING = (
    # Italian ("lo", "la", "le" are mostly articles, so they say nothing)
    "quello", "quella", "quelli", "quelle", "questo", "questa", "questi", "queste", "lui", "lei", "loro", "stesso",
    "stessa", "ne", "ci",
    # English
    "it", "its", "that", "this", "these", "those", "they", "them", "their", "he", "she", "him", "her", "one", "ones",
    "there",
)  # fmt: skip

_JOINING = (
    # Italian
    "e", "ed", "ma", "però", "quindi", "allora", "oppure",
    # English
    "and", "but", "so", "or", "what about", "how about",
)  # fmt: skip

_ADDING = (
    # Italian
    "anche", "invece", "altro", "altri", "altre", "gli", "più", "meno",
    # English
    "also", "too", "instead", "else", "more", "less",
)  # fmt: skip


def _any_of(phrases: tuple[str, ...]) -> str:
    return "(?:" + "|".join(re.escape(phrase) for phrase in sorted(phrases, key=len, reverse=True)) + r")\b"


OPENING = re.compile(r"\W*" + _any_of(_OPENING), re.IGNORECASE)  # at the very beginning: use match
# A conjunction at the very beginning, or a word that adds to what was said: use search.
CONTINUING = re.compile(r"\A\W*" + _any_of(_JOINING) + r"(?!')|\b" + _any_of(_ADDING), re.IGNORECASE)
CLOSING = re.compile(r"\b" + _any_of(_CLOSING), re.IGNORECASE)
LEANING = re.compile(r"\b" + _any_of(_LEANING), re.IGNORECASE)
