"""Row-level security: what one owner's transaction can see and change, whatever its SQL says."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import urlsplit, urlunsplit
from uuid import UUID, uuid4

import psycopg
import pytest
from hypothesis import given, settings
from psycopg import sql

from ricordo.errors import StoreError
from ricordo.records.derived import Topic, TopicChange
from ricordo.records.service import StoredItem
from ricordo.records.turns import Message, Owner, StoredReceipt, Turn, TurnVectors, message_id
from ricordo.stores.postgres import PostgresStore, documents_keys_jobs, owner_statements
from ricordo.stores.postgres.schema import TABLES
from ricordo.stores.postgres.transaction import ConnectedRole, RowSecurity, quoted, row_security_for
from ricordo.testing import strategies
from ricordo.testing.contract.people import learn
from ricordo.testing.fakes import a_block, a_document, a_fact, a_flag, a_key, a_summary, some_chunks
from ricordo.testing.postgres import PostgresForTests

pytest_plugins = ["ricordo.testing.postgres"]

NOW = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
WHO = "SELECT owner, current_user FROM ricordo.turns"
ANNA, BRUNO = Owner("acme", "anna"), Owner("acme", "bruno")


def a_turn(owner: Owner, session_id: str = "chat") -> Turn:
    """A turn of the owner with a fresh id."""
    turn_id = str(uuid4())
    question = Message(message_id(turn_id, "query"), "user", f"a secret of {owner.user_id}", NOW)
    answer = Message(message_id(turn_id, "response"), "assistant", "kept", NOW)
    return Turn(turn_id, owner, "tutor", session_id, 0, NOW, question, answer)


@pytest.fixture
def both(postgres_store: PostgresStore) -> PostgresStore:
    """A store in which Anna and Bruno have a turn each, with a row in every table."""
    for owner in (ANNA, BRUNO):
        receipt = StoredReceipt("chat", 0, '{"passage": "d1"}', {"d1": "the system prompt"})
        turn = postgres_store.turns.append(a_turn(owner), receipt=receipt)
        topic = Topic("topic", "Secrets", b"", NOW, NOW)
        postgres_store.topics.put(owner, "chat", TopicChange(0, put=(topic,), assigned={1: "topic"}))
        postgres_store.topics.archive(
            owner, "chat", a_block([turn], topic_id="topic", block_id="block", created_at=NOW)
        )
        postgres_store.vectors.write(owner, [TurnVectors("chat", 1, "words", turn.checksum, b"")])
        learn(postgres_store, owner, a_fact("secret", turn))
        assert postgres_store.people.put_summary(owner, a_summary("chat"))
        assert postgres_store.people.put_flag(owner, a_flag(session_id="chat"))
        assert postgres_store.documents.put(owner, a_document(chunk_count=1), some_chunks(count=1))
        postgres_store.keys.put(a_key("acme", owner.user_id, user_id=owner.user_id))
        assert postgres_store.jobs.enqueue(owner, "facts", "chat", NOW)
        postgres_store._transactions.read(owner, documents_keys_jobs.LEASE, name="x", holder="y", now=0, until=0)
        postgres_store._transactions.run(
            owner, lambda tx, key=owner.key: tx.send(owner_statements.NOTE_ERASURE, {"owner": key, "now": 0})
        )
        postgres_store.items.write(owner, "notes", NOW, lambda items: items.put(StoredItem("", "k", b"secret")))
    return postgres_store


def become_app(connection: psycopg.Connection) -> None:
    """Take on the application role, as the store does; on Citus the settings that follow reach the shards."""
    connection.execute("SET LOCAL citus.propagate_set_commands = 'local'")
    connection.execute("SET LOCAL ROLE ricordo_app")


@contextmanager
def as_app(url: str, owner: UUID | str | None) -> Iterator[psycopg.Connection]:
    """A transaction as the application role that has named an owner, or none."""
    with psycopg.connect(url) as connection:
        become_app(connection)
        if owner is not None:
            connection.execute(sql.SQL("SET LOCAL ricordo.owner = {}").format(sql.Literal(str(owner))))
        yield connection
        connection.rollback()


def owners_in(connection: psycopg.Connection, table: str) -> set[UUID]:
    """The owners of all rows that a query without WHERE gives."""
    query = sql.SQL("SELECT owner FROM ricordo.{}").format(sql.Identifier(table))
    return {owner for (owner,) in connection.execute(query)}


@pytest.mark.parametrize("table", TABLES)
def test_a_query_that_forgot_its_where_sees_one_owner(both: PostgresStore, postgres_url: str, table: str) -> None:
    """Without any WHERE, exactly the rows of the owner that the transaction named come back."""
    for owner in (ANNA, BRUNO):
        with as_app(postgres_url, owner.key) as connection:
            assert owners_in(connection, table) == {owner.key}


@pytest.mark.parametrize("named", [None, ""], ids=["never set", "set and over"])
@pytest.mark.parametrize("table", TABLES)
def test_no_owner_named_no_row(both: PostgresStore, postgres_url: str, table: str, named: str | None) -> None:
    """A transaction that names nobody sees nothing; the empty text that a past SET LOCAL leaves is nobody."""
    with as_app(postgres_url, named) as connection:
        assert owners_in(connection, table) == set()


def test_a_pooled_connection_forgets_the_owner(both: PostgresStore, postgres_url: str) -> None:
    """After the transaction of one owner the same connection, unset, sees nothing."""
    with psycopg.connect(postgres_url) as connection:
        connection.execute(f"SET LOCAL ricordo.owner = '{ANNA.key}'")
        connection.commit()
        become_app(connection)
        assert owners_in(connection, "turns") == set()


INTRUSIONS = {
    "insert into owners": "INSERT INTO ricordo.owners VALUES (%(other)s, 'acme', 'x') ON CONFLICT DO NOTHING",
    "insert into sessions": "INSERT INTO ricordo.sessions (owner, session_id, agent_id, created_at, last_active_at)"
    " VALUES (%(other)s, 'new', 'tutor', 0, 0)",
    "insert into turns": "INSERT INTO ricordo.turns (owner, session_id, turn_number, turn_id, agent_id, created_at,"
    " query, query_tokens, response_tokens, origin, counter, checksum)"
    " VALUES (%(other)s, 'chat', 2, 'new', 'tutor', 0, 'hi', 0, 0, 'chat', '', '0123456789abcdef')",
    "insert into receipts": "INSERT INTO ricordo.receipts VALUES (%(other)s, 'chat', 1, '{}')",
    "insert into passages": "INSERT INTO ricordo.passages VALUES (%(other)s, 'chat', 'd2', 1, 'x')",
    "insert into topics": "INSERT INTO ricordo.topics"
    " VALUES (%(other)s, 'chat', 'new', '', '', '', 0, 0, 1, 0, 0, 0, 0, '[]', '[]', NULL, 'working')",
    "insert into blocks": "INSERT INTO ricordo.blocks VALUES (%(other)s, 'chat', 'new', 'topic', '[]', 0, '')",
    "insert into traces": "INSERT INTO ricordo.traces VALUES (%(other)s, 'chat', 1, 'x', '0123456789abcdef', '')",
    "insert into people": "INSERT INTO ricordo.people VALUES (%(other)s, 'new', 1)",
    "insert into facts": "INSERT INTO ricordo.facts VALUES (%(other)s, 'tutor', 'new', 'other', 'x', '', 'd', 'en',"
    " '[]', 0, 0, NULL, NULL, 'patterns', 'user_said', false)",
    "insert into summaries": "INSERT INTO ricordo.summaries VALUES (%(other)s, 'chat', 'new', 'tutor', 'session', 'x',"
    " 1, 1, '[]', 0, 0, '', 'extractive', 'user_said')",
    "insert into flags": "INSERT INTO ricordo.flags VALUES (%(other)s, 'message', 'new', 'new', 'chat', '[]',"
    " 'user_said', 'flagged', 0)",
    "insert into documents": "INSERT INTO ricordo.documents VALUES (%(other)s, 'new', '', 'text', 'd', 0, 0, 0, NULL)",
    "insert into chunks": "INSERT INTO ricordo.chunks VALUES (%(other)s, 'primer', 9, 'new', 'x', '', 0, 0, NULL,"
    " NULL, '')",
    "insert into api_keys": "INSERT INTO ricordo.api_keys VALUES (%(other)s, 'new', 'acme', NULL, '',"
    " repeat('0', 64), 0, NULL, NULL, '[]')",
    "insert into jobs": "INSERT INTO ricordo.jobs VALUES (%(other)s, 'new', 'chat', 'acme', 'x', 0, 0, NULL, '', '',"
    " NULL)",
    "insert into leases": "INSERT INTO ricordo.leases VALUES (%(other)s, 'new', 'x', 0)",
    "insert into erasures": "INSERT INTO ricordo.erasures VALUES (%(other)s, 0) ON CONFLICT DO NOTHING",
    "insert into items": "INSERT INTO ricordo.items VALUES (%(other)s, 'c', '', 'new', '', '', NULL, 0, 0)",
    "give a key away": "UPDATE ricordo.api_keys SET owner = %(other)s",
    "give a fact away": "UPDATE ricordo.facts SET owner = %(other)s",
    "give a block away": "UPDATE ricordo.blocks SET owner = %(other)s",
    "give a turn away": "UPDATE ricordo.turns SET owner = %(other)s",
}


@pytest.mark.parametrize("statement", INTRUSIONS.values(), ids=INTRUSIONS.keys())
def test_writing_for_another_owner_is_refused(both: PostgresStore, postgres_url: str, statement: str) -> None:
    """No row of another owner can be inserted, and none of one's own be made another's."""
    # Citus refuses a changed owner with words of its own: it would be another shard.
    refusals = (psycopg.errors.InsufficientPrivilege, psycopg.errors.FeatureNotSupported)
    with as_app(postgres_url, ANNA.key) as connection, pytest.raises(refusals):
        connection.execute(statement, {"other": BRUNO.key})


def test_an_erasure_cannot_be_undone(both: PostgresStore, postgres_url: str) -> None:
    """The application role may not delete what records an erasure, and may change that of the named owner alone."""
    with as_app(postgres_url, ANNA.key) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("DELETE FROM ricordo.erasures")
    with as_app(postgres_url, ANNA.key) as connection:
        assert connection.execute("UPDATE ricordo.erasures SET erased_at = 1").rowcount == 1


@pytest.mark.parametrize("table", [table for table in TABLES if table != "erasures"])
def test_update_and_delete_do_not_reach_over(both: PostgresStore, postgres_url: str, table: str) -> None:
    """An UPDATE or DELETE without WHERE changes the named owner's rows and no other."""
    with psycopg.connect(postgres_url) as connection:
        become_app(connection)
        connection.execute(f"SET LOCAL ricordo.owner = '{ANNA.key}'")
        connection.execute(sql.SQL("DELETE FROM ricordo.{}").format(sql.Identifier(table)))
        connection.commit()
        assert owners_in(connection, table) == {BRUNO.key}  # as superuser: all that is left


