"""`ricordo documents`: added once, listed to whom they are for, deleted."""

from pathlib import Path

import pytest
from cli_runs import Cli


@pytest.fixture
def course(tmp_path: Path) -> Path:
    """A small Markdown file."""
    file = tmp_path / "course.md"
    file.write_text("# Bread\n\n## Gluten\n\nGluten is a network of two proteins.\n\n## Yeast\n\nYeast is a fungus.\n")
    return file


def test_a_document_is_added_once(cli: Cli, course: Path) -> None:
    """The same content again changes nothing and says so."""
    first = cli("documents", "add", str(course), "-u", "anna", "--json").document
    assert (first["new"], first["shared"], first["kind"]) == (True, False, "markdown")
    again = cli("documents", "add", str(course), "-u", "anna")
    assert "there already" in again.out
    assert [each["document_id"] for each in cli("documents", "-u", "anna", "--json").lines] == [first["document_id"]]
    assert "course.md" in cli("documents", "-u", "anna").out


def test_shared_documents_are_for_everybody(cli: Cli, course: Path) -> None:
    """What is shared is in every user's list; what is a user's own is in no other's."""
    cli("documents", "add", str(course), "--shared", "--id", "bread", "--title", "The bread course")
    assert cli("documents", "-u", "bruno", "--json").lines[0]["shared"] is True
    assert cli("documents", "--shared", "--json").lines[0]["title"] == "The bread course"
    own = course.with_name("own.txt")
    own.write_text("My own notes.")
    cli("documents", "add", str(own), "-u", "anna")
    assert len(cli("documents", "-u", "anna", "--json").lines) == 2
    assert len(cli("documents", "-u", "bruno", "--json").lines) == 1


def test_deleting_documents(cli: Cli, course: Path) -> None:
    """A user's command does not delete what is shared; one that is gone is exit code 3."""
    cli("documents", "add", str(course), "--shared", "--id", "bread")
    assert cli("documents", "delete", "bread", "-u", "anna").code == 3
    assert cli("documents", "delete", "bread", "--shared", "--json").document == {
        "document_id": "bread",
        "deleted": True,
    }
    assert "there are no documents" in cli("documents", "--shared").out
    assert cli("documents", "delete", "bread", "--shared").code == 3


def test_wrong_usage_of_documents(cli: Cli, course: Path, tmp_path: Path) -> None:
    """Files that are missing, of an unknown kind or not text are one line and exit code 2."""
    assert cli("documents", "add", "-u", "anna").code == 2
    assert cli("documents", "list", "x", "-u", "anna").code == 2
    assert cli("documents", "add", str(tmp_path / "none.md"), "-u", "anna").code == 2
    (tmp_path / "odd.xyz").write_text("words")
    assert "unknown kind" in cli("documents", "add", str(tmp_path / "odd.xyz"), "-u", "anna").err
    assert cli("documents", "add", str(tmp_path / "odd.xyz"), "-u", "anna", "--kind", "text").code == 0
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00words")
    assert cli("documents", "add", str(tmp_path / "bytes.txt"), "-u", "anna").code == 2
    assert cli("documents", "add", str(course), str(course), "-u", "anna", "--id", "one").code == 2
