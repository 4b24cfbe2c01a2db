"""Verifying: whatever can be derived is derived again, and every difference is reported."""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.errors import DamageError
from ricordo.records.turns import Turn
from ricordo.testing import FakeClock, MemoryStore
from ricordo.testing.fakes import StoreProxy
from ricordo.testing.strategies import texts


class Tampered(StoreProxy):
    """A store behind which somebody changed, removed or broke things."""

    def __init__(self) -> None:
        super().__init__()
        self.changed: dict[int, Callable[[Turn], Turn]] = {}
        self.gone: set[int] = set()
        self.unreadable: set[int] = set()
        self.bad_receipts: set[int] = set()
        self.session_fields: dict[str, Any] = {}

    def turns_page(self, *where: Any, **which: Any) -> Any:
        found = [turn for turn in self.inner.turns.page(*where, **which) if turn.turn_number not in self.gone]
        if bad := self.unreadable & {turn.turn_number for turn in found}:
            raise DamageError(f"turn {min(bad)} is not JSON")
        return [self.changed[turn.turn_number](turn) if turn.turn_number in self.changed else turn for turn in found]

    def turns_receipts(self, *where: Any, **which: Any) -> Any:
        found = self.inner.turns.receipts(*where, **which)
        return [replace(each, body="{}") if each.turn_number in self.bad_receipts else each for each in found]

    def sessions_page(self, *where: Any, **which: Any) -> Any:
        return [replace(info, **self.session_fields) for info in self.inner.sessions.page(*where, **which)]


def written(count: int = 3) -> tuple[ricordo.Memory, Tampered]:
    """A memory of one session, and the store in which it can be tampered with while nobody is at work on it."""
    store = Tampered()
    kept = ricordo.Memory(store, clock=FakeClock())
    kept.rest()
    session = kept.session("s", user_id="anna")
    for number in range(1, count + 1):
        session.context(f"Domanda {number}")
        session.add_turn(f"Domanda {number}", f"Risposta {number}.", chunk_ids=["c1"], metadata={"n": number})
    return kept, store


def test_a_sound_store_has_no_damage() -> None:
    """Sessions and turns are counted, and nothing is reported."""
    kept, _ = written()
    steps: list[tuple[int, int]] = []
    result = kept.verify(lambda done, total: steps.append((done, total)))
    assert (result.sessions, result.turns, result.damages, result.ok) == (1, 3, (), True)
    assert steps == [(1, 1)]


