"""Who may come in: API keys, tokens of every accepted kind, and everything that is refused."""

import base64
import hmac
import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from server_samples import SECRETS, SPOKEN, a_key, a_problem, an_empty_store, ask, bearer, service_of, serving
from starlette.testclient import TestClient

from ricordo.errors import SettingsError, StoreUnavailable
from ricordo.records.service import ApiKey
from ricordo.server.credentials import (
    CACHE_SECONDS,
    JWKS_RETRY_SECONDS,
    OUTAGE_CACHE_SECONDS,
    USE_INTERVAL_SECONDS,
    ApiKeys,
)
from ricordo.server.options import ServerOptions, is_loopback, load_options
from ricordo.testing.fakes import START, StoreProxy

SECRET = "a shared secret of more than thirty-two bytes"
RSA, EC, OTHER = (
    rsa.generate_private_key(65537, 2048),
    ec.generate_private_key(ec.SECP256R1()),
    ec.generate_private_key(ec.SECP256R1()),
)
ISSUER = "https://project.supabase.co/auth/v1"


def claims(**more: Any) -> dict[str, Any]:
    """The claims of a user who is signed in, as Supabase writes them."""
    now = int(time.time())
    base = {"sub": "anna", "aud": "authenticated", "iss": ISSUER, "role": "authenticated", "iat": now, "exp": now + 600}
    return {name: value for name, value in (base | more).items() if value is not None}


def token(key: Any = SECRET, algorithm: str = "HS256", kid: str | None = None, **more: Any) -> str:
    """A signed token."""
    made = jwt.encode(claims(**more), key, algorithm, headers={"kid": kid} if kid else None)
    SECRETS.append(made)
    return made


class Published(ThreadingHTTPServer):
    """A place that publishes keys, and counts how often it is asked."""

    def __init__(self) -> None:
        self.asked, self.keys = 0, [_public(RSA, "r1"), _public(EC, "e1")]
        super().__init__(("127.0.0.1", 0), _Publishing)


class _Publishing(BaseHTTPRequestHandler):
    server: Published

    def do_GET(self) -> None:
        self.server.asked += 1
        body = json.dumps({"keys": self.server.keys}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: Any) -> None:
        """Quiet."""


def _public(key: Any, kid: str) -> dict[str, Any]:
    if isinstance(key, rsa.RSAPrivateKey):
        return {**RSAAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "alg": "RS256", "use": "sig"}
    return {**ECAlgorithm.to_jwk(key.public_key(), as_dict=True), "kid": kid, "alg": "ES256", "use": "sig"}


@pytest.fixture
def published() -> Iterator[Published]:
    """Published keys behind a real address."""
    server = Published()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(10)


def me(client: TestClient, credential: str) -> Any:
    """Who the server takes a credential for."""
    return client.get("/me", headers=bearer(credential))


def test_nobody_comes_in_without_a_credential() -> None:
    """Every route but health and metrics wants one; the answer says how to send it."""
    with serving(auth=True) as client:
        for path in ("/me", "/sessions", "/facts", "/keys", "/stats", "/search?q=x", "/v1/models"):
            response = client.get(path)
            assert response.status_code == 401
            assert response.headers["WWW-Authenticate"] == "Bearer"
        assert client.get("/sessions", headers={"Authorization": "Basic YTpi"}).status_code == 401
        assert client.post("/chat", json={"query": SPOKEN}).status_code == 401
        for path in ("/health", "/health/live", "/metrics", "/openapi.json"):
            assert client.get(path).status_code == 200


