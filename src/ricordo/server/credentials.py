"""Authentication: API keys (`rk_<id>_<secret>`) and JSON Web Tokens, and the caller that a valid one belongs to.

Only the digest of an API key is stored; that is enough for a random secret. A looked-up key is cached for five seconds,
so that a request needs no query and a key revoked elsewhere is refused soon; during an outage, for an hour.
"""

import hashlib
import json
import logging
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPException
from pathlib import Path
from time import monotonic
from typing import Any
from urllib.request import urlopen

import jwt

from ricordo.engine.core import LRU
from ricordo.errors import RicordoError, StoreError, StoreUnavailable, ValidationError
from ricordo.limits import check_id
from ricordo.records.service import ApiKey
from ricordo.records.turns import RESERVED
from ricordo.server.key_cache import KEEP_SECONDS, KeyCache
from ricordo.server.options import ServerOptions
from ricordo.stores.protocols import Store

log = logging.getLogger("ricordo.server")

ANONYMOUS = "anonymous"  # the user of a request that names none
SCOPES = ("chat", "read", "write", "admin")

KEY_PREFIX = "rk"
CACHE_SECONDS = 5.0
OUTAGE_CACHE_SECONDS = KEEP_SECONDS
USE_INTERVAL_SECONDS = 60.0
MAX_CACHED_KEYS = 10_000

LEEWAY_SECONDS = 60
JWKS_CACHE_SECONDS = 600.0
JWKS_RETRY_SECONDS = 10.0
JWKS_TIMEOUT = 3.0
MAX_JWKS_BYTES = 256 * 1024
MAX_LOGGED_KEYS = 10
ALGORITHMS = ("RS256", "ES256")  # of tokens that are verified with a JWKS
USER_SCOPES = frozenset({"chat", "read", "write"})
_REFUSED_ROLES = ("anon", "service_role", "supabase_admin")  # Supabase's roles that are not those of a single user


class AuthError(RicordoError):
    """The request is not authorized; `status` is 401 without a valid credential and 403 with one."""

    def __init__(self, detail: str, status: int = 403) -> None:
        super().__init__(detail)
        self.status = status


@dataclass(frozen=True, slots=True)
class Caller:
    """The identity behind a request. Without a `user_id` it may act for any user of its tenant.

    `credential` is its kind, and `key_id` the id of an API key.
    """

    tenant_id: str
    user_id: str | None = None
    scopes: frozenset[str] = frozenset(SCOPES)
    credential: str = "none"
    key_id: str = ""

    @property
    def identity(self) -> tuple[str, ...]:
        """Equal for requests with the same credential and rights; a renewed token of a user is equal too."""
        return (self.tenant_id, self.user_id or "", self.credential, self.key_id, *sorted(self.scopes))

    @property
    def authenticated(self) -> bool:
        """Whether it sent a credential."""
        return self.credential != "none"

    def resolve_user(self, user_id: str | None) -> str:
        """The user whose data the request is about: the credential's user, or the one that is named."""
        if self.user_id is not None:
            if user_id is not None and user_id != self.user_id:
                raise AuthError("this credential belongs to another user; leave user_id out")
            return self.user_id
        return ANONYMOUS if user_id is None else check_user_id("user_id", user_id)

    def require_scope(self, scope: str) -> None:
        """Raise AuthError unless the credential has the scope; `admin` includes the others."""
        if scope not in self.scopes and "admin" not in self.scopes:
            raise AuthError(f"this credential lacks the scope {scope!r}")

    def require_admin(self) -> None:
        """Raise AuthError unless the credential may administer the whole tenant."""
        self.require_scope("admin")
        if self.user_id is not None:
            raise AuthError("this credential is bound to one user; use one of the whole tenant")


def check_user_id(field: str, value: object) -> str:
    """A valid user id. Names with the reserved prefix belong to the tenant itself and are refused."""
    user_id = check_id(field, value)
    if user_id.startswith(RESERVED):
        raise ValidationError(field, f"{user_id!r} begins with a reserved prefix; choose another")
    return user_id


def required_scope(method: str, path: str) -> str:
    """The scope that a request needs."""
    if path.startswith(("/chat", "/v1/", "/ai/")):
        return "chat"
    return "read" if method in ("GET", "HEAD") else "write"


def bearer_token(authorization: str | None) -> str | None:
    """The credential in the header `Authorization: Bearer …`."""
    scheme, _, credential = (authorization or "").partition(" ")
    return (credential.strip() or None) if scheme.lower() == "bearer" else None


