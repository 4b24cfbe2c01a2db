"""API keys: `rk_<id>_<secret>`, shown once. Only a digest is kept, which is enough for a secret that is random.

Looked-up keys are believed for five seconds, so that a request costs no query of its own and a key that was revoked
elsewhere is refused within that time; while the database is away, for an hour. Uses are noted together, once a minute.
"""

import hashlib
import json
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.request import urlopen

import jwt

from ricordo.errors import StoreError, StoreUnavailable, ValidationError
from ricordo.limits import check_id
from ricordo.records.service import ApiKey
from ricordo.server.caller import Caller, NotAllowed, check_user
from ricordo.server.options import ServerOptions
from ricordo.stores.protocols import Store

log = logging.getLogger("ricordo.server")

PREFIX = "rk"
BELIEVED_SECONDS = 5.0
BELIEVED_AWAY_SECONDS = 3_600.0
NOTED_SECONDS = 60.0
MOST = 10_000


def make_key() -> tuple[str, str, str]:
    """A new key's id, the key itself, and the digest to keep."""
    key_id = secrets.token_hex(6)
    secret = secrets.token_urlsafe(32).replace("_", "-")
    key = f"{PREFIX}_{key_id}_{secret}"
    return key_id, key, digest_of(key)


def digest_of(key: str) -> str:
    """What is kept of a key."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()


def looks_like_key(text: str) -> bool:
    """Whether a credential is meant as an API key; anything else is taken for a token."""
    return text.startswith(f"{PREFIX}_")


class Keyring:
    """The keys that were shown lately. Thread-safe."""

    def __init__(self, store: Store, clock: Callable[[], float] = monotonic) -> None:
        self._store = store
        self._clock = clock
        self._known: OrderedDict[str, tuple[float, ApiKey | None]] = OrderedDict()
        self._used: dict[str, ApiKey] = {}
        self._noted: OrderedDict[str, float] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, key: str) -> ApiKey | None:
        """The valid key that was shown; None for one that is unknown or revoked."""
        digest, now = digest_of(key), self._clock()
        with self._lock:
            seen, known = self._known.get(digest, (float("-inf"), None))
        if now - seen > BELIEVED_SECONDS:
            try:
                known = self._store.keys.by_digest(digest)
            except StoreUnavailable:
                if known is None or now - seen > BELIEVED_AWAY_SECONDS:
                    raise
            else:
                self._remember(digest, now, known)
        if known is None or not known.is_valid:
            return None
        with self._lock:
            self._used[digest] = known
        return known

    def forget(self) -> None:
        """Keys have changed: look each of them up anew."""
        with self._lock:
            self._known.clear()

    def note_uses(self, now: datetime) -> None:
        """Write down when keys were used, each at most once a minute."""
        moment = self._clock()
        with self._lock:
            used, self._used = self._used, {}
            due = {
                digest: key
                for digest, key in used.items()
                if moment - self._noted.get(digest, float("-inf")) >= NOTED_SECONDS
            }
        for digest, key in due.items():
            try:
                self._store.keys.used(key, now)
            except StoreError as error:
                log.warning("the use of a key could not be noted: %s", error, extra={"operation": "key_used"})
                return
            with self._lock:
                self._noted[digest] = moment
                _bound(self._noted)

    def _remember(self, digest: str, now: float, key: ApiKey | None) -> None:
        with self._lock:
            self._known[digest] = (now, key)
            self._known.move_to_end(digest)
            _bound(self._known)


def _bound(kept: "OrderedDict[str, float] | OrderedDict[str, tuple[float, ApiKey | None]]") -> None:
    while len(kept) > MOST:
        kept.popitem(last=False)


# JSON Web Tokens: HS256 with a shared secret, or RS256 and ES256 with published keys; Supabase's claims work.

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
