"""The measurement of an outage runs and says what it measured."""

from ricordo.bench.outage import run


def test_every_situation_is_timed() -> None:
    """With the database there, stopped and paused, calls return and are counted in milliseconds."""
    costs = run(calls=8, threads=2)
    assert [cost.situation.partition(",")[0] for cost in costs] == ["there"] * 2 + ["stopped"] * 2 + ["paused"] * 2
    assert all(0 < cost.write_p50 <= cost.write_p99 <= cost.write_slowest for cost in costs)
