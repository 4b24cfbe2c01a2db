"""LangGraph on Ricordo, with LangGraph itself: its published conformance tests, the store beside its own, and more."""

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from operator import add
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest

pytest.importorskip("langgraph.checkpoint.conformance")

from hypothesis import given
from hypothesis import strategies as st
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import InvalidNamespaceError
from langgraph.store.memory import InMemoryStore
from langgraph.types import Command, interrupt

import ricordo
from ricordo import Memory
from ricordo.contrib.langgraph_checkpoint import CHANNELS, CHECKPOINTS, WRITES, RicordoSaver
from ricordo.contrib.langgraph_store import RicordoStore
from ricordo.contrib.shared import ItemCollection, parts, path
from ricordo.errors import ValidationError
from ricordo.records.service import StoredItem
from ricordo.records.turns import Owner
from ricordo.stores.memory import MemoryStore
from ricordo.stores.service_protocols import ItemTransaction
from ricordo.testing.fakes import FakeClock

pytest_plugins = ("ricordo.testing.postgres",)

ADA, BOB = Owner("default", "ada"), Owner("default", "bob")


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each of the places where a memory can be."""
    if request.param == "postgres":
        return str(request.getfixturevalue("own_postgres_url"))
    return "memory:" if request.param == "memory" else str(tmp_path / "chat.db")


@pytest.fixture
def memory(place: str) -> Iterator[Memory]:
    """A memory at that place."""
    with ricordo.open(place) as opened:
        yield opened


labels = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=4)
places = st.lists(labels, max_size=3).map(tuple)


@given(st.lists(st.tuples(places, labels), max_size=8), places)
def test_places_are_found_by_their_beginning(kept: list[tuple[tuple[str, ...], str]], prefix: tuple[str, ...]) -> None:
    """Exactly the items whose place begins with the given parts are found."""
    with Memory(MemoryStore()) as memory:
        collection = ItemCollection(memory, "s")

        def keep(items: ItemTransaction) -> None:
            for place, key in kept:
                items.put(StoredItem(path(*place), key, b"x"))

        collection.write(ADA, keep)
        found = {
            (parts(item.place), item.key) for item in collection.read(ADA, lambda items: items.find(path(*prefix)))
        }
        assert found == {(place, key) for place, key in kept if place[: len(prefix)] == prefix}
        assert collection.read(BOB, lambda items: items.find()) == []


def test_a_control_character_in_a_name_is_refused() -> None:
    """A name cannot pretend to be two."""
    with pytest.raises(ValidationError):
        path("a\x1fb")


@pytest.mark.parametrize("place", ["sqlite", "postgres"], indirect=True)
def test_erasing_a_user_erases_their_items(memory: Memory, place: str) -> None:
    """Items hang on their owner: erasing takes them along, byte by byte, and nobody else's."""
    collection = ItemCollection(memory, "s")
    for owner in (ADA, BOB):
        collection.write(owner, lambda items: items.put(StoredItem(path("a"), "k", b"peculiar-words")))
    assert memory.erase("ada").removed["items"] == 1
    assert collection.read(ADA, lambda items: items.find()) == []
    assert len(collection.read(BOB, lambda items: items.find())) == 1
    memory.erase("bob")
    if not place.startswith("postgres"):
        assert not any(b"peculiar-words" in each.read_bytes() for each in Path(place).parent.iterdir())


def test_a_copy_of_the_file_holds_the_items(tmp_path: Path) -> None:
    """A backup of a memory in a file takes the items along, and the memory verifies with them in it."""
    with ricordo.open(tmp_path / "chat.db") as memory:
        RicordoStore(memory, user_id="ada").put(("a",), "k", {"n": 1})
        assert memory.verify().ok
        memory.backup(tmp_path / "copy.db")
    with ricordo.open(tmp_path / "copy.db") as memory:
        assert RicordoStore(memory, user_id="ada").get(("a",), "k").value == {"n": 1}  # type: ignore[union-attr]


# The checkpointer


def test_the_checkpointer_conforms(place: str) -> None:
    """All 81 published tests pass, the extended ones too."""

    @checkpointer_test(name="Ricordo")
    async def ours() -> Any:
        with ricordo.open(place) as memory:
            yield RicordoSaver(memory, user_id="ada")

    report = asyncio.run(validate(ours))
    assert [failure for each in report.results.values() for failure in each.failures or ()] == []
    assert report.passed_all_base()
    assert report.passed_all()
    assert sum(each.tests_passed for each in report.results.values()) == 81


