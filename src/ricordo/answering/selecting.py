"""Which passages make the answer, and in which order: best first, nothing twice; a list is given whole and in order.

Only passages near the best are taken. When the question wants a list or a procedure and the best passages are points of
one list, that list is the answer, since half of the steps are worse than none.
"""

from collections.abc import Sequence

from ricordo.answering.asking import Kind
from ricordo.answering.passages import Passage
from ricordo.answering.scoring import Scored

_MOST: dict[Kind, int] = {"definition": 3, "quantity": 3, "place": 2, "person": 2, "time": 3, "list": 4, "open": 4}
_MOST_OTHERWISE = 4
_MOST_POINTS = 12
_NEAR_THE_BEST = 0.7
_SPEAKS = 0.5  # of what the best passage covers: a fitting form alone makes no answer
_SAME = 0.6  # shared stems of two passages that say the same
_LISTED: frozenset[Kind] = frozenset(("list", "procedure", "explanation", "open"))
_LIST_LAG = 0.75  # a list this near the best passage is preferred to it


def select(scored: Sequence[Scored], kind: Kind) -> tuple[Passage, ...]:
    """The passages to say, in the order to say them."""
    fresh = [each for each in scored if each.coverage > 0]
    if not fresh:
        return ()
    ordered = sorted(fresh, key=lambda each: (-each.score, each.passage.rank, each.passage.order))
    listed = _whole_list(fresh, ordered[0], kind)
    if listed:
        return listed
    line = _NEAR_THE_BEST * ordered[0].score
    least = _SPEAKS * ordered[0].coverage
    kept: list[Passage] = []
    for each in ordered:
        if each.coverage < least:
            continue
        if each.score < line or len(kept) == _MOST.get(kind, _MOST_OTHERWISE):
            break
        if not any(_repeats(each.passage, other) for other in kept):
            kept.append(each.passage)
    return tuple(kept)


def _whole_list(fresh: Sequence[Scored], best: Scored, kind: Kind) -> tuple[Passage, ...]:
    """The list whose points answer best, if the question wants one and it is nearly as good as the best passage."""
    if kind not in _LISTED:
        return ()
    groups: dict[tuple[str, int], list[Scored]] = {}
    for each in fresh:
        if each.passage.group is not None:
            groups.setdefault((each.passage.chunk_id, each.passage.group), []).append(each)
    whole = [points for points in groups.values() if len(points) > 1]
    if not whole:
        return ()
    # What a list is about stands in all of its points or above them: the average says it, not one lucky point.
    points = max(whole, key=lambda each: sum(point.score for point in each) / len(each))
    average = sum(point.score for point in points) / len(points)
    wanted = kind in ("list", "procedure")
    if average < (_LIST_LAG if wanted else 1.0) * best.score:
        return ()
    chosen: list[Passage] = []
    for point in sorted(points, key=lambda each: each.passage.order)[:_MOST_POINTS]:
        if all(point.passage.text != other.text for other in chosen):
            chosen.append(point.passage)
    return tuple(chosen)


def _repeats(one: Passage, other: Passage) -> bool:
    if one.text in other.said or other.text in one.said:
        return True
    mine, theirs = set(one.own_stems), set(other.own_stems)
    return bool(mine) and len(mine & theirs) >= _SAME * len(mine | theirs)