def generate_key() -> tuple[str, str, str]:
    """A new API key: its id, the key itself, and the digest to store."""
    key_id = secrets.token_hex(6)
    secret = secrets.token_urlsafe(32).replace("_", "-")
    key = f"{KEY_PREFIX}_{key_id}_{secret}"
    return key_id, key, key_digest(key)


def key_digest(key: str) -> str:
    """The digest that is stored of an API key."""
    return hashlib.sha256(key.encode(errors="replace")).hexdigest()


def is_api_key(credential: str) -> bool:
    """Whether a credential has the form of an API key; any other is treated as a JWT."""
    return credential.startswith(f"{KEY_PREFIX}_")


class ApiKeys:
    """Looks API keys up through a cache, and records when they were last used. Thread-safe."""

    def __init__(
        self, store: Store, clock: Callable[[], float] = monotonic, *, on_disk: KeyCache | None = None
    ) -> None:
        self._store = store
        self._clock = clock
        self._on_disk = on_disk
        self._confirmed: dict[str, tuple[float, ApiKey]] = {}  # not in the file on disk yet
        self._saved_at: LRU[str, float] = LRU(MAX_CACHED_KEYS)
        self._cached: LRU[str, tuple[float, ApiKey | None]] = LRU(MAX_CACHED_KEYS)
        self._used: dict[str, ApiKey] = {}
        self._recorded: LRU[str, float] = LRU(MAX_CACHED_KEYS)
        self._lock = threading.Lock()

    def find(self, key: str) -> ApiKey | None:
        """The stored key; None if it is unknown or revoked."""
        digest, now = key_digest(key), self._clock()
        with self._lock:
            cached_at, found = self._cached.get(digest) or (float("-inf"), None)
        if now - cached_at > CACHE_SECONDS:
            try:
                found = self._store.keys.by_digest(digest)
            except StoreUnavailable:
                if found is None and self._on_disk and (stored := self._on_disk.load().get(digest)):
                    cached_at, found = now - (self._on_disk.now() - stored[0]), stored[1]
                    self._cache(digest, cached_at, found)
                if found is None or now - cached_at > OUTAGE_CACHE_SECONDS:
                    raise
            else:
                self._cache(digest, now, found)
                self._confirm(digest, now, found)
        if found is None or not found.is_valid:
            return None
        with self._lock:
            self._used[digest] = found
        return found

    def clear_cache(self) -> None:
        """Look every key up again, because keys have changed."""
        with self._lock:
            self._cached.clear()
            self._confirmed.clear()
            self._saved_at.clear()
            if self._on_disk:
                self._on_disk.clear()

    def save(self) -> None:
        """Write the keys that the database confirmed to disk, each at most once a minute."""
        with self._lock:
            confirmed, self._confirmed = self._confirmed, {}
            if self._on_disk and confirmed:
                self._on_disk.save(confirmed)

    def record_uses(self, now: datetime) -> None:
        """Store when keys were used, at most once a minute for each key."""
        moment = self._clock()
        with self._lock:
            used, self._used = self._used, {}
            due = {digest: key for digest, key in used.items() if _is_due(self._recorded, digest, moment)}
        for digest, key in due.items():
            try:
                self._store.keys.used(key, now)
            except StoreError as error:
                log.warning("the use of an API key could not be stored: %s", error, extra={"operation": "key_used"})
                return
            with self._lock:
                self._recorded.put(digest, moment)

    def _confirm(self, digest: str, now: float, key: ApiKey | None) -> None:
        """Remember to write a valid key to disk."""
        if not self._on_disk or key is None or not key.is_valid:
            return
        with self._lock:
            if _is_due(self._saved_at, digest, now):
                self._saved_at.put(digest, now)
                self._confirmed[digest] = (self._on_disk.now(), key)

    def _cache(self, digest: str, now: float, key: ApiKey | None) -> None:
        with self._lock:
            self._cached.put(digest, (now, key))


def _is_due(last: LRU[str, float], digest: str, now: float) -> bool:
    before = last.get(digest)
    return before is None or now - before >= USE_INTERVAL_SECONDS


