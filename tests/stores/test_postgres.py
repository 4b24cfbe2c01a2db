"""The PostgreSQL store keeps every promise of a store, agrees with the others, and says little over the wire."""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, urlsplit

import psycopg
import pytest
from hypothesis import given, settings
from hypothesis.stateful import run_state_machine_as_test

from ricordo.records.derived import TopicChange
from ricordo.records.turns import Message, Owner, StoredReceipt, Turn
from ricordo.stores.memory import MemoryStore
from ricordo.stores.postgres import PostgresStore
from ricordo.stores.postgres.schema import TABLES
from ricordo.stores.protocols import Store
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing import strategies
from ricordo.testing.contract import ConstraintContract, StoreContract
from ricordo.testing.contract.base import law
from ricordo.testing.fakes import START, a_block, a_turn, an_owner
from ricordo.testing.machine import stores_agree
from ricordo.testing.machine_service import services_agree

pytest_plugins = ["ricordo.testing.postgres"]


class TestPostgresStore(StoreContract, ConstraintContract):
    """The suites that every store passes."""

    @pytest.fixture
    def store(self, postgres_url: str) -> Iterator[Store]:
        self.url = postgres_url
        self.opened = [PostgresStore(postgres_url)]
        yield self.opened[0]
        for store in self.opened:
            store.close()

    def reopened(self, store: Store) -> Store:
        store.close()
        self.opened.append(PostgresStore(self.url))
        return self.opened[-1]


def test_three_stores_agree(postgres_store: PostgresStore, tmp_path: Path) -> None:
    """Memory, SQLite and PostgreSQL, given the same random operations, give the same answers."""
    sqlite = SqliteStore(tmp_path / "memory.db")
    try:
        machine = stores_agree(lambda: [MemoryStore(), sqlite, postgres_store])
        run_state_machine_as_test(machine, settings=settings(max_examples=100, stateful_step_count=12, deadline=None))
    finally:
        sqlite.close()


def test_three_stores_agree_on_what_a_service_keeps(postgres_store: PostgresStore, tmp_path: Path) -> None:
    """Documents, keys, jobs and leases: the same operations, the same answers."""
    sqlite = SqliteStore(tmp_path / "memory.db")
    try:
        machine = services_agree(lambda: [MemoryStore(), sqlite, postgres_store])
        run_state_machine_as_test(machine, settings=settings(max_examples=100, stateful_step_count=12, deadline=None))
    finally:
        sqlite.close()


@law
@given(turn=strategies.owners().flatmap(strategies.turns))
def test_any_owner_and_any_words_come_back(postgres_store: PostgresStore, turn: Turn) -> None:
    """Whatever Unicode ids, words and JSON a turn holds, the store gives back what it was given."""
    stored = postgres_store.turns.append(turn)
    assert stored == replace(turn, turn_number=stored.turn_number).sealed()
    assert postgres_store.turns.get(turn.owner, turn.id) == stored
    assert postgres_store.erase(turn.owner)["turns"] == 1


def test_every_character_but_nul_is_kept(postgres_store: PostgresStore) -> None:
    """All of Unicode, without NUL and lone surrogates, goes in and comes out."""
    owner = an_owner()
    for first in range(0, 0x110000, 0x8000):
        block = "".join(map(chr, range(max(1, first), first + 0x8000)))
        said = "x" + block.encode("utf-8", "ignore").decode()
        stored = postgres_store.turns.append(a_turn(owner, said, said))
        assert postgres_store.turns.get(owner, stored.id) == stored


def test_json_comes_back_to_the_letter(postgres_store: PostgresStore) -> None:
    """Numbers keep their spelling and keys their order, which a binary JSON column would not keep."""
    owner = an_owner()
    body = '{"b": 1.0, "a": 1e2, "b2": [1, 1.50], "z": "\\u00e9"}'
    stored = postgres_store.turns.append(a_turn(owner), receipt=StoredReceipt("", 0, body))
    assert postgres_store.turns.receipts(owner, stored.session_id)[0].body == body


