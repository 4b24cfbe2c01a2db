"""Options of the server: address, authentication, limits; from keywords and RICORDO_SERVER_* variables.

Secrets are never shown in the representation of a `ServerOptions`.
"""

import ipaddress
import logging
import os
import socket
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from ricordo.errors import SettingsError
from ricordo.settings import Settings
from ricordo.stores.open import is_postgres, spool_directory

log = logging.getLogger("ricordo.server")

ENV_PREFIX = "RICORDO_SERVER_"
_POSITIVE = (
    "body_bytes", "upload_bytes", "requests_per_minute", "concurrent_chats", "threads",
    "connections", "connections_per_address", "header_seconds", "body_seconds",
)  # fmt: skip
LOG_LEVELS = ("debug", "info", "warning", "error", "critical")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of `ricordo serve`.

    Without `auth` every request is accepted, which is allowed on a loopback address alone. `jwt_jwks` (a URL or file)
    excludes `jwt_secret`: a token must not choose how it is verified. `jwt_tenant` is the tenant of tokens without the
    claim `jwt_tenant_claim`. `connections_per_address` does not count for loopback addresses, where a proxy may be.
    `spool` is the directory where writes wait during an outage of PostgreSQL; empty means one in the state folder of
    the user; with `off` writes fail. With `key_cache` it also has the digests of valid API keys, for a restart during
    an outage. `mcp_tools` are the listed MCP tools, `core` or `all`; all can be called.
    """

    host: str = "127.0.0.1"
    port: int = 8377
    auth: bool = True
    jwt_secret: str = field(default="", repr=False)
    jwt_jwks: str = ""
    jwt_issuer: str = ""
    jwt_audience: str = ""
    jwt_tenant_claim: str = "tenant_id"
    jwt_tenant: str = "default"
    cors_origins: tuple[str, ...] = ()
    body_bytes: int = 8 * 1024 * 1024
    upload_bytes: int = 64 * 1024 * 1024
    requests_per_minute: int = 600
    concurrent_chats: int = 256
    connections: int = 1_000
    connections_per_address: int = 200
    header_seconds: int = 10
    body_seconds: int = 30
    threads: int = 64
    spool: str = ""
    key_cache: bool = True
    mcp_tools: str = "core"
    log_level: str = "info"

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise SettingsError("port", f"expected 0 to 65535, got {self.port}")
        for name in _POSITIVE:
            if getattr(self, name) < 1:
                raise SettingsError(name, f"expected 1 or more, got {getattr(self, name)}")
        if self.jwt_secret and self.jwt_jwks:
            raise SettingsError("jwt_secret", "give either a shared secret or a JWKS, not both")
        if self.jwt_secret and len(self.jwt_secret.encode()) < 32:
            raise SettingsError("jwt_secret", "expected at least 32 bytes; make one with: openssl rand -hex 32")
        if self.log_level.lower() not in LOG_LEVELS:
            raise SettingsError("log_level", f"expected one of {', '.join(LOG_LEVELS)}, got {self.log_level!r}")
        if self.mcp_tools not in ("core", "all"):
            raise SettingsError("mcp_tools", f"expected core or all, got {self.mcp_tools!r}")
        if "*" in self.cors_origins:
            raise SettingsError("cors_origins", "name the origins that may call from a browser; '*' is refused")
        if not self.auth and not is_loopback(self.host):
            raise SettingsError(
                "host", f"{self.host!r} is reachable from other machines: switch authentication on, or use 127.0.0.1"
            )


def is_loopback(host: str) -> bool:
    """Whether an address is reachable from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def url_of(host: str, port: int) -> str:
    """The address as a URL."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def check_port(host: str, port: int) -> None:
    """Raise SettingsError if the port is in use, before a store is opened."""
    if port == 0:
        return
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SettingsError("port", f"cannot listen on {host}:{port} ({error.strerror}); give another") from error


def chosen_spool(url: str, options: ServerOptions, settings: Settings | None = None) -> str:
    """The spool of a server: that of its options, else of the settings, else `on` for PostgreSQL.

    If the directory of that default cannot be created, writes fail during an outage, and a warning is logged.
    """
    if options.spool:
        return options.spool
    if settings is not None and settings.spool not in ("", "off"):
        return settings.spool
    directory = spool_directory(url, "on") if is_postgres(url) else None
    if directory is None:
        return "off"
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            return "on"
    except OSError as error:
        problem = "there is no spool: %s cannot be written to (%s); name a directory with --spool-directory"
        log.warning(problem, directory, error.strerror, extra={"operation": "start"})
        return "off"


def load_options(keywords: Mapping[str, Any], environment: Mapping[str, str] | None = None) -> ServerOptions:
    """Keywords that are not None, over RICORDO_SERVER_* variables, over the defaults."""
    variables = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    for each in fields(ServerOptions):
        raw = variables.get(ENV_PREFIX + each.name.upper())
        if raw is not None:
            values[each.name] = _parse(each.name, each.type, raw)
    values.update({name: value for name, value in keywords.items() if value is not None})
    return ServerOptions(**values)


def _parse(name: str, kind: Any, raw: str) -> Any:
    if kind is bool:
        if raw.lower() in ("on", "true", "yes", "1"):
            return True
        if raw.lower() in ("off", "false", "no", "0"):
            return False
        raise SettingsError(name, f"expected on or off, got {raw!r}")
    if kind is int:
        try:
            return int(raw)
        except ValueError:
            raise SettingsError(name, f"expected a whole number, got {raw!r}") from None
    if kind == tuple[str, ...]:
        return tuple(part.strip() for part in raw.split(",") if part.strip())
    return raw
