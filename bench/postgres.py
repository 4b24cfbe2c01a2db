"""PostgreSQL beside bare psycopg on one server: append, window, many users, long sessions, updates in place.

A bare append is what one writes by hand: two rows of a table of messages, question and answer, in one transaction with
the same durability; a bare window reads the last six rows. Both sides take turns, so that they see the same machine.
"""

import argparse
import json
import os
import statistics
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

import ricordo
from bench import dialogue, sample_turns
from bench.systems.ours import ALONE, USER
from ricordo.records.turns import Owner
from ricordo.testing.postgres import PostgresForTests

Figures = dict[str, float]
Append = Callable[[str, str, str], object]

SCHEMA = """
    CREATE TABLE IF NOT EXISTS messages (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        session text NOT NULL, role text NOT NULL, content text NOT NULL);
    CREATE INDEX IF NOT EXISTS messages_by_session ON messages (session, id);
"""
ADD = "INSERT INTO messages (session, role, content) VALUES (%s, %s, %s)"
NEWEST = "SELECT role, content FROM messages WHERE session = %s ORDER BY id DESC LIMIT 6"


class Bare:
    """A table of messages, one connection per thread."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._mine = threading.local()
        self._made: list[psycopg.Connection] = []
        self.connection.execute(SCHEMA)

    @property
    def connection(self) -> psycopg.Connection:
        """This thread's connection."""
        if not hasattr(self._mine, "connection"):
            self._mine.connection = psycopg.connect(self._url, autocommit=True)
            self._made.append(self._mine.connection)
        found: psycopg.Connection = self._mine.connection
        return found

    def append(self, session: str, query: str, response: str) -> None:
        """Question and answer in one transaction."""
        connection = self.connection
        with connection.transaction():
            connection.execute(ADD, (session, "user", query))
            connection.execute(ADD, (session, "assistant", response))

    def window(self, session: str) -> list[Any]:
        """The last six messages."""
        return self.connection.execute(NEWEST, (session,)).fetchall()[::-1]

    def close(self) -> None:
        """Close the connections of all threads."""
        while self._made:
            self._made.pop().close()
        self._mine = threading.local()


class Ours:
    """Ricordo's core as the benchmark of SQLite measures it: nothing is done beside the writing."""

    def __init__(self, url: str) -> None:
        self.memory = ricordo.open(url, **ALONE)
        self._sessions: dict[str, ricordo.Session] = {}

    def append(self, session: str, query: str, response: str) -> None:
        """One durable turn."""
        self.session(session).add_turn(query, response)

    def window(self, session: str) -> list[Any]:
        """The last three turns."""
        return list(self.session(session).window().messages)

    def session(self, name: str) -> ricordo.Session:
        """A session by name."""
        if name not in self._sessions:
            self._sessions[name] = self.memory.session(name, user_id=USER)
        return self._sessions[name]

    def close(self) -> None:
        """Close the memory."""
        self.memory.close()


def appends(bare: Bare, ours: Ours, *, writers: int, shared: bool, seconds: float, rounds: int) -> Figures:
    """Turns per second of both, and the ratio, as the median of rounds that take turns."""
    rates: dict[str, list[float]] = {"bare": [], "ours": []}
    numbers = count()
    for turn in range(rounds + 1):
        for name, system in (("bare", bare), ("ours", ours)):
            rate = _rate(system.append, writers, shared, seconds, f"{turn}-{writers}", numbers)
            if turn:  # the first round opens connections and sessions
                rates[name].append(rate)
    return _ratio(rates)


def _rate(append: Append, writers: int, shared: bool, seconds: float, name: str, numbers: Iterator[int]) -> float:
    sessions = [f"shared-{writers}" if shared else f"own-{writers}-{n}" for n in range(writers)]
    done = [0] * writers
    gate = threading.Barrier(writers + 1)
    errors: list[BaseException] = []
    texts = sample_turns.turn(name, next(numbers))

    def write(number: int) -> None:
        try:
            append(sessions[number], *texts)
            gate.wait()
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                append(sessions[number], *texts)
                done[number] += 1
        except BaseException as error:
            errors.append(error)
            gate.abort()
            raise

    threads = [threading.Thread(target=write, args=(n,)) for n in range(writers)]
    for thread in threads:
        thread.start()
    gate.wait()
    begun = time.perf_counter()
    for thread in threads:
        thread.join()
    close = getattr(append, "__self__", None)
    if isinstance(close, Bare):
        close.close()  # the connections of threads that are gone
    if errors:
        raise errors[0]
    return sum(done) / (time.perf_counter() - begun)


