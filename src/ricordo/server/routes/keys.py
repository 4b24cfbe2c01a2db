"""API keys of a tenant: made, listed and revoked by whoever may care for the tenant as a whole."""

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter

from ricordo.errors import NotFoundError
from ricordo.limits import Limits, check_text
from ricordo.server.asking import Calling, Serving, known_id
from ricordo.server.caller import check_user
from ricordo.server.keys import make_key
from ricordo.server.shapes.care import KeysOut, NewKeyOut
from ricordo.server.shapes.inputs import KeyIn
from ricordo.service import ApiKey

router = APIRouter(prefix="/keys", tags=["keys"])


@router.post("", status_code=201, response_model=NewKeyOut)
def make(body: KeyIn, service: Serving, caller: Calling) -> dict[str, Any]:
    """Make an API key. The key is shown this once."""
    caller.must_rule()
    check_text("name", body.name, Limits())
    user = None if body.user_id is None else check_user("user_id", body.user_id)
    key_id, key, digest = make_key()
    now = service.memory(caller.tenant_id).clock.now()
    kept = ApiKey(key_id, caller.tenant_id, user, body.name, digest, now, scopes=tuple(dict.fromkeys(body.scopes)))
    service.store.put_key(kept)
    service.keyring.forget()
    return _key(kept) | {"key": key}


@router.get("", response_model=KeysOut)
def keys(service: Serving, caller: Calling) -> dict[str, Any]:
    """The tenant's keys, without their secrets."""
    caller.must_rule()
    return {"items": [_key(key) for key in service.store.keys(caller.tenant_id)]}


@router.delete("/{key_id}", status_code=204)
def revoke(key_id: str, service: Serving, caller: Calling) -> None:
    """Revoke a key: refused here from now on, and by other processes within five seconds."""
    caller.must_rule()
    now = service.memory(caller.tenant_id).clock.now()
    if not service.store.revoke_key(caller.tenant_id, known_id("key", key_id), now):
        raise NotFoundError("there is no such key")
    service.keyring.forget()


def _key(key: ApiKey) -> dict[str, Any]:
    plain = asdict(key)
    del plain["digest"]
    return plain | {"scopes": list(key.scopes)}
