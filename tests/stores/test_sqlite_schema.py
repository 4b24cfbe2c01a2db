"""The schema: migrations go forward only, every key begins with the owner, and constraints refuse invalid rows."""

import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from ricordo.errors import SchemaError, StoreError
from ricordo.records.derived import TopicChange
from ricordo.records.service import StoredItem
from ricordo.stores import items
from ricordo.stores.open import Migration, migrations_for
from ricordo.stores.sqlite import SqliteStore, documents_keys_jobs, people, topics, turn_statements
from ricordo.stores.sqlite.database import migrate
from ricordo.stores.sqlite.items import _spelled
from ricordo.testing.contract.people import learn
from ricordo.testing.fakes import (
    START,
    a_document,
    a_fact,
    a_flag,
    a_key,
    a_summary,
    a_topic,
    a_turn,
    an_owner,
    some_chunks,
)

TABLES = (
    "owners", "sessions", "turns", "receipts", "passages", "passage_uses", "topics", "blocks", "traces",
    "people", "facts", "summaries", "flags",
    "documents", "chunks", "api_keys", "jobs", "leases", "ricordo_items",
)  # fmt: skip


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A file with one turn in it, its topic, and what was derived from it."""
    store = SqliteStore(tmp_path / "memory.db")
    turn = store.turns.append(a_turn(an_owner()))
    assert store.topics.put(turn.owner, "lesson", TopicChange(0, put=(a_topic(),), assigned={1: "fugues"}))
    learn(store, turn.owner, a_fact("Rome", turn), lesson=1)
    assert store.people.put_summary(turn.owner, a_summary())
    assert store.people.put_flag(turn.owner, a_flag())
    assert store.documents.put(turn.owner, a_document(chunk_count=1), some_chunks(count=1))
    store.keys.put(a_key(turn.owner.tenant_id))
    assert store.jobs.enqueue(turn.owner, "facts", "lesson", START)
    assert store.jobs.lease("cleanup", "here", START, START)
    store.items.write(turn.owner, "c", START, lambda items: items.put(StoredItem("", "k", b"", turn_id=turn.id)))
    store.close()
    return tmp_path / "memory.db"


@pytest.fixture
def database(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, past the store."""
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA foreign_keys = ON")
    yield connection
    connection.close()


