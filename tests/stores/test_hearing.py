"""Hearing: when a database that answers nobody is doubted, and when it is not its fault."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ricordo.stores.spool.circuit_breaker import STRIDE, USUALLY, SilenceTimer, SpoolTimeouts

PACE = SpoolTimeouts()
gaps = st.lists(st.floats(0.0001, 1.0), min_size=1, max_size=60)


def looks(gaps: list[float], heard: float = 0.0) -> list[SilenceTimer]:
    """A question at the moment 1, and looks at it with these seconds between them."""
    now, hearing = 1.0, SilenceTimer().ask(1.0)
    found = [hearing]
    for gap in gaps:
        now += gap
        hearing = hearing.look(now, heard)
        found.append(hearing)
    return found


@given(gaps=gaps)
def test_time_in_which_we_slept_does_not_count(gaps: list[float]) -> None:
    """Between two looks no more than a stride counts, and never more than has passed."""
    for (before, after), gap in zip(pairwise(looks(gaps)), gaps, strict=True):
        assert 0 < after.quiet - before.quiet <= min(gap, STRIDE) + 1e-9


@given(gaps=gaps, which=st.integers(0, 59))
def test_an_answer_to_anybody_begins_anew(gaps: list[float], which: int) -> None:
    """While others are answered there is neither doubt nor silence, however long our own question takes."""
    found = looks(gaps)
    hearing = found[which % len(found)]
    answered = hearing.look(hearing.looked + 0.5, hearing.looked + 0.4)
    assert answered.quiet == 0
    assert not answered.doubts(PACE)
    assert not answered.is_silent(PACE)


@given(gaps=gaps, usual=st.floats(0.0, 2.0))
def test_who_is_far_away_is_given_time(gaps: list[float], usual: float) -> None:
    """There is no doubt before a multiple of what answers usually take, and no silence before doubt."""
    now, hearing = 1.0, SilenceTimer().answer(usual).ask(1.0)
    for gap in gaps:
        now += gap
        hearing = hearing.look(now, 0.0)
        if hearing.doubts(PACE):
            assert now - 1.0 >= max(PACE.doubt, USUALLY * usual) - 1e-6
        assert hearing.doubts(PACE) or not hearing.is_silent(PACE)


@given(took=st.lists(st.floats(0.0, 1.0), min_size=1, max_size=50))
def test_what_is_usual_lies_between_what_was(took: list[float]) -> None:
    """The usual time is never outside of the times that were seen, and an answer ends the quiet."""
    hearing = SilenceTimer()
    for each in took:
        hearing = hearing.answer(each)
        assert hearing.quiet == 0
    assert min(took) - 1e-9 <= hearing.usual <= max(took) + 1e-9


def test_a_database_nearby_is_doubted_soon() -> None:
    """Twenty milliseconds without an answer are doubt, a quarter of a second is silence."""
    found = looks([0.004] * 70)
    assert [hearing.doubts(PACE) for hearing in found].index(True) == 5
    assert [hearing.is_silent(PACE) for hearing in found].index(True) == 63
