"""How long ago a day was, as people say it: oggi, ieri, 3 giorni fa; today, yesterday, 3 days ago.

Days are those of the calendar in the user's time zone: one minute after midnight the evening before is yesterday, and
a day that daylight saving made 23 or 25 hours long is one day.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, tzinfo


@dataclass(frozen=True, slots=True)
class _Words:
    today: str
    yesterday: str
    ago: str
    tomorrow: str
    ahead: str


_WORDS: Mapping[str, _Words] = {
    "it": _Words("oggi", "ieri", "{n} giorni fa", "domani", "tra {n} giorni"),
    "en": _Words("today", "yesterday", "{n} days ago", "tomorrow", "in {n} days"),
}


def relative_day(moment: datetime | None, now: datetime, zone: tzinfo, locale: str = "en") -> str:
    """The day of a moment, seen from now; empty where there is none.

    A clock that runs ahead makes no future: later on the same day is still today. A day that is really to come is
    "domani" or "tra N giorni". Locales without words of their own ("it-IT" has those of "it") are told in English.
    """
    if moment is None:
        return ""
    words = _WORDS.get(locale.lower().replace("_", "-").partition("-")[0], _WORDS["en"])
    days = (now.astimezone(zone).date() - moment.astimezone(zone).date()).days
    match days:
        case 0:
            return words.today
        case 1:
            return words.yesterday
        case -1:
            return words.tomorrow
    return words.ago.format(n=days) if days > 0 else words.ahead.format(n=-days)
