"""The short form of `scripts/torture`: kills, outages and damage for some seconds each, and no promise broken."""

import json

import pytest
from bench.torture import PARTS, main, run


def test_reports_are_json(capsys: pytest.CaptureFixture[str]) -> None:
    """On request the reports are one JSON document, and the exit code says that nothing was broken."""
    assert main(["--seconds", "0.5", "--seed", "1", "--parts", "damage", "--json"]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["part"], report["problems"]) == ("damage", [])


@pytest.mark.slow
@pytest.mark.parametrize("part", PARTS)
def test_no_promise_is_broken(part: str) -> None:
    """Nothing acknowledged is lost, nothing erased comes back, every backup verifies, damage is reported."""
    (report,) = run(seconds=6, seed=7, parts=[part])
    assert report.problems == []
    assert report.strikes > 0
