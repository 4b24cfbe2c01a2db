"""Behind PgBouncer in transaction mode: every transaction may meet another server process, and nothing goes wrong."""

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
from ricordo.presets import settings_from
from ricordo.stores.postgres import PostgresStore

pytest_plugins = ["ricordo.testing.postgres"]

PORT = 6543
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


def test_mixed_operations_go_through_a_pooler(pooled_url: str) -> None:
    """Writers and readers of several users with default settings: no error, no gap, nobody sees another's words."""
    store = PostgresStore(pooled_url)
    assert store._pool._prepare_threshold is None
    errors: list[BaseException] = []
    settings = {"organise": "off", "remember_person": "off", "condense": "off", "titles": "off", "recall_messages": 0}
    memory = ricordo.Memory(store, settings_from(settings, {}))

    def talk(number: int) -> None:
        try:
            session = memory.session("chat", user_id=f"user {number % 4}")
            for n in range(8):
                session.add_turn(f"question {n} of {number % 4}", "an answer")
                said = [message.content for message in session.window().messages if " of " in message.content]
                assert all(content.endswith(f" of {number % 4}") for content in said)
                session.ask("and then?").answer("that")
                session.info()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=talk, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    for number in range(4):
        turns = memory.session("chat", user_id=f"user {number}").history()
        assert [turn.turn_number for turn in turns] == list(range(1, 33))
        assert {turn.query.endswith(f" of {number}") for turn in turns if turn.query.startswith("question")} == {True}
    memory.close()
