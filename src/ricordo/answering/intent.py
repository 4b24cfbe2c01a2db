"""What a message is for, in one word, by rules in Italian and English.

It is read off the message (and off what the talk made of it), never guessed by a model: a crisis comes before
everything, an answer to our own question before a new question, and what none of the rules knows is "other".
"""

import re
from typing import Literal, get_args

from ricordo.answering.asking import Kind, kind_of_question
from ricordo.recall.words import fold

Intent = Literal[
    "definition", "explanation", "list", "comparison", "procedure", "fact",
    "follow_up", "clarification", "smalltalk", "crisis", "other",
]  # fmt: skip
INTENTS: tuple[Intent, ...] = get_args(Intent)

_BY_KIND: dict[Kind, Intent] = {
    "definition": "definition",
    "explanation": "explanation",
    "reason": "explanation",
    "list": "list",
    "comparison": "comparison",
    "procedure": "procedure",
    "quantity": "fact",
    "place": "fact",
    "person": "fact",
    "time": "fact",
    "open": "other",
}
_TALK = (
    r"ciao|salve|buongiorno|buonasera|buonanotte|buon giorno|buona sera|ehi|grazie(?: mille| tante)?|ok(?:ay)?|va bene"
    r"|perfetto|prego|arrivederci|a dopo|a presto|come stai|come va|piacere|ottimo|bene|capito|ho capito|scusa"
    r"|hi|hello|hey|good (?:morning|evening|afternoon|night)|thanks(?: a lot)?|thank you(?: very much| so much)?|bye"
    r"|goodbye|see you|how are you|nice to meet you|great|perfect|cool|got it|sorry|alright|fine"
)
_SMALLTALK = re.compile(rf"\W*(?:(?:{_TALK})\b[\s,.!?;:)(]*){{1,4}}(?:\w+\W*)?")
_QUESTION_OPENS = re.compile(
    r"\W*(?:is|are|was|were|do|does|did|can|could|should|would|will|has|have|e vero|posso|si puo|bisogna|devo|esiste"
    r"|esistono)\b.*\?\s*$",
    re.DOTALL,
)


def intent(message: str, *, follow_up: bool = False, clarification: bool = False, crisis: bool = False) -> Intent:
    """The intent of a message.

    `crisis`: the safety check found one; `clarification`: it answers a question of ours; `follow_up`: it cannot be
    understood without the talk (a reference was found in it).
    """
    if crisis:
        return "crisis"
    if clarification:
        return "clarification"
    folded = fold(message.replace("’", "'")).strip()
    if _SMALLTALK.fullmatch(folded) and "?" not in folded.rstrip("? "):
        return "smalltalk"
    if follow_up:
        return "follow_up"
    found = _BY_KIND[kind_of_question(message)]
    if found == "other" and _QUESTION_OPENS.match(folded):
        return "fact"
    return found
