"""How topics fade."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.topics.decay import DAY_SECONDS, Fading, decay, half_life, memory_type, priority

ages = st.floats(min_value=-1e9, max_value=1e12)
counts = st.integers(min_value=0, max_value=10**12)
importances = st.floats(min_value=0, max_value=1)


@given(ages, counts)
def test_decay_is_a_share(age: float, count: int) -> None:
    """Decay is always between 0 and 1, whatever the age and the use."""
    assert 0 <= decay(age, half_life(count)) <= 1


@given(ages, ages, counts)
def test_decay_never_rises_with_age(one: float, other: float, count: int) -> None:
    """Of two ages the greater never leaves more."""
    younger, older = sorted((one, other))
    assert decay(older, half_life(count)) <= decay(younger, half_life(count))


@given(ages, counts, counts, importances)
def test_priority_never_falls_with_use(age: float, one: int, other: int, importance: float) -> None:
    """A topic used more often is worth at least as much after the same time."""
    less, more = sorted((one, other))
    assert priority(importance, age, less) <= priority(importance, age, more)


@given(counts)
def test_half_life_stays_between_a_day_and_thirty(count: int) -> None:
    """The half-life begins at one day and never passes thirty."""
    assert DAY_SECONDS <= half_life(count) <= 30 * DAY_SECONDS


@given(ages, counts, importances, importances)
def test_priority_follows_importance(age: float, count: int, one: float, other: float) -> None:
    """The more important of two equally used topics never has the lower priority."""
    low, high = sorted((one, other))
    assert priority(low, age, count) <= priority(high, age, count)


@pytest.mark.parametrize(("days", "left"), [(0, 1.0), (1, 0.5), (2, 0.25), (3, 0.125), (4, 0.0625), (5, 0.03125)])
def test_short_term_memory_halves_every_day(days: int, left: float) -> None:
    """A topic hardly used halves every day and is below the line of forgetting on the fifth."""
    assert priority(1.0, days * DAY_SECONDS, 4) == left


@pytest.mark.parametrize(("days", "left"), [(0, 1.0), (16, 0.5), (32, 0.25), (48, 0.125), (64, 0.0625), (80, 0.03125)])
def test_twenty_accesses_last_eighty_days(days: int, left: float) -> None:
    """A topic used twenty times halves every sixteen days: alive after 64, below the line after 80."""
    assert priority(1.0, days * DAY_SECONDS, 20) == left
    assert (left < Fading().forget_below) == (days == 80)


@pytest.mark.parametrize(
    ("accesses", "days", "kind", "survives"),
    [
        ((0, 4), 1, "short-term", 5),
        ((5, 9), 2, "transitioning", 10),
        ((10, 14), 4, "long-term", 20),
        ((15, 19), 8, "long-term", 40),
        ((20, 24), 16, "long-term", 80),
        ((25, 26), 30, "long-term", 150),
    ],
)
def test_consolidation(accesses: tuple[int, int], days: int, kind: str, survives: int) -> None:
    """Use turns short-term memory into long-term memory, step by step up to the cap of thirty days."""
    for count in accesses:
        assert half_life(count) == days * DAY_SECONDS
        assert memory_type(count) == kind
        assert priority(1.0, survives * DAY_SECONDS, count) < 0.05
        assert priority(1.0, survives * DAY_SECONDS * 0.8, count) > 0.05


def test_a_clock_set_back_does_not_raise_a_topic_above_its_importance() -> None:
    """An age below zero counts as no age at all."""
    assert priority(0.7, -3600, 3) == 0.7


def test_the_numbers_of_fading_are_checked_together() -> None:
    """Fading refuses numbers that contradict each other."""
    with pytest.raises(ValueError, match="base_half_life"):
        Fading(base_half_life=100, max_half_life=10)
    with pytest.raises(ValueError, match="accesses_per_doubling"):
        Fading(accesses_per_doubling=0)
    with pytest.raises(ValueError, match="forget_below"):
        Fading(forget_below=math.inf)
