"""Forgetting: exactly what is past its time, and everything of one person."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.errors import NotFoundError, StoreUnavailable, ValidationError
from ricordo.presets import settings_from
from ricordo.testing import FakeClock, MemoryStore
from ricordo.testing.fakes import START, StoreProxy

HOUR = timedelta(hours=1)
AGES = st.lists(st.lists(st.integers(0, 60), min_size=1, max_size=5), max_size=5)
TTLS = st.none() | st.integers(1, 50).map(lambda hours: timedelta(hours=hours))


def written(ages: list[list[int]]) -> tuple[ricordo.Memory, MemoryStore]:
    """Sessions of two users whose turns were said so many hours ago."""
    store = MemoryStore()
    kept = ricordo.Memory(store, clock=FakeClock())
    for number, session_ages in enumerate(ages):
        session = kept.session(f"s{number}", user_id=f"user{number % 2}")
        for age in session_ages:
            session.add_turn(f"{age} ore fa", "Risposta.", created_at=START - age * HOUR)
    return kept, store


def left(kept: ricordo.Memory, ages: list[list[int]]) -> list[list[str]]:
    """What each session still holds."""
    return [[turn.query for turn in kept.session(f"s{n}", user_id=f"user{n % 2}").history()] for n in range(len(ages))]


@given(AGES, TTLS, TTLS)
def test_cleanup_deletes_exactly_what_is_past_its_time(
    ages: list[list[int]], turn_ttl: timedelta | None, session_idle: timedelta | None
) -> None:
    """Turns older than their time and sessions idle for longer go; what is exactly at its time or younger stays.

    A session that lost its last turn goes too; the result counts what went, and a second cleanup finds nothing.
    """
    kept, _ = written(ages)
    expected, idle_sessions = [], 0
    for session_ages in ages:
        idle = session_idle is not None and min(session_ages) * HOUR > session_idle
        idle_sessions += idle
        stay = [age for age in session_ages if turn_ttl is None or age * HOUR <= turn_ttl]
        expected.append([] if idle else [f"{age} ore fa" for age in stay])
    result = kept.cleanup(retention=ricordo.Retention(turn_ttl=turn_ttl, session_idle=session_idle))
    assert left(kept, ages) == expected
    assert result.sessions_deleted == sum(not queries for queries in expected)
    assert result.turns_deleted == sum(map(len, ages)) - sum(map(len, expected))
    assert result.errors == ()
    listed = {info.id for user in ("user0", "user1") for info in kept.sessions(user_id=user, limit=50)}
    assert listed == {f"s{n}" for n, queries in enumerate(expected) if queries}
    again = kept.cleanup(retention=ricordo.Retention(turn_ttl=turn_ttl, session_idle=session_idle))
    assert (again.sessions_deleted, again.turns_deleted) == (0, 0)
    assert kept.verify().ok


@pytest.mark.parametrize(
    ("preset", "last_kept", "first_gone"),
    [
        ("tutor", 24 * HOUR, timedelta(hours=24, microseconds=1)),
        ("chat24h", 24 * HOUR, timedelta(hours=24, microseconds=1)),
        ("assistant", timedelta(days=30), timedelta(days=30, microseconds=1)),
        ("balanced", timedelta(days=36_500), None),
        ("topics", timedelta(days=36_500), None),
        ("maestro", timedelta(days=36_500), None),
    ],
)
def test_each_preset_keeps_things_for_its_time(preset: str, last_kept: timedelta, first_gone: timedelta | None) -> None:
    """A talk lives to the microsecond that its preset promises, and no longer."""
    clock = FakeClock()
    kept = ricordo.Memory(MemoryStore(), settings_from({"preset": preset}, {}), clock=clock)
    kept.session("s", user_id="anna").add_turn("q", "r")
    clock.advance(last_kept)
    assert kept.cleanup().turns_deleted == 0
    if first_gone:
        clock.advance(first_gone - last_kept)
        result = kept.cleanup()
        assert (result.sessions_deleted, result.turns_deleted) == (1, 1)


def test_a_talk_that_goes_on_is_not_idle() -> None:
    """Idle time counts from the last message; turn time from each turn."""
    clock = FakeClock()
    kept = ricordo.Memory(MemoryStore(), settings_from({"preset": "tutor"}, {}), clock=clock)
    session = kept.session("s", user_id="anna")
    asked = session.ask("prima")
    clock.advance(hours=20)
    asked.answer("dopo venti ore")
    clock.advance(hours=20)
    assert kept.cleanup().sessions_deleted == 0
    assert kept.cleanup(retention=ricordo.Retention(turn_ttl=30 * HOUR)).turns_deleted == 1


def test_a_time_longer_than_the_calendar_keeps_everything() -> None:
    """A retention that reaches back before the first date removes nothing and does not fail."""
    kept, _ = written([[5, 50]])
    forever = ricordo.Retention(turn_ttl=timedelta.max, session_idle=timedelta(days=10**6))
    assert kept.cleanup(retention=forever).turns_deleted == 0
    assert left(kept, [[5, 50]]) == [["5 ore fa", "50 ore fa"]]


def test_a_retention_of_another_type_is_refused() -> None:
    """A number of hours or a text is no retention, and removes nothing."""
    kept, _ = written([[50]])
    with pytest.raises(ValidationError, match="retention: expected a Retention"):
        kept.cleanup(retention="24h")  # type: ignore[arg-type]
    assert left(kept, [[50]]) == [["50 ore fa"]]


class Stubborn(StoreProxy):
    """A store that fails to expire one user, or to list users at all."""

    def __init__(self, inner: MemoryStore, *, user_id: str | None) -> None:
        super().__init__(inner)
        self.user_id = user_id

    def sessions_due(self, tenant_id: str, **when: Any) -> Any:
        if self.user_id is None:
            raise StoreUnavailable("away")
        return self.inner.sessions.due(tenant_id, **when)

    def sessions_expire(self, owner: Any, **when: Any) -> Any:
        if owner.user_id == self.user_id:
            raise StoreUnavailable("busy")
        return self.inner.sessions.expire(owner, **when)


def test_a_failure_with_one_user_is_noted_and_the_rest_is_done(caplog: pytest.LogCaptureFixture) -> None:
    """The error is in the result and in the log, the other users are cleaned up, and the next time makes it good."""
    _, store = written([[50], [50]])
    retention = ricordo.Retention(turn_ttl=24 * HOUR)
    steps: list[tuple[int, int]] = []
    broken = ricordo.Memory(Stubborn(store, user_id="user0"), clock=FakeClock())
    result = broken.cleanup(retention=retention, progress=lambda done, total: steps.append((done, total)))
    assert (result.sessions_deleted, result.errors) == (1, ("user 'user0': busy",))
    assert steps == [(1, 2), (2, 2)]
    (record,) = caplog.records
    assert {name: vars(record)[name] for name in ("operation", "tenant_id", "user_id")} == {
        "operation": "cleanup",
        "tenant_id": "default",
        "user_id": "user0",
    }
    assert ricordo.Memory(store, clock=FakeClock()).cleanup(retention=retention).sessions_deleted == 1


def test_a_store_that_cannot_list_its_users_is_noted() -> None:
    """Cleanup returns with the error instead of raising it."""
    _, store = written([[50]])
    broken = ricordo.Memory(Stubborn(store, user_id=None), clock=FakeClock())
    result = broken.cleanup(retention=ricordo.Retention(turn_ttl=HOUR))
    assert (result.turns_deleted, result.errors) == (0, ("the users cannot be listed: away",))


def test_cleanup_is_of_one_tenant() -> None:
    """Another tenant's old turns stay."""
    store = MemoryStore()
    acme, zeta = (
        ricordo.Memory(store, ricordo.Settings(tenant_id=name), clock=FakeClock()) for name in ("acme", "zeta")
    )
    for kept in (acme, zeta):
        kept.session("s", user_id="anna").add_turn("q", "r", created_at=datetime(2020, 1, 1, tzinfo=UTC))
    assert acme.cleanup(retention=ricordo.Retention(turn_ttl=HOUR)).turns_deleted == 1
    assert len(zeta.session("s", user_id="anna").history()) == 1


@given(AGES)
def test_erasing_removes_all_of_one_user_and_nothing_of_another(ages: list[list[int]]) -> None:
    """The receipt says who, when and how many of each thing; the other user has everything still."""
    kept, _ = written(ages)
    if ages:
        session = kept.session("s0", user_id="user0")
        session.context("con ricevuta")
        session.add_turn("con ricevuta", "Risposta.")
    before = left(kept, ages)
    receipt = kept.erase("user0")
    assert (receipt.user_id, receipt.tenant_id, receipt.erased_at) == ("user0", "default", START)
    assert {what: receipt.removed[what] for what in ("sessions", "turns", "receipts")} == {
        "sessions": len(ages[::2]),
        "turns": sum(map(len, ages[::2])) + bool(ages),
        "receipts": int(bool(ages)),
    }
    assert left(kept, ages) == [[] if n % 2 == 0 else queries for n, queries in enumerate(before)]
    assert kept.sessions(user_id="user0") == []
    assert sum(kept.erase("user0").removed.values()) == 0
    if ages:
        with pytest.raises(NotFoundError):
            kept.session("s0", user_id="user0").info()
