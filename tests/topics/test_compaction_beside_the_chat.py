"""Compaction and whoever writes: they never wait for each other."""

from collections.abc import Sequence
from pathlib import Path
from threading import Event, get_ident

import pytest

import ricordo
from ricordo.records.turns import Message
from ricordo.stores.archive.block import pack


def test_a_write_packs_nothing_and_waits_for_no_packing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a block is being packed beside the chat, turns are written and read; who writes never packs."""
    begun, go_on = Event(), Event()
    packers: list[int] = []

    def held_up(messages: Sequence[Message]) -> bytes:
        packers.append(get_ident())
        begun.set()
        assert go_on.wait(60)
        return pack(messages)

    monkeypatch.setattr("ricordo.topics.archive.pack", held_up)
    with ricordo.open(tmp_path / "memory.db", embedder="light") as memory:
        session = memory.session("s", user_id="anna")
        for number in range(20):
            session.add_turn(f"Che cosa mangia il gatto il giorno {number}?", "Il gatto mangia pesce e poi dorme.")
        try:
            assert begun.wait(60)
            for _ in range(5):
                session.add_turn("E il gatto di Marta che cosa mangia?", "Il gatto di Marta mangia pollo.")
            assert [turn.turn_number for turn in session.history()] == list(range(1, 26))
            assert session.window().turns
        finally:
            go_on.set()
        assert memory.settle(60)
        assert any(turn.archived for turn in session.history())
    assert get_ident() not in packers
