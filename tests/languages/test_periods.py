"""Time expressions: what people write becomes days, what only looks like time does not."""

from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.languages.dates import periods

NOW = datetime(2025, 11, 12, 15, 0, tzinfo=UTC)  # a Wednesday


def days(question: str, now: datetime = NOW) -> list[tuple[date, date]]:
    """First and last day of each period."""
    return [(p.start.date(), p.end.date() - timedelta(days=1)) for p in periods(question, now)]


def d(text: str) -> date:
    return date.fromisoformat(text)


moments = st.datetimes(datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))


@given(st.text(max_size=100), moments)
def test_no_question_raises(text: str, now: datetime) -> None:
    """Any text gives periods that begin before they end, in the zone of now."""
    for period in periods(text, now):
        assert period.start < period.end
        assert period.start.tzinfo is now.tzinfo


parts = "last next 31 0 30 february of may in 2023 2024 between and from to before the week ago fa tre dal al 3/3/2023"


@given(st.lists(st.sampled_from(parts.split()), max_size=8).map(" ".join), moments)
def test_no_heap_of_time_words_raises(text: str, now: datetime) -> None:
    """Dates that do not exist and ranges that run backwards are never an error."""
    for period in periods(text, now):
        assert period.start < period.end


@given(st.dates(date(1990, 1, 1), date(2099, 12, 31)), moments)
def test_a_full_date_is_that_day_whatever_now_is(day: date, now: datetime) -> None:
    """A day with month and year, in either language, does not depend on now."""
    months = [
        "gennaio",
        "febbraio",
        "marzo",
        "aprile",
        "maggio",
        "giugno",
        "luglio",
        "agosto",
        "settembre",
        "ottobre",
        "novembre",
        "dicembre",
    ]
    for question in (
        f"what happened on {day.day} {day:%B} {day.year}?",
        f"{day:%B} {day.day}, {day.year}",
        f"cosa è successo il {day.day} {months[day.month - 1]} {day.year}?",
        day.isoformat(),
    ):
        assert days(question, now) == [(day, day)]


@pytest.mark.parametrize(
    ("question", "first", "last"),
    [
        ("Cosa ho fatto la settimana scorsa?", "2025-11-03", "2025-11-09"),
        ("What did we say in May 2023?", "2023-05-01", "2023-05-31"),
        ("ieri", "2025-11-11", "2025-11-11"),
        ("tre giorni fa", "2025-11-09", "2025-11-09"),
        ("l’altro ieri", "2025-11-10", "2025-11-10"),
        ("last summer", "2025-06-01", "2025-08-31"),
        ("l'estate scorsa", "2025-06-01", "2025-08-31"),
        ("a marzo", "2025-03-01", "2025-03-31"),
        ("lo scorso dicembre", "2024-12-01", "2024-12-31"),
        ("in December", "2024-12-01", "2024-12-31"),
        ("on May 8", "2025-05-08", "2025-05-08"),
        ("l'8 maggio", "2025-05-08", "2025-05-08"),
        ("il 08/05/2023 cosa è successo?", "2023-05-08", "2023-05-08"),
        ("what happened on 05/08/2023?", "2023-05-08", "2023-05-08"),
        ("quest'anno", "2025-01-01", "2025-12-31"),
        ("l'anno scorso", "2024-01-01", "2024-12-31"),
        ("il mese scorso", "2025-10-01", "2025-10-31"),
        ("lo scorso weekend", "2025-11-08", "2025-11-09"),
        ("nel 2022", "2022-01-01", "2022-12-31"),
        ("cosa ho fatto sabato?", "2025-11-08", "2025-11-08"),
        ("last Friday", "2025-11-07", "2025-11-07"),
        ("due settimane fa", "2025-10-26", "2025-11-01"),
        ("two years ago", "2023-01-01", "2023-12-31"),
        ("negli ultimi tre giorni", "2025-11-09", "2025-11-12"),
        ("between August 11 and August 15 2023", "2023-08-11", "2023-08-15"),
        ("dal 3 marzo al 5 aprile 2024", "2024-03-03", "2024-04-05"),
        ("from May to July 2023", "2023-05-01", "2023-07-31"),
        ("the week before 16 November 2023", "2023-11-09", "2023-11-16"),
        ("last weekend before April 10, 2023", "2023-04-03", "2023-04-10"),
        ("since 2023", "2023-01-01", "2025-11-12"),
        ("dopo il 3 marzo 2025", "2025-03-04", "2025-11-12"),
        ("prima di marzo", "1970-01-01", "2025-02-28"),
    ],
)
def test_expressions(question: str, first: str, last: str) -> None:
    """Italian and English expressions mean the days people mean by them, seen from Wednesday 12 November 2025."""
    assert days(question) == [(d(first), d(last))]


@pytest.mark.parametrize(
    "question",
    [
        "you may go",
        "Biancaneve e i sette nani",
        "the March for our lives",
        "the fall of the empire",
        "spring onions",
        "sei sempre in ritardo",
        "ho dodici anni",
        "gioco a calcio la domenica",
        "a second opinion",
        "31 febbraio",
        "room 2023",
        "April is my friend",
        "",
    ],
)
def test_ordinary_words_are_no_dates(question: str) -> None:
    """Words that also name months, seasons or numbers do not count on their own."""
    assert days(question) == []


def test_the_day_is_counted_in_the_time_zone_of_now() -> None:
    """Yesterday in Rome begins at midnight in Rome."""
    rome = timezone(timedelta(hours=1))
    [period] = periods("ieri", datetime(2025, 11, 12, 0, 30, tzinfo=rome))
    assert period.start == datetime(2025, 11, 10, 23, 0, tzinfo=UTC)
