"""What a server holds in memory has a bound, however many come and however long they stay."""

import asyncio
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from time import monotonic

import pytest
from hypothesis import given
from hypothesis import strategies as st
from server_samples import ask, for_chat_alone, service, settings
from server_samples import serving as serving_to

from ricordo import worker
from ricordo.chat.response import ChatResponse, Delta, Done, Event
from ricordo.engine.core import Scope
from ricordo.memory import Memory
from ricordo.records.turns import Owner
from ricordo.server import app, middleware, streams
from ricordo.server import service as serving
from ricordo.server.app import Scheduler
from ricordo.server.middleware import WINDOW_SECONDS, RateLimiter
from ricordo.server.problems import error_body
from ricordo.server.streams import AnswerRegistry
from ricordo.stores.memory import MemoryStore
from ricordo.testing.fakes import ScriptedLLM
from ricordo.turns.write import after_turn
from ricordo.worker import WorkQueue

ANNA = Owner("acme", "anna")


async def give(answers: AnswerRegistry, turn_id: str, text: str = "") -> None:
    """Have a turn answered, to its end."""
    events: list[Event] = [Delta(text), Done(ChatResponse("q", text, (), "other", 0.0, "s1"))]
    await answers.begin(ANNA, turn_id, lambda stop: (event for event in events)).last()


@given(st.lists(st.integers(0, 30_000), min_size=1, max_size=12))
def test_answers_at_hand_have_a_bound_on_their_size(lengths: list[int]) -> None:
    """However long answers are, those at hand stay within the bytes allowed, and they are the newest ones."""
    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(1) as pool:
        patch.setattr(streams, "MAX_FINISHED_BYTES", 50_000)
        answers = AnswerRegistry(pool, error_body)
        for number, length in enumerate(lengths):
            asyncio.run(give(answers, f"t{number}", "x" * length))
        at_hand = [number for number in range(len(lengths)) if answers.find(ANNA, f"t{number}")]
        assert (
            sum(2 * lengths[number] for number in at_hand) <= 50_000
        )  # the text comes in pieces, and whole at the end
        assert at_hand == list(range(len(lengths)))[len(lengths) - len(at_hand) :]
        if lengths[-1] < 20_000:
            assert at_hand


def test_memory_can_be_watched() -> None:
    """The metrics tell what the process and the answers at hand take."""
    with serving_to(llm=ScriptedLLM("word " * 500), chosen=for_chat_alone()) as client:

        def figure(name: str) -> float:
            return float(re.findall(rf"^{name} (\S+)$", client.get("/metrics").text, re.M)[0])

        assert figure("ricordo_answers_kept_bytes") == 0.0
        ask(client)
        patience = monotonic() + 10  # the thread that wrote the answer keeps it after its reader has it
        while (kept := figure("ricordo_answers_kept_bytes")) <= 2_500 and monotonic() < patience:
            pass
        assert kept > 2_500
        if sys.platform.startswith("linux"):
            assert figure("process_resident_memory_bytes") > 1e6


def test_an_answer_that_takes_long_keeps_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Finished answers make room also while an older one is still under way, which stays."""
    monkeypatch.setattr(streams, "MAX_FINISHED", 3)
    with ThreadPoolExecutor(2) as pool:
        answers = AnswerRegistry(pool, error_body)

        async def run() -> None:
            slow = answers.begin(ANNA, "slow", lambda stop: (Delta("") for _ in iter(stop, True)))
            for number in range(8):
                await give(answers, f"t{number}")
            assert [number for number in range(8) if answers.find(ANNA, f"t{number}")] == [5, 6, 7]
            assert answers.find(ANNA, "slow") is slow
            assert answers.stop(ANNA, "slow")
            await slow.last()

        asyncio.run(run())


@given(st.lists(st.tuples(st.integers(0, 5), st.floats(0, 40)), max_size=60), st.integers(1, 4))
def test_nobody_comes_more_often_than_allowed(visits: list[tuple[int, float]], most: int) -> None:
    """A visit is allowed exactly if fewer than the allowed ones of the same name were within the minute before."""
    moment = 0.0
    counted = RateLimiter(most, lambda: moment)
    allowed: list[tuple[int, float]] = []
    for name, pause in visits:
        moment += pause
        before = sum(other == name and at > moment - WINDOW_SECONDS for other, at in allowed)
        assert counted.allows(str(name)) == (before < most)
        assert counted.hit(str(name)) == (before < most)
        if before < most:
            allowed.append((name, moment))


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 100)), max_size=80))
def test_names_are_forgotten(visits: list[tuple[int, float]]) -> None:
    """Only so many names are kept in mind, and none that did not come within the minute."""
    moment = 0.0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(middleware, "MAX_CLIENTS", 7)
        counted = RateLimiter(5, lambda: moment)
        latest: dict[int, float] = {}
        for name, pause in visits:
            moment += pause
            counted.hit(str(name))
            latest[name] = moment
            assert len(counted) <= min(7, sum(at > moment - WINDOW_SECONDS for at in latest.values()))


def test_memories_of_tenants_make_room(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only so many tenants have a memory at once, those asked last; all that were served are still known by name."""
    monkeypatch.setattr(serving, "MOST_TENANTS", 3)
    served = service()
    first = served.memory("t0")
    first.session("s", user_id="anna").add_turn("hello", "hi")
    for number in range(6):
        served.memory(f"t{number}")
        assert len(served._tenants) <= 3
    assert set(served._tenants) == {"t3", "t4", "t5"}
    again = served.memory("t0")
    assert again is not first
    assert [turn.query for turn in again.session("s", user_id="anna").window().turns] == ["hello"]
    assert {f"t{number}" for number in range(6)} <= set(served.tenants())
    served.close()