def schema_of(connection: sqlite3.Connection) -> set[tuple[str, ...]]:
    return set(connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema"))


def test_migrations_one_by_one_give_the_schema_of_a_fresh_file() -> None:
    """However old a file is, opening it leads to the same schema."""
    known = migrations_for("sqlite")
    fresh, grown = sqlite3.connect(":memory:", isolation_level=None), sqlite3.connect(":memory:", isolation_level=None)
    migrate(fresh, known)
    for newest in range(1, len(known) + 1):
        migrate(grown, known[:newest])
    assert schema_of(grown) == schema_of(fresh)
    assert [version for (version,) in fresh.execute("SELECT version FROM schema_migrations")] == [
        migration.version for migration in known
    ]
    fresh.close()
    grown.close()


def test_a_migration_that_fails_leaves_the_file_as_it_was(database: sqlite3.Connection) -> None:
    """A half-done migration is undone, the ledger included."""
    before = schema_of(database)
    broken = Migration(9999, "broken", "CREATE TABLE half (n INTEGER);\nCREATE TABLE turns (n INTEGER);\n")
    with pytest.raises(sqlite3.OperationalError):
        migrate(database, (*migrations_for("sqlite"), broken))
    assert schema_of(database) == before
    assert not database.in_transaction


def test_a_file_of_a_newer_version_is_refused(path: Path, database: sqlite3.Connection) -> None:
    """The remedy is named: upgrade."""
    database.execute("INSERT INTO schema_migrations VALUES (9999, 'digest', 0)")
    with pytest.raises(SchemaError, match="upgrade"):
        SqliteStore(path)


def test_an_edited_migration_is_refused(path: Path, database: sqlite3.Connection) -> None:
    """A file whose schema came from another text is not guessed at."""
    database.execute("UPDATE schema_migrations SET digest = 'other' WHERE version = 1")
    with pytest.raises(SchemaError, match="differs"):
        SqliteStore(path)


def test_the_file_of_another_program_is_refused(tmp_path: Path) -> None:
    """Nothing is written into a database that is not ours."""
    strange = sqlite3.connect(tmp_path / "strange.db")
    strange.execute("CREATE TABLE bookmarks (url TEXT)")
    strange.commit()
    with pytest.raises(SchemaError, match="another program"):
        SqliteStore(tmp_path / "strange.db")
    assert {name for _, name, _, _ in schema_of(strange)} == {"bookmarks"}
    strange.close()


@pytest.mark.parametrize("table", TABLES)
def test_every_key_begins_with_the_owner(database: sqlite3.Connection, table: str) -> None:
    """Primary, unique and foreign keys all lead with the owner: one user's data can live on one shard."""
    assert {name for (name,) in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")} == {
        *TABLES,
        "schema_migrations",
    }
    primary = {rank: name for _, name, _, _, _, rank in database.execute(f"PRAGMA table_info({table})") if rank}
    keys = [[primary[rank] for rank in sorted(primary)]] if primary else []
    for _, index, unique, _, _ in database.execute(f"PRAGMA index_list({table})").fetchall():
        if unique:
            keys.append([name for _, _, name in database.execute(f"PRAGMA index_info({index})")])
    foreign: dict[int, list[tuple[str, str]]] = {}
    for key, _, _, ours, theirs, *_ in database.execute(f"PRAGMA foreign_key_list({table})"):
        foreign.setdefault(key, []).append((ours, theirs))
    assert keys
    assert all(key[0] == "owner" for key in keys)
    assert all(pairs[0] == ("owner", "owner") for pairs in foreign.values())
    assert bool(foreign) == (table not in ("owners", "api_keys", "jobs", "leases"))


def test_no_triggers(database: sqlite3.Connection) -> None:
    """What happens on a write is in the statements, nowhere else."""
    assert database.execute("SELECT count(*) FROM sqlite_schema WHERE type IN ('trigger', 'view')").fetchone() == (0,)


LOOKS_AT_ALL_OWNERS = {"STATS", "WRONGLY_IN_ORDER", "WRONGLY_COUNTED"}  # looks at the whole file
WITHOUT_OWNER = {"KEY_BY_DIGEST", "KEYS_OF_TENANT", "JOBS_OF_TENANT", "ANYTHING_DUE", "TAKE_JOBS"}
NAMED = {
    name: text
    for module in (turn_statements, topics, people, documents_keys_jobs)
    for name, text in vars(module).items()
    if name.isupper() and isinstance(text, str) and "WHERE" in text and name not in LOOKS_AT_ALL_OWNERS
} | {
    f"items.{name}": _spelled(text)
    for name, text in vars(items).items()
    if name.isupper() and isinstance(text, str) and "WHERE" in text
}


@pytest.mark.parametrize("name", sorted(NAMED))
def test_no_statement_walks_a_table(database: sqlite3.Connection, name: str) -> None:
    """Every statement that looks for something names an owner and finds it through an index."""
    text = NAMED[name]
    values = dict.fromkeys(re.findall(r":(\w+)", text))
    arguments = values or (None,) * text.count("?")
    plan = [row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {text}", arguments)]
    assert ("owner = " in text) == (name not in WITHOUT_OWNER)
    assert not [step for step in plan if step.startswith("SCAN") and any(table in step for table in TABLES)]


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("TURNS", "owner=? AND session_id=? AND turn_number>? AND turn_number<?"),
        ("TURNS_NUMBERED", "owner=? AND session_id=? AND turn_number=?"),
        ("TURNS_OF_TOPIC", "turns_by_topic (owner=? AND topic_id=?)"),
        ("ANY_TURN_OF_TOPIC", "turns_by_topic (owner=? AND topic_id=?)"),
        ("COUNT_TOPIC", "turns_by_topic (owner=? AND topic_id=?)"),
        ("UNASSIGN_TURNS", "turns_by_topic (owner=? AND topic_id=?)"),
        ("TURNS_IN_BLOCK", "owner=? AND session_id=? AND turn_number=?"),
        ("ARCHIVE_TURNS", "owner=? AND session_id=? AND turn_number=?"),
        ("DROP_NUMBERED_TURNS", "owner=? AND session_id=? AND turn_number=?"),
        ("BLOCK_BODIES", "owner=? AND session_id=? AND block_id=?"),
        ("TRACES_OF_SESSION", "owner=? AND session_id=?"),
        ("FACTS", "owner=? AND agent_id=?"),
        ("TURNS_THERE", "owner=? AND turn_id=?"),
        ("SET_FLAG", "owner=? AND flag_id=?"),
        ("CHUNK", "owner=? AND chunk_id=?"),
        ("CHUNKS", "owner=? AND document_id=?"),
        ("KEY_BY_DIGEST", "api_keys_by_digest (digest=?)"),
        ("KEYS_OF_TENANT", "api_keys_by_tenant (tenant_id=?)"),
        ("JOBS_OF_TENANT", "jobs_by_tenant (tenant_id=?)"),
        ("items.ITEM", "owner=? AND shelf=? AND place=? AND key=?"),
        ("items.PLACES", "owner=? AND shelf=? AND place>? AND place<?"),
        ("items.SWEEP", "ricordo_items_by_end (owner=? AND expires_at"),
    ],
)
def test_a_statement_reads_no_more_than_it_names(database: sqlite3.Connection, name: str, key: str) -> None:
    """Turns of a topic, of a block or of a page are found by their keys, not by walking the session."""
    text = NAMED[name]
    arguments = dict.fromkeys(re.findall(r":(\w+)", text)) or (None,) * text.count("?")
    plan = " ".join(row[3] for row in database.execute(f"EXPLAIN QUERY PLAN {text}", arguments))
    assert key in plan


