"""The file of API keys: known keys work after a restart during an outage, and nothing else does."""

import json
from pathlib import Path
from typing import Any

import pytest
from server_samples import SECRETS, a_key, bearer, settings
from starlette.testclient import TestClient

from ricordo.errors import StoreUnavailable
from ricordo.records.service import ApiKey
from ricordo.server.app import create_app
from ricordo.server.credentials import ApiKeys
from ricordo.server.key_cache import FILE_NAME, KEEP_SECONDS, MAX_KEYS, KeyCache
from ricordo.server.options import ServerOptions
from ricordo.server.service import Service
from ricordo.testing.fakes import START, StoreProxy

URL = "postgresql://app:secret@db.example.org/chat"


class Away(StoreProxy):
    """A store whose keys cannot be read while it is away."""

    away = False

    def keys_by_digest(self, digest: str) -> ApiKey | None:
        if self.away:
            raise StoreUnavailable("away")
        return self.inner.keys.by_digest(digest)


def started(store: Away, directory: Path, url: str = URL, now: float = 1_000.0) -> ApiKeys:
    """The keys of a process that has just started."""
    return ApiKeys(store, on_disk=KeyCache(directory, url, lambda: now))


def test_known_keys_work_after_a_restart_during_an_outage(tmp_path: Path) -> None:
    """A key that a process has seen opens the next one, with its user and scopes; the file holds no secret."""
    store = Away()
    key, unseen = a_key(store, "acme", "anna", "read"), a_key(store)
    options = ServerOptions(threads=8)
    for away in (False, True):
        store.away = away
        service = Service(store, settings(), options, key_cache=KeyCache(tmp_path, URL))
        with TestClient(create_app(service)) as client:
            told = client.get("/me", headers=bearer(key)).json()
            assert (told["tenant_id"], told["user_id"], told["scopes"]) == ("acme", "anna", ["read"])
            if away:
                assert client.get("/me", headers=bearer(unseen)).status_code == 503
            assert client.get("/me", headers=bearer("rk_unknown_key")).status_code == (503 if away else 401)
            service.api_keys.save()
    stored = (tmp_path / FILE_NAME).read_text()
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o777 == 0o600
    assert not [secret for secret in SECRETS if secret in stored]
    assert not [each for each in (key, unseen) if each.rpartition("_")[2] in stored]  # nor a key without its id


def test_a_key_expires_and_its_time_is_not_extended(tmp_path: Path) -> None:
    """An hour after the database confirmed it, however often processes start meanwhile; never from the future."""
    store = Away()
    key = a_key(store)
    first = started(store, tmp_path)
    assert first.find(key)
    first.save()
    store.away = True
    late = started(store, tmp_path, now=1_000.0 + KEEP_SECONDS)
    assert late.find(key)
    late.save()
    for now in (1_001.0 + KEEP_SECONDS, 900.0):
        with pytest.raises(StoreUnavailable):
            started(store, tmp_path, now=now).find(key)


def _resigned(path: Path) -> None:
    signature, _, body = path.read_bytes().partition(b"\n")
    rows = json.loads(body)
    rows[0][6] = ["admin"]
    path.write_bytes(signature + b"\n" + json.dumps(rows).encode())


HARM: dict[str, Any] = {
    "changed": _resigned,
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-3]),
    "empty": lambda path: path.write_bytes(b""),
    "deep": lambda path: path.write_bytes(b"x\n" + b"[" * 100_000),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("harm", HARM.values(), ids=HARM)
def test_a_file_that_was_changed_opens_nothing(tmp_path: Path, harm: Any) -> None:
    """Changed, cut, gone, or of another database: no key is known."""
    store = Away()
    key = a_key(store)
    first = started(store, tmp_path)
    assert first.find(key)
    first.save()
    store.away = True
    with pytest.raises(StoreUnavailable):
        started(store, tmp_path, url=URL + "2").find(key)
    harm(tmp_path / FILE_NAME)
    with pytest.raises(StoreUnavailable):
        started(store, tmp_path).find(key)


def test_a_revoked_key_leaves_the_file(tmp_path: Path) -> None:
    """Once keys change, none is believed without the database; a key that was revoked is not written again."""
    store = Away()
    key = a_key(store)
    keys = started(store, tmp_path)
    assert keys.find(key)
    keys.save()
    store.keys.revoke("default", store.keys.page("default")[0].id, START)
    keys.clear_cache()
    assert keys.find(key) is None
    keys.save()
    store.away = True
    with pytest.raises(StoreUnavailable):
        started(store, tmp_path).find(key)


def test_the_file_is_bounded_and_shared(tmp_path: Path) -> None:
    """Processes add to one file, the latest keys stay; a directory that is gone is no failure."""
    entries = {str(n): (n, ApiKey(str(n), "t", None, "", str(n), START)) for n in range(MAX_KEYS + 5)}
    cache = KeyCache(tmp_path, URL, lambda: 2_000.0)
    cache.save({"0": entries["0"]})
    cache.save({"1": entries["1"]})
    assert set(cache.load()) == {"0", "1"}
    cache.save({digest: (float(at), key) for digest, (at, key) in entries.items()})
    assert len(cache.load()) == MAX_KEYS
    assert "0" not in cache.load()
    KeyCache(tmp_path / "gone", URL).save({"1": entries["1"]})
