"""The topic record and its statistics."""

from dataclasses import fields
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from topic_samples import NOW, a_topic

from ricordo.topics.topic import TopicStats
from ricordo.topics.vectors import bytes_of, vector_of


@given(st.lists(st.floats(width=32, allow_nan=False), max_size=50))
def test_a_vector_survives_being_stored(numbers: list[float]) -> None:
    """A centre read back from its bytes is the same, bit by bit."""
    vector = np.array(numbers, dtype=np.float32)
    assert np.array_equal(vector_of(bytes_of(vector)), vector)


@given(st.integers(min_value=0, max_value=50), st.floats(min_value=-5, max_value=100))
def test_use_refreshes(count: int, days: float) -> None:
    """Each use adds one access, never moves the last activity back, and brings an archived topic to working memory."""
    before = a_topic(access_count=count, state="archived", message_count=3)
    after = before.used(before.last_active_at + timedelta(days=days), messages=2)
    assert (after.access_count, after.message_count, after.state) == (count + 1, 5, "working")
    assert after.last_active_at >= before.last_active_at


def test_stats_have_the_promised_names() -> None:
    """The names of the statistics are a contract with other programs."""
    assert [field.name for field in fields(TopicStats)] == [
        "topic_id",
        "topic_title",
        "active_messages",
        "compressed_messages",
        "total_messages",
        "has_summary",
        "importance_score",
        "access_count",
        "memory_type",
        "half_life_days",
        "age_seconds",
        "inactive_seconds",
    ]


def test_stats_of_a_topic_in_use() -> None:
    """The statistics count hot and archived messages apart and tell how the topic fades."""
    topic = a_topic(
        "abc",
        idle_days=0,
        title="Discussion",
        created_at=NOW - timedelta(hours=1),
        importance=0.5,
        access_count=15,
        message_count=12,
        archived_count=8,
        summary="what was said",
    )
    assert topic.stats(NOW + timedelta(seconds=120)) == TopicStats(
        topic_id="abc",
        topic_title="Discussion",
        active_messages=4,
        compressed_messages=8,
        total_messages=12,
        has_summary=True,
        importance_score=0.5,
        access_count=15,
        memory_type="long-term",
        half_life_days=8.0,
        age_seconds=3720.0,
        inactive_seconds=120.0,
    )


def test_importance_by_hand_stays_in_range() -> None:
    """Importance outside 0 to 1 is refused, naming the range."""
    assert a_topic().weighed(0.25).importance == 0.25
    with pytest.raises(ValueError, match="between 0 and 1"):
        a_topic().weighed(1.5)


def test_tags_are_trimmed_and_unique() -> None:
    """Tags keep their first order, without blanks around them and without doubles."""
    assert a_topic().tagged([" esame ", "cuore", "", "esame"]).tags == ("esame", "cuore")
