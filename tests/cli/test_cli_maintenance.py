"""Maintenance commands: verify, backup, stats, settings."""

import sqlite3
from datetime import timedelta
from pathlib import Path

import pytest
from cli_runs import Cli
from hypothesis import given
from hypothesis import strategies as st

from ricordo.cli.maintenance import effective_settings
from ricordo.cli.output import duration
from ricordo.presets import PRESETS, settings_from
from ricordo.settings import Settings, setting_names


def test_verify_finds_a_sound_store_sound(cli: Cli, talk: str) -> None:
    """Nothing wrong is exit code 0."""
    ran = cli("verify")
    assert (ran.code, ran.out) == (0, "1 session, 2 turns: sound\n")
    assert cli("verify", "--json").document == {"sessions": 1, "turns": 2, "damages": [], "ok": True}


def test_verify_reports_damage_with_exit_code_1(cli: Cli, db: Path, talk: str) -> None:
    """A turn that was changed behind Ricordo's back is found and named."""
    with sqlite3.connect(db) as connection:
        columns = [row[1] for row in connection.execute("PRAGMA table_info(turns)")]
        column = "query" if "query" in columns else "question"
        connection.execute(f"UPDATE turns SET {column} = 'What is a lever?' WHERE turn_number = 1")
    connection.close()
    ran = cli("verify", "--json")
    assert ran.code == 1
    damages = ran.document["damages"]
    assert len(damages) == 1
    assert "turn 1" in damages[0]["where"]
    assert cli("verify").code == 1


def test_repair_mends_what_follows_from_the_turns(cli: Cli, db: Path, talk: str) -> None:
    """A turn of a topic that is not there loses it; the command says so, and the store is sound."""
    assert cli("repair").out == "0 mended; 1 session, 2 turns: sound\n"
    with sqlite3.connect(db) as connection:
        connection.execute("UPDATE turns SET topic_id = 'x' WHERE turn_number = 1")
    connection.close()
    assert cli("verify").code == 1
    ran = cli("repair", "--json")
    assert (ran.code, ran.document["ok"], len(ran.document["mended"])) == (0, True, 1)
    assert cli("verify").code == 0


def test_repair_says_what_it_cannot_mend(cli: Cli, db: Path, talk: str) -> None:
    """A changed turn stays damage: exit code 1, and the remedy."""
    with sqlite3.connect(db) as connection:
        connection.execute("UPDATE turns SET query = 'What is a lever?' WHERE turn_number = 1")
    connection.close()
    ran = cli("repair")
    assert ran.code == 1
    assert "restore a backup" in ran.out


def test_backup_is_a_database_of_its_own(cli: Cli, bare: Cli, talk: str) -> None:
    """The copy opens and holds the same sessions; an existing file is not overwritten."""
    assert cli("backup", "copy.db", "--json").document["path"] == "copy.db"
    assert [each["session_id"] for each in bare("sessions", "-u", "anna", "--db", "copy.db", "--json").lines] == [talk]
    assert cli("backup", "copy.db").code == 4


def test_stats(cli: Cli, db: Path, talk: str) -> None:
    """Counts, place and parts are told."""
    plain = cli("stats", "--json").document
    assert (plain["store"], plain["tenant_id"], plain["preset"]) == (str(db), "default", "balanced")
    assert (plain["holds"]["users"], plain["holds"]["sessions"], plain["holds"]["turns"]) == (1, 1, 2)
    assert plain["counter_exact"] is True
    assert plain["embedder"] == "light-256@1 (chosen by setting)"
    assert "light-256@1" in cli("stats").out
    refused = cli("stats", "--set", "embedder=none")
    assert refused.code == 2
    assert "embedder" in refused.err
    words = " ".join(cli("stats", "--set", "model=unheard-of").out.split())
    assert "(approximate)" in words
    assert "no tokenizer is known" in words


def test_tenants_are_apart(cli: Cli, talk: str) -> None:
    """Another tenant sees nothing."""
    assert cli("sessions", "-u", "anna", "--tenant", "other", "--json").out == ""
    assert cli("stats", "--tenant", "other", "--json").document["holds"]["turns"] == 0


def test_settings_tells_where_each_comes_from(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """The last place that set a value is named; no database is needed."""
    monkeypatch.setenv("RICORDO_MAX_TOKENS", "900")
    monkeypatch.setenv("CONVERSATION_TTL_HOURS", "12")
    plain = bare("settings", "--preset", "tutor", "--set", "compact_chars=80", "--tenant", "app", "--json").document
    assert plain["max_tokens"] == {"value": 900, "origin": "RICORDO_MAX_TOKENS"}
    assert plain["turn_ttl"] == {"value": "12h", "origin": "CONVERSATION_TTL_HOURS"}
    assert plain["compact_chars"] == {"value": 80, "origin": "--set"}
    assert plain["tenant_id"] == {"value": "app", "origin": "--tenant"}
    assert plain["preset"] == {"value": "tutor", "origin": "--preset"}
    assert plain["locale"] == {"value": "it", "origin": "preset tutor"}
    assert plain["system_share"] == {"value": 800, "origin": "default"}
    assert plain["clarifications"] == {"value": "shared", "origin": "command line"}
    assert set(plain) == set(setting_names())
    assert "RICORDO_MAX_TOKENS" in bare("settings").out


@pytest.mark.parametrize("preset", PRESETS)
def test_settings_as_printed_can_be_given_back(preset: str) -> None:
    """Every printed value, given after --set, leads to the same settings."""
    printed = {each.name: str(each.value) for each in effective_settings({"preset": preset}, {})}
    assert Settings().with_values(printed) == settings_from({"preset": preset}, {})


@given(st.integers(1, 10**7))
def test_a_printed_duration_reads_back(seconds: int) -> None:
    """A duration in its largest whole unit is the same duration when it is read again."""
    value = timedelta(seconds=seconds)
    assert Settings().with_values({"turn_ttl": duration(value)}).retention.turn_ttl == value


def test_a_setting_that_may_hold_a_password_is_not_shown() -> None:
    """The URL of a replica is named as set, and its words are not listed."""
    environment = {"RICORDO_READ_URL": "postgresql://app:secret@replica/chat"}
    (found,) = [each for each in effective_settings({}, environment) if each.name == "read_url"]
    assert (found.value, found.origin) == ("(not shown)", "RICORDO_READ_URL")
    assert "secret" not in str(effective_settings({}, environment))
