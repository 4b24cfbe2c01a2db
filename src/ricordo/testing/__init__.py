"""For your tests: a clock you move, a store that forgets, strategies for anything that may be stored, and the
suites that every store passes. Needs the `testing` extra (pytest and Hypothesis).
"""

import pytest

pytest.register_assert_rewrite("ricordo.testing.contract", "ricordo.testing.machine")

from ricordo.stores.memory import MemoryStore  # noqa: E402 - assertions in the suites explain themselves only if
from ricordo.testing.fakes import FakeClock  # noqa: E402   the lines above run before anything is imported

__all__ = ["FakeClock", "MemoryStore"]
