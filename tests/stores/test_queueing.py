"""What becomes of a job: no wish is lost, nobody ends what is not theirs, and what failed keeps its time."""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ricordo.records.service import Job
from ricordo.records.turns import Owner
from ricordo.stores import write_rules
from ricordo.testing.fakes import START

hour = timedelta(hours=1)
moments = st.integers(0, 9).map(lambda n: START + n * hour)
HERE = Job(Owner("acme", "anna"), "facts", "lesson", START)
STEPS = st.one_of(
    st.tuples(st.just("wish"), moments, st.booleans()),
    st.tuples(st.just("take"), moments, st.sampled_from(["w1", "w2"])),
    st.tuples(st.sampled_from(["finish", "fail", "give up", "hand back"]), moments, st.integers(0, 3)),
)


@given(steps=st.lists(STEPS, max_size=25))
def test_no_wish_is_lost(steps: list[tuple[str, datetime, object]]) -> None:
    """Whatever happens: a wish is over only when an attempt that began after it has finished, or was given up."""
    stored: Job | None = None
    wishes = answered = 0
    attempts: list[tuple[Job, int]] = []
    for what, at, how in steps:
        if what == "wish":
            stored = write_rules.enqueued(stored, replace(HERE, due_at=at), postpone=bool(how))
            wishes += 1
        elif what == "take":
            if stored is not None and write_rules.is_due(stored, at):
                stored = write_rules.taken(stored, str(how), at + hour)
                attempts.append((stored, wishes))
        elif attempts:
            job, covered = attempts[-1 - int(str(how)) % len(attempts)]
            if stored is None or not write_rules.holds(stored, job):
                continue
            if what == "hand back":
                stored = write_rules.handed_back(stored)
            elif what == "finish":
                stored, answered = write_rules.finished(stored), covered
            else:
                retry = at if what == "fail" else None
                gave_up = retry is None and stored.again_at is None
                stored = write_rules.failed(stored, "away", retry)
                answered = covered if gave_up else answered
        waiting = stored is not None and stored.due_at is not None
        assert waiting or answered == wishes


@given(steps=st.lists(STEPS, max_size=25))
def test_of_all_attempts_at_most_the_last_one_counts(steps: list[tuple[str, datetime, object]]) -> None:
    """Whoever took a job before somebody else did can no longer end it."""
    stored: Job | None = None
    attempts: list[Job] = []
    for what, at, how in steps:
        if what == "wish":
            stored = write_rules.enqueued(stored, replace(HERE, due_at=at), postpone=bool(how))
        elif what == "take" and stored is not None and write_rules.is_due(stored, at):
            stored = write_rules.taken(stored, str(how), at + hour)
            attempts.append(stored)
        assert not any(write_rules.holds(stored, job) for job in attempts[:-1])


@given(waits=moments, wished=moments, error=st.sampled_from(["", "away"]), postpone=st.booleans())
def test_when_a_job_is_due(waits: datetime, wished: datetime, error: str, postpone: bool) -> None:
    """The earlier time, the new one if it is postponed, its own after a failure."""
    stored = replace(HERE, due_at=waits, last_error=error)
    due_at = write_rules.enqueued(stored, replace(HERE, due_at=wished), postpone=postpone).due_at
    assert due_at == (wished if postpone else waits if error else min(waits, wished))


@given(jobs=st.lists(st.tuples(st.none() | moments, st.none() | moments, st.sampled_from(["", "no"]))), now=moments)
def test_every_job_is_counted_once(jobs: list[tuple[datetime | None, datetime | None, str]], now: datetime) -> None:
    """As waiting, as being done or as given up; those that wait after a failure are some of the waiting."""
    every = [
        replace(HERE, due_at=due, leased_until=until, leased_by="w" if until else "", last_error=error)
        for due, until, error in jobs
    ]
    stats = write_rules.counted(every, now)
    assert stats.pending + stats.leased + stats.failed == len(every)
    assert stats.retrying <= stats.pending
    assert (stats.oldest is None) == (stats.pending == 0)
    assert stats.leased == sum(until is not None and now < until for _, until, _ in jobs)
