"""What is counted and timed, for Prometheus and for the page: writes, failures, contexts, chats, what waits.

Every `Metrics` has its own registry, so that two servers in one process do not count for each other.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TypeVar

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

from ricordo.errors import StoreError, StoreUnavailable
from ricordo.records.people import Summary
from ricordo.records.turns import Message, Owner, StoredReceipt, Turn
from ricordo.stores.protocols import PeopleStore, Store, TurnStore

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
REMEMBERED = 1_000  # latest times of each kind, for the percentiles of the page


class Metrics:
    """Counters, gauges and times of one server. Thread-safe."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)  # memory, processor time, open files; on Linux
        self.requests = Counter(
            "ricordo_http_requests_total", "Requests by route and status", ("route", "status"), registry=self.registry
        )
        self.request_seconds = Histogram(
            "ricordo_http_request_seconds", "Time of requests", ("route",), buckets=BUCKETS, registry=self.registry
        )
        self.turns = Counter("ricordo_turn_writes_total", "Turns kept", registry=self.registry)
        self.failures = Counter(
            "ricordo_failures_total", "What failed, by operation", ("operation",), registry=self.registry
        )
        self.context_seconds = Histogram(
            "ricordo_context_seconds", "Time to compose a context", buckets=BUCKETS, registry=self.registry
        )
        self.write_seconds = Histogram(
            "ricordo_write_seconds", "Time to keep an answer", buckets=BUCKETS, registry=self.registry
        )
        self.window_tokens = Histogram(
            "ricordo_window_tokens",
            "Tokens of composed contexts",
            buckets=(100, 250, 500, 1_000, 2_000, 4_000, 8_000, 32_000, 128_000),
            registry=self.registry,
        )
        self.condensations = Counter("ricordo_condensations_total", "Summaries made", registry=self.registry)
        self.cleanups = Counter("ricordo_cleanups_total", "Cleanups run", registry=self.registry)
        self.cleaned_turns = Counter(
            "ricordo_cleaned_turns_total", "Turns that cleanups removed", registry=self.registry
        )
        self.running = Gauge("ricordo_answers_running", "Answers under way", registry=self.registry)
        self.kept_bytes = Gauge(
            "ricordo_answers_kept_bytes", "About what the answers at hand for readers take", registry=self.registry
        )
        self.spool_depth = Gauge("ricordo_spool_depth", "Writes that wait on disk", registry=self.registry)
        self.degraded = Gauge("ricordo_degraded", "1 while the database is away", registry=self.registry)
        self.jobs = Gauge("ricordo_jobs", "Work beside the chat, by state", ("state",), registry=self.registry)
        self._lock = threading.Lock()
        self._latest: dict[str, deque[float]] = {"context": deque(maxlen=REMEMBERED), "write": deque(maxlen=REMEMBERED)}

    def answered(self, timings_ms: dict[str, float], tokens: int, *, kept: bool) -> None:
        """A chat has answered."""
        store = timings_ms.get("store", 0.0)
        self.composed(timings_ms.get("compose", 0.0), tokens)
        self.write_seconds.observe(store / 1_000)
        if not kept:
            self.failures.labels("turn").inc()
        with self._lock:
            self._latest["write"].append(store)

    def composed(self, milliseconds: float, tokens: int) -> None:
        """A context was composed."""
        self.context_seconds.observe(milliseconds / 1_000)
        self.window_tokens.observe(tokens)
        with self._lock:
            self._latest["context"].append(milliseconds)

    def latency(self) -> dict[str, float | None]:
        """Percentiles of the latest contexts and writes, in milliseconds."""
        with self._lock:
            latest = {name: sorted(times) for name, times in self._latest.items()}
        return {
            f"{name}_p{percent}": _percentile(times, percent) for name, times in latest.items() for percent in (50, 99)
        }

    def text(self) -> bytes:
        """Everything as Prometheus reads it."""
        return generate_latest(self.registry)


def _percentile(times: Sequence[float], percent: int) -> float | None:
    return round(times[min(len(times) * percent // 100, len(times) - 1)], 2) if times else None


T = TypeVar("T")


class CountedStore:
    """A store that counts turns and summaries written, and writes that failed. Everything else is the store's own.

    `failing_since` is since when writes fail because the store is unavailable; None once one succeeds.
    """

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self._store, self._metrics = store, metrics
        self.failing_since: datetime | None = None
        self.turns = _CountedTurns(self, store.turns, metrics)
        self.people = _CountedPeople(self, store.people, metrics)
        self.sessions, self.topics, self.vectors = store.sessions, store.topics, store.vectors
        self.documents, self.keys, self.jobs, self.items = store.documents, store.keys, store.jobs, store.items
        self.owners, self.erase, self.stats = store.owners, store.erase, store.stats
        self.integrity, self.backup, self.health, self.close = store.integrity, store.backup, store.health, store.close
        self.without_waiting = store.without_waiting

    @property
    def location(self) -> str:
        return self._store.location

    @property
    def erase_notes(self) -> tuple[str, ...]:
        return self._store.erase_notes

    def write(self, operation: str, write: Callable[[], T]) -> T:
        """Run a write and note whether it failed."""
        try:
            done = write()
        except StoreError as error:
            self._metrics.failures.labels(operation).inc()
            if isinstance(error, StoreUnavailable):
                self.failing_since = self.failing_since or datetime.now(UTC)
            raise
        self.failing_since = None
        return done


class _CountedTurns:
    """The turns of a counted store."""

    def __init__(self, counted: CountedStore, turns: TurnStore, metrics: Metrics) -> None:
        self._counted, self._turns, self._metrics = counted, turns, metrics
        self.load, self.get, self.by_ids, self.page = turns.load, turns.get, turns.by_ids, turns.page
        self.receipts, self.delete = turns.receipts, turns.delete

    def append(self, turn: Turn, *, expected: int | None = None, receipt: StoredReceipt | None = None) -> Turn:
        stored = self._counted.write("append", lambda: self._turns.append(turn, expected=expected, receipt=receipt))
        self._metrics.turns.inc()
        return stored

    def add_message(self, turn: Turn) -> Turn:
        stored = self._counted.write("message", lambda: self._turns.add_message(turn))
        if stored.id == turn.id:  # it began a turn; otherwise it was added to one
            self._metrics.turns.inc()
        return stored

    def answer(
        self,
        owner: Owner,
        turn_id: str,
        answer: Message,
        metadata: dict[str, object],
        receipt: StoredReceipt | None,
    ) -> Turn:
        return self._counted.write("answer", lambda: self._turns.answer(owner, turn_id, answer, metadata, receipt))


class _CountedPeople:
    """Facts, summaries and flags of a counted store."""

    def __init__(self, counted: CountedStore, people: PeopleStore, metrics: Metrics) -> None:
        self._counted, self._people, self._metrics = counted, people, metrics
        self.agents, self.facts, self.put_facts = people.agents, people.facts, people.put_facts
        self.learned_through, self.summaries, self.drop_summaries = (
            people.learned_through,
            people.summaries,
            people.drop_summaries,
        )
        self.flags, self.put_flag, self.set_flag = people.flags, people.put_flag, people.set_flag
        self.forget_derived = people.forget_derived

    def put_summary(self, owner: Owner, summary: Summary) -> bool:
        written = self._counted.write("summary", lambda: self._people.put_summary(owner, summary))
        if written and summary.kind == "condensation":
            self._metrics.condensations.inc()
        return written
