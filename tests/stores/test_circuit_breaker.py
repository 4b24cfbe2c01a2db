"""The breaker: when requests pass, when the database is asked again, and how it comes back."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ricordo.stores.spool.circuit_breaker import CircuitBreaker

PAUSES = {"first_pause": 0.1, "longest_pause": 2.0}
seen = st.lists(st.tuples(st.booleans(), st.floats(0, 10)), max_size=30)


def after(events: list[tuple[bool, float]]) -> tuple[CircuitBreaker, float]:
    """A breaker that saw failures (False) and answers (True), each some seconds after the last; and the moment."""
    breaker, now = CircuitBreaker(), 0.0
    for answered, later in events:
        now += later
        breaker = breaker.answered(now) if answered else breaker.failed(now, "away", **PAUSES)
    return breaker, now


@given(events=seen)
def test_one_failure_opens_and_two_answers_close(events: list[tuple[bool, float]]) -> None:
    """Whatever was before, requests stop at the first failure and pass again after the second answer in a row."""
    breaker, now = after(events)
    failed = breaker.failed(now, "away", **PAUSES)
    assert not failed.is_closed
    assert failed.cause == "away"
    assert not failed.answered(now).is_closed
    assert failed.answered(now).answered(now) == CircuitBreaker()
    assert not failed.answered(now).failed(now, "again", **PAUSES).answered(now).is_closed


@given(events=seen)
def test_pauses_grow_and_have_a_bound(events: list[tuple[bool, float]]) -> None:
    """After each failure in a row the next question comes no sooner than before, and never later than the bound."""
    breaker, now = after(events)
    pauses = []
    for _ in range(40):
        breaker = breaker.failed(now, "away", **PAUSES)
        pauses.append(breaker.probe_at - now)
        assert not breaker.probe_due(now)
        assert breaker.probe_due(breaker.probe_at)
    assert all(later >= earlier - 1e-9 for earlier, later in pairwise(pauses))
    assert max(pauses) <= 2.0 + 1e-6


@given(events=seen)
def test_an_outage_begins_with_its_first_failure(events: list[tuple[bool, float]]) -> None:
    """`since` stays while the outage lasts, also through a single answer in between."""
    began = CircuitBreaker().failed(5.0, "away", **PAUSES)
    breaker, passed = began, False
    for answered, later in events:
        breaker = breaker.answered(5 + later) if answered else breaker.failed(5 + later, "away", **PAUSES)
        passed = passed or breaker.is_closed
    assert passed or breaker.since == 5.0


def test_an_answer_while_all_is_well_changes_nothing() -> None:
    """A closed breaker is asked for nothing and stays as it is."""
    assert CircuitBreaker().answered(3.0) == CircuitBreaker()
    assert not CircuitBreaker().probe_due(1e9)
