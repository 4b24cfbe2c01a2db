"""A message as the sentences that can be quoted from it.

Code blocks are left out (they are evidence, not sentences), marks of lists and headings are taken off, white space
becomes single spaces: every sentence is one line.
"""

import re

_FENCE = re.compile(r"(```|~~~).*?(?:\1|\Z)", re.DOTALL)
_MARK = re.compile(r"^\s*(?:[-*•>]+|#+|\d{1,2}[.)])\s+|^\s*\|")
_END = re.compile(r"(?:(?<=[.!?…])|(?<=[.!?…][\"»”')\]]))\s+")
_SHORT = re.compile(
    r"(?:^|[\s(])(?:dott|dr|prof|sig|sigg|ing|avv|art|es|ecc|pag|pp?|fig|cap|vol|n|mr|mrs|ms|st|vs|no|inc|approx|e\.g|i\.e"
    r"|[A-Z])\.$",
    re.IGNORECASE,
)
_WORDS = re.compile(r"\w")


def sentences(text: str) -> list[str]:
    """The sentences of a text, in order, those with at least one word."""
    found: list[str] = []
    for line in _FENCE.sub("\n", text).splitlines() if "\n" in text or "```" in text or "~~~" in text else [text]:
        pending = ""
        for piece in _END.split(_MARK.sub("", line)):
            joined = f"{pending} {piece}".strip() if pending else piece.strip()
            if _SHORT.search(joined):
                pending = joined
                continue
            pending = ""
            if _WORDS.search(joined):
                found.append(" ".join(joined.split()))
        if pending and _WORDS.search(pending):
            found.append(" ".join(pending.split()))
    return found