def _ratio(rates: dict[str, list[float]]) -> Figures:
    bare, ours = (statistics.median(rates[name]) for name in ("bare", "ours"))
    return {"bare_per_s": bare, "ours_per_s": ours, "ratio": ours / bare}


def windows(bare: Bare, ours: Ours, session: str, *, calls: int, rounds: int) -> Figures:
    """Windows per second of both by their median times, and the ratio."""
    rates: dict[str, list[float]] = {"bare": [], "ours": []}
    for turn in range(rounds + 1):
        for name, system in (("bare", bare), ("ours", ours)):
            seconds = []
            for _ in range(calls):
                begun = time.perf_counter()
                system.window(session)
                seconds.append(time.perf_counter() - begun)
            if turn:
                rates[name].append(1 / statistics.median(seconds))
    return _ratio(rates)


@contextmanager
def _server(url: str | None) -> Iterator[str]:
    server = PostgresForTests(durable=True, url=url)
    try:
        yield server.empty_database()
    finally:
        server.close()


def main(argv: Sequence[str] | None = None) -> int:
    """`scripts/bench postgres`: ratios in one run."""
    parser = argparse.ArgumentParser(prog="ricordo bench postgres", description=__doc__.split("\n")[0])
    parser.add_argument("--url", help="a server of this machine on which databases may be made; else one of our own")
    parser.add_argument("--quick", action="store_true", help="short rounds, small sizes")
    parser.add_argument("--only", choices=PARTS, action="append", help="this part; may be repeated")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    arguments = parser.parse_args(argv)
    found: dict[str, Figures] = {}
    with _server(arguments.url) as url:
        for name in arguments.only or PARTS:
            for what, figures in PARTS[name](url, arguments.quick):
                found[what] = figures
                print(f"{what:44} " + "  ".join(f"{key} {value:,.3g}" for key, value in figures.items()), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=2))
    return 0


def _appends(url: str, quick: bool) -> Iterator[tuple[str, Figures]]:
    bare, ours = Bare(url), Ours(url)
    seconds, rounds = (0.4, 2) if quick else (1.5, 5)
    for writers in (1, 16, 64):
        for shared in (False, True):
            what = f"append, {writers} writers, {'one session' if shared else 'own sessions'}"
            yield what, appends(bare, ours, writers=writers, shared=shared, seconds=seconds, rounds=rounds)
    yield "window", windows(bare, ours, "shared-16", calls=100 if quick else 500, rounds=rounds)
    bare.close()
    ours.close()


def _users(url: str, quick: bool) -> Iterator[tuple[str, Figures]]:
    """A cleanup with nothing due and statistics, with many users of one session and three turns each."""
    ours = Ours(url)
    ours.append("first", "hello", "hello")
    users = 2_000 if quick else 100_000
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in USERS:
            connection.execute(statement, {"users": users, "tenant": ours.memory.settings.tenant_id})
    retention = ricordo.Retention(turn_ttl=timedelta(days=10_000), session_idle=timedelta(days=10_000))
    verbs: dict[str, Callable[[], object]] = {
        "cleanup with nothing due": lambda: ours.memory.cleanup(retention=retention),
        "stats": ours.memory.stats,
    }
    for verb, call in verbs.items():
        yield f"{verb}, {users:,} users", _cost(url, call)
    ours.close()


