"""`ricordo serve` as a real process, and `ricordo keys`, whose secrets are shown once and never stored."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import urllib.error
from pathlib import Path

import pytest
from cli_runs import RICORDO, Cli, Running

from ricordo.cli.serve import _startup_lines
from ricordo.server.options import ServerOptions, url_of


def test_it_serves_until_it_is_told_to_stop(running: Running, cli: Cli, db: Path, talk: str) -> None:
    """What the command line kept is there over HTTP, and what came over HTTP is there afterwards."""
    with running("serve", "--db", str(db), "--no-auth", "--port", "0", "--json") as server:
        assert server.told["url"] == f"http://127.0.0.1:{server.told['port']}"
        assert server.get("/sessions?user_id=anna")["items"][0]["id"] == talk
        server.post("/chat", {"query": "And when it is cold?", "user_id": "anna", "session_id": talk})
    assert (server.code, server.left) == (0, "")
    assert len(cli("show", "-u", "anna", "--json").lines) == 3


def test_ctrl_c_is_no_failure(running: Running, db: Path) -> None:
    """SIGINT ends it as SIGTERM does, with exit code 0."""
    with running("serve", "--db", str(db), "--no-auth", "--port", "0", "--json") as server:
        server.stop(signal.SIGINT)
    assert server.code == 0


def test_the_addresses_that_it_names_are_there(running: Running, db: Path) -> None:
    """What the first lines say to look at can be looked at."""
    lines = "\n".join(line.plain for line in _startup_lines("", str(db), ServerOptions(auth=False), None, page=True))
    named = re.findall(r"(?<=: )/[\w./]+", lines)
    with running("serve", "--db", str(db), "--no-auth", "--port", "0", "--json") as server:
        assert [bool(server.get(path)) for path in named] == [True, True]


def test_a_key_lets_in(running: Running, cli: Cli, db: Path) -> None:
    """Without a key it is 401; a key made on the command line opens, until it is revoked."""
    made = cli("keys", "make", "course", "--json").document
    with running("serve", "--db", str(db), "--port", "0", "--json") as server:
        with pytest.raises(urllib.error.HTTPError, match="401"):
            server.get("/me")
        assert server.get("/me", Authorization=f"Bearer {made['key']}")["authenticated"] is True
        assert cli("keys", "revoke", made["key_id"]).code == 0
    with (
        running("serve", "--db", str(db), "--port", "0", "--json") as server,
        pytest.raises(urllib.error.HTTPError, match="401"),
    ):
        server.get("/me", Authorization=f"Bearer {made['key']}")


def test_settings_and_variables_reach_the_server(running: Running, db: Path) -> None:
    """The preset comes from the arguments, how to listen also from RICORDO_SERVER_*."""
    variables = {"RICORDO_SERVER_AUTH": "off", "RICORDO_SERVER_PORT": "0"}
    with running("serve", "--db", str(db), "--preset", "tutor", "--tenant", "school", "--json", **variables) as server:
        assert server.told["auth"] is False
        assert server.get("/me")["tenant_id"] == "school"
        assert server.get("/stats")["preset"] == "tutor"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--no-auth", "--host", "0.0.0.0"), "is reachable from other machines"),
        (("--port", "70000"), "0 to 65535"),
        (("--spool-directory", "spool", "--port", "0"), "leave it out for a file"),
        (("--cors-origin", "*"), "refused"),
        (("--set", "llm=wrong", "--port", "0"), "URL#MODEL"),
        (("--set", "embedder=wrong", "--port", "0"), "expected one of"),
        (("--set", "crisis_file=nowhere.json", "--port", "0"), "nowhere.json"),
    ],
)
def test_what_cannot_be_served_is_said_at_once(bare: Cli, arguments: tuple[str, ...], words: str) -> None:
    """A wrong way to listen is one line and exit code 2."""
    ran = bare("serve", *arguments)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


def test_a_port_that_is_taken(bare: Cli) -> None:
    """Somebody else's port is named, and nothing is opened."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        ran = bare("serve", "--port", str(taken.getsockname()[1]))
    assert ran.code == 2
    assert "give another" in ran.err
    assert not Path("ricordo.db").exists()


