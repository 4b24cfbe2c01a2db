"""What a memory block says, as lines: the last session, the key facts, the topics, each within its share of tokens.

In: a profile, words, shares and a way to count. Out: the lines between the two fences. Every stored text is put on
one line and defused before it is counted, so what is counted is what stands in the prompt.
"""

import re
from collections.abc import Callable, Sequence

from ricordo.person import Profile
from ricordo.prompt.words import MemoryWords
from ricordo.safety.fence import defuse

Count = Callable[[str], int]

CUT_MARK = "..."
_HEADING = re.compile(r"^[#\s]*#\s+")  # "#1" is a rank, "# x" a heading
MOST_FACT_CHARACTERS = 200
MOST_CHARACTERS_PER_TOKEN = 16  # no more of a long text is counted than could fit


def content_lines(
    profile: Profile, when: str, words: MemoryWords, shares: tuple[int, int, int], most: tuple[int, int], count: Count
) -> list[str]:
    """The sections that have something to say and room to say it; a section is its heading and its text."""
    summary, facts, topics = shares
    most_facts, most_topics = most
    named = [one_line(each).replace(",", ";") for each in profile.topics[:most_topics]]
    points = [f"- {one_line(each, MOST_FACT_CHARACTERS)}" for each in profile.key_facts[:most_facts] if one_line(each)]
    return [
        *_text(words.last_session_heading(one_line(when, 60)), one_line(profile.recent_summary), summary, count),
        *_points(words.facts, points, facts, count),
        *_list(words.topics, [name for name in named if name], topics, count),
    ]


def one_line(text: str, most: int | None = None) -> str:
    """A stored text as one harmless line of at most `most` characters: no heading, role or fence, nothing hidden."""
    line = defuse(_HEADING.sub("", " ".join(defuse(text).split())))
    return line if most is None or len(line) <= most else _shortened(line, most)


def _shortened(line: str, characters: int) -> str:
    """The beginning of a line, marked; defused again, for a cut may bare what stood whole."""
    return defuse(line[:characters].rstrip()) + CUT_MARK


def _text(heading: str, text: str, share: int, count: Count) -> list[str]:
    """A heading and one line, the line cut to what fits."""
    if not text:
        return []
    most = share * MOST_CHARACTERS_PER_TOKEN
    if len(text) <= most and _cost([heading, text], count) <= share:
        return [heading, text]
    low, high = 0, min(len(text), most)
    while low < high:
        middle = (low + high + 1) // 2
        if _cost([heading, _shortened(text, middle)], count) <= share:
            low = middle
        else:
            high = middle - 1
    lines = [heading, _shortened(text, low)]
    return lines if low and _cost(lines, count) <= share else []


def _points(heading: str, points: Sequence[str], share: int, count: Count) -> list[str]:
    """A heading and as many points as fit, first ones first; the first is cut where not even that fits."""
    kept = [heading]
    for point in points:
        if _cost([*kept, point], count) > share:
            break
        kept.append(point)
    if len(kept) > 1 or not points:
        return kept if len(kept) > 1 else []
    short = _text(heading, points[0], share, count)
    return short if short and short[1] != f"-{CUT_MARK}" else []


def _list(heading: str, names: Sequence[str], share: int, count: Count) -> list[str]:
    """A heading and as many names as fit, on one line with commas; the first is cut where not even that fits."""
    lines: list[str] = []
    for taken in range(1, len(names) + 1):
        longer = [heading, defuse(", ".join(names[:taken]))]
        if _cost(longer, count) > share:
            break
        lines = longer
    return lines or _text(heading, names[0] if names else "", share, count)


def _cost(lines: Sequence[str], count: Count) -> int:
    """Tokens of a section with the end of its last line."""
    return count("\n".join([*lines, ""]))
