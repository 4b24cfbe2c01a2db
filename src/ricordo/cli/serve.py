"""`ricordo serve`: the HTTP server with the web page, until it is told to stop; `ricordo mcp`: one user over stdio.

In: where the data lies, the settings, how to listen. The log goes to stderr as JSON lines; the address to stdout, once
requests are taken. Secrets come from the environment alone: a command line can be read by others of the machine.
"""

import argparse
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ricordo.cli.arguments import (
    OK,
    Command,
    Options,
    add_agent,
    add_llm,
    add_user,
    keywords_of,
    open_memory,
    place_of,
    user_of,
)
from ricordo.cli.output import Output, one_line, shown, table
from ricordo.cli.sessions import day
from ricordo.errors import NotFoundError, SettingsError, ValidationError
from ricordo.limits import check_id, check_text
from ricordo.presets import settings_from
from ricordo.records.reports import as_json
from ricordo.records.service import ApiKey

if TYPE_CHECKING:
    from ricordo.server.options import ServerOptions
    from ricordo.settings import Settings

INSTALL = "pip install 'ricordo[server]'"


def serve(options: Options, output: Output) -> int:
    """Serve until the process is told to stop."""
    listening = server_options(options)
    settings = settings_from(keywords_of(options), os.environ)
    place = place_of(options)

    def started(port: int) -> None:
        address = url_of(listening.host, port)
        plain = {"url": address, "port": port, "auth": listening.auth, "pid": os.getpid()}
        output.document(plain, *_told(address, place, listening, page=has_page()))

    run_server(place, settings, listening, started)
    return OK


def mcp(options: Options, output: Output) -> int:
    """Serve one user's memory over standard input and output."""
    from ricordo.mcp.stdio import run_stdio

    with open_memory(options, create=True) as memory:
        run_stdio(memory, user_of(options), options.agent)
    return OK


def run_server(
    place: str, settings: "Settings", listening: "ServerOptions", started: Callable[[int], None] | None = None
) -> None:
    """Run the server; Ctrl-C and SIGTERM are the usual ways to end it, after what is under way was finished."""
    check_settings(settings)
    check_free(listening.host, listening.port)
    run = _runner()
    with ended_by_signal():
        run(place, settings, listening, started=started)


def server_options(options: Options) -> "ServerOptions":
    """How to listen and whom to let in, from the arguments over RICORDO_SERVER_* variables."""
    from ricordo.server.options import options_from

    return options_from(
        {
            "host": options.host,
            "port": options.port,
            "auth": False if options.no_auth else None,
            "jwt_jwks": options.jwt_jwks,
            "jwt_issuer": options.jwt_issuer,
            "jwt_audience": options.jwt_audience,
            "cors_origins": tuple(options.cors_origin) or None,
            "spool": options.spool_directory,
            "log_level": options.log_level,
        }
    )


def check_settings(settings: "Settings") -> None:
    """Refuse at the start what the first request would stumble over."""
    from ricordo.engine.llm import choose_llm
    from ricordo.memory import check_parts

    check_id("tenant_id", settings.tenant_id)
    check_parts(settings)
    choose_llm(settings.llm)


def has_page() -> bool:
    """Whether the web page was built into this installation."""
    from ricordo.server.page import FOLDER

    return (FOLDER / "index.html").exists()


def url_of(host: str, port: int) -> str:
    """The address as a browser takes it."""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}"


def check_free(host: str, port: int) -> None:
    """Refuse a port that somebody else has, before anything is opened."""
    if port == 0:
        return
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise SettingsError("port", f"{host}:{port} cannot be had ({error.strerror}); give another") from error


