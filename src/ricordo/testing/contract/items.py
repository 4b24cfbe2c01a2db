"""What is asked of items: bytes by collection, place and key, which go with their owner, session and turn."""

from dataclasses import replace
from datetime import timedelta
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import StoreError
from ricordo.records.service import StoredItem
from ricordo.records.turns import Owner
from ricordo.stores.items import PART_END
from ricordo.stores.protocols import Store
from ricordo.stores.service_protocols import ItemTransaction
from ricordo.testing.contract.base import Contract, at_once, backup_of, law
from ricordo.testing.fakes import START, a_turn, an_owner

MINUTE = timedelta(minutes=1)

names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), max_size=8)
places = st.lists(names, max_size=3).map(lambda parts: "".join(f"{part}{PART_END}" for part in parts))


def keep(store: Store, owner: Owner, *items: StoredItem, collection: str = "c") -> None:
    """Write items."""

    def put(transaction: ItemTransaction) -> None:
        for item in items:
            transaction.put(item)

    store.items.write(owner, collection, START, put)


def keys_of(store: Store, owner: Owner) -> list[str]:
    return [item.key for _, item in store.items.page(owner, START, limit=1_000)]


class ItemContract(Contract):
    """Reading, writing and deleting items."""

    @law
    @given(place=places, key=names, body=st.binary(max_size=50), tag=names, vector=st.none() | st.binary(max_size=9))
    def test_an_item_comes_back_complete(
        self, store: Store, place: str, key: str, body: bytes, tag: str, vector: bytes | None
    ) -> None:
        """With its times, of which those left out are now; the same by key, by prefix and by tag."""
        owner = an_owner()
        keep(store, owner, StoredItem(place, key, body, tag, vector, minutes=2.0))
        wanted = StoredItem(place, key, body, tag, vector, START, START, START + 2 * MINUTE, 2.0)

        def read(items: ItemTransaction) -> None:
            assert items.get(place, key) == wanted
            assert items.get_all([(place, key), (place, f"{key}+")]) == [wanted]
            assert items.find(place) == [wanted]
            assert items.find(tag=tag) == ([wanted] if tag else [])
            assert items.places() == [place]

        store.items.read(owner, "c", START, read)
        assert store.items.page(owner, START, limit=9) == [("c", wanted)]

    def test_an_item_is_replaced_or_stays(self, store: Store) -> None:
        """A replaced one keeps the moment of its creation; with `replace=False` the first stays as it is."""
        owner = an_owner()
        keep(store, owner, StoredItem("", "k", b"one"))
        later = START + MINUTE
        store.items.write(owner, "c", later, lambda items: items.put(StoredItem("", "k", b"two"), replace=False))
        store.items.write(owner, "c", later, lambda items: items.put(StoredItem("", "n", b"new"), replace=False))
        found = store.items.read(owner, "c", later, lambda items: items.find())
        assert [(item.key, item.body, item.updated_at) for item in found] == [
            ("k", b"one", START),
            ("n", b"new", later),
        ]
        store.items.write(owner, "c", later, lambda items: items.put(StoredItem("", "k", b"two")))
        item = store.items.read(owner, "c", later, lambda items: items.get("", "k"))
        assert item == StoredItem("", "k", b"two", created_at=START, updated_at=later)

    def test_items_are_found_by_the_beginning_of_their_place(self, store: Store) -> None:
        """By place and key; newest first by key alone; a key before another, one key, at most so many."""
        owner = an_owner()
        one, two = f"a{PART_END}one{PART_END}", f"a{PART_END}two{PART_END}"
        kept = [StoredItem(place, key, b"") for place in (one, two, f"b{PART_END}") for key in "xyz"]
        keep(store, owner, *kept)

        def found(**options: object) -> list[tuple[str, str]]:
            def search(items: ItemTransaction) -> list[StoredItem]:
                return items.find(f"a{PART_END}", **options)  # type: ignore[arg-type]

            return [(item.place, item.key) for item in store.items.read(owner, "c", START, search)]

        assert found() == [(place, key) for place in (one, two) for key in "xyz"]
        assert found(newest_first=True, limit=3) == [(one, "z"), (two, "z"), (one, "y")]
        assert found(before="z", newest_first=True, limit=1) == [(one, "y")]
        assert found(key="x") == [(one, "x"), (two, "x")]
        assert store.items.read(owner, "c", START, lambda items: items.places(f"a{PART_END}")) == [one, two]
        store.items.write(owner, "c", START, lambda items: items.remove_under(one))
        store.items.write(owner, "c", START, lambda items: items.remove(two, "y"))
        assert found() == [(two, "x"), (two, "z")]

    def test_collections_and_owners_are_apart(self, store: Store) -> None:
        """The same place and key in another collection or of another owner is another item."""
        anna = an_owner()
        bruno = Owner(anna.tenant_id, "bruno")
        keep(store, anna, StoredItem("", "k", b"anna"))
        keep(store, anna, StoredItem("", "k", b"other"), collection="d")
        keep(store, bruno, StoredItem("", "k", b"bruno"))
        for owner, collection, body in ((anna, "c", b"anna"), (anna, "d", b"other"), (bruno, "c", b"bruno")):
            item = store.items.read(owner, collection, START, lambda items: items.get("", "k"))
            assert item is not None
            assert item.body == body
        item = store.items.read(anna, "c", START, lambda items: items.on("d").get("", "k"))
        assert item is not None
        assert item.body == b"other"
        assert [name for name, _ in store.items.page(anna, START, limit=9)] == ["c", "d"]
        assert [name for name, _ in store.items.page(anna, START, after=("c", "", "k"), limit=9)] == ["d"]
        assert {owner.user_id for owner in store.owners(anna.tenant_id)} == {anna.user_id, "bruno"}

    def test_an_expired_item_is_not_returned(self, store: Store) -> None:
        """From its moment on, whatever the way to ask; a renewed one lives on; a sweep deletes it."""
        owner, later = an_owner(), START + 2 * MINUTE
        keep(store, owner, StoredItem("", "brief", b"", minutes=2.0), StoredItem("", "long", b"", minutes=2.0))
        store.items.write(
            owner, "c", START + MINUTE, lambda items: items.renew(StoredItem("", "long", b"", minutes=2.0))
        )
        assert store.items.read(owner, "c", later, lambda items: items.get("", "brief")) is None
        assert [item.key for item in store.items.read(owner, "c", later, lambda items: items.find())] == ["long"]
        assert [item.key for _, item in store.items.page(owner, later, limit=9)] == ["long"]
        assert store.items.sweep(owner, later) == 1
        assert store.items.sweep(owner, later) == 0
        assert keys_of(store, owner) == ["long"]

    def test_a_transaction_is_written_whole_or_not_at_all(self, store: Store) -> None:
        """A failure undoes what it has put and removed."""
        owner = an_owner()
        keep(store, owner, StoredItem("", "old", b""))

        def fail(items: ItemTransaction) -> None:
            items.put(StoredItem("", "new", b""))
            items.remove("", "old")
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            store.items.write(owner, "c", START, fail)
        assert keys_of(store, owner) == ["old"]

    def test_a_read_sees_one_snapshot(self, store: Store) -> None:
        """What is written during a read is seen by the next one."""
        owner = an_owner()
        keep(store, owner, StoredItem("", "k", b"old"))

        def look(items: ItemTransaction) -> list[StoredItem | None]:
            before = items.get("", "k")
            keep(store, owner, StoredItem("", "k", b"new"))
            return [before, items.get("", "k")]

        found = store.items.read(owner, "c", START, look)
        assert [item.body for item in found if item] == [b"old", b"old"]
        after = store.items.read(owner, "c", START, lambda items: items.get("", "k"))
        assert after is not None
        assert after.body == b"new"

    def test_serialized_writers_lose_nothing(self, store: Store) -> None:
        """What a writer has read holds until it has written: a counter counts every one of them."""
        owner, writers = an_owner(), 8

        def count(items: ItemTransaction) -> None:
            items.serialize()
            stored = items.get("", "count")
            items.put(StoredItem("", "count", str(int(stored.body if stored else b"0") + 1).encode()))

        at_once([lambda: store.items.write(owner, "c", START, count)] * writers)
        counted = store.items.read(owner, "c", START, lambda items: items.get("", "count"))
        assert counted is not None
        assert int(counted.body) == writers

    def test_exclusive_work_does_not_overlap(self, store: Store) -> None:
        """One after the other, with writes to other parts in between; a failure lets the next one in."""
        owner = an_owner()
        inside: list[int] = []

        def work(items: ItemTransaction) -> int:
            items.get("", "")
            inside.append(0)
            store.turns.append(a_turn(owner))
            sleep(0.002)
            assert len(inside) == 1
            return inside.pop()

        def fail(items: ItemTransaction) -> None:
            raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            store.items.exclusive(owner, "c", START, fail)
        at_once([lambda: store.items.exclusive(owner, "c", START, work)] * 4)
        assert len(store.turns.page(owner, "lesson")) == 4

    def test_a_probe_tells_whether_a_session_was_written(self, store: Store) -> None:
        """Revision and newest turn of the session, and which of the keys are at the place, expired ones aside."""
        owner = an_owner()
        keep(store, owner, StoredItem("p", "a", b""), StoredItem("q", "b", b""), StoredItem("p", "e", b"", minutes=0.0))

        def probe(*keys: str) -> tuple[tuple[int, str] | None, set[str]]:
            return store.items.read(owner, "c", START, lambda items: items.probe("lesson", "p", keys))

        assert probe("a", "b", "e") == (None, {"a"})
        turn = store.turns.append(a_turn(owner))
        session = store.sessions.get(owner, "lesson")
        assert session is not None
        assert probe() == ((session.revision, turn.id), set())
        store.sessions.clear(owner, "lesson")
        assert probe("a") == ((session.revision + 1, ""), {"a"})