def test_ids_order_by_code_point(postgres_store: PostgresStore) -> None:
    """Ties between sessions are broken as in the other stores, whatever collation the database was made with."""
    owner = an_owner()
    names = ["a", "B", "b", "Z", "é", "z", "_", "-", "ß", "😀", "\uffff"]
    for name in names:
        postgres_store.turns.append(a_turn(owner, session_id=name, created_at=START))
    listed = [info.id for info in postgres_store.sessions.page(owner, limit=50)]
    assert listed == sorted(names, reverse=True)


def test_a_passage_stays_while_any_receipt_names_it(postgres_store: PostgresStore, postgres_url: str) -> None:
    """A text shared by two receipts survives the newer turn's expiry and goes with the older one."""
    owner = an_owner()
    body = json.dumps({"recipe": ["d1"]})
    for hours in (5, 1):  # the second turn is older than the first
        receipt = StoredReceipt("s", 0, body, {"d1": "the system prompt"})
        at = START + timedelta(hours=hours)
        postgres_store.turns.append(a_turn(owner, session_id="s", created_at=at), receipt=receipt)
    postgres_store.sessions.expire(owner, turns_before=START + timedelta(hours=2), idle_before=None, batch=10)
    (left,) = postgres_store.turns.receipts(owner, "s")
    assert (left.turn_number, left.passages) == (1, {"d1": "the system prompt"})
    postgres_store.turns.append(a_turn(owner, session_id="s", created_at=START + timedelta(hours=9)))
    postgres_store.sessions.expire(owner, turns_before=START + timedelta(hours=6), idle_before=None, batch=10)
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM ricordo.passages").fetchone() == (0,)


def test_cleanup_in_small_batches_ends(postgres_store: PostgresStore) -> None:
    """Batch after batch removes exactly what is past its time, never much more than a batch at once."""
    owner = an_owner()
    for n in range(23):
        at = START + timedelta(minutes=n)
        postgres_store.turns.append(a_turn(owner, session_id=f"s{n % 3}", created_at=at))
    gone = []
    while True:
        step = postgres_store.sessions.expire(
            owner, turns_before=START + timedelta(minutes=20), idle_before=None, batch=6
        )
        gone.append(step.turns)
        if not step.more:
            break
    assert gone == [6, 6, 6, 2]
    assert sorted(turn.created_at for n in range(3) for turn in postgres_store.turns.page(owner, f"s{n}")) == [
        START + timedelta(minutes=n) for n in (20, 21, 22)
    ]


def test_a_backup_is_one_moment(postgres_store: PostgresStore, postgres_url: str, tmp_path: Path) -> None:
    """A backup holds every tenant as it was when the backup began, although others write meanwhile."""
    anna, bruno = Owner("acme", "anna"), Owner("other", "bruno")
    receipt = StoredReceipt("s", 0, '{"recipe": ["d1"]}', {"d1": "text"})
    for owner in (anna, bruno):
        postgres_store.turns.append(a_turn(owner, session_id="s"), receipt=receipt)
    before = {owner: postgres_store.turns.page(owner, "s") for owner in (anna, bruno)}
    others = PostgresStore(postgres_url)

    def meanwhile(done: int, total: int) -> None:
        assert total == 2
        for owner in (anna, bruno):
            others.turns.append(a_turn(owner, session_id="s"))
            others.turns.append(a_turn(owner, session_id=f"new {done}"))

    postgres_store.backup(tmp_path / "backup.db", meanwhile)
    others.close()
    copy = SqliteStore(tmp_path / "backup.db")
    try:
        for owner in (anna, bruno):
            assert [info.id for info in copy.sessions.page(owner, limit=9)] == ["s"]
            assert tuple(copy.turns.page(owner, "s")) == before[owner]
            assert copy.turns.receipts(owner, "s")[0].passages == {"d1": "text"}
    finally:
        copy.close()
    assert len(postgres_store.turns.page(anna, "s")) == 3


