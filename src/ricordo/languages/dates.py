"""Resolve a date expression of a statement against the day on which it was said, in the words of all languages.

A phrase goes in ("domani", "on Friday", "12 giugno"), a day comes out, or None if it is ambiguous (5/6 in English). A
day without a year is the next such day, because statements about exams and deadlines look forward. `periods` reads
the expressions of questions, which look back, with the same names.
"""

import re
from contextlib import suppress
from datetime import date, timedelta

from ricordo.languages.registry import AnyLanguage, all_values
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import fold

DAY = timedelta(days=1)

# Pieces of the templates of `AnyLanguage`, with the groups that the functions below read.
MONTH = "(?P<month><calendar.months>)"
NUMBER = r"(?P<number>\d{1,3}|<calendar.numbers>)"
YEAR = r"(?P<year>(?:19|20)\d\d)"


def count_of(word: str) -> int:
    """A count in digits or as a word."""
    return int(word) if word.isdigit() else int(all_values("calendar.numbers")[word])


def unit_of(word: str) -> str:
    """The unit that a word names: day, week, weekend, month or year; a week for any other word."""
    return str(all_values("calendar.units").get(word, "week"))


def month_number(name: str) -> int:
    """The number of a month by its folded name."""
    return int(all_values("calendar.months")[name])


def weekday_number(name: str) -> int:
    """The number of a weekday by its folded name; Monday is 0."""
    return int(all_values("calendar.weekdays")[name])


def number_in(match: re.Match[str]) -> int:
    """The count that an expression names."""
    return count_of(match["number"])


# Where a day may stand inside a statement, as a template of `AnyLanguage`; `resolve_day` decides whether it is one.
PHRASE = (
    r"(?:(?:<calendar.date_leads>)\s?)?(?:(?:<calendar.weekday_spellings>),?\s+)?(?:(?:<calendar.article>)\s+)?"
    r"(?:(?:\d{1,2}|<calendar.first_day>)(?:<calendar.ordinal_marks>)?\s+(?:(?:<calendar.of_month>)\s+)?"
    r"(?:<calendar.months>)"
    r"|(?:<calendar.leading_months>)\s+(?:(?:<calendar.article>)\s+)?\d{1,2}(?:<calendar.ordinal_marks>)?"
    r"|\d{1,2}[/.-]\d{1,2}(?:[/.-]\d{4})?|\d{4}-\d\d-\d\d)(?:,?\s*(?:(?:<calendar.of_year>) )?(?:19|20)\d\d)?"
    r"|(?:<calendar.ahead>)\s+(?:\d{1,3}|<calendar.numbers>)\s+(?:<calendar.day_units>)"
    r"|(?:(?:<calendar.weekday_leads>)\s+)?(?:<calendar.weekday_spellings>)(?:\s+(?:<calendar.next_weekday>))?"
    r"|<calendar.named_days>"
)
_DATE_LEAD = r"(?:(?:<calendar.date_leads>)\s*)?(?:(?:<calendar.weekdays>),?\s+)?(?:(?:<calendar.article>)\s+)?"
_DATE_YEAR = r"(?:,?\s*(?:(?:<calendar.of_year>) )?(?P<year>(?:19|20)\d\d))?"
_DAY_MONTH = AnyLanguage(
    rf"{_DATE_LEAD}(?:(?P<day>\d{{1,2}})|<calendar.first_day>)(?:<calendar.ordinal_marks>)?\s+"
    rf"(?:(?:<calendar.of_month>)\s+)?{MONTH}{_DATE_YEAR}",
    flags=0,
)
_MONTH_DAY = AnyLanguage(
    rf"{_DATE_LEAD}(?P<month><calendar.leading_months>)\s+(?:(?:<calendar.article>)\s+)?"
    rf"(?P<day>\d{{1,2}})(?:<calendar.ordinal_marks>)?{_DATE_YEAR}",
    flags=0,
)
_NUMERIC = AnyLanguage(
    rf"{_DATE_LEAD}(?P<first>\d{{1,2}})[/.-](?P<second>\d{{1,2}})(?:[/.-](?P<year>(?:19|20)\d\d))?", flags=0
)
_ISO = AnyLanguage(rf"{_DATE_LEAD}{YEAR}-(?P<month>\d\d)-(?P<day>\d\d)", flags=0)
_AHEAD = AnyLanguage(rf"(?:<calendar.ahead>)\s+{NUMBER}\s+(?P<unit><calendar.day_units>)", flags=0)
_COMING_WEEKDAY = AnyLanguage(
    r"(?:(?:<calendar.weekday_leads>)\s+)?(?P<weekday><calendar.weekdays>)(?:\s+(?:<calendar.next_weekday>))?", flags=0
)
_FULL_DATE = AnyLanguage(r"\b(?P<day>\d{1,2}) (?P<month><calendar.months>) (?P<year>(?:19|20)\d\d)\b", flags=0)
_ACCENT = re.compile(r"(?<=[aeiou])'(?=[\s,]|$)")  # an apostrophe in place of an accent: "lunedi'"


