"""Citus: tables distributed by owner, in a new database and in one with rows, and roles that work there.

The tests of a cluster need one: scripts/test-citus starts it, or RICORDO_TEST_CITUS_URL names its coordinator.
"""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from bench import citus
from ricordo.cli import main
from ricordo.errors import SchemaError, StoreError, ValidationError
from ricordo.records.turns import Owner
from ricordo.stores.open import Migration, migrations_for, pending
from ricordo.stores.postgres import PostgresStore, schema
from ricordo.stores.postgres.distribute import distribute
from ricordo.stores.postgres.transaction import ConnectedRole, RowSecurity, row_security_for
from ricordo.testing.fakes import START, a_turn
from ricordo.testing.postgres import PostgresForTests

pytest_plugins = ["ricordo.testing.postgres"]

on_cluster = pytest.mark.skipif(
    not os.environ.get(citus.URL_VARIABLE),
    reason=f"needs a Citus cluster: run scripts/test-citus ({citus.URL_VARIABLE})",
)
ANNA, BRUNO = Owner("acme", "anna"), Owner("acme", "bruno")
FORMER_PERSON = "0bed0e415e61682f15bdbb3b5b48e105a2c9410b1a50a59dfe781a2bb4888718"

# What differs between tables that were distributed in another order.
SHAPE = """
    SELECT 'column', table_name || '.' || column_name, data_type || ' ' || is_nullable
    FROM information_schema.columns WHERE table_schema = 'ricordo'
    UNION ALL SELECT 'constraint', conrelid::regclass::text || '.' || conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'ricordo'::regnamespace
    UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'ricordo'
    UNION ALL SELECT 'policy', tablename || '.' || policyname, concat(cmd, roles, qual, with_check)
    FROM pg_policies WHERE schemaname = 'ricordo'
    UNION ALL SELECT 'grant', table_name || '.' || grantee, privilege_type
    FROM information_schema.role_table_grants WHERE table_schema = 'ricordo'
    UNION ALL SELECT 'distributed', logicalrelid::text, partmethod::text FROM pg_dist_partition
    ORDER BY 1, 2, 3
"""
# A session of two turns as the first version wrote them: one of a topic, one without an answer.
ROWS_OF_THE_FIRST_VERSION = (
    "INSERT INTO ricordo.owners (owner, tenant_id, user_id) VALUES (%(owner)s, 'acme', %(user)s)",
    """INSERT INTO ricordo.sessions (owner, session_id, agent_id, created_at, last_active_at, last_turn, turn_count)
       VALUES (%(owner)s, 's', 'default', 0, 0, 2, 2)""",
    """INSERT INTO ricordo.turns (owner, session_id, turn_number, turn_id, agent_id, created_at, query, query_tokens,
                                  answered_at, response, response_tokens, origin, counter, checksum, topic_id)
       VALUES (%(owner)s, 's', 1, 'a', 'default', 0, 'q', 1, 1, 'r', 1, 'chat', '', '0123456789abcdef', 't'),
              (%(owner)s, 's', 2, 'b', 'default', 2, 'q', 1, NULL, NULL, 0, 'chat', '', '0123456789abcdef', NULL)""",
    "INSERT INTO ricordo.receipts (owner, session_id, turn_number, body) VALUES (%(owner)s, 's', 1, '{}')",
    """INSERT INTO ricordo.traces (owner, session_id, turn_number, embedder, checksum, body)
       VALUES (%(owner)s, 's', 1, 'light@1', '0123456789abcdef', 'vectors')""",
)
OPEN_SHARDS = """
    SELECT count(*) FROM run_command_on_placements(%s, $$
        SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = '%%s'::regclass
    $$) WHERE NOT success OR result <> 't'
"""


def rows(url: str, query: str, *values: object) -> list[tuple[object, ...]]:
    """What a query gives, asked as the administrator."""
    with psycopg.connect(url) as connection:
        return connection.execute(query, values or None).fetchall()


@pytest.fixture
def empty(postgres_server: PostgresForTests) -> str:
    """A database of the cluster without anything of ours."""
    return postgres_server.empty_database()


