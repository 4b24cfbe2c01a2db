"""A file of recently valid API keys, so that they work after a restart while the database is away.

It has digests, owners and scopes, never a key or its name. It is signed, so that an entry cannot be added by editing
the file. Each entry expires an hour after the database last confirmed the key. The file is in the spool directory,
where processes of one machine share it, with mode 0600.
"""

import hashlib
import hmac
import json
import logging
import os
import tempfile
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from time import time

from ricordo.records.service import ApiKey

log = logging.getLogger("ricordo.server")

FILE_NAME = "api-keys.json"
KEEP_SECONDS = 3_600.0
MAX_KEYS = 1_000
MAX_BYTES = 4 * 1024 * 1024

Confirmed = Mapping[str, tuple[float, ApiKey]]


class KeyCache:
    """Keys by digest, each with the time at which the database confirmed it. Thread-safe."""

    def __init__(self, directory: str | Path, url: str, clock: Callable[[], float] = time) -> None:
        self._path = Path(directory) / FILE_NAME
        self._secret = hashlib.sha256(b"ricordo api keys\0" + url.encode()).digest()
        self.now = clock

    def load(self) -> dict[str, tuple[float, ApiKey]]:
        """The keys that have not expired; none if the file is missing, damaged or has a wrong signature."""
        try:
            signature, _, body = self._path.read_bytes()[:MAX_BYTES].partition(b"\n")
            if not hmac.compare_digest(signature, self._sign(body)):
                log.warning("the file of API keys is not used: its signature is wrong", extra={"operation": "keys"})
                return {}
            rows = json.loads(body)
            found = {
                digest: (
                    at,
                    ApiKey(key_id, tenant, user, "", digest, datetime.fromisoformat(made), scopes=tuple(scopes)),
                )
                for digest, at, key_id, tenant, user, made, scopes in rows
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, TypeError, RecursionError) as error:
            log.warning("the file of API keys cannot be read: %s", type(error).__name__, extra={"operation": "keys"})
            return {}
        now = self.now()
        return {digest: entry for digest, entry in found.items() if 0 <= now - entry[0] <= KEEP_SECONDS}

    def save(self, confirmed: Confirmed) -> None:
        """Add keys that were confirmed to those of other processes; the latest `MAX_KEYS` stay."""
        entries = sorted({**self.load(), **confirmed}.values(), key=lambda entry: -entry[0])[:MAX_KEYS]
        rows = [
            [key.digest, at, key.id, key.tenant_id, key.user_id, key.created_at.isoformat(), list(key.scopes)]
            for at, key in entries
        ]
        body = json.dumps(rows).encode()
        try:
            handle, name = tempfile.mkstemp(prefix=FILE_NAME, dir=self._path.parent)  # with mode 0600
            with os.fdopen(handle, "wb") as file:
                file.write(self._sign(body) + b"\n" + body)
            os.replace(name, self._path)
        except OSError as error:
            log.warning("the file of API keys cannot be written: %s", error.strerror, extra={"operation": "keys"})

    def clear(self) -> None:
        """Remove the file, because keys have changed."""
        try:
            self._path.unlink(missing_ok=True)
        except OSError as error:
            log.warning("the file of API keys cannot be removed: %s", error.strerror, extra={"operation": "keys"})

    def _sign(self, body: bytes) -> bytes:
        return hmac.digest(self._secret, body, "sha256").hex().encode()
