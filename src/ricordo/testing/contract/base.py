"""What the suites share: the store under test, its soundness, how often a law is tried, many threads at once."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Barrier, Thread
from typing import TypeVar

import pytest
from hypothesis import HealthCheck, settings

from ricordo.engine.core import Engine
from ricordo.engine.tokens import ApproximateCounter
from ricordo.settings import Settings
from ricordo.stores.protocols import Store
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import FakeClock
from ricordo.turns.verify import verify

T = TypeVar("T")

law = settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.differing_executors],
)


class Contract:
    """Gives the tests their store. Every example uses an owner of its own, so one store serves a whole test."""

    @pytest.fixture
    def store(self) -> Iterator[Store]:
        """Override: yield an open store."""
        raise NotImplementedError

    def reopened(self, store: Store) -> Store:
        """Override: close the store and open it again, as after a restart."""
        return store


def engine(store: Store) -> Engine:
    """The parts that verbs work with, around a store; nothing beyond it."""
    return Engine(store, ApproximateCounter(), FakeClock(), Settings())


def assert_sound(store: Store, tenant_id: str) -> None:
    """Everything that can be derived from what is stored is what is stored.

    The counts of topics are left out: these tests write topics by hand, not by the organiser.
    """
    found = verify(engine(store), tenant_id, pause=0).damages
    assert [damage for damage in found if "topic" not in damage.problem] == []


@contextmanager
def backup_of(store: Store, folder: Path, progress: Callable[[int, int], None] | None = None) -> Iterator[Store]:
    """A backup of the store, open."""
    store.backup(folder / "backup.db", progress)
    with closing(SqliteStore(folder / "backup.db")) as copy:
        yield copy


def at_once(workers: Sequence[Callable[[], T]]) -> list[T]:
    """Run all of them in threads that start together; their results, or the first error."""
    start = Barrier(len(workers))
    results: list[T] = []
    errors: list[BaseException] = []

    def work(worker: Callable[[], T]) -> None:
        start.wait()
        try:
            results.append(worker())
        except BaseException as error:
            errors.append(error)

    threads = [Thread(target=work, args=(worker,)) for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results
