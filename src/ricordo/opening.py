"""Opening a memory: from a path or URL and some settings to the store behind it, with the parts that were chosen.

The one place that knows which store a name means; a store's driver is loaded only if it is named.
"""

import os
from pathlib import Path
from typing import Any

from ricordo.engine.beyond import check_parts
from ricordo.errors import SettingsError
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.stores.protocols import Store

DEFAULT_PATH = "ricordo.db"


def open(url_or_path: str | Path | None = None, **settings: Any) -> Memory:
    """Open a memory: a file path (SQLite), a `postgresql://` URL, or `memory:`.

    Without an argument: RICORDO_URL, else `ricordo.db` in the current folder. Keywords are settings, over
    RICORDO_* variables, over the preset.
    """
    place = url_or_path if url_or_path is not None else os.environ.get("RICORDO_URL") or DEFAULT_PATH
    chosen = settings_from(settings, os.environ)
    check_id("tenant_id", chosen.tenant_id)  # before a store is opened that nobody would close
    check_parts(chosen)
    return Memory(store_for(place), chosen)


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
        from ricordo.stores.memory import MemoryStore

        return MemoryStore()
    if text.startswith(("postgresql://", "postgres://")):
        from ricordo.stores.postgres import PostgresStore

        return PostgresStore(text)
    if "://" in text and not text.startswith("sqlite:///"):
        scheme = text.partition("://")[0]
        raise SettingsError("url", f"scheme {scheme!r} is unknown; give a file path or a postgresql:// URL")
    from ricordo.stores.sqlite import SqliteStore

    return SqliteStore(Path(text.removeprefix("sqlite:///")))