def login(server: PostgresForTests, url: str, attributes: str) -> tuple[str, str]:
    """A fresh role that may log in on every node, and the URL to do so."""
    role = f"role_{uuid4().hex[:10]}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN {attributes}")
    return role, url.replace("//postgres@", f"//{role}@")


@pytest.fixture
def filled(empty: str) -> Iterator[str]:
    """A database with rows of twenty users, on the coordinator alone."""
    store = PostgresStore(empty)
    for n in range(20):
        store.turns.append(a_turn(Owner("acme", f"user {n}"), session_id="s"))
        assert store.jobs.enqueue(Owner("acme", f"user {n}"), "facts", "s", START)
    store.close()
    return empty


def write_as_the_first_version(connection: psycopg.Connection) -> None:
    """Rows of nine users, past the store, which would migrate the database first."""
    for n in range(9):
        owner = Owner("acme", f"user {n}")
        for statement in ROWS_OF_THE_FIRST_VERSION:
            connection.execute(statement, {"owner": owner.key, "user": owner.user_id})


def check_what_the_first_version_wrote(url: str) -> None:
    """Everything is there, counted and found as the newest version does."""
    store = PostgresStore(url)
    try:
        assert store.integrity() == ()
        counted = store.stats("acme")
        assert (counted.users, counted.sessions, counted.turns, counted.receipts) == (9, 9, 18, 9)
        for owner in (Owner("acme", f"user {n}") for n in range(9)):
            assert [trace.body for trace in store.vectors.read(owner, "light@1")] == [b"vectors"]
            assert store.turns.append(a_turn(owner, session_id="s")).turn_number == 3
    finally:
        store.close()
    assert rows(url, "SELECT topic_id, turn_number FROM ricordo.topic_turns") == [("t", 1)] * 9
    assert rows(url, "SELECT DISTINCT open_count, tenant_id FROM ricordo.sessions") == [(1, "acme")]


@on_cluster
def test_a_new_database_is_made_and_distributed_in_one_go(empty: str) -> None:
    """Migrations, the role's login and every table of users; the tables of the service stay on the coordinator."""
    done = distribute(empty, shards=3)
    assert done.workers == 2
    tables = rows(empty, "SELECT logicalrelid::text, partmethod, colocationid FROM pg_dist_partition")
    assert {name for name, *_ in tables} == {f"ricordo.{table}" for table in schema.DISTRIBUTED_TABLES}
    assert {method for _, method, _ in tables} == {"h"}
    assert len({group for *_, group in tables}) == 1  # a user's rows of all tables lie on one worker
    assert rows(empty, "SELECT DISTINCT shard_count FROM citus_tables") == [(3,)]


@on_cluster
def test_distributing_again_changes_nothing(empty: str) -> None:
    """The second run finds nothing to do, and so does a dry run."""
    distribute(empty)
    before = rows(empty, SHAPE)
    assert distribute(empty, dry_run=True).statements == ()
    assert distribute(empty).statements == ()
    assert rows(empty, SHAPE) == before


@on_cluster
def test_a_dry_run_tells_the_statements_and_changes_nothing(filled: str) -> None:
    """The script that is printed does what the command does."""
    script = distribute(filled, dry_run=True).sql
    assert rows(filled, "SELECT count(*) FROM pg_dist_partition") == [(0,)]
    with psycopg.connect(filled, autocommit=True) as connection:
        for statement in schema.statements_in(script):
            connection.execute(statement)
    assert distribute(filled).statements == ()


@on_cluster
def test_rows_move_to_the_workers_and_none_stays_behind(filled: str) -> None:
    """Every turn, number and job is there after the move, and the coordinator's files hold no hidden copy."""
    distribute(filled)
    store = PostgresStore(filled)
    try:
        assert store.stats("acme").turns == 20
        assert store.jobs.stats("acme", START).pending == 20
        assert store.turns.append(a_turn(Owner("acme", "user 3"), session_id="s")).turn_number == 2
        assert store.integrity() == ()
    finally:
        store.close()
    left = (
        "SELECT sum(pg_relation_size(oid)) FROM pg_class WHERE relnamespace = 'ricordo'::regnamespace AND relname = %s"
    )
    assert [rows(filled, left, table) for table in ("owners", "sessions", "turns")] == [[(0,)]] * 3


