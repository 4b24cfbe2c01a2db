"""Cleanup finds what is too old without an index by age, whatever dates turns were given."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.records.turns import Owner, SessionInfo, Turn
from ricordo.stores.sqlite import SqliteStore
from ricordo.stores.sqlite.store import copy_to_sqlite
from ricordo.testing.fakes import START, a_turn, an_owner

hours = st.integers(0, 12)
sessions = st.lists(st.lists(hours, min_size=1, max_size=6), min_size=1, max_size=4)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SqliteStore]:
    """One file for all examples; each has an owner of its own."""
    opened = SqliteStore(tmp_path_factory.mktemp("ages") / "memory.db")
    yield opened
    opened.close()


def at(hour: int) -> datetime:
    return START + timedelta(hours=hour)


def kept(store: SqliteStore, owner: Owner, count: int) -> list[list[datetime]]:
    return [[turn.created_at for turn in store.turns.page(owner, f"s{number}")] for number in range(count)]


def cleaned(store: SqliteStore, owner: Owner, before: datetime, batch: int) -> int:
    gone, more = 0, True
    while more:
        done = store.sessions.expire(owner, turns_before=before, idle_before=None, batch=batch)
        gone, more = gone + done.turns, done.more
    return gone


@given(dated=sessions, cut=hours, batch=st.integers(1, 5), loaded=st.booleans())
@settings(max_examples=150, deadline=None)
def test_exactly_what_is_too_old_goes_whatever_the_order_of_dates(
    store: SqliteStore, dated: list[list[int]], cut: int, batch: int, loaded: bool
) -> None:
    """Turns may be dated in any order, written one by one or brought in: those before the moment go, no other."""
    owner = an_owner()
    for number, days in enumerate(dated):
        turns = [a_turn(owner, session_id=f"s{number}", created_at=at(hour)) for hour in days]
        if loaded:
            load_in_halves(store, turns)
        else:
            for turn in turns:
                store.turns.append(turn)
    gone = cleaned(store, owner, at(cut), batch)
    assert kept(store, owner, len(dated)) == [[at(hour) for hour in days if hour >= cut] for days in dated]
    assert gone == sum(hour < cut for days in dated for hour in days)


def load_in_halves(store: SqliteStore, turns: list[Turn]) -> None:
    """Every second turn first, then the others between them."""
    numbered = [replace(turn, turn_number=number) for number, turn in enumerate(turns, start=1)]
    first = turns[0]
    session = SessionInfo(first.session_id, first.owner, first.agent_id, first.created_at, first.created_at)
    for half in (numbered[::2], numbered[1::2]):
        if half:
            store.turns.load(session, half)


@given(days=st.lists(hours, min_size=2, max_size=6))
@settings(max_examples=100, deadline=None)
def test_a_session_in_order_is_known_as_such(store: SqliteStore, days: list[int]) -> None:
    """Dates that never go back leave the mark that spares a cleanup from reading the session; others never do."""
    owner = an_owner()
    for hour in days:
        store.turns.append(a_turn(owner, session_id="s0", created_at=at(hour)))
    reader = store._connections.reader()
    (found,) = reader.execute("SELECT in_order FROM sessions WHERE owner = ?", (owner.key.bytes,)).fetchone()
    store._connections.give_back(reader)
    assert bool(found) == (days == sorted(days))


@pytest.mark.parametrize("days", [[1, 2, 3], [3, 1, 2], [2, 3, 1]])
def test_a_backup_knows_the_order_too(tmp_path: Path, days: list[int]) -> None:
    """A session that was copied loses exactly what is too old."""
    owner = an_owner()
    source = SqliteStore(tmp_path / "memory.db")
    for hour in days:
        source.turns.append(a_turn(owner, session_id="s0", created_at=at(hour)))
    copy_to_sqlite(source, [owner], tmp_path / "copy.db")
    source.close()
    copied = SqliteStore(tmp_path / "copy.db")
    assert cleaned(copied, owner, at(2), 10) == 1
    assert kept(copied, owner, 1) == [[at(hour) for hour in days if hour >= 2]]
    copied.close()


def test_a_number_that_is_out_of_date_is_not_used(tmp_path: Path) -> None:
    """Two stores on one file, or a session that was cleared, never make a number twice or leave one out."""
    owner = an_owner()
    one, two = SqliteStore(tmp_path / "memory.db"), SqliteStore(tmp_path / "memory.db")
    numbers = [store.turns.append(a_turn(owner)).turn_number for store in (one, one, two, one, two, two, one)]
    assert numbers == [1, 2, 3, 4, 5, 6, 7]
    two.sessions.clear(owner, "lesson")
    assert [store.turns.append(a_turn(owner)).turn_number for store in (one, two, one)] == [1, 2, 3]
    one.close()
    two.close()


def test_a_session_that_is_wrongly_in_order_is_damage(tmp_path: Path) -> None:
    """Cleanup trusts what a session says of its order, so integrity looks whether it is true."""
    store = SqliteStore(tmp_path / "memory.db")
    try:
        owner = an_owner()
        store.turns.append(a_turn(owner, created_at=START))
        store.turns.append(a_turn(owner, created_at=START - timedelta(days=9)))
        assert list(store.integrity()) == []
        with closing(sqlite3.connect(tmp_path / "memory.db", isolation_level=None)) as other:
            other.execute("UPDATE sessions SET in_order = 1")
        (damage,) = store.integrity()
        assert "session 'lesson'" in damage.where
        assert "ordered by date" in damage.problem
    finally:
        store.close()