class JwtVerifier:
    """Verifies JSON Web Tokens: HS256 with a shared secret, or RS256 and ES256 with a JWKS. Thread-safe."""

    def __init__(self, options: ServerOptions) -> None:
        self._options = options
        self._jwks = _Jwks(options.jwt_jwks) if options.jwt_jwks else None

    def verify(self, token: str) -> Caller:
        """The caller of a token, or AuthError. Supabase's claims are supported."""
        claims = self._claims(token)
        role = claims.get("role")
        if role in _REFUSED_ROLES:
            raise AuthError(f"tokens of the role {role!r} are not accepted; sign in as a user", 401)
        tenant = claims.get(self._options.jwt_tenant_claim, self._options.jwt_tenant)
        try:
            return Caller(
                tenant_id=check_id("tenant_id", tenant),
                user_id=check_user_id("sub", claims.get("sub")),
                scopes=USER_SCOPES,
                credential="token",
            )
        except ValidationError as error:
            raise AuthError(f"the token's claims cannot be used: {error}", 401) from error

    def _claims(self, token: str) -> Mapping[str, Any]:
        options = self._options
        try:
            if self._jwks:
                key: Any = self._jwks.key(jwt.get_unverified_header(token).get("kid"))
                algorithms = list(ALGORITHMS)
            elif options.jwt_secret:
                key, algorithms = options.jwt_secret, ["HS256"]
            else:
                raise AuthError("tokens are not accepted here; use an API key", 401)
            claims: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=algorithms,
                audience=options.jwt_audience or None,
                issuer=options.jwt_issuer or None,
                leeway=LEEWAY_SECONDS,
                options={"require": ["exp", "sub"], "verify_aud": bool(options.jwt_audience)},
            )
        except jwt.PyJWTError as error:
            raise AuthError(f"the token is not valid: {error}", 401) from error
        except (RecursionError, ValueError) as error:  # nested too deeply, or a number that is too long
            raise AuthError("the token is not valid: it cannot be read", 401) from error
        return claims


class _Jwks:
    """The public keys of a JWKS, cached, from a URL or a file. Keys that cannot be used are logged once and ignored."""

    def __init__(self, location: str) -> None:
        self._location = location
        self._lock = threading.Lock()
        self._keys: tuple[jwt.PyJWK, ...] = ()
        self._unusable: tuple[str, ...] = ()
        self._fetched_at = float("-inf")

    def key(self, key_id: object) -> jwt.PyJWK:
        """The key with that id; without an id, the only key of the set."""
        if self._is_due(key_id) and self._lock.acquire(blocking=self._find(key_id) is None):
            try:  # other threads use the known keys meanwhile
                if self._is_due(key_id):
                    self._fetch()
            finally:
                self._lock.release()
        found = self._find(key_id)
        if found is None:
            raise AuthError("the token was signed with a key that is not in the JWKS", 401)
        return found

    def _is_due(self, key_id: object) -> bool:
        age = monotonic() - self._fetched_at
        return age > JWKS_CACHE_SECONDS or (self._find(key_id) is None and age > JWKS_RETRY_SECONDS)

    def _find(self, key_id: object) -> jwt.PyJWK | None:
        keys = self._keys
        if key_id is None:
            return keys[0] if len(keys) == 1 else None
        return next((each for each in keys if each.key_id == key_id), None)

    def _fetch(self) -> None:
        self._fetched_at = monotonic()
        try:
            if self._location.startswith(("http://", "https://")):
                with urlopen(self._location, timeout=JWKS_TIMEOUT) as response:
                    text = response.read(MAX_JWKS_BYTES)
            else:
                text = Path(self._location).read_bytes()
            listed = json.loads(text)["keys"]
            if not isinstance(listed, list):
                raise TypeError("`keys` is not a list")
        except (OSError, HTTPException, ValueError, KeyError, TypeError, RecursionError) as error:
            if not self._keys:
                raise AuthError("the JWKS cannot be read now; try again", 401) from error
            return  # the cached keys are used until the JWKS can be read again
        checked = [_public_key(each) for each in listed]
        self._keys = tuple(each for each in checked if isinstance(each, jwt.PyJWK))
        unusable = tuple(each for each in checked if isinstance(each, str))
        if unusable and unusable != self._unusable:
            reasons = "; ".join(unusable[:MAX_LOGGED_KEYS])
            log.warning("%d keys of the JWKS are not used: %s", len(unusable), reasons, extra={"operation": "jwks"})
        self._unusable = unusable


def _public_key(listed: object) -> jwt.PyJWK | str:
    """A key of a JWKS; the reason if it cannot verify our tokens."""
    if not isinstance(listed, dict):
        return "one is not an object"
    name = f"{listed.get('kid')!r}"[:60]
    if not isinstance(listed.get("kid"), str | None):
        return f"{name}: its id is not a text"
    if listed.get("kty") not in ("RSA", "EC") or listed.get("use", "sig") != "sig":
        return f"{name}: it is not a public key for signatures"
    try:
        key = jwt.PyJWK(listed)
    except Exception as error:  # the libraries raise many kinds for a key that they do not know
        return f"{name}: {type(error).__name__}"
    return key if key.algorithm_name in ALGORITHMS else f"{name}: its algorithm is not one of {', '.join(ALGORITHMS)}"
