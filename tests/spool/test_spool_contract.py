"""A store with a spool before it keeps every promise that the store itself keeps."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from spool_samples import Switched, spooled

from ricordo.ports import Store
from ricordo.stores.memory import MemoryStore
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.contract import StoreContract


class TestSpooledMemoryStore(StoreContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        self.folder, self.inner = tmp_path / "spool", MemoryStore()
        store = spooled(lambda: Switched(self.inner), self.folder)
        yield store
        store.close()

    def reopened(self, store: Store) -> Store:
        store.close()
        return spooled(lambda: Switched(self.inner), self.folder)


class TestSpooledSqliteStore(StoreContract):
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
