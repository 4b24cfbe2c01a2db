"""How long ago a day was, in the user's time zone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.languages.dates import relative_day

ROME = ZoneInfo("Europe/Rome")
NOW = datetime(2026, 11, 15, 9, 0, tzinfo=UTC)
moments = st.datetimes(datetime(1990, 1, 1), datetime(2060, 1, 1), timezones=st.just(UTC))
zones = st.sampled_from(
    ["Europe/Rome", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati", "Pacific/Pago_Pago", "UTC"]
)
zones = zones.map(ZoneInfo)
locales = st.sampled_from(["it", "en"])
PAST = {"oggi": 0, "ieri": 1, "today": 0, "yesterday": 1}
AHEAD = {"domani": 1, "tomorrow": 1}


def days_told(words: str) -> int:
    """The signed number of days that the words mean: ahead is negative."""
    if words in PAST or words in AHEAD:
        return PAST.get(words, -AHEAD.get(words, 0))
    number = next(int(word) for word in words.split() if word.isdigit())
    return number if words.endswith(("fa", "ago")) else -number


@given(moments, moments, zones, locales)
def test_looking_back_and_ahead_are_the_same_distance(
    one: datetime, other: datetime, zone: ZoneInfo, locale: str
) -> None:
    """N days ago from there is in N days from here."""
    assert days_told(relative_day(one, other, zone, locale)) == -days_told(relative_day(other, one, zone, locale))


@given(moments, moments, zones)
def test_both_languages_mean_the_same(one: datetime, other: datetime, zone: ZoneInfo) -> None:
    """The number of days does not depend on the language."""
    assert days_told(relative_day(one, other, zone, "it")) == days_told(relative_day(one, other, zone, "en"))


@given(moments, st.integers(-800, 800), zones, locales)
def test_days_of_the_calendar_are_counted(now: datetime, days: int, zone: ZoneInfo, locale: str) -> None:
    """The same clock time N calendar days earlier is N days ago, also across daylight saving."""
    local = now.astimezone(zone)
    earlier = datetime.combine(local.date() - timedelta(days=days), local.time(), tzinfo=zone)
    # A time that the clocks skipped may fall on the same day still: it does at noon.
    assert days_told(relative_day(earlier.replace(hour=12), now, zone, locale)) == days


@given(moments, zones, locales)
def test_now_is_today(now: datetime, zone: ZoneInfo, locale: str) -> None:
    """A moment seen from itself is today."""
    assert relative_day(now, now, zone, locale) in ("oggi", "today")


@pytest.mark.parametrize(
    ("moment", "now", "words"),
    [
        (datetime(2026, 11, 14, 22, 59, tzinfo=UTC), datetime(2026, 11, 14, 23, 1, tzinfo=UTC), "ieri"),
        (datetime(2026, 11, 14, 23, 1, tzinfo=UTC), datetime(2026, 11, 15, 22, 59, tzinfo=UTC), "oggi"),
        (datetime(2026, 3, 28, 23, 30, tzinfo=UTC), datetime(2026, 3, 29, 22, 30, tzinfo=UTC), "ieri"),
        (datetime(2026, 10, 24, 22, 30, tzinfo=UTC), datetime(2026, 10, 25, 22, 30, tzinfo=UTC), "oggi"),
        (datetime(2026, 11, 12, 9, tzinfo=UTC), NOW, "3 giorni fa"),
        (datetime(2026, 11, 15, 20, tzinfo=UTC), NOW, "oggi"),
        (datetime(2026, 11, 16, 9, tzinfo=UTC), NOW, "domani"),
        (datetime(2026, 11, 20, 9, tzinfo=UTC), NOW, "tra 5 giorni"),
        (None, NOW, ""),
    ],
)
def test_midnight_daylight_saving_future_and_none(moment: datetime | None, now: datetime, words: str) -> None:
    """Two minutes over midnight are a day, so are 23 or 25 hours; later today is today; no moment, no words."""
    assert relative_day(moment, now, ROME, "it") == words


def test_the_zone_decides() -> None:
    """The same two moments are one day apart in one place and none in another."""
    moment, now = datetime(2026, 5, 1, 22, 30, tzinfo=UTC), datetime(2026, 5, 2, 1, 0, tzinfo=UTC)
    assert relative_day(moment, now, ZoneInfo("UTC"), "en") == "yesterday"
    assert relative_day(moment, now, ROME, "en") == "today"


@pytest.mark.parametrize(
    ("locale", "words"), [("it-IT", "ieri"), ("IT_it", "ieri"), ("en-GB", "yesterday"), ("fr", "yesterday")]
)
def test_a_region_has_the_words_of_its_language(locale: str, words: str) -> None:
    """Regions are ignored; a language without words is told in English."""
    assert relative_day(NOW - timedelta(days=1), NOW, ROME, locale) == words
