"""The engine: the parts of one memory (store, clock, token counter, settings, embedder, model, queue), made once.

The functions of all rooms take it. `part` makes the state that a room keeps for the life of a memory, at its first use:
a program that only writes turns and reads windows never loads numpy, an embedder or the rules of a language.

Also here, because several rooms need them: scopes, quarantined ids, the facts of a project, local time, fields of log
lines, the system clock, new ids, the choice of a model, the newest summary, turns by number, and `LRU`.
"""

import logging
import os
import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar, cast

from ricordo.engine import LLM, Clock, TokenCounter
from ricordo.errors import LLMError, RicordoError, SettingsError
from ricordo.records.turns import Owner, Turn, log_details
from ricordo.records.values import record
from ricordo.settings import Settings
from ricordo.stores.protocols import Store

if TYPE_CHECKING:
    from ricordo.followups.reference import ClarificationStates
    from ricordo.recall.embedders import Embedder
    from ricordo.recall.indexes import Indexes
    from ricordo.records.derived import Fact, Summary
    from ricordo.worker import WorkQueue

log = logging.getLogger("ricordo")

LLM_SETTING = "llm"
LLM_KEY = "RICORDO_LLM_KEY"
_NEXT_LLM = re.compile(r",\s*(?=https?://|gguf:|$)")  # between two models; a path may contain a comma
EVERY = 1_000_000_000  # no limit for anything that one owner has


class OwnerState(Protocol):
    """State of a room with data about owners."""

    def forget(self, owner: Owner) -> None:
        """Drop the data of an owner."""
        ...


T = TypeVar("T", bound=OwnerState)


@record
class Scope:
    """A session of an owner with an agent; `project` is for a session that is created now."""

    owner: Owner
    session_id: str
    agent_id: str
    project: str = ""


class Engine:
    """The parts of one memory. Thread-safe. `queue` is None if there is no work after a turn."""

    def __init__(
        self,
        store: Store,
        counter: TokenCounter,
        clock: Clock,
        settings: Settings,
        *,
        embedder: "Embedder | None" = None,
        llm: LLM | None = None,
    ) -> None:
        self.store = store
        self.counter = counter
        self.clock = clock
        self.settings = settings
        self.labels = settings.labels
        self.embedder = embedder  # passed by the program; else the settings name one
        self.llm = llm
        self.queue: WorkQueue | None = None
        self.indexes: Indexes | None = None  # made with the first recall
        self.clarifications: ClarificationStates | None = None  # made with the first question
        self._parts: dict[Callable[[Engine], OwnerState], OwnerState] = {}
        self._lock = threading.RLock()

    def part(self, make: Callable[["Engine"], T]) -> T:
        """The state that `make` returns for this engine; made by the first call."""
        found = self._parts.get(make)
        if found is None:
            with self._lock:
                found = self._parts.get(make)
                if found is None:
                    found = self._parts[make] = make(self)
        return cast(T, found)

    @cached_property
    def wants_index(self) -> bool:
        """Whether turns are embedded or grouped into topics."""
        recall = self.settings.recall
        return recall.recall_messages != 0 or recall.organise == "on"

    @cached_property
    def wants_people(self) -> bool:
        """Whether facts, titles or summaries are derived from turns."""
        condensation = self.settings.condensation
        return "on" in (condensation.condense, condensation.titles, self.settings.profile.remember_person)

    @cached_property
    def shares_clarifications(self) -> bool:
        """Whether processes share pending clarifications; a store in memory has one process only."""
        return self.settings.recall.clarifications == "shared" and self.store.location != "memory:"

    def may_have_clarification(self, session_id: str = "") -> bool:
        """Whether a clarification may be pending in a session, or in any; another process may have asked it."""
        if self.clarifications is not None:
            return self.clarifications.may_be_pending(session_id)
        return self.shares_clarifications and self.settings.recall.follow_ups == "on"

    def forget(self, owner: Owner) -> None:
        """Drop the data of an owner from the state of all rooms."""
        for part in list(self._parts.values()):
            part.forget(owner)


def quarantined(engine: Engine, owner: Owner) -> frozenset[str]:
    """The ids of everything in quarantine. There is no limit, so that many flags cannot release the oldest."""
    flags = engine.store.people.flags(owner, state="quarantined", limit=EVERY)
    return frozenset(flag.subject_id for flag in flags)


