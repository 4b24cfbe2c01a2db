"""Metrics: Prometheus counters and histograms, latency percentiles for the page, and counts by day.

Every `Metrics` has its own registry, so that two servers in one process do not share counters. The counts by day come
from the stored data, within a bound on what is read, and are cached for a minute.
"""

import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any, ParamSpec, TypeVar

import prometheus_client as prometheus

from ricordo.engine.core import LRU
from ricordo.errors import StoreError, StoreUnavailable
from ricordo.records.derived import Summary
from ricordo.records.turns import Owner, SessionInfo, Turn
from ricordo.stores.protocols import PeopleStore, Store, TurnStore

BUCKETS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
SAMPLES = 1_000  # latest times of each kind, for the percentiles
SERIES_CACHE_SECONDS = 60.0
MAX_CACHED_SERIES = 256
MAX_SESSIONS = 5_000
MAX_TURNS = 50_000
PAGE = 200
DAILY_COUNTS = ("sessions", "turns", "tokens", "condensations", "facts")

P = ParamSpec("P")
T = TypeVar("T")


class Metrics:
    """Counters, gauges and histograms of one server. Thread-safe."""

    def __init__(self) -> None:
        self.registry = prometheus.CollectorRegistry()
        prometheus.ProcessCollector(registry=self.registry)  # memory, CPU time, open files; on Linux
        self.requests = prometheus.Counter(
            "ricordo_http_requests_total", "Requests by route and status", ("route", "status"), registry=self.registry
        )
        self.request_seconds = prometheus.Histogram(
            "ricordo_http_request_seconds", "Time of requests", ("route",), buckets=BUCKETS, registry=self.registry
        )
        self.turns = prometheus.Counter("ricordo_turn_writes_total", "Turns stored", registry=self.registry)
        self.failures = prometheus.Counter(
            "ricordo_failures_total", "Failures by operation", ("operation",), registry=self.registry
        )
        self.context_seconds = prometheus.Histogram(
            "ricordo_context_seconds", "Time to compose a context", buckets=BUCKETS, registry=self.registry
        )
        self.write_seconds = prometheus.Histogram(
            "ricordo_write_seconds", "Time to store an answer", buckets=BUCKETS, registry=self.registry
        )
        self.window_tokens = prometheus.Histogram(
            "ricordo_window_tokens",
            "Tokens of composed contexts",
            buckets=(100, 250, 500, 1_000, 2_000, 4_000, 8_000, 32_000, 128_000),
            registry=self.registry,
        )
        self.condensations = prometheus.Counter("ricordo_condensations_total", "Summaries made", registry=self.registry)
        self.cleanups = prometheus.Counter("ricordo_cleanups_total", "Cleanups run", registry=self.registry)
        self.cleaned_turns = prometheus.Counter(
            "ricordo_cleaned_turns_total", "Turns that cleanups removed", registry=self.registry
        )
        self.running = prometheus.Gauge("ricordo_answers_running", "Running answers", registry=self.registry)
        self.kept_bytes = prometheus.Gauge(
            "ricordo_answers_kept_bytes", "Approximate size of the answers kept for readers", registry=self.registry
        )
        self.spool_depth = prometheus.Gauge("ricordo_spool_depth", "Writes that wait on disk", registry=self.registry)
        self.degraded = prometheus.Gauge(
            "ricordo_degraded", "1 during an outage of the database", registry=self.registry
        )
        self.jobs = prometheus.Gauge("ricordo_jobs", "Background jobs by state", ("state",), registry=self.registry)
        self._lock = threading.Lock()
        self._latest: dict[str, deque[float]] = {"context": deque(maxlen=SAMPLES), "write": deque(maxlen=SAMPLES)}

    def record_answer(self, timings_ms: dict[str, float], tokens: int, *, stored: bool) -> None:
        """Count an answer of a chat."""
        store = timings_ms.get("store", 0.0)
        self.record_context(timings_ms.get("compose", 0.0), tokens)
        self.write_seconds.observe(store / 1_000)
        if not stored:
            self.failures.labels("turn").inc()
        with self._lock:
            self._latest["write"].append(store)

    def record_context(self, milliseconds: float, tokens: int) -> None:
        """Count a context that was composed."""
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

    def render(self) -> bytes:
        """The text format of Prometheus."""
        return prometheus.generate_latest(self.registry)


