"""What a server does besides answering: its log, its clock, its queue, and going on while the database is away."""

import io
import json
import logging
from datetime import timedelta
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from server_samples import SPOKEN, a_key, a_problem, an_empty_store, ask, bearer, service, service_of, serving, settings

import ricordo
from ricordo.errors import LLMError, SettingsError, StoreUnavailable
from ricordo.records.turns import Owner
from ricordo.server import logging as lines
from ricordo.server.app import Scheduler, open_store
from ricordo.server.options import ServerOptions, chosen_spool
from ricordo.stores.memory import MemoryStore
from ricordo.stores.open import spool_directory
from ricordo.stores.spool import SpooledStore, SpoolTimeouts
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import ScriptedLLM, StoreProxy, a_turn
from ricordo.worker import ATTEMPTS, RenewedLease, now

ANNA = Owner("default", "anna")
QUICK = SpoolTimeouts(
    probe_interval=0.01, first_pause=0.002, longest_pause=0.02, open_after=2.0, probe_after=0.05, drain=10.0
)


def test_the_log_is_json_with_known_fields_alone() -> None:
    """A line has its event, level, time and the fields it was given; unknown fields and words of failures stay out."""
    written = io.StringIO()
    handler = lines.configure_logging("info", written)
    try:
        log = logging.getLogger("ricordo.server")
        log.info("request", extra={"operation": "GET /x", "tenant_id": "acme", "secret": "hush", "session_id": None})
        try:
            raise ValueError("the words of a user")
        except ValueError:
            log.exception("it failed", extra={"operation": "POST /x"})
        log.debug("not at this level")
    finally:
        lines.remove_handler(handler)
    first, second = (json.loads(line) for line in written.getvalue().splitlines())
    assert (first["event"], first["level"], first["logger"]) == ("request", "info", "ricordo.server")
    assert (first["operation"], first["tenant_id"]) == ("GET /x", "acme")
    assert not {"secret", "session_id"} & set(first)
    assert (second["failure"], second["operation"]) == ("ValueError", "POST /x")
    assert "words" not in str(second)


def test_lines_of_one_request_carry_its_id() -> None:
    """What is logged on the way to an answer, in any thread, names the request it belongs to."""

    class Away(StoreProxy):
        def turns_append(self, *args: Any, **more: Any) -> Any:
            raise StoreUnavailable("away")

    written = io.StringIO()
    handler = lines.configure_logging("info", written)
    try:
        with serving(Away()) as client:
            answer = ask(client, headers={"X-Request-Id": "mine-7"})
    finally:
        lines.remove_handler(handler)
    assert answer["metadata"]["turn_number"] is None
    assert "away" in answer["metadata"]["degraded"][0]
    told = [json.loads(line) for line in written.getvalue().splitlines()]
    (failed,) = [line for line in told if line.get("operation") == "chat"]
    assert (failed["request_id"], failed["user_id"]) == ("mine-7", "anna")


