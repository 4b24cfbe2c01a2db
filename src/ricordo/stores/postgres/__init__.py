"""The PostgreSQL store: one database shared by many programs. Needs the extra `ricordo[postgres]`."""

from ricordo.errors import SettingsError

try:
    import psycopg as _psycopg  # noqa: F401 - imported here, so that a missing driver gives one clear error
except ImportError as error:
    raise SettingsError(
        "store", "PostgreSQL needs a driver that is not installed; run: pip install 'ricordo[postgres]'"
    ) from error

from ricordo.stores.postgres.schema import schema_sql
from ricordo.stores.postgres.store import PostgresStore

__all__ = ["PostgresStore", "schema_sql"]
