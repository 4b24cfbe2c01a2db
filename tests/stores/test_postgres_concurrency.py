"""Many writers: gapless numbers in threads and processes, nothing acknowledged lost, nobody waits in a circle."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from ricordo.errors import ConflictError, NotFoundError, StoreError, StoreUnavailable
from ricordo.records.turns import Message, Owner, SessionInfo, Turn, message_id
from ricordo.stores.group_commit import Ticket
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.postgres.append_group import UnnumberedTurn, last_said

pytest_plugins = ["ricordo.testing.postgres"]

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
ANNA = Owner("acme", "anna")
WRITERS = 16


def a_turn(
    text: str = "hello", *, session_id: str = "chat", turn_id: str | None = None, answer: str | None = None
) -> Turn:
    """A turn of Anna's."""
    turn_id = turn_id or str(uuid4())
    said = Message(message_id(turn_id, "response"), "assistant", answer, NOW) if answer else None
    question = Message(message_id(turn_id, "query"), "user", text, NOW)
    return Turn(turn_id, ANNA, "tutor", session_id, 0, NOW, question, said)


def together(work: Callable[[int], object], writers: int = WRITERS) -> list[object]:
    """Results of the work done by many threads that start at the same moment; an error counts as a result."""
    gate = threading.Barrier(writers)

    def wait_and_work(number: int) -> object:
        gate.wait()
        try:
            return work(number)
        except (ConflictError, NotFoundError) as error:
            return error

    with ThreadPoolExecutor(writers) as threads:
        return list(threads.map(wait_and_work, range(writers)))


WRITER = """
import sys
from datetime import UTC, datetime
from uuid import uuid4
from ricordo.records.turns import Message, Owner, Turn
from ricordo.stores.group_commit import Ticket
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.postgres.append_group import UnnumberedTurn, last_said

url, who, turns = sys.argv[1], sys.argv[2], int(sys.argv[3])
store, owner = PostgresStore(url, pool_size=1), Owner("acme", "anna")
print("ready", flush=True)
sys.stdin.readline()
for number in range(turns):
    now = datetime.now(UTC)
    turn = Turn(str(uuid4()), owner, "tutor", "chat", 0, now, Message("", "user", f"{who}/{number}", now), None)
    print(store.turns.append(turn).turn_number, turn.id, flush=True)
"""