class Switched(StoreProxy):
    """A store that can be away."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.up = True

    def close(self) -> None:
        """What is kept stays."""

    def through(self, call: str, method: Any) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            if not self.up:
                raise StoreUnavailable("host db.internal is away")
            return method(*args, **kwargs)

        return called


def test_chats_go_on_while_the_database_is_away(tmp_path: Path) -> None:
    """Answers are given and kept on disk; headers, health and metrics say so; what needs the database is 503."""
    inner = Switched(MemoryStore())
    store: Any = SpooledStore(lambda: inner, tmp_path, scratch=MemoryStore(), timeouts=QUICK)
    with serving(store) as client:
        session = ask(client)["session_id"]
        inner.up = False
        response = client.post("/chat", json={"query": SPOKEN, "user_id": "anna", "session_id": session})
        assert response.json()["metadata"]["turn_number"] == 2
        assert any("kept on disk" in note for note in response.json()["metadata"]["degraded"])
        response = client.get("/health")
        assert (response.status_code, response.json()["status"]) == (200, "degraded")
        assert response.headers["X-Ricordo-Degraded"] == "1"
        assert response.json()["spool"]["depth"] >= 1
        assert "db.internal" not in response.text
        assert "ricordo_degraded 1.0" in client.get("/metrics").text
        refused = client.get("/sessions?user_id=anna")
        assert "db.internal" not in a_problem(refused, 503)["detail"]
        assert refused.headers["Retry-After"]
        inner.up = True
        assert store.settle(20)
        assert client.get("/health").json()["status"] == "ok"
        turns = client.get(f"/sessions/{session}/messages?user_id=anna").json()["items"]
        assert [turn["turn_number"] for turn in turns] == [1, 2]


def test_every_way_to_write_is_counted() -> None:
    """Turns count from whichever route, a message only where it begins one; so do summaries, and what failed."""
    inner: Any = Switched(MemoryStore())
    with serving(inner, chosen=settings(condense="on")) as client:
        session = ask(client)["session_id"]
        place = f"/sessions/{session}/messages?user_id=anna"
        assert client.post(place, json={"query": "And a wombat?", "response": "Grass."}).status_code == 201
        assert client.post(place, json={"role": "user", "content": "And a koala?"}).status_code == 201
        assert client.post(place, json={"role": "assistant", "content": "Leaves."}).status_code == 201
        body = {"messages": [{"role": "user", "content": "And a numbat?"}], "user": "anna"}
        assert client.post("/v1/chat/completions", json=body).status_code == 200
        for n in range(12):
            client.post(place, json={"query": f"And number {n}?", "response": "It eats ants. " * 20})
        memory = service_of(client).memory("default")
        assert memory.session(session, user_id="anna").condense() is not None
        text = client.get("/metrics").text
        assert "ricordo_turn_writes_total 16.0" in text
        assert "ricordo_condensations_total 1.0" in text
        assert "ricordo_context_seconds_count 2.0" in text
        inner.up = False
        ask(client)
        assert 'ricordo_failures_total{operation="append"} 1.0' in client.get("/metrics").text


def test_health_is_down_only_where_nothing_can_be_kept() -> None:
    """Without a spool a database that is away is 503, without a word of where it is."""
    inner: Any = Switched(MemoryStore())
    with serving(inner) as client:
        assert client.get("/health").json()["status"] == "ok"
        inner.up = False
        response = client.get("/health/ready")
        assert (response.status_code, response.json()["status"]) == (503, "down")
        assert "db.internal" not in response.text
        assert client.get("/health/live").status_code == 200


def test_no_answer_tells_where_the_database_is(tmp_path: Path) -> None:
    """What a chat goes without is said, with and without a spool; hosts and causes are for the log."""
    for spooled in (False, True):
        inner: Any = Switched(MemoryStore())
        spool: Any = SpooledStore(lambda kept=inner: kept, tmp_path, scratch=MemoryStore(), timeouts=QUICK)
        with serving(spool if spooled else inner) as client:
            session = ask(client)["session_id"]
            inner.up = False
            asked = {"query": SPOKEN, "user_id": "anna", "session_id": session}
            for stream in (False, True):
                told = client.post("/chat", json={**asked, "stream": stream}).text
                assert spooled or "unavailable: the database is away" in told
                assert "db.internal" not in told
            inner.up = True
            assert not spooled or spool.settle(20)


def test_no_answer_tells_where_the_model_is(caplog: pytest.LogCaptureFixture) -> None:
    """That a model failed is said; its address is in the log, whatever becomes of the answer."""
    with serving(llm=ScriptedLLM(LLMError("model 'x' on http://gpu.internal/v1 is away"))) as client:
        for stream in (False, True):
            told = client.post("/chat", json={"query": SPOKEN, "user_id": "anna", "stream": stream}).text
            assert "The model failed" in told
            assert "gpu.internal" not in told
    assert any("gpu.internal" in record.getMessage() for record in caplog.records if record.levelname == "WARNING")


class Full(Switched):
    """A store on a disk that can be full: it is read as ever, and takes nothing."""

    def through(self, call: str, method: Any) -> Any:
        writes = ("turns.append", "turns.answer", "turns.add_message")
        return super().through(call, method) if call in writes else method


def test_a_database_that_takes_nothing_is_seen_from_outside() -> None:
    """Where it can still be read, health, stats and metrics say that nothing is kept, until something is again."""
    inner: Any = Full(MemoryStore())
    with serving(inner) as client:
        session = ask(client)["session_id"]
        inner.up = False
        assert ask(client, session_id=session)["metadata"]["turn_number"] is None
        health = client.get("/health")
        assert (health.status_code, health.json()["status"]) == (200, "degraded")
        assert health.json()["since"]
        assert "ricordo_degraded 1.0" in client.get("/metrics").text
        assert any("not stored" in note for note in client.get("/stats").json()["degraded"])
        inner.up = True
        assert ask(client, session_id=session)["metadata"]["turn_number"] == 2
        assert client.get("/health").json() == {"status": "ok", "store": "memory", "spool": None}
        assert "ricordo_degraded 0.0" in client.get("/metrics").text
        assert client.get("/stats").json()["degraded"] == []


def test_cleanup_runs_once_in_a_cluster() -> None:
    """Whoever has the lease cleans up; the others, and the same one before its time, do not."""
    store = an_empty_store()
    old = now() - timedelta(hours=30)
    store.turns.append(a_turn(ANNA, session_id="old", created_at=old))
    chosen = settings(preset="chat24h")
    one, two = (service(store, chosen=chosen) for _ in range(2))
    one.name, two.name = "one", "two"
    for each in (one, two, one):
        Scheduler(each).cleanup()
    assert b"ricordo_cleanups_total 1.0" in one.metrics.render()
    assert b"ricordo_cleaned_turns_total 1.0" in one.metrics.render()
    assert b"ricordo_cleanups_total 0.0" in two.metrics.render()
    assert not store.turns.page(ANNA, "old")


def test_work_that_fails_is_tried_again_and_given_up() -> None:
    """A job that fails waits longer each time, and after its attempts it stays as failed, for somebody to look at."""
    served = service()
    served.store.turns.append(a_turn(ANNA, session_id="s1"))
    served.store.jobs.enqueue(ANNA, "catch-up", "s1", now())

    class Broken:
        def catch_up(self, *args: Any, **more: Any) -> None:
            raise RuntimeError(f"about a {SPOKEN}")

    served.memory = lambda tenant_id: Broken()  # type: ignore[method-assign, assignment, return-value]
    due = now()
    for attempt in range(1, ATTEMPTS + 1):
        (job,) = served.store.jobs.take("w", due, timedelta(minutes=5))
        assert job.attempts == attempt
        served.run_job(job)
        due += timedelta(days=1)
    (job,) = served.store.jobs.page(ANNA)
    assert job.due_at is None
    assert job.last_error == "RuntimeError"


def test_work_is_done_and_leaves_the_queue() -> None:
    """A job that is due is done once; one about a session that is gone is dropped."""
    served = service()
    served.store.turns.append(a_turn(ANNA, session_id="s1"))
    served.store.jobs.enqueue(ANNA, "catch-up", "s1", now())
    served.store.jobs.enqueue(ANNA, "end", "s1", now())
    Scheduler(served).run_jobs()
    assert not served.store.jobs.page(ANNA)
    served.close()


def test_work_that_waits_is_seen_and_handed_back_at_the_end() -> None:
    """The queue is in the figures; whoever ends gives back what it took and did not do, for others to take at once."""
    with serving() as client:
        ask(client)
        service_of(client).jobs.flush()
        waiting = client.get("/stats").json()["jobs"]
        assert (waiting["pending"], waiting["leased"], waiting["failed"]) == (2, 0, 0)
        assert 'ricordo_jobs{state="pending"} 2.0' in client.get("/metrics").text
    store = an_empty_store()
    store.turns.append(a_turn(ANNA))
    for kind in ("catch-up", "end"):
        assert store.jobs.enqueue(ANNA, kind, "lesson", now() - timedelta(minutes=1))
    before = store.jobs.page(ANNA)
    ending = Scheduler(service(store))
    ending.close()
    ending.run_jobs()
    assert store.jobs.page(ANNA) == before
    assert len(store.jobs.take("another process", now(), timedelta(minutes=1), limit=8)) == 2


def test_a_lease_lasts_as_long_as_its_work() -> None:
    """While somebody is at a job nobody else gets it, however short its lease; let go, it is finished by its holder."""
    store = an_empty_store()
    store.turns.append(a_turn(ANNA))
    store.jobs.enqueue(ANNA, "catch-up", "lesson", now() - timedelta(minutes=1))
    lease = timedelta(seconds=6)
    (job,) = store.jobs.take("one", now(), lease)
    with RenewedLease(store, job, lease) as held:
        while held.job == job:
            assert store.jobs.take("another", now(), lease) == []
            sleep(0.01)
        assert held.job.leased_until > job.leased_until  # type: ignore[operator]
        assert store.jobs.take("another", now(), lease) == []
    assert store.jobs.finish(held.job)
    assert store.jobs.page(ANNA) == []


def test_wishes_outlive_a_database_that_is_away() -> None:
    """A wish that cannot be written is kept and written with the next tick."""
    inner = Switched(MemoryStore())
    inner.inner.turns.append(a_turn(ANNA, session_id="s1"))
    served = service(inner)  # type: ignore[arg-type]
    served.jobs.note(ANNA, "s1")
    inner.up = False
    with pytest.raises(StoreUnavailable):
        served.jobs.flush()
    inner.up = True
    served.jobs.flush()
    assert {job.kind for job in inner.inner.jobs.page(ANNA)} == {"catch-up", "end"}


def test_the_use_of_keys_is_noted_by_the_clock() -> None:
    """A tick writes down which keys were used."""
    store = an_empty_store()
    key = a_key(store)
    with serving(store, auth=True) as client:
        assert client.get("/me", headers=bearer(key)).status_code == 200
        service_of(client).note_keys()
        assert store.keys.page("default")[0].last_used_at is not None


def test_a_store_is_opened_with_a_spool_where_one_makes_sense(tmp_path: Path) -> None:
    """A file needs none and says so; a PostgreSQL that is away does not keep a server from starting."""
    store = open_store(str(tmp_path / "memory.db"), ServerOptions())
    assert isinstance(store, SqliteStore)
    store.close()
    with pytest.raises(SettingsError, match="spool"):
        open_store(str(tmp_path / "memory.db"), ServerOptions(spool=str(tmp_path / "spool")))
    away: Any = open_store("postgresql://nobody@127.0.0.1:1/none", ServerOptions(spool=str(tmp_path / "spool")))
    assert away.health().spool.degraded
    with serving(away) as client:
        assert ask(client)["metadata"]["turn_number"] == 1


def test_a_server_on_postgresql_has_a_spool_by_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It is in the state folder, the same for a new password, unless it is off; one that cannot be made is told."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    away: Any = open_store("postgresql://app:one@127.0.0.1:1/none", ServerOptions())
    assert away.health().spool.degraded
    away.close()
    (directory,) = (tmp_path / "state" / "ricordo" / "spool").iterdir()
    assert spool_directory("postgresql://app:two@127.0.0.1:1/none", "on") == directory
    assert spool_directory("postgresql://app:one@127.0.0.1:1/other", "on") != directory
    assert directory.stat().st_mode & 0o077 == 0
    named = settings(spool=str(tmp_path / "named"))
    assert chosen_spool("postgresql://h/d", ServerOptions(), named) == str(tmp_path / "named")
    assert chosen_spool("postgresql://h/d", ServerOptions(spool="off"), named) == "off"
    assert chosen_spool("memory.db", ServerOptions()) == "off"
    with pytest.raises(StoreUnavailable):
        open_store("postgresql://app:one@127.0.0.1:1/none", ServerOptions(spool="off"))
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert chosen_spool("postgresql://h/d", ServerOptions()) == "off"
    assert "there is no spool" in caplog.text


def test_a_memory_is_opened_with_a_spool(tmp_path: Path) -> None:
    """`spool` is a setting of `ricordo.open`: a database that is away is no error, and a file is refused."""
    with ricordo.open("postgresql://app@127.0.0.1:1/none", spool=str(tmp_path), embedder="light") as memory:
        turn = memory.session(user_id="anna").add_turn("What is a spool?", "Writes that wait.")
        assert turn.turn_number == 1
    with pytest.raises(SettingsError, match="leave it out for a file"):
        ricordo.open(tmp_path / "memory.db", spool="on")


def test_a_server_is_warm_before_its_first_request() -> None:
    """Embedder and tables are loaded, nothing is stored, and a failure to load keeps no server from starting."""
    store = an_empty_store()
    warmed = service(store)
    assert "not loaded" in warmed.memory("default").stats().embedder
    warmed.warm()
    assert "not loaded" not in warmed.memory("default").stats().embedder
    assert not list(store.owners("default"))
    broken = service(MemoryStore(), chosen=settings(embedder="http://127.0.0.1:1/v1#none"))
    broken.warm()
    with serving(chosen=settings(embedder="http://127.0.0.1:1/v1#none")) as client:
        assert ask(client)["message"]
    for each in (warmed, broken):
        each.close()


@pytest.mark.parametrize(
    "url",
    ["postgresql://app:tell-nobody@127.0.0.1:1/chat", "postgresql://127.0.0.1:1/chat?user=app&password=tell-nobody"],
)
def test_the_password_of_the_database_is_told_to_nobody(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, url: str
) -> None:
    """Where a database cannot be reached, neither the log nor the figures nor an error hold what opens it."""
    caplog.set_level("DEBUG")
    store: Any = open_store(url, ServerOptions(auth=False, spool=str(tmp_path)))
    with serving(store) as client:
        ask(client)
        told = [client.get(path).text for path in ("/health", "/stats", "/sessions?user_id=anna", "/metrics")]
        assert "127.0.0.1" in store.health().spool.last_error
        written = [f"{record.getMessage()} {record.__dict__}" for record in caplog.records]
        assert written
        assert not [each for each in (*told, *written, str(store.health()), store.location) if "tell-nobody" in each]
