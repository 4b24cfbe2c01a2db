"""A failure between any two steps of organising: figures and turns agree at every moment, and nothing stays undone."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import ricordo
from ricordo.records.turns import Owner
from ricordo.stores.memory import MemoryStore
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.protocols import Store
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing import FakeClock
from ricordo.testing.fakes import StoreProxy
from talks import ThemedEmbedder, memory

pytest_plugins = ["ricordo.testing.postgres"]

ANNA = Owner("default", "anna")
WRITES = ("topics.put", "topics.archive", "topics.release", "topics.rehydrate", "turns.delete")


class Failing(StoreProxy):
    """A store whose n-th write to topics fails, before it is done or after it; `seen` counts them."""

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self.fails_at, self.after, self.seen = 0, False, 0
        self.watch: Callable[[], None] = lambda: None

    def through(self, call: str, method: Callable[..., Any]) -> Callable[..., Any]:
        if call not in WRITES:
            return method

        def counted(*args: Any, **kwargs: Any) -> Any:
            self.seen += 1
            if self.seen == self.fails_at and not self.after:
                raise ricordo.StoreUnavailable("it failed before")
            result = method(*args, **kwargs)
            self.watch()
            if self.seen == self.fails_at:
                raise ricordo.StoreUnavailable("it failed after")
            return result

        return counted


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Store]:
    """Opens a new, empty store each time."""
    files = iter(range(1000))

    def opened() -> Store:
        if request.param == "memory":
            return MemoryStore()
        if request.param == "sqlite":
            return SqliteStore(tmp_path / f"{next(files)}.db")
        return PostgresStore(request.getfixturevalue("postgres_server").database())

    return opened


def talk(session: ricordo.Session, clock: FakeClock) -> None:
    """A topic that is compacted, one that fades, and the first one again, which is restored."""
    for theme, count in (("gatto", 9), ("motore", 3), ("vela", 3), ("gatto", 6)):
        for number in range(count):
            session.add_turn(f"{theme} {number}", f"{theme} risposta {number}")
            clock.advance(minutes=1)
        if theme == "vela":
            clock.advance(days=60)


def organised(proxy: Failing, clock: FakeClock, forget: str) -> ricordo.Memory:
    kept = memory(proxy, clock=clock, embedder=ThemedEmbedder(), locale="it", max_topics=1, forget=forget)
    kept.rest()  # only the passes that the test asks for
    return kept


@pytest.mark.parametrize("forget", ["archive", "delete"])
def test_figures_agree_at_every_moment(store: Callable[[], Store], forget: str) -> None:
    """After each single write what a backup of that moment would hold is sound."""
    clock, proxy = FakeClock(), Failing(store())
    kept = organised(proxy, clock, forget)
    examiner = memory(proxy.inner, clock=clock, embedder=ThemedEmbedder())
    examiner.rest()
    found: list[Any] = []
    proxy.watch = lambda: found.extend(examiner.verify().damages)
    talk(kept.session("s", user_id="anna"), clock)
    kept.session("s", user_id="anna").topics()
    assert proxy.seen > 3
    assert found == []
    kept.close()


@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
@pytest.mark.parametrize("forget", ["archive", "delete"])
def test_a_failure_anywhere_is_made_good(store: Callable[[], Store], forget: str, after: bool) -> None:
    """Whichever write fails, everything agrees, and the next passes leave what an undisturbed run leaves."""
    expected, writes = _run(Failing(store()), forget)
    for fails_at in range(1, writes + 1):
        proxy = Failing(store())
        proxy.fails_at, proxy.after = fails_at, after
        left, _ = _run(proxy, forget)
        assert left == expected, f"write {fails_at} of {writes}"


def _run(proxy: Failing, forget: str) -> tuple[dict[str, list[int]], int]:
    """What is left of the talk, by topic, once nothing fails any more; and how many writes there were."""
    clock = FakeClock()
    kept = organised(proxy, clock, forget)
    session = kept.session("s", user_id="anna")
    talk(session, clock)
    with suppress(ricordo.StoreUnavailable):
        session.topics()
    writes = proxy.seen
    assert kept.verify().damages == ()
    proxy.fails_at = 0
    session.add_turn("gatto da ultimo", "gatto risposta")
    session.topics()
    assert kept.verify().damages == ()
    turns = proxy.inner.turns.page(ANNA, "s")
    left: dict[str, list[int]] = {}
    titles = {topic.id: topic.title for topic in proxy.inner.topics.load(ANNA, "s").topics}
    for turn in turns:
        left.setdefault(titles.get(turn.topic_id, "none"), []).append(turn.turn_number)
    kept.close()
    return left, writes
