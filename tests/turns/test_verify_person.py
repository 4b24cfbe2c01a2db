"""Verifying what is known: a fact quotes what was said, a summary is of turns that were there, and damage is named."""

import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.records.derived import Fact, FactChange, Source
from ricordo.records.service import Damage
from ricordo.stores.memory import MemoryStore
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.contract.base import engine
from ricordo.testing.contract.people import learn
from ricordo.testing.fakes import a_fact, a_flag, a_summary, a_turn, an_owner
from ricordo.testing.strategies import texts
from ricordo.turns.verify import verify

SAID = "I moved to Pisa last year, and I like it there."


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with two facts, one superseded by the other, a summary and a flag."""
    store = SqliteStore(tmp_path / "memory.db")
    owner = an_owner()
    turn = store.turns.append(a_turn(owner, SAID))
    learn(store, owner, a_fact("Rome", turn, superseded_by="Pisa"), a_fact("Pisa", turn), lesson=1)
    assert store.people.put_summary(owner, a_summary(id="summary"))
    assert store.people.put_flag(owner, a_flag())
    store.close()
    return tmp_path / "memory.db"


@pytest.fixture
def found(path: Path) -> Callable[[], list[str]]:
    """What verify says of the file."""

    def look() -> list[str]:
        store = SqliteStore(path)
        try:
            with sqlite3.connect(path) as file:
                (tenant_id,) = file.execute("SELECT tenant_id FROM owners").fetchone()
            return [f"{each.where}: {each.problem}" for each in verify(engine(store), tenant_id).damages]
        finally:
            store.close()

    assert look() == []
    return look


TAMPERING = {
    "a quote was changed": (
        """UPDATE facts SET sources = replace(sources, 'Pisa', 'Lucca') WHERE fact_id = 'Rome'""",
        "quotes words that are not in message",
    ),
    "a source names no message": (
        "UPDATE facts SET sources = replace(sources, ':query', ':7') WHERE fact_id = 'Rome'",
        "which does not exist",
    ),
    "a source names another session": (
        """UPDATE facts SET sources = replace(sources, '"lesson"', '"other"') WHERE fact_id = 'Rome'""",
        "which does not exist",
    ),
    "a successor is gone": ("DELETE FROM facts WHERE fact_id = 'Pisa'", "superseded by fact 'Pisa'"),
    "a fact cannot be read": ("UPDATE facts SET sources = '[1]'", "cannot be read"),
    "a summary reaches too far": ("UPDATE summaries SET last_turn = 9", "summary 'summary' covers turns 1 to 9"),
    "a summary cannot be read": ("UPDATE summaries SET created_at = 9223372036854775807", "summaries cannot be read"),
    "a summary is longer than it says": (
        "UPDATE summaries SET counter = 'approximate-4', tokens = 4",
        "summary 'summary' is stored with 4 tokens, but has 6",
    ),
    "more was learned than said": ("UPDATE sessions SET learned_through = 2", "learned up to turn 2"),
}


@pytest.mark.parametrize("change", TAMPERING.values(), ids=TAMPERING.keys())
def test_tampering_is_found(path: Path, found: Callable[[], list[str]], change: tuple[str, str]) -> None:
    """Whatever is changed in facts or summaries is reported, by user, and by fact or session."""
    statement, words = change
    with sqlite3.connect(path) as file:
        file.execute(statement)
    (damage,) = found()
    assert words in damage
    assert damage.startswith("user 'anna'")


@given(said=texts(), quote=texts(), cut=st.tuples(st.integers(0, 99), st.integers(0, 99)))
def test_a_quote_is_sound_exactly_if_it_was_said(said: str, quote: str, cut: tuple[int, int]) -> None:
    """Any part of a message may be quoted; words that are not in it may not."""
    store, owner = MemoryStore(), an_owner()
    turn = store.turns.append(a_turn(owner, said))
    for words in (quote, said[min(cut) : max(cut)]):
        fact = a_fact("a fact", sources=(Source(f"{turn.id}:query", "lesson", words),))
        learn(store, owner, fact)
        assert verify(engine(store), owner.tenant_id).ok == (words in said)


def test_a_fact_outlives_the_turn_that_it_quotes() -> None:
    """A source whose turn has expired proves nothing and is no damage."""
    store, owner = MemoryStore(), an_owner()
    turn = store.turns.append(a_turn(owner, SAID))
    fact = a_fact("Pisa", turn)
    learn(store, owner, replace(fact, sources=(replace(fact.sources[0], quote="never said"),)))
    assert not verify(engine(store), owner.tenant_id).ok
    store.turns.delete(owner, "lesson", [1])
    assert verify(engine(store), owner.tenant_id).ok


def test_facts_are_checked_for_agents_without_a_session() -> None:
    """Who has facts and no session is looked at as well."""
    store, owner = MemoryStore(), an_owner()
    facts: tuple[Fact, ...] = (a_fact("Pisa", agent_id="coach", superseded_by="nothing"),)
    assert store.people.put_facts(owner, "coach", FactChange(0, facts))
    (damage,) = verify(engine(store), owner.tenant_id).damages
    assert damage == Damage(
        "user 'anna', agent 'coach', fact 'Pisa'", "was superseded by fact 'nothing', which does not exist"
    )
