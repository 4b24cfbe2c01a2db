"""The shelf beside a memory, in every place that a memory can be in: what goes with what, one view, and taken along."""

import os
import select
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path
from time import sleep

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo import Memory
from ricordo.contrib.carrying import export_items, import_items
from ricordo.contrib.shelf import Desk, Shelf, StoredItem, path
from ricordo.errors import StoreError, ValidationError
from ricordo.records.turns import Owner, turn_id_of
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


def keep(memory: Memory, *items: StoredItem) -> None:
    """Put items for Ada."""

    def put(desk: Desk) -> None:
        for item in items:
            desk.put(item)

    Shelf.beside(memory).write(ADA, "s", put)


def test_what_hangs_on_a_session_goes_with_it(memory: Memory) -> None:
    """Deleting a session takes what hangs on it, and leaves what hangs on another or on none."""
    for name in ("one", "two"):
        memory.session(name, user_id="ada").add_turn("Ciao", "Ciao a te")
    keep(memory, StoredItem("", "of one", b"x", session_id="one"), StoredItem("", "of two", b"x", session_id="two"),
         StoredItem("", "of none", b"x"))  # fmt: skip
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
            keep(memory, StoredItem("", f"{name} {number}", b"x", session_id=name, turn_id=turn.id))
    memory.store.turns.delete(ADA, "one", [1])
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
            keep(memory, StoredItem("", "k", b"x", session_id=name))
    assert everything(memory) == []


@pytest.mark.parametrize("memory", ["sqlite", "postgres"], indirect=True)
def test_a_read_sees_one_moment(memory: Memory) -> None:
    """What is written while somebody reads is not seen before that read is over."""
    keep(memory, StoredItem("", "k", b"old"))

    def look(desk: Desk) -> tuple[bytes | None, bytes | None]:
        first = desk.body("", "k")
        keep(memory, StoredItem("", "k", b"new"))
        return first, desk.body("", "k")

    assert Shelf.beside(memory).read(ADA, "s", look) == (b"old", b"old")
    assert Shelf.beside(memory).read(ADA, "s", lambda desk: desk.body("", "k")) == b"new"


