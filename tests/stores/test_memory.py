"""The reference store keeps every promise of a store."""

import pytest

from ricordo.stores.memory import MemoryStore
from ricordo.stores.protocols import Store
from ricordo.testing.contract import StoreContract


class TestMemoryStore(StoreContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()
