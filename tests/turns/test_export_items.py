"""The items of a user are exported beside the sessions, and imported where those are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo import Memory
from ricordo.records.service import StoredItem
from ricordo.records.turns import Owner
from ricordo.stores.items import PART_END
from ricordo.stores.memory import MemoryStore
from ricordo.stores.service_protocols import ItemTransaction

ADA = Owner("default", "ada")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """A memory over each kind of store."""
    place = "memory:" if request.param == "memory" else str(tmp_path / "chat.db")
    if request.param == "postgres":
        place = str(request.getfixturevalue("own_postgres_url"))
    with ricordo.open(place) as opened:
        yield opened


def keep(memory: Memory, *items: StoredItem) -> None:
    """Write items for Ada."""

    def put(transaction: ItemTransaction) -> None:
        for item in items:
            transaction.put(item)

    memory.store.items.write(ADA, "s", memory.clock.now(), put)


def items_of(memory: Memory) -> list[dict[str, object]]:
    """The documents of Ada's items."""
    return [document for document in memory.export("ada") if "session" not in document]


def test_items_are_exported_with_the_sessions(memory: Memory, tmp_path: Path) -> None:
    """Imported elsewhere they are the same, times included; twice is once; without their session they are refused."""
    turn = memory.session("one", user_id="ada").add_turn("Ciao", "Ciao a te")
    keep(memory, *(StoredItem(f"a{PART_END}{n}{PART_END}", "k", bytes([n]), "t", b"v") for n in range(250)))
    keep(
        memory,
        StoredItem("", "held", b"\x00\xff", session_id="one", turn_id=turn.id),
        StoredItem("", "mortal", b"x", minutes=5.0),
    )
    documents, items = list(memory.export("ada")), items_of(memory)
    assert len(items) == 252
    with ricordo.open(tmp_path / "other.db") as other:
        alone = other.import_documents(items, user_id="eve")
        assert (alone.items_added, len(alone.errors)) == (251, 1)
        assert "session_id" in alone.errors[0]
        assert other.import_documents(documents).items_added == 252
        again = other.import_documents(documents)
        assert (again.items_added, again.errors) == (0, ())
        assert items_of(other) == items
        other.session("one", user_id="ada").clear()
        assert "held" not in [document["key"] for document in items_of(other)]


@pytest.mark.parametrize(
    ("field", "value"), [("minutes", float("nan")), ("minutes", 1e300), ("place", "\ud800"), ("key", "\udfff")]
)
def test_an_item_that_no_database_takes_is_refused_by_its_field(field: str, value: object) -> None:
    """Numbers beyond time and what is no character are refused by name, in every kind of database alike."""
    sound = {"format": "ricordo-item", "version": 1, "shelf": "s", "place": "p", "key": "k", "tag": "", "body": "aGk="}
    with Memory(MemoryStore()) as memory:
        (error,) = memory.import_documents([{**sound, field: value}], user_id="ada").errors
        assert field in error


@given(st.dictionaries(st.sampled_from(["shelf", "place", "key", "tag", "body", "vector", "minutes", "created_at",
                                        "expires_at", "session_id", "turn_id"]),
                       st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just([])))  # fmt: skip
def test_a_forged_item_is_refused_by_name(changed: dict[str, object]) -> None:
    """Whatever a document holds, it is imported or refused as invalid, never a crash."""
    with Memory(MemoryStore()) as memory:
        keep(memory, StoredItem("", "k", b"x"))
        (document,) = memory.export("ada")
        result = memory.import_documents([{**document, **changed}], user_id="bob")
        refused = [error.removeprefix("document 1: ").split(":")[0] for error in result.errors]
        assert not refused or refused[0] in changed
