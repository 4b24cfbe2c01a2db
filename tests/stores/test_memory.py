"""The reference store keeps every promise of a store."""

import pytest

from ricordo.ports import Store
from ricordo.stores.memory import MemoryStore
from ricordo.testing.contract import ServiceContract, StoreContract


class TestMemoryStore(StoreContract, ServiceContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()
