"""The day that a statement names, in Italian and English, resolved against the day on which it was said.

"domani", "fra due settimane", "on Friday", "12 giugno": a phrase goes in, a day comes out, or nothing where the phrase
may mean two days ("next Friday", 5/6 in English). Statements about exams and deadlines look forward: a day without a
year is the next such day.
"""

import re
from contextlib import suppress
from datetime import date, timedelta

from ricordo.languages.words import (
    ENGLISH_MONTHS,
    ENGLISH_WEEKDAYS,
    ITALIAN_MONTHS,
    ITALIAN_WEEKDAYS,
    MONTHS,
    NUMBERS,
    WEEKDAYS,
)
from ricordo.recall.terms import fold

_NAMES = {
    "it": {number: name for name, number in ITALIAN_MONTHS.items()},
    "en": {number: name.capitalize() for name, number in ENGLISH_MONTHS.items()},
}
_MONTH = "|".join(MONTHS)
_YEAR = r"(?:,?\s*(?:del |of )?(?P<year>(?:19|20)\d\d))?"
_WEEKDAY_IT, _WEEKDAY_EN = "|".join(ITALIAN_WEEKDAYS), "|".join(ENGLISH_WEEKDAYS)
_LEAD = rf"(?:(?:on|il|lo|l'|the|al|per il|dal)\s*)?(?:(?:{_WEEKDAY_IT}|{_WEEKDAY_EN}),?\s+)?(?:the\s+|il\s+)?"
_DAY_MONTH = re.compile(
    rf"{_LEAD}(?P<day>\d{{1,2}}|primo)(?:st|nd|rd|th|°|º)?\s+(?:of\s+|di\s+)?(?P<month>{_MONTH}){_YEAR}"
)
_MONTH_DAY = re.compile(
    rf"{_LEAD}(?P<month>{'|'.join(ENGLISH_MONTHS)})\s+(?:the\s+)?(?P<day>\d{{1,2}})(?:st|nd|rd|th)?{_YEAR}"
)
_NUMERIC = re.compile(rf"{_LEAD}(?P<first>\d{{1,2}})[/.-](?P<second>\d{{1,2}})(?:[/.-](?P<year>(?:19|20)\d\d))?")
_ISO = re.compile(rf"{_LEAD}(?P<year>(?:19|20)\d\d)-(?P<month>\d\d)-(?P<day>\d\d)")
_AFTER = re.compile(
    rf"(?:tra|fra|in)\s+(?P<number>\d{{1,3}}|{'|'.join(NUMBERS)})\s+(?P<unit>giorn[oi]|days?|settiman[ae]|weeks?)"
)
_WEEKDAY = re.compile(
    rf"(?:on\s+|this\s+|this coming\s+|questo\s+|questa\s+)?(?P<weekday>{_WEEKDAY_IT}|"
    rf"{_WEEKDAY_EN})(?P<next>\s+prossim[oa])?"
)
_FIXED = {
    "oggi": 0, "today": 0, "stasera": 0, "tonight": 0, "domani": 1, "tomorrow": 1, "domattina": 1, "domani mattina": 1,
    "tomorrow morning": 1, "dopodomani": 2, "dopo domani": 2, "the day after tomorrow": 2,
}  # fmt: skip
# Where such a phrase may stand inside a statement; `day_of` decides whether it is one.
_ON_WEEKDAY = (
    r"(?:luned[iì]'?|marted[iì]'?|mercoled[iì]'?|gioved[iì]'?|venerd[iì]'?|sabato|domenica|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
)
_IN_MONTH = "|".join(ENGLISH_MONTHS)
PHRASE = (
    rf"(?:(?:on|il|l'|the|al|per il|dal)\s?)?(?:{_ON_WEEKDAY},?\s+)?(?:the\s+|il\s+)?"
    rf"(?:(?:\d{{1,2}}|primo)(?:st|nd|rd|th|°|º)?\s+(?:of\s+|di\s+)?(?:{_MONTH})"
    rf"|(?:{_IN_MONTH})\s+(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?"
    r"|\d{1,2}[/.-]\d{1,2}(?:[/.-]\d{4})?|\d{4}-\d\d-\d\d)(?:,?\s*(?:del |of )?(?:19|20)\d\d)?"
    rf"|(?:tra|fra|in)\s+(?:\d{{1,3}}|{'|'.join(NUMBERS)})\s+(?:giorn[oi]|days?|settiman[ae]|weeks?)"
    rf"|(?:on\s+|this\s+|this coming\s+|questo\s+|questa\s+)?{_ON_WEEKDAY}(?:\s+prossim[oa])?"
    r"|domani mattina|tomorrow morning|the day after tomorrow|dopo ?domani|domattina|domani|oggi|stasera"
    r"|today|tonight|tomorrow"
)