def test_without_the_extra_it_names_what_to_install(tmp_path: Path) -> None:
    """Where the server's packages are missing, one line says how to get them."""
    (tmp_path / "uvicorn.py").write_text("raise ModuleNotFoundError(\"No module named 'uvicorn'\", name='uvicorn')\n")
    known = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])}
    command = [*RICORDO, "serve", "--port", "0", "--db", str(tmp_path / "x.db")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120, env=known)
    assert ran.returncode == 2
    assert "pip install 'ricordo[server]'" in ran.stderr
    assert ran.stderr.count("\n") == 1


def test_addresses_are_as_browsers_take_them() -> None:
    """An IPv6 address stands in brackets."""
    assert url_of("::1", 80) == "http://[::1]:80"
    assert url_of("127.0.0.1", 8377) == "http://127.0.0.1:8377"


def test_the_command_line_stays_light() -> None:
    """No command that does not serve loads the server's packages, nor numpy."""
    heavy = ("fastapi", "uvicorn", "numpy", "structlog", "prometheus_client", "jwt")
    look = f"import sys, ricordo.cli; print([name for name in {heavy} if name in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "[]\n"


def test_one_user_over_standard_input_and_output(db: Path) -> None:
    """`ricordo mcp` speaks the Model Context Protocol and ends with its input; nothing else is on stdout."""
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    asked = [
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client},
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
    ]
    command = [*RICORDO, "mcp", "--user", "anna", "--db", str(db)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        answers = []
        for message in asked:
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            if "id" in message:
                answers.append(json.loads(process.stdout.readline()))
        rest, _ = process.communicate(timeout=60)
    assert (process.returncode, rest) == (0, "")
    assert "search_memories" in [tool["name"] for tool in answers[1]["result"]["tools"]]


def test_a_key_is_shown_once(cli: Cli, db: Path) -> None:
    """The key stands alone on stdout, and no byte of its secret is in the files."""
    ran = cli("keys", "make", "course")
    key = ran.out.strip()
    assert key.startswith("rk_")
    assert "shown only once" in " ".join(ran.err.split())
    secret = key.rpartition("_")[2].encode()
    assert not [file for file in db.parent.glob("test.db*") if secret in file.read_bytes()]
    listed = cli("keys", "--json").lines
    assert [each["name"] for each in listed] == ["course"]
    assert listed[0]["scopes"] == ["chat", "read", "write"]
    assert {"digest", "key"} & set(listed[0]) == set()


def test_a_key_for_one_user(cli: Cli) -> None:
    """It is bound to the user that was named, with the scopes that were named."""
    made = cli("keys", "make", "phone", "--bind", "anna", "--scope", "chat", "--scope", "chat", "--json").document
    assert (made["user_id"], made["scopes"]) == ("anna", ["chat"])
    assert "anna" in cli("keys").out


def test_revoking(cli: Cli) -> None:
    """A revoked key stays in the list with its date; one that is unknown is exit code 3."""
    made = cli("keys", "make", "old", "--json").document
    assert cli("keys", "revoke", made["key_id"], "--json").document["revoked_at"] is not None
    assert cli("keys", "list", "--json").lines[0]["revoked_at"] is not None
    assert cli("keys", "revoke", "nothing").code == 3
    assert cli("keys", "revoke", made["key_id"], "--tenant", "other").code == 3


def test_wrong_usage_of_keys(cli: Cli) -> None:
    """make and revoke take a word, list takes none."""
    assert cli("keys", "make").code == 2
    assert cli("keys", "list", "x").code == 2
    assert cli("keys", "make", "x", "--scope", "all").code == 2
    assert cli("keys", "make", "x", "--bind", "").code == 2
