"""The schema: migrations applied on open, or printed for administrators, and checks of an existing database.

In: a connection, or a transaction. Out: an up-to-date schema, or the damage found. All pending migrations run in one
transaction under one advisory lock, so that processes that start together apply them once. Row-level security is part
of a sound database: a table without it is reported like a broken index.
"""

from collections.abc import Set
from contextlib import suppress
from threading import Lock, Thread
from time import monotonic

import psycopg

from ricordo.errors import SchemaError, StoreError
from ricordo.records.service import Damage
from ricordo.stores.open import Migration, migrations_for, pending
from ricordo.stores.postgres.transaction import ROLE, ConnectedRole, Transaction, TransactionRunner
from ricordo.stores.turn_rows import misnamed

TABLES = (
    "owners", "sessions", "turns", "receipts", "passages", "topics", "blocks", "traces",
    "people", "facts", "summaries", "flags",
    "documents", "chunks", "api_keys", "jobs", "leases", "items", "erasures", "topic_turns",
)  # fmt: skip

# On Citus these tables stay on the coordinator, through which every statement goes anyway. Jobs of all owners are taken
# with FOR UPDATE SKIP LOCKED, which Citus refuses on a distributed table. A key is looked up by its digest and a lease
# is one row for the whole cluster, so neither has an owner to be routed by. The tables are small, and requests can be
# authenticated while a worker is down.
LOCAL_TABLES = ("api_keys", "jobs", "leases")
DISTRIBUTED_TABLES = tuple(table for table in TABLES if table not in LOCAL_TABLES)

OLDEST_SERVER = 15
MIGRATION_LOCK = 0x5269636F72646F  # the advisory lock of migrations: "Ricordo"

# A query of the catalogue, not to_regclass(): within a transaction that is cached and would miss what another process
# has just committed.
_LEDGER_EXISTS = """
    SELECT EXISTS (
        SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = 'ricordo' AND c.relname = 'schema_migrations')
"""
_LEDGER = "SELECT version, digest FROM ricordo.schema_migrations"
_CONNECTED_ROLE = """
    SELECT me.rolname, me.rolsuper OR me.rolbypassrls,
           app.rolname IS NOT NULL, coalesce(app.rolsuper OR app.rolbypassrls, false), coalesce(app.rolcanlogin, false)
    FROM pg_catalog.pg_roles AS me LEFT JOIN pg_catalog.pg_roles AS app ON app.rolname = 'ricordo_app'
    WHERE me.rolname = current_user
"""
_CITUS = "SELECT EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus')"
_DISTRIBUTED = """
    SELECT c.relname FROM pg_catalog.pg_dist_partition AS p JOIN pg_catalog.pg_class AS c ON c.oid = p.logicalrelid
    WHERE c.relnamespace = to_regnamespace('ricordo') AND p.partmethod = 'h'
"""
_TABLE_NAMES = """
    SELECT relname FROM pg_catalog.pg_class WHERE relnamespace = to_regnamespace('ricordo') AND relkind = 'r'
"""
# Several tables change in one transaction, and a shard of one refers to shards of others: one connection per worker.
SEQUENTIAL = "SET LOCAL citus.multi_shard_modify_mode = 'sequential'"
# Asked after SET LOCAL ROLE: the role may exist for another database and have no rights in this one.
_MAY_WRITE = """
    SELECT CASE WHEN has_schema_privilege('ricordo', 'USAGE')
                THEN has_table_privilege('ricordo.turns', 'SELECT, INSERT') ELSE false END
"""
_RECORD = "INSERT INTO ricordo.schema_migrations (version, name, digest) VALUES (%s, %s, %s)"


def prepare(connection: psycopg.Connection) -> ConnectedRole:
    """Check the server, apply pending migrations, and return what the connecting role may do."""
    check_server(connection)
    known = migrations_for("postgres")
    if pending(known, applied(connection)):
        migrate(connection, known)
    return _connected_role(connection)


def check_server(connection: psycopg.Connection) -> None:
    """Refuse a server that is too old or keeps text in another encoding."""
    version = connection.info.server_version // 10000
    if version < OLDEST_SERVER:
        raise StoreError(f"the server is PostgreSQL {version}; Ricordo needs {OLDEST_SERVER} or later")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(f"the database keeps text as {encoding}; make one with ENCODING 'UTF8'")


