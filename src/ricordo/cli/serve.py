"""`ricordo serve`: the HTTP server with the web page; `mcp`: one user over stdio; `keys`: API keys; `postgres`: Citus.

The server logs JSON lines to stderr and prints its address to stdout once it accepts requests. Secrets come only from
the environment: other users of the machine can read a command line.
"""

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.text import Text

from ricordo.cli.arguments import (
    Options,
    add_address,
    add_agent,
    add_llm,
    chosen_settings,
    command,
    database_of,
    needs,
    open_memory,
    stop_on_signal,
)
from ricordo.cli.hook import database, personal_user
from ricordo.cli.hosts import MCP_HOSTS, mcp_config
from ricordo.cli.output import Output, local_time, one_line, printable, table
from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_id, check_text
from ricordo.presets import settings_from
from ricordo.records.service import ApiKey, as_json
from ricordo.stores.open import is_postgres

if TYPE_CHECKING:
    from ricordo.server.options import ServerOptions


def _arguments(parser: argparse.ArgumentParser) -> None:
    add_address(parser)
    parser.add_argument("--no-auth", action="store_true", help="no authentication; only on a loopback address")
    add_llm(parser)
    parser.add_argument(
        "--spool-directory",
        metavar="DIR",
        help="keeps writes while PostgreSQL is unavailable; off: none (default: in the state folder)",
    )
    parser.add_argument("--jwt-jwks", metavar="URL", help="accept tokens signed with the keys at this URL")
    parser.add_argument("--jwt-issuer", metavar="TEXT", help="only tokens of this issuer")
    parser.add_argument("--jwt-audience", metavar="TEXT", help="only tokens for this audience")
    parser.add_argument(
        "--cors-origin", metavar="URL", action="append", default=[], help="a web origin that may call; repeatable"
    )
    parser.add_argument("--log-level", metavar="LEVEL", help="debug, info, warning, error (default: info)")


@command(
    "run the HTTP server with the web page; RICORDO_SERVER_* variables work too",
    _arguments,
    "ricordo serve --db postgresql://app@db.example.org/chat --spool-directory /var/lib/ricordo/spool",
)
def serve(options: Options, output: Output) -> None:
    with needs("server"):
        from ricordo.server.app import has_page, run
        from ricordo.server.options import chosen_spool, url_of
        from ricordo.stores.open import spool_directory
    server = server_options(options)
    settings = settings_from(chosen_settings(options), os.environ)
    database = database_of(options)
    spool = spool_directory(database, chosen_spool(database, server, settings))

    def started(port: int) -> None:
        address = url_of(server.host, port)
        plain = {"url": address, "port": port, "auth": server.auth, "pid": os.getpid()}
        output.document(plain, *_startup_lines(address, database, server, spool, page=has_page()))

    with stop_on_signal():
        run(database, settings, server, started=started)


def _mcp_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=["config"], help="print the configuration of a host")
    parser.add_argument("host_name", nargs="?", metavar="HOST", choices=MCP_HOSTS, help=", ".join(MCP_HOSTS))
    parser.add_argument(
        "-u",
        "--user",
        metavar="ID",
        default=os.environ.get("RICORDO_USER"),
        help="default: RICORDO_USER, the login name",
    )
    add_agent(parser)
    parser.add_argument(
        "--tools", choices=["core", "all"], default="core", help="which are listed (default: %(default)s)"
    )


@command(
    "serve one user's memory over the Model Context Protocol, on stdin and stdout; `config` prints how",
    _mcp_arguments,
    "ricordo mcp config claude-desktop",
)
def mcp(options: Options, output: Output) -> None:
    if (options.action == "config") != (options.host_name is not None):
        raise ValidationError("mcp", f"config takes a host: {', '.join(MCP_HOSTS)}")
    if options.action == "config":
        mcp_config(options, output)
        return
    with needs("mcp"):
        from ricordo.mcp.server import run_stdio
    options.db = database({"db": options.db or ""})
    if "://" not in options.db:  # a host starts this in any folder
        Path(options.db).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with open_memory(options, create=True) as memory:
        run_stdio(memory, options.user or personal_user(), options.agent, tools=options.tools)