class State(TypedDict):
    """What the small graph below passes on."""

    said: Annotated[list[str], add]
    count: int


def _graph(saver: RicordoSaver, **options: Any) -> Any:
    def say(state: State) -> dict[str, Any]:
        return {"said": [f"step {state['count']}"], "count": state["count"] + 1}

    graph = StateGraph(State)
    graph.add_node("say", say)
    graph.add_edge(START, "say")
    graph.add_edge("say", END)
    return graph.compile(checkpointer=saver, **options)


def _config(thread: str = "t", **others: str) -> Any:
    return {"configurable": {"thread_id": thread, **others}}


def test_a_graph_goes_on_where_it_stopped(tmp_path: Path) -> None:
    """A thread is on disk: another process goes on with it, and its past can be looked at."""
    with ricordo.open(tmp_path / "chat.db") as memory:
        _graph(RicordoSaver(memory, user_id="ada")).invoke({"said": [], "count": 0}, _config())
    with ricordo.open(tmp_path / "chat.db") as memory:
        graph = _graph(RicordoSaver(memory, user_id="ada"))
        assert graph.invoke({"said": []}, _config())["said"] == ["step 0", "step 1"]
        past = list(graph.get_state_history(_config()))
        assert len(past) == 6
        assert past[3].values["said"] == ["step 0"]


def test_an_interrupt_is_answered_later(tmp_path: Path) -> None:
    """What waits for a person waits on disk."""

    def ask(state: State) -> dict[str, Any]:
        return {"said": [interrupt("Go on?")], "count": 1}

    def graph_on(memory: Memory) -> Any:
        graph = StateGraph(State)
        graph.add_node("ask", ask)
        graph.add_edge(START, "ask")
        return graph.compile(checkpointer=RicordoSaver(memory, user_id="ada"))

    with ricordo.open(tmp_path / "chat.db") as memory:
        graph_on(memory).invoke({"said": [], "count": 0}, _config())
    with ricordo.open(tmp_path / "chat.db") as memory:
        assert graph_on(memory).invoke(Command(resume="yes"), _config())["said"] == ["yes"]


def test_one_graph_serves_many_users() -> None:
    """The same thread id is another thread for another user; whoever is not named is refused."""
    with Memory(MemoryStore()) as memory:
        saver = RicordoSaver(memory, user_id=lambda config: config["configurable"]["user_id"])
        graph = _graph(saver)
        graph.invoke({"said": ["ada's"], "count": 0}, _config(user_id="ada"))
        assert graph.invoke({"said": [], "count": 5}, _config(user_id="bob"))["said"] == ["step 5"]
        assert len(list(graph.get_state_history(_config(user_id="ada")))) == 3
        with pytest.raises(ValidationError, match="does not name its user"):
            graph.invoke({"said": [], "count": 0}, _config())
        with pytest.raises(ValidationError, match="of\\(user_id\\)"):
            saver.delete_thread("t")
        saver.of("ada").delete_thread("t")
        assert list(graph.get_state_history(_config(user_id="ada"))) == []
        assert len(list(graph.get_state_history(_config(user_id="bob")))) == 3
        with pytest.raises(TypeError):
            RicordoSaver(memory)  # type: ignore[call-arg]


def _count(memory: Memory, owner: Owner = ADA) -> dict[str, int]:
    collections = {name: ItemCollection(memory, name) for name in (CHECKPOINTS, CHANNELS, WRITES)}
    return {name: len(each.read(owner, lambda items: items.find())) for name, each in collections.items()}


def test_a_thread_can_be_kept_short(memory: Memory) -> None:
    """With `keep` a thread that runs on and on takes no more room, and goes on as if it were whole."""
    saver = RicordoSaver(memory, user_id="ada", keep=2)
    graph = _graph(saver)
    graph.invoke({"said": [], "count": 0}, _config())
    sizes = []
    for _ in range(6):
        state = graph.invoke({"said": []}, _config())
        sizes.append(_count(memory))
    assert {size[CHECKPOINTS] for size in sizes} == {2}
    assert max(size[CHANNELS] for size in sizes) <= 8
    assert max(size[WRITES] for size in sizes) <= 6  # those of a task that is late go with the next checkpoint
    assert len(state["said"]) == 7


