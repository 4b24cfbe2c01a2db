"""Opens the store of a path or URL, and finds the migrations that its database still needs.

A store's driver is imported only if it is named. Migrations are numbered SQL files, applied on open, each once, in one
transaction, and only forward. The ledger keeps a digest of every applied file, so that an edited migration or a
database made by a newer version is refused. This module decides; the stores run the SQL.
"""

import hashlib
import os
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from urllib.parse import quote, urlsplit

from ricordo.errors import SchemaError, SettingsError
from ricordo.records.values import record
from ricordo.stores.protocols import Store

DEFAULT_PATH = "ricordo.db"


def store_for(place: str | Path, spool: str = "off", read_url: str = "") -> Store:
    """The store behind a path or URL.

    `spool` is a directory where writes wait while PostgreSQL is away, even at the start; `on` is one in the state
    folder of this machine's user. `read_url` is the URL of a replica of the database, for searches.
    """
    if read_url:
        if not (is_postgres(str(place)) and is_postgres(read_url)):
            raise SettingsError("read_url", "names a replica of a PostgreSQL database; both must be postgresql:// URLs")
        place = f"{place}{'&' if '?' in str(place) else '?'}read_url={quote(read_url, safe='')}"
    if spool not in ("", "off"):
        return _spooled(str(place), spool)
    if not isinstance(place, str | Path):
        raise SettingsError("url", f"expected a file path or a URL, got {type(place).__name__}")
    text = str(place)
    if not text.removeprefix("sqlite:///").strip():
        raise SettingsError("url", "is empty; give a file path, a postgresql:// URL or memory:")
    if text.startswith("sqlite://") and not text.startswith("sqlite:///"):
        raise SettingsError("url", f"expected a file path, or sqlite:/// before it, got {text!r}")
    if text in ("memory:", ":memory:"):
        return _driver("memory")()
    if is_postgres(text):
        return _driver("postgres")(text)
    if "://" in text and not text.startswith("sqlite:///"):
        scheme = text.partition("://")[0]
        raise SettingsError("url", f"scheme {scheme!r} is unknown; give a file path or a postgresql:// URL")
    return _driver("sqlite")(Path(text.removeprefix("sqlite:///")))


def is_postgres(place: str) -> bool:
    """Whether a location is a PostgreSQL database."""
    return place.startswith(("postgresql://", "postgres://"))


def spool_directory(url: str, spool: str) -> Path | None:
    """The directory of a database for a setting `spool`; None for `off`.

    The directory of `on` depends on the address and name of the database, and not on the password, which may change.
    """
    if spool in ("", "off"):
        return None
    if spool != "on":
        return Path(spool)
    parts = urlsplit(url)
    hosts = parts.netloc.rpartition("@")[2]
    place = hosts if "," in hosts else f"{parts.hostname}:{parts.port or 5432}"
    name = hashlib.sha256(f"{place}{parts.path}".encode()).hexdigest()[:16]
    base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "ricordo" / "spool" / name


def _spooled(url: str, spool: str) -> Store:
    """A store that keeps working during an outage of PostgreSQL."""
    if not is_postgres(url):
        raise SettingsError("spool", "a spool needs a PostgreSQL store; leave it out for a file")
    directory = spool_directory(url, spool)
    postgres = _driver("postgres")
    spooled: Callable[..., Store] = import_module("ricordo.stores.spool").SpooledStore
    return spooled(
        lambda: postgres(url),
        directory,
        scratch=_driver("memory")(),
        open_probe=lambda: postgres(url, pool_size=1, timeout=1.0),
    )


_DRIVERS = {"memory": "MemoryStore", "postgres": "PostgresStore", "sqlite": "SqliteStore"}


def _driver(name: str) -> Callable[..., Store]:
    """The class of a store, imported by name so that its driver is needed only where it is used."""
    driver: Callable[..., Store] = getattr(import_module(f"ricordo.stores.{name}"), _DRIVERS[name])
    return driver


@record
class Migration:
    """One numbered SQL file."""

    version: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        """Identifies the text that was applied."""
        return hashlib.sha256(self.sql.encode()).hexdigest()

    def is_applied_as(self, digest: str) -> bool:
        """Whether a digest is of this text, or of an earlier text with the same effect that a comment in it names."""
        return digest == self.digest or f"applied as {digest}." in self.sql


def migrations_for(dialect: str) -> tuple[Migration, ...]:
    """All migrations of a dialect (`sqlite` or `postgres`), in order; files are named `0001_core.sql`."""
    folder = Path(__file__).parent / "sql" / dialect  # importlib.resources takes some milliseconds to load
    found = [
        Migration(int(entry.name[:4]), entry.name[5:-4], entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    ]
    return tuple(sorted(found, key=lambda migration: migration.version))


def pending(known: tuple[Migration, ...], applied: dict[int, str]) -> tuple[Migration, ...]:
    """Those of `known` that are not in the ledger `applied` (version to digest) yet."""
    newest = known[-1].version if known else 0
    for version, digest in sorted(applied.items()):
        if version > newest:
            raise SchemaError(
                f"the database has schema version {version}, this version of Ricordo knows {newest}; "
                "upgrade Ricordo to open it"
            )
        match = next((migration for migration in known if migration.version == version), None)
        if match is None or not match.is_applied_as(digest):
            raise SchemaError(
                f"schema version {version} of the database differs from the one in this version of Ricordo; "
                "a migration was edited after it was applied: restore the original package"
            )
    return tuple(migration for migration in known if migration.version not in applied)
