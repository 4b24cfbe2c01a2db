"""The SQLite store keeps every promise of a store, and its database refuses what the library would have refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo.stores.protocols import Store
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.contract import ConstraintContract, StoreContract


class TestSqliteStore(StoreContract, ConstraintContract):
    @pytest.fixture
    def store(self, tmp_path: Path) -> Iterator[Store]:
        store = SqliteStore(tmp_path / "memory.db")
        yield store
        store.close()

    def reopened(self, store: Store) -> Store:
        store.close()
        return SqliteStore(store.location)
