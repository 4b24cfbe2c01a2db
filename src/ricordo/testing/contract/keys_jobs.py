"""Jobs: at most one per wish, taken by one worker at a time, never lost; and leases that one process holds."""

from collections import Counter
from dataclasses import replace
from datetime import datetime, timedelta
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import ConflictError, ValidationError
from ricordo.records.service import Job, JobStats
from ricordo.records.turns import Owner, library_of
from ricordo.stores.protocols import Store
from ricordo.testing import strategies
from ricordo.testing.contract.base import Contract, at_once, law
from ricordo.testing.fakes import START, a_key, a_turn, an_owner

WORKERS = 8
minute = timedelta(minutes=1)
LEASE = 5 * minute


def a_kind() -> str:
    """A kind of work that no other test has: workers take jobs of any owner."""
    return f"kind-{uuid4()}"


def owner_with(store: Store, *sessions: str) -> Owner:
    owner = an_owner()
    for session_id in sessions or ("lesson",):
        store.turns.append(a_turn(owner, session_id=session_id))
    return owner


class JobContract(Contract):
    """enqueue, take, finish, fail, hand_back, extend, jobs, jobs_stats; lease, end_lease."""

    @law
    @given(session_id=strategies.ids(), due_at=strategies.moments(), owner=strategies.owners())
    def test_a_job_comes_back_as_it_was_wished(
        self, store: Store, session_id: str, due_at: datetime, owner: Owner
    ) -> None:
        """Whatever owner, session and time it names; taken when it is due and not before."""
        kind = a_kind()
        store.turns.append(a_turn(owner, session_id=session_id))
        assert store.jobs.enqueue(owner, kind, session_id, due_at)
        wanted = Job(owner, kind, session_id, due_at)
        assert [job for job in store.jobs.page(owner) if job.kind == kind] == [wanted]
        assert list(store.jobs.take("w", due_at - timedelta(microseconds=1), LEASE, kinds=[kind])) == []
        taken = replace(wanted, attempts=1, leased_by="w", leased_until=due_at + LEASE)
        assert list(store.jobs.take("w", due_at, LEASE, kinds=[kind])) == [taken]
        assert [job for job in store.jobs.page(owner) if job.kind == kind] == [taken]
        assert taken.id == wanted.id
        assert store.jobs.finish(taken)
        assert [job for job in store.jobs.page(owner) if job.kind == kind] == []

    def test_a_wish_for_a_session_that_is_not_there_is_not_kept(self, store: Store) -> None:
        """So an erased user does not come back by a late job; a job on an owner as a whole needs no session."""
        owner, kind = an_owner(), a_kind()
        assert not store.jobs.enqueue(owner, kind, "lesson", START)
        assert list(store.jobs.page(owner)) == []
        assert store.jobs.enqueue(library_of(owner.tenant_id), kind, "", START)
        (job,) = store.jobs.take("w", START, LEASE, kinds=[kind])
        assert (job.owner, job.session_id) == (library_of(owner.tenant_id), "")
        for refused in ("", "x" * 65):
            with pytest.raises(ValidationError):
                store.jobs.enqueue(owner, refused, "", START)

    def test_wishes_for_the_same_become_one(self, store: Store) -> None:
        """The earlier time counts, or the newest with `postpone`; another session, kind or user is another job."""
        owner, kind = owner_with(store, "lesson", "other"), a_kind()
        for due, postpone, expected in ((3, False, 3), (5, False, 3), (1, False, 1), (9, True, 9), (4, True, 4)):
            assert store.jobs.enqueue(owner, kind, "lesson", START + due * minute, postpone=postpone)
            assert [job.due_at for job in store.jobs.page(owner)] == [START + expected * minute]
        assert store.jobs.enqueue(owner, kind, "other", START)
        assert store.jobs.enqueue(owner, f"{kind[:40]}!", "lesson", START)
        assert len({job.id for job in store.jobs.page(owner)}) == 3

    def test_those_due_longest_come_first(self, store: Store) -> None:
        """Of any owner and tenant, no more than asked for, of the kinds that are named."""
        kind, other = a_kind(), a_kind()
        owners = [owner_with(store) for _ in range(4)]
        for n, owner in enumerate(owners):
            store.jobs.enqueue(owner, kind, "lesson", START - n * minute)
            store.jobs.enqueue(owner, other, "lesson", START - 9 * minute)
        first = store.jobs.take("w", START, LEASE, limit=3, kinds=[kind])
        assert [job.owner for job in first] == owners[:0:-1]
        assert [job.owner for job in store.jobs.take("w", START, LEASE, limit=9, kinds=[kind])] == owners[:1]
        assert list(store.jobs.take("w", START, LEASE, limit=9, kinds=[])) == []
        assert list(store.jobs.take("w", START, LEASE, limit=0, kinds=[other])) == []
        assert len(store.jobs.take("w", START, LEASE, limit=9, kinds=[kind, other])) == 4

    def test_of_many_workers_each_takes_others(self, store: Store) -> None:
        """Of workers that take at the same moment, exactly one gets each job, and none is left."""
        kind = a_kind()
        owners = [owner_with(store) for _ in range(WORKERS)]
        for owner in owners:
            store.jobs.enqueue(owner, kind, "lesson", START)

        def work(name: str) -> list[Owner]:
            mine: list[Owner] = []
            while taken := store.jobs.take(name, START, LEASE, limit=2, kinds=[kind]):
                assert {job.leased_by for job in taken} == {name}
                mine += [job.owner for job in taken]
            return mine

        taken = at_once([lambda n=n: work(f"worker {n}") for n in range(WORKERS)])  # type: ignore[misc]
        # A worker may be told that nothing is left while another still has the last ones in hand.
        left = [job.owner for job in store.jobs.take("last", START, LEASE, limit=99, kinds=[kind])]
        every = [owner.tenant_id for mine in [*taken, left] for owner in mine]
        assert sorted(every) == sorted(owner.tenant_id for owner in owners)

    def test_a_lease_that_ran_out_is_taken_by_another(self, store: Store) -> None:
        """Until then no other worker gets it; after, the worker that lost it can do nothing with it."""
        owner, kind = owner_with(store), a_kind()
        store.jobs.enqueue(owner, kind, "lesson", START)
        (mine,) = store.jobs.take("slow", START, LEASE, kinds=[kind])
        longer = store.jobs.extend(mine, START + 2 * LEASE)
        assert longer == replace(mine, leased_until=START + 2 * LEASE)
        assert not store.jobs.finish(mine)
        assert list(store.jobs.take("quick", START + LEASE, LEASE, kinds=[kind])) == []
        (theirs,) = store.jobs.take("quick", START + 2 * LEASE, LEASE, kinds=[kind])
        assert theirs.attempts == 2
        assert not store.jobs.finish(longer)
        assert not store.jobs.fail(longer, "late", None)
        assert not store.jobs.hand_back(longer)
        assert store.jobs.extend(longer, START + 9 * LEASE) is None
        assert list(store.jobs.page(owner)) == [theirs]
        (again,) = store.jobs.take("quick", START + 4 * LEASE, LEASE, kinds=[kind])
        assert not store.jobs.finish(theirs)
        assert store.jobs.finish(again)
        assert not store.jobs.finish(again)
        assert not store.jobs.finish(replace(again, leased_by="", attempts=0))

    def test_what_is_wished_meanwhile_is_done_once_more(self, store: Store) -> None:
        """A job that is enqueued while a worker has it is not lost when that worker finishes."""
        owner, kind = owner_with(store), a_kind()
        store.jobs.enqueue(owner, kind, "lesson", START)
        (job,) = store.jobs.take("w", START, LEASE, kinds=[kind])
        for due in (4, 2, 3):
            assert store.jobs.enqueue(owner, kind, "lesson", START + due * minute)
        assert list(store.jobs.take("w", START + 3 * minute, LEASE, kinds=[kind])) == []
        assert store.jobs.finish(job)
        again = Job(owner, kind, "lesson", START + 2 * minute)
        assert list(store.jobs.page(owner)) == [again]
        (taken,) = store.jobs.take("w", START + 2 * minute, LEASE, kinds=[kind])
        assert not store.jobs.finish(job)
        assert list(store.jobs.page(owner)) == [taken]

    def test_a_failure_is_tried_again_in_its_time(self, store: Store) -> None:
        """With its error; a wish meanwhile does not hurry it, unless it is postponed; success forgets it all."""
        owner, kind = owner_with(store), a_kind()
        store.jobs.enqueue(owner, kind, "lesson", START)
        (job,) = store.jobs.take("w", START, LEASE, kinds=[kind])
        assert store.jobs.fail(job, "the model is away " * 99, START + 30 * minute)
        (failed,) = store.jobs.page(owner)
        assert (failed.due_at, failed.attempts, failed.leased_by) == (START + 30 * minute, 1, "")
        assert failed.last_error.startswith("the model is away")
        assert len(failed.last_error) <= 1000
        assert store.jobs.enqueue(owner, kind, "lesson", START)
        assert list(store.jobs.page(owner)) == [failed]
        assert store.jobs.enqueue(owner, kind, "lesson", START + 40 * minute, postpone=True)
        (again,) = store.jobs.take("w", START + 40 * minute, LEASE, kinds=[kind])
        assert again.attempts == 2
        assert store.jobs.finish(again)
        assert list(store.jobs.page(owner)) == []

    def test_what_was_given_up_waits_for_a_new_wish(self, store: Store) -> None:
        """No worker takes it; enqueued again it begins anew, also if that was while it was being tried."""
        owner, kind = owner_with(store), a_kind()
        store.jobs.enqueue(owner, kind, "lesson", START)
        (job,) = store.jobs.take("w", START, LEASE, kinds=[kind])
        assert store.jobs.fail(job, "", None)
        (given_up,) = store.jobs.page(owner)
        assert given_up.due_at is None
        assert given_up.last_error
        assert list(store.jobs.take("w", START + 999 * minute, LEASE, kinds=[kind])) == []
        assert store.jobs.enqueue(owner, kind, "lesson", START + minute)
        assert list(store.jobs.page(owner)) == [Job(owner, kind, "lesson", START + minute)]
        (job,) = store.jobs.take("w", START + minute, LEASE, kinds=[kind])
        store.jobs.enqueue(owner, kind, "lesson", START + 2 * minute)
        assert store.jobs.fail(job, "no", None)
        assert [each.due_at for each in store.jobs.page(owner)] == [START + 2 * minute]

    def test_what_is_handed_back_is_there_at_once(self, store: Store) -> None:
        """A worker that has to stop leaves the job as it found it."""
        owner, kind = owner_with(store), a_kind()
        store.jobs.enqueue(owner, kind, "lesson", START)
        before = store.jobs.page(owner)
        (job,) = store.jobs.take("w", START + minute, LEASE, kinds=[kind])
        assert store.jobs.hand_back(job)
        assert store.jobs.page(owner) == before
        assert len(store.jobs.take("v", START + minute, LEASE, kinds=[kind])) == 1

    def test_work_is_counted_by_tenant(self, store: Store) -> None:
        """Pending, leased, given up, retrying; and the oldest that waits."""
        owner = owner_with(store, "s0", "s1", "s2", "s3", "s4")
        kind, tenant = a_kind(), owner.tenant_id
        assert store.jobs.stats(tenant, START) == JobStats()
        for n in range(5):
            store.jobs.enqueue(owner, kind, f"s{n}", START + n * minute)
        jobs = store.jobs.take("w", START + 2 * minute, LEASE, limit=3, kinds=[kind])
        assert store.jobs.fail(jobs[0], "no", None)
        assert store.jobs.fail(jobs[1], "no", START + 9 * minute)
        assert store.jobs.stats(tenant, START + 2 * minute) == JobStats(3, 1, 1, 1, START + 3 * minute)
        late = store.jobs.stats(tenant, START + 99 * minute)
        assert (late.pending, late.leased, late.oldest) == (4, 0, START + 2 * minute)
        assert store.jobs.stats(an_owner().tenant_id, START) == JobStats()

    def test_jobs_of_an_erased_user_are_gone(self, store: Store) -> None:
        """Counted; a worker that is at one of them finds nothing to finish. Others keep theirs."""
        kind = a_kind()
        anna, bruno = owner_with(store, "lesson", "other"), owner_with(store)
        for owner, session_id in ((anna, "lesson"), (anna, "other"), (bruno, "lesson")):
            store.jobs.enqueue(owner, kind, session_id, START)
        jobs = store.jobs.take("w", START, LEASE, limit=9, kinds=[kind])
        assert store.erase(anna)["jobs"] == 2
        assert [store.jobs.finish(job) for job in jobs if job.owner == anna] == [False, False]
        assert [store.jobs.finish(job) for job in jobs if job.owner == bruno] == [True]
        assert not store.jobs.enqueue(anna, kind, "lesson", START)

    def test_a_lease_has_one_holder(self, store: Store) -> None:
        """Until it ends or is given back; the holder renews it, and only the holder gives it back."""
        name = str(uuid4())
        assert not store.jobs.end_lease(name, "one")
        assert store.jobs.lease(name, "one", START, START + LEASE)
        assert not store.jobs.lease(name, "two", START + LEASE - minute, START + 9 * LEASE)
        assert store.jobs.lease(name, "one", START + minute, START + 2 * LEASE)
        assert not store.jobs.lease(name, "two", START + LEASE, START + 9 * LEASE)
        assert store.jobs.lease(name, "two", START + 2 * LEASE, START + 3 * LEASE)
        assert not store.jobs.end_lease(name, "one")
        assert store.jobs.lease(str(uuid4()), "one", START, START + LEASE)
        assert store.jobs.end_lease(name, "two")
        assert store.jobs.lease(name, "one", START, START + LEASE)

    def test_of_many_who_want_a_lease_one_gets_it(self, store: Store) -> None:
        """Whether it is new or has just ended."""
        name = str(uuid4())
        for turn in (0, 1):
            now = START + turn * LEASE
            wants = [
                lambda n=n, now=now: store.jobs.lease(name, f"holder {n}", now, now + LEASE) for n in range(WORKERS)
            ]
            assert sorted(at_once(wants)) == [False] * (WORKERS - 1) + [True]


