"""Fixtures for pytest: `postgres_server` for the run, `postgres_url` for each test, `postgres_store` opened on it;
`own_postgres_url` for a test that changes more than rows.

Name this module in `pytest_plugins` to have them; the server comes from `ricordo.testing.postgres`.
"""

from collections.abc import Iterator

import pytest

from ricordo.stores.postgres import PostgresStore
from ricordo.testing.postgres import PostgresForTests


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[PostgresForTests]:
    """One server for the whole run."""
    server = PostgresForTests.from_environment()
    yield server
    server.close()


@pytest.fixture
def postgres_url(postgres_server: PostgresForTests) -> str:
    """An empty database with the schema applied, shared with other tests one after the other."""
    return postgres_server.shared_database()


@pytest.fixture
def own_postgres_url(postgres_server: PostgresForTests) -> str:
    """A database of the test's own, with the schema applied."""
    return postgres_server.database()


@pytest.fixture
def postgres_store(postgres_url: str) -> Iterator[PostgresStore]:
    """A store on an empty database."""
    store = PostgresStore(postgres_url)
    yield store
    store.close()
