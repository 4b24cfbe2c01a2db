"""Which store a path or URL means. A store's driver is imported only if it is named."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from ricordo.errors import SettingsError
from ricordo.stores.protocols import Store

DEFAULT_PATH = "ricordo.db"


def store_for(place: str | Path) -> Store:
    """The store behind a path or URL."""
    if not isinstance(place, str | Path):
        raise SettingsError("url", f"expected a file path or a URL, got {type(place).__name__}")
    text = str(place)
    if not text.removeprefix("sqlite:///").strip():
        raise SettingsError("url", "names nothing; give a file path, a postgresql:// URL or memory:")
    if text.startswith("sqlite://") and not text.startswith("sqlite:///"):
        raise SettingsError("url", f"expected a file path, or sqlite:/// before it, got {text!r}")
    if text in ("memory:", ":memory:"):
        return _driver("memory")()
    if text.startswith(("postgresql://", "postgres://")):
        return _driver("postgres")(text)
    if "://" in text and not text.startswith("sqlite:///"):
        scheme = text.partition("://")[0]
        raise SettingsError("url", f"scheme {scheme!r} is unknown; give a file path or a postgresql:// URL")
    return _driver("sqlite")(Path(text.removeprefix("sqlite:///")))


_DRIVERS = {"memory": "MemoryStore", "postgres": "PostgresStore", "sqlite": "SqliteStore"}


def _driver(name: str) -> Callable[..., Store]:
    """The class of a store, imported by name so that its driver is needed only where it is used."""
    driver: Callable[..., Store] = getattr(import_module(f"ricordo.stores.{name}.store"), _DRIVERS[name])
    return driver