def in_project(engine: Engine, owner: Owner, facts: Iterable["Fact"], project: str) -> list["Fact"]:
    """The facts for a prompt in a project: said in it, said outside of every project, or valid everywhere.

    The user's name, standing instructions and facts written by hand are valid everywhere.
    """
    projects = ProjectsOfSessions(engine, owner)
    return [
        fact
        for fact in facts
        if fact.is_instruction
        or fact.kind == "name"
        or not fact.sources
        or any(projects[source.session_id] in (project, "") for source in fact.sources)
    ]


class ProjectsOfSessions(dict[str, str]):
    """The project of each session, read at the first access; empty if it has none."""

    def __init__(self, engine: Engine, owner: Owner) -> None:
        super().__init__()
        self._sessions, self._owner = engine.store.sessions, owner

    def __missing__(self, session_id: str) -> str:
        found = self._sessions.get(self._owner, session_id)
        self[session_id] = found.project if found else ""
        return self[session_id]


def local_time(engine: Engine, moment: datetime) -> datetime:
    """A time in the user's time zone, so that "yesterday" is the user's."""
    zone = engine.settings.profile.time_zone
    if zone == "UTC":
        return moment
    from zoneinfo import ZoneInfo  # rarely needed

    try:
        return moment.astimezone(ZoneInfo(zone))
    except OverflowError:  # at either end of the calendar
        return moment


def cause_of(error: Exception) -> str:
    """The loggable cause: the message of Ricordo's own errors; only the type of others, which may quote a text."""
    return str(error) if isinstance(error, RicordoError) else type(error).__name__


def log_failure(operation: str, problem: str, owner: Owner, session_id: str, error: Exception) -> None:
    """Log that something failed for a session, never with the text of a message."""
    cause = f"{type(error).__name__}: {error}" if isinstance(error, RicordoError) else type(error).__name__
    log.warning("%s: %s", problem, cause, extra=log_details(operation, owner, session_id))


_MILLISECONDS = (1 << 48) - 1
_random: list[str] = []  # 20 random digits for each of the next ids
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_random.clear)  # a child must not make the ids of its parent


class SystemClock:
    """The real time, in UTC."""

    def now(self) -> datetime:
        return datetime.now(UTC)


def new_id(now: datetime) -> str:
    """A UUID of version 7: 48 bits of time in milliseconds, 74 random bits, so that new rows are next to each other."""
    moment = "%012x" % (int(now.timestamp() * 1_000) & _MILLISECONDS)  # quicker than a format
    if not _random:
        digits = os.urandom(640).hex()  # for 64 ids, because a system call for each would take most of the time
        _random.extend(digits[at : at + 20] for at in range(0, 1_280, 20))
    try:
        random = _random.pop()
    except IndexError:  # another thread took the last ones
        return new_id(now)
    variant = "89ab"[int(random[3], 16) & 3]
    return f"{moment[:8]}-{moment[8:]}-7{random[:3]}-{variant}{random[4:7]}-{random[7:19]}"


def choose_llm(
    setting: str, *, environ: Mapping[str, str] | None = None, counting: Callable[[str], TokenCounter] | None = None
) -> LLM | None:
    """The model that a setting names, the first of several; None for `none`. See `choose_llms`."""
    return next(iter(choose_llms(setting, environ=environ, counting=counting)), None)


def choose_llms(
    setting: str, *, environ: Mapping[str, str] | None = None, counting: Callable[[str], TokenCounter] | None = None
) -> tuple[LLM, ...]:
    """The models that a setting names, separated by commas: `URL#MODEL` or `gguf:PATH`; or `none`.

    SettingsError when one cannot work, or when two have one name. RICORDO_LLM_KEY has the keys of endpoints in the same
    order, separated by commas; a single key belongs to the server of the first model and is sent to no other server.
    `counting` returns the counter for a model name; it is used when an endpoint does not report the cost of an answer.
    It connects to nothing and loads nothing, so opening a memory never waits for a model; everything works without one.
    """
    parts = [part.strip() for part in _NEXT_LLM.split(setting.strip())]
    if parts in ([""], ["none"]):
        return ()
    given = (os.environ if environ is None else environ).get(LLM_KEY, "").strip()
    keys = [key.strip() for key in given.split(",")] if len(parts) > 1 else [given]
    if len(keys) == 1:
        keys = [given if _server_of(part) == _server_of(parts[0]) else "" for part in parts]
    if len(keys) != len(parts):
        raise SettingsError(LLM_SETTING, f"{len(parts)} models, but {len(keys)} keys in {LLM_KEY}; leave some empty")
    chosen = tuple(_llm(part, key or None, counting) for part, key in zip(parts, keys, strict=True))
    names = [llm.name for llm in chosen]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise SettingsError(LLM_SETTING, f"two models have the name {twice!r}; a request could not choose between them")
    return chosen


