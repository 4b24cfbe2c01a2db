"""Whether and when to ask again: a failure goes in, the seconds to wait come out, or None to give up.

Waits double and are spread by chance, so that many clients do not come back at once; what the server asks for
(`Retry-After`) is honoured, in seconds or as a date.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from ricordo.llms.endpoint import Patience

RETRIED = frozenset({408, 425, 429, 500, 502, 503, 504, 529})


def wait(attempt: int, patience: Patience, *, chance: float, asked: float | None = None) -> float | None:
    """Seconds before the attempt after number `attempt` (from 1); None when there is none.

    `chance` lies between 0 and 1 and decides where in the upper half of the doubled wait this one falls.
    """
    if attempt >= patience.attempts or (asked is not None and asked > patience.longest_wait):
        return None
    doubled: float = min(patience.backoff * 2.0 ** min(attempt - 1, 30), patience.longest_wait)
    spread = doubled * (0.5 + chance / 2)
    return spread if asked is None else asked + spread * 0.1


def asked_for(headers: Mapping[str, str], now: datetime) -> float | None:
    """How long the server asks to wait; None when it does not say or says nonsense."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = lowered.get(name, "")
        if value.isascii() and value.replace(".", "", 1).isdigit():
            return float(value) * unit
    try:
        moment = parsedate_to_datetime(lowered.get("retry-after", ""))
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max((moment - now).total_seconds(), 0.0)