def test_names_of_tenants_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more tenants than are kept in mind those served last are known by name, and always the one of the settings."""
    monkeypatch.setattr(serving, "MOST_TENANTS", 3)
    monkeypatch.setattr(serving, "MOST_SERVED", 5)
    served = service()
    for number in range(20):
        served.memory(f"t{number}")
        served.memory("t0")
    own = served.settings.tenant_id
    assert served.tenants() == [own, "t16", "t17", "t18", "t19", "t0"]
    served.close()


def test_wishes_have_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """While nothing can be written into the queue, only the latest sessions are kept for it."""
    monkeypatch.setattr(worker, "MOST_NOTED", 4)
    served = service()
    for number in range(20):
        served.jobs.note(ANNA, f"s{number}")
    assert [session for _, session in served.jobs._noted] == ["s16", "s17", "s18", "s19"]
    served.close()


def test_cleaning_up_needs_no_memory_of_those_who_are_not_due() -> None:
    """Tenants whose cleanup is not due are not brought back into memory by the clock."""
    served = service(chosen=settings(session_idle="30d"))
    scheduler = Scheduler(served)
    served.memory("t1")
    served._tenants.clear()
    scheduler.cleanup()
    assert "t1" in served._tenants
    served._tenants.clear()
    scheduler.cleanup()
    assert not served._tenants
    served.close()


def test_sessions_that_wait_for_work_have_a_bound() -> None:
    """Of more sessions than may wait for the work beside the chat those that spoke last stay."""
    made = Memory(MemoryStore(), settings())
    engine = made._engine
    made.rest()
    engine.queue = WorkQueue(index=lambda *_: None, people=lambda *_: None, most=3)
    engine.queue.close()
    for number in range(10):
        after_turn(engine, Scope(ANNA, f"s{number}", "assistant"))
    assert [session for _, session in engine.queue.index.sessions] == ["s7", "s8", "s9"]
    assert [session for _, session in engine.queue.people.sessions] == ["s7", "s8", "s9"]
    after_turn(engine, Scope(ANNA, "s7", "assistant"))
    assert [session for _, session in engine.queue.index.sessions] == ["s8", "s9", "s7"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the heaps of glibc")
def test_threads_share_their_heaps() -> None:
    """Many threads that allocate at once have no more heaps between them than the server allows."""
    program = """
import ctypes, threading
from ricordo.server.app import limit_malloc_arenas
limit_malloc_arenas()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
everybody = threading.Barrier(16)
def work():
    everybody.wait()
    for _ in range(100):
        libc.malloc(2_000)
    everybody.wait()
threads = [threading.Thread(target=work) for _ in range(16)]
for each in threads: each.start()
for each in threads: each.join()
libc.open_memstream.restype = ctypes.c_void_p
text, size = ctypes.c_char_p(), ctypes.c_size_t()
file = ctypes.c_void_p(libc.open_memstream(ctypes.byref(text), ctypes.byref(size)))
libc.malloc_info(0, file)
libc.fclose(file)
print(text.value.decode().count("<heap nr="))
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60)
    assert int(told.stdout) <= app.MALLOC_ARENAS
