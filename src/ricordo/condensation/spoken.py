"""What of a message was said: an answer without the sentences that the reader always says, and without citations.

A message goes in, and comes out with fewer words; what it cites stands among its chunk ids, so that it survives as
evidence though no word of a summary or a topic is made of it. What the user says is left as it is.
"""

import re
from dataclasses import replace

from ricordo.answering.phrases import ENGLISH, ITALIAN
from ricordo.records import Message

_OURS = tuple(text for each in (ITALIAN, ENGLISH) for text in (each.opening, each.absent, each.no_more))
_BRACKET = re.compile(r"[ \t]*(?<![\w)`])\[([^\[\]\n]{1,400})\](?!\()")
_LABEL = re.compile(r"\s*(?:fonti|fonte|sources?|cit|refs?|chunks?|id)\s*[:=]\s*", re.IGNORECASE)
_CHUNK = re.compile(r"(?=\S*\d)[\w.:/@+~%-]+#[\w.:/-]+")  # as the ids of a document's chunks are made


def spoken(message: Message) -> Message:
    """The message without what was not said; itself, for most."""
    if message.role != "assistant":
        return message
    text = without_ours(message.content)
    if "[" not in text:
        return message if text is message.content else replace(message, content=text)
    cited: dict[str, None] = dict.fromkeys(message.chunk_ids)

    def taken(bracket: re.Match[str]) -> str:
        listed = bracket[1].strip()
        inside = listed if listed in cited else _LABEL.sub("", listed, count=1)
        names = [inside] if inside in cited else [part.strip() for part in re.split(r"[,;]", inside) if part.strip()]
        if not names or not all(name in cited or _CHUNK.fullmatch(name) for name in names):
            return bracket[0]
        cited.update(dict.fromkeys(names))
        return ""

    plain = _BRACKET.sub(taken, text)
    return message if plain is message.content else replace(message, content=plain, chunk_ids=tuple(cited))


def without_ours(text: str) -> str:
    """A text without the sentences of the reader's own; the same text where there are none."""
    for ours in _OURS:
        if ours in text:
            text = text.replace(ours, "")
    return text
