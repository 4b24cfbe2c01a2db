"""The shelf beside a memory, in every place that a memory can be in: what goes with what, one view, and taken along."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo import Memory
from ricordo.errors import StoreError, ValidationError
from ricordo.integrations.carrying import export_items, import_items
from ricordo.integrations.shelf import Desk, Item, Shelf, path
from ricordo.records import Owner
from ricordo.settings import Retention
from ricordo.stores.memory import MemoryStore

ADA = Owner("default", "ada")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """A memory in each of the places."""
    place = "memory:" if request.param == "memory" else str(tmp_path / "chat.db")
    if request.param == "postgres":
        place = str(request.getfixturevalue("own_postgres_url"))
    with ricordo.open(place) as opened:
        yield opened


def everything(memory: Memory) -> list[str]:
    """The keys of all that Ada has on her shelves."""
    found = Shelf.beside(memory).read(ADA, "", lambda desk: desk.every(limit=1_000))
    return [item.key for _, item in found]


def keep(memory: Memory, *items: Item) -> None:
    """Put items for Ada."""

    def put(desk: Desk) -> None:
        for item in items:
            desk.put(item)

    Shelf.beside(memory).write(ADA, "s", put)


def test_what_hangs_on_a_session_goes_with_it(memory: Memory) -> None:
    """Deleting a session takes what hangs on it, and leaves what hangs on another or on none."""
    for name in ("one", "two"):
        memory.session(name, user_id="ada").add_turn("Ciao", "Ciao a te")
    keep(memory, Item("", "of one", b"x", session_id="one"), Item("", "of two", b"x", session_id="two"),
         Item("", "of none", b"x"))  # fmt: skip
    memory.delete_session("one", user_id="ada")
    assert everything(memory) == ["of none", "of two"]
    memory.erase("ada")
    assert everything(memory) == []


@pytest.mark.parametrize("memory", ["sqlite", "postgres"], indirect=True)
def test_what_hangs_on_a_turn_goes_with_it(memory: Memory) -> None:
    """However a turn is removed, by number, by age or with all its session's words, what hangs on it goes too."""
    now = memory.clock.now()
    for name in ("one", "two", "three"):
        session = memory.session(name, user_id="ada")
        for number, days in enumerate((9, 0)):
            turn = session.add_turn(f"Ciao {number}", "Ciao a te", created_at=now - timedelta(days=days))
            keep(memory, Item("", f"{name} {number}", b"x", session_id=name, turn_id=turn.id))
    memory.store.delete_turns(ADA, "one", [1])
    assert everything(memory) == ["one 1", "three 0", "three 1", "two 0", "two 1"]
    memory.session("two", user_id="ada").clear()
    assert everything(memory) == ["one 1", "three 0", "three 1"]
    memory.cleanup(retention=Retention(turn_ttl=timedelta(days=5)))
    assert everything(memory) == ["one 1", "three 1"]


@pytest.mark.parametrize("memory", ["sqlite", "postgres"], indirect=True)
def test_nothing_hangs_on_what_is_not_there(memory: Memory) -> None:
    """An item for a session that does not exist, or that another user has, is refused."""
    memory.session("theirs", user_id="bob").add_turn("Ciao", "Ciao a te")
    for name in ("nowhere", "theirs"):
        with pytest.raises(StoreError):
            keep(memory, Item("", "k", b"x", session_id=name))
    assert everything(memory) == []


@pytest.mark.parametrize("memory", ["sqlite", "postgres"], indirect=True)
def test_a_read_sees_one_moment(memory: Memory) -> None:
    """What is written while somebody reads is not seen before that read is over."""
    keep(memory, Item("", "k", b"old"))

    def look(desk: Desk) -> tuple[bytes | None, bytes | None]:
        first = desk.body("", "k")
        keep(memory, Item("", "k", b"new"))
        return first, desk.body("", "k")

    assert Shelf.beside(memory).read(ADA, "s", look) == (b"old", b"old")
    assert Shelf.beside(memory).read(ADA, "s", lambda desk: desk.body("", "k")) == b"new"


def test_what_has_a_tag_is_found_by_it(tmp_path: Path) -> None:
    """To find an item by its tag, the others at its place are not read."""
    with ricordo.open(tmp_path / "chat.db") as memory:
        keep(memory, *(Item(path("events"), f"{n:03}", b"x", f"tag {n}") for n in range(50)))
        asked: list[str] = []

        def spy(desk: Desk) -> list[tuple[str, bytes]]:
            execute = desk._execute
            desk._execute = lambda statement, values: asked.append(statement) or execute(statement, values)
            assert [item.key for item in desk.under(path("events"), tag="tag 7")] == ["007"]
            return desk.tagged(path("events"), "tag 7")

        assert Shelf.beside(memory).read(ADA, "s", spy) == [("007", b"x")]
    with closing(sqlite3.connect(tmp_path / "chat.db")) as plain:
        for statement in asked:
            names = dict.fromkeys(("owner", "shelf", "prefix", "end", "place", "tag", "now"), "")
            text = f"EXPLAIN QUERY PLAN {statement.replace('{items}', 'ricordo_items')}"
            assert "tag=?" in str(plain.execute(text, names).fetchall())


def test_a_shelf_is_taken_along(memory: Memory, tmp_path: Path) -> None:
    """Items exported beside the sessions are the same in another memory, times and all, and twice is once."""
    turn = memory.session("one", user_id="ada").add_turn("Ciao", "Ciao a te")
    keep(memory, *(Item(path("a", str(n)), "k", bytes([n]), "t", b"v") for n in range(250)))
    keep(
        memory, Item("", "held", b"\x00\xff", session_id="one", turn_id=turn.id), Item("", "mortal", b"x", minutes=5.0)
    )
    sessions, items = list(memory.export("ada")), list(export_items(memory, "ada"))
    assert len(items) == 252
    with ricordo.open(tmp_path / "other.db") as other:
        assert import_items(other, items, user_id="eve") == 251  # the one whose session is not there is left out
        other.import_documents(sessions, user_id="ada")
        assert import_items(other, items, user_id="ada") == 252
        assert import_items(other, items, user_id="ada") == 0
        assert list(export_items(other, "ada")) == items
        other.session("one", user_id="ada").clear()
        assert "held" not in everything(other)


@given(st.dictionaries(st.sampled_from(["shelf", "place", "key", "tag", "body", "vector", "minutes", "created_at",
                                        "expires_at", "session_id", "turn_id"]),
                       st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just([])))  # fmt: skip
def test_a_forged_item_is_refused_by_name(changed: dict[str, object]) -> None:
    """Whatever stands in a document, it is kept or refused as invalid, never a crash."""
    with Memory(MemoryStore()) as memory:
        keep(memory, Item("", "k", b"x"))
        (document,) = export_items(memory, "ada")
        refused = None
        try:
            assert import_items(memory, [{**document, **changed}], user_id="bob") in (0, 1)
        except ValidationError as error:
            refused = error.field
        assert refused is None or refused in changed
