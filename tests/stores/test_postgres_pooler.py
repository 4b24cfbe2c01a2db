"""Behind PgBouncer in transaction mode: every transaction may meet another server process, and nothing goes wrong."""

import logging
import shutil
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import sleep
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest

import ricordo
from ricordo.stores.postgres import PostgresStore

pytest_plugins = ["ricordo.testing.postgres"]

PORT = 6543
THREADS, USERS, ROUNDS = 8, 4, 22  # six operations in each round: 1,056 in all, and the work beside them
CONFIGURATION = """
[databases]
* = host={server} port=5432 user=postgres
[pgbouncer]
listen_addr =
unix_socket_dir = {folder}
listen_port = {port}
auth_type = any
pool_mode = transaction
default_pool_size = 3
ignore_startup_parameters = extra_float_digits
"""


@pytest.fixture
def pooled_url(own_postgres_url: str) -> Iterator[str]:
    """A database behind PgBouncer with three server connections."""
    program = shutil.which("pgbouncer")
    if program is None:
        pytest.skip("PgBouncer is not installed (apt-get install pgbouncer): not tested behind a pooler")
    parts = urlsplit(own_postgres_url)
    server = parse_qs(parts.query)["host"][0]
    with TemporaryDirectory(prefix="ricordo-pooler-") as name:
        folder = Path(name)
        folder.chmod(0o777)
        configuration = folder / "pgbouncer.ini"
        configuration.write_text(CONFIGURATION.format(server=server, folder=folder, port=PORT))
        command = [program, "-q", "-u", Path(server).owner(), str(configuration)]
        pooler = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        url = f"postgresql://postgres@/{parts.path.strip('/')}?host={folder}&port={PORT}"
        for _ in range(100):
            try:
                psycopg.connect(url).close()
                break
            except psycopg.OperationalError:
                sleep(0.05)
        yield url
        pooler.terminate()
        pooler.wait()


def test_mixed_operations_go_through_a_pooler(pooled_url: str, caplog: pytest.LogCaptureFixture) -> None:
    """A thousand writes and reads of several users with default settings: no error, no gap, and each sees its own."""
    store = PostgresStore(pooled_url)
    assert store._pool._prepare_threshold is None
    errors: list[BaseException] = []
    memory = ricordo.Memory(store)

    def talk(number: int) -> None:
        try:
            session = memory.session("chat", user_id=f"user {number % USERS}")
            for n in range(ROUNDS):
                session.add_turn(f"question {n} of {number % USERS}", "an answer")
                said = [message.content for message in session.window().messages if " of " in message.content]
                assert all(content.endswith(f" of {number % USERS}") for content in said)
                session.ask("and then?").answer("that")
                session.context(f"what was question {n}?")
                session.info()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for number in range(USERS):
        turns = memory.session("chat", user_id=f"user {number}").history()
        assert [turn.turn_number for turn in turns] == list(range(1, 2 * ROUNDS * THREADS // USERS + 1))
        assert {turn.query.endswith(f" of {number}") for turn in turns if turn.query.startswith("question")} == {True}
    memory.close()
    assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
