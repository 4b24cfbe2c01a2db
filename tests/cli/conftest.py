"""Running the command line inside the test, on a SQLite file of its own, with the embedder that needs no weights."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cli_runs import Cli, Ran, Running, Served

from ricordo.cli import main


@pytest.fixture(autouse=True)
def _apart(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Neither weights nor pending clarifications of this machine reach a test."""
    monkeypatch.setenv("RICORDO_EMBEDDER", "light")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))


@pytest.fixture
def db(tmp_path: Path) -> Path:
    """Where the database of this test lies."""
    return tmp_path / "test.db"


@pytest.fixture
def bare(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cli:
    """The command line without a database named, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    for name in ("RICORDO_URL", "RICORDO_USER", "RICORDO_PRESET"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> Ran:
        capsys.readouterr()
        code = main(arguments)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err)

    return run


@pytest.fixture
def cli(bare: Cli, db: Path) -> Cli:
    """The command line on the test's database."""
    return lambda *arguments: bare(*arguments, "--db", str(db))


@pytest.fixture
def talk(cli: Cli) -> str:
    """A session of user anna with two turns; its id."""
    first = cli("add", "What is a levain?", "A culture of flour and water.", "-u", "anna", "--chunk", "c1", "--json")
    cli("add", "How is it fed?", "With flour and water, daily.", "-u", "anna", "--continue")
    return str(first.document["session_id"])


@pytest.fixture
def running(tmp_path: Path) -> Running:
    """Servers as processes of their own, with what the test's environment says."""

    @contextmanager
    def start(*arguments: str, **variables: str) -> Iterator[Served]:
        known = {name: value for name, value in os.environ.items() if not name.startswith("RICORDO_SERVER_")}
        served = Served(arguments, known | variables)
        try:
            yield served
        finally:
            served.stop()

    return start