def test_a_superuser_url_is_walled_too(both: PostgresStore, postgres_url: str) -> None:
    """A store that connects as superuser shuts itself in: its transactions run as a role without that power."""
    with psycopg.connect(postgres_url) as connection:
        (is_superuser,) = connection.execute("SELECT rolsuper FROM pg_roles WHERE rolname = current_user").fetchone()
    if not is_superuser:
        pytest.fail("the test server's role should be a superuser")
    assert both._transactions.security.role == "ricordo_app"
    seen = both._transactions.run(ANNA, lambda tx: tx.send(WHO, {})).fetchall()
    assert seen == [(ANNA.key, "ricordo_app")]


def test_names_are_listed_by_tenant_only(both: PostgresStore, postgres_url: str) -> None:
    """Naming a tenant lists that tenant's users and shows nothing of what they said."""
    both.turns.append(a_turn(Owner("other", "carla")))
    with psycopg.connect(postgres_url) as connection:
        become_app(connection)
        connection.execute("SET LOCAL ricordo.tenant = 'acme'")
        listed = {"owners", "api_keys", "jobs"}
        assert all(owners_in(connection, table) == {ANNA.key, BRUNO.key} for table in listed)
        assert all(owners_in(connection, table) == set() for table in set(TABLES) - listed)


