"""A store that counts what passes through it: turns and summaries that were kept, and writes that failed.

In: any store. Out: the same store for everybody who uses it. It stands below every route, the protocol and the work
beside the chat, so that nothing is written without being counted.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from ricordo.errors import StoreError, StoreUnavailable
from ricordo.person import Summary
from ricordo.ports import WholeStore
from ricordo.records import Message, Owner, StoredReceipt, Turn
from ricordo.server.metrics import Metrics

T = TypeVar("T")


class Counted:
    """The writes that are counted; everything else is the store's own. `failing_since` tells from when none was."""

    def __init__(self, store: WholeStore, metrics: Metrics) -> None:
        self._store, self._metrics = store, metrics
        self.failing_since: datetime | None = None

    def append(self, turn: Turn, *, expected: int | None = None, receipt: StoredReceipt | None = None) -> Turn:
        kept = self._done("append", lambda: self._store.append(turn, expected=expected, receipt=receipt))
        self._metrics.turns.inc()
        return kept

    def add_message(self, turn: Turn) -> Turn:
        kept = self._done("message", lambda: self._store.add_message(turn))
        if kept.id == turn.id:  # it began a turn; else it found its place in one that was there
            self._metrics.turns.inc()
        return kept

    def answer(
        self,
        owner: Owner,
        turn_id: str,
        answer: Message,
        metadata: dict[str, object],
        receipt: StoredReceipt | None,
    ) -> Turn:
        return self._done("answer", lambda: self._store.answer(owner, turn_id, answer, metadata, receipt))

    def put_summary(self, owner: Owner, summary: Summary) -> bool:
        kept = self._done("summary", lambda: self._store.put_summary(owner, summary))
        if kept and summary.kind == "condensation":
            self._metrics.condensations.inc()
        return kept

    def _done(self, operation: str, write: Callable[[], T]) -> T:
        try:
            done = write()
        except StoreError as error:
            self._metrics.failures.labels(operation).inc()
            if isinstance(error, StoreUnavailable):
                self.failing_since = self.failing_since or datetime.now(UTC)
            raise
        self.failing_since = None
        return done

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)
