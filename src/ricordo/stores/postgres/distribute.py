"""Spread a database over the workers of a Citus cluster: `ricordo postgres distribute`.

In: the URL of the coordinator. Out: every table with users' data is distributed by owner, all colocated, in one
transaction; running it again changes nothing. `plan` decides which statements are missing, `distribute` runs them.
"""

from contextlib import closing
from dataclasses import dataclass

import psycopg

from ricordo.errors import SchemaError, ValidationError
from ricordo.records.turns import Owner
from ricordo.stores.open import migrations_for, pending
from ricordo.stores.postgres.pool import read_url
from ricordo.stores.postgres.schema import (
    DISTRIBUTED_TABLES,
    LOCAL_TABLES,
    MIGRATION_LOCK,
    SEQUENTIAL,
    applied,
    check_server,
    distributed_tables,
    distribution_sql,
    migration_sql,
    statements_in,
)
from ricordo.stores.postgres.store import PostgresStore
from ricordo.stores.postgres.transaction import ROLE

MAX_SHARDS = 64_000  # what the extension accepts

_EXTENSION = "SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'citus'"
_WORKERS = "SELECT count(*) FROM citus_get_active_worker_nodes()"
_ME = "SELECT rolsuper OR rolbypassrls, rolsuper OR rolcreaterole FROM pg_catalog.pg_roles WHERE rolname = current_user"
_LOGS_IN = f"SELECT rolcanlogin FROM pg_catalog.pg_roles WHERE rolname = '{ROLE}'"
_HAS_ROWS = "SELECT coalesce(pg_relation_size(to_regclass('ricordo.owners')), 0) > 0"


@dataclass(frozen=True, slots=True)
class Distribution:
    """What a database lacks to be distributed: statements for one transaction, none if it is distributed."""

    location: str
    workers: int
    statements: tuple[str, ...]
    distributed: tuple[str, ...] = DISTRIBUTED_TABLES
    local: tuple[str, ...] = LOCAL_TABLES

    @property
    def sql(self) -> str:
        """The statements as a script."""
        lines = [statement.strip().rstrip(";") + ";" for statement in self.statements]
        return "\n".join(("BEGIN;", SEQUENTIAL + ";", *lines, "COMMIT;")) if lines else ""


def distribute(url: str, *, shards: int | None = None, dry_run: bool = False) -> Distribution:
    """Distribute the tables of a new or an existing database, and check that rows can be read through the workers.

    Writers wait while the rows of an existing database are copied. `shards` is for tables that are not distributed
    yet; the server has a default.
    """
    if shards is not None and not 1 <= shards <= MAX_SHARDS:
        raise ValidationError("shards", f"expected 1 to {MAX_SHARDS:,}, got {shards}")
    location, settings = read_url(url)
    try:
        with psycopg.connect(**settings, autocommit=True) as connection:
            check_server(connection)
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
                found = plan(connection, location, shards)
                if found.statements and not dry_run:
                    connection.execute(SEQUENTIAL)
                    for statement in found.statements:
                        connection.execute(statement)
    except psycopg.Error as error:
        raise SchemaError(f"{location} was not distributed; nothing was changed: {error}") from error
    if not dry_run:
        _check(url)
    return found


def plan(connection: psycopg.Connection, location: str, shards: int | None = None) -> Distribution:
    """The statements that are missing: migrations, the login of the application role, the tables."""
    if connection.execute(_EXTENSION).fetchone() is None:
        raise SchemaError(
            f"{location} has no extension citus; run CREATE EXTENSION citus in this database on every node, then "
            "SELECT citus_set_coordinator_host(…) and citus_add_node(…) on the coordinator"
        )
    bypasses, makes_roles = connection.execute(_ME).fetchone() or (False, False)
    (workers,) = connection.execute(_WORKERS).fetchone() or (0,)
    missing = distribution_sql(set(DISTRIBUTED_TABLES) - distributed_tables(connection))
    if missing and not bypasses and connection.execute(_HAS_ROWS).fetchone() == (True,):
        raise SchemaError(
            f"row-level security hides the rows of {location} from the role {connection.info.user!r}, so they cannot "
            "be copied to the workers; connect as a superuser, or as a table owner with BYPASSRLS"
        )
    missing_migrations = pending(migrations_for("postgres"), applied(connection))
    statements = [statement for each in missing_migrations for statement in statements_in(migration_sql(each))]
    # Citus connects to the workers as the role of the transaction; a role that cannot log in fails there.
    if makes_roles and connection.execute(_LOGS_IN).fetchone() != (True,):
        statements.append(f"ALTER ROLE {ROLE} LOGIN")
    if shards is not None and missing:
        statements.append(f"SET LOCAL citus.shard_count = {shards}")
    return Distribution(location, workers, (*statements, *missing))


def _check(url: str) -> None:
    """Read as the application does, so that a worker that refuses its role is noticed now."""
    with closing(PostgresStore(url, pool_size=1)) as store:
        list(store.owners("ricordo"))
        store.sessions.marks(Owner("ricordo", "ricordo"))
