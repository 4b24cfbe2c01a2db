"""Turns of one moment, as imports by the day bring them: the later turn is the newer word, on every store."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.stores.memory import MemoryStore
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import START, FakeClock

PLACES = ("Roma", "Milano", "Torino", "Napoli", "Genova", "Pisa", "Bari", "Lecce")
STUDENT = {"user_id": "anna", "agent_id": "euclide"}


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """A memory on each of the stores; its clock stands still."""
    if request.param == "memory":
        store = MemoryStore()
    elif request.param == "sqlite":
        store = SqliteStore(tmp_path / "people.db")
    else:
        store = PostgresStore(request.getfixturevalue("postgres_url"))
    made = Memory(store, settings_from({"embedder": "light", "organise": "off"}, {}), clock=FakeClock())
    yield made
    made.close()


def homes(memory: Memory, **options: bool) -> list[str]:
    """Where the user lives, by what is known."""
    return sorted(fact.text for fact in memory.facts(**STUDENT, **options) if fact.about == "place:home")


def move(memory: Memory, *places: str, times: int = 1) -> None:
    """Say that one lives in one place after the other, all at one moment, with some talk after each."""
    session = memory.session("day", **STUDENT)
    for place in places:
        session.add_turn(f"Adesso vivo a {place}.", "Bene.", created_at=START)
        for _ in range(times - 1):
            session.add_turn("Va bene, grazie.", "Prego.", created_at=START)
    assert memory.settle(30)


@pytest.mark.parametrize("times", [1, 3])
def test_the_last_word_of_a_day_is_what_is_known(memory: Memory, times: int) -> None:
    """Who moves several times within one moment lives where they moved last, learned in one pass or in several."""
    move(memory, *PLACES, times=times)
    assert homes(memory) == ["Vive a Lecce"]
    assert len(homes(memory, superseded=True)) == len(PLACES)


def test_a_turn_that_comes_later_supersedes_within_its_moment(memory: Memory) -> None:
    """What was learned before is older than what is said next, though the clock stood still."""
    for place in PLACES:
        move(memory, place)
        assert homes(memory) == [f"Vive a {place}"]


def test_a_forgotten_word_of_a_day_stays_forgotten(memory: Memory) -> None:
    """Forgetting the last word brings back none of those before it, and the next word is known."""
    move(memory, *PLACES[:4])
    (fact,) = memory.facts(**STUDENT)
    memory.forget_fact(fact.id, **STUDENT)
    memory.session("older", **STUDENT).add_turn("Vivo a Udine.", "Bene.", created_at=START.replace(year=2020))
    assert memory.settle(30)
    assert homes(memory) == []
    move(memory, PLACES[3])
    assert homes(memory) == []
    move(memory, PLACES[4])
    assert homes(memory) == [f"Vive a {PLACES[4]}"]
