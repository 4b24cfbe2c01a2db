"""The handle on one topic of a session: read it, tag it, set its importance, merge it, export it.

Nothing is merged automatically: a proposal says how similar two topics are, and the caller decides.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ricordo.engine.core import Engine, Scope, turns_by_number
from ricordo.errors import DamageError, NotFoundError, StoreUnavailable, ValidationError
from ricordo.limits import check_id, check_ids, check_within
from ricordo.recall.quantization import bytes_of, vector_of
from ricordo.records.derived import Topic, TopicChange, TopicShelf, TopicStats
from ricordo.records.turns import Turn
from ricordo.stores.archive.export import export_messages
from ricordo.topics.archive import attempts, change_topic
from ricordo.topics.decay import fading_of
from ricordo.topics.subjects import active_topic
from ricordo.topics.thresholds import Scale, scale_for, unit

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


class Topics(list[Topic]):
    """The topics of a session; `degraded` says why they may not be up to date."""

    def __init__(self, topics: Iterable[Topic] = (), *, degraded: tuple[str, ...] = ()) -> None:
        super().__init__(topics)
        self.degraded = degraded


def active_topic_id(topics: Iterable[Topic], session_id: str) -> str:
    """The topic that holds the newest turn; small talk after it does not count. NotFoundError if there is none."""
    newest = active_topic(topics)
    if newest is None:
        raise NotFoundError(f"session {session_id!r} has no topic yet; add a turn that is about something")
    return newest.id


class SessionTopic:
    """A handle on a topic; every call reads it from the store."""

    def __init__(self, engine: Engine, scope: Scope, topic_id: str) -> None:
        self._engine = engine
        self._scope = scope
        self.id = topic_id
        self.read()

    def read(self) -> Topic:
        """The topic as it is now; NotFoundError if it is gone."""
        return self._on(self._engine.store.topics.load(self._scope.owner, self._scope.session_id), self.id)

    def stats(self) -> TopicStats:
        """The topic in figures."""
        return self.read().stats(self._engine.clock.now(), fading_of(self._engine.settings.topics))

    def priority(self) -> float:
        """Its priority now: importance, faded by the time since it was used."""
        return self.read().priority(self._engine.clock.now(), fading_of(self._engine.settings.topics))

    def history(self) -> list[Turn]:
        """All of its turns in order, archived ones included."""
        owner, session_id = self._scope.owner, self._scope.session_id
        numbers = self._engine.store.topics.turns_of(owner, session_id, self.id)
        return turns_by_number(self._engine, owner, session_id, numbers)

    def tag(self, *tags: str) -> Topic:
        """Set its tags."""
        wanted = check_ids("tags", tags)
        return self._change(lambda topic: topic.tagged(wanted))

    def weigh(self, importance: float) -> Topic:
        """Set its importance by hand, from 0 to 1."""
        wanted = check_within("importance", importance, 0, 1)
        return self._change(lambda topic: topic.weighed(wanted))

    def feedback(self, value: float) -> Topic:
        """Learn its importance from feedback, from -1 (useless) to 1 (valuable)."""
        given = check_within("feedback", value, -1, 1)
        return self._change(lambda topic: topic.weighed(importance_after(topic.importance, given)))

    def near(self) -> list[tuple[str, float]]:
        """Similar topics of this session, with their similarity."""
        shelf = self._engine.store.topics.load(self._scope.owner, self._scope.session_id)
        scale = scale_for(self.read().embedder)
        found = near_topics(shelf.topics, scale)
        pairs = [(each.keep if each.absorb == self.id else each.absorb, each.similarity, each) for each in found]
        return [(other, similarity) for other, similarity, each in pairs if self.id in (each.keep, each.absorb)]

    def merge(self, other_id: str) -> Topic:
        """Make another topic of this session part of this one."""
        owner, session_id = self._scope.owner, self._scope.session_id
        if check_id("other_id", other_id) == self.id:
            raise ValidationError("other_id", "a topic cannot be merged with itself")
        for _ in attempts():
            shelf = self._engine.store.topics.load(owner, session_id)
            keep, other = (self._on(shelf, topic_id) for topic_id in (self.id, other_id))
            try:
                joined = merged(keep, other)
            except ValueError as error:
                raise ValidationError("other_id", str(error)) from error
            moving = dict.fromkeys(self._engine.store.topics.turns_of(owner, session_id, other_id), self.id)
            change = TopicChange(shelf.revision, put=(joined,), removed=(other_id,), assigned=moving)
            if self._engine.store.topics.put(owner, session_id, change):
                return joined
        raise StoreUnavailable(f"topic {self.id!r} keeps being changed by others; try again")

    def export(self) -> str:
        """Its messages as base64 of gzip of JSON: role, content, timestamp; DamageError if any of them is lost."""
        turns = self.history()
        damages = dict.fromkeys(turn.damage for turn in turns if turn.damage)
        if damages:  # the format cannot mark what is missing
            raise DamageError(f"topic {self.id!r} cannot be exported whole: {'; '.join(damages)}")
        return export_messages([message for turn in turns for message in turn.messages])

    def _on(self, shelf: TopicShelf, topic_id: str) -> Topic:
        topic = shelf.topic(topic_id)
        if topic is None:
            session_id = self._scope.session_id
            raise NotFoundError(f"topic {topic_id!r} does not exist in session {session_id!r}; list the topics")
        return topic

    def _change(self, change: Callable[[Topic], Topic]) -> Topic:
        changed = change_topic(self._engine, self._scope.owner, self._scope.session_id, self.id, change)
        return changed or self.read()