def _server_of(setting: str) -> str:
    """Scheme, host and port of an endpoint; of a local file its path."""
    return "/".join(setting.partition("#")[0].split("/")[:3])


def _llm(setting: str, key: str | None, counting: Callable[[str], TokenCounter] | None) -> LLM:
    try:
        if setting.startswith("gguf:"):
            from ricordo.engine.local_llm import LocalLLM  # loaded when it is named

            return LocalLLM(setting.removeprefix("gguf:"))
        if setting.startswith(("http://", "https://")):
            from ricordo.engine.remote_llm import Endpoint, RemoteLLM

            url, _, model = setting.partition("#")
            return RemoteLLM(Endpoint(url, model, key), counter=counting(model) if counting and model else None)
    except LLMError as cause:
        raise SettingsError(LLM_SETTING, str(cause)) from cause
    raise SettingsError(
        LLM_SETTING, "expected none, or URL#MODEL (an OpenAI-compatible address) or gguf:PATH, several with commas"
    )


def newest_summary(engine: Engine, owner: Owner, session_id: str) -> "Summary | None":
    """The latest condensation of a session."""
    found = engine.store.people.summaries(owner, session_id=session_id, kind="condensation", limit=1)
    return found[0] if found else None


def turns_by_number(engine: Engine, owner: Owner, session_id: str, numbers: Iterable[int]) -> list[Turn]:
    """The existing turns with these numbers, in order; consecutive ones are read together."""
    turns: list[Turn] = []
    for first, last in _runs(sorted(set(numbers))):
        turns += engine.store.turns.page(owner, session_id, after=first - 1, before=last + 1)
    return turns


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """First and last of each run of consecutive numbers."""
    runs: list[tuple[int, int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return runs


K = TypeVar("K")
V = TypeVar("V")


class LRU(Generic[K, V]):
    """A cache of at most `max_entries` entries with at most `max_weight` in all; the newest entry is always kept.

    Iteration goes from the least to the most recently used key.
    """

    def __init__(self, max_entries: int, max_weight: float = float("inf")) -> None:
        if max_entries < 1:
            raise ValueError("max_entries must be at least 1")
        self._max_entries, self._max_weight = max_entries, max_weight
        self._entries: OrderedDict[K, tuple[V, float]] = OrderedDict()
        self.weight = 0.0  # of all entries

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: object) -> bool:
        return key in self._entries

    def __iter__(self) -> Iterator[K]:
        return iter(self._entries)

    def values(self) -> list[V]:
        """All values, the least recently used first."""
        return [value for value, _ in self._entries.values()]

    def get(self, key: K) -> V | None:
        """The value of a key, which counts as a use; None if there is none."""
        if key not in self._entries:
            return None
        self._entries.move_to_end(key)
        return self._entries[key][0]

    def peek(self, key: K) -> V | None:
        """The value of a key, which does not count as a use."""
        entry = self._entries.get(key)
        return entry[0] if entry else None

    def put(self, key: K, value: V, weight: float = 0) -> None:
        """Set the value of a key, which counts as a use, and evict what exceeds the limit."""
        self.pop(key)
        self._entries[key] = (value, weight)
        self.weight += weight
        while len(self._entries) > self._max_entries or (self.weight > self._max_weight and len(self._entries) > 1):
            self.pop(next(iter(self._entries)))

    def pop(self, key: K) -> V | None:
        """Remove a key and return its value; None if there is none."""
        entry = self._entries.pop(key, None)
        if entry is None:
            return None
        self.weight -= entry[1]
        return entry[0]

    def clear(self) -> None:
        self._entries.clear()
        self.weight = 0.0

    def remove_where(self, test: Callable[[K], bool]) -> None:
        """Remove the entries whose key passes a test."""
        for key in [key for key in self._entries if test(key)]:
            self.pop(key)