def child(url: str, who: str, turns: int) -> subprocess.Popen[str]:
    """A process that waits for a line and then writes turns, printing each number once it is acknowledged."""
    command = [sys.executable, "-c", WRITER, url, who, str(turns)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def start(children: list[subprocess.Popen[str]]) -> None:
    """Let all of them begin once the last one is ready."""
    for each in children:
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in children:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()


def test_sixteen_threads_on_one_session_count_without_a_gap(postgres_store: PostgresStore) -> None:
    """Sixteen threads that append to one new session give 1..N, each number once, each writer's turns in order."""

    def write(writer: int) -> list[int]:
        return [postgres_store.turns.append(a_turn(f"{writer}/{n}")).turn_number for n in range(10)]

    given = together(write)
    assert sorted(number for numbers in given for number in numbers) == list(range(1, 161))  # type: ignore[attr-defined]
    assert all(numbers == sorted(numbers) for numbers in given)  # type: ignore[type-var]
    stored = postgres_store.turns.page(ANNA, "chat")
    assert [turn.turn_number for turn in stored] == list(range(1, 161))
    info = postgres_store.sessions.get(ANNA, "chat")
    assert info is not None
    assert (info.last_turn, info.turn_count, info.revision) == (160, 160, 160)


def test_sixteen_processes_on_one_session_count_without_a_gap(postgres_store: PostgresStore, postgres_url: str) -> None:
    """The same from sixteen processes, and every acknowledged turn is stored under its number."""
    children = [child(postgres_url, str(writer), 8) for writer in range(WRITERS)]
    start(children)
    acknowledged = {}
    for each in children:
        output, _ = each.communicate(timeout=120)
        assert each.returncode == 0
        acknowledged |= {int(line.split()[0]): line.split()[1] for line in output.splitlines()}
    assert acknowledged == {turn.turn_number: turn.id for turn in postgres_store.turns.page(ANNA, "chat")}
    assert sorted(acknowledged) == list(range(1, WRITERS * 8 + 1))


def test_a_killed_writer_loses_nothing_acknowledged(postgres_store: PostgresStore, postgres_url: str) -> None:
    """kill -9 in the middle of writing, five times: what was acknowledged is there, and the numbers have no gap."""
    acknowledged: dict[int, str] = {}
    for round_number in range(5):
        writer = child(postgres_url, str(round_number), 10_000)
        start([writer])
        assert writer.stdout is not None
        lines = [writer.stdout.readline() for _ in range(10 + 7 * round_number)]
        os.kill(writer.pid, signal.SIGKILL)
        rest, _ = writer.communicate(timeout=60)
        lines += [line for line in rest.splitlines(keepends=True) if line.endswith("\n")]
        acknowledged |= {int(line.split()[0]): line.split()[1] for line in lines}
    stored = {turn.turn_number: turn.id for turn in postgres_store.turns.page(ANNA, "chat")}
    assert acknowledged.items() <= stored.items()
    assert sorted(stored) == list(range(1, len(stored) + 1))
    assert all(turn.sealed() == turn for turn in postgres_store.turns.page(ANNA, "chat"))


def test_the_same_turn_from_many_writers_is_written_once(postgres_store: PostgresStore) -> None:
    """Sixteen retries of one turn at once: one turn, the same for all, and no number wasted."""
    turn = a_turn("one question", answer="one answer")
    results = together(lambda _: postgres_store.turns.append(turn))
    assert len(set(map(str, results))) == 1
    assert postgres_store.turns.append(a_turn("next")).turn_number == 2


def test_one_id_for_two_sessions_goes_to_one_of_them(postgres_store: PostgresStore) -> None:
    """Writers that race with one id in different sessions: one wins, the others conflict, no session is left over."""
    turn_id = str(uuid4())
    results = together(lambda n: postgres_store.turns.append(a_turn(session_id=f"s{n}", turn_id=turn_id)))
    won = [result for result in results if isinstance(result, Turn)]
    assert len(won) == 1
    assert all(isinstance(result, Turn | ConflictError) for result in results)
    assert [info.id for info in postgres_store.sessions.page(ANNA, limit=50)] == [won[0].session_id]


def test_one_answer_wins(postgres_store: PostgresStore) -> None:
    """Sixteen different answers to one open turn: one is kept, the others are told so."""
    asked = postgres_store.turns.append(a_turn("what?"))
    results = together(
        lambda n: postgres_store.turns.answer(ANNA, asked.id, Message("", "assistant", f"answer {n}", NOW), {}, None)
    )
    won = [result for result in results if isinstance(result, Turn)]
    assert len(won) == 1
    assert postgres_store.turns.get(ANNA, asked.id) == won[0]


def test_single_messages_from_many_writers_are_all_kept(postgres_store: PostgresStore) -> None:
    """Questions and answers that arrive one by one from many threads are placed without losing or doubling any."""

    def say(writer: int) -> None:
        for n in range(4):
            role = "user" if (writer + n) % 2 else "assistant"
            turn_id = str(uuid4())
            message = Message("", role, f"{writer}/{n}", NOW)
            where = {"question": message, "answer": None} if role == "user" else {"question": None, "answer": message}
            postgres_store.turns.add_message(Turn(turn_id, ANNA, "tutor", "chat", 0, NOW, **where))  # type: ignore[arg-type]

    together(say)
    turns = postgres_store.turns.page(ANNA, "chat")
    said = sorted(message.content for turn in turns for message in turn.messages)
    assert said == sorted(f"{writer}/{n}" for writer in range(WRITERS) for n in range(4))
    assert [turn.turn_number for turn in turns] == list(range(1, len(turns) + 1))


def test_an_import_meets_itself(postgres_store: PostgresStore) -> None:
    """One session imported by many at once is there once: every turn is added by one and known to the others."""
    turns = [Turn(f"t{n}", ANNA, "tutor", "old", n, NOW, Message("", "user", f"q{n}", NOW), None) for n in range(1, 6)]
    info = SessionInfo("old", ANNA, "tutor", NOW, NOW)
    results = together(lambda _: postgres_store.turns.load(info, turns), writers=8)
    assert sorted(results) == [(0, 5)] * 7 + [(5, 0)]  # type: ignore[type-var]
    assert len(postgres_store.turns.page(ANNA, "old")) == 5


def test_writing_while_forgetting(own_postgres_url: str) -> None:
    """Appends, clears, deletions, cleanups and erasures of one owner at once: none fails or waits in a circle.

    What is left is sound: no owner without a session, no session without its owner.
    """
    store = PostgresStore(own_postgres_url)

    def work(writer: int) -> None:
        for n in range(20):
            session_id = f"s{n % 3}"
            match writer % 8:
                case 0:
                    store.sessions.delete(ANNA, session_id)
                case 1:
                    store.sessions.clear(ANNA, session_id)
                case 2:
                    later = NOW + timedelta(days=1)
                    store.sessions.expire(ANNA, turns_before=later, idle_before=None, batch=3)
                case 3:
                    store.erase(ANNA)
                case _:
                    store.turns.append(a_turn(session_id=session_id))

    together(work)
    for info in store.sessions.page(ANNA, limit=50):
        numbers = [turn.turn_number for turn in store.turns.page(ANNA, info.id)]
        assert len(numbers) == info.turn_count
        assert numbers == list(range(info.last_turn - len(numbers) + 1, info.last_turn + 1))
    store.close()
    with psycopg.connect(own_postgres_url) as connection:
        alone = "SELECT count(*) FROM ricordo.owners AS o FULL JOIN ricordo.sessions AS s USING (owner) WHERE {}"
        assert connection.execute(alone.format("s.session_id IS NULL")).fetchone() == (0,)
        assert connection.execute(alone.format("o.user_id IS NULL")).fetchone() == (0,)
    assert deadlocks(own_postgres_url) == 0


def test_a_repetition_is_no_news_for_the_log(postgres_store: PostgresStore, caplog: pytest.LogCaptureFixture) -> None:
    """The same turn again is an everyday thing: neither we nor the driver warn of it."""
    turn = a_turn(answer="hi")
    kept = postgres_store.turns.append(turn)
    assert all(postgres_store.turns.append(turn) == kept for _ in range(30))
    assert caplog.messages == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_has_connections_of_its_own(postgres_store: PostgresStore) -> None:
    """A store that was opened before a fork works on both sides of it."""
    postgres_store.turns.append(a_turn("parent"))
    pid = os.fork()
    if pid == 0:
        try:
            postgres_store.turns.append(a_turn("child"))
            os._exit(0)
        except BaseException:
            os._exit(1)
    assert os.waitpid(pid, 0)[1] == 0
    assert postgres_store.turns.append(a_turn("parent again")).turn_number == 3


def deadlocks(url: str) -> int:
    """How many deadlocks the server has broken in this database; complete once its connections are closed."""
    with psycopg.connect(url) as connection:
        [(count,)] = connection.execute(
            "SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()"
        ).fetchall()
    return int(count)


def test_a_session_that_comes_and_goes_keeps_its_count(own_postgres_url: str) -> None:
    """Clearing, deleting and expiring a session that others make anew at the same moment never miscounts its turns.

    No two of them wait for each other: a deadlock takes the server a second to find, and appends have a timeout.
    """
    store = PostgresStore(own_postgres_url)

    def work(writer: int) -> None:
        for _ in range(60):
            match writer % 4:
                case 0:
                    store.sessions.clear(ANNA, "chat")
                case 1:
                    store.sessions.delete(ANNA, "chat")
                case 2:
                    later = NOW + timedelta(days=1)
                    store.sessions.expire(ANNA, turns_before=later, idle_before=None, batch=3)
                case _:
                    store.turns.append(a_turn())

    together(work, writers=8)
    info = store.sessions.get(ANNA, "chat")
    assert (info.turn_count if info else 0) == len(store.turns.page(ANNA, "chat"))
    assert store.turns.append(a_turn()).turn_number == (info.last_turn if info else 0) + 1
    store.close()
    assert deadlocks(own_postgres_url) == 0


BRUNO = Owner("other", "bruno")


def in_one_group(store: PostgresStore, *turns: Turn) -> list[Turn | None]:
    """What becomes of turns whose writers come together; None: not in this group."""
    tickets = [Ticket(UnnumberedTurn(turn, last_said(turn), None)) for turn in turns]
    store.turns._group._serve(tickets)
    return [ticket.result for ticket in tickets]


def known(store: PostgresStore, *places: tuple[Owner, str]) -> None:
    """Sessions with one turn each, whose last numbers the store knows."""
    for owner, session_id in places:
        store.turns.append(replace(a_turn(session_id=session_id), owner=owner))
        store.turns.append(replace(a_turn(session_id=session_id), owner=owner))


def numbers(store: PostgresStore, owner: Owner, session_id: str) -> list[int]:
    """The numbers of the stored turns of a session."""
    return [turn.turn_number for turn in store.turns.page(owner, session_id)]


def test_a_group_keeps_owners_and_sessions_apart(postgres_store: PostgresStore) -> None:
    """Turns of two owners and three sessions in one transaction are numbered and stored where they belong."""
    places = [(ANNA, "chat"), (ANNA, "lesson"), (BRUNO, "chat")]
    known(postgres_store, *places)
    turns = [replace(a_turn(f"{n}", session_id=name), owner=owner) for n in range(3) for owner, name in places]
    written = in_one_group(postgres_store, *turns)
    assert [turn.turn_number for turn in written if turn] == [3, 3, 3, 4, 4, 4, 5, 5, 5]
    for turn in written:
        assert turn is not None
        assert postgres_store.turns.get(turn.owner, turn.id) == turn
    assert [numbers(postgres_store, *place) for place in places] == [[1, 2, 3, 4, 5]] * 3


def test_a_write_that_cannot_go_with_the_others_does_not_fail_them(postgres_store: PostgresStore) -> None:
    """A repeated id or a text that the database refuses rolls the group back; alone, each gets what it deserves."""
    known(postgres_store, (ANNA, "chat"), (BRUNO, "chat"))
    stored = postgres_store.turns.append(a_turn())
    good = replace(a_turn("good"), owner=BRUNO)
    assert in_one_group(postgres_store, stored, good) == [None, None]
    bad = a_turn("NUL \0 inside")
    assert in_one_group(postgres_store, bad, good) == [None, None]
    assert numbers(postgres_store, BRUNO, "chat") == [1, 2]
    assert postgres_store.turns.append(good).turn_number == 3
    assert postgres_store.turns.append(stored) == stored
    with pytest.raises(StoreError):
        postgres_store.turns.append(bad)
    assert numbers(postgres_store, ANNA, "chat") == [1, 2, 3]


def test_a_new_session_leaves_the_others_in_the_group(postgres_store: PostgresStore) -> None:
    """A turn of a session that does not exist yet is written alone; those of known sessions are committed."""
    known(postgres_store, (ANNA, "chat"))
    new, old = a_turn(session_id="new"), a_turn()
    assert [turn and turn.turn_number for turn in in_one_group(postgres_store, new, old)] == [None, 3]
    assert postgres_store.turns.append(new).turn_number == 1


def test_another_process_may_have_written_meanwhile(postgres_store: PostgresStore, postgres_url: str) -> None:
    """A last number that is no longer the last is found out, and the group counts on from the right one."""
    known(postgres_store, (ANNA, "chat"), (ANNA, "lesson"))
    other = PostgresStore(postgres_url)
    other.turns.append(a_turn())
    other.close()
    written = in_one_group(postgres_store, a_turn(), a_turn(session_id="lesson"))
    assert [turn and turn.turn_number for turn in written] == [4, 3]
    assert numbers(postgres_store, ANNA, "chat") == [1, 2, 3, 4]


def test_a_session_that_is_held_does_not_hold_the_group(postgres_store: PostgresStore, postgres_url: str) -> None:
    """While an import holds one session, the writers of others go on alone after a moment."""
    known(postgres_store, (ANNA, "chat"), (ANNA, "lesson"))
    with psycopg.connect(postgres_url) as importer:
        held = "SELECT * FROM ricordo.sessions WHERE owner = %s AND session_id = 'chat' FOR UPDATE"
        importer.execute(held, [ANNA.key])
        assert in_one_group(postgres_store, a_turn(), a_turn(session_id="lesson")) == [None, None]
        assert postgres_store.turns.append(a_turn(session_id="lesson")).turn_number == 3
    assert postgres_store.turns.append(a_turn()).turn_number == 3


def test_connections_lost_under_groups_lose_and_double_nothing(
    postgres_store: PostgresStore, postgres_url: str
) -> None:
    """Writers whose connections are cut again and again: all that was acknowledged is stored, once, without a gap."""
    known(postgres_store, (ANNA, "chat"), (BRUNO, "chat"))
    done = threading.Event()

    def cut() -> None:
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            while not done.wait(0.02):
                connection.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'ricordo'"
                )

    acknowledged: list[Turn] = []

    def write(number: int) -> None:
        owner = (ANNA, BRUNO)[number % 2]
        for n in range(10):
            with suppress(StoreUnavailable):
                acknowledged.append(postgres_store.turns.append(replace(a_turn(f"{number}/{n}"), owner=owner)))

    cutter = threading.Thread(target=cut)
    cutter.start()
    together(write, 8)
    done.set()
    cutter.join()
    for owner in (ANNA, BRUNO):
        stored = postgres_store.turns.page(owner, "chat")
        assert [turn.turn_number for turn in stored] == list(range(1, len(stored) + 1))
        mine = [turn for turn in acknowledged if turn.owner == owner]
        assert {turn.id: turn.turn_number for turn in mine}.items() <= {t.id: t.turn_number for t in stored}.items()
        assert len({turn.query for turn in stored}) == len(stored) - 1  # the first two say hello


