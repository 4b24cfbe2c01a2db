"""A clause that changes or ends something known takes its place; both stay."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import ricordo

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[ricordo.Memory]:
    """A memory of its own."""
    with ricordo.open(str(tmp_path / "m.db"), embedder="light") as opened:
        yield opened


def told(memory: ricordo.Memory, *messages: str) -> str:
    """What is current after some messages, a day apart."""
    session = memory.session(user_id="u")
    for day, text in enumerate(messages):
        session.add_turn(text, "Ok.", created_at=START + timedelta(days=day))
    assert memory.settle(60)
    return " | ".join(fact.text for fact in memory.facts("u"))


@pytest.mark.parametrize(
    ("messages", "now", "past"),
    [
        (("abito a Matera, nei Sassi", "novità: da ieri casa nuova a Ravenna!"), "Ravenna", "Matera"),
        (("sto con Ambra da quattro anni", "ci siamo mollati ieri sera"), "mollati", "Ambra"),
        (("il mio turno è dalle 14 alle 22", "nuovo orario da domani: 6-14"), "6-14", "22"),
    ],
)
def test_a_change_takes_the_place_of_what_it_changes(
    memory: ricordo.Memory, messages: tuple[str, ...], now: str, past: str
) -> None:
    """The newer statement is told, the older is kept with its end."""
    current = told(memory, *messages)
    assert now in current
    assert past not in current


def test_standing_instructions_come_first(memory: ricordo.Memory) -> None:
    """A wish for all later answers is a fact that leads the profile."""
    told(memory, "mi chiamo Anna e abito a Pisa", "from now on no emojis please, ever")
    instructions = [fact for fact in memory.facts("u") if fact.is_instruction]
    assert any("emojis" in fact.text for fact in instructions)