TURN = {
    "owner": b"",  # replaced by the one in the file
    "session_id": "lesson",
    "turn_number": 2,
    "turn_id": "t2",
    "agent_id": "tutor",
    "created_at": 0,
    "query": "q",
    "query_tokens": 1,
    "answered_at": 1,
    "response": "r",
    "response_tokens": 1,
    "chunk_ids": None,
    "metadata": None,
    "details": None,
    "origin": "chat",
    "counter": "",
    "checksum": "0" * 16,
}


def insert_turn(database: sqlite3.Connection, **changes: object) -> None:
    (owner,) = database.execute("SELECT owner FROM owners").fetchone()
    row = {**TURN, "owner": owner, **changes}
    marks = ", ".join(f":{name}" for name in row)
    database.execute(f"INSERT INTO turns ({', '.join(row)}) VALUES ({marks})", row)


def test_a_valid_row_is_taken(database: sqlite3.Connection) -> None:
    """The row that the refused ones below differ from is good."""
    insert_turn(database)
    assert database.execute("SELECT count(*) FROM turns").fetchone() == (2,)


@pytest.mark.parametrize(
    "changes",
    [
        {"turn_number": 0},
        {"turn_number": -1},
        {"turn_number": 1},
        {"turn_number": "two"},
        {"turn_id": ""},
        {"turn_id": "x" * 256},
        {"agent_id": "a\x00b"},
        {"query": ""},
        {"query": "\u2003\u00a0\n"},
        {"query": "a\x00b"},
        {"query": "x" * (16 * 2**20 + 1)},
        {"response": " "},
        {"response": "a\x00"},
        {"response": None},
        {"answered_at": None},
        {"query": None, "response": None, "answered_at": None},
        {"query_tokens": -1},
        {"response_tokens": -1},
        {"metadata": "{"},
        {"metadata": '"' + "x" * 2**20 + '"'},
        {"chunk_ids": "a, b"},
        {"details": "{'a'}"},
        {"origin": "elsewhere"},
        {"checksum": ""},
        {"created_at": None},
        {"created_at": "yesterday"},
        {"session_id": "nowhere"},
        {"owner": b"x" * 16},
        {"owner": None},
    ],
    ids=lambda changes: " ".join(f"{key}={str(value)[:12]!r}" for key, value in changes.items()),
)
def test_an_invalid_turn_is_refused_by_the_database(database: sqlite3.Connection, changes: dict[str, object]) -> None:
    """Blank or NUL text, bad numbers, bad JSON, oversized values and turns of nobody cannot be inserted."""
    with pytest.raises(sqlite3.IntegrityError):
        insert_turn(database, **changes)


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO owners VALUES (x'00', 't', 'u')",
        "INSERT INTO owners VALUES (zeroblob(16), '', 'u')",
        "INSERT INTO owners VALUES (zeroblob(16), 't', char(65, 0))",
        "UPDATE sessions SET last_turn = -1",
        "UPDATE sessions SET turn_count = last_turn + 1",
        "UPDATE sessions SET tags = 'music'",
        "UPDATE sessions SET title = char(0)",
        "INSERT INTO sessions SELECT * FROM sessions",
        "UPDATE sessions SET owner = zeroblob(16)",
        "INSERT INTO receipts SELECT owner, 'lesson', 7, x'0102' FROM owners",
        "INSERT INTO receipts SELECT owner, 'lesson', 1, x'01' FROM owners",
        "INSERT INTO receipts SELECT owner, 'lesson', 1, '{}' FROM owners",
        "INSERT INTO passages SELECT zeroblob(16), 1, 'd', 1, 'text' FROM owners",
        "INSERT INTO passages SELECT owner, 0, 'd', 1, 'text' FROM owners",
        "INSERT INTO passages SELECT owner, 99, 'd', -1, 'text' FROM owners",
        "INSERT INTO passage_uses SELECT owner, 'nowhere', 1, 1 FROM owners",
        "INSERT INTO passage_uses SELECT owner, 'lesson', 1, 0 FROM owners",
        "UPDATE turns SET turn_id = NULL",
        "UPDATE turns SET query = NULL, response = NULL",
        "UPDATE turns SET topic_id = ''",
        "UPDATE topics SET session_id = 'nowhere'",
        "UPDATE topics SET importance = 2",
        "UPDATE topics SET archived_count = message_count + 1",
        "UPDATE topics SET state = 'lost'",
        "UPDATE topics SET hot = '1, 2'",
        "INSERT INTO blocks SELECT owner, 'nowhere', 'b', 't', '[1]', 0, x'00' FROM owners",
        "INSERT INTO blocks SELECT owner, 'lesson', 'b', 't', '1,', 0, x'00' FROM owners",
        "INSERT INTO traces SELECT owner, 'nowhere', 0, 'e', 1, x'00', NULL FROM owners",
        "INSERT INTO traces SELECT owner, 'lesson', -1, 'e', 1, x'00', NULL FROM owners",
        "INSERT INTO traces SELECT owner, 'lesson', 0, '', 1, x'00', NULL FROM owners",
        "INSERT INTO traces SELECT owner, 'lesson', 0, 'e', 33, x'00', NULL FROM owners",
        "INSERT INTO traces SELECT owner, 'lesson', 0, 'e', 1, x'', NULL FROM owners",
        "UPDATE sessions SET learned_through = -1",
        "UPDATE people SET owner = zeroblob(16)",
        "UPDATE people SET revision = 0",
        "UPDATE facts SET agent_id = 'nobody'",
        "UPDATE facts SET kind = 'secret'",
        "UPDATE facts SET text = char(65, 0)",
        "UPDATE facts SET digest = ''",
        "UPDATE facts SET sources = 'said'",
        "UPDATE facts SET sources = '{}'",
        "UPDATE facts SET origin = 'hearsay'",
        "UPDATE facts SET forgotten = 1",
        "UPDATE facts SET forgotten = 2",
        "UPDATE facts SET fact_id = ''",
        "UPDATE summaries SET session_id = 'nowhere'",
        "UPDATE summaries SET kind = 'long'",
        "UPDATE summaries SET text = ''",
        "UPDATE summaries SET first_turn = 0",
        "UPDATE summaries SET first_turn = last_turn + 1",
        "UPDATE summaries SET topics = 'fugues'",
        "UPDATE summaries SET tokens = -1",
        "UPDATE flags SET owner = zeroblob(16)",
        "UPDATE flags SET subject = 'user'",
        "UPDATE flags SET subject_id = ''",
        "UPDATE flags SET state = 'forgiven'",
        "UPDATE flags SET rules = 'imperative'",
        "UPDATE documents SET owner = zeroblob(16)",
        "UPDATE documents SET kind = 'film'",
        "UPDATE documents SET digest = ''",
        "UPDATE documents SET chunk_count = -1",
        "UPDATE documents SET metadata = 'music'",
        "UPDATE chunks SET document_id = 'nowhere'",
        "UPDATE chunks SET text = ''",
        "UPDATE chunks SET position = -1",
        "UPDATE chunks SET end_at = start_at - 1",
        "UPDATE chunks SET page = 0",
        "INSERT INTO chunks SELECT owner, document_id, 9, chunk_id, 'x', '', 0, 0, NULL, NULL, '' FROM chunks",
        "UPDATE api_keys SET owner = x'00'",
        "UPDATE api_keys SET digest = 'secret'",
        "UPDATE api_keys SET digest = 'F' || substr(digest, 2)",
        "UPDATE api_keys SET scopes = 'all'",
        "UPDATE jobs SET kind = ''",
        "UPDATE jobs SET attempts = -1",
        "UPDATE jobs SET leased_by = 'somebody'",
        "UPDATE jobs SET leased_until = 1",
        "UPDATE leases SET holder = ''",
    ],
)
def test_an_invalid_row_is_refused_by_the_database(database: sqlite3.Connection, statement: str) -> None:
    """The other tables guard themselves as well."""
    with pytest.raises(sqlite3.IntegrityError):
        database.execute(statement)


def test_an_old_sqlite_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A library that cannot keep the constraints is refused at once."""
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 36, 0))
    with pytest.raises(StoreError, match=r"3\.37"):
        SqliteStore(tmp_path / "memory.db")
