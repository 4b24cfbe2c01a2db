"""Export and import from the command line: a round trip is identity."""

import io
import json
from pathlib import Path

import pytest
from cli_runs import Cli


def test_export_and_import_round_trip(cli: Cli, bare: Cli, talk: str, tmp_path: Path) -> None:
    """What was exported, imported elsewhere and exported again is the same to the byte."""
    cli("ask", "And?", "-u", "anna", "-s", talk)
    cli("add", "Ciao, è già 🍞?", "Sì.", "-u", "anna")
    assert cli("export", "-u", "anna", "-o", "a.jsonl", "--json").document == {
        "output": "a.jsonl",
        "format": "jsonl",
        "sessions": 2,
    }
    brought = bare("import", "a.jsonl", "--db", "other.db", "--json")
    assert brought.code == 0
    assert brought.document == {"sessions_added": 2, "turns_added": 4, "turns_known": 0, "errors": []}
    again = bare("import", "a.jsonl", "--db", "other.db", "--json")
    assert again.document == {"sessions_added": 0, "turns_added": 0, "turns_known": 4, "errors": []}
    assert bare("export", "-u", "anna", "--db", "other.db").out == (tmp_path / "a.jsonl").read_text()


def test_export_one_session_as_markdown(cli: Cli, talk: str) -> None:
    """Markdown is for reading: speakers, words, sources."""
    title = cli("export", "-u", "anna", "-s", talk).lines[0]["session"]["title"]  # made beside the talk, if in time
    out = cli("export", "-u", "anna", "-s", talk, "--format", "markdown").out
    assert out.startswith(f"# {title or talk}\n")
    assert "A culture of flour and water." in out
    assert out.rstrip("\n") in cli("export", "-u", "anna", "--format", "markdown").out


def test_export_does_not_overwrite(cli: Cli, talk: str, tmp_path: Path) -> None:
    """An existing file is a conflict and stays as it is, unless --force is given."""
    (tmp_path / "a.jsonl").write_text("mine")
    assert cli("export", "-u", "anna", "-o", "a.jsonl").code == 4
    assert (tmp_path / "a.jsonl").read_text() == "mine"
    assert cli("export", "-u", "anna", "-o", "a.jsonl", "--force").out == "wrote 1 session to a.jsonl\n"
    assert json.loads((tmp_path / "a.jsonl").read_text())["session"]["id"] == talk


def test_a_failed_export_leaves_nothing(cli: Cli, talk: str, tmp_path: Path) -> None:
    """An export that fails half way leaves no file behind."""
    before = sorted(path.name for path in tmp_path.iterdir())
    assert cli("export", "-u", "anna", "-s", "nope", "-o", "a.jsonl").code == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == before


def test_an_export_into_a_missing_folder_names_it(cli: Cli, talk: str) -> None:
    """The folder is named with the remedy, and not the file that would have been written first."""
    ran = cli("export", "-u", "anna", "-o", "nowhere/anna.jsonl")
    assert ran.code == 2
    assert ran.err == "ricordo: output: the folder nowhere does not exist; make it first\n"


def test_an_import_of_nothing_makes_no_database(bare: Cli, tmp_path: Path) -> None:
    """A mistyped name is one line, and no empty database is left behind."""
    ran = bare("import", "missing.jsonl", "--db", "new.db")
    assert ran.code == 2
    assert "there is no missing.jsonl" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_makes_no_database(cli: Cli, bare: Cli, talk: str, tmp_path: Path) -> None:
    """What would come is told, also where there is no database yet, and nothing is written."""
    cli("export", "-u", "anna", "-o", "anna.jsonl")
    told = bare("import", "anna.jsonl", "--dry-run", "--db", "new.db", "--json")
    assert told.document["turns_added"] == 2
    assert not [file for file in tmp_path.iterdir() if "new" in file.name]


def test_exports_are_private(cli: Cli, talk: str, tmp_path: Path) -> None:
    """Only their owner may read an exported file."""
    cli("export", "-u", "anna", "-o", "a.jsonl")
    assert (tmp_path / "a.jsonl").stat().st_mode & 0o777 == 0o600