# API keys: found by digest alone, listed by tenant, revoked for good.

hour = timedelta(hours=1)


class KeyContract(Contract):
    """put_key, key_by_digest, keys, revoke_key, key_used."""

    @law
    @given(data=st.data())
    def test_keys_come_back_complete(self, store: Store, data: st.DataObject) -> None:
        """By digest, and by tenant, oldest first; ties by id."""
        tenant_id = an_owner().tenant_id
        keys = data.draw(st.lists(strategies.api_keys(tenant_id), max_size=4, unique_by=lambda key: key.id))
        for key in keys:
            store.keys.put(key)
        assert list(store.keys.page(tenant_id)) == sorted(keys, key=lambda key: (key.created_at, key.id))
        assert [store.keys.by_digest(key.digest) for key in keys] == keys

    def test_only_a_known_digest_opens(self, store: Store) -> None:
        """Anything else finds nothing: an unknown one, a part of one, the empty text, the id, a pattern."""
        key = a_key(an_owner().tenant_id)
        store.keys.put(key)
        for digest in ("", "%", key.id, key.digest[:-1], key.digest.upper(), f"{key.digest} ", "0" * 64, "' OR ''='"):
            assert store.keys.by_digest(digest) is None
        assert store.keys.by_digest(key.digest) == key

    def test_a_taken_id_or_digest_is_refused(self, store: Store) -> None:
        """An id is taken within its tenant, a digest everywhere. The first key stays."""
        tenant, other = an_owner().tenant_id, an_owner().tenant_id
        key = a_key(tenant)
        store.keys.put(key)
        for refused in (
            key,
            a_key(tenant, "new", id=key.id, user_id="anna"),
            a_key(tenant, "new", digest=key.digest),
            a_key(other, "new", digest=key.digest),
        ):
            with pytest.raises(ConflictError):
                store.keys.put(refused)
        store.keys.put(a_key(other))
        assert list(store.keys.page(tenant)) == [key]
        assert store.keys.by_digest(key.digest) == key
        assert [each.tenant_id for each in store.keys.page(other)] == [other]

    def test_a_revoked_key_stays_revoked_and_known(self, store: Store) -> None:
        """It is still found, so that its use can be refused by name; the first revocation counts."""
        tenant = an_owner().tenant_id
        for key in (a_key(tenant, "one"), a_key(tenant, "two", user_id="anna")):
            store.keys.put(key)
            assert key.is_valid
            revoked = replace(key, revoked_at=START + hour)
            assert store.keys.revoke(tenant, key.id, START + hour) == revoked
            assert store.keys.revoke(tenant, key.id, START + 2 * hour) == revoked
            assert store.keys.by_digest(key.digest) == revoked
            assert not revoked.is_valid
        assert store.keys.revoke(tenant, "three", START) is None
        assert store.keys.revoke(an_owner().tenant_id, "one", START) is None

    def test_the_last_use_is_noted(self, store: Store) -> None:
        """It moves forward only; a key that is gone does not come back by being used."""
        tenant = an_owner().tenant_id
        key = a_key(tenant, user_id="anna")
        store.keys.used(key, START)
        assert list(store.keys.page(tenant)) == []
        store.keys.put(key)
        for used, expected in (
            (START + hour, START + hour),
            (START, START + hour),
            (START + 2 * hour, START + 2 * hour),
        ):
            store.keys.used(key, used)
            assert store.keys.by_digest(key.digest) == replace(key, last_used_at=expected)

    def test_a_users_keys_go_when_the_user_is_erased(self, store: Store) -> None:
        """Those of the tenant and of others stay; sessions that go leave keys alone."""
        anna = store.turns.append(a_turn(an_owner())).owner
        keys = [
            a_key(anna.tenant_id, "tenant"),
            a_key(anna.tenant_id, "first", user_id="anna"),
            a_key(anna.tenant_id, "second", user_id="anna"),
            a_key(anna.tenant_id, "bruno", user_id="bruno"),
        ]
        for key in keys:
            store.keys.put(key)
        store.sessions.delete(anna, "lesson")
        assert len(store.keys.page(anna.tenant_id)) == 4
        assert Counter(store.erase(anna)) == Counter({"keys": 2})
        assert {key.id for key in store.keys.page(anna.tenant_id)} == {"tenant", "bruno"}
        assert store.keys.by_digest(keys[1].digest) is None
        assert not any(store.erase(Owner(anna.tenant_id, "stranger")).values())
