"""A primary and its replica: a URL with both hosts survives a failover, and health tells whether commits wait."""

from collections.abc import Iterator
from time import monotonic, sleep
from urllib.parse import quote

import psycopg
import pytest
from bench.citus import Nodes, replicated
from starlette.testclient import TestClient

import ricordo
from ricordo.errors import SettingsError, StoreUnavailable
from ricordo.presets import settings_from
from ricordo.records.turns import Owner
from ricordo.server.app import create_app
from ricordo.server.options import ServerOptions
from ricordo.server.service import Service
from ricordo.stores.open import spool_directory, store_for
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.postgres.pool import read_url
from ricordo.testing.fakes import a_turn
from ricordo.testing.postgres import PostgresForTests

ANNA = Owner("acme", "anna")


@pytest.fixture
def pair() -> Iterator[tuple[Nodes, int, int]]:
    """A primary and an asynchronous replica."""
    nodes, primary, replica = replicated(synchronous=False)
    yield nodes, primary, replica
    nodes.close()


def eventually(look: object, expected: object) -> None:
    """Wait until a call gives what is expected."""
    until = monotonic() + 30
    while (seen := look()) != expected:  # type: ignore[operator]
        assert monotonic() < until, f"{seen!r} instead of {expected!r}"
        sleep(0.05)


def test_a_failover_behind_a_url_with_two_hosts(pair: tuple[Nodes, int, int]) -> None:
    """The store writes to the primary, says so while there is none, and goes on with the promoted replica."""
    nodes, primary, replica = pair
    options = ServerOptions(auth=False)
    store = PostgresStore(nodes.url(replica, primary))  # the replica first: it takes no writes, so it is not chosen
    try:

        def seen() -> str | None:
            store._replication.check()
            return store.health().replication

        eventually(seen, "asynchronous")
        with TestClient(create_app(Service(store, settings_from({"embedder": "light"}, {}), options))) as client:
            assert client.get("/health").json()["replication"] == "asynchronous"
            nodes.commit_to_replica(primary)
            eventually(seen, "synchronous")
            written = [store.turns.append(a_turn(ANNA, session_id="s")).id for _ in range(5)]
            nodes.stop(primary)
            with pytest.raises(StoreUnavailable):
                store.turns.append(a_turn(ANNA, session_id="s"))
            nodes.promote(replica)
            assert [turn.id for turn in store.turns.page(ANNA, "s")] == written
            assert store.turns.append(a_turn(ANNA, session_id="s")).turn_number == 6
            eventually(seen, None)
    finally:
        store.close()


def test_several_hosts_mean_the_one_that_takes_writes() -> None:
    """Unless the URL says otherwise; the place that is shown names every host and no secret."""
    location, settings = read_url("postgresql://app:secret@db1:5432,db2:5433/chat")
    assert settings["target_session_attrs"] == "read-write"
    assert location == "postgresql://app@db1,db2:5432,5433/chat"
    assert read_url("postgresql://db1,db2/chat?target_session_attrs=any")[1]["target_session_attrs"] == "any"
    assert "target_session_attrs" not in read_url("postgresql://db1/chat")[1]


def test_a_spool_has_one_place_for_several_hosts() -> None:
    """The directory depends on the hosts and the database, not on the password."""
    both = spool_directory("postgresql://app:one@db1:5432,db2:5433/chat", "on")
    assert both == spool_directory("postgresql://app:two@db1:5432,db2:5433/chat", "on")
    assert both != spool_directory("postgresql://app:one@db1:5432/chat", "on")


BRUNO = Owner("acme", "bruno")
REPLAY = "SELECT pg_wal_replay_{}()"


def read_from(nodes: Nodes, replica: int, lag: float) -> str:
    """The parameters that name a replica for searches."""
    return f"read_url={quote(nodes.url(replica), safe='')}&read_lag={lag}"


def turns_known(store: PostgresStore, owner: Owner) -> int:
    """How many turns the marks of an owner's sessions count."""
    return sum(mark.turn_count for mark in store.sessions.marks(owner).values())


def looked(store: PostgresStore) -> str | None:
    """What a look at the replica finds."""
    assert store._replica is not None
    store._replica.check()
    return store.health().read_replica


