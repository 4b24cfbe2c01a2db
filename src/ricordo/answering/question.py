"""The question in a message, and what is said beside it.

"Mi chiamo Anna e studio a Padova. Cos'è la fotosintesi?" asks about photosynthesis alone, and no material speaks of
Anna. A message goes in; its sentences that ask come out, and those that only tell. Where nothing tells them apart,
the whole message is the question.
"""

import re

from ricordo.recall.words import fold

_END = re.compile(r"(?<=[.!?…])[\"»”')]*\s+|\n+")
# Who says "hello, I am Anna, what is…" has put a sentence before a comma.
_ABOUT_ME = re.compile(
    r"\W*(?:ciao|salve|buongiorno|buonasera|scusa(?:mi)?|mi chiamo|sono|hi|hello|hey|sorry|excuse me|my name is"
    r"|i am|i'm|good (?:morning|evening|afternoon))\b"
)
_COMMA = re.compile(r"\s*[,;:–—]\s+")
# They only ask whether one was understood, or for help.
_TAG = re.compile(
    r"\W*(?:va bene|ok|okay|giusto|vero|capito|d'accordo|sai|puoi|potresti|mi aiuti|(?:mi )?puoi aiutar(?:e|mi)"
    r"|(?:mi )?potresti aiutar(?:e|mi)|right|alright|is that ok(?:ay)?|you know"
    r"|(?:can|could) you(?: please)?(?: help(?: me)?)?)\W*"
)
# A request that is put as an order: it asks without a question mark.
_REQUEST = re.compile(
    r"\W*(?:per favore,? |please,? )?(?:spiega\w*|descriv\w+|dimmi|dammi|parlami|parla di|racconta\w*|elenca\w*"
    r"|definisci|confronta|approfondisci|continua|mi spieghi|mi dici|vorrei sapere|vorrei capire"
    r"|explain|describe|tell me|give me|list|name|define|compare|elaborate|expand|continue|go on|talk about"
    r"|i(?:'d| would) like to (?:know|understand)|i want to (?:know|understand))\b"
)


def question_in(message: str) -> tuple[str, str]:
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
