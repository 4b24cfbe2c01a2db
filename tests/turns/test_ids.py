"""Ids that Ricordo makes itself."""

import multiprocessing
import sys
from datetime import UTC, datetime, timedelta
from uuid import RFC_4122, UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.core import new_id

moments = st.datetimes(datetime(1970, 1, 1), datetime(9998, 1, 1)).map(lambda each: each.replace(tzinfo=UTC))


@given(moments)
def test_every_id_is_a_uuid_of_version_7_and_unlike_the_others(now: datetime) -> None:
    """Whatever the time, ids are well-formed and do not repeat."""
    made = [new_id(now) for _ in range(20)]
    assert len(set(made)) == 20
    assert all(UUID(each).version == 7 and UUID(each).variant == RFC_4122 for each in made)


@given(moments, st.integers(1, 10**6))
def test_a_later_id_sorts_after_an_earlier_one(now: datetime, milliseconds: int) -> None:
    """Ids rise with time, so that neighbours in time are neighbours in an index."""
    assert new_id(now) < new_id(now + timedelta(milliseconds=milliseconds))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows does not fork")
def test_a_forked_process_makes_other_ids() -> None:
    """Random digits are drawn for several ids at once; a child does not go on with those of its parent."""
    now = datetime.now(UTC)
    new_id(now)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        theirs = pool.map(new_id, [now] * 100)
    assert not {each[-12:] for each in theirs} & {new_id(now)[-12:] for _ in range(100)}
