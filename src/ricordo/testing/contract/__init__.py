"""The promises of `ricordo.ports.Store`, as tests. A store of your own passes them like this:

    class TestMyStore(StoreContract):
        @pytest.fixture
        def store(self, tmp_path):
            store = MyStore(tmp_path)
            yield store
            store.close()

        def reopened(self, store):
            store.close()
            return MyStore(...)

A database takes `ConstraintContract` as well: rows written past the checks of the library are refused. One that serves
a server takes `ServiceContract`: documents, API keys, jobs.
"""

from ricordo.testing.contract.archive import ArchiveContract
from ricordo.testing.contract.constraints import ConstraintContract
from ricordo.testing.contract.documents import DocumentContract
from ricordo.testing.contract.forgetting import ForgettingContract
from ricordo.testing.contract.importing import ImportingContract
from ricordo.testing.contract.jobs import JobContract
from ricordo.testing.contract.keeping import KeepingContract
from ricordo.testing.contract.keys import KeyContract
from ricordo.testing.contract.losing import LosingContract
from ricordo.testing.contract.people import PeopleContract
from ricordo.testing.contract.reading import ReadingContract
from ricordo.testing.contract.receipts import ReceiptContract
from ricordo.testing.contract.topics import TopicContract
from ricordo.testing.contract.traces import TraceContract
from ricordo.testing.contract.unlearning import UnlearningContract

__all__ = ["ConstraintContract", "ServiceContract", "StoreContract"]


class StoreContract(
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
    """Everything that is asked of a store."""


class ServiceContract(DocumentContract, KeyContract, JobContract):
    """Everything that is asked of a store behind a server, besides memory."""
