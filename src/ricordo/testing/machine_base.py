"""What the rules of the state machine share: several stores, one question, one answer; and small pools to draw from."""

from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize

from ricordo.errors import RicordoError
from ricordo.records.turns import Owner
from ricordo.stores.protocols import Store
from ricordo.testing.fakes import START

people = st.sampled_from(["anna", "bruno"])
sessions = st.sampled_from(["s1", "s2", "s3"])
words = st.sampled_from(["alpha", "beta"])
moments = st.integers(0, 9).map(lambda hours: START + timedelta(hours=hours))
some = st.none() | st.integers(0, 6)


class Agreement(RuleBasedStateMachine):
    """Stores that are asked the same; the first one is the oracle."""

    def stores(self) -> Sequence[Store]:
        """Override: the stores, the same ones at every call."""
        raise NotImplementedError

    @initialize()
    def begin(self) -> None:
        """Each run has a tenant of its own."""
        self.tenant = f"tenant-{uuid4()}"

    def owner(self, person: str) -> Owner:
        """One of the people of this run."""
        return Owner(self.tenant, person)

    def agree(self, operation: Callable[[Store], Any]) -> Any:
        """Every store gives the same value or the same kind of refusal."""
        first, *others = [_outcome(operation, store) for store in self.stores()]
        for store, other in zip(self.stores()[1:], others, strict=True):
            assert other == first, f"{store.location} says {other}, {self.stores()[0].location} says {first}"
        return first


def _outcome(operation: Callable[[Store], Any], store: Store) -> Any:
    try:
        return operation(store)
    except RicordoError as error:
        return type(error)
