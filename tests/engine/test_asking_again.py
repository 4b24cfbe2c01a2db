"""When an endpoint is asked again, and in which dialect."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.llm.endpoint import Dialect, Patience, asked_for, wait
from ricordo.errors import LLMError

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
patiences = st.builds(
    Patience,
    attempts=st.integers(1, 10),
    backoff=st.floats(0, 5),
    longest_wait=st.floats(0, 100),
)


@given(patiences, st.integers(1, 12), st.floats(0, 1), st.none() | st.floats(0, 200))
def test_waits_are_bounded(patience: Patience, attempt: int, chance: float, asked: float | None) -> None:
    """A wait is never shorter than was asked for, never much longer than the longest, and none follows the last."""
    pause = wait(attempt, patience, chance=chance, asked=asked)
    if attempt >= patience.attempts or (asked or 0) > patience.longest_wait:
        assert pause is None
    else:
        assert pause is not None
        assert (asked or 0) <= pause <= 1.1 * patience.longest_wait + 1e-9


@given(patiences, st.integers(1, 8))
def test_waits_grow(patience: Patience, attempt: int) -> None:
    """With the same luck a later wait is never shorter."""
    first, second = (wait(number, patience, chance=0.5) for number in (attempt, attempt + 1))
    assert first is None or second is None or first <= second


@given(st.floats(0, 1))
def test_waits_are_spread(chance: float) -> None:
    """Chance moves a wait within the upper half of what doubling gives."""
    pause = wait(2, Patience(backoff=1.0), chance=chance)
    assert pause == pytest.approx(1.0 + chance)


@given(st.integers(0, 10_000))
def test_asked_in_seconds_and_as_a_date(seconds: int) -> None:
    """A wait can be asked for in seconds, in milliseconds and as a date."""
    moment = format_datetime(NOW + timedelta(seconds=seconds), usegmt=True)
    assert asked_for({"Retry-After": str(seconds)}, NOW) == seconds
    assert asked_for({"retry-after-ms": str(seconds)}, NOW) == pytest.approx(seconds / 1000)
    assert asked_for({"RETRY-AFTER": moment}, NOW) == seconds


@given(st.text())
def test_nonsense_is_no_wait(value: str) -> None:
    """Whatever a server writes there, the wait is a number that is not negative, or none."""
    asked = asked_for({"Retry-After": value}, NOW)
    assert asked is None or asked >= 0


@given(st.integers(400, 599), st.text(), st.booleans(), st.booleans(), st.booleans())
def test_dialects_end(status: int, complaint: str, schema: bool, limited: bool, stream: bool) -> None:
    """Whatever a server refuses and says, after a few poorer dialects there is none left to try."""
    dialect: Dialect | None = Dialect()
    words = f"{complaint} max_completion_tokens stream_options"
    tried = 0
    while dialect is not None:
        body = dialect.body(
            [], max_tokens=5 if limited else None, schema={"type": "object"} if schema else None, stream=stream
        )
        dialect = dialect.poorer(body, status, words)
        tried += 1
    assert tried <= 4


def test_bad_patience() -> None:
    """Patience that would never ask, or never wait, is refused."""
    for wrong in ({"attempts": 0}, {"connect": 0.0}, {"read": -1.0}, {"backoff": -1.0}):
        with pytest.raises(LLMError, match="patience"):
            Patience(**wrong)  # type: ignore[arg-type]
