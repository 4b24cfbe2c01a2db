"""Merging near topics, and importance from feedback."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from topic_samples import NOW, a_topic, topic_lists

from ricordo.recall.quantization import vector_of
from ricordo.records.derived import Topic
from ricordo.topics.session_topic import Proposal, importance_after, merged, near_topics
from ricordo.topics.thresholds import scale_for

shares = st.floats(min_value=0, max_value=1)
feedbacks = st.floats(min_value=-1, max_value=1)
pairs = topic_lists().filter(lambda topics: len(topics) > 1)


@given(pairs)
def test_merging_loses_nothing(topics: list[Topic]) -> None:
    """Messages, uses and tags of both are in the merged topic."""
    one, other = topics[0].tagged(["a", "b"]), topics[1].tagged(["b", "c"])
    both = merged(one, other)
    assert both.message_count == one.message_count + other.message_count
    assert both.access_count == one.access_count + other.access_count
    assert set(both.tags) == {"a", "b", "c"}
    assert both.id == one.id


@given(pairs)
def test_merging_never_makes_a_topic_fade_faster(topics: list[Topic]) -> None:
    """The merged topic is worth at least as much as either was."""
    one, other = topics[:2]
    assert merged(one, other).priority(NOW) >= max(one.priority(NOW), other.priority(NOW))


@given(pairs)
def test_the_merged_centre_has_length_one(topics: list[Topic]) -> None:
    """A centre stays a direction, so that cosines with it stay cosines."""
    assert float(np.linalg.norm(vector_of(merged(*topics[:2]).centre))) == pytest.approx(1.0, abs=1e-5)


@given(pairs)
def test_which_one_absorbs_the_other_changes_only_its_name(topics: list[Topic]) -> None:
    """Counts, times and the centre do not depend on the order of merging."""
    one, other = topics[:2]
    here, there = merged(one, other), merged(other, one)
    assert (here.created_at, here.last_active_at, here.state, here.importance) == (
        there.created_at,
        there.last_active_at,
        there.state,
        there.importance,
    )
    assert np.allclose(vector_of(here.centre), vector_of(there.centre), atol=0.01)


@given(shares, feedbacks)
def test_feedback_stays_in_range(importance: float, feedback: float) -> None:
    """Importance never leaves 0 to 1, and moves in the direction of the feedback."""
    after = importance_after(importance, feedback)
    assert 0 <= after <= 1
    assert after >= importance if feedback >= 0 else after <= importance


@given(shares, feedbacks, feedbacks)
def test_better_feedback_never_gives_less(importance: float, one: float, other: float) -> None:
    """Of two words of feedback the better never leaves the topic less important."""
    worse, better = sorted((one, other))
    assert importance_after(importance, worse) <= importance_after(importance, better) + 1e-12


@given(shares, shares, feedbacks)
def test_the_same_feedback_keeps_the_order(one: float, other: float, feedback: float) -> None:
    """The same feedback never puts a less important topic above a more important one."""
    less, more = sorted((one, other))
    assert importance_after(less, feedback) <= importance_after(more, feedback) + 1e-12


def test_feedback_out_of_range_is_refused() -> None:
    """Feedback is a number from -1 to 1."""
    with pytest.raises(ValueError, match="between -1 and 1"):
        importance_after(0.5, 2)


def test_near_topics_are_proposed_with_the_more_used_as_keeper() -> None:
    """Two topics with one centre are proposed, a third one elsewhere is not."""
    young = a_topic("young", access_count=1)
    used = a_topic("used", access_count=9)
    elsewhere = a_topic("elsewhere", direction=2)
    found = near_topics([young, used, elsewhere], scale_for("unknown"))
    assert found == (Proposal("used", "young", 1.0),)


def test_topics_of_two_embedders_are_never_merged() -> None:
    """Centres of different spaces say nothing about each other: no proposal, and an error when forced."""
    one, other = a_topic("one", embedder="a"), a_topic("other", embedder="b")
    assert near_topics([one, other], scale_for("a")) == ()
    with pytest.raises(ValueError, match="different embedders"):
        merged(one, other)


def test_summaries_follow_each_other_in_time() -> None:
    """The summary of the older topic comes first, whichever is kept."""
    older = a_topic("older", idle_days=3, summary="first")
    younger = a_topic("younger", summary="then")
    assert merged(younger, older).summary == "first\nthen"
