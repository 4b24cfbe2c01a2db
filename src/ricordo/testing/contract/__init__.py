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
from ricordo.testing.contract.derived import DeletedTurnContract, ErasureContract
from ricordo.testing.contract.documents import DocumentContract
from ricordo.testing.contract.forget import ForgetContract, UnlearnContract
from ricordo.testing.contract.items import AttachedItemContract, ItemContract
from ricordo.testing.contract.keys_jobs import JobContract, KeyContract
from ricordo.testing.contract.people import PeopleContract
from ricordo.testing.contract.reads import ConstraintContract, ReadContract, ReceiptContract
from ricordo.testing.contract.topics import TopicContract, VectorContract
from ricordo.testing.contract.turns import ImportContract, TurnContract

__all__ = ["ConstraintContract", "StoreContract"]


class TurnSuite(TurnContract, ReadContract, ImportContract, ReceiptContract, ForgetContract, ErasureContract):
    """`store.turns`, `store.sessions`, and what concerns the store as a whole."""


class TopicSuite(TopicContract, ArchiveContract, VectorContract, DeletedTurnContract):
    """`store.topics`, `store.vectors`."""


class PeopleSuite(PeopleContract, UnlearnContract):
    """`store.people`."""


class ServiceSuite(DocumentContract, KeyContract, JobContract):
    """`store.documents`, `store.keys`, `store.jobs`."""


class ItemSuite(ItemContract, AttachedItemContract):
    """`store.items`."""


class StoreContract(TurnSuite, TopicSuite, PeopleSuite, ServiceSuite, ItemSuite):
    """Everything that is asked of a store."""
