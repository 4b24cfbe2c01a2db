"""Days named in statements."""

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.languages.dates import format_day, last_day_in, resolve_day

days = st.dates(min_value=date(1950, 1, 1), max_value=date(2099, 12, 31))
SUNDAY = date(2026, 11, 15)


@given(days, st.sampled_from(["it", "en"]), days)
def test_a_written_day_is_read_back(day: date, language: str, said_on: date) -> None:
    """What is written into a fact names the same day, whenever it is read."""
    assert resolve_day(format_day(day, language), said_on, language) == day
    assert last_day_in(f"Ha l'esame il {format_day(day, language)}") == day


@given(days, st.integers(0, 999))
def test_days_ahead_are_counted(said_on: date, count: int) -> None:
    """In N days is N days later, in both languages."""
    assert resolve_day(f"tra {count} giorni", said_on, "it") == said_on + timedelta(days=count)
    assert resolve_day(f"in {count} days", said_on, "en") == said_on + timedelta(days=count)


@given(days, st.sampled_from(["lunedì", "martedi", "venerdì", "sabato prossimo", "on Friday", "this Sunday"]))
def test_a_weekday_is_within_a_week_and_never_today(said_on: date, phrase: str) -> None:
    """A weekday is the next one to come."""
    found = resolve_day(phrase, said_on, "it")
    assert found is not None
    assert 1 <= (found - said_on).days <= 7


@given(days, st.text(max_size=30))
def test_any_text_is_a_day_or_none(said_on: date, phrase: str) -> None:
    """No text breaks the reading."""
    assert isinstance(resolve_day(phrase, said_on, "it"), date | None)


@pytest.mark.parametrize(
    ("phrase", "language", "day"),
    [
        ("domani", "it", date(2026, 11, 16)),
        ("dopodomani", "it", date(2026, 11, 17)),
        ("fra due settimane", "it", date(2026, 11, 29)),
        ("il 3 maggio", "it", date(2027, 5, 3)),
        ("20/11", "it", date(2026, 11, 20)),
        ("primo dicembre", "it", date(2026, 12, 1)),
        ("June 12th", "en", date(2027, 6, 12)),
        ("2026-12-24", "en", date(2026, 12, 24)),
        ("31/12", "en", date(2026, 12, 31)),
        ("5/6", "en", None),
        ("next Friday", "en", None),
        ("31 febbraio", "it", None),
        ("presto", "it", None),
    ],
)
def test_worked_examples(phrase: str, language: str, day: date | None) -> None:
    """What people call a day; nothing where it may be two."""
    assert resolve_day(phrase, SUNDAY, language) == day
