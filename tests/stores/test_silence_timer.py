"""The silence timer: when a database that answers no call is doubted, and when that is not its fault."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ricordo.stores.spool.circuit_breaker import LONGEST_STEP, USUAL_FACTOR, SilenceTimer, SpoolTimeouts

TIMEOUTS = SpoolTimeouts()
gaps = st.lists(st.floats(0.0001, 1.0), min_size=1, max_size=60)


def looks(gaps: list[float], last_answer: float = 0.0) -> list[SilenceTimer]:
    """A question at the moment 1, and looks at it with these seconds between them."""
    now, timer = 1.0, SilenceTimer().start(1.0)
    found = [timer]
    for gap in gaps:
        now += gap
        timer = timer.check(now, last_answer)
        found.append(timer)
    return found


@given(gaps=gaps)
def test_time_in_which_we_slept_does_not_count(gaps: list[float]) -> None:
    """Between two looks no more than a stride counts, and never more than has passed."""
    for (before, after), gap in zip(pairwise(looks(gaps)), gaps, strict=True):
        assert 0 < after.silent_for - before.silent_for <= min(gap, LONGEST_STEP) + 1e-9


@given(gaps=gaps, which=st.integers(0, 59))
def test_an_answer_to_anybody_begins_anew(gaps: list[float], which: int) -> None:
    """While others are answered there is neither doubt nor silence, however long our own question takes."""
    found = looks(gaps)
    timer = found[which % len(found)]
    answered = timer.check(timer.checked_at + 0.5, timer.checked_at + 0.4)
    assert answered.silent_for == 0
    assert not answered.in_doubt(TIMEOUTS)
    assert not answered.is_silent(TIMEOUTS)


@given(gaps=gaps, usual=st.floats(0.0, 2.0))
def test_who_is_far_away_is_given_time(gaps: list[float], usual: float) -> None:
    """There is no doubt before a multiple of what answers usually take, and no silence before doubt."""
    now, timer = 1.0, SilenceTimer().answered(usual).start(1.0)
    for gap in gaps:
        now += gap
        timer = timer.check(now, 0.0)
        if timer.in_doubt(TIMEOUTS):
            assert now - 1.0 >= max(TIMEOUTS.fallback_after, USUAL_FACTOR * usual) - 1e-6
        assert timer.in_doubt(TIMEOUTS) or not timer.is_silent(TIMEOUTS)


@given(took=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50))
def test_what_is_usual_lies_between_what_was(took: list[float]) -> None:
    """The usual time is never outside of the times that were seen, and an answer ends the quiet."""
    timer = SilenceTimer()
    for each in took:
        timer = timer.answered(each)
        assert timer.silent_for == 0
    assert min(took) - 1e-9 <= timer.usual <= max(took) + 1e-9


def test_a_database_nearby_is_doubted_soon() -> None:
    """Twenty milliseconds without an answer are doubt, a quarter of a second is silence."""
    found = looks([0.004] * 70)
    assert [timer.in_doubt(TIMEOUTS) for timer in found].index(True) == 5
    assert [timer.is_silent(TIMEOUTS) for timer in found].index(True) == 63