def test_a_key_is_shown_once_kept_as_a_digest_and_revoked() -> None:
    """The secret is in the answer that makes it and nowhere after; a revoked key is refused at once."""
    store = an_empty_store()
    admin = bearer(a_key(store, "default", None, "admin"))
    with serving(store, auth=True) as client:
        made = client.post("/keys", json={"name": "course", "user_id": "anna"}, headers=admin).json()
        SECRETS.append(made["key"])
        listed = client.get("/keys", headers=admin)
        assert made["key"] not in listed.text
        assert "digest" not in listed.text
        assert made["key"].rpartition("_")[2] not in str(store.keys.page("default"))
        assert me(client, made["key"]).json()["user_id"] == "anna"
        assert client.delete(f"/keys/{made['id']}", headers=admin).status_code == 204
        a_problem(me(client, made["key"]), 401)
        a_problem(client.delete("/keys/unknown", headers=admin), 404)
        a_problem(client.delete("/keys/%00", headers=admin), 404)
        a_problem(client.post("/keys", json={"name": "x", "user_id": "ricordo:library"}, headers=admin), 422)
        a_problem(client.post("/keys", json={"name": "x", "scopes": ["everything"]}, headers=admin), 422)


def test_a_key_reaches_as_far_as_its_scopes() -> None:
    """A key to chat cannot read, one to read cannot write, none but admin makes keys, and no bound key rules."""
    store = an_empty_store()
    chat, read, write = (a_key(store, "default", "anna", scope) for scope in ("chat", "read", "write"))
    bound_admin = a_key(store, "default", "anna", "admin")
    with serving(store, auth=True) as client:
        allowed = {
            "chat": client.post("/chat", json={"query": SPOKEN}, headers=bearer(chat)).status_code,
            "read": client.get("/sessions", headers=bearer(read)).status_code,
            "write": client.post("/sessions", json={}, headers=bearer(write)).status_code,
        }
        assert allowed == {"chat": 200, "read": 200, "write": 201}
        a_problem(client.get("/sessions", headers=bearer(chat)), 403)
        a_problem(client.get("/stats", headers=bearer(chat)), 403)
        a_problem(client.post("/sessions", json={}, headers=bearer(read)), 403)
        a_problem(client.post("/chat", json={"query": SPOKEN}, headers=bearer(write)), 403)
        for key in (chat, read, write, bound_admin):
            a_problem(client.post("/keys", json={"name": "x"}, headers=bearer(key)), 403)
            a_problem(client.get("/keys", headers=bearer(key)), 403)
            a_problem(client.post("/documents?shared=1", json={"title": "x", "text": "y"}, headers=bearer(key)), 403)


def test_a_bound_key_speaks_for_its_user_alone() -> None:
    """Naming another user is refused wherever a user can be named; naming oneself is fine."""
    store = an_empty_store()
    key = bearer(a_key(store, "default", "anna"))
    with serving(store, auth=True) as client:
        assert client.get("/sessions?user_id=anna", headers=key).status_code == 200
        a_problem(client.get("/sessions?user_id=bruno", headers=key), 403)
        a_problem(client.get("/sessions", headers=key | {"X-Ricordo-User": "bruno"}), 403)
        a_problem(client.post("/chat", json={"query": SPOKEN, "user_id": "bruno"}, headers=key), 403)
        a_problem(client.post("/sessions", json={"user_id": "bruno"}, headers=key), 403)
        a_problem(client.delete("/users/bruno", headers=key), 403)
        a_problem(client.get("/users/bruno/export", headers=key), 403)
        refused = client.post("/v1/chat/completions", json={"user": "bruno", "messages": [_said()]}, headers=key)
        assert (refused.status_code, refused.json()["error"]["type"]) == (403, "invalid_request_error")


def _said() -> dict[str, str]:
    return {"role": "user", "content": SPOKEN}


def test_no_user_is_the_library() -> None:
    """The names of a tenant's own things are no users: neither in a request nor in a token."""
    with serving(jwt_secret=SECRET) as client:
        a_problem(client.get("/documents?user_id=ricordo:library"), 422)
        a_problem(client.post("/documents", json={"title": "x", "text": "y"}, headers=_as("ricordo:library")), 422)
    with serving(auth=True, jwt_secret=SECRET, jwt_audience="authenticated") as client:
        a_problem(me(client, token(sub="ricordo:library")), 401)


