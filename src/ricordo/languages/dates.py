"""Days and periods that a text names, in the words of all languages.

A phrase of a statement ("domani", "on Friday", "12 giugno") and the day on which it was said give a day, or None if it
is ambiguous (5/6 in English). Statements look forward: a day without a year is the next such day. A question and `now`
give the periods it speaks of: "la settimana scorsa", "in May 2023", "tre giorni fa", "between 8 and 12 May". Questions
look back: a date without a year is the latest such day.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime, timedelta, tzinfo
from functools import cache
from typing import TYPE_CHECKING

from ricordo.languages.registry import AnyLanguage, all_values, escaped, filled, languages
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import fold, guess_language

if TYPE_CHECKING:
    from ricordo.languages.base import Calendar, Language

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


def relative_day(
    moment: datetime | None, now: datetime, zone: tzinfo, locale: str = "en", *, dated: bool = False
) -> str:
    """The day of a moment relative to now ("ieri", "3 days ago"); empty for None.

    Later on the same day is still today. A future day is "domani" or "tra N giorni". `dated` puts the date before a
    distance of more than a day: "4 November, 12 days ago". Unknown locales use English; "it-IT" uses "it".
    """
    if moment is None:
        return ""
    words = language_by_code(locale).calendar
    today, day = now.astimezone(zone).date(), moment.astimezone(zone).date()
    days = (today - day).days
    match days:
        case 0:
            return words.today
        case 1:
            return words.yesterday
        case -1:
            return words.tomorrow
    told = words.days_ago.format(n=days) if days > 0 else words.days_ahead.format(n=-days)
    return f"{format_day(day, locale, year=day.year != today.year)}, {told}" if dated else told


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


Days = tuple[date, date]  # from the first day, up to and without the second
Reading = Callable[[re.Match[str], date, bool], Days]  # match, today, whether 5/8 is the 8th of May


def _one_day(day: date) -> Days:
    return day, day + DAY


def _months_after(year: int, month: int, count: int) -> date:
    """The first day of the month that lies `count` months after the given one; `count` may be negative."""
    years, months = divmod(year * 12 + month - 1 + count, 12)
    return date(years, months + 1, 1)


def _months(year: int, month: int, count: int = 1) -> Days:
    return date(year, month, 1), _months_after(year, month, count)


def _years(year: int) -> Days:
    return date(year, 1, 1), date(year + 1, 1, 1)


def _group(match: re.Match[str], name: str) -> str | None:
    return match.groupdict().get(name)


def _points_back(match: re.Match[str]) -> bool:
    return _PAST.search(match[0]) is not None


def _written(match: re.Match[str], today: date, _: bool) -> Days:
    """A day and a month by name; without a year, the latest such day that is not in the future."""
    month, day, year = month_number(match["month"]), int(match["day"]), _group(match, "year")
    if year:
        return _one_day(date(int(year), month, day))
    return _one_day(date(today.year if (month, day) <= (today.month, today.day) else today.year - 1, month, day))


def _numeric(match: re.Match[str], _: date, month_first: bool) -> Days:
    first, second, year = int(match["a"]), int(match["b"]), int(match["year"])
    # Months come first with slashes in English, never with dots.
    swapped = second > 12 or (month_first and match["mark"] == "/" and first <= 12)
    day, month = (second, first) if swapped else (first, second)
    return _one_day(date(year, month, day))


def _iso(match: re.Match[str], _: date, __: bool) -> Days:
    return _one_day(date(int(match["year"]), int(match["m"]), int(match["d"])))


def _month(match: re.Match[str], today: date, _: bool) -> Days:
    """A month by name; without a year, the latest one that has begun, or the one before if it says "last"."""
    month, year = month_number(match["month"]), _group(match, "year")
    if year:
        return _months(int(year), month)
    begun = month < today.month or (month == today.month and not _points_back(match))
    return _months(today.year if begun else today.year - 1, month)


def _season(match: re.Match[str], today: date, _: bool) -> Days:
    month, year = int(all_values("calendar.seasons")[match["season"]]), _group(match, "year")
    if year:
        return _months(int(year), month, 3)
    latest = today.year if date(today.year, month, 1) <= today else today.year - 1
    days = _months(latest, month, 3)
    return _months(latest - 1, month, 3) if today < days[1] and _points_back(match) else days


def _unit(match: re.Match[str], today: date, _: bool) -> Days:
    """This or last week, weekend, month or year."""
    back = 1 if _points_back(match) else 0
    monday = today - today.weekday() * DAY
    match unit_of(match["unit"]):
        case "week":
            return monday - 7 * back * DAY, monday + 7 * (1 - back) * DAY
        case "weekend":
            saturday = monday + 5 * DAY
            over = saturday + 2 * DAY <= today
            saturday -= timedelta(days=7 if back and not over else 0)
            return saturday, saturday + 2 * DAY
        case "month":
            first = _months_after(today.year, today.month, -back)
            return first, _months_after(first.year, first.month, 1)
        case "year":
            return _years(today.year - back)
    return _one_day(today - back * DAY)


def _ago(match: re.Match[str], today: date, _: bool) -> Days:
    """So many units back; the larger the unit, the wider what people mean by it."""
    count = number_in(match)
    match unit_of(match["unit"]):
        case "day":
            return _one_day(today - count * DAY)
        case "week" | "weekend":
            return today - (7 * count + 3) * DAY, today - (7 * count - 4) * DAY
        case "month":
            first = _months_after(today.year, today.month, -count)
            return first, _months_after(first.year, first.month, 1)
    return _years(today.year - count)


def _lasting(match: re.Match[str], today: date, _: bool) -> Days:
    """The last so many units up to today."""
    days = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}[unit_of(match["unit"])]
    return today - days * number_in(match) * DAY, today + DAY


def _weekday(match: re.Match[str], today: date, _: bool) -> Days:
    """The most recent such day before today."""
    return _one_day(today - ((today.weekday() - weekday_number(match["weekday"]) - 1) % 7 + 1) * DAY)


def _year(match: re.Match[str], _: date, __: bool) -> Days:
    return _years(int(match["year"]))


def _back(first: int, last: int) -> Reading:
    """A fixed stretch: from `first` days back to `last` days back, both included."""
    return lambda _, today, __: (today - first * DAY, today - last * DAY + DAY)


def recurs(match: re.Match[str], reading: Reading) -> bool:
    """Whether an expression names a time of every year: "in June", "on 8 May", and neither "last June" nor a year."""
    return reading in (_written, _month, _season) and not _group(match, "year") and not _points_back(match)


_PAST = AnyLanguage(r"\b(?:<calendar.past>)\b", flags=0)
_UNIT = "(?P<unit><calendar.units>)"
_ORDINAL = "(?:<calendar.ordinal_marks>)"
_OF_YEAR = r"(?:(?:<calendar.of_year>)\s+)?"

# In the order in which they are tried: an expression that one rule has read is not read by another. A name stands for
# the expressions that each language has of that kind, the rest are shapes that all languages share.
RULES: tuple[tuple[str, Reading], ...] = (
    (rf"{YEAR}-(?P<m>\d{{1,2}})-(?P<d>\d{{1,2}})", _iso),
    (rf"(?P<a>\d{{1,2}})(?P<mark>[/.])(?P<b>\d{{1,2}})(?P=mark){YEAR}", _numeric),
    (rf"(?P<day>\d{{1,2}}){_ORDINAL}?\s+(?:(?:<calendar.of_month>)\s+)?{MONTH}(?:\s*,?\s*{_OF_YEAR}{YEAR})?", _written),
    (rf"{MONTH}\s+(?:(?:<calendar.article>)\s+)?(?P<day>\d{{1,2}}){_ORDINAL}?\s*,?\s*{YEAR}", _written),
    (rf"{MONTH}\s+(?:(?:<calendar.article>)\s+)?(?P<day>\d{{1,2}}){_ORDINAL}", _written),
    ("date", _written),
    (rf"{MONTH}\s*,?\s*{_OF_YEAR}{YEAR}", _month),
    (rf"(?P<season><calendar.seasons>)\s*{_OF_YEAR}{YEAR}", _season),
    ("few_days", _back(7, 1)),
    (rf"{NUMBER}\s+{_UNIT}\s+(?:<calendar.ago>)", _ago),
    (rf"(?:<calendar.lasting>)\s+{NUMBER}\s+{_UNIT}", _lasting),
    ("before_yesterday", _back(2, 2)),
    ("yesterday", _back(1, 1)),
    ("today", _back(0, 0)),
    ("unit", _unit),
    ("season", _season),
    ("month", _month),
    ("weekday", _weekday),
    ("year", _year),
)


@cache
def _sources(known: "tuple[Language, ...]") -> tuple[tuple[str, Reading], ...]:
    """Every rule with the source of its pattern, for the languages that are known."""

    def patterns(shape: str) -> list[str]:
        own = [_expression(each.calendar, one) for each in known for one in each.calendar.expressions.get(shape, ())]
        return own if shape.isidentifier() else [shape]

    return tuple((filled(rf"(?:{pattern})"), reading) for shape, reading in RULES for pattern in patterns(shape))


@cache
def _rules(known: "tuple[Language, ...]") -> tuple[tuple[re.Pattern[str], Reading], ...]:
    return tuple((re.compile(rf"(?<!\w){source}(?!\w)"), reading) for source, reading in _sources(known))


@cache
def _any_rule(known: "tuple[Language, ...]") -> re.Pattern[str]:
    """A pattern that is found wherever one of the rules is: searching once is faster than once for each."""
    bodies = "|".join(source for source, _ in _sources(known))
    return re.compile(rf"(?<!\w)(?:{re.sub(r'[(][?]P=[a-z]+[)]', '.', re.sub(r'[?]P<[a-z]+>', '?:', bodies))})(?!\w)")


def _expression(calendar: "Calendar", template: str) -> str:
    """An expression of one language with its own names of months, weekdays and seasons."""

    def named(name: str, table: Mapping[str, int]) -> str:
        return f"(?P<{name}>{'|'.join(escaped(table))})"

    return template.format(
        month=named("month", calendar.months),
        weekday=named("weekday", calendar.weekdays),
        season=named("season", calendar.seasons),
        unit=_UNIT,
        day=r"(?P<day>\d{1,2})",
        year=YEAR,
    )


@dataclass(frozen=True, slots=True)
class Period:
    """A stretch of time that a question names: from `start` up to and without `end`, in `now`'s time zone.

    One that `recurs` was named without a year: it is the latest before now, but may mean that of an earlier year.
    """

    start: datetime
    end: datetime
    text: str
    recurs: bool = False


@dataclass(frozen=True, slots=True)
class _Mention:
    """Where in the text a period is named, and which days it covers."""

    start: int
    end: int
    days: Days
    recurs: bool = False


_BEFORE_DATE = r"\s*(?:<calendar.range_articles>)?$"
_RANGE_OPENS = AnyLanguage(rf"\b(?:<calendar.range_opens>){_BEFORE_DATE}", flags=0)
_RANGE_GOES_ON = AnyLanguage(rf"\s*(?:<calendar.range_joins>|-|–){_BEFORE_DATE}", flags=0)
_UNIT_BEFORE = AnyLanguage(
    r"(?:\b(?P<number>\d{1,2}|<calendar.numbers>)\s+)?\b(?P<unit><calendar.units>|<calendar.weekday_unit>)\s+"
    rf"(?:<calendar.unit_before>){_BEFORE_DATE}",
    flags=0,
)
_BEFORE = AnyLanguage(rf"\b(?:<calendar.before>){_BEFORE_DATE}", flags=0)
_AFTER = AnyLanguage(rf"\b(?:<calendar.after>){_BEFORE_DATE}", flags=0)
_SINCE = AnyLanguage(rf"\b(?:<calendar.since>){_BEFORE_DATE}", flags=0)
_LEAD = AnyLanguage(r"(?:<calendar.range_leads>)\s", flags=0)
_UNIT_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 31, "year": 366}
_LONG_AGO = date(1970, 1, 1)


def periods(question: str, now: datetime) -> tuple[Period, ...]:
    """The periods a question speaks of, in the order of their mention; relative ones are counted from `now`."""
    folded = fold(question.replace("\u2019", "'"))
    if _any_rule(languages()).search(folded) is None:
        return ()  # nearly always
    today = now.date()
    found: list[_Mention] = []
    for pattern, reading in _rules(languages()):
        for match in pattern.finditer(folded):
            if any(match.start() < other.end and other.start < match.end() for other in found):
                continue
            month_first = language_by_code(guess_language(question)).calendar.month_first
            try:
                days = reading(match, today, month_first)
                found.append(_Mention(match.start(), match.end(), days, recurs(match, reading)))
            except (ValueError, OverflowError):
                continue  # 31 February, the year 0: it looks like a date and is none
    found.sort(key=lambda mention: mention.start)
    return tuple(_period(mention, folded, now) for mention in _joined(found, folded, today))


def _joined(found: list[_Mention], folded: str, today: date) -> list[_Mention]:
    """Ranges made one, and "before", "since", "the week before" applied to the period they stand in front of."""
    joined: list[_Mention] = []
    opens_range = False
    for mention in found:
        # A rule may have read the preposition as part of its expression ("from May", "dal 2020"): give it back.
        lead = _LEAD.match(folded[mention.start : mention.end])
        before = folded[: mention.start] + (lead[0] if lead else "")
        if opens_range and _RANGE_GOES_ON.fullmatch(before[joined[-1].end :]):
            joined[-1] = _Mention(joined[-1].start, mention.end, _hull(joined[-1].days, mention.days))
            opens_range = False
            continue
        opens_range = _RANGE_OPENS.search(before) is not None
        counted = _UNIT_BEFORE.search(before)
        if counted and joined and joined[-1].end > counted.start():
            joined.pop()  # "the last weekend before 10 April" names one period, not two
        days = _shifted(mention.days, before, counted, today)
        joined.append(_Mention(mention.start, mention.end, days, mention.recurs and days == mention.days))
    return joined


def _hull(first: Days, last: Days) -> Days:
    """From the beginning of one to the end of the other; a first date without a year takes the last one's."""
    start = first[0]
    if start > last[0]:
        start = start.replace(year=last[0].year, day=min(start.day, 28) if start.month == 2 else start.day)
    return min(start, last[0]), last[1]


def _shifted(days: Days, before: str, counted: re.Match[str] | None, today: date) -> Days:
    if counted:
        number = counted["number"] or "1"
        count = count_of(number)
        return days[0] - count * _UNIT_DAYS[unit_of(counted["unit"])] * DAY, days[1]
    if _BEFORE.search(before) and days[0] > _LONG_AGO:
        return _LONG_AGO, days[0]
    if _AFTER.search(before) and days[1] <= today:
        return days[1], today + DAY
    if _SINCE.search(before) and days[0] <= today:
        return days[0], today + DAY
    return days


def _period(mention: _Mention, folded: str, now: datetime) -> Period:
    first, last = (datetime(day.year, day.month, day.day, tzinfo=now.tzinfo) for day in mention.days)
    return Period(first, last, folded[mention.start : mention.end].strip(), mention.recurs)