def server_options(options: Options) -> "ServerOptions":
    """The server's options: arguments override RICORDO_SERVER_* variables."""
    from ricordo.server.options import load_options

    return load_options(
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


def _startup_lines(
    address: str, database: str, server: "ServerOptions", spool: "Path | None", *, page: bool
) -> list[Text]:
    lines = [Text.assemble("Ricordo serves ", (address, "bold blue"), "" if page else " (the page is not built)")]
    lines.append(Text(f"API reference: {address}/openapi.json, health: {address}/health", "dim"))
    if not server.auth:
        lines.append(Text("no authentication: every local process may act as any user", "yellow"))
    elif not (server.jwt_jwks or server.jwt_secret):
        lines.append(Text("every request needs a key: ricordo keys make NAME", "dim"))
    if spool is not None:
        lines.append(Text(f"while the database is unavailable, writes wait in {printable(str(spool))}", "dim"))
    elif "://" in database:
        lines.append(Text("while the database is unavailable, writes fail: give a --spool-directory", "yellow"))
    return [*lines, Text("Ctrl-C ends it", "dim")]


SCOPES = ("chat", "read", "write", "admin")
DEFAULT_SCOPES = ("chat", "read", "write")
_OPERANDS = {"list": "no name", "make": "a name for the key", "revoke": "the id of a key"}


def _keys_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=list(_OPERANDS), default="list", help="default: %(default)s")
    parser.add_argument("what", nargs="?", help="for make: a name; for revoke: the key's id")
    parser.add_argument("--bind", metavar="USER", help="for make: bind it to one user; default: any user of the tenant")
    parser.add_argument(
        "--scope", choices=SCOPES, action="append", help="for make; repeatable; default: chat, read and write"
    )


@command("make, list or revoke the API keys of a server", _keys_arguments, "ricordo keys make course --scope chat")
def keys(options: Options, output: Output) -> None:
    if (options.action == "list") != (options.what is None):
        raise ValidationError("keys", f"{options.action} takes {_OPERANDS[options.action]}")
    run = {"make": _make, "list": _list, "revoke": _revoke}[options.action]
    run(options, output)


def _make(options: Options, output: Output) -> None:
    from ricordo.server.credentials import check_user_id, generate_key

    with open_memory(options, create=True) as memory:
        check_text("name", options.what, memory.settings.limits)
        user = None if options.bind is None else check_user_id("bind", options.bind)
        key_id, key, digest = generate_key()
        scopes = tuple(dict.fromkeys(options.scope or DEFAULT_SCOPES))
        tenant, now = memory.settings.tenant_id, memory.clock.now()
        kept = ApiKey(key_id, tenant, user, options.what, digest, now, scopes=scopes)
        memory.store.keys.put(kept)
    if output.as_json:
        output.document(key_json(kept) | {"key": key})
    else:
        output.raw(key)
        bound = "any user" if user is None else f"user {user!r}"
        output.note(f"key {key_id} of tenant {tenant!r}, for {bound}: {', '.join(scopes)}. It is shown only once.")


def _list(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        found = memory.store.keys.page(memory.settings.tenant_id)
    rows = table("key", "name", "user", "scopes", "made", "last used", "revoked")
    for key in found:
        rows.add_row(
            Text(printable(key.id)),
            Text(one_line(key.name, 30)),
            Text("any" if key.user_id is None else printable(key.user_id)),
            ", ".join(key.scopes),
            local_time(key.created_at),
            local_time(key.last_used_at) if key.last_used_at else "never",
            local_time(key.revoked_at) if key.revoked_at else "",
            style="" if key.is_valid else "dim",
        )
    output.lines(map(key_json, found), rows if found else "there are no keys; make one with `ricordo keys make NAME`")


def _revoke(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        tenant, key_id = memory.settings.tenant_id, check_id("key", options.what)
        revoked = memory.store.keys.revoke(tenant, key_id, memory.clock.now())
    if revoked is None:
        raise NotFoundError(f"tenant {tenant!r} has no key {key_id!r}; `ricordo keys` lists them")
    output.document(key_json(revoked), f"revoked key {key_id}; servers refuse it within five seconds")


def key_json(key: ApiKey) -> dict[str, Any]:
    """A key as JSON values, without its digest."""
    plain = as_json(key)
    del plain["digest"]
    return {"key_id": plain.pop("id"), **plain}


def _postgres_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", choices=["distribute"], help="distribute the tables by owner")
    parser.add_argument("url", nargs="?", help="the coordinator; default: --db, else RICORDO_URL")
    parser.add_argument("--dry-run", action="store_true", help="print the SQL that would run, and change nothing")
    parser.add_argument("--shards", metavar="N", type=int, help="shards of a table; default: the server's (32)")


@command(
    "distribute a PostgreSQL database over the workers of a Citus cluster",
    _postgres_arguments,
    "ricordo postgres distribute postgresql://admin@coordinator/chat --dry-run",
)
def postgres(options: Options, output: Output) -> None:
    from ricordo.stores.postgres.distribute import distribute

    url = options.url or database_of(options)
    if not is_postgres(url):
        raise ValidationError("url", "expected the postgresql:// URL of a Citus coordinator")
    planned = distribute(url, shards=options.shards, dry_run=True)
    if options.dry_run:
        if output.as_json or not planned.statements:
            output.document(as_json(planned), f"{planned.location} is distributed: nothing to do")
        else:
            output.raw(planned.sql)
        return
    output.note(*(Text(one_line(statement, 78), "dim") for statement in planned.statements))
    done = distribute(url, shards=options.shards)
    where = f"over {done.workers} workers" if done.workers else "on the coordinator, which has no workers yet"
    verdict = f"{len(done.statements)} statements run" if done.statements else "nothing to do"
    output.document(as_json(done), f"{done.location}: {len(done.distributed)} tables distributed {where}; {verdict}")