def day_of(phrase: str, said_on: date, language: str) -> date | None:
    """The day a whole phrase names, counted forward from the day it was said on; None where it is not sure."""
    folded = " ".join(fold(phrase.replace("\u2019", "'")).split()).replace("i'", "i").strip(" ,")
    if folded in _FIXED:
        return said_on + timedelta(days=_FIXED[folded])
    try:
        return _counted(folded, said_on) or _written(folded, said_on) or _numeric(folded, said_on, language)
    except (ValueError, OverflowError):
        return None  # 31 February looks like a day and is none


def written(day: date, language: str, *, year: bool = True) -> str:
    """A day as a fact has it: "12 giugno 2026", "12 June 2026"."""
    words = f"{day.day} {_NAMES[language][day.month]}"
    return f"{words} {day.year}" if year else words


def day_named(text: str) -> date | None:
    """The last day that a fact's text names with its year."""
    found = None
    for match in re.finditer(rf"\b(\d{{1,2}}) ({_MONTH}) ((?:19|20)\d\d)\b", fold(text)):
        try:
            found = date(int(match[3]), MONTHS[match[2]], int(match[1]))
        except ValueError:
            continue
    return found


def has_year(phrase: str) -> bool:
    """Whether a phrase says of which year it speaks."""
    return re.search(r"(?:19|20)\d\d", phrase) is not None


def _counted(folded: str, said_on: date) -> date | None:
    match = _AFTER.fullmatch(folded)
    if match:
        number = int(match["number"]) if match["number"].isdigit() else NUMBERS[match["number"]]
        return said_on + timedelta(days=number * (7 if match["unit"][0] in "sw" else 1))
    match = _WEEKDAY.fullmatch(folded)
    if match:
        return said_on + timedelta(days=(WEEKDAYS[match["weekday"]] - said_on.weekday() - 1) % 7 + 1)
    return None


def _written(folded: str, said_on: date) -> date | None:
    match = _ISO.fullmatch(folded)
    if match:
        return date(int(match["year"]), int(match["month"]), int(match["day"]))
    match = _DAY_MONTH.fullmatch(folded) or _MONTH_DAY.fullmatch(folded)
    if not match:
        return None
    day = 1 if match["day"] == "primo" else int(match["day"])
    return _coming(said_on, MONTHS[match["month"]], day, match["year"])


def _numeric(folded: str, said_on: date, language: str) -> date | None:
    match = _NUMERIC.fullmatch(folded)
    if not match:
        return None
    first, second = int(match["first"]), int(match["second"])
    if language == "en" and first <= 12 and second <= 12 and first != second:
        return None
    day, month = (first, second) if second <= 12 else (second, first)
    return _coming(said_on, month, day, match["year"])


def _coming(said_on: date, month: int, day: int, year: str | None) -> date:
    if year:
        return date(int(year), month, day)
    for ahead in range(9):  # 29 February may be eight years away
        with suppress(ValueError):
            found = date(said_on.year + ahead, month, day)
            if found >= said_on:
                return found
    raise ValueError("no such day")
