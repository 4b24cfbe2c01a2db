"""Which messages leave a topic for the archive."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.records.turns import Turn
from ricordo.testing.fakes import a_turn, an_owner
from ricordo.topics.archive import SUMMARY_CHARACTERS, HotMessage, plan, summary_of

hot_lists = st.lists(st.sampled_from([None, "block"]), max_size=60).map(
    lambda blocks: [HotMessage(str(number), block) for number, block in enumerate(blocks)]
)


@given(hot_lists, st.integers(min_value=0, max_value=70))
def test_every_message_has_one_place(hot: list[HotMessage], restored: int) -> None:
    """Each hot message is packed, released or kept: exactly one of the three, and in order."""
    made = plan(hot, restored=restored)
    assert sorted(made.pack + made.release + made.keep, key=int) == [message.id for message in hot]
    assert list(made.keep) == [message.id for message in hot[len(hot) - len(made.keep) :]]


@given(hot_lists, st.integers(min_value=0, max_value=70))
def test_a_message_is_packed_once_in_its_life(hot: list[HotMessage], restored: int) -> None:
    """What a block already holds is never packed again."""
    packed = set(plan(hot, restored=restored).pack)
    assert all(message.block_id is None for message in hot if message.id in packed)


@given(st.integers(min_value=0, max_value=100), st.integers(min_value=0, max_value=12))
def test_a_restored_topic_does_not_thrash(restored: int, added: int) -> None:
    """After a restore, up to twelve more messages come without anything leaving again."""
    hot = [HotMessage(str(n), "block" if n < restored else None) for n in range(restored + added)]
    assert not plan(hot, restored=restored).needed


@given(st.integers(min_value=0, max_value=200))
def test_a_topic_never_holds_more_than_its_limit_after_compaction(size: int) -> None:
    """Over twelve messages, the last four stay; up to twelve, all do."""
    hot = [HotMessage(str(number)) for number in range(size)]
    assert len(plan(hot).keep) == (4 if size > 12 else size)


def test_thirteen_messages() -> None:
    """The thirteenth message sends the first nine to the archive."""
    made = plan([HotMessage(str(number)) for number in range(13)])
    assert made.pack == tuple("012345678")
    assert made.keep == ("9", "10", "11", "12")
    assert made.needed


def test_a_restored_topic_that_goes_on() -> None:
    """Thirteen messages after a restore of twenty, the restored copies are let go and only the new ones are packed."""
    hot = [HotMessage(str(n), "block" if n < 16 else None) for n in range(33)]
    made = plan(hot, restored=20)
    assert made.release == tuple(str(n) for n in range(16))
    assert made.pack == tuple(str(n) for n in range(16, 29))


def test_keeping_more_than_the_limit_makes_no_sense() -> None:
    """A number of recent messages above the limit is refused."""
    with pytest.raises(ValueError, match="keep_recent"):
        plan([], max_messages=4, keep_recent=5)


def a_said_turn(question: str, answer: str) -> Turn:
    """A turn with these two messages."""
    return a_turn(an_owner(), question, answer)


def test_a_summary_is_made_of_sentences() -> None:
    """A sentence that stands alone is quoted; a fragment is reported with its question."""
    turns = [
        a_said_turn("How do I feed a starter?", "The starter wants flour twice a day. It grows."),
        a_said_turn("How much?", "About 50 grams"),
        a_said_turn("e quanta acqua ci metto?", "Circa la stessa quantità."),
        a_said_turn("Give me a line", '"Rise slowly."'),
    ]
    assert (summary_of(turns) or "").splitlines() == [
        "The starter wants flour twice a day.",
        "The answer to “How much?” was “About 50 grams.”",
        "A “e quanta acqua ci metto?” la risposta è stata “Circa la stessa quantità.”",
        'The answer to “Give me a line” was “"Rise slowly."”',
    ]


@given(st.lists(st.tuples(st.text(max_size=300), st.text(max_size=300)), max_size=8), st.text(max_size=700))
def test_a_summary_stays_short_and_keeps_the_newest(said: list[tuple[str, str]], before: str) -> None:
    """Whatever was said, only one line can be longer than a summary may be, and nothing said gives no summary."""
    summary = summary_of([a_said_turn(*each) for each in said], before)
    assert summary is None or len(summary) <= SUMMARY_CHARACTERS or "\n" not in summary
    assert summary is not None or not any(text.split() for text in (before, *(one for each in said for one in each)))