def replay(nodes: Nodes, replica: int, verb: str) -> None:
    """Pause or resume what a replica takes over from its primary."""
    with psycopg.connect(nodes.url(replica), autocommit=True) as connection:
        connection.execute(REPLAY.format(verb))


def test_searches_read_from_a_replica_within_its_lag(pair: tuple[Nodes, int, int]) -> None:
    """A replica answers until its lag is over, but not for what this program wrote; then, or if away, the primary."""
    nodes, primary, replica = pair
    writer = PostgresStore(nodes.url(primary))
    patient = PostgresStore(f"{nodes.url(primary)}?{read_from(nodes, replica, 600)}")
    strict = PostgresStore(f"{nodes.url(primary)}?{read_from(nodes, replica, 0.2)}")
    try:
        first = writer.turns.append(a_turn(ANNA, session_id="s"))
        eventually(lambda: looked(patient), "ok")
        replay(nodes, replica, "pause")
        second = writer.turns.append(a_turn(ANNA, session_id="s"))
        assert turns_known(patient, ANNA) == 1  # from the replica, which has been stopped
        assert patient.turns.by_ids(ANNA, [first.id, second.id]) == (first,)
        assert [turn.id for turn in patient.turns.page(ANNA, "s")] == [first.id, second.id]  # a window, never late
        assert patient.turns.append(a_turn(ANNA, session_id="s")).turn_number == 3
        assert turns_known(patient, ANNA) == 3
        writer.turns.append(a_turn(BRUNO, session_id="s"))
        assert turns_known(patient, BRUNO) == 0
        assert looked(strict) == "behind"
        assert turns_known(strict, BRUNO) == 1
        replay(nodes, replica, "resume")
        eventually(lambda: looked(strict), "ok")
        nodes.stop(replica)
        assert turns_known(patient, BRUNO) == 1
        assert patient.health().read_replica == looked(strict) == "away"
        options = ServerOptions(auth=False)
        with TestClient(create_app(Service(strict, settings_from({"embedder": "light"}, {}), options))) as client:
            answer = client.get("/health").json()
        assert (answer["status"], answer["read_replica"]) == ("ok", "away")
    finally:
        for store in (writer, patient, strict):
            store.close()


def test_a_search_with_a_replica_finds_what_has_no_vector_yet(pair: tuple[Nodes, int, int]) -> None:
    """Missing vectors are written to the primary, and the setting is not shown."""
    nodes, primary, replica = pair
    writer = PostgresStore(nodes.url(primary))
    writer.turns.append(a_turn(Owner("default", "anna"), "My bicycle is in the cellar.", "Noted."))
    writer.close()
    place = f"{nodes.url(replica)}?read_lag=600"
    with ricordo.open(nodes.url(primary), read_url=place, embedder="light") as memory:
        assert place not in repr(memory.settings)
        store = memory.store
        assert isinstance(store, PostgresStore)
        eventually(lambda: looked(store), "ok")
        (hit, *_) = memory.search("bicycle", user_id="anna")
        assert "cellar" in hit.text
        assert store.health().read_replica == "ok"


@pytest.mark.parametrize(
    ("place", "read_url"), [("memory:", "postgresql://replica/chat"), ("postgresql://db/chat", "replica.db")]
)
def test_only_a_postgresql_database_has_a_replica(place: str, read_url: str) -> None:
    """A file has none, and a replica is no file."""
    with pytest.raises(SettingsError, match="read_url"):
        store_for(place, read_url=read_url)


def test_another_database_is_no_replica(postgres_server: PostgresForTests) -> None:
    """Neither another database of the same server nor a server that takes writes is read from."""
    url, other = postgres_server.empty_database(), postgres_server.empty_database()
    for named in (url, other):
        joined = "&" if "?" in url else "?"
        store = PostgresStore(f"{url}{joined}read_url={quote(named, safe='')}")
        try:
            assert looked(store) == "away"
            store.turns.append(a_turn(ANNA, session_id="s"))
            assert turns_known(store, ANNA) == store.turns.page(ANNA, "s")[-1].turn_number
        finally:
            store.close()
