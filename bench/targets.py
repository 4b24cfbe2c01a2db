"""The targets, each judged by a pure function over the measured rows."""

from collections.abc import Iterator
from dataclasses import dataclass

from bench.results import Row, Rows
from bench.systems import ALL, MESSAGES, OURS, PEERS, PLAIN, SHIPPED, Entry

FLAT = 1.5  # the slowest size may take this many times the fastest one
PEER_NAMES = {entry.name for entry in PEERS}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a figure was reached, and the number behind it. None: nothing was measured to judge by."""

    what: str
    reached: bool | None
    measured: str


def judge(rows: Rows) -> list[Verdict]:
    """A verdict for every figure that something was measured for."""
    verdicts = [
        *_append(rows),
        *_window(rows),
        *_context(rows),
        *_opening(rows),
        *_cleanup(rows),
        *_disk(rows),
        *_writers(rows),
    ]
    return [verdict for verdict in verdicts if verdict.measured]


def _append(rows: Rows) -> Iterator[Verdict]:
    for workload in ("append", "append to a new file", "append as shipped"):
        yield _of_bare(rows, workload, MESSAGES, "a bare insert of question and answer")
        yield _of_bare(rows, workload, PLAIN, "the plainest insert, one row")
    yield _flat(rows, "append")
    yield _against_peers(rows, "append beside peers", "append: faster than every peer")


def _of_bare(rows: Rows, workload: str, bare: Entry, what: str) -> Verdict:
    """Ricordo's rate as a share of hand-written SQL's, at every size."""
    speeds = {row.size: ratio for row in rows.of(workload, bare.name) if (ratio := rows.ratio(row, "p50_ms"))}
    said = ", ".join(f"{speed:.2f} at {size}" for size, speed in speeds.items())
    return Verdict(f"{workload}: at least 0.5 × {what}", _all(speed >= 0.5 for speed in speeds.values()), said)


def _window(rows: Rows) -> Iterator[Verdict]:
    yield _against_peers(rows, "window", "window: at or under the fastest peer")
    yield _flat(rows, "window by length")


def _context(rows: Rows) -> Iterator[Verdict]:
    for workload, entry in (("context", OURS), ("context with recall", SHIPPED)):
        for name, most in (("p50_ms", 2.0), ("p99_ms", 10.0)):
            found = rows.of(workload, entry.name).figure(name)
            yield _at_most(f"{workload}: {name[:3]} at most {most:g} ms", found, most, "ms")
    yield _flat(rows, "context")


def _opening(rows: Rows) -> Iterator[Verdict]:
    ours = rows.of("open", OURS.name)
    size = ours[0].size if ours else "1,000,000"
    yield _at_most(f"open {size} turns: at most 100 ms", ours.figure("open_ms"), 100, "ms")
    yield _at_most(f"open {size} turns: at most 100 MB", ours.figure("rss_mb"), 100, "MB")
    found = rows.of("import", OURS.name)
    yield _at_most("import ricordo: at most 150 ms, whole process", found.figure("process_ms"), 150, "ms")
    yield Verdict("import ricordo: no web framework", _all(r.check == "ok" for r in found), _checks(found))


def _cleanup(rows: Rows) -> Iterator[Verdict]:
    ours = rows.of("cleanup", OURS.name)
    size = ours[0].size if ours else "1,000,000"
    yield _at_most(f"cleanup of {size} turns: at most 5 s", ours.figure("seconds"), 5, "s")
    for who in ("thread", "process"):
        quiet = ", ".join(f"{each:.0f}" for each in ours.figure(f"{who}_quiet_ms"))
        judged = _at_most(
            f"cleanup: a writer in another {who} waits at most 50 ms", ours.figure(f"{who}_wait_ms"), 50, "ms"
        )
        yield Verdict(
            judged.what, judged.reached, judged.measured and f"{judged.measured} (without cleanup {quiet} ms)"
        )
    yield Verdict("cleanup: exactly what is past its time", _all(row.check == "ok" for row in ours), _checks(ours))


def _disk(rows: Rows) -> Iterator[Verdict]:
    for size in ("100 messages", "100 messages with receipts"):
        found = Rows(row for row in rows.of("disk", OURS.name) if row.size == size)
        yield _at_most(f"disk: at most 100 KB per {size}", found.figure("kb"), 100, "KB")


def _writers(rows: Rows) -> Iterator[Verdict]:
    ours = rows.of("writers", OURS.name)
    yield Verdict("writers: no gap, no loss, no error", _all(row.check == "ok" for row in ours), _checks(ours))


def _against_peers(rows: Rows, workload: str, what: str) -> Verdict:
    """At every size, Ricordo's median against the fastest peer's that was measured there."""
    said, held = [], []
    for ours in rows.of(workload, OURS.name):
        peers = [row for row in rows.of(workload) if _is_peer(row) and row.size == ours.size and row.figures]
        if not peers:
            continue
        fastest = min(peers, key=lambda row: row.figures["p50_ms"])
        mine, best = ours.figures["p50_ms"], fastest.figures["p50_ms"]
        held.append(mine <= best)
        said.append(f"{mine:.3f} against {best:.3f} ms ({ALL[fastest.system].title}) at {ours.size}")
    return Verdict(what, _all(iter(held)), "; ".join(said) or _without_peers(rows))


def _without_peers(rows: Rows) -> str:
    return "peers were not measured: add --peers" if rows.of("window") else ""


def _flat(rows: Rows, workload: str) -> Verdict:
    ours = [row for row in rows.of(workload, OURS.name) if row.figures]
    medians = [row.figures["p50_ms"] for row in ours]
    what = f"{workload}: flat from {ours[0].size} to {ours[-1].size} turns" if ours else f"{workload}: flat"
    if len(medians) < 2:
        return Verdict(what, None, "")
    spread = max(medians) / min(medians)
    return Verdict(what, spread <= FLAT, f"slowest ÷ fastest median {spread:.2f} (allowed {FLAT})")


def _at_most(what: str, found: list[float], most: float, unit: str) -> Verdict:
    if not found:
        return Verdict(what, None, "")
    return Verdict(what, max(found) <= most, f"{max(found):.3g} {unit}")


def _all(held: Iterator[bool]) -> bool | None:
    seen = list(held)
    return all(seen) if seen else None


def _checks(rows: Rows) -> str:
    return "; ".join(sorted({row.check for row in rows})) or ""


def _is_peer(row: Row) -> bool:
    return row.system in PEER_NAMES