CHANGES: dict[str, Callable[[Turn], Turn]] = {
    "query": lambda t: replace(t, question=replace(t.question, content="Altro")),  # type: ignore[type-var]
    "response": lambda t: replace(t, answer=replace(t.answer, content="Altro")),  # type: ignore[type-var]
    "tokens": lambda t: replace(t, answer=replace(t.answer, tokens=0)),  # type: ignore[type-var]
    "role": lambda t: replace(t, question=replace(t.question, role="system")),  # type: ignore[type-var]
    "chunk ids": lambda t: replace(t, answer=replace(t.answer, chunk_ids=("c2",))),  # type: ignore[type-var]
    "name": lambda t: replace(t, question=replace(t.question, name="Bob")),  # type: ignore[type-var]
    "metadata": lambda t: replace(t, metadata={}),
    "created at": lambda t: replace(t, created_at=t.created_at + timedelta(microseconds=1)),
    "agent": lambda t: replace(t, agent_id="other"),
    "answer gone": lambda t: replace(t, answer=None),
    "checksum": lambda t: replace(t, checksum="0" * 16),
    "turn id": lambda t: replace(t, id="other"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_changed_turn_is_found(change: Callable[[Turn], Turn], at: int) -> None:
    """Whatever of a stored turn is changed, exactly that turn is reported, by user, session and number."""
    kept, store = written()
    store.changed[at] = change
    (damage,) = kept.verify().damages
    assert damage.where == f"user 'anna', session 's', turn {at}"
    assert damage.problem == "its content does not match its checksum"


@given(texts(), st.integers(1, 3))
def test_any_other_word_is_found(text: str, at: int) -> None:
    """No other question passes for the stored one."""
    kept, store = written()
    store.changed[at] = lambda turn: replace(turn, question=replace(turn.question, content=text))  # type: ignore[type-var]
    assert kept.verify().ok == (text == f"Domanda {at}")


def test_token_counts_are_counted_again() -> None:
    """A count that is wrong but sealed is found; a count by another counter is not judged."""
    kept, store = written(1)
    store.changed[1] = lambda turn: replace(turn, answer=replace(turn.answer, tokens=1)).sealed()  # type: ignore[type-var]
    (damage,) = kept.verify().damages
    assert damage.problem == "its token counts differ from those of its text"
    wrong = store.changed[1]
    store.changed[1] = lambda turn: replace(wrong(turn), counter="another")
    assert kept.verify().ok


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_missing_turn_is_found(at: int) -> None:
    """The session counts more turns than it holds; a turn missing between others is named."""
    kept, store = written()
    store.gone.add(at)
    (damage,) = kept.verify().damages
    assert damage.where == "user 'anna', session 's'"
    assert damage.problem.startswith("has 2 turns but counts 3")
    if at > 1:
        assert damage.problem.endswith(f"missing: {at}")


def test_counters_that_lag_behind_are_found() -> None:
    """A session that numbers less than it holds is reported, also when it claims to hold nothing."""
    kept, store = written()
    store.session_fields = {"last_turn": 2}
    assert [damage.problem for damage in kept.verify().damages] == ["its last turn is 2 but it has turn 3"]
    store.session_fields = {"last_turn": 0, "turn_count": 0}
    assert [damage.problem for damage in kept.verify().damages] == [
        "has 3 turns but counts 0",
        "its last turn is 0 but it has turn 3",
    ]


def test_one_damage_does_not_hide_the_next() -> None:
    """Two changed turns and two broken receipts are four damages."""
    kept, store = written()
    store.changed = dict.fromkeys((1, 3), lambda turn: replace(turn, metadata={}))
    store.bad_receipts = {1, 3}
    damages = kept.verify().damages
    assert [damage.where.rpartition(", ")[2] for damage in damages] == ["turn 1", "turn 3", "turn 3", "turn 1"]
    assert sum("receipt" in damage.problem for damage in damages) == 2


def test_unreadable_turns_are_reported_one_by_one() -> None:
    """Each turn that cannot be read is a damage; the readable ones are still checked and counted."""
    kept, store = written(5)
    store.unreadable = {2, 4}
    result = kept.verify()
    assert result.turns == 3
    assert [damage.where.rpartition(", ")[2] for damage in result.damages] == ["turn 2", "turn 4"]
    assert all(damage.problem.startswith("cannot be read") for damage in result.damages)


def test_what_was_forgotten_is_not_damage() -> None:
    """After a cleanup of old turns, a clear and an import the store is sound."""
    clock = FakeClock()
    kept = ricordo.Memory(MemoryStore(), clock=clock)
    session = kept.session("s", user_id="anna")
    for _ in range(4):
        session.add_turn("q", "r")
        clock.advance(hours=1)
    kept.cleanup(retention=ricordo.Retention(turn_ttl=timedelta(hours=2)))
    assert len(session.history()) == 2
    assert kept.verify().ok
    other = ricordo.Memory(MemoryStore(), clock=clock)
    assert other.import_documents(kept.export("anna")).errors == ()
    assert other.verify().ok
    session.clear()
    assert kept.verify().ok


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with three sessions of one user."""
    path = tmp_path / "memory.db"
    with ricordo.open(path, organise="off", remember_person="off", embedder="deterministic") as kept:
        for name in ("first", "second", "third"):
            kept.session(name, user_id="anna").add_turn("Domanda", "Risposta.")
    return path


def tampered(path: Path, statement: str) -> list[str]:
    """What verify says of a file after a statement that no constraint stopped."""
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA ignore_check_constraints = ON")
        other.execute(statement)
        other.commit()
    with ricordo.open(path) as kept:
        return [f"{damage.where}: {damage.problem}" for damage in kept.verify().damages]


@pytest.mark.parametrize("field", ["tags", "metadata", "document_ids"])
def test_a_session_that_cannot_be_read_does_not_hide_the_others(file: Path, field: str) -> None:
    """Verify reports the session and goes on: damage in another one is found too."""
    found = tampered(
        file,
        f"UPDATE sessions SET {field} = CASE session_id WHEN 'second' THEN 'no JSON' END, "
        "turn_count = CASE session_id WHEN 'third' THEN 5 ELSE turn_count END",
    )
    assert any("session 'second': cannot be read" in each for each in found)
    assert any("session 'third': has 1 turns but counts 5" in each for each in found)


def test_users_who_cannot_be_listed_are_damage(file: Path) -> None:
    """Where the list of users is unreadable, verify says so instead of failing."""
    found = tampered(file, "UPDATE owners SET user_id = CAST(x'ff' AS TEXT)")
    assert any("users cannot be listed" in each for each in found)