def _as(user: str) -> dict[str, str]:
    return {"X-Ricordo-User": user}


def test_keys_are_believed_for_a_while_and_their_use_is_noted() -> None:
    """No query within five seconds; then anew, so that a revocation elsewhere counts; uses are noted once a minute."""
    now = [0.0]
    store = Counting()
    key = a_key(store)
    ring = ApiKeys(store, clock=lambda: now[0])
    assert all(ring.find(key) for _ in range(5))
    assert store.lookups == 1
    ring.record_uses(START)
    assert store.keys.page("default")[0].last_used_at == START
    store.keys.revoke("default", store.keys.page("default")[0].id, START)
    assert ring.find(key)
    now[0] += CACHE_SECONDS + 0.1
    assert ring.find(key) is None
    assert ring.find("rk_unknown_key") is None


def test_known_keys_open_while_the_database_is_away() -> None:
    """A key that was good keeps its holder in for an hour; an unknown one cannot be judged."""
    now = [0.0]
    store = Counting()
    key = a_key(store)
    ring = ApiKeys(store, clock=lambda: now[0])
    assert ring.find(key)
    store.away = True
    now[0] = OUTAGE_CACHE_SECONDS - 1
    assert ring.find(key)
    now[0] = OUTAGE_CACHE_SECONDS + 1
    with pytest.raises(StoreUnavailable):
        ring.find(key)
    with pytest.raises(StoreUnavailable):
        ring.find("rk_unknown_key")


def test_the_use_of_a_key_is_noted_once_a_minute() -> None:
    """However often it is used, a key costs one write a minute."""
    now = [0.0]
    store = Counting()
    key = a_key(store)
    ring = ApiKeys(store, clock=lambda: now[0])
    for _ in range(3):
        ring.find(key)
        ring.record_uses(START)
    assert store.noted == 1
    now[0] += USE_INTERVAL_SECONDS
    ring.find(key)
    ring.record_uses(START)
    ring.record_uses(START)
    assert store.noted == 2


class Counting(StoreProxy):
    """A store that counts what keys cost it, and goes away on demand."""

    lookups = noted = 0
    away = False

    def keys_by_digest(self, digest: str) -> ApiKey | None:
        if self.away:
            raise StoreUnavailable("away")
        self.lookups += 1
        return self.inner.keys.by_digest(digest)

    def keys_used(self, key: ApiKey, now: Any) -> None:
        self.noted += 1
        self.inner.keys.used(key, now)


def test_a_shared_secret_opens_for_its_user() -> None:
    """HS256 with the claims as they should be: the user is the subject, the tenant the claim's or the default."""
    with serving(auth=True, jwt_secret=SECRET, jwt_audience="authenticated", jwt_issuer=ISSUER) as client:
        told = me(client, token()).json()
        assert (told["tenant_id"], told["user_id"], told["scopes"]) == ("default", "anna", ["chat", "read", "write"])
        assert me(client, token(tenant_id="acme")).json()["tenant_id"] == "acme"
        assert ask(client, headers=bearer(token()))["session_id"]


@pytest.mark.parametrize(
    "changed",
    [
        {"exp": 1},
        {"exp": None},
        {"sub": None},
        {"sub": ""},
        {"sub": "a\0b"},
        {"aud": "another"},
        {"aud": None},
        {"iss": "https://elsewhere.example"},
        {"iss": None},
        {"nbf": 2**40},
        {"role": "anon"},
        {"role": "service_role"},
        {"role": "supabase_admin"},
        {"tenant_id": ""},
        {"tenant_id": 7},
    ],
    ids=str,
)
def test_a_token_with_wrong_claims_is_refused(changed: dict[str, Any]) -> None:
    """Expired, for others, from others, of no user or of too much power: 401, never 500."""
    with serving(auth=True, jwt_secret=SECRET, jwt_audience="authenticated", jwt_issuer=ISSUER) as client:
        a_problem(me(client, _forged(claims(**changed))), 401)


