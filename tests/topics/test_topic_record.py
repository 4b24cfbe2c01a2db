"""The topic record and its statistics."""

from dataclasses import fields
from datetime import timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from topic_samples import NOW, a_topic

from ricordo.recall.quantization import bytes_of, dimensions_of, matrix_of, vector_of
from ricordo.records.derived import TopicStats
from ricordo.topics.thresholds import first_centre, moved_centre

vectors = st.lists(st.floats(-1, 1, width=16), max_size=50).map(lambda numbers: np.array(numbers, dtype=np.float32))


@given(vectors)
def test_a_centre_survives_being_stored(vector: np.ndarray) -> None:
    """A centre read back from its bytes is as long as it was, and each number is within a thirtieth of the largest."""
    kept = vector_of(bytes_of(vector))
    assert np.linalg.norm(kept) == pytest.approx(np.linalg.norm(vector), rel=1e-5)
    assert np.abs(kept - vector).max(initial=0) <= np.abs(vector).max(initial=0) / 30
    assert dimensions_of(bytes_of(vector)) == len(vector)


@given(st.lists(st.lists(st.floats(-1, 1, width=16), min_size=8, max_size=8), min_size=1, max_size=5))
def test_centres_are_read_together_as_they_are_alone(centres: list[list[float]]) -> None:
    """The rows of many centres are what each of them is."""
    stored = [bytes_of(np.array(centre, dtype=np.float32)) for centre in centres]
    assert np.array_equal(matrix_of(tuple(stored)), np.stack([vector_of(centre) for centre in stored]))


@given(st.integers(0, 2**32 - 1))
def test_rounding_does_not_add_up(seed: int) -> None:
    """After a hundred messages a stored centre points where exact numbers would, within a hundredth of a cosine."""
    messages = np.random.default_rng(seed).standard_normal((100, 896)).astype(np.float32)
    messages += messages[0]  # about one thing
    exact = messages[0] / np.linalg.norm(messages[0])
    centre = first_centre(messages[0])
    for count, message in enumerate(messages[1:] / np.linalg.norm(messages[1:], axis=1, keepdims=True), start=1):
        centre = moved_centre(centre, count, message)
        exact = exact * min(count, 16) + message
        exact /= np.linalg.norm(exact)
    assert vector_of(centre) @ exact > 0.99


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
