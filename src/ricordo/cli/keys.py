"""`ricordo keys`: API keys of a server, made, listed and revoked where its data lies.

A key is shown once, alone on stdout; only a digest of it is kept. A running server learns of a change within seconds.
"""

import argparse
from typing import Any

from rich.text import Text

from ricordo.cli.documents import whole_store
from ricordo.cli.options import Command, Options, open_memory
from ricordo.cli.output import Output, one_line, shown, table
from ricordo.cli.reading import day
from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_id, check_text
from ricordo.reports import as_json
from ricordo.service import ApiKey

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
    from ricordo.server.keys import make_key

    with open_memory(options, create=True) as memory:
        check_text("name", options.what, memory.settings.limits)
        user = None if options.bind is None else check_user("bind", options.bind)
        key_id, key, digest = make_key()
        scopes = tuple(dict.fromkeys(options.scope or USUAL))
        tenant, now = memory.settings.tenant_id, memory.clock.now()
        kept = ApiKey(key_id, tenant, user, options.what, digest, now, scopes=scopes)
        whole_store(memory).put_key(kept)
    if output.as_json:
        output.document(key_json(kept) | {"key": key})
    else:
        output.raw(key)
        whose = "any user" if user is None else f"user {user!r}"
        output.aside(f"key {key_id} of tenant {tenant!r}, for {whose}: {', '.join(scopes)}. It is shown this once.")
    return 0


def _list(options: Options, output: Output) -> int:
    with open_memory(options) as memory:
        found = whole_store(memory).keys(memory.settings.tenant_id)
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
        revoked = whole_store(memory).revoke_key(tenant, key_id, memory.clock.now())
    if revoked is None:
        raise NotFoundError(f"tenant {tenant!r} has no key {key_id!r}; `ricordo keys` lists them")
    output.document(key_json(revoked), f"revoked key {key_id}; servers refuse it within five seconds")
    return 0


def key_json(key: ApiKey) -> dict[str, Any]:
    """A key as plain values, without what it is checked by."""
    plain = as_json(key)
    del plain["digest"]
    return {"key_id": plain.pop("id"), **plain}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("action", nargs="?", choices=list(_WHAT), default="list", help="default: %(default)s")
    parser.add_argument("what", nargs="?", help="for make: a name; for revoke: the key's id")
    parser.add_argument("--bind", metavar="USER", help="for make: to one user; default: any user of the tenant")
    parser.add_argument(
        "--scope", choices=SCOPES, action="append", help="for make; repeatable; default: chat, read and write"
    )


COMMANDS = (
    Command(
        "keys",
        "make, list or revoke the API keys of a server",
        keys,
        _arguments,
        "ricordo keys make course --scope chat",
    ),
)
