"""Near topics become one, and feedback moves a topic's importance.

Topics go in; proposals, a merged topic, or a new importance come out. Nothing is merged by itself: a proposal says how
near two topics are, and the caller (or a person) decides.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ricordo.records.topics import Topic
from ricordo.records.turns import Turn
from ricordo.topics.centres import Scale, bytes_of, unit, vector_of

_FEEDBACK_STEP = 0.2


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two topics that may be one. `keep` is the one that would live on: the more used, then the older."""

    keep: str
    absorb: str
    similarity: float


def near_topics(topics: Sequence[Topic], scale: Scale) -> tuple[Proposal, ...]:
    """Pairs whose centres are as close as a returning message must be, and one step more; the nearest first.

    A centre is smoother than a message, so two different topics of one field lie close: half of the way from the
    line for returning to sameness is asked for.
    """
    line = scale.return_threshold + (1.0 - scale.return_threshold) / 2
    found: list[Proposal] = []
    for index, first in enumerate(topics):
        for second in topics[index + 1 :]:
            if len(first.centre) != len(second.centre) or first.embedder != second.embedder:
                continue
            similarity = float(np.dot(vector_of(first.centre), vector_of(second.centre)))
            if similarity >= line:
                keep, absorb = sorted((first, second), key=_seniority)
                found.append(Proposal(keep.id, absorb.id, similarity))
    return tuple(sorted(found, key=lambda proposal: (-proposal.similarity, proposal.keep, proposal.absorb)))


def _seniority(topic: Topic) -> tuple[int, object, str]:
    return (-topic.access_count, topic.created_at, topic.id)


def merged(keep: Topic, absorb: Topic) -> Topic:
    """`keep` with all that `absorb` had: its messages, uses and tags counted in, its centre weighed by messages.

    The more important and the more recent of the two speaks for both; merging never makes a topic fade faster.
    Summaries are laid one after the other, in the order the topics began.
    """
    if len(keep.centre) != len(absorb.centre) or keep.embedder != absorb.embedder:
        raise ValueError(f"topics {keep.id} and {absorb.id} lie in different spaces: embed them again first")
    older, younger = sorted((keep, absorb), key=lambda topic: (topic.created_at, topic.id))
    shares = [vector_of(topic.centre) * max(topic.message_count, 1) for topic in (keep, absorb)]
    return replace(
        keep,
        centre=bytes_of(unit(np.asarray(sum(shares), dtype=np.float32))),
        created_at=older.created_at,
        last_active_at=max(keep.last_active_at, absorb.last_active_at),
        importance=max(keep.importance, absorb.importance),
        access_count=keep.access_count + absorb.access_count,
        message_count=keep.message_count + absorb.message_count,
        archived_count=keep.archived_count + absorb.archived_count,
        restored_count=keep.restored_count + absorb.restored_count,
        hot=tuple(sorted({*keep.hot, *absorb.hot})),
        tags=tuple(dict.fromkeys(keep.tags + absorb.tags)),
        summary="\n".join(topic.summary for topic in (older, younger) if topic.summary) or None,
        state="working" if "working" in (keep.state, absorb.state) else "archived",
    )


def learned(importance: float, feedback: float) -> float:
    """Importance after a word of feedback, from -1 (useless) to 1 (precious): a fifth of the way to either end.

    Never leaves [0, 1]; better feedback never gives less, and a more important topic never ends up below a less
    important one that got the same feedback.
    """
    if not -1 <= feedback <= 1:
        raise ValueError(f"feedback is {feedback}, but it must be between -1 and 1")
    room = 1.0 - importance if feedback >= 0 else importance
    return min(max(importance + _FEEDBACK_STEP * feedback * room, 0.0), 1.0)


# What a topic counts, taken from its turns: turns go in, the topic with the right figures comes out.


def messages_in(turn: Turn) -> int:
    """How many messages of a turn its topic counts."""
    return (turn.question is not None) + (turn.answer is not None)


def with_hot(topic: Topic, hot: Iterable[Turn]) -> Topic:
    """The topic with these turns in working memory and everything else in the archive."""
    plain = sorted((turn for turn in hot if not turn.archived), key=lambda turn: turn.turn_number)
    count = sum(map(messages_in, plain))
    return replace(
        topic,
        hot=tuple(turn.turn_number for turn in plain),
        archived_count=max(topic.message_count - count, 0),
        restored_count=min(topic.restored_count, count),
    )


def counted(topic: Topic, turns: Sequence[Turn]) -> Topic:
    """The topic as all of its turns say."""
    total = sum(map(messages_in, turns))
    if any(turn.damage for turn in turns):
        total = max(total, topic.message_count)
    return with_hot(replace(topic, message_count=total), turns)


# What packed turns were about, in a line or two: the openings of their questions, nothing invented.

OPENING = 80
LONGEST = 600
BETWEEN = " · "


def gist(turns: Sequence[Turn], before: str | None = None) -> str | None:
    """The questions of the turns, each by its beginning, after what was noted before; the newest are kept."""
    openings = [_opening(turn) for turn in turns]
    noted = (before or "").split(BETWEEN) if before else []
    lines = list(dict.fromkeys(line for line in (*noted, *openings) if line))
    while len(lines) > 1 and len(BETWEEN.join(lines)) > LONGEST:
        lines.pop(0)
    return BETWEEN.join(lines) or None


def _opening(turn: Turn) -> str:
    words = " ".join((turn.query or turn.response or "").split())
    return words if len(words) <= OPENING else words[:OPENING].rstrip() + "…"
