"""The interface is what its description says: generated requests get described statuses, types and shapes, never 5xx.

The store is a real PostgreSQL, which is the stricter one about characters. What a schema cannot say (a text that is not
blank, an id without control characters) is refused with 422, so that a schema allows something is not asked for.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from server_samples import ask, service, serving
from starlette.testclient import TestClient

from ricordo.server.app import create_app
from ricordo.stores.postgres import PostgresStore
from ricordo.testing.postgres import PostgresForTests

CHECKS: list[Any] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
DESCRIPTION = create_app(service()).openapi()
OPERATIONS = sorted((path, method) for path, operations in DESCRIPTION["paths"].items() for method in operations)


@pytest.fixture(scope="module")
def described(postgres_server: PostgresForTests) -> Iterator[TestClient]:
    """A server with a little in it."""
    with serving(PostgresStore(postgres_server.database())) as client:
        ask(client, "My name is Anna and I live in Pisa.", user_id="anonymous")
        client.post("/documents", json={"title": "A", "text": "# One\n\nText."})
        yield client


@pytest.mark.parametrize(("path", "method"), OPERATIONS)
def test_every_operation_keeps_its_description(described: TestClient, path: str, method: str) -> None:
    """No request that can be generated brings an answer that is not described."""
    operation = schemathesis.openapi.from_dict(DESCRIPTION)[path][method]

    @settings(max_examples=30, suppress_health_check=list(HealthCheck), deadline=None)
    @given(case=operation.as_strategy())
    def holds(case: schemathesis.Case) -> None:
        sent = requests.Request(**case.as_transport_kwargs(base_url="http://testserver")).prepare()
        content = sent.body.encode() if isinstance(sent.body, str) else sent.body
        response = described.request(str(sent.method), str(sent.url), content=content, headers=dict(sent.headers))
        case.validate_response(response, checks=CHECKS)

    holds()


def test_every_operation_is_described_and_every_body_has_an_example() -> None:
    """Each operation has words, a tag and the shape of its success; bodies that are objects show one."""
    for path, method in OPERATIONS:
        operation = DESCRIPTION["paths"][path][method]
        assert operation["description"], path
        assert operation["tags"], path
        success = [answer for status, answer in operation["responses"].items() if status.startswith("2")]
        assert success, path
        if "204" not in operation["responses"]:
            assert all(answer.get("content") for answer in success), path