def test_pruning_takes_channels_and_writes_along(memory: Memory) -> None:
    """What no checkpoint names any more is gone; nothing is left of a thread that was deleted."""
    saver = RicordoSaver(memory, user_id="ada")
    graph = _graph(saver)
    for _ in range(4):
        graph.invoke({"said": [], "count": 1}, _config())
    before = graph.get_state(_config()).values
    many = _count(memory)
    saver.prune(["t"])
    few = _count(memory)
    assert few[CHECKPOINTS] == 1
    assert few[CHANNELS] < many[CHANNELS]
    assert few[WRITES] < many[WRITES]
    assert graph.get_state(_config()).values == before
    saver.prune(["t"], strategy="delete")
    assert _count(memory) == {CHECKPOINTS: 0, CHANNELS: 0, WRITES: 0}
    with pytest.raises(ValidationError):
        saver.prune(["t"], strategy="everything")


def _joined(state: list[str], writes: list[list[str]]) -> list[str]:
    return [*state, *(each for write in writes for each in write)]


class Sums(TypedDict):
    """A state whose one channel is stored as what was written, with the whole value now and then."""

    said: Annotated[list[str], DeltaChannel(_joined, snapshot_frequency=4)]


@pytest.mark.parametrize("rounds", range(1, 9))
def test_pruning_keeps_what_a_channel_is_rebuilt_from(rounds: int) -> None:
    """A channel that is held by its writes alone keeps its ancestors back to one that holds its value, and no more."""
    graph = StateGraph(Sums)
    graph.add_node("say", lambda state: {"said": [f"step {len(state['said'])}"]})
    graph.add_edge(START, "say")
    with Memory(MemoryStore()) as memory:
        saver = RicordoSaver(memory, user_id="ada")
        compiled = graph.compile(checkpointer=saver)
        for number in range(rounds):
            compiled.invoke({"said": [f"round {number}"]}, _config())
        before = compiled.get_state(_config()).values["said"]
        saver.prune(["t"])
        assert len(before) == 2 * rounds
        assert compiled.get_state(_config()).values["said"] == before
        assert len(list(saver.list(_config()))) <= 9
        assert len(compiled.invoke({"said": ["more"]}, _config())["said"]) == 2 * rounds + 2


def test_listing_pages_through_a_long_thread() -> None:
    """More checkpoints than a page holds come all, newest first, and a limit is a limit."""
    with Memory(MemoryStore()) as memory:
        saver = RicordoSaver(memory, user_id="ada")
        for number in range(250):
            checkpoint = empty_checkpoint()
            checkpoint["id"] = f"{number:04}"
            for namespace in ("", "child"):
                saver.put(_config(checkpoint_ns=namespace), checkpoint, {"step": number}, {})
        everything = [each.checkpoint["id"] for each in saver.list(_config())]
        assert everything == [f"{number:04}" for number in reversed(range(250)) for _ in range(2)]
        assert len(list(saver.list(_config(checkpoint_ns=""), limit=130))) == 130
        assert [each.metadata["step"] for each in saver.list(None, filter={"step": 7})] == [7, 7]
        before = {"configurable": {"checkpoint_id": "0003"}}
        assert len(list(saver.list(_config(checkpoint_ns="child"), before=before))) == 3  # type: ignore[arg-type]


# The store

keys = st.sampled_from(["a", "b", "c"])
namespaces = st.lists(st.sampled_from(["x", "y", "x y", "é"]), min_size=1, max_size=3).map(tuple)
values = st.one_of(st.none(), st.fixed_dictionaries({"n": st.integers(0, 4), "text": st.sampled_from(["cat", "dog"])}))
prefixes = st.one_of(st.just(()), namespaces)
filters = st.sampled_from([None, {"n": 2}, {"n": {"$gt": 1}}, {"n": {"$lte": 2, "$ne": 1}}, {"text": {"$eq": "cat"}}])