def applied(connection: psycopg.Connection) -> dict[int, str]:
    """The applied migrations: version to digest; empty for a new database."""
    if not _one(connection, _LEDGER_EXISTS):
        return {}
    return dict(connection.execute(_LEDGER).fetchall())


def migrate(connection: psycopg.Connection, known: tuple[Migration, ...]) -> None:
    """Apply all pending migrations, or none."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        if _one(connection, _CITUS):
            connection.execute(SEQUENTIAL)
        for migration in pending(known, applied(connection)):
            try:
                for statement in statements_in(migration.sql):
                    connection.execute(statement)
            except (psycopg.errors.DuplicateTable, psycopg.errors.DuplicateObject) as error:
                raise SchemaError(
                    f"migration {migration.version} found tables that the ledger does not list; if they were made "
                    "by hand, use the output of ricordo.stores.postgres.schema_sql(), which fills the ledger"
                ) from error
            except psycopg.errors.InsufficientPrivilege as error:
                raise SchemaError(
                    f"the role {connection.info.user!r} may not apply migration {migration.version} "
                    f"({error.diag.message_primary}); let an administrator apply "
                    "ricordo.stores.postgres.schema_sql()"
                ) from error
            connection.execute(_RECORD, (migration.version, migration.name, migration.digest))
        if distributed := distributed_tables(connection):
            existing = {name for (name,) in connection.execute(_TABLE_NAMES)}
            for statement in distribution_sql(existing - distributed):
                connection.execute(statement)


def statements_in(script: str) -> list[str]:
    """The statements of a script, one by one, because Citus sends its workers the whole text that it gets.

    A statement ends with a semicolon at the end of a line, outside of a body between dollar signs.
    """
    found: list[str] = []
    lines: list[str] = []
    in_body = False
    for line in script.splitlines():
        if line.lstrip().startswith("--") and not in_body:
            continue
        lines.append(line)
        in_body ^= line.count("$$") % 2 == 1
        if line.rstrip().endswith(";") and not in_body:
            found.append("\n".join(lines).strip())
            lines = []
    rest = "\n".join(lines).strip()
    return [*found, rest] if rest else found


def distributed_tables(connection: psycopg.Connection) -> frozenset[str]:
    """The tables that Citus has spread over its workers; none on a server without it."""
    if not _one(connection, _CITUS):
        return frozenset()
    return frozenset(name for (name,) in connection.execute(_DISTRIBUTED))


def distribution_sql(tables: Set[str]) -> tuple[str, ...]:
    """The statements that distribute tables by owner, colocated with the distributed ones; for one transaction.

    The rows of a table are copied to the shards. Citus leaves hidden copies on the coordinator, which are deleted,
    because an erasure could not reach them.
    """
    new = [table for table in DISTRIBUTED_TABLES if table in tables]
    beside = {table: "none" if table == "owners" else "ricordo.owners" for table in new}
    return (
        *(
            f"SELECT create_distributed_table('ricordo.{table}', 'owner', colocate_with => '{other}')"
            for table, other in beside.items()
        ),
        *(f"SELECT truncate_local_data_after_distributing_table('ricordo.{table}')" for table in new),
    )


def _connected_role(connection: psycopg.Connection) -> ConnectedRole:
    row = connection.execute(_CONNECTED_ROLE).fetchone()
    assert row is not None, "the connecting role is always listed"
    role, bypasses, app_exists, app_bypasses, app_logs_in = row
    citus = bool(_one(connection, _CITUS))
    if citus and "turns" in distributed_tables(connection):
        # Citus connects to its workers as the role of the transaction, so that has to be one that can log in.
        if not bypasses and _one(connection, _MAY_WRITE):
            return ConnectedRole(role, bypasses, may_assume=False, citus=True)
        app_exists = app_exists and app_logs_in
    usable = app_exists and not app_bypasses and _may_assume(connection)
    return ConnectedRole(role, bypasses, usable, citus)


def schema_sql() -> str:
    """All migrations with their ledger entries as one script, for psql or a Supabase migration folder."""
    return "".join(["BEGIN;\n", *map(migration_sql, migrations_for("postgres")), "COMMIT;\n"])


def migration_sql(migration: Migration) -> str:
    """A migration with its ledger entry."""
    return (
        f"-- {migration.version:04}_{migration.name}\n{migration.sql}\n"
        "INSERT INTO ricordo.schema_migrations (version, name, digest)\n"
        f"VALUES ({migration.version}, '{migration.name}', '{migration.digest}');\n"
    )


def _may_assume(connection: psycopg.Connection) -> bool:
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(f"SET LOCAL ROLE {ROLE}")
            return bool(_one(connection, _MAY_WRITE))
    except psycopg.errors.InsufficientPrivilege:
        return False


def _one(connection: psycopg.Connection, query: str) -> object:
    row = connection.execute(query).fetchone()
    return row[0] if row else None


SIZE = """
    SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_catalog.pg_class
    WHERE relnamespace = 'ricordo'::regnamespace AND relkind = 'r'
