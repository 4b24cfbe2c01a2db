"""A statement that changes, corrects or ends something known takes its place; both stay, with the time it names."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import ricordo

START = datetime(2026, 9, 2, 9, tzinfo=UTC)


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
        (("I live in Bristol", "I've just moved to Porto"), "Porto", "Bristol"),
        (("I work as a welder", "I work as a teacher now"), "teacher", "welder"),
        (("abito a Trapani", "mi sono appena trasferita a Udine"), "Udine", "Trapani"),
        (("mi chiamo Rita Salvi", "mi chiamo Rita Conti"), "Conti", "Salvi"),
        (("I'm vegetarian", "I'm no longer vegetarian"), "no longer", "Is vegetarian"),
        # What a pattern reads without a subject can be ended too; and a wish is changed by another.
        (("suono il basso nei Ruggine", "i Ruggine si sono sciolti, niente più basso"), "sciolti", "Suona il basso"),
        (("From here on answer in French", "I've changed my mind: answer in English from now on"), "English", "French"),
    ],
)
def test_a_change_takes_the_place_of_what_it_changes(
    memory: ricordo.Memory, messages: tuple[str, ...], now: str, past: str
) -> None:
    """The newer statement is told, the older is kept with its end."""
    current = told(memory, *messages)
    assert now in current
    assert past not in current
    assert any(past in fact.text and fact.valid_to for fact in memory.facts("u", superseded=True))


@pytest.mark.parametrize(
    ("messages", "now", "past"),
    [
        (("abito a Trapani", "I've just moved to Porto"), "Porto", "Trapani"),
        (("I live in Bristol", "mi sono appena trasferita a Udine"), "Udine", "Bristol"),
        (("mi chiamo Rita", "No, my name is Greta"), "Greta", "Rita"),
    ],
)
def test_what_was_said_in_one_language_is_changed_in_the_other(
    memory: ricordo.Memory, messages: tuple[str, ...], now: str, past: str
) -> None:
    """The subject of a fact does not depend on the language."""
    current = told(memory, *messages)
    assert now in current
    assert past not in current


@pytest.mark.parametrize(
    ("first", "second", "since"),
    [
        ("I live in Bristol", "I live in Porto since 10 September", datetime(2026, 9, 10, tzinfo=UTC)),
        ("I live in Bristol", "I moved to Porto last week", datetime(2026, 9, 14, tzinfo=UTC)),
        ("abito a Trapani", "da ieri abito a Udine", datetime(2026, 9, 21, tzinfo=UTC)),
        ("abito a Trapani", "abito a Udine", datetime(2026, 9, 22, 9, tzinfo=UTC)),
        # A time before the first statement cannot be when it ended.
        ("I live in Bristol", "I live in Porto since 2011", datetime(2026, 9, 22, 9, tzinfo=UTC)),
    ],
)
def test_a_change_holds_from_the_time_that_it_names(
    memory: ricordo.Memory, first: str, second: str, since: datetime
) -> None:
    """The older fact ends where the newer begins: when it was said, or since when it says."""
    session = memory.session(user_id="u")
    session.add_turn(first, "Ok.", created_at=START)
    session.add_turn(second, "Ok.", created_at=START + timedelta(days=20))
    assert memory.settle(60)
    older, newer = sorted(
        (fact for fact in memory.facts("u", superseded=True) if fact.about == "place:home"),
        key=lambda fact: fact.valid_from,
    )
    assert newer.valid_from == since
    assert older.valid_to == since


def test_an_older_import_does_not_come_back(memory: ricordo.Memory) -> None:
    """What was said between the named time and the change is still older than the change."""
    session = memory.session(user_id="u")
    session.add_turn("I live in Bristol", "Ok.", created_at=START)
    session.add_turn("I moved to Porto last week", "Ok.", created_at=START + timedelta(days=20))
    assert memory.settle(60)
    other = memory.session(user_id="u")
    other.add_turn("I live in Bristol", "Ok.", created_at=START + timedelta(days=15))
    assert memory.settle(60)
    assert [fact.text for fact in memory.facts("u")] == ["Lives in Porto"]


def test_standing_instructions_come_first(memory: ricordo.Memory) -> None:
    """A wish for all later answers is a fact that leads the profile."""
    told(memory, "mi chiamo Anna e abito a Pisa", "from now on no emojis please, ever")
    instructions = [fact for fact in memory.facts("u") if fact.is_instruction]
    assert any("emojis" in fact.text for fact in instructions)
