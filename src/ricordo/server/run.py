"""Running a server: the store, the service, the application and uvicorn around it, and an end that loses nothing.

In: where the data lies, the settings, the options. It returns when the server was told to stop and has finished the
answers at hand. With a spool directory a PostgreSQL may be away, also at the start.
"""

import ctypes
import gc
import os
import platform
from collections.abc import Callable

import uvicorn

from ricordo.engine.protocols import LLM
from ricordo.errors import SettingsError
from ricordo.server.app import create_app
from ricordo.server.logging import configure, release
from ricordo.server.options import ServerOptions
from ricordo.server.service import Service
from ricordo.settings import Settings
from ricordo.stores.open import store_for
from ricordo.stores.protocols import Store

# New objects before garbage is looked for, and rounds before an older generation is looked through as well. Under load
# few objects stay for each answer, but what hangs on one that waits here may be every passage of a prompt.
COLLECT_AFTER = (10_000, 20, 100)
HEAPS = 2  # that threads share
_M_ARENA_MAX = -8  # of glibc's mallopt
GRACE = 25  # seconds that requests under way are given when the server is told to stop


def run(
    url: str,
    settings: Settings,
    options: ServerOptions,
    *,
    llm: LLM | None = None,
    started: Callable[[int], None] | None = None,
) -> None:
    """Serve until the process is told to stop; `started` hears the port once requests are taken."""
    handler = configure(options.log_level)
    try:
        service = Service(open_store(url, options), settings, options, llm=llm)
        server = Server(uvicorn_of(service), started)
        _collect_seldom()
        share_heaps()
        server.run()
    finally:
        release(handler)


def _collect_seldom() -> None:
    """Look for garbage in cycles seldom, and never among what lives as long as the server: all wait meanwhile."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECT_AFTER)


def share_heaps() -> None:
    """Have glibc's threads share their heaps: with one each, what many threads have freed stays with them for good.

    Elsewhere, or where the environment says otherwise, nothing changes.
    """
    if "MALLOC_ARENA_MAX" not in os.environ and platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, HEAPS)


def open_store(url: str, options: ServerOptions) -> Store:
    """The store behind a path or URL; with a spool directory, one that goes on while a PostgreSQL is away."""
    if not options.spool:
        return store_for(url)
    if not url.startswith(("postgresql://", "postgres://")):
        raise SettingsError("spool", "a spool stands before a PostgreSQL; a file needs none")
    from ricordo.stores.memory import MemoryStore
    from ricordo.stores.postgres import PostgresStore
    from ricordo.stores.spool import SpooledStore

    return SpooledStore(
        lambda: PostgresStore(url),
        options.spool,
        scratch=MemoryStore(),
        open_probe=lambda: PostgresStore(url, pool_size=1, timeout=1.0),
    )


def uvicorn_of(service: Service) -> uvicorn.Config:
    """How uvicorn runs the application: our log in place of its own, and time for what is under way."""
    options = service.options
    return uvicorn.Config(
        create_app(service),
        host=options.host,
        port=options.port,
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        proxy_headers=False,
        timeout_graceful_shutdown=GRACE,
        limit_concurrency=None,
        h11_max_incomplete_event_size=64 * 1024,
    )


class Server(uvicorn.Server):
    """A uvicorn that says when it takes requests, and on which port."""

    def __init__(self, config: uvicorn.Config, started: Callable[[int], None] | None = None) -> None:
        super().__init__(config)
        self._tell = started

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Begin to listen."""
        await super().startup(sockets)  # type: ignore[arg-type]
        if self._tell and self.servers:
            self._tell(self.servers[0].sockets[0].getsockname()[1])
