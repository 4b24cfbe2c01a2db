"""One file, no service: the SQLite store and its parts."""

from ricordo.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore"]