def _forged(body: dict[str, Any], key: Any = SECRET, algorithm: str = "HS256", **headers: Any) -> str:
    made = jwt.PyJWS().encode(json.dumps(body).encode(), key, algorithm, headers={"typ": "JWT", **headers})
    SECRETS.append(made)
    return made


def _confused(body: dict[str, Any], key: bytes, kid: str) -> str:
    """A token signed with a public key as if it were a shared secret."""
    parts = [json.dumps(part).encode() for part in ({"alg": "HS256", "kid": kid}, body)]
    text = b".".join(base64.urlsafe_b64encode(part).rstrip(b"=") for part in parts)
    signature = base64.urlsafe_b64encode(hmac.digest(key, text, "sha256")).rstrip(b"=")
    return (text + b"." + signature).decode()


def _pem(key: rsa.RSAPrivateKey) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


@pytest.mark.parametrize("credential", ["x", "a.b.c", "..", "e30.e30.", "\u00ff", "a" * 9000])
def test_what_is_no_token_is_refused(credential: str) -> None:
    """Nonsense in place of a token: 401."""
    with serving(auth=True, jwt_secret=SECRET) as client:
        headers = {"Authorization": f"Bearer {credential}".encode("latin-1")}
        assert client.get("/me", headers=headers).status_code == 401


def test_published_keys_open_for_what_they_signed(published: Published) -> None:
    """RS256 and ES256 by key id; the keys are fetched once; a new one is found when it is first used."""
    place = f"http://127.0.0.1:{published.server_address[1]}/jwks.json"
    with serving(auth=True, jwt_jwks=place, jwt_audience="authenticated", jwt_issuer=ISSUER) as client:
        assert me(client, token(RSA, "RS256", "r1")).json()["user_id"] == "anna"
        assert me(client, token(EC, "ES256", "e1", sub="bruno")).json()["user_id"] == "bruno"
        assert published.asked == 1
        a_problem(me(client, token(OTHER, "ES256", "e1")), 401)
        a_problem(me(client, token(OTHER, "ES256", "e9")), 401)
        a_problem(me(client, token(RSA, "RS256", None)), 401)
        assert published.asked == 1  # unknown ids fetch at most every ten seconds
        published.keys.append(_public(OTHER, "e9"))
        service_of(client)._jwt._jwks._fetched_at -= JWKS_RETRY_SECONDS  # type: ignore[union-attr]
        assert me(client, token(OTHER, "ES256", "e9")).json()["user_id"] == "anna"
        assert published.asked == 2


def test_a_token_never_chooses_how_it_is_checked(published: Published) -> None:
    """With published keys neither HS256 with a public key as the secret, nor none, nor another curve opens anything."""
    place = f"http://127.0.0.1:{published.server_address[1]}/jwks.json"
    public = json.dumps(_public(RSA, "r1"))
    with serving(auth=True, jwt_jwks=place, jwt_audience="authenticated") as client:
        for made in (
            _confused(claims(), public.encode(), "r1"),
            _confused(claims(), _pem(RSA), "r1"),
            _forged(claims(), SECRET, "HS256", kid="e1"),
            _forged(claims(), None, "none", kid="e1"),
            token(rsa.generate_private_key(65537, 2048), "RS256", "e1"),
            token(RSA, "RS512", "r1"),
            token(RSA, "PS256", "r1"),
        ):
            a_problem(me(client, made), 401)
    with serving(auth=True, jwt_secret=SECRET) as client:
        for made in (token(EC, "ES256", "e1"), _forged(claims(), None, "none"), token(2 * SECRET, "HS384")):
            a_problem(me(client, made), 401)


