"""New turns that are committed together on SQLite are stored as if each had been written by itself."""

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.records.turns import Owner, StoredReceipt, checksum
from ricordo.stores.group_commit import Ticket
from ricordo.stores.sqlite import SqliteStore
from ricordo.stores.sqlite.turn_operations import NewTurn, TurnIdTaken
from ricordo.testing.fakes import START, a_turn

ANNA, BRUNO = Owner("acme", "anna"), Owner("acme", "bruno")
Asked = tuple[Owner, str, int, int, int | None, bool]  # owner, session, id, minutes, expected number, with receipt

asked = st.tuples(
    st.sampled_from([ANNA, BRUNO]),
    st.sampled_from(["one", "two"]),
    st.integers(0, 12),
    st.integers(0, 5),
    st.sampled_from([None, None, None, 1, 2, 3]),
    st.booleans(),
)


def new_turn(each: Asked) -> NewTurn:
    """The operation of a caller."""
    owner, session_id, number, minutes, expected, explained = each
    moment = START + timedelta(minutes=minutes)
    turn = a_turn(owner, f"question {number}", session_id=session_id, turn_id=f"id-{number}", created_at=moment)
    receipt = StoredReceipt(session_id, 0, '{"recipe":"0123456789"}', {"0123456789": "a passage"})
    return NewTurn(turn, expected, receipt if explained else None)


def served(store: SqliteStore, operations: Sequence[NewTurn], *, together: bool) -> list[Any]:
    """The turns, or the classes of errors, of callers that come together or one by one."""
    tickets = [Ticket(operation) for operation in operations]
    for batch in [tickets] if together else [[ticket] for ticket in tickets]:
        store._connections._serve(batch)
    return [type(ticket.error) if ticket.error else ticket.result for ticket in tickets]


def rows(store: SqliteStore) -> list[list[Any]]:
    """Everything that is stored of sessions, turns and receipts."""
    tables = ("owners", "sessions", "turns", "receipts", "passages", "passage_uses")
    with store._connections.reading() as reader:
        return [sorted(reader.execute(f"SELECT * FROM {table}").fetchall(), key=repr) for table in tables]


@settings(max_examples=15, deadline=None)
@given(before=st.lists(asked, max_size=3), group=st.lists(asked, min_size=2, max_size=9))
def test_a_group_stores_what_its_writers_would_store_alone(before: list[Asked], group: list[Asked]) -> None:
    """Numbers, order, dates, receipts and refusals are the same, also with sessions that are new or known."""
    found = []
    for together in (False, True):
        with TemporaryDirectory() as folder:
            store = SqliteStore(Path(folder) / "memory.db")
            served(store, [new_turn(each) for each in before], together=False)
            answers = served(store, [new_turn(each) for each in group], together=together)
            found.append((answers, rows(store)))
            store.close()
    assert found[0] == found[1]


def test_a_refused_turn_does_not_harm_its_group(tmp_path: Path) -> None:
    """A known id and an unexpected number are told to their own callers; the others are stored, without a gap."""
    store = SqliteStore(tmp_path / "memory.db")
    try:
        known = store.turns.append(a_turn(ANNA, session_id="s"))
        fresh = [a_turn(ANNA, f"{number}", session_id="s") for number in range(70)]
        operations = [NewTurn(turn, None, None) for turn in (*fresh, known)]
        *written, refused = served(store, operations, together=True)
        assert refused is TurnIdTaken
        assert [turn.turn_number for turn in written] == list(range(2, 72))
        late = NewTurn(a_turn(ANNA, session_id="s"), 5, None)
        (after, unexpected) = served(store, [NewTurn(a_turn(ANNA, session_id="s"), None, None), late], together=True)
        assert (after.turn_number, unexpected) == (72, TurnIdTaken)
        assert [turn.turn_number for turn in store.turns.page(ANNA, "s")] == list(range(1, 73))
    finally:
        store.close()


def test_a_group_follows_another_writer_of_the_file(tmp_path: Path) -> None:
    """A number that this process knew is out of date when another one has written: the group counts from there."""
    first, second = SqliteStore(tmp_path / "memory.db"), SqliteStore(tmp_path / "memory.db")
    try:
        first.turns.append(a_turn(ANNA, session_id="s"))
        second.turns.append(a_turn(ANNA, session_id="s"))
        turns = [NewTurn(a_turn(ANNA, session_id="s"), None, None) for _ in range(3)]
        assert [turn.turn_number for turn in served(first, turns, together=True)] == [3, 4, 5]
        assert all(turn.checksum == checksum(turn) for turn in first.turns.page(ANNA, "s"))
    finally:
        first.close()
        second.close()


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 200])
def test_groups_of_any_size_are_inserted_whole(tmp_path: Path, count: int) -> None:
    """Whatever the number of rows that one statement takes."""
    store = SqliteStore(tmp_path / "memory.db")
    try:
        turns = [NewTurn(a_turn(ANNA, f"{number}", session_id="s"), None, None) for number in range(count)]
        assert [turn.turn_number for turn in served(store, turns, together=True)] == list(range(1, count + 1))
        assert [turn.query for turn in store.turns.page(ANNA, "s")] == [f"{number}" for number in range(count)]
    finally:
        store.close()
