"""Characters that cannot be seen: what they are, a text without them, and a text in one plain form for detection.

In: any text. Out: the text with nothing hidden in it. Emoji sequences and the joiners that some scripts are written
with are ordinary writing and stay in `reveal`; `normalise` is only read by detectors and takes everything away.
"""

import re
import unicodedata
from functools import cache

MOST_CHARACTERS = 20_000  # more of one text than this is not looked at

# Soft hyphen, fillers, zero-width, bidirectional marks, variation selectors, byte-order mark, tags, private use,
# and the control characters that are neither a tab nor an end of line.
_FORMAT = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\u3164"
    "\ufeff\uffa0\ufff9-\ufffb"
)
_CONTROL = "\x00-\x08\x0e-\x1f\x7f\x80-\x84\x86-\x9f"
_PLANES = "\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff"
_JOINERS = "\u200c\u200d"
_SELECTORS = "\ufe00-\ufe0f"
# Scripts beyond Latin, Greek and Cyrillic are written with joiners; symbols and emoji with both.
_WRITTEN_WITH_THEM = "\u0590-\u1fff\u2190-\u2bff\u3000-\ud7ff\ufe0f\U0001f000-\U0001faff"

HIDDEN = f"[{_FORMAT}{_CONTROL}{_PLANES}{_JOINERS}{_SELECTORS}]"


@cache
def _hidden() -> re.Pattern[str]:
    """Compiled with the first text, so that importing stays light."""
    return re.compile(HIDDEN)


@cache
def _smuggled() -> re.Pattern[str]:
    """Hidden characters, less the joiners and selectors that stand where they are written."""
    return re.compile(
        f"[{_FORMAT}{_CONTROL}{_PLANES}]|(?<![{_WRITTEN_WITH_THEM}])[{_JOINERS}]"
        f"|(?<![{_WRITTEN_WITH_THEM}#*0-9©®])[{_SELECTORS}]|(?<=\ufe0f)[{_SELECTORS}]"
    )


def reveal(text: str) -> str:
    """The text without hidden characters; one that has none comes back as it is."""
    if text.isascii() and text.isprintable():
        return text
    while (shown := _smuggled().sub("", text)) != text:  # what hid behind a hidden character may now be bare
        text = shown
    return text


def normalise(text: str, most: int = MOST_CHARACTERS) -> str:
    """The first `most` characters in one plain form: compatibility forms unified, hidden characters gone."""
    text = text[:most]
    if text.isascii():
        return text if text.isprintable() else _hidden().sub("", text)
    return _hidden().sub("", unicodedata.normalize("NFKC", _hidden().sub("", text)))[:most]


def hides(text: str) -> bool:
    """Whether a text holds characters that ordinary writing does not."""
    return not (text.isascii() and text.isprintable()) and _smuggled().search(text) is not None