@contextmanager
def ended_by_signal() -> Iterator[None]:
    """Being told to stop is no failure; the server handles the signal first and hands it on when it has finished."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    except KeyboardInterrupt:
        return
    finally:
        signal.signal(signal.SIGTERM, before)


def _runner() -> Callable[..., Any]:
    try:
        from ricordo.server.run import run
    except ImportError as error:
        if (error.name or "").startswith("ricordo"):
            raise
        raise SettingsError("server", f"needs packages that are not installed ({error}): {INSTALL}") from error
    return run


def _told(address: str, place: str, listening: "ServerOptions", *, page: bool) -> list[Text]:
    told = [Text.assemble("Ricordo serves ", (address, "bold blue"), "" if page else " (the page is not built)")]
    told.append(Text(f"{address}/docs describes the API, {address}/health says how it is", "dim"))
    if not listening.auth:
        told.append(Text("whoever reaches this machine's loopback is let in, as any user", "yellow"))
    elif not (listening.jwt_jwks or listening.jwt_secret):
        told.append(Text("every request needs a key: ricordo keys make NAME", "dim"))
    if listening.spool:
        told.append(Text(f"while the database is away writes wait in {shown(listening.spool)}", "dim"))
    elif "://" in place:
        told.append(Text("while the database is away nothing can be kept: name a --spool-directory", "yellow"))
    return [*told, Text("Ctrl-C ends it", "dim")]


def add_address(parser: argparse.ArgumentParser) -> None:
    """--host and --port."""
    parser.add_argument("--host", metavar="ADDRESS", help="where to listen (default: 127.0.0.1)")
    parser.add_argument("--port", metavar="N", type=int, help="default: 8377; 0 for any that is free")


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_address(parser)
    parser.add_argument("--no-auth", action="store_true", help="let everybody in; only on a loopback address")
    add_llm(parser)
    parser.add_argument("--spool-directory", metavar="DIR", help="where writes wait while a PostgreSQL is away")
    parser.add_argument("--jwt-jwks", metavar="URL", help="accept tokens signed with these published keys")
    parser.add_argument("--jwt-issuer", metavar="TEXT", help="only tokens of this issuer")
    parser.add_argument("--jwt-audience", metavar="TEXT", help="only tokens for this audience")
    parser.add_argument(
        "--cors-origin", metavar="URL", action="append", default=[], help="a site whose pages may call; repeatable"
    )
    parser.add_argument("--log-level", metavar="LEVEL", help="debug, info, warning, error (default: info)")


def _mcp_arguments(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    add_agent(parser)


SERVE_COMMANDS = (
    Command(
        "serve",
        "run the HTTP server with the web page; RICORDO_SERVER_* variables work too",
        serve,
        _arguments,
        "ricordo serve --db postgresql://app@db.example.org/chat --spool-directory /var/lib/ricordo/spool",
    ),
    Command(
        "mcp",
        "serve one user's memory to a program that speaks the Model Context Protocol, over stdin and stdout",
        mcp,
        _mcp_arguments,
        "ricordo mcp --user anna --db notes.db",
    ),
)


# `ricordo keys`: API keys of a server, made, listed and revoked where its data lies.

SCOPES = ("chat", "read", "write", "admin")
USUAL = ("chat", "read", "write")
_WHAT = {"list": "no name", "make": "a name for the key", "revoke": "the id of a key"}


def keys(options: Options, output: Output) -> int:
    """Make, list or revoke keys."""
    if (options.action == "list") != (options.what is None):
        raise ValidationError("keys", f"{options.action} takes {_WHAT[options.action]}")
    run = {"make": _make, "list": _list, "revoke": _revoke}[options.action]
    return run(options, output)


def _make(options: Options, output: Output) -> int:
    from ricordo.server.caller import check_user
    from ricordo.server.credentials import make_key

    with open_memory(options, create=True) as memory:
        check_text("name", options.what, memory.settings.limits)
        user = None if options.bind is None else check_user("bind", options.bind)
        key_id, key, digest = make_key()
        scopes = tuple(dict.fromkeys(options.scope or USUAL))
        tenant, now = memory.settings.tenant_id, memory.clock.now()
        kept = ApiKey(key_id, tenant, user, options.what, digest, now, scopes=scopes)
        memory.store.keys.put(kept)
    if output.as_json:
        output.document(key_json(kept) | {"key": key})
    else:
        output.raw(key)
        whose = "any user" if user is None else f"user {user!r}"
        output.aside(f"key {key_id} of tenant {tenant!r}, for {whose}: {', '.join(scopes)}. It is shown this once.")
    return 0


def _list(options: Options, output: Output) -> int:
    with open_memory(options) as memory:
        found = memory.store.keys.page(memory.settings.tenant_id)
    rows = table("key", "name", "user", "scopes", "made", "last used", "revoked")
    for key in found:
        rows.add_row(
            Text(shown(key.id)),
            Text(one_line(key.name, 30)),
            Text("any" if key.user_id is None else shown(key.user_id)),
            ", ".join(key.scopes),
            day(key.created_at),
            day(key.last_used_at) if key.last_used_at else "never",
            day(key.revoked_at) if key.revoked_at else "",
            style="" if key.is_valid else "dim",
        )
    output.lines(map(key_json, found), rows if found else "there are no keys; make one with `ricordo keys make NAME`")
    return 0


def _revoke(options: Options, output: Output) -> int:
    with open_memory(options) as memory:
        tenant, key_id = memory.settings.tenant_id, check_id("key", options.what)
        revoked = memory.store.keys.revoke(tenant, key_id, memory.clock.now())
    if revoked is None:
        raise NotFoundError(f"tenant {tenant!r} has no key {key_id!r}; `ricordo keys` lists them")
    output.document(key_json(revoked), f"revoked key {key_id}; servers refuse it within five seconds")
    return 0


def key_json(key: ApiKey) -> dict[str, Any]:
    """A key as plain values, without what it is checked by."""
    plain = as_json(key)
    del plain["digest"]
    return {"key_id": plain.pop("id"), **plain}


def _keys_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=list(_WHAT), default="list", help="default: %(default)s")
    parser.add_argument("what", nargs="?", help="for make: a name; for revoke: the key's id")
    parser.add_argument("--bind", metavar="USER", help="for make: to one user; default: any user of the tenant")
    parser.add_argument(
        "--scope", choices=SCOPES, action="append", help="for make; repeatable; default: chat, read and write"
    )


KEYS_COMMANDS = (
    Command(
        "keys",
        "make, list or revoke the API keys of a server",
        keys,
        _keys_arguments,
        "ricordo keys make course --scope chat",
    ),
)
