"""A measured figure and the arithmetic on it: medians, percentiles, ratios to Ricordo's own."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median

from bench.systems import OURS, SHIPPED


@dataclass(frozen=True, slots=True)
class Row:
    """One system on one workload at one size. `check` is "ok", or what was wrong with its answer."""

    workload: str
    size: str
    system: str
    figures: Mapping[str, float] = field(default_factory=dict)
    check: str = "ok"


class Rows(tuple[Row, ...]):
    """All that was measured, to be asked by workload."""

    def of(self, workload: str, system: str | None = None) -> "Rows":
        """The rows of a workload, of one system or of all."""
        return Rows(row for row in self if row.workload == workload and system in (None, row.system))

    def but(self, *systems: str) -> "Rows":
        """The rows of all other systems."""
        return Rows(row for row in self if row.system not in systems)

    def figure(self, name: str) -> list[float]:
        """One figure of every row that has it."""
        return [row.figures[name] for row in self if name in row.figures]

    def ratio(self, row: Row, name: str) -> float | None:
        """How many times Ricordo's figure this row's is, at the same workload and size."""
        base = SHIPPED if self.of(row.workload, SHIPPED.name) else OURS
        ours = [each for each in self.of(row.workload, base.name) if each.size == row.size and name in each.figures]
        if not ours or name not in row.figures or not ours[0].figures[name]:
            return None
        return row.figures[name] / ours[0].figures[name]


def latency(seconds: Sequence[float]) -> dict[str, float]:
    """Median and 99th percentile in milliseconds, and of how many."""
    return {"p50_ms": percentile(seconds, 50) * 1e3, "p99_ms": percentile(seconds, 99) * 1e3, "n": len(seconds)}


def percentile(values: Iterable[float], percent: float) -> float:
    """The value below which `percent` of the values lie, of those that were seen."""
    ordered = sorted(values)
    return ordered[round(percent / 100 * (len(ordered) - 1))]


def medians(runs: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Each figure's median over the runs."""
    return {name: median(run[name] for run in runs) for name in runs[0]}
