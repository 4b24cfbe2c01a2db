"""The measurement of an outage runs and says what it measured."""

import json

import pytest
from bench.outage import Cost, main


def test_every_situation_is_timed(capsys: pytest.CaptureFixture[str]) -> None:
    """With the database there, stopped and paused, calls return and are counted in milliseconds, as JSON on request."""
    assert main(["--calls", "8", "--threads", "2", "--json"]) == 0
    costs = [Cost(**each) for each in json.loads(capsys.readouterr().out)]
    assert [cost.situation.partition(",")[0] for cost in costs] == ["there"] * 2 + ["stopped"] * 2 + ["paused"] * 2
    assert all(0 < cost.write_p50 <= cost.write_p99 <= cost.write_slowest for cost in costs)
