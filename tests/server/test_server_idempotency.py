"""Idempotency keys: which response is stored, and which credential gets it again."""

from server_samples import SECRETS, a_key, a_problem, an_empty_store, bearer, service_of, serving

from ricordo.testing.fakes import START


def test_a_stored_response_belongs_to_one_credential() -> None:
    """Another credential with the same key gets its own answer: no replay of what it may not do, nor of a refusal."""
    store = an_empty_store()
    admin, other, reader = (a_key(store, "default", None, scope) for scope in ("admin", "admin", "read"))
    key = {"Idempotency-Key": "k1"}
    with serving(store, auth=True) as client:
        made = client.post("/sessions", json={"title": "One"}, headers=bearer(admin) | key)
        assert made.status_code == 201
        a_problem(client.post("/sessions", json={"title": "One"}, headers=bearer(reader) | key), 403)
        refused = {"Idempotency-Key": "k2"}
        a_problem(client.post("/sessions", json={"title": "Two"}, headers=bearer(reader) | refused), 403)
        assert client.post("/sessions", json={"title": "Two"}, headers=bearer(other) | refused).status_code == 201


def test_a_response_with_a_secret_is_not_stored() -> None:
    """A new API key is shown once: neither its maker nor another credential gets it again by the same key."""
    store = an_empty_store()
    admin, reader = a_key(store, "default", None, "admin"), a_key(store, "default", None, "read")
    key = {"Idempotency-Key": "k1"}
    with serving(store, auth=True) as client:
        made = client.post("/keys", json={"name": "x"}, headers=bearer(admin) | key)
        SECRETS.append(made.json()["key"])
        assert made.headers["Cache-Control"] == "no-store"
        a_problem(client.post("/keys", json={"name": "x"}, headers=bearer(reader) | key), 403)
        told = a_problem(client.post("/keys", json={"name": "x"}, headers=bearer(admin) | key), 409)
        assert "once" in told["detail"]
        assert len(store.keys.page("default")) == 3


def test_only_what_was_done_is_stored() -> None:
    """A request that was refused is judged anew; a response is not given again to a key that was revoked."""
    store = an_empty_store()
    key = a_key(store, "default", "anna")
    said = {"query": "And a wombat?", "response": "Grass."}
    with serving(store, auth=True) as client:
        headers = bearer(key) | {"Idempotency-Key": "k1"}
        a_problem(client.post("/sessions/talk/messages", json=said, headers=headers), 404)
        service_of(client).memory("default").session("talk", user_id="anna").add_turn("Hello", "Hello!")
        stored = client.post("/sessions/talk/messages", json=said, headers=headers)
        assert stored.status_code == 201
        assert client.post("/sessions/talk/messages", json=said, headers=headers).content == stored.content
        store.keys.revoke("default", store.keys.page("default")[0].id, START)
        service_of(client).api_keys.clear_cache()
        a_problem(client.post("/sessions/talk/messages", json=said, headers=headers), 401)
