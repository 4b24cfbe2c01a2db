"""Repairing: what is derived from turns is derived again; the turns stay as they are, and what is lost is said."""

import sqlite3
from pathlib import Path

import pytest

from ricordo.testing import FakeClock
from talks import ThemedEmbedder, on_file

DERIVED = {
    "a topic counts wrong": "UPDATE topics SET message_count = message_count + 1",
    "a topic counts its archive wrong": "UPDATE topics SET archived_count = 0",
    "a topic lists other turns": "UPDATE topics SET hot = '[1]'",
    "a topic is gone": "DELETE FROM topics WHERE rowid = (SELECT max(rowid) FROM topics)",
    "a turn is of another topic": "UPDATE turns SET topic_id = 'x' WHERE turn_number = 40",
    "turns have no topic": "UPDATE turns SET topic_id = NULL",
    "a summary reaches too far": "UPDATE summaries SET last_turn = 99",
    "a summary has another length": "UPDATE summaries SET tokens = tokens + 1",
    "a fact was superseded by nothing": "UPDATE facts SET superseded_by = 'x', valid_to = recorded_at",
}


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A file with two topics, one of them archived in part, a summary and a fact."""
    clock, path = FakeClock(), tmp_path / "r.db"
    with on_file(path, clock=clock, embedder=ThemedEmbedder(), locale="it") as kept:
        session = kept.session("s", user_id="anna")
        session.add_turn("Mi chiamo Anna e abito a Torino.", "Piacere.")
        for theme in ("gatto", "motore"):
            for number in range(20):
                session.add_turn(f"{theme} {number}", f"{theme} risposta {number}")
                clock.advance(minutes=1)
            session.topics()
        session.end()
        kept.settle(30)
        assert kept.verify().ok
    return path


def tamper(path: Path, statement: str) -> None:
    """Change the file behind the back of the store."""
    with sqlite3.connect(path) as file:
        assert file.execute(statement).rowcount > 0
    file.close()


@pytest.mark.parametrize("statement", DERIVED.values(), ids=DERIVED.keys())
def test_derived_data_is_mended(talk: Path, statement: str) -> None:
    """Afterwards nothing is found wrong, and every turn is what it was."""
    with on_file(talk) as kept:
        before = kept.session("s", user_id="anna").history()
    tamper(talk, statement)
    with on_file(talk) as kept:
        repaired = kept.repair()
        assert repaired.mended
        assert repaired.verification.damages == ()
        assert kept.verify().damages == ()
        after = kept.session("s", user_id="anna").history()
        assert [(turn.query, turn.response) for turn in after] == [(turn.query, turn.response) for turn in before]
        assert kept.repair().mended == ()


def test_a_sound_memory_is_left_alone(talk: Path) -> None:
    """Nothing is mended, and no topic is written."""
    with on_file(talk) as kept:
        before = kept.session("s", user_id="anna").topics()
        repaired = kept.repair()
        assert (repaired.mended, repaired.verification.ok) == ((), True)
        assert kept.session("s", user_id="anna").topics() == before


def test_what_cannot_be_derived_is_said(talk: Path) -> None:
    """A block that is cut takes words with it: it is reported as before, and the topics are not made to fit."""
    tamper(talk, "UPDATE blocks SET body = substr(body, 1, length(body) - 1)")
    with on_file(talk) as kept:
        found = kept.verify().damages
        repaired = kept.repair()
        assert repaired.mended == ()
        assert repaired.verification.damages == found
