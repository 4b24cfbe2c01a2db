"""What a message's references mean for its topic: text and references go in, one of three words comes out.

"Approfondisci il punto 2" can only be about what is being talked about; "torniamo al cuore" or "you said that…" points
at something said before, perhaps in a topic that was left; anything else is judged by its words.
"""

from collections.abc import Sequence
from typing import Literal

from ricordo.followups.reference import Reference, main_kind

Following = Literal["no", "talk", "past"]

# A pronoun carries a short question; in a longer message it mostly points inside the message itself.
_SHORT_WORDS = 8


def following(text: str, references: Sequence[Reference]) -> Following:
    """Whether the message continues the talk, points into the past, or stands by itself."""
    kind = main_kind(tuple(references))
    if kind in ("back", "statement"):
        return "past"
    if kind is None or (kind == "pronoun" and len(text.split()) > _SHORT_WORDS):
        return "no"
    return "talk"