def test_keys_may_lie_in_a_file(tmp_path: Any) -> None:
    """A JWKS in a file works; a missing one refuses and says that keys cannot be read, until it is there."""
    path = tmp_path / "jwks.json"
    with serving(auth=True, jwt_jwks=str(path)) as client:
        a_problem(me(client, token(EC, "ES256", "e1")), 401)
        path.write_text(json.dumps({"keys": [_public(EC, "e1"), {"kty": "oct", "k": "AAAA"}, {"kty": "weird"}]}))
        service_of(client)._jwt._jwks._fetched_at = float("-inf")  # type: ignore[union-attr]
        assert me(client, token(EC, "ES256", "e1")).status_code == 200


UNUSABLE: dict[str, Any] = {
    "encryption": {**_public(RSA, "x1"), "alg": "RSA-OAEP", "use": "enc"},
    "encryption without use": {name: value for name, value in _public(RSA, "x1").items() if name != "use"}
    | {"alg": "RSA-OAEP"},
    "unknown curve": {**_public(EC, "x1"), "crv": "P-9000"},
    "other curve": {**ECAlgorithm.to_jwk(ec.generate_private_key(ec.SECP384R1()).public_key(), as_dict=True)},
    "not a point": {**_public(EC, "x1"), "x": "AAAA"},
    "broken": {"kty": "RSA", "kid": "x1", "n": 7, "e": None},
    "id that is no text": {**_public(EC, "x1"), "kid": [1]},
    "no object": "key",
    "nothing": None,
    "number": 7,
    "nested": json.loads("[" * 200 + "]" * 200),
}


@pytest.mark.parametrize("unusable", UNUSABLE.values(), ids=UNUSABLE)
def test_an_unusable_key_shuts_out_none_of_the_others(
    tmp_path: Any, unusable: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """The keys that can be used are used; the rest is logged once, however often the JWKS is read."""
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [unusable, _public(EC, "e1"), unusable]}))
    with serving(auth=True, jwt_jwks=str(path)) as client:
        for _ in range(3):
            assert me(client, token(EC, "ES256", "e1")).status_code == 200
            assert me(client, token(EC, "ES256", None)).status_code == 200  # it is the only one that can be used
            service_of(client)._jwt._jwks._fetched_at = float("-inf")  # type: ignore[union-attr]
    assert len([record for record in caplog.records if "JWKS" in record.getMessage()]) == 1