def _lengths(url: str, quick: bool) -> Iterator[tuple[str, Figures]]:
    """Windows and appends in sessions of very different lengths, which take turns; the slowest beside the fastest."""
    ours = Ours(url)
    sizes = (1_000, 10_000) if quick else (1_000, 10_000, 100_000, 1_000_000)
    calls, rounds = (60, 2) if quick else (200, 7)
    owner = Owner(ours.memory.settings.tenant_id, USER).key
    with psycopg.connect(url, autocommit=True) as connection:
        for size in sizes:
            ours.append(f"long-{size}", *sample_turns.turn("long", 0))
            for statement in LENGTHEN:
                connection.execute(statement, {"owner": owner, "session": f"long-{size}", "turns": size})
        connection.execute("VACUUM ANALYZE ricordo.turns, ricordo.sessions")
    verbs: dict[str, Callable[[str], object]] = {
        "window": ours.window,
        "append": lambda session: ours.append(session, *sample_turns.turn("more", 1)),
    }
    medians = {verb: _by_turns(call, sizes, calls, rounds) for verb, call in verbs.items()}
    for size in sizes:
        yield f"a session of {size:,} turns", {f"{verb}_ms": medians[verb][size] * 1e3 for verb in verbs}
    spread = {verb: max(found.values()) / min(found.values()) for verb, found in medians.items()}
    yield "slowest length beside the fastest", spread
    ours.close()


def _by_turns(call: Callable[[str], object], sizes: Sequence[int], calls: int, rounds: int) -> dict[int, float]:
    """The median seconds of a call for each length, measured in small turns so that all see the same machine."""
    seconds: dict[int, list[float]] = {size: [] for size in sizes}
    for turn in range(rounds + 1):
        for _ in range(calls):
            for size in sizes:
                begun = time.perf_counter()
                call(f"long-{size}")
                if turn:
                    seconds[size].append(time.perf_counter() - begun)
    return {size: statistics.median(found) for size, found in seconds.items()}


LENGTHEN = (
    """INSERT INTO ricordo.turns (owner, session_id, turn_number, turn_id, agent_id, created_at, query, query_tokens,
                                  answered_at, response, response_tokens, origin, counter, checksum)
       SELECT %(owner)s, %(session)s, n, %(session)s || '-' || n, 'default', 1700000000000000 + n,
              repeat('a question ', 9), 18, 1700000000000000 + n, repeat('an answer ', 20), 40,
              'chat', '', '0123456789abcdef'
       FROM generate_series(2, %(turns)s::bigint) AS n""",
    """UPDATE ricordo.sessions SET last_turn = %(turns)s, turn_count = %(turns)s
       WHERE owner = %(owner)s AND session_id = %(session)s""",
)

# Rows as the store writes them; the names of the owners do not matter to what is measured.
USERS = (
    """INSERT INTO ricordo.owners (owner, tenant_id, user_id, oldest_at, idle_from)
       SELECT md5(n::text)::uuid, %(tenant)s, 'user ' || n, 1700000000000000, 1700000000000000
       FROM generate_series(1, %(users)s) AS n""",
    """INSERT INTO ricordo.sessions
           (owner, tenant_id, session_id, agent_id, created_at, last_active_at, last_turn, turn_count, oldest_at)
       SELECT md5(n::text)::uuid, %(tenant)s, 's', 'default', 1700000000000000, 1700000000000000, 3, 3, 1700000000000000
       FROM generate_series(1, %(users)s) AS n""",
    """INSERT INTO ricordo.turns (owner, session_id, turn_number, turn_id, agent_id, created_at, query, query_tokens,
                                  answered_at, response, response_tokens, origin, counter, checksum)
       SELECT md5(n::text)::uuid, 's', t, n || '-' || t, 'default', 1700000000000000, 'a question', 2,
              1700000000000000, 'an answer', 2, 'chat', '', '0123456789abcdef'
       FROM generate_series(1, %(users)s) AS n, generate_series(1, 3) AS t""",
    "ANALYZE ricordo.owners, ricordo.sessions, ricordo.turns",
)


def _cost(url: str, call: Callable[[], object], times: int = 21) -> Figures:
    """The median time of a call, and the processor time of the server that no other work lengthens."""
    call()
    seconds, server = [], _server_seconds(url)
    for _ in range(times):
        begun = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - begun)
    spent = (_server_seconds(url) - server) / times
    return {"ms": statistics.median(seconds) * 1e3, "server_cpu_ms": spent * 1e3}


