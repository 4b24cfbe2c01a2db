"""Verifying topics and archive: every difference between turns, topics and blocks is found, and nothing else is."""

import json
import sqlite3
import threading
from pathlib import Path

import pytest

from ricordo.testing import FakeClock
from talks import ThemedEmbedder, on_file


@pytest.fixture
def archived(tmp_path: Path) -> Path:
    """A file with a session of two topics, one of them partly archived and partly restored."""
    clock = FakeClock()
    path = tmp_path / "r.db"
    with on_file(path, clock=clock, embedder=ThemedEmbedder()) as kept:
        session = kept.session("s", user_id="anna")
        for theme, count in (("gatto", 20), ("motore", 20)):
            for number in range(count):
                session.add_turn(f"{theme} {number}", f"{theme} risposta {number}")
                clock.advance(minutes=1)
            session.topics()
        assert kept.verify().damages == ()
        assert len(session.topics()) == 2
        assert sum(turn.archived for turn in session.history()) > 10
    return path


def found(path: Path) -> list[str]:
    """What verify says."""
    with on_file(path) as kept:
        return [f"{damage.where}: {damage.problem}" for damage in kept.verify().damages]


TAMPERING = {
    "a topic counts wrong": ("UPDATE topics SET message_count = message_count + 1", "counts 41 messages"),
    "a topic counts its archive wrong": ("UPDATE topics SET archived_count = 0", "0 archived, but has"),
    "a topic lists other turns": ("UPDATE topics SET hot = '[1]'", "lists turns 1 in working memory"),
    "a topic is gone": ("DELETE FROM topics", "turns belong to topic"),
    "a block says it holds others": ("UPDATE blocks SET turn_numbers = '[99]'", "lists turns 99"),
    "a block is gone": ("DELETE FROM blocks", "archive block"),
    "a block is cut": ("UPDATE blocks SET body = substr(body, 1, length(body) - 1)", "archive block"),
    "a block is changed": (
        "UPDATE blocks SET body = CAST(substr(body, 1, 40) || x'00' || substr(body, 42) AS BLOB)",
        "archive block",
    ),
    "a turn is of another topic": (
        "UPDATE turns SET topic_id = 'x' WHERE turn_number = 40",
        "topic 'x', which does not exist",
    ),
}


@pytest.mark.parametrize("statement", TAMPERING.values(), ids=TAMPERING.keys())
def test_tampering_is_found(archived: Path, statement: tuple[str, str]) -> None:
    """Whatever is changed in topics or blocks is reported, by user and session."""
    with sqlite3.connect(archived) as file:
        file.execute(statement[0])
    file.close()
    damages = found(archived)
    assert damages
    assert all(damage.startswith("user 'anna', session 's'") for damage in damages)
    assert any(statement[1] in damage for damage in damages)


def test_a_damaged_block_is_reported_with_the_turns_it_takes(archived: Path) -> None:
    """The block is named, and each turn whose words are lost with it; the other turns are not."""
    with sqlite3.connect(archived) as file:
        block_id, numbers = file.execute(
            "SELECT block_id, turn_numbers FROM blocks ORDER BY created_at LIMIT 1"
        ).fetchone()
        file.execute("UPDATE blocks SET body = x'00' WHERE block_id = ?", [block_id])
    file.close()
    damages = found(archived)
    assert sum(f"archive block {block_id}" in damage for damage in damages) == len(damages)
    turns = [damage for damage in damages if ", turn " in damage]
    assert len(turns) == len(json.loads(numbers))
    assert len(damages) == len(turns) + 1


def test_looking_while_others_organise_finds_nothing(tmp_path: Path) -> None:
    """Verifying again and again beside writing and organising never takes a step of theirs for damage."""
    path = tmp_path / "r.db"
    with on_file(path, embedder=ThemedEmbedder()) as kept, on_file(path) as other:
        session = kept.session("s", user_id="anna")

        def work() -> None:
            for number in range(40):
                session.add_turn(f"{'gatto' if number // 10 % 2 else 'motore'} {number}", f"risposta {number}")
                if number % 5 == 0:
                    session.topics()

        thread = threading.Thread(target=work)
        thread.start()
        damages = []
        while thread.is_alive():
            damages += other.verify().damages
        thread.join()
        session.topics()
        assert [*damages, *other.verify().damages] == []