def test_a_backup_that_is_whole_is_one_although_the_server_is_lost(
    postgres_store: PostgresStore, postgres_url: str, tmp_path: Path
) -> None:
    """Losing the server after the last read fails nothing: the file is there under its name, and told so."""
    owner = an_owner()
    postgres_store.turns.append(a_turn(owner, session_id="s"))

    def lose_the_server(done: int, total: int) -> None:
        with psycopg.connect(postgres_url, autocommit=True) as admin:
            admin.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )

    postgres_store.backup(tmp_path / "backup.db", lose_the_server)
    copy = SqliteStore(tmp_path / "backup.db")
    assert len(copy.turns.page(owner, "s")) == 1
    copy.close()
    assert len(postgres_store.turns.page(owner, "s")) == 1


def test_erasing_tells_what_is_left_to_the_operator(postgres_store: PostgresStore, postgres_url: str) -> None:
    """No row of an erased user is left in any table, and the store says what only the operator can do."""
    owner = an_owner()
    postgres_store.turns.append(a_turn(owner), receipt=StoredReceipt("", 0, '["d1"]', {"d1": "text"}))
    gone = postgres_store.erase(owner)
    assert {name: count for name, count in gone.items() if count} == {"sessions": 1, "turns": 1, "receipts": 1}
    with psycopg.connect(postgres_url) as connection:
        for table in TABLES:
            left = (1,) if table == "erasures" else (0,)  # that there was an erasure, and when
            assert connection.execute(f"SELECT count(*) FROM ricordo.{table}").fetchone() == left
    assert "VACUUM FULL" in " ".join(postgres_store.erase_notes)


def test_what_the_notes_tell_the_operator_to_do_leaves_no_byte_in_the_tables(own_postgres_url: str) -> None:
    """After VACUUM FULL no table of the database has the words of an erased user; a plain VACUUM leaves some."""
    owner, store = an_owner(), PostgresStore(own_postgres_url)
    try:
        for _ in range(20):
            store.turns.append(a_turn(owner, "zebrafinch " * 20))
            store.turns.append(a_turn(an_owner()))  # what stays on the same pages keeps them from being cut off
        store.erase(owner)
    finally:
        store.close()
    with psycopg.connect(own_postgres_url, autocommit=True) as connection:
        connection.execute("VACUUM FULL")
        connection.execute("CHECKPOINT")
        (folder,) = connection.execute("SHOW data_directory").fetchone() or ("",)
        base = "SELECT oid::text FROM pg_database WHERE datname = current_database()"
        (number,) = connection.execute(base).fetchone() or ("",)
    if not Path(folder).is_dir():
        pytest.skip("the server's files are on another machine")
    files = [file for file in (Path(folder) / "base" / number).iterdir() if file.is_file()]
    assert files
    assert not [file for file in files if b"zebrafinch" in file.read_bytes()]


def test_stats_count_over_many_users(postgres_store: PostgresStore) -> None:
    """A tenant with more users than a page is counted whole, and not with another tenant's."""
    for n in range(503):
        postgres_store.turns.append(a_turn(Owner("acme", f"user {n}"), response=None if n % 2 else "yes"))
    postgres_store.turns.append(a_turn(Owner("other", "anna")))
    stats = postgres_store.stats("acme")
    assert (stats.users, stats.sessions, stats.turns, stats.open_turns, stats.receipts) == (503, 503, 503, 251, 0)
    assert stats.bytes_on_disk is not None
    assert len(list(postgres_store.owners("acme"))) == 503


def test_without_prepared_statements(postgres_url: str) -> None:
    """Behind a transaction pooler nothing is prepared on the server, and everything works."""
    store = PostgresStore(postgres_url, prepare_threshold=None, pool_size=1)
    try:
        owner = an_owner()
        for n in range(12):
            assert store.turns.append(a_turn(owner, session_id="s")).turn_number == n + 1
            assert len(store.turns.page(owner, "s")) == n + 1
        prepared = store._transactions.run(
            owner, lambda tx: tx.send("SELECT count(*) FROM pg_prepared_statements", {})
        ).fetchone()
        assert prepared == (0,)
    finally:
        store.close()