def _percentile(times: Sequence[float], percent: int) -> float | None:
    return round(times[min(len(times) * percent // 100, len(times) - 1)], 2) if times else None


class CountingStore:
    """A store that counts the turns and summaries it writes, and failed writes.

    `failing_since` is the time since which writes fail because the store is unavailable; None after a success.
    """

    def __init__(self, store: Store, metrics: Metrics) -> None:
        self._store, self._metrics = store, metrics
        self.failing_since: datetime | None = None
        self.turns = _CountingTurns(self, store.turns, metrics)
        self.people = _CountingPeople(self, store.people, metrics)
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

    def noted(
        self, operation: str, write: Callable[P, T], count: Callable[[T], None] = lambda done: None
    ) -> Callable[P, T]:
        """The write, of which it is noted whether it failed; what it has written is counted."""

        def call(*args: P.args, **kwargs: P.kwargs) -> T:
            try:
                done = write(*args, **kwargs)
            except StoreError as error:
                self._metrics.failures.labels(operation).inc()
                if isinstance(error, StoreUnavailable):
                    self.failing_since = self.failing_since or datetime.now(UTC)
                raise
            self.failing_since = None
            count(done)
            return done

        return call


class _CountingTurns:
    """The turns of a counting store."""

    def __init__(self, store: CountingStore, turns: TurnStore, metrics: Metrics) -> None:
        self._write, self._turns, self._metrics = store.noted, turns, metrics
        self.append = store.noted("append", turns.append, lambda turn: metrics.turns.inc())
        self.answer = store.noted("answer", turns.answer)
        self.load, self.get, self.by_ids, self.page = turns.load, turns.get, turns.by_ids, turns.page
        self.receipts, self.delete, self.mark_failed = turns.receipts, turns.delete, turns.mark_failed

    def add_message(self, turn: Turn, *, acknowledged_at: datetime | None = None) -> Turn:
        stored = self._write("message", self._turns.add_message)(turn, acknowledged_at=acknowledged_at)
        if stored.id == turn.id:  # else the message was added to an existing turn
            self._metrics.turns.inc()
        return stored


class _CountingPeople:
    """Facts, summaries and flags of a counting store."""

    def __init__(self, store: CountingStore, people: PeopleStore, metrics: Metrics) -> None:
        self._write, self._people, self._metrics = store.noted, people, metrics
        self.agents, self.facts, self.put_facts = people.agents, people.facts, people.put_facts
        self.learned_through, self.summaries, self.drop_summaries = (
            people.learned_through,
            people.summaries,
            people.drop_summaries,
        )
        self.flags, self.put_flag, self.set_flag = people.flags, people.put_flag, people.set_flag
        self.forget_derived = people.forget_derived

    def put_summary(self, owner: Owner, summary: Summary) -> bool:
        written = self._write("summary", self._people.put_summary)(owner, summary)
        if written and summary.kind == "condensation":
            self._metrics.condensations.inc()
        return written


@dataclass
class DailyCounts:
    """Counts by day since a time, and how many sessions and turns may still be read."""

    since: datetime
    days: dict[str, Counter[str]] = field(default_factory=dict)
    sessions_left: int = MAX_SESSIONS
    turns_left: int = MAX_TURNS

    def add(self, kind: str, moment: datetime, number: int = 1) -> None:
        """Count an event of the period."""
        if moment >= self.since:
            self.days.setdefault(_day(moment), Counter())[kind] += number

    def on(self, day: str) -> Counter[str]:
        return self.days.get(day, Counter())

    @property
    def complete(self) -> bool:
        """Whether everything was read within the bounds."""
        return self.sessions_left > 0 and self.turns_left > 0


def count_days(store: Store, owners: Iterable[Owner], since: datetime) -> DailyCounts:
    """Count what the owners stored since a time."""
    counted = DailyCounts(since)
    for owner in owners:
        for session in _active_sessions(store, owner, counted):
            counted.add("sessions", session.created_at)
            _count_turns(store, session, counted)
        for summary in store.people.summaries(owner, limit=PAGE):
            counted.add("condensations", summary.created_at)
        for agent in store.people.agents(owner):
            for fact in store.people.facts(owner, agent).facts:
                counted.add("facts", fact.recorded_at)
        if not counted.complete:
            break
    return counted


def _active_sessions(store: Store, owner: Owner, counted: DailyCounts) -> Iterator[SessionInfo]:
    before: SessionInfo | None = None
    while page := store.sessions.page(owner, limit=PAGE, before=before):
        for session in page:
            if session.last_active_at < counted.since or counted.sessions_left <= 0:
                return
            counted.sessions_left -= 1
            yield session
        before = page[-1]


def _count_turns(store: Store, session: SessionInfo, counted: DailyCounts) -> None:
    before: int | None = None
    while counted.turns_left > 0 and (page := store.turns.page(session.owner, session.id, last=PAGE, before=before)):
        counted.turns_left -= len(page)
        for turn in page:
            counted.add("turns", turn.created_at)
            counted.add("tokens", turn.created_at, turn.tokens)
        before = page[0].turn_number
        if page[0].created_at < counted.since:
            return


class DailySeries:
    """Counts by day for tenants and users, cached for a minute. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._cached: LRU[tuple[str, str | None, int], tuple[float, dict[str, Any]]] = LRU(MAX_CACHED_SERIES)
        self._lock = threading.Lock()

    def days(self, tenant_id: str, user_id: str | None, days: int, now: datetime) -> dict[str, Any]:
        """The last `days` days up to today, of one user or of the whole tenant."""
        key = (tenant_id, user_id, days)
        with self._lock:
            cached_at, cached = self._cached.get(key) or (float("-inf"), {})
        if monotonic() - cached_at < SERIES_CACHE_SECONDS:
            return cached
        made = self._build(tenant_id, user_id, days, now)
        with self._lock:
            self._cached.put(key, (monotonic(), made))
        return made

    def _build(self, tenant_id: str, user_id: str | None, days: int, now: datetime) -> dict[str, Any]:
        today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        since = today - timedelta(days=days - 1)
        owners = self._store.owners(tenant_id) if user_id is None else [Owner(tenant_id, user_id)]
        counted = count_days(self._store, owners, since)
        names = [_day(since + timedelta(days=number)) for number in range(days)]
        sizes = self._sizes(tenant_id, names, counted) if user_id is None else []
        return {
            "days": [{"day": name} | {kind: counted.on(name)[kind] for kind in DAILY_COUNTS} for name in names],
            "storage_bytes": sizes,
            "complete": counted.complete,
        }

    def _sizes(self, tenant_id: str, names: list[str], counted: DailyCounts) -> list[dict[str, Any]]:
        """The size of the store today, and an estimate for earlier days from the number of turns at that time."""
        stored_now = self._store.stats(tenant_id)
        if stored_now.bytes_on_disk is None:
            return []
        sizes = [{"day": names[-1], "bytes": stored_now.bytes_on_disk, "estimated": False}]
        turns = stored_now.turns
        for name, later in zip(reversed(names[:-1]), reversed(names), strict=False):
            turns -= counted.on(later)["turns"]
            if not counted.complete or stored_now.turns == 0:
                break
            share = max(turns, 0) / stored_now.turns
            sizes.append({"day": name, "bytes": round(stored_now.bytes_on_disk * share), "estimated": True})
        return sizes[::-1]


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()
