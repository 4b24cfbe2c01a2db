"""Merging similar topics, and learning a topic's importance from feedback.

Topics go in; proposals, a merged topic, or a new importance come out. Nothing is merged automatically: a proposal says
how similar two topics are, and the caller decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from ricordo.records.topics import Topic
from ricordo.topics.thresholds import Scale, bytes_of, unit, vector_of

_FEEDBACK_STEP = 0.2


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two topics that may be merged. `keep` is the one with more uses, then the older one."""

    keep: str
    absorb: str
    similarity: float


def near_topics(topics: Sequence[Topic], scale: Scale) -> tuple[Proposal, ...]:
    """Pairs of topics with similar centres, the most similar first.

    Centres are means, so two topics of one field are more similar than two messages: the threshold lies halfway between
    the return threshold and 1.
    """
    threshold = scale.return_threshold + (1.0 - scale.return_threshold) / 2
    found: list[Proposal] = []
    for index, first in enumerate(topics):
        for second in topics[index + 1 :]:
            if len(first.centre) != len(second.centre) or first.embedder != second.embedder:
                continue
            similarity = float(np.dot(vector_of(first.centre), vector_of(second.centre)))
            if similarity >= threshold:
                keep, absorb = sorted((first, second), key=_seniority)
                found.append(Proposal(keep.id, absorb.id, similarity))
    return tuple(sorted(found, key=lambda proposal: (-proposal.similarity, proposal.keep, proposal.absorb)))


def _seniority(topic: Topic) -> tuple[int, object, str]:
    return (-topic.access_count, topic.created_at, topic.id)


def merged(keep: Topic, absorb: Topic) -> Topic:
    """`keep` with the messages, uses and tags of `absorb`; the centre is the mean weighted by messages.

    The higher importance and the later activity count, so that merging never makes a topic fade faster. Summaries are
    joined in the order in which the topics began.
    """
    if len(keep.centre) != len(absorb.centre) or keep.embedder != absorb.embedder:
        raise ValueError(f"topics {keep.id} and {absorb.id} have different embedders: embed them again first")
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


def importance_after(importance: float, feedback: float) -> float:
    """Importance after feedback from -1 (useless) to 1 (valuable): at most a fifth of the way to 0 or 1.

    Never leaves [0, 1]; better feedback never gives less, and a more important topic never ends up below a less
    important one that got the same feedback.
    """
    if not -1 <= feedback <= 1:
        raise ValueError(f"feedback is {feedback}, but it must be between -1 and 1")
    room = 1.0 - importance if feedback >= 0 else importance
    return min(max(importance + _FEEDBACK_STEP * feedback * room, 0.0), 1.0)