def test_a_cleanup_passes_by_users_with_nothing_past_its_time(postgres_store: PostgresStore) -> None:
    """An owner is due once it may have something old; after a look at it, when its oldest turn has become old."""
    day = timedelta(days=1)

    def due(*, turns: datetime | None = None, idle: datetime | None = None) -> list[Owner]:
        return list(postgres_store.sessions.due("acme", turns_before=turns, idle_before=idle))

    known(postgres_store, (ANNA, "chat"))
    assert due(turns=NOW, idle=NOW) == []
    assert due(turns=NOW + day) == due(idle=NOW + day) == [ANNA]
    postgres_store.turns.append(replace(a_turn(), created_at=NOW - 3 * day))  # a turn of an older talk
    assert due(turns=NOW - day) == [ANNA]
    gone = postgres_store.sessions.expire(ANNA, turns_before=NOW - day, idle_before=NOW - day, batch=10)
    assert (gone.turns, gone.more) == (1, False)
    assert due(turns=NOW, idle=NOW) == []
    postgres_store.turns.append(replace(a_turn(), created_at=NOW - 2 * day))
    assert due(turns=NOW - day) == [ANNA]
    old = replace(a_turn(session_id="old"), created_at=NOW - 5 * day)
    said = replace(old.question, created_at=NOW - 5 * day) if old.question else None
    postgres_store.turns.append(replace(old, question=said))
    assert due(idle=NOW - 4 * day) == [ANNA]
