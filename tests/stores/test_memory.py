"""The reference store keeps every promise of a store."""

import pytest

from ricordo.stores.memory import MemoryStore
from ricordo.stores.protocols import Store
from ricordo.testing.contract import ServiceContract, StoreContract


class TestMemoryStore(StoreContract, ServiceContract):
    @pytest.fixture
    def store(self) -> Store:
        return MemoryStore()
