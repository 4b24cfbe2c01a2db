"""The same talk in other voices: a labelled row in, the row as a hasty writer would type it out.

Lower case, no apostrophes or full stops, shorthand and slips of the finger, the same in a message and in its clauses,
so that the labels still fit. What is learned from such copies does not lean on tidy writing.
"""

import random
import re
import zlib
from typing import Any

SHORTHAND = {
    "en": {
        "you": "u", "your": "ur", "are": "r", "to": "2", "for": "4", "because": "cos", "with": "w", "please": "pls",
        "and": "n", "about": "abt", "though": "tho", "people": "ppl", "going to": "gonna", "want to": "wanna",
        "years": "yrs", "months": "mths", "tomorrow": "tmrw", "thanks": "thx", "before": "b4", "right now": "rn",
    },
    "it": {
        "che": "ke", "non": "nn", "per": "x", "comunque": "cmq", "perché": "xke", "sono": "sn", "anche": "anke",
        "qualcosa": "qlcs", "grazie": "grz", "più": "+", "tutto": "tt", "però": "xo", "dove": "dv", "anni": "aa",
        "messaggio": "msg", "quando": "qnd", "tanto": "tnt", "bene": "bn", "con": "cn", "è": "e",
    },
}  # fmt: skip
WORD = re.compile(r"[^\W\d_]+")
SLIPS = 0.05  # share of the longer words with a slip


def plain(text: str) -> str:
    """Lower case."""
    return text.lower() if len(text.lower()) == len(text) else text


def bare(text: str) -> str:
    """Lower case without apostrophes, full stops and commas; question marks go too."""
    return re.sub(r"(?<!\d)[,.;?!](?=\s|$)|['\u2019](?=[a-z])(?!\u00e0)", "", plain(text))


def hasty(text: str, lang: str, seed: int) -> str:
    """Lower case, with some shorthand and slips; a word is changed in the same way wherever it stands."""
    table = SHORTHAND[lang]

    def typed(match: re.Match[str]) -> str:
        word = match[0].lower()
        chance = random.Random(seed ^ zlib.crc32(word.encode()))
        if word in table and chance.random() < 0.5:
            return table[word]
        if len(word) > 4 and chance.random() < SLIPS:
            at = chance.randrange(1, len(word) - 1)
            return chance.choice((word[:at] + word[at + 1 :], word[:at] + word[at + 1] + word[at] + word[at + 2 :]))
        return word

    return WORD.sub(typed, text)


def voiced(row: dict[str, Any], voice: str) -> dict[str, Any]:
    """A row in another voice: `plain`, `bare` or `hasty`."""
    seed = zlib.crc32(row["id"].encode())

    def change(text: str) -> str:
        return plain(text) if voice == "plain" else bare(text) if voice == "bare" else hasty(text, row["lang"], seed)

    clauses = [{**clause, "text": change(clause["text"])} for clause in row.get("clauses", ())]
    return {**row, "messages": [change(text) for text in row["messages"]], "clauses": clauses}
