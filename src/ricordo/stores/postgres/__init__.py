"""A database that many programs share: the PostgreSQL store and its parts. Needs the extra `ricordo[postgres]`."""

from ricordo.errors import SettingsError

try:
    import psycopg as _psycopg  # noqa: F401 - asked for here, so that its absence is told once and well
except ImportError as error:
    raise SettingsError(
        "store", "PostgreSQL needs a driver that is not installed; run: pip install 'ricordo[postgres]'"
    ) from error

from ricordo.stores.postgres.schema import schema_sql
from ricordo.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore", "schema_sql"]
