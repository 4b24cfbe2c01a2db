"""Bringing a PostgreSQL database up to date, or printing what would, for those who apply schemas by hand.

In: a connection. Out: nothing, or an error that says why this database is not for this version. Everything
pending goes in one transaction under one advisory lock, so that processes that start together apply it once.
"""

import psycopg

from ricordo.errors import SchemaError, StoreError
from ricordo.stores.migrations import Migration, migrations_for, pending
from ricordo.stores.postgres.row_security import MAY_WRITE, ROLE, STANDING, Standing

OLDEST_SERVER = 15
MIGRATION_LOCK = 0x5269636F72646F  # "Ricordo", for those who migrate at the same moment

# A scan, and not to_regclass(): within a transaction that answers from a cache and would miss what another
# process has just committed.
_LEDGER_EXISTS = """
    SELECT EXISTS (
        SELECT FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = 'ricordo' AND c.relname = 'schema_migrations')
"""
_LEDGER = "SELECT version, digest FROM ricordo.schema_migrations"
_RECORD = "INSERT INTO ricordo.schema_migrations (version, name, digest) VALUES (%s, %s, %s)"


def prepare(connection: psycopg.Connection) -> Standing:
    """Check the server, apply what is pending, and say what the connecting role may do."""
    check_server(connection)
    known = migrations_for("postgres")
    if pending(known, applied(connection)):
        migrate(connection, known)
    return standing(connection)


def check_server(connection: psycopg.Connection) -> None:
    """Refuse a server that is too old or keeps text in another encoding."""
    version = connection.info.server_version // 10000
    if version < OLDEST_SERVER:
        raise StoreError(f"the server is PostgreSQL {version}; Ricordo needs {OLDEST_SERVER} or later")
    encoding = connection.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(f"the database keeps text as {encoding}; make one with ENCODING 'UTF8'")


def applied(connection: psycopg.Connection) -> dict[int, str]:
    """The ledger: version to digest; empty for a database that we have never seen."""
    if not _one(connection, _LEDGER_EXISTS):
        return {}
    return dict(connection.execute(_LEDGER).fetchall())


def migrate(connection: psycopg.Connection, known: tuple[Migration, ...]) -> None:
    """Apply what is pending, all of it or nothing."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        for migration in pending(known, applied(connection)):
            try:
                connection.execute(migration.sql)  # no parameters: the text may hold many statements
            except (psycopg.errors.DuplicateTable, psycopg.errors.DuplicateObject) as error:
                raise SchemaError(
                    f"migration {migration.version} meets tables that the ledger does not know; if they were made "
                    "by hand, use the output of ricordo.stores.postgres.schema_sql(), which fills the ledger"
                ) from error
            except psycopg.errors.InsufficientPrivilege as error:
                raise SchemaError(
                    f"the role {connection.info.user!r} may not apply migration {migration.version} "
                    f"({error.diag.message_primary}); let an administrator apply "
                    "ricordo.stores.postgres.schema_sql()"
                ) from error
            connection.execute(_RECORD, (migration.version, migration.name, migration.digest))


def standing(connection: psycopg.Connection) -> Standing:
    """What the connecting role is, and whether it can be the application role here."""
    row = connection.execute(STANDING).fetchone()
    assert row is not None, "the connecting role is always listed"
    role, bypasses, app_exists, app_bypasses, distributed = row
    usable = app_exists and not app_bypasses and _may_assume(connection)
    return Standing(role, bypasses, usable, distributed)


def schema_sql() -> str:
    """All migrations with their ledger entries as one script, for psql or a Supabase migration folder."""
    parts = ["BEGIN;\n"]
    for migration in migrations_for("postgres"):
        parts += [
            f"-- {migration.version:04}_{migration.name}\n",
            migration.sql,
            "\nINSERT INTO ricordo.schema_migrations (version, name, digest)\n"
            f"VALUES ({migration.version}, '{migration.name}', '{migration.digest}');\n",
        ]
    return "".join([*parts, "COMMIT;\n"])


def _may_assume(connection: psycopg.Connection) -> bool:
    try:
        with connection.transaction(force_rollback=True):
            connection.execute(f"SET LOCAL ROLE {ROLE}")
            return bool(_one(connection, MAY_WRITE))
    except psycopg.errors.InsufficientPrivilege:
        return False


def _one(connection: psycopg.Connection, query: str) -> object:
    row = connection.execute(query).fetchone()
    return row[0] if row else None