@on_cluster
def test_a_running_program_goes_on_after_the_move(filled: str) -> None:
    """A store that was open before works on the distributed tables, with the statements that it had prepared."""
    store = PostgresStore(filled, pool_size=1)
    try:
        for _ in range(8):
            store.turns.append(a_turn(ANNA, session_id="s"))
            assert store.turns.page(ANNA, "s", last=3)
        distribute(filled)
        assert store.turns.append(a_turn(ANNA, session_id="s")).turn_number == 9
        assert len(store.turns.page(ANNA, "s")) == 9
        assert store.jobs.enqueue(ANNA, "facts", "s", START)
        assert len(store.jobs.take("worker", START, timedelta(minutes=1), limit=50)) == 21
        assert store.erase(ANNA)["turns"] == 9
    finally:
        store.close()


@on_cluster
@pytest.mark.parametrize("steps", ["one by one", "at once"])
def test_a_distributed_first_version_migrates_to_the_newest(
    empty: str, postgres_server: PostgresForTests, steps: str
) -> None:
    """Migrations run over distributed tables with rows, and the tables that they add are distributed too."""
    known = migrations_for("postgres")
    with psycopg.connect(empty, autocommit=True) as connection:
        schema.migrate(connection, known[:1])
        first = re.findall(r"CREATE TABLE ricordo\.(\w+)", known[0].sql)
        with connection.transaction():
            connection.execute("ALTER ROLE ricordo_app LOGIN")
            connection.execute(schema.SEQUENTIAL)
            for statement in schema.distribution_sql(frozenset(first)):
                connection.execute(statement)
        write_as_the_first_version(connection)
        for upto in range(2 if steps == "one by one" else len(known), len(known) + 1):
            schema.migrate(connection, known[:upto])
    assert rows(empty, SHAPE) == rows(postgres_server.database(), SHAPE)
    check_what_the_first_version_wrote(empty)


@on_cluster
def test_a_database_of_the_first_version_is_migrated_and_distributed_in_one_go(
    empty: str, postgres_server: PostgresForTests
) -> None:
    """The rows that migrations change are copied to the workers in the same transaction."""
    with psycopg.connect(empty, autocommit=True) as connection:
        schema.migrate(connection, migrations_for("postgres")[:1])
        write_as_the_first_version(connection)
    distribute(empty)
    assert rows(empty, SHAPE) == rows(postgres_server.database(), SHAPE)
    check_what_the_first_version_wrote(empty)


@on_cluster
def test_row_level_security_is_forced_on_every_shard(postgres_url: str) -> None:
    """The shards on the workers have it as the tables on the coordinator do."""
    for table in schema.DISTRIBUTED_TABLES:
        assert rows(postgres_url, OPEN_SHARDS, f"ricordo.{table}") == [(0,)]


