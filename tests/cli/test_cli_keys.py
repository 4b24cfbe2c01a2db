"""`ricordo keys`: made, listed, revoked; the secret is shown once and never kept."""

from pathlib import Path

from cli_runs import Cli


def test_a_key_is_shown_once(cli: Cli, db: Path) -> None:
    """The key stands alone on stdout, and no byte of its secret is in the files."""
    ran = cli("keys", "make", "course")
    key = ran.out.strip()
    assert key.startswith("rk_")
    assert "shown this once" in ran.err
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
