"""Run a server: open the store, build the service and the application, and serve with uvicorn.

In: the location of the data, the settings, the options. `run` returns when the process was told to stop and the running
answers are finished. With a spool directory PostgreSQL may be unavailable, even at the start.
"""

import asyncio
import ctypes
import gc
import os
import platform
from collections.abc import Callable

import uvicorn

from ricordo.engine.protocols import LLM
from ricordo.errors import SettingsError
from ricordo.server.app import create_app
from ricordo.server.connections import ConnectionLimits, handle_accept_failures, limited_protocol
from ricordo.server.key_cache import KeyCache
from ricordo.server.logging import configure_logging, remove_handler
from ricordo.server.options import ServerOptions
from ricordo.server.service import Service
from ricordo.settings import Settings
from ricordo.stores.open import store_for
from ricordo.stores.protocols import Store

# Collect garbage less often than by default: under load each collection stops all threads. A larger threshold would
# cost memory, because one object in a cycle can hold all passages of a prompt.
GC_THRESHOLDS = (10_000, 20, 100)
MALLOC_ARENAS = 2  # shared by all threads
_M_ARENA_MAX = -8  # parameter of glibc's mallopt
BACKLOG = 256  # connections that wait to be accepted
SHUTDOWN_SECONDS = 25  # that running requests may take after the signal to stop


def run(
    url: str,
    settings: Settings,
    options: ServerOptions,
    *,
    llm: LLM | None = None,
    started: Callable[[int], None] | None = None,
) -> None:
    """Serve until the process is told to stop; `started` is called with the port once it is listening."""
    handler = configure_logging(options.log_level)
    try:
        keys = KeyCache(options.spool, url) if options.spool and options.key_cache else None
        service = Service(open_store(url, options), settings, options, llm=llm, key_cache=keys)
        server = Server(uvicorn_config(service), started)
        _tune_gc()
        limit_malloc_arenas()
        server.run()
    finally:
        remove_handler(handler)


def _tune_gc() -> None:
    """Collect garbage seldom, and exclude the objects that live as long as the server."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def limit_malloc_arenas() -> None:
    """Limit the malloc arenas of glibc: with one for each thread, freed memory is seldom reused.

    Does nothing with another C library, or if MALLOC_ARENA_MAX is set.
    """
    if "MALLOC_ARENA_MAX" not in os.environ and platform.libc_ver()[0] == "glibc":
        ctypes.CDLL(None).mallopt(_M_ARENA_MAX, MALLOC_ARENAS)


def open_store(url: str, options: ServerOptions) -> Store:
    """The store of a path or URL; with a spool directory, one that keeps working during an outage of PostgreSQL."""
    if not options.spool:
        return store_for(url)  # every store of Ricordo implements it
    if not url.startswith(("postgresql://", "postgres://")):
        raise SettingsError("spool", "a spool needs a PostgreSQL store; leave it out for a file")
    from ricordo.stores.memory import MemoryStore
    from ricordo.stores.postgres import PostgresStore
    from ricordo.stores.spool import SpooledStore

    return SpooledStore(
        lambda: PostgresStore(url),
        options.spool,
        scratch=MemoryStore(),
        open_probe=lambda: PostgresStore(url, pool_size=1, timeout=1.0),
    )


def uvicorn_config(service: Service) -> uvicorn.Config:
    """The configuration of uvicorn: our log instead of its own, and time for running requests."""
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
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        limit_concurrency=None,
        http=limited_protocol(ConnectionLimits(options)),
        ws="none",
        backlog=BACKLOG,
        h11_max_incomplete_event_size=64 * 1024,
    )


class Server(uvicorn.Server):
    """A uvicorn server that reports its port once it is listening."""

    def __init__(self, config: uvicorn.Config, started: Callable[[int], None] | None = None) -> None:
        super().__init__(config)
        self._on_started = started

    async def startup(self, sockets: list[object] | None = None) -> None:  # type: ignore[override]
        """Start to listen."""
        handle_accept_failures(asyncio.get_running_loop())
        await super().startup(sockets)  # type: ignore[arg-type]
        if self._on_started and self.servers:
            self._on_started(self.servers[0].sockets[0].getsockname()[1])
