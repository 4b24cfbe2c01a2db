"""The reference store keeps every promise of a store."""

import pytest

from ricordo.ports import Store
from ricordo.stores.memory import MemoryStore
from ricordo.testing.contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()
