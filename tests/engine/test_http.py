"""When a request is sent again, and after which delay."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.http import RequestPolicy, retry_after
from ricordo.errors import ValidationError

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
policies = st.builds(
    RequestPolicy,
    attempts=st.integers(1, 10),
    backoff=st.floats(0, 5),
    max_wait=st.floats(0, 100),
)


@given(policies, st.integers(1, 12), st.floats(0, 1), st.none() | st.floats(0, 200))
def test_waits_are_bounded(policy: RequestPolicy, attempt: int, jitter: float, asked: float | None) -> None:
    """A wait is never shorter than was asked for, never much longer than the longest, and none follows the last."""
    pause = policy.delay(attempt, jitter=jitter, retry_after=asked)
    if attempt >= policy.attempts or (asked or 0) > policy.max_wait:
        assert pause is None
    else:
        assert pause is not None
        assert (asked or 0) <= pause <= 1.1 * policy.max_wait + 1e-9


@given(policies, st.integers(1, 8))
def test_waits_grow(policy: RequestPolicy, attempt: int) -> None:
    """With the same luck a later wait is never shorter."""
    first, second = (policy.delay(number, jitter=0.5) for number in (attempt, attempt + 1))
    assert first is None or second is None or first <= second


@given(st.floats(0, 1))
def test_waits_are_spread(jitter: float) -> None:
    """Chance moves a wait within the upper half of what doubling gives."""
    pause = RequestPolicy(backoff=1.0).delay(2, jitter=jitter)
    assert pause == pytest.approx(1.0 + jitter)


@given(st.integers(0, 10_000))
def test_asked_in_seconds_and_as_a_date(seconds: int) -> None:
    """A wait can be asked for in seconds, in milliseconds and as a date."""
    moment = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    assert retry_after({"Retry-After": str(seconds)}, NOW) == seconds
    assert retry_after({"retry-after-ms": str(seconds)}, NOW) == pytest.approx(seconds / 1000)
    assert retry_after({"RETRY-AFTER": moment}, NOW) == seconds


@given(st.text())
def test_nonsense_is_no_wait(value: str) -> None:
    """Whatever a server writes there, the wait is a number that is not negative, or none."""
    asked = retry_after({"Retry-After": value}, NOW)
    assert asked is None or asked >= 0


def test_bad_policy() -> None:
    """A policy that would never ask, or never wait, is refused."""
    for wrong in ({"attempts": 0}, {"connect": 0.0}, {"read": -1.0}, {"backoff": -1.0}):
        with pytest.raises(ValidationError, match="request policy"):
            RequestPolicy(**wrong)  # type: ignore[arg-type]
