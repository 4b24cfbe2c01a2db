"""A primary and its replica: a URL with both hosts survives a failover, and health tells whether commits wait."""

from collections.abc import Iterator
from time import monotonic, sleep

import pytest
from starlette.testclient import TestClient

from ricordo.errors import StoreUnavailable
from ricordo.presets import settings_from
from ricordo.records.turns import Owner
from ricordo.server.app import create_app
from ricordo.server.options import ServerOptions
from ricordo.server.service import Service
from ricordo.stores.open import spool_directory
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.postgres.pool import read_url
from ricordo.testing.citus import Nodes, replicated
from ricordo.testing.fakes import a_turn

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
            store._replication.look()
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
