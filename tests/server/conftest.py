"""A client of a fresh server; and over all tests of this folder, a log without secrets and without what was said."""

import io
import logging
from collections.abc import Iterator

import pytest
from server_samples import SECRETS, SPOKEN, serving
from starlette.testclient import TestClient

from ricordo.server.logging import configure_logging, remove_handler


class Everything(logging.Handler):
    """Every record as it would be printed by anybody, with all that it carries."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.getMessage()} {record.__dict__}")


@pytest.fixture(scope="module", autouse=True)
def silent_about_secrets() -> Iterator[None]:
    """No log line of the whole folder holds a key, a token or a word of a message."""
    written = io.StringIO()
    handler, everything = configure_logging("debug", written), Everything()
    logging.getLogger("ricordo").addHandler(everything)
    logging.getLogger().addHandler(everything)
    yield
    remove_handler(handler)
    logging.getLogger("ricordo").removeHandler(everything)
    logging.getLogger().removeHandler(everything)
    for place in (written.getvalue(), "\n".join(everything.lines)):
        assert SPOKEN not in place, next(line for line in place.splitlines() if SPOKEN in line)[:500]
        assert not [secret for secret in SECRETS if secret in place]
    if any(line.startswith("request ") for line in everything.lines):
        assert '"event": "request"' in written.getvalue()


@pytest.fixture
def client() -> Iterator[TestClient]:
    """A client of an empty server that lets everybody in."""
    with serving() as client:
        yield client


@pytest.fixture(scope="module")
def shared() -> Iterator[TestClient]:
    """A client of one server for the many examples of a law."""
    with serving() as client:
        yield client
