"""Rate limits: a sliding window of one minute for each client, and a limit on refused credentials of each address.

A client is known by the digest of its credential, however its header is spelled, or else by its address. The number of
clients that are kept is bounded, because credentials and addresses change for ever: the least recently seen one is
evicted.
"""

import hashlib
from collections import OrderedDict, deque
from collections.abc import Callable
from time import monotonic

from starlette.datastructures import Headers
from starlette.types import Scope

from ricordo.server.credentials import bearer_token, is_api_key

WINDOW_SECONDS = 60.0
MAX_KEYS = 10_000
MAX_VALID_CREDENTIALS = 10_000
MAX_UNAUTHORIZED = 60  # 401 responses to one address in a minute, before unknown credentials are verified first


class RateLimiter:
    """Counts the events of the last minute by key. For one event loop; not thread-safe."""

    def __init__(self, limit: int, clock: Callable[[], float] = monotonic) -> None:
        self._limit = limit
        self._clock = clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._times)

    def allows(self, key: str) -> bool:
        """Whether another event is within the limit now."""
        times = self._times.get(key)
        if not times:
            return True
        window_start = self._clock() - WINDOW_SECONDS
        while times and times[0] <= window_start:
            times.popleft()
        return len(times) < self._limit

    def hit(self, key: str) -> bool:
        """Count an event if it is within the limit, and return whether it is."""
        if not self.allows(key):
            return False
        now = self._clock()
        self._times.setdefault(key, deque()).append(now)
        self._times.move_to_end(key)
        while len(self._times) > MAX_KEYS or self._is_expired(next(iter(self._times)), now - WINDOW_SECONDS):
            self._times.popitem(last=False)
        return True

    def retry_after(self, key: str) -> float:
        """Seconds until the oldest event of the window has passed."""
        times = self._times.get(key)
        return max(0.0, times[0] + WINDOW_SECONDS - self._clock()) if times else 0.0

    def _is_expired(self, key: str, window_start: float) -> bool:
        times = self._times[key]
        return not times or times[-1] <= window_start


class RequestLimits:
    """The limits that every request is checked against.

    Once an address has sent many refused credentials, its unknown ones are verified before anything else is done for
    them. A valid one is never refused because of others from the same address, which may be a proxy.
    """

    def __init__(self, requests_per_minute: int) -> None:
        self._per_minute = requests_per_minute
        self._requests = RateLimiter(requests_per_minute)
        self._unauthorized = RateLimiter(MAX_UNAUTHORIZED)
        self._valid: OrderedDict[str, None] = OrderedDict()

    def check(self, scope: Scope, headers: Headers) -> tuple[str, float] | None:
        """None if the request is within the limit; else what is exceeded, and the seconds to wait."""
        key = _client_key(scope, headers)
        if not self._requests.hit(key):
            return f"at most {self._per_minute} requests a minute; wait a little", self._requests.retry_after(key)
        return None

    def unknown_credential(self, scope: Scope, headers: Headers) -> str | None:
        """The credential to verify first, because it is unknown and its address had many refused; else None."""
        if _client_key(scope, headers) in self._valid or self._unauthorized.allows(_address(scope)):
            return None
        return bearer_token(headers.get("authorization"))

    def refusal(self, scope: Scope) -> tuple[str, float]:
        """What to answer an invalid credential of an address that had many refused, and the seconds to wait."""
        return "too many credentials were refused; wait a minute", self._unauthorized.retry_after(_address(scope))

    def record(self, scope: Scope, headers: Headers, status: int) -> None:
        """Learn from a response which credentials are valid, and which addresses send invalid ones."""
        if bearer_token(headers.get("authorization")) is None:
            return
        if status == 401:
            self._unauthorized.hit(_address(scope))
        elif status < 400:
            key = _client_key(scope, headers)
            self._valid[key] = None
            self._valid.move_to_end(key)
            while len(self._valid) > MAX_VALID_CREDENTIALS:
                self._valid.popitem(last=False)


def _address(scope: Scope) -> str:
    return str((scope.get("client") or ("?",))[0])


def _client_key(scope: Scope, headers: Headers) -> str:
    """The digest of a request's credential, or else of its address.

    Of a token the signature is left out: it can be spelled in many ways, and what it signs in one.
    """
    credential = bearer_token(headers.get("authorization"))
    if credential and not is_api_key(credential):
        credential = credential.rpartition(".")[0] or credential
    return hashlib.sha256((credential or _address(scope)).encode()).hexdigest()[:16]