@given(st.lists(st.tuples(namespaces, keys, values), max_size=12), prefixes, filters, st.integers(0, 2))
def test_the_store_does_what_theirs_does(
    puts: list[tuple[Any, str, Any]], prefix: Any, wanted: Any, depth: int
) -> None:
    """Given the same operations, our store and LangGraph's own hold, find and list the same."""
    with Memory(MemoryStore()) as memory:
        ours, theirs = RicordoStore(memory, user_id="ada"), InMemoryStore()
        for store in (ours, theirs):
            for namespace, key, value in puts:
                store.delete(namespace, key) if value is None else store.put(namespace, key, value)

        def held(store: Any) -> list[Any]:
            found = store.search(prefix, filter=wanted, limit=100)
            return sorted((item.namespace, item.key, item.value["n"], item.value["text"]) for item in found)

        assert held(ours) == held(theirs)
        named = {namespace for namespace, _, value in puts if theirs.search(namespace, limit=1)}
        cut = {"max_depth": depth} if depth else {}
        mine = ours.list_namespaces(prefix=prefix or None, **cut)
        full = [each for each in theirs.list_namespaces(prefix=prefix or None, limit=1000) if each in _alive(theirs)]
        assert mine == sorted({each[: depth or None] for each in full})
        assert named or not mine or prefix
        for namespace, key, _ in puts:
            mine_item, their_item = ours.get(namespace, key), theirs.get(namespace, key)
            assert (mine_item and mine_item.value) == (their_item and their_item.value)


def _alive(store: InMemoryStore) -> set[tuple[str, ...]]:
    """Namespaces with an item in them: theirs remembers empty ones too."""
    return {item.namespace for item in store.search((), limit=1000)}


def test_the_store_works_everywhere(memory: Memory) -> None:
    """Putting, finding, paging and removing work in every place, also for an event loop."""
    store = RicordoStore(memory, user_id="ada")
    for number in range(5):
        store.put(("notes", "it"), f"k{number}", {"n": number, "text": f"appunto {number} è qui"})
    assert [item.value["n"] for item in store.search(("notes",), filter={"n": {"$gte": 3}})] == [4, 3]
    assert len(store.search(("notes",), limit=2, offset=4)) == 1
    first = store.get(("notes", "it"), "k0")
    assert first is not None
    store.put(("notes", "it"), "k0", {"n": 10})
    again = asyncio.run(store.aget(("notes", "it"), "k0"))
    assert again is not None
    assert again.created_at == first.created_at
    assert again.updated_at >= first.updated_at
    asyncio.run(store.adelete(("notes", "it"), "k0"))
    assert store.get(("notes", "it"), "k0") is None
    assert store.list_namespaces(suffix=("it",)) == [("notes", "it")]
    assert store.list_namespaces(prefix=("*", "it")) == [("notes", "it")]


def test_a_filter_reaches_inside(memory: Memory) -> None:
    """A key with dots is itself where there is one of that name, else the way into a value."""
    store = RicordoStore(memory, user_id="ada")
    store.put(("docs",), "inside", {"user": {"access-level": "public", "123abc": {"x": 1}}})
    store.put(("docs",), "plain", {"user.access-level": "public", "user": 3})
    found = {each.key for each in store.search(("docs",), filter={"user.access-level": "public"})}
    assert found == {"inside", "plain"}
    assert [each.key for each in store.search(("docs",), filter={"user.123abc.x": {"$gte": 1}})] == ["inside"]
    assert store.search(("docs",), filter={"user.123abc.x.y": 1}) == []


