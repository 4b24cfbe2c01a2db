"""A store with a spool before it keeps every promise that the store itself keeps.

The laws of the contract are tried in full on the stores themselves; here a fifth of the examples tells whether the
spool before them changes anything.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, is_hypothesis_test, settings
from spool_samples import Switched, spooled

from ricordo.stores.memory import MemoryStore
from ricordo.stores.protocols import Store
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.contract import StoreContract
from ricordo.testing.contract.base import law

EXAMPLES = 20


class ShorterContract(StoreContract):
    """The whole contract, each law with fewer examples."""


def shorter(test: Any) -> Any:
    """The same law, tried on fewer examples."""
    return settings(law, max_examples=EXAMPLES)(given(**test.hypothesis._given_kwargs)(test.hypothesis.inner_test))


LAWS = [name for name in dir(StoreContract) if is_hypothesis_test(getattr(StoreContract, name))]
for each in LAWS:
    setattr(ShorterContract, each, shorter(getattr(StoreContract, each)))


def test_no_law_is_left_out() -> None:
    """Every law of the contract is among those that are tried here, and none of them runs in full."""
    assert len(LAWS) >= 15
    tried = {getattr(ShorterContract, name)._hypothesis_internal_use_settings.max_examples for name in LAWS}
    assert tried == {EXAMPLES}


class TestSpooledMemoryStore(ShorterContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        self.folder, self.inner = tmp_path / "spool", MemoryStore()
        store = spooled(lambda: Switched(self.inner), self.folder)
        yield store
        store.close()

    def reopened(self, store: Store) -> Store:
        store.close()
        return spooled(lambda: Switched(self.inner), self.folder)


class TestSpooledSqliteStore(ShorterContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        self.folder = tmp_path
        store = self._open()
        yield store
        store.close()

    def _open(self) -> Store:
        return spooled(lambda: SqliteStore(self.folder / "memory.db"), self.folder / "spool")

    def reopened(self, store: Store) -> Store:
        store.close()
        return self._open()
