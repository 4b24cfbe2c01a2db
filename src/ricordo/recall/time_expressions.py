"""Time expressions of a question, in Italian and English, as periods of the calendar.

A question and `now` go in; the periods it speaks of come out ("la settimana scorsa", "in May 2023", "tre giorni
fa", "between 8 and 12 May"). Reading one expression is in `time_rules`; here they are found and joined.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from ricordo.languages.registry import languages
from ricordo.recall.terms import fold, guess_language

_CALENDARS = [each.calendar for each in languages()]
MONTHS = {name: number for each in _CALENDARS for name, number in each.months.items()}
WEEKDAYS = {name: number for each in _CALENDARS for name, number in each.weekdays.items()}
NUMBERS = {name: number for each in _CALENDARS for name, number in each.numbers.items()}
ENGLISH_MONTHS, ITALIAN_MONTHS = (each.months for each in _CALENDARS)
ENGLISH_WEEKDAYS, ITALIAN_WEEKDAYS = (each.weekdays for each in _CALENDARS)
SEASONS = {name: number for each in _CALENDARS for name, number in each.seasons.items()}
UNITS = {name: unit for each in _CALENDARS for name, unit in each.units.items()}

# The rules that read one time expression: a pattern over folded text, and how its match becomes days.

Days = tuple[date, date]  # from the first day, up to and without the second
Reading = Callable[[re.Match[str], date, bool], Days]  # match, today, whether 5/8 is the 8th of May
DAY = timedelta(days=1)


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
    return re.search(r"\b(?:last|past|previous|scors[aoei]|passat[ao])\b", match[0]) is not None


def _number(match: re.Match[str]) -> int:
    word = match["number"]
    return int(word) if word.isdigit() else NUMBERS[word]


def _written(match: re.Match[str], today: date, _: bool) -> Days:
    """A day and a month by name; without a year, the latest such day that is not in the future."""
    month, day, year = MONTHS[match["month"]], int(match["day"]), _group(match, "year")
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
    month, year = MONTHS[match["month"]], _group(match, "year")
    if year:
        return _months(int(year), month)
    begun = month < today.month or (month == today.month and not _points_back(match))
    return _months(today.year if begun else today.year - 1, month)


def _season(match: re.Match[str], today: date, _: bool) -> Days:
    month, year = SEASONS[match["season"]], _group(match, "year")
    if year:
        return _months(int(year), month, 3)
    latest = today.year if date(today.year, month, 1) <= today else today.year - 1
    days = _months(latest, month, 3)
    return _months(latest - 1, month, 3) if today < days[1] and _points_back(match) else days


def _unit(match: re.Match[str], today: date, _: bool) -> Days:
    """This or last week, weekend, month or year."""
    back = 1 if _points_back(match) else 0
    monday = today - today.weekday() * DAY
    match UNITS[match["unit"]]:
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
    count = _number(match)
    match UNITS[match["unit"]]:
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
    days = {"day": 1, "week": 7, "weekend": 7, "month": 30, "year": 365}[UNITS[match["unit"]]]
    return today - days * _number(match) * DAY, today + DAY


def _weekday(match: re.Match[str], today: date, _: bool) -> Days:
    """The most recent such day before today."""
    return _one_day(today - ((today.weekday() - WEEKDAYS[match["weekday"]] - 1) % 7 + 1) * DAY)


def _year(match: re.Match[str], _: date, __: bool) -> Days:
    return _years(int(match["year"]))


def _back(first: int, last: int) -> Reading:
    """A fixed stretch: from `first` days back to `last` days back, both included."""
    return lambda _, today, __: (today - first * DAY, today - last * DAY + DAY)


def recurs(match: re.Match[str], reading: Reading) -> bool:
    """Whether an expression names a time of every year: "in June", "on 8 May", and neither "last June" nor a year."""
    return reading in (_written, _month, _season) and not _group(match, "year") and not _points_back(match)


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def _rule(pattern: str, reading: Reading) -> tuple[re.Pattern[str], Reading]:
    return re.compile(rf"(?<!\w)(?:{pattern})(?!\w)"), reading


_MONTH = f"(?P<month>{_any(MONTHS)})"
_EN_MONTH, _IT_MONTH = f"(?P<month>{_any(ENGLISH_MONTHS)})", f"(?P<month>{_any(ITALIAN_MONTHS)})"
_EN_WEEKDAY, _IT_WEEKDAY = f"(?P<weekday>{_any(ENGLISH_WEEKDAYS)})", f"(?P<weekday>{_any(ITALIAN_WEEKDAYS)})"
_IT_SEASON = "(?P<season>primavera|estate|autunno|inverno)"
_NUMBER = rf"(?P<number>\d{{1,3}}|{_any(NUMBERS)})"
_UNIT = f"(?P<unit>{_any(UNITS)})"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_TH = "(?:st|nd|rd|th|°|º)"
_PAST_IT = "(?:scors[ao]|passat[ao])"

RULES: tuple[tuple[re.Pattern[str], Reading], ...] = (
    _rule(rf"{_YEAR}-(?P<m>\d{{1,2}})-(?P<d>\d{{1,2}})", _iso),
    _rule(rf"(?P<a>\d{{1,2}})(?P<mark>[/.])(?P<b>\d{{1,2}})(?P=mark){_YEAR}", _numeric),
    _rule(rf"(?P<day>\d{{1,2}}){_TH}?\s+(?:of\s+|di\s+)?{_MONTH}(?:\s*,?\s*(?:of\s+|del\s+)?{_YEAR})?", _written),
    _rule(rf"{_MONTH}\s+(?:the\s+)?(?P<day>\d{{1,2}}){_TH}?\s*,?\s*{_YEAR}", _written),
    _rule(rf"{_MONTH}\s+(?:the\s+)?(?P<day>\d{{1,2}}){_TH}", _written),
    _rule(rf"(?:on|by|since|until|between|before|after|from|and|to)\s+{_EN_MONTH}\s+(?P<day>\d{{1,2}})", _written),
    _rule(rf"{_MONTH}\s*,?\s*(?:of\s+|del\s+)?{_YEAR}", _month),
    _rule(rf"(?P<season>{_any(SEASONS)})\s*(?:of\s+|del\s+)?{_YEAR}", _season),
    _rule(r"(?:a\s+)?few days ago|the other day|l'altro giorno|(?:qualche|alcuni|pochi) giorn[oi] fa", _back(7, 1)),
    _rule(rf"{_NUMBER}\s+{_UNIT}\s+(?:ago|fa)", _ago),
    _rule(rf"(?:last|past|ultim[ei]|scors[ei])\s+{_NUMBER}\s+{_UNIT}", _lasting),
    _rule(r"(?:the\s+)?day before yesterday|l'altro ieri|avantieri|ieri l'altro", _back(2, 2)),
    _rule(r"yesterday|last night|ieri|la notte scorsa|la scorsa notte", _back(1, 1)),
    _rule(r"today|tonight|this morning|this evening|oggi|stamattina|stamani|stasera|stanotte", _back(0, 0)),
    _rule(rf"(?:(?:last|past|previous|this|quest[ao]|{_PAST_IT})\s+|quest')(?:\s*){_UNIT}", _unit),
    _rule(rf"{_UNIT}\s+{_PAST_IT}", _unit),
    _rule(r"(?:last|past|this)\s+(?P<season>spring|summer|autumn|fall|winter)", _season),
    _rule(r"(?:in|during|over)\s+(?:the\s+)?(?P<season>summer|autumn|winter)", _season),
    _rule(rf"(?:(?:quest[ao]|{_PAST_IT}|durante la|in)\s+|quest'|nell'|d'|durante l'){_IT_SEASON}", _season),
    _rule(rf"{_IT_SEASON}\s+{_PAST_IT}", _season),
    _rule(rf"(?:in|during|last|this|since|until|from|between|of|early|late|mid)[\s-]+{_EN_MONTH}", _month),
    _rule(rf"{_IT_MONTH}\s+{_PAST_IT}", _month),
    _rule(rf"(?:a|ad|in|di|da|nel|durante|questo|{_PAST_IT})\s+{_IT_MONTH}", _month),
    _rule(rf"(?:on|last|past|this)\s+{_EN_WEEKDAY}", _weekday),
    _rule(rf"{_PAST_IT}\s+{_IT_WEEKDAY}", _weekday),
    _rule(rf"{_IT_WEEKDAY}\s+{_PAST_IT}", _weekday),
    # With an article or "ogni" it is a habit and no date.
    _rule(rf"(?<!la )(?<!il )(?<!di )(?<!ogni ){_IT_WEEKDAY}", _weekday),
    _rule(rf"(?:in|during|of|since|by|year|nel|del|dal|anno)\s+{_YEAR}", _year),
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


_ARTICLE = r"\s*(?:the |il |lo |la |l')?$"
_RANGE_OPENS = re.compile(r"\b(?:between|from|tra|fra|da|dal|dall')" + _ARTICLE)
_RANGE_GOES_ON = re.compile(r"\s*(?:and|to|until|through|e|a|al|all'|ad|-|–|fino a|fino al)" + _ARTICLE)
_UNIT_BEFORE = re.compile(
    rf"(?:\b(?P<number>\d{{1,2}}|{'|'.join(NUMBERS)})\s+)?\b(?P<unit>{'|'.join(UNITS)}|\w+day)\s+"
    r"(?:before|prior to|prima (?:di|del|dell'))" + _ARTICLE
)
_BEFORE = re.compile(r"\b(?:before|until|till|prior to|prima d(?:i|el|ell')|fino a(?:l|ll')?|entro)" + _ARTICLE)
_AFTER = re.compile(r"\b(?:after|dopo)" + _ARTICLE)
_SINCE = re.compile(r"\b(?:since|dal|dall'|a partire da(?:l|ll')?)" + _ARTICLE)
_LEAD = re.compile(r"(?:between|from|and|to|since|until|before|after|da|dal|a|al|di|del)\s")
_UNIT_DAYS = {"day": 1, "week": 7, "weekend": 7, "month": 31, "year": 366}
_LONG_AGO = date(1970, 1, 1)


def periods(question: str, now: datetime) -> tuple[Period, ...]:
    """The periods a question speaks of, in the order of their mention; relative ones are counted from `now`."""
    folded = fold(question.replace("\u2019", "'"))
    today = now.date()
    month_first = guess_language(question) == "en"
    found: list[_Mention] = []
    for pattern, reading in RULES:
        for match in pattern.finditer(folded):
            if any(match.start() < other.end and other.start < match.end() for other in found):
                continue
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
        count = int(number) if number.isdigit() else NUMBERS[number]
        return days[0] - count * _UNIT_DAYS[UNITS.get(counted["unit"], "week")] * DAY, days[1]
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