def test_a_digest_shows_the_one_key_that_has_it(both: PostgresStore, postgres_url: str) -> None:
    """Naming a digest shows its key, to be read and not to be changed, and nothing else of anybody."""
    key = a_key("acme", "anna", user_id="anna")
    with psycopg.connect(postgres_url) as connection:
        become_app(connection)
        connection.execute(f"SET LOCAL ricordo.digest = '{key.digest}'")
        assert owners_in(connection, "api_keys") == {ANNA.key}
        assert all(owners_in(connection, table) == set() for table in TABLES if table != "api_keys")
        assert connection.execute("UPDATE ricordo.api_keys SET revoked_at = NULL").rowcount == 0
        assert connection.execute("DELETE FROM ricordo.api_keys").rowcount == 0


def test_workers_see_jobs_and_nothing_else(both: PostgresStore, postgres_url: str) -> None:
    """They may take everybody's jobs; they cannot add or remove one, nor read what it is about."""
    with psycopg.connect(postgres_url) as connection:
        become_app(connection)
        connection.execute("SET LOCAL ricordo.worker = 'on'")
        assert owners_in(connection, "jobs") == {ANNA.key, BRUNO.key}
        assert all(owners_in(connection, table) == set() for table in TABLES if table != "jobs")
        assert connection.execute("DELETE FROM ricordo.jobs").rowcount == 0
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(INTRUSIONS["insert into jobs"], {"other": BRUNO.key})


def login(server: PostgresForTests, url: str, attributes: str) -> tuple[str, str]:
    """A fresh role that may log in, and the URL to do so."""
    role = f"role_{uuid4().hex[:10]}"
    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN {attributes}")
    parts = urlsplit(url)
    return role, urlunsplit(parts._replace(netloc=f"{role}@{parts.netloc.rpartition('@')[2]}"))