@pytest.mark.parametrize("ranking", ["words", "meaning"])
def test_a_query_ranks(ranking: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """What speaks to the query comes first, with a score; what was put outside the ranking comes last, without."""
    monkeypatch.setenv("RICORDO_EMBEDDER", "light")
    with ricordo.open("memory:") as memory:
        store = RicordoStore(memory, user_id="ada", ranking=ranking, fields=["text"])
        store.put(("notes",), "cat", {"text": "The cat sleeps on the red sofa", "more": {"deep": "volcano"}})
        store.put(("notes",), "dog", {"text": "Dogs bark at the postman"})
        store.put(("notes",), "none", {"text": "The cat again"}, index=False)
        found = store.search(("notes",), query="where does the cat sleep?")
        assert [item.key for item in found] == ["cat", "dog", "none"]
        assert found[0].score is not None
        assert found[1].score is not None
        assert found[0].score > found[1].score
        assert found[2].score is None
        assert store.search(("notes",), query="volcano", limit=1)[0].score != 1.0


def test_a_time_to_live_ends_and_is_renewed() -> None:
    """An item is gone once its time is over; reading begins it anew, unless told otherwise."""
    clock = FakeClock()
    with Memory(MemoryStore(), clock=clock) as memory:
        store = RicordoStore(memory, user_id="ada", ttl={"default_ttl": 10})
        store.put(("a",), "renewed", {})
        store.put(("a",), "left", {}, ttl=10)
        store.put(("a",), "for ever", {}, ttl=None)
        clock.advance(minutes=9)
        assert store.get(("a",), "renewed")
        assert store.get(("a",), "left", refresh_ttl=False)
        clock.advance(minutes=9)
        assert {item.key for item in store.search(("a",))} == {"renewed", "for ever"}
        clock.advance(minutes=11)
        assert store.get(("a",), "renewed") is None
        assert store.sweep_ttl("ada") == 2
        assert [item.key for item in store.search(())] == ["for ever"]


def test_a_batch_is_put_whole_or_not_at_all() -> None:
    """A value that cannot be kept takes the whole batch with it."""
    from langgraph.store.base import PutOp

    with Memory(MemoryStore()) as memory:
        store = RicordoStore(memory, user_id="ada")
        with pytest.raises(ValidationError, match="JSON"):
            store.batch([PutOp(("a",), "k", {"n": 1}), PutOp(("a",), "l", {"n": object()})])
        with pytest.raises(InvalidNamespaceError):
            store.batch([PutOp(("a.b",), "k", {"n": 1})])
        store.put(("a",), "k", {"n": 1})
        with pytest.raises(ValidationError, match="operator"):
            store.search(("a",), filter={"n": {"$near": 1}})
        assert store.search(("b",)) == []


def test_users_have_stores_of_their_own() -> None:
    """The same namespace is another one for another user, and a search that reaches no user is refused."""
    with Memory(MemoryStore()) as memory:
        ada, bob = (RicordoStore(memory, user_id=user) for user in ("ada", "bob"))
        ada.put(("a",), "k", {"n": 1})
        assert bob.get(("a",), "k") is None
        assert bob.search(()) == []
        assert bob.list_namespaces() == []
        shared = RicordoStore(memory, user_id=lambda namespace: namespace[1])
        shared.put(("users", "ada", "notes"), "k", {"n": 2})
        shared.put(("users", "bob", "notes"), "k", {"n": 3})
        assert [item.value for item in shared.search(("users", "bob"))] == [{"n": 3}]
        assert shared.list_namespaces(prefix=("users", "ada")) == [("users", "ada", "notes")]
        assert [item.value for item in bob.search(())] == [{"n": 3}]
        for reach in (lambda: shared.search(()), lambda: shared.search(("users",)), shared.list_namespaces):
            with pytest.raises(ValidationError, match="does not name its user"):
                reach()
        with pytest.raises(TypeError):
            RicordoStore(memory)  # type: ignore[call-arg]


def test_the_memory_shows_through_the_store(monkeypatch: pytest.MonkeyPatch) -> None:
    """Facts and past messages are read as items, each user's own, and cannot be written."""
    monkeypatch.setenv("RICORDO_EMBEDDER", "light")
    with ricordo.open("memory:") as memory:
        memory.session("s", user_id="ada").add_turn("My name is Ada and I live in Rome.", "Hello Ada.")
        memory.settle()
        store = RicordoStore(memory, user_id="ada")
        facts = store.search(("ricordo", "facts"), query="Rome")
        assert facts[0].value["text"] == "Lives in Rome"
        assert store.get(("ricordo", "facts"), facts[0].key) == facts[0]
        assert store.search(("ricordo", "messages"), query="Rome")[0].value["session_id"] == "s"
        assert store.search(("ricordo", "messages")) == []
        assert RicordoStore(memory, user_id="bob").search(("ricordo", "facts")) == []
        with pytest.raises(ValidationError, match="another namespace"):
            store.put(("ricordo", "facts"), "k", {"text": "Is the king"})


def test_many_threads_of_many_openings(tmp_path: Path) -> None:
    """Checkpoints, items and turns are written to one file at once, and nobody is told that it is locked."""
    path_to_file = tmp_path / "chat.db"

    def work(number: int) -> None:
        with ricordo.open(path_to_file) as memory:
            _graph(RicordoSaver(memory, user_id="ada")).invoke({"said": [], "count": 0}, _config(f"t{number}"))
            RicordoStore(memory, user_id="ada").put(("a",), str(number), {"n": number})
            memory.session("s", user_id="ada").add_turn(f"question {number}", "answer")

    with ThreadPoolExecutor(6) as threads:
        list(threads.map(work, range(6)))
    with ricordo.open(path_to_file) as memory:
        assert len(RicordoStore(memory, user_id="ada").search(("a",), limit=20)) == 6
        assert len(list(RicordoSaver(memory, user_id="ada").list(None))) == 18
        assert len(memory.session("s", user_id="ada").history()) == 6