class AttachedItemContract(Contract):
    """Items that name a session or a turn."""

    @pytest.mark.parametrize("how", ["delete", "idle", "erase"])
    def test_an_item_goes_with_its_session(self, store: Store, how: str) -> None:
        """Deleted, expired or erased; items of another session or of none stay, but for an erased owner."""
        owner = an_owner()
        for name, day in (("one", 0), ("two", 9)):
            store.turns.append(a_turn(owner, session_id=name, created_at=START + timedelta(days=day)))
        keep(
            store,
            owner,
            StoredItem("", "of one", b"", session_id="one"),
            StoredItem("", "of two", b"", session_id="two"),
            StoredItem("", "of none", b""),
        )
        if how == "delete":
            store.sessions.delete(owner, "one")
        elif how == "idle":
            store.sessions.expire(owner, turns_before=None, idle_before=START + timedelta(days=5), batch=9)
        else:
            assert store.erase(owner)["items"] == 3
        assert keys_of(store, owner) == ([] if how == "erase" else ["of none", "of two"])

    @pytest.mark.parametrize("how", ["delete", "clear", "expire"])
    def test_an_item_goes_with_its_turn(self, store: Store, how: str) -> None:
        """However the turn is deleted; one that was attached later too."""
        owner = an_owner()
        turns = [store.turns.append(a_turn(owner, created_at=START + timedelta(days=day))) for day in (0, 9)]
        keep(store, owner, *(StoredItem("", f"turn {turn.turn_number}", b"", turn_id=turn.id) for turn in turns))
        keep(store, owner, StoredItem("", "later", b""))
        store.items.write(owner, "c", START, lambda items: items.attach("", "later", turns[0].id))
        store.items.write(owner, "c", START, lambda items: items.attach("", "unknown", turns[0].id))
        if how == "delete":
            store.turns.delete(owner, "lesson", [1])
        elif how == "clear":
            store.sessions.clear(owner, "lesson")
        else:
            store.sessions.expire(owner, turns_before=START + timedelta(days=5), idle_before=None, batch=9)
        assert keys_of(store, owner) == ([] if how == "clear" else ["turn 2"])

    def test_an_item_of_what_does_not_exist_is_refused(self, store: Store) -> None:
        """An unknown session or turn, or one of another user."""
        anna = an_owner()
        turn = store.turns.append(a_turn(Owner(anna.tenant_id, "bruno")))
        item = StoredItem("", "k", b"")
        for named in (
            replace(item, session_id="nowhere"),
            replace(item, session_id="lesson"),
            replace(item, turn_id=turn.id),
        ):
            with pytest.raises(StoreError):
                keep(store, anna, named)
        assert keys_of(store, anna) == []

    def test_a_backup_holds_items(self, store: Store, tmp_path_factory: pytest.TempPathFactory) -> None:
        """With their collections, times, and what they name."""
        owner = an_owner()
        turn = store.turns.append(a_turn(owner))
        keep(store, owner, *(StoredItem("", f"{n:03}", b"\x00", "t", b"v", minutes=5.0) for n in range(3)))
        keep(store, owner, StoredItem("", "k", b"", session_id="lesson", turn_id=turn.id), collection="d")
        with backup_of(store, tmp_path_factory.mktemp("backup")) as copy:
            assert copy.items.page(owner, START, limit=9) == store.items.page(owner, START, limit=9)
            copy.turns.delete(owner, "lesson", [1])
            assert keys_of(copy, owner) == ["000", "001", "002"]