"""
CITUS_SIZE = """
    SELECT sum(CASE WHEN p.logicalrelid IS NULL THEN pg_total_relation_size(c.oid)
                    ELSE citus_total_relation_size(p.logicalrelid, fail_on_error => false) END)::bigint
    FROM pg_catalog.pg_class AS c LEFT JOIN pg_catalog.pg_dist_partition AS p ON p.logicalrelid = c.oid
    WHERE c.relnamespace = 'ricordo'::regnamespace AND c.relkind = 'r'
"""

# A role without pg_monitor sees that there is a replica, not its name.
_REPLICATION = """
    SELECT CASE WHEN NOT EXISTS (
                    SELECT FROM pg_catalog.pg_stat_replication WHERE application_name IS DISTINCT FROM 'pg_basebackup')
                THEN NULL
                WHEN current_setting('synchronous_standby_names') = ''
                  OR current_setting('synchronous_commit') IN ('off', 'local') THEN 'asynchronous'
                ELSE 'synchronous' END
"""
REPLICATION_SECONDS = 30.0  # between two checks


class ReplicationWatch:
    """Whether commits wait for a replica, as last seen. The server is asked in a thread, so that no caller waits."""

    def __init__(self, runner: TransactionRunner) -> None:
        self._runner = runner
        self._seen: str | None = None
        self._next = 0.0
        self._lock = Lock()

    def last_seen(self) -> str | None:
        """`synchronous`, `asynchronous`, or None without a replica; starts a new check if the last one is old."""
        with self._lock:
            due = monotonic() >= self._next
            if due:
                self._next = monotonic() + REPLICATION_SECONDS
        if due:
            Thread(target=self.check, daemon=True).start()
        return self._seen

    def check(self) -> None:
        """Ask the server; if it is away, it is asked again later."""
        with suppress(StoreError):
            row = self._runner.run((), lambda tx: tx.send(_REPLICATION, {}), repeatable=True).fetchone()
            self._seen = row[0] if row else None


_PAGES = """
    SELECT checksum_failures FROM pg_catalog.pg_stat_database
    WHERE datname = current_database() AND checksum_failures > 0
"""

_INDEXES = """
    SELECT c.relname FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    WHERE c.relnamespace = 'ricordo'::regnamespace AND NOT i.indisvalid
"""

_CONSTRAINTS = """
    SELECT conname FROM pg_catalog.pg_constraint
    WHERE connamespace = 'ricordo'::regnamespace AND NOT convalidated
"""

_OPEN_TABLES = """
    SELECT name FROM unnest(%(tables)s::text[]) AS name
    WHERE NOT EXISTS (
        SELECT FROM pg_catalog.pg_class
        WHERE relnamespace = 'ricordo'::regnamespace AND relname = name
          AND relrowsecurity AND relforcerowsecurity)
"""


_OWNERS = "SELECT owner, tenant_id, user_id FROM ricordo.owners"


def wrong_keys(transaction: Transaction) -> tuple[Damage, ...]:
    """Owners whose key does not belong to their names; runs with the settings `for_backup`."""
    return tuple(misnamed((key.bytes, *names) for key, *names in transaction.send(_OWNERS, {})))


def damages(transaction: Transaction) -> tuple[Damage, ...]:
    """What the catalogue and the server's own counters report as wrong."""
    pages = transaction.send(_PAGES, {})
    indexes = transaction.send(_INDEXES, {})
    constraints = transaction.send(_CONSTRAINTS, {})
    tables = transaction.send(_OPEN_TABLES, {"tables": list(TABLES)})
    return (
        *(Damage("database", f"{n} pages failed their checksum since the counters began") for (n,) in pages),
        *(Damage(f"index {name}", "is not valid; run REINDEX") for (name,) in indexes),
        *(Damage(f"constraint {name}", "was never validated; run VALIDATE CONSTRAINT") for (name,) in constraints),
        *(Damage(f"table {name}", "is missing or has no forced row-level security") for (name,) in tables),
    )