def test_what_has_a_tag_is_found_by_it(tmp_path: Path) -> None:
    """To find an item by its tag, the others at its place are not read."""
    with ricordo.open(tmp_path / "chat.db") as memory:
        keep(memory, *(StoredItem(path("events"), f"{n:03}", b"x", f"tag {n}") for n in range(50)))
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
    keep(memory, *(StoredItem(path("a", str(n)), "k", bytes([n]), "t", b"v") for n in range(250)))
    keep(
        memory,
        StoredItem("", "held", b"\x00\xff", session_id="one", turn_id=turn.id),
        StoredItem("", "mortal", b"x", minutes=5.0),
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


@pytest.mark.parametrize(
    ("field", "value"), [("minutes", float("nan")), ("minutes", 1e300), ("place", "\ud800"), ("key", "\udfff")]
)
def test_an_item_that_no_database_takes_is_refused_by_its_field(field: str, value: object) -> None:
    """Numbers beyond time and what is no character are refused by name, in every kind of database alike."""
    sound = {"format": "ricordo-item", "version": 1, "shelf": "s", "place": "p", "key": "k", "tag": "", "body": "aGk="}
    with Memory(MemoryStore()) as memory, pytest.raises(ValidationError, match=field):
        import_items(memory, [{**sound, field: value}], user_id="ada")


@given(st.dictionaries(st.sampled_from(["shelf", "place", "key", "tag", "body", "vector", "minutes", "created_at",
                                        "expires_at", "session_id", "turn_id"]),
                       st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.just([])))  # fmt: skip
def test_a_forged_item_is_refused_by_name(changed: dict[str, object]) -> None:
    """Whatever stands in a document, it is kept or refused as invalid, never a crash."""
    with Memory(MemoryStore()) as memory:
        keep(memory, StoredItem("", "k", b"x"))
        (document,) = export_items(memory, "ada")
        refused = None
        try:
            assert import_items(memory, [{**document, **changed}], user_id="bob") in (0, 1)
        except ValidationError as error:
            refused = error.field
        assert refused is None or refused in changed


def test_a_glance_tells_whether_anybody_wrote(memory: Memory) -> None:
    """The standing of a session moves by one with each message, names its newest turn, and says when it was emptied."""
    shelf, session = Shelf.beside(memory), memory.session("s", user_id="ada")

    def stands() -> tuple[int, str] | None:
        return shelf.look(ADA, "x", lambda desk: desk.glance("s", "", ()))[0]

    assert stands() is None
    messages = [session.add_message(role, "parole") for role in ("user", "assistant", "user")]
    if isinstance(memory.store, MemoryStore):
        assert stands() is None  # its sessions are not in the shelf's database
        return
    before = stands()
    assert before is not None
    assert before[1] == turn_id_of(messages[-1].id)
    for role in ("tool", "assistant", "user"):
        newest = session.add_message(role, "parole", tool_call_id="c" if role == "tool" else None)
        before = before[0] + 1, turn_id_of(newest.id)
        assert stands() == before
    memory.session("another", user_id="ada").add_message("user", "parole")
    memory.session("s", user_id="bob").add_message("user", "parole")
    assert stands() == before
    session.clear()
    assert stands() == (before[0] + 1, "")


def test_a_glance_finds_keys_of_its_own_place(memory: Memory) -> None:
    """Keys are found that lie at the place and are not past their time; neither another place's nor another user's."""
    shelf, now = Shelf.beside(memory), memory.clock.now()
    kept = [
        StoredItem("p", "a", b""),
        StoredItem("p", "b", b""),
        StoredItem("q", "c", b""),
        StoredItem("p", "d", b"", expires_at=now),
    ]
    shelf.write(ADA, "x", lambda desk: [desk.put(item) for item in kept])
    shelf.write(Owner("default", "bob"), "x", lambda desk: desk.put(StoredItem("p", "e", b"")))
    assert shelf.look(ADA, "x", lambda desk: desk.glance("s", "p", list("acdef")))[1] == {"a"}
    assert shelf.look(ADA, "y", lambda desk: desk.glance("s", "p", list("abc")))[1] == set()


def test_work_that_is_done_alone_meets_nobody(url: str) -> None:
    """Work of two openings of one memory never overlaps, from its first question on, and what fails lets others in."""
    inside: list[int] = []

    def work(desk: Desk) -> int:
        desk.body("", "")
        inside.append(len(inside))
        sleep(0.002)
        assert inside.pop() == 0
        return 1

    with ricordo.open(url) as one, ricordo.open(url) as other, ThreadPoolExecutor(4) as threads:
        shelves = [Shelf.beside(memory) for memory in (one, one, other, other)] * 5
        assert sum(threads.map(lambda shelf: shelf.alone(ADA, "x", work), shelves)) == len(shelves)
        with pytest.raises(ZeroDivisionError):
            shelves[0].alone(ADA, "x", lambda desk: 1 / 0)
        assert shelves[2].alone(ADA, "x", work) == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_child_waits_for_its_parent(tmp_path: Path) -> None:
    """After a fork, parent and child do not work at the same time, although the file was open before."""
    with ricordo.open(tmp_path / "chat.db") as memory:
        shelf = Shelf.beside(memory)
        shelf.alone(ADA, "x", lambda _: None)
        ours, theirs = os.pipe(), os.pipe()
        child = os.fork()
        if child == 0:
            try:
                os.read(ours[0], 1)
                shelf.alone(ADA, "x", lambda _: os.write(theirs[1], b"c"))
            finally:
                os._exit(0)

        def work(_: Desk) -> list[object]:
            os.write(ours[1], b"p")
            return select.select([theirs[0]], [], [], 0.3)[0]

        assert shelf.alone(ADA, "x", work) == []
        assert os.read(theirs[0], 1) == b"c"
        os.waitpid(child, 0)
        for end in (*ours, *theirs):
            os.close(end)
