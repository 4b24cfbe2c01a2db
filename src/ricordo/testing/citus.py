"""A Citus cluster for tests: a coordinator and workers on loopback, from a PostgreSQL that has the extension installed.

In: the folder of PostgreSQL's programs. Out: the coordinator's URL, databases that exist on every node, and workers
that can be stopped and started. Nothing is built here; docs/postgresql.md says how the extension was.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

URL_VARIABLE = "RICORDO_TEST_CITUS_URL"
PROGRAMS_VARIABLE = "RICORDO_TEST_CITUS_BIN"
SHARDS = 4  # of each table; a test has a handful of users
_UNPRIVILEGED = ("postgres", "pgserver", "nobody")
_SETTINGS = (
    "shared_preload_libraries = 'citus'",
    "listen_addresses = '127.0.0.1'",
    "max_connections = 300",
    "shared_buffers = 64MB",
    "logging_collector = off",
    "citus.enable_statistics_collection = off",
    f"citus.shard_count = {SHARDS}",
)
_FAST = ("fsync = off", "full_page_writes = off", "autovacuum = off", "max_wal_size = 192MB")


class CitusMissingError(Exception):
    """No PostgreSQL with the Citus extension was found."""


def programs() -> Path:
    """The programs of an installed PostgreSQL that has Citus: the folder that the environment names, or PATH's."""
    named = os.environ.get(PROGRAMS_VARIABLE)
    found = Path(named) if named else Path(shutil.which("pg_ctl") or "").resolve().parent
    config = found / "pg_config"
    if not config.exists():
        raise CitusMissingError(f"there is no PostgreSQL in {found}; name its bin folder in {PROGRAMS_VARIABLE}")
    shared = subprocess.run([config, "--sharedir"], check=True, capture_output=True, text=True).stdout.strip()
    if not (Path(shared) / "extension" / "citus.control").exists():
        raise CitusMissingError(f"the PostgreSQL in {found} has no Citus extension; install it, or set {URL_VARIABLE}")
    return found


class CitusCluster:
    """A coordinator and its workers in a temporary folder; unless `durable`, they do not wait for the disk."""

    def __init__(self, folder_of_programs: Path, *, workers: int = 2, durable: bool = False) -> None:
        self._programs = folder_of_programs
        self._account = next(name for name in _UNPRIVILEGED if _exists(name)) if os.getuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="ricordo-citus-"))
        self._ports = _free_ports(1 + workers)
        self._folder.chmod(0o755)
        if self._account:
            shutil.chown(self._folder, self._account)
        for port in self._ports:
            self._run("initdb", "-D", self._data(port), "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
            with (self._data(port) / "postgresql.conf").open("a") as configuration:
                lines = (*_SETTINGS, *(() if durable else _FAST), f"unix_socket_directories = '{self._folder}'")
                configuration.write("\n".join(("", *lines, f"port = {port}", "")))
            self._start(port)
        self.url = f"postgresql://postgres@127.0.0.1:{self._ports[0]}/postgres"
        register(self.url, [f"postgresql://postgres@127.0.0.1:{port}/postgres" for port in self._ports[1:]])

    def stop_worker(self, number: int, how: str = "immediate") -> None:
        """Stop a worker, by default as a crash would."""
        self._run("pg_ctl", "-w", "-D", self._data(self._ports[1 + number]), "-m", how, "stop")

    def start_worker(self, number: int) -> None:
        """Start a stopped worker, with its data."""
        self._start(self._ports[1 + number])

    def close(self) -> None:
        """Stop every node and delete the files."""
        for port in self._ports:
            if (self._data(port) / "postmaster.pid").exists():
                self._run("pg_ctl", "-w", "-D", self._data(port), "-m", "immediate", "stop")
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self, port: int) -> None:
        log = self._folder / f"{port}.log"
        self._run("pg_ctl", "-w", "-t", "60", "-D", self._data(port), "-l", log, "start")

    def _data(self, port: int) -> Path:
        return self._folder / str(port)

    def _run(self, program: str, *arguments: str | Path) -> None:
        command: Sequence[str | Path] = (self._programs / program, *arguments)
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=self._account, cwd=self._folder)


def worker_urls(url: str) -> list[str]:
    """The workers of a cluster, for a database of the same name, by the role that connects to the coordinator."""
    with psycopg.connect(url) as connection:
        nodes = connection.execute("SELECT node_name, node_port FROM citus_get_active_worker_nodes()").fetchall()
    user = urlsplit(url).netloc.rpartition("@")[0]
    return [
        urlunsplit(urlsplit(url)._replace(netloc=f"{user}{'@' if user else ''}{host}:{port}", query=""))
        for host, port in sorted(nodes)
    ]


def create_database(url: str, name: str) -> str:
    """A new database on every node of the cluster, with the extension; returns its URL on the coordinator."""
    workers = worker_urls(url)
    for node in (url, *workers):
        with psycopg.connect(node, autocommit=True) as connection:
            create = sql.SQL("CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8'").format(sql.Identifier(name))
            connection.execute(create)
    made, *on_workers = (urlunsplit(urlsplit(node)._replace(path=f"/{name}")) for node in (url, *workers))
    register(made, on_workers)
    return made


def drop_database(url: str, name: str) -> None:
    """Drop a database on every node."""
    for node in (url, *worker_urls(url)):
        with psycopg.connect(node, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def register(url: str, workers: Sequence[str]) -> None:
    """Create the extension in one database of every node, and tell the coordinator which nodes hold shards."""
    for node in (url, *workers):
        with psycopg.connect(node, autocommit=True) as connection:
            connection.execute("CREATE EXTENSION IF NOT EXISTS citus")
    with psycopg.connect(url, autocommit=True) as connection:
        address = (connection.info.host or "127.0.0.1", connection.info.port)
        connection.execute("SELECT citus_set_coordinator_host(%s, %s::int)", address)
        for worker in workers:
            parts = urlsplit(worker)
            connection.execute("SELECT citus_add_node(%s, %s::int)", (parts.hostname, parts.port or 5432))


def _exists(account: str) -> bool:
    try:
        pwd.getpwnam(account)
    except KeyError:
        return False
    return True


def _free_ports(wanted: int) -> list[int]:
    """Ports that nothing listens on at this moment."""
    sockets = [socket.socket() for _ in range(wanted)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()