def test_an_ordinary_table_owner_is_walled_by_force(postgres_server: PostgresForTests) -> None:
    """A role that may not make roles owns the tables and is walled all the same: row-level security is forced."""
    empty = postgres_server.empty_database()
    role, url = login(postgres_server, empty, "")
    with psycopg.connect(empty, autocommit=True) as connection:
        connection.execute(f"GRANT CREATE ON DATABASE {connection.info.dbname} TO {role}")
    store = PostgresStore(url)
    try:
        assert store._transactions.security.role is None
        for owner in (ANNA, BRUNO):
            store.turns.append(a_turn(owner))
        seen = store._transactions.run(ANNA, lambda tx: tx.send(WHO, {})).fetchall()
        assert seen == [(ANNA.key, role)]
    finally:
        store.close()


def test_a_member_of_the_application_role_opens_a_database_made_by_another(
    both: PostgresStore, postgres_server: PostgresForTests, postgres_url: str
) -> None:
    """An administrator applies the schema; a login role that was granted ricordo_app reads and writes."""
    _, url = login(postgres_server, postgres_url, "IN ROLE ricordo_app")
    store = PostgresStore(url)
    try:
        security = store._transactions.security
        assert security.role == (None if security.citus else "ricordo_app")
        assert store.turns.append(a_turn(ANNA)).turn_number == 2
    finally:
        store.close()


def test_a_role_that_bypasses_and_cannot_be_walled_is_refused(
    both: PostgresStore, postgres_server: PostgresForTests, postgres_url: str
) -> None:
    """BYPASSRLS without membership: refused, with the GRANT that mends it; an explicit word opens it anyway."""
    role, url = login(postgres_server, postgres_url, "BYPASSRLS")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"GRANT USAGE ON SCHEMA ricordo TO {role}")
        connection.execute(f"GRANT ALL ON ALL TABLES IN SCHEMA ricordo TO {role}")
    with pytest.raises(StoreError, match=f"GRANT ricordo_app TO {role}"):
        PostgresStore(url)
    store = PostgresStore(url, require_wall=False)
    try:
        assert [turn.owner for turn in store.turns.page(ANNA, "chat")] == [ANNA]
    finally:
        store.close()


def test_a_role_that_bypasses_but_may_make_roles_gets_itself_a_wall() -> None:
    """The administrator of a hosted database, no superuser, applies the schema on a new server and is walled by it."""
    server = PostgresForTests()
    try:
        empty = server.empty_database()
        role, url = login(server, empty, "CREATEROLE BYPASSRLS")
        with psycopg.connect(empty, autocommit=True) as connection:
            connection.execute(f"GRANT CREATE ON DATABASE {connection.info.dbname} TO {role}")
        store = PostgresStore(url)
        assert store._transactions.security.role == "ricordo_app"
        assert store.turns.append(a_turn(ANNA)).turn_number == 1
        store.close()
    finally:
        server.close()


def test_the_wall_is_chosen_from_what_the_role_may_do() -> None:
    """Take on the application role where possible; refuse only a role that bypasses and cannot."""
    assert row_security_for(ConnectedRole("postgres", bypasses=True, may_assume=True), required=True) == RowSecurity(
        "ricordo_app"
    )
    assert row_security_for(ConnectedRole("app", bypasses=False, may_assume=False), required=True) == RowSecurity(None)
    assert row_security_for(ConnectedRole("root", bypasses=True, may_assume=False), required=False) == RowSecurity(None)
    with pytest.raises(StoreError, match="require_wall=False"):
        row_security_for(ConnectedRole("root", bypasses=True, may_assume=False), required=True)


def test_a_distributed_database_is_told_to_pass_settings_on() -> None:
    """On Citus the settings must reach the shards, which takes one statement more, first."""
    first, *_ = RowSecurity("ricordo_app", citus=True).for_owner(ANNA.key)
    assert first == "SET LOCAL citus.propagate_set_commands = 'local'"


@settings(max_examples=100)
@given(tenant_id=strategies.ids())
def test_any_tenant_id_is_quoted_safely(tenant_id: str) -> None:
    """A literal keeps its value and ends where it should: reading it back as SQL reads it gives the text."""
    literal = quoted(tenant_id)
    assert literal.startswith("E'")
    assert literal.endswith("'")
    inner = literal[2:-1]
    assert inner.replace("''", "").replace("\\\\", "").count("'") == 0
    assert inner.replace("''", "'").replace("\\\\", "\\") == tenant_id


def test_hostile_tenants_are_only_names(postgres_store: PostgresStore) -> None:
    """Tenants called like SQL, with quotes and backslashes, have their own users and no others."""
    for tenant in strategies.HOSTILE:
        postgres_store.turns.append(a_turn(Owner(tenant, "anna")))
    for tenant in strategies.HOSTILE:
        assert list(postgres_store.owners(tenant)) == [Owner(tenant, "anna")]
        assert postgres_store.stats(tenant).turns == 1