def test_import_reports_what_it_refuses_and_takes_the_rest(cli: Cli, bare: Cli, talk: str, tmp_path: Path) -> None:
    """Broken lines and forged documents are named, good ones go in, and the exit code is 1."""
    good = cli("export", "-u", "anna").out
    forged = json.loads(good)
    forged["session"]["id"] = "forged"
    forged["turns"][0]["turn_number"] = 0
    (tmp_path / "mixed.jsonl").write_text(f"{good}not json\n[1]\n{json.dumps(forged)}\n")
    ran = bare("import", "mixed.jsonl", "--db", "other.db", "--json")
    assert ran.code == 1
    result = ran.document
    assert (result["sessions_added"], result["turns_added"]) == (1, 2)
    assert len(result["errors"]) == 3
    assert "line 2" in result["errors"][0]
    assert "turns[0].turn_number" in result["errors"][2]
    shown = bare("import", "mixed.jsonl", "--db", "third.db")
    assert shown.out.count("refused: ") == 3


@pytest.mark.parametrize("indent", [None, 2])
def test_import_takes_one_document_or_a_list(
    cli: Cli, bare: Cli, talk: str, tmp_path: Path, indent: int | None
) -> None:
    """A document spread over many lines, or a list of documents, is taken too."""
    document = json.loads(cli("export", "-u", "anna").out)
    (tmp_path / "one.json").write_text(json.dumps(document, indent=indent))
    (tmp_path / "list.json").write_text(json.dumps([document], indent=indent))
    assert bare("import", "one.json", "--db", "b.db", "--json").document["turns_added"] == 2
    assert bare("import", "list.json", "--db", "b.db", "--json").document["turns_known"] == 2


def test_import_for_another_user_from_a_pipe(cli: Cli, bare: Cli, talk: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """--user overrides whose the sessions are; `-` reads a pipe."""
    monkeypatch.setattr("sys.stdin", io.StringIO(cli("export", "-u", "anna").out))
    assert bare("import", "-", "--user", "bruno", "--db", "b.db").code == 0
    assert [each["session_id"] for each in bare("sessions", "-u", "bruno", "--db", "b.db", "--json").lines] == [talk]


def test_import_of_bytes_that_are_not_text(bare: Cli, tmp_path: Path) -> None:
    """A binary file is refused in one line."""
    (tmp_path / "x.bin").write_bytes(b"\xff\xfe\x00")
    ran = bare("import", "x.bin", "--db", "b.db")
    assert ran.code == 1
    assert "UTF-8" in ran.out
    assert bare("import", "missing.jsonl", "--db", "b.db").code == 2


@pytest.mark.parametrize("written", ["", "Dear diary, it rained.\n", "{}"])
def test_an_unknown_or_empty_file_is_refused_with_the_formats(bare: Cli, tmp_path: Path, written: str) -> None:
    """The refusal says what can be read; no database is made for it."""
    (tmp_path / "notes.txt").write_text(written)
    ran = bare("import", "notes.txt", "--db", "b.db")
    assert ran.code == 1
    assert all(name in ran.out for name in ("chatgpt", "whatsapp", "telegram", "ricordo"))
    assert not (tmp_path / "b.db").exists()


def foreign(tmp_path: Path) -> str:
    """A file of chat messages as many programs keep them."""
    talk = {
        "messages": [
            {"role": "user", "content": "Which flour for pizza?"},
            {"role": "assistant", "content": "One with twelve per cent of protein."},
        ]
    }
    file = tmp_path / "talks.jsonl"
    file.write_text(json.dumps(talk) + "\n")
    return str(file)


def test_what_another_program_wrote_is_brought_in_once(cli: Cli, tmp_path: Path) -> None:
    """Its form tells what it is; a dry run writes nothing, a second run adds nothing."""
    file = foreign(tmp_path)
    told = cli("import", file, "-u", "anna", "--dry-run", "--json").document
    assert (told["format"], told["turns_added"], told["dry_run"]) == ("messages", 1, True)
    assert cli("sessions", "-u", "anna", "--json").out == ""
    assert cli("import", file, "-u", "anna").code == 0
    again = cli("import", file, "-u", "anna", "--json").document
    assert (again["turns_added"], again["turns_known"]) == (0, 1)
    assert [turn["query"] for turn in cli("show", "-u", "anna", "--json").lines] == ["Which flour for pizza?"]


def test_what_another_program_wrote_needs_a_user(cli: Cli, tmp_path: Path) -> None:
    """Nobody can tell whose it is; a format that is unknown is named too."""
    file = foreign(tmp_path)
    ran = cli("import", file)
    assert ran.code == 2
    assert "--user" in ran.err
    assert cli("import", file, "-u", "anna", "--format", "carvings").code == 2
