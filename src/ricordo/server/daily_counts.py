"""What came day by day, counted from what is kept: nothing is sampled, so a day tells what is still there of it.

In: a store, a tenant, one user or all of them, and the days asked for. Out: one row a day. The reading is bounded, and
says so where it had to stop; whoever asks again within a minute gets the same figures.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Any

from ricordo.records.turns import Owner, SessionInfo
from ricordo.stores.protocols import Store

KEPT_SECONDS = 60.0
MOST_KEPT = 256
MOST_SESSIONS = 5_000
MOST_TURNS = 50_000
PAGE = 200
KINDS = ("sessions", "turns", "tokens", "condensations", "facts")


@dataclass
class Count:
    """Figures by day, and how much more may be read for them."""

    since: datetime
    days: dict[str, Counter[str]] = field(default_factory=dict)
    sessions_left: int = MOST_SESSIONS
    turns_left: int = MOST_TURNS

    def add(self, kind: str, moment: datetime, number: int = 1) -> None:
        """Count something that happened, if it was in time."""
        if moment >= self.since:
            self.days.setdefault(_day(moment), Counter())[kind] += number

    @property
    def complete(self) -> bool:
        """Whether everything was read."""
        return self.sessions_left > 0 and self.turns_left > 0


def count(store: Store, owners: Iterable[Owner], since: datetime) -> Count:
    """Count what the owners did since a moment."""
    counted = Count(since)
    for owner in owners:
        for session in _active(store, owner, counted):
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


def _active(store: Store, owner: Owner, counted: Count) -> Iterator[SessionInfo]:
    """The sessions that were active in the days asked for."""
    before: SessionInfo | None = None
    while page := store.sessions.page(owner, limit=PAGE, before=before):
        for session in page:
            if session.last_active_at < counted.since or counted.sessions_left <= 0:
                return
            counted.sessions_left -= 1
            yield session
        before = page[-1]


def _count_turns(store: Store, session: SessionInfo, counted: Count) -> None:
    before: int | None = None
    while counted.turns_left > 0 and (page := store.turns.page(session.owner, session.id, last=PAGE, before=before)):
        counted.turns_left -= len(page)
        for turn in page:
            counted.add("turns", turn.created_at)
            counted.add("tokens", turn.created_at, turn.tokens)
        before = page[0].turn_number
        if page[0].created_at < counted.since:
            return


class Series:
    """Figures by day, each kept for a minute. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._kept: OrderedDict[tuple[str, str | None, int], tuple[float, dict[str, Any]]] = OrderedDict()
        self._lock = threading.Lock()

    def days(self, tenant_id: str, user_id: str | None, days: int, now: datetime) -> dict[str, Any]:
        """The last days, today included; of one user or of the whole tenant."""
        key = (tenant_id, user_id, days)
        with self._lock:
            seen, known = self._kept.get(key, (float("-inf"), {}))
        if monotonic() - seen < KEPT_SECONDS:
            return known
        made = self._made(tenant_id, user_id, days, now)
        with self._lock:
            self._kept[key] = (monotonic(), made)
            self._kept.move_to_end(key)
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return made

    def _made(self, tenant_id: str, user_id: str | None, days: int, now: datetime) -> dict[str, Any]:
        today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
        since = today - timedelta(days=days - 1)
        owners = self._store.owners(tenant_id) if user_id is None else [Owner(tenant_id, user_id)]
        counted = count(self._store, owners, since)
        names = [_day(since + timedelta(days=number)) for number in range(days)]
        nothing: Counter[str] = Counter()
        sizes = self._sizes(tenant_id, names, counted) if user_id is None else []
        return {
            "days": [{"day": name} | {kind: counted.days.get(name, nothing)[kind] for kind in KINDS} for name in names],
            "storage_bytes": sizes,
            "complete": counted.complete,
        }

    def _sizes(self, tenant_id: str, names: list[str], counted: Count) -> list[dict[str, Any]]:
        """Today's size as it is; that of earlier days by how many of the turns that are kept were there already."""
        held = self._store.stats(tenant_id)
        if held.bytes_on_disk is None:
            return []
        sizes = [{"day": names[-1], "bytes": held.bytes_on_disk, "estimated": False}]
        turns = held.turns
        for name, later in zip(reversed(names[:-1]), reversed(names), strict=False):
            turns -= counted.days.get(later, Counter())["turns"]
            if not counted.complete or held.turns == 0:
                break
            share = max(turns, 0) / held.turns
            sizes.append({"day": name, "bytes": round(held.bytes_on_disk * share), "estimated": True})
        return sizes[::-1]


def _day(moment: datetime) -> str:
    return moment.astimezone(UTC).date().isoformat()