class Wiretap:
    """A relay on a Unix socket that writes down the kinds of messages that the client sends."""

    def __init__(self, server_socket: str) -> None:
        self.folder = TemporaryDirectory(prefix="ricordo-wiretap-")
        self.kinds = ""
        self._unread = b"?"  # the first message of a connection does not say its kind
        self._server_socket = server_socket
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(f"{self.folder.name}/.s.PGSQL.5432")
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        server = socket.socket(socket.AF_UNIX)
        server.connect(self._server_socket)
        threading.Thread(target=self._relay, args=(client, server, self._listen), daemon=True).start()
        threading.Thread(target=self._relay, args=(server, client, len), daemon=True).start()

    def _relay(self, source: socket.socket, target: socket.socket, listen: Callable[[bytes], object]) -> None:
        with source, target:
            try:
                while data := source.recv(65536):
                    listen(data)
                    target.sendall(data)
            except OSError:  # the other direction has hung up
                return

    def _listen(self, data: bytes) -> None:
        self._unread += data
        while len(self._unread) >= 5 and len(self._unread) > (length := int.from_bytes(self._unread[1:5])):
            self.kinds += chr(self._unread[0])
            self._unread = self._unread[length + 1 :]

    def questions(self, work: Callable[[], object]) -> int:
        """How often the client ends what it sends by asking for answers (Flush or Sync) while the work is done."""
        before = len(self.kinds)
        work()
        return len(re.findall("[HS]+", self.kinds[before:].lstrip("H")))  # a last H may be of the work before

    def close(self) -> None:
        """Stop listening."""
        self._listener.close()
        self.folder.cleanup()


def test_reads_and_new_turns_are_one_round_trip_and_other_writes_two(postgres_url: str) -> None:
    """BEGIN, the wall, the statement and COMMIT travel together; a write that reads before it decides needs two."""
    parts = urlsplit(postgres_url)
    host = parse_qs(parts.query).get("host", [""])[0]
    if not host.startswith("/"):
        pytest.fail("this test listens on the Unix socket of a server of our own; unset RICORDO_TEST_POSTGRES_URL")
    tap = Wiretap(f"{host}/.s.PGSQL.5432")
    store = PostgresStore(parts._replace(query=f"host={tap.folder.name}").geturl(), pool_size=1)
    owner = an_owner()

    try:
        store.turns.append(a_turn(owner, session_id="s"))
        assert tap.questions(lambda: store.turns.append(a_turn(owner, session_id="s"))) == 2  # its number is not known
        for _ in range(8):  # prepared or not
            assert tap.questions(lambda: store.turns.append(a_turn(owner, session_id="s"))) == 1
            assert tap.questions(lambda: store.turns.page(owner, "s", last=6)) == 1
            assert tap.questions(lambda: store.sessions.get(owner, "s")) == 1
            assert tap.questions(lambda: store.sessions.page(owner, limit=5)) == 1
            asked = store.turns.append(a_turn(owner, response=None, session_id="s"))
            late = Message("", "assistant", "later", START)
            assert (
                tap.questions(lambda asked=asked, late=late: store.turns.answer(owner, asked.id, late, {}, None)) == 2
            )
            said = store.turns.append(a_turn(owner, session_id="s"))
            block = a_block([said], topic_id="t", block_id=said.id)
            assert tap.questions(lambda block=block: store.topics.archive(owner, "s", block)) == 2
            assert tap.questions(lambda: store.turns.page(owner, "s")) == 1
            assert tap.questions(lambda said=said: store.turns.get(owner, said.id)) == 1
            change = TopicChange(store.topics.load(owner, "s").revision, assigned={said.turn_number: "t"})
            assert tap.questions(lambda change=change: store.topics.put(owner, "s", change)) == 2
            assert tap.questions(lambda: store.topics.load(owner, "s")) == 1
            assert tap.questions(lambda: store.topics.turns_of(owner, "s", "t")) == 1
            assert tap.questions(lambda: store.sessions.marks(owner)) == 1
    finally:
        store.close()
        tap.close()
