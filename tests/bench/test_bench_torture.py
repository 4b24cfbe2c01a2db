"""The short form of `scripts/torture`: kills, outages and damage for some seconds each, and no promise broken."""

import pytest
from bench.torture import PARTS, run


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_no_promise_is_broken(part: str) -> None:
    """Nothing acknowledged is lost, nothing erased comes back, every backup verifies, damage is reported."""
    (report,) = run(seconds=6, seed=7, parts=[part])
    assert report.problems == []
    assert report.strikes > 0
