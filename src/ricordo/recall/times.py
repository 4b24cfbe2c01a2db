"""Time expressions of a question, in Italian and English, as periods of the calendar.

A question and `now` go in; the periods it speaks of come out ("la settimana scorsa", "in May 2023", "tre giorni
fa", "between 8 and 12 May"). Reading one expression is in `time_rules`; here they are found and joined.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime

from ricordo.recall.calendar_words import NUMBERS, UNITS
from ricordo.recall.time_rules import DAY, RULES, Days, recurs
from ricordo.recall.words import fold, guess_language


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
