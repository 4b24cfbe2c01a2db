"""The pages on HTTP and security name what is there: every operation, every option."""

from dataclasses import fields
from pathlib import Path

from server_samples import service

from ricordo.server.app import create_app
from ricordo.server.options import ServerOptions

PAGE = (Path(__file__).parent.parent.parent / "docs" / "http.md").read_text(encoding="utf-8")


def test_every_operation_has_its_line() -> None:
    """The table of operations is that of the description, word for word."""
    paths = create_app(service()).openapi()["paths"]
    for path, operations in paths.items():
        for method, operation in operations.items():
            does = operation["description"].partition("\n\n")[0].replace("\n", " ")
            assert f"| `{method.upper()} {path}` | {does} |" in PAGE
    assert PAGE.count("\n| `GET /") + PAGE.count("\n| `POST /") + PAGE.count("\n| `PATCH /") + PAGE.count(
        "\n| `DELETE /"
    ) == sum(len(operations) for operations in paths.values())


def test_every_option_has_its_line() -> None:
    """What `ServerOptions` can be told stands in the table of settings."""
    table = PAGE.partition("## Settings of the server")[2]
    assert [each.name for each in fields(ServerOptions) if f"`{each.name}`" not in table] == []