@on_cluster
@pytest.mark.parametrize("rights", ["member", "own grants"])
def test_a_least_privilege_login_role_is_restricted_on_the_workers(
    postgres_server: PostgresForTests, postgres_url: str, rights: str
) -> None:
    """A role that may log in and has the rights of ricordo_app works as itself, and sees one owner's rows."""
    role, url = login(postgres_server, postgres_url, "IN ROLE ricordo_app" if rights == "member" else "")
    if rights == "own grants":
        with psycopg.connect(postgres_url, autocommit=True) as connection:
            connection.execute(f"GRANT USAGE ON SCHEMA ricordo TO {role}")
            connection.execute(f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ricordo TO {role}")
    store = PostgresStore(url)
    try:
        assert store._transactions.security == RowSecurity(None, citus=True)
        for owner in (ANNA, BRUNO):
            store.turns.append(a_turn(owner, session_id="chat"))
        who = "SELECT owner, current_user FROM ricordo.turns"
        assert store._transactions.run(ANNA, lambda tx: tx.send(who, {})).fetchall() == [(ANNA.key, role)]
        assert list(store.owners("acme")) != []
        assert store.stats("acme").turns == 2
    finally:
        store.close()


@on_cluster
def test_sizes_are_those_of_the_whole_cluster(postgres_url: str) -> None:
    """The coordinator's tables are empty shells; statistics count the shards."""
    store = PostgresStore(postgres_url)
    try:
        (shells,) = rows(postgres_url, schema.SIZE)[0]
        assert (store.stats("acme").bytes_on_disk or 0) > int(str(shells))
    finally:
        store.close()


@on_cluster
def test_an_ordinary_role_cannot_leave_rows_behind(filled: str, postgres_server: PostgresForTests) -> None:
    """Row-level security would hide the rows from the copy: refused, with the role that may."""
    _, url = login(postgres_server, filled, "IN ROLE ricordo_app")
    with pytest.raises(SchemaError, match="superuser"):
        distribute(url)
    assert rows(filled, "SELECT count(*) FROM pg_dist_partition") == [(0,)]


def test_a_database_without_the_extension_is_told_what_to_install() -> None:
    """Plain PostgreSQL is refused with the commands that are missing, and left as it is."""
    server = PostgresForTests()
    try:
        url = server.database()
        with pytest.raises(SchemaError, match="CREATE EXTENSION citus"):
            distribute(url)
        assert main(["postgres", "distribute", url, "--dry-run"]) == 5
    finally:
        server.close()


def test_only_a_postgresql_url_is_distributed(tmp_path: os.PathLike[str]) -> None:
    """A file, and a number of shards that no cluster has, are refused before anything is opened."""
    assert main(["postgres", "distribute", os.path.join(tmp_path, "memory.db")]) == 2
    with pytest.raises(ValidationError, match="shards"):
        distribute("postgresql://nobody@127.0.0.1:1/none", shards=0)


def test_the_script_says_that_there_is_no_cluster() -> None:
    """Where PostgreSQL has no Citus, nothing is tested and the exit code is one of its own."""
    script = Path(__file__).parents[2] / "scripts" / "test-citus"
    without = {name: value for name, value in os.environ.items() if name != citus.URL_VARIABLE}
    without[citus.PROGRAMS_VARIABLE] = str(citus.wheel_programs())
    ran = subprocess.run([sys.executable, script], env=without, capture_output=True, text=True)
    assert (ran.returncode, "has no Citus extension" in ran.stderr) == (3, True)


def test_a_bypassing_role_on_a_cluster_is_told_about_the_login() -> None:
    """A superuser can take on ricordo_app only once that can log in on the workers."""
    with pytest.raises(StoreError, match="ricordo postgres distribute"):
        row_security_for(ConnectedRole("root", bypasses=True, may_assume=False, citus=True), required=True)


def test_a_database_with_the_former_text_of_a_migration_is_accepted() -> None:
    """The second migration was rewritten with the same result: both digests are right, a third is not."""
    known = migrations_for("postgres")
    ledger = {migration.version: migration.digest for migration in known}
    assert pending(known, {**ledger, 2: FORMER_PERSON}) == ()
    with pytest.raises(SchemaError, match="edited"):
        pending(known, {**ledger, 2: "0" * 64})


REFUSED_FORMS = {
    "a column with a constraint": r"ADD COLUMN [^;]*\b(CHECK|UNIQUE|PRIMARY|REFERENCES)\b",
    "a constraint without a name": r"ADD (CHECK|UNIQUE|PRIMARY|FOREIGN)\b",
    "a trigger": r"CREATE TRIGGER",
    "a storage": r"SET STORAGE",
}


@pytest.mark.parametrize("form", REFUSED_FORMS)
def test_migrations_are_written_in_forms_that_a_distributed_table_accepts(form: str) -> None:
    """After the first version a table may be distributed: columns and named constraints are added apart."""
    for migration in migrations_for("postgres")[1:]:
        assert not _refused(migration, REFUSED_FORMS[form])


def _refused(migration: Migration, form: str) -> list[str]:
    """The statements of a migration about tables that an earlier one made, in a form that Citus refuses."""
    own = set(re.findall(r"CREATE TABLE (?:IF NOT EXISTS )?ricordo\.(\w+)", migration.sql))
    text = re.sub(r"--[^\n]*", "", migration.sql)
    changed = [(re.search(r"ALTER TABLE ricordo\.(\w+)", each), each) for each in text.split(";")]
    return [each for table, each in changed if re.search(form, each) and not (table and table[1] in own)]
