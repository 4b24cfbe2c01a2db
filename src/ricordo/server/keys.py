"""API keys: `rk_<id>_<secret>`, shown once. Only a digest is kept, which is enough for a secret that is random.

Looked-up keys are believed for five seconds, so that a request costs no query of its own and a key that was revoked
elsewhere is refused within that time; while the database is away, for an hour. Uses are noted together, once a minute.
"""

import hashlib
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime
from time import monotonic

from ricordo.errors import StoreError, StoreUnavailable
from ricordo.ports import WholeStore
from ricordo.service import ApiKey

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

    def __init__(self, store: WholeStore, clock: Callable[[], float] = monotonic) -> None:
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
                known = self._store.key_by_digest(digest)
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
                self._store.key_used(key, now)
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