def resolve_day(phrase: str, said_on: date, language: str) -> date | None:
    """The day that a phrase names, on or after the day it was said; None if it is ambiguous."""
    folded = _ACCENT.sub("", " ".join(fold(phrase.replace("\u2019", "'")).split())).strip(" ,")
    named = all_values("calendar.named_days")
    if folded in named:
        return said_on + int(named[folded]) * DAY
    try:
        return _counted(folded, said_on) or _dated(folded, said_on) or _in_numbers(folded, said_on, language)
    except (ValueError, OverflowError):
        return None  # 31 February


def format_day(day: date, language: str, *, year: bool = True) -> str:
    """A day as facts spell it: "12 giugno 2026", "12 June 2026"."""
    words = f"{day.day} {language_by_code(language).calendar.month_names[day.month - 1]}"
    return f"{words} {day.year}" if year else words


def last_day_in(text: str) -> date | None:
    """The last date with a year in a fact's text."""
    found = None
    for match in _FULL_DATE.finditer(fold(text)):
        with suppress(ValueError):
            found = date(int(match["year"]), month_number(match["month"]), int(match["day"]))
    return found


def has_year(phrase: str) -> bool:
    """Whether a phrase contains a year."""
    return re.search(r"(?:19|20)\d\d", phrase) is not None


def _counted(folded: str, said_on: date) -> date | None:
    """ "in two weeks", "on Friday"."""
    if match := _AHEAD.fullmatch(folded):
        return said_on + number_in(match) * (7 if unit_of(match["unit"]) == "week" else 1) * DAY
    if match := _COMING_WEEKDAY.fullmatch(folded):
        return said_on + ((weekday_number(match["weekday"]) - said_on.weekday() - 1) % 7 + 1) * DAY
    return None


def _dated(folded: str, said_on: date) -> date | None:
    """ "2026-06-12", "12 giugno", "June 12"."""
    if match := _ISO.fullmatch(folded):
        return date(int(match["year"]), int(match["month"]), int(match["day"]))
    match = _DAY_MONTH.fullmatch(folded) or _MONTH_DAY.fullmatch(folded)
    return _coming(said_on, month_number(match["month"]), int(match["day"] or 1), match["year"]) if match else None


def _in_numbers(folded: str, said_on: date, language: str) -> date | None:
    """ "12/6"; where the month may come first, only what cannot be read both ways."""
    match = _NUMERIC.fullmatch(folded)
    if not match:
        return None
    first, second = int(match["first"]), int(match["second"])
    if language_by_code(language).calendar.month_first and first <= 12 and second <= 12 and first != second:
        return None
    day, month = (first, second) if second <= 12 else (second, first)
    return _coming(said_on, month, day, match["year"])


def _coming(said_on: date, month: int, day: int, year: str | None) -> date:
    """A date in its year; without one, the next such day."""
    if year:
        return date(int(year), month, day)
    for ahead in range(9):  # 29 February may be eight years away
        with suppress(ValueError):
            found = date(said_on.year + ahead, month, day)
            if found >= said_on:
                return found
    raise ValueError("no such day")
