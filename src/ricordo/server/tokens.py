"""JSON Web Tokens: HS256 with a shared secret, or RS256 and ES256 with published keys; Supabase's claims work.

The configuration decides which algorithms are allowed, never the token. Published keys are kept for ten minutes and
fetched anew for an unknown key id, but not more often than every ten seconds.
"""

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.request import urlopen

import jwt

from ricordo.errors import ValidationError
from ricordo.limits import check_id
from ricordo.server.caller import Caller, NotAllowed, check_user
from ricordo.server.options import ServerOptions

LEEWAY = 60
KEEP_SECONDS = 600.0
FETCH_AGAIN_SECONDS = 10.0
FETCH_TIMEOUT = 3.0
LARGEST_JWKS = 256 * 1024
USER_SCOPES = frozenset({"chat", "read", "write"})
_NOBODY = ("anon",)  # roles that stand for no user
_TOO_MUCH = ("service_role", "supabase_admin")  # keys of the database's owner have no place in a chat


class Tokens:
    """Checks tokens by the options. Thread-safe."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._published = _PublishedKeys(options.jwt_jwks) if options.jwt_jwks else None

    def caller(self, token: str) -> Caller:
        """The user behind a token, or NotAllowed."""
        claims = self._claims(token)
        role = claims.get("role")
        if role in _NOBODY or role in _TOO_MUCH:
            raise NotAllowed(f"tokens of the role {role!r} are not accepted; sign in as a user", 401)
        tenant = claims.get(self._options.jwt_tenant_claim, self._options.jwt_tenant)
        try:
            return Caller(
                tenant_id=check_id("tenant_id", tenant),
                user_id=check_user("sub", claims.get("sub")),
                scopes=USER_SCOPES,
                credential="token",
            )
        except ValidationError as error:
            raise NotAllowed(f"the token's claims cannot be used: {error}", 401) from error

    def _claims(self, token: str) -> Mapping[str, Any]:
        options = self._options
        try:
            if self._published:
                key: Any = self._published.key(jwt.get_unverified_header(token).get("kid"))
                allowed = ["RS256", "ES256"]
            elif options.jwt_secret:
                key, allowed = options.jwt_secret, ["HS256"]
            else:
                raise NotAllowed("tokens are not accepted here; use an API key", 401)
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=allowed,
                audience=options.jwt_audience or None,
                issuer=options.jwt_issuer or None,
                leeway=LEEWAY,
                options={"require": ["exp", "sub"], "verify_aud": bool(options.jwt_audience)},
            )
        except jwt.PyJWTError as error:
            raise NotAllowed(f"the token is not valid: {error}", 401) from error
        return claims


class _PublishedKeys:
    """The keys of a JWKS, from a URL or a file."""

    def __init__(self, place: str) -> None:
        self._place = place
        self._lock = threading.Lock()
        self._keys: dict[str | None, jwt.PyJWK] = {}
        self._fetched_at = float("-inf")

    def key(self, key_id: object) -> jwt.PyJWK:
        """The key of that id; without one, the only key there is."""
        with self._lock:
            age = monotonic() - self._fetched_at
            if age > KEEP_SECONDS or (self._find(key_id) is None and age > FETCH_AGAIN_SECONDS):
                self._fetch()
            found = self._find(key_id)
        if found is None:
            raise NotAllowed("the token was signed with a key that is not published", 401)
        return found

    def _find(self, key_id: object) -> jwt.PyJWK | None:
        if key_id is None:
            return next(iter(self._keys.values())) if len(self._keys) == 1 else None
        return self._keys.get(str(key_id))

    def _fetch(self) -> None:
        self._fetched_at = monotonic()
        try:
            if self._place.startswith(("http://", "https://")):
                with urlopen(self._place, timeout=FETCH_TIMEOUT) as answer:
                    text = answer.read(LARGEST_JWKS)
            else:
                text = Path(self._place).read_bytes()
            listed = json.loads(text)["keys"]
            usable = [jwt.PyJWK(each) for each in listed if each.get("kty") in ("RSA", "EC")]
        except (OSError, ValueError, KeyError, TypeError, jwt.PyJWTError) as error:
            if not self._keys:
                raise NotAllowed("the published keys cannot be read just now; try again", 401) from error
            return  # the keys at hand serve until the place can be read again
        self._keys = {each.key_id: each for each in usable}
