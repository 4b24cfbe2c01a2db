"""Which topics leave working memory."""

from hypothesis import given
from hypothesis import strategies as st
from topic_samples import NOW, a_topic, topic_lists

from ricordo.records.derived import Topic
from ricordo.topics.decay import faded_topics


@given(topic_lists(), st.integers(min_value=0, max_value=25), st.integers(min_value=0, max_value=29))
def test_only_faded_topics_leave(topics: list[Topic], limit: int, active: int) -> None:
    """Whoever leaves was in working memory, had faded, and was not the active one."""
    gone = faded_topics(topics, NOW, active_id=f"t{active}", max_topics=limit)
    by_id = {topic.id: topic for topic in topics}
    assert all(by_id[each].state == "working" for each in gone)
    assert all(by_id[each].priority(NOW) < 0.05 for each in gone)
    assert f"t{active}" not in gone


@given(topic_lists())
def test_the_most_faded_leaves_first(topics: list[Topic]) -> None:
    """The order of leaving is the order of priority, lowest first."""
    by_id = {topic.id: topic for topic in topics}
    worths = [by_id[each].priority(NOW) for each in faded_topics(topics, NOW, max_topics=5)]
    assert worths == sorted(worths)


@given(topic_lists(max_size=20))
def test_nobody_leaves_while_there_is_room(topics: list[Topic]) -> None:
    """Up to twenty topics stay however faded they are."""
    assert faded_topics(topics, NOW) == ()


@given(topic_lists(), st.integers(min_value=0, max_value=25))
def test_nobody_faded_stays_when_there_is_no_room(topics: list[Topic], limit: int) -> None:
    """Over the limit, no faded topic but the active one remains in working memory."""
    gone = set(faded_topics(topics, NOW, max_topics=limit, active_id="t0"))
    working = [topic for topic in topics if topic.state == "working"]
    if len(working) > limit:
        stayed = [topic for topic in working if topic.id not in gone and topic.id != "t0"]
        assert all(topic.priority(NOW) >= 0.05 for topic in stayed)


def test_twenty_one_topics_and_eighty_days() -> None:
    """Among 21 topics one left 80 days ago with 20 accesses goes, one left 64 days ago stays."""
    fresh = [a_topic(f"fresh-{number}") for number in range(19)]
    old = a_topic("old", idle_days=80, access_count=20)
    older_but_kept = a_topic("kept", idle_days=64, access_count=20)
    assert faded_topics([*fresh, old, older_but_kept], NOW) == ("old",)


def test_the_active_topic_stays_however_faded() -> None:
    """The topic being talked about never leaves."""
    topics = [a_topic(f"t{number}", idle_days=300) for number in range(21)]
    assert "t7" not in faded_topics(topics, NOW, active_id="t7")
    assert len(faded_topics(topics, NOW, active_id="t7")) == 20
