"""How often somebody may come: so many times within any minute, counted by name.

In: a name for whoever comes, and how often they may. Out: whether this time is one too many. Names are let go of after
their minute, and only so many are kept in mind, because credentials and addresses change for ever.
"""

from collections import OrderedDict, deque
from collections.abc import Callable
from time import monotonic

MINUTE = 60.0
NAMES = 10_000


class Rates:
    """The times of the last minute, by name. Lives on one loop; not thread-safe."""

    def __init__(self, most: int, clock: Callable[[], float] = monotonic) -> None:
        self._most = most
        self._clock = clock
        self._times: OrderedDict[str, deque[float]] = OrderedDict()

    def __len__(self) -> int:
        return len(self._times)

    def may(self, name: str) -> bool:
        """Whether another time is allowed now."""
        times = self._times.get(name)
        if not times:
            return True
        before = self._clock() - MINUTE
        while times and times[0] <= before:
            times.popleft()
        return len(times) < self._most

    def count(self, name: str) -> bool:
        """Count this time, if it is allowed; whether it is."""
        if not self.may(name):
            return False
        now = self._clock()
        self._times.setdefault(name, deque()).append(now)
        self._times.move_to_end(name)
        while len(self._times) > NAMES or not self._came(next(iter(self._times)), now - MINUTE):
            self._times.popitem(last=False)
        return True

    def wait(self, name: str) -> float:
        """Seconds until the first of the last minute's times is out of it."""
        times = self._times.get(name)
        return max(0.0, times[0] + MINUTE - self._clock()) if times else 0.0

    def _came(self, name: str, since: float) -> bool:
        times = self._times[name]
        return bool(times) and times[-1] > since