@pytest.mark.parametrize(
    "text",
    [b'{"keys": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", b'{"keys": {"kid": "e1"}}', b"[]", b"null", b"\xff", b""],
    ids=["deep", "no list", "list", "null", "bytes", "empty"],
)
def test_a_jwks_that_cannot_be_read_leaves_the_known_keys(tmp_path: Any, text: bytes) -> None:
    """The keys that were read before are used on; a server that has none refuses with 401."""
    path = tmp_path / "jwks.json"
    path.write_text(json.dumps({"keys": [_public(EC, "e1")]}))
    with serving(auth=True, jwt_jwks=str(path)) as client:
        assert me(client, token(EC, "ES256", "e1")).status_code == 200
        path.write_bytes(text)
        service_of(client)._jwt._jwks._fetched_at = float("-inf")  # type: ignore[union-attr]
        assert me(client, token(EC, "ES256", "e1")).status_code == 200
    with serving(auth=True, jwt_jwks=str(path)) as client:
        a_problem(me(client, token(EC, "ES256", "e1")), 401)


def test_a_token_nested_without_end_is_refused() -> None:
    """Header and claims that no reader survives are 401."""
    deep = base64.urlsafe_b64encode(b"[" * 40_000).decode().rstrip("=")
    with serving(auth=True, jwt_secret=SECRET) as client:
        for made in (f"{deep}.e30.AAAA", f"eyJhbGciOiJIUzI1NiJ9.{deep}.AAAA"):
            a_problem(me(client, made), 401)


def test_without_a_way_to_check_them_tokens_are_refused() -> None:
    """Where neither a secret nor published keys are set, only API keys open."""
    with serving(auth=True) as client:
        assert "API key" in a_problem(me(client, token()), 401)["detail"]


def test_without_authentication_only_this_machine_is_served() -> None:
    """Any other address is refused before anything is opened; so are settings that would weaken a lock."""
    for host in ("127.0.0.1", "::1", "localhost", "127.8.8.8"):
        assert is_loopback(host)
        ServerOptions(host=host, auth=False)
    for host in ("0.0.0.0", "::", "10.0.0.1", "example.org", ""):
        with pytest.raises(SettingsError, match="authentication"):
            ServerOptions(host=host, auth=False)
        ServerOptions(host=host)
    for wrong in (
        {"jwt_secret": "short"},
        {"jwt_secret": SECRET, "jwt_jwks": "x"},
        {"cors_origins": ("*",)},
        {"port": 70_000},
        {"threads": 0},
        {"log_level": "loud"},
    ):
        with pytest.raises(SettingsError):
            ServerOptions(**wrong)  # type: ignore[arg-type]


def test_options_come_from_the_environment_and_are_not_shown() -> None:
    """Variables are parsed to their types, keywords go before them, and a secret is not printed."""
    environment = {
        "RICORDO_SERVER_PORT": "9000",
        "RICORDO_SERVER_AUTH": "off",
        "RICORDO_SERVER_JWT_SECRET": SECRET,
        "RICORDO_SERVER_CORS_ORIGINS": "https://a.example, https://b.example",
        "RICORDO_SERVER_SPOOL": "spool",
    }
    options = load_options({"port": 9001, "host": None}, environment)
    assert (options.port, options.auth, options.spool) == (9001, False, "spool")
    assert options.cors_origins == ("https://a.example", "https://b.example")
    assert SECRET not in repr(options)
    for name, value in (("PORT", "many"), ("AUTH", "perhaps")):
        with pytest.raises(SettingsError):
            load_options({}, {f"RICORDO_SERVER_{name}": value})


def test_credentials_that_are_guessed_have_to_wait() -> None:
    """After many refusals new credentials from that address wait; those known to be good go on."""
    store = an_empty_store()
    good = bearer(a_key(store))
    with serving(store, auth=True) as client:
        assert client.get("/me", headers=good).status_code == 200
        statuses = [client.get("/me", headers=bearer(f"rk_guess_{n}")).status_code for n in range(70)]
        assert statuses[0] == 401
        assert statuses[-1] == 429
        assert client.get("/me", headers=good).status_code == 200


def test_a_renewed_credential_is_not_locked_out_by_others() -> None:
    """Behind a proxy all come from one address: refused credentials of others never stop a valid one, new or not."""
    store = an_empty_store()
    with serving(store, auth=True, jwt_secret=SECRET) as client:
        for number in range(70):
            client.get("/me", headers=bearer(f"rk_guess_{number}"))
        assert client.get("/me", headers=bearer("rk_guess_again")).status_code == 429
        assert client.get("/me", headers=bearer("no.token.either")).status_code == 429
        assert me(client, token(sub="anna")).status_code == 200
        assert me(client, a_key(store)).status_code == 200
        assert client.get("/openapi.json").status_code == 200
        a_problem(client.get("/me"), 401)  # none was sent, so none was guessed


def test_a_credential_has_one_rate_however_it_is_spelled() -> None:
    """Case of the scheme, spaces, and the spare bits of a signature make no new client of it."""
    store = an_empty_store()
    key, made = a_key(store), token()
    signature = made.rpartition(".")[2]
    for credential, spellings in (
        (key, [f"Bearer {key}", f"bearer {key}", f"BEARER   {key}", f"bEaReR {key} "]),
        (
            made,
            [f"Bearer {made}", f"Bearer {made}=", f"bearer {made[: -len(signature)]}{signature[:9]}!{signature[9:]}"],
        ),
    ):
        with serving(store, auth=True, jwt_secret=SECRET, requests_per_minute=2) as client:
            statuses = [client.get("/me", headers={"Authorization": each}).status_code for each in spellings]
            assert 429 in statuses, credential[:3]
            assert statuses.count(200) <= 2
