"""The promises of `ricordo.stores.protocols.Store`, as tests. A store of your own passes them like this:

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            store = MyStore(tmp_path)
            yield store
            store.close()

        def reopened(self, store):
            store.close()
            return MyStore(...)

A database takes `ConstraintContract` as well: rows written past the checks of the library are refused.
"""

from ricordo.testing.contract.archive import ArchiveContract
from ricordo.testing.contract.constraints import ConstraintContract, ReceiptContract
from ricordo.testing.contract.derived import LosingContract
from ricordo.testing.contract.documents import DocumentContract
from ricordo.testing.contract.forget import ForgettingContract, UnlearningContract
from ricordo.testing.contract.items import AttachedItemContract, ItemContract
from ricordo.testing.contract.people import PeopleContract
from ricordo.testing.contract.reads import ReadingContract
from ricordo.testing.contract.service import JobContract, KeyContract
from ricordo.testing.contract.topics import TopicContract, TraceContract
from ricordo.testing.contract.turns import ImportingContract, KeepingContract

__all__ = ["ConstraintContract", "StoreContract"]


class MemoryContract(
    KeepingContract,
    ReadingContract,
    ImportingContract,
    ForgettingContract,
    ReceiptContract,
    TopicContract,
    ArchiveContract,
    TraceContract,
    LosingContract,
    PeopleContract,
    UnlearningContract,
):
    """Turns, sessions, topics, vectors, people."""


class StoreContract(MemoryContract, DocumentContract, KeyContract, JobContract, ItemContract, AttachedItemContract):
    """Everything that is asked of a store."""