def _updates(url: str, quick: bool) -> Iterator[tuple[str, Figures]]:
    """How many updates follow a turn, and how many of them change no index (HOT), with topics at work."""
    turns = 200 if quick else 1_000
    for what, complete in (("turns written whole", True), ("questions, then answers", False)):
        before = _counted(url)
        memory = ricordo.open(url, embedder="light")
        session = memory.session(f"updates {complete}", user_id=USER)
        for number in range(turns):
            query, response = sample_turns.turn("updates", number)
            if complete:
                session.add_turn(query, response)
            else:
                session.ask(query).answer(response)
        memory.settle() if hasattr(memory, "settle") else time.sleep(5)
        memory.close()
        time.sleep(1)  # a backend reports its counters when it ends
        after = _counted(url)
        for table in ("turns", "sessions"):
            updates, hot = (after[table][at] - before[table][at] for at in (0, 1))
            yield (
                f"updates of {table}, {what}",
                {"per_turn": updates / turns, "hot_percent": 100 * hot / max(1, updates)},
            )


def _counted(url: str) -> dict[str, tuple[int, int]]:
    counters = "SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_user_tables WHERE schemaname = 'ricordo'"
    with psycopg.connect(url) as connection:
        found = {name: (updates, hot) for name, updates, hot in connection.execute(counters)}
    return {"turns": (0, 0), "sessions": (0, 0), **found}


def _capacity(url: str, quick: bool) -> Iterator[tuple[str, Figures]]:
    """Bytes of a turn by table with everything that is derived from it, and the CPU time of a call on both sides."""
    users, turns = (5, 20) if quick else (40, 50)
    before = _sizes(url)
    with ricordo.open(url, embedder="light") as memory:
        before = before or _sizes(url)
        for user in range(users):
            session = memory.session(f"talk {user}", user_id=f"user {user}")
            for query, response in dialogue.talk(user, turns):
                session.add_turn(query, response)
            memory.settle()
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("VACUUM FULL")
        grown = {table: (size - before.get(table, 0)) / (users * turns) for table, size in _sizes(url).items()}
        largest = sorted(((each, size) for each, size in grown.items() if size >= 1), key=lambda each: -each[1])
        yield "bytes of a turn", {"all": sum(grown.values()), **dict(largest)}
        names = [f"user {number % users}" for number in range(60 if quick else 400)]
        sessions = {name: memory.session(f"talk {name.split()[1]}", user_id=name) for name in set(names)}
        verbs: dict[str, Callable[[str], object]] = {
            "append": lambda name: sessions[name].add_turn("What comes after the harvest?", "The pressing."),
            "window": lambda name: sessions[name].window(),
            "context": lambda name: sessions[name].context("What was said of the harvest?"),
            "search": lambda name: memory.search("the harvest", user_id=name),
        }
        for verb, call in verbs.items():
            for name in set(names):  # an index is loaded with the first question of a user
                call(name)
            memory.settle()
            client, server = time.process_time(), _server_seconds(url)
            for name in names:
                call(name)
            spent = (time.process_time() - client, _server_seconds(url) - server)
            microseconds = [1e6 * seconds / len(names) for seconds in spent]
            yield f"CPU of a call: {verb}", {"client_us": microseconds[0], "server_us": microseconds[1]}


def _sizes(url: str) -> dict[str, int]:
    """Bytes of each table with its indexes and long values."""
    size = """SELECT relname, pg_total_relation_size(oid) FROM pg_class
              WHERE relnamespace = to_regnamespace('ricordo') AND relkind = 'r'"""
    with psycopg.connect(url) as connection:
        return dict(connection.execute(size).fetchall())


def _server_seconds(url: str) -> float:
    """CPU time of the server processes that serve this database, and of those that have ended, from /proc."""
    with psycopg.connect(url) as connection:
        pids = connection.execute("SELECT pid FROM pg_stat_activity WHERE application_name = 'ricordo'").fetchall()
    serving = [_stat(pid) for (pid,) in pids]
    parents = [_stat(pid) for pid in {each[1] for each in serving}]
    ticks = [*(each[11:13] for each in serving), *(each[13:15] for each in parents)]
    return sum(int(each) for pair in ticks for each in pair) / os.sysconf("SC_CLK_TCK")


def _stat(pid: object) -> list[str]:
    """What the system tells of a process, from its state on."""
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


PARTS: dict[str, Callable[[str, bool], Iterator[tuple[str, Figures]]]] = {
    "append": _appends,
    "users": _users,
    "length": _lengths,
    "updates": _updates,
    "capacity": _capacity,
}


if __name__ == "__main__":
    raise SystemExit(main())
