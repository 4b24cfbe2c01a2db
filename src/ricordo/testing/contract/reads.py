"""Reading: pages of turns, lists of sessions, what is unknown, and how much there is."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import ConflictError, StoreError
from ricordo.records.service import StoreStats
from ricordo.records.turns import Owner, SessionChanges, SessionInfo, StoredReceipt, Turn
from ricordo.records.values import canonical
from ricordo.stores.protocols import Store
from ricordo.testing import strategies
from ricordo.testing.contract.base import Contract, at_once, backup_of, law
from ricordo.testing.fakes import START, a_turn, an_answer, an_owner

number = st.none() | st.integers(0, 12)


class ReadContract(Contract):
    """turns, session, sessions, update_session, owners, stats, backup."""

    @law
    @given(length=st.integers(0, 9), last=number, before=number, after=number)
    def test_a_page_is_the_newest_turns_between_its_bounds(
        self, store: Store, length: int, last: int | None, before: int | None, after: int | None
    ) -> None:
        """`after` and `before` are exclusive, `last` keeps the newest of what is between, order is rising."""
        owner = an_owner()
        for n in range(length):
            store.turns.append(a_turn(owner, f"question {n}"))
        between = [n for n in range(1, length + 1) if n > (after or 0) and (before is None or n < before)]
        wanted = between if last is None else between[len(between) - min(last, len(between)) :]
        found = store.turns.page(owner, "lesson", last=last, before=before, after=after)
        assert [turn.turn_number for turn in found] == wanted

    def test_what_is_unknown_is_none_or_empty(self, store: Store) -> None:
        """Reading what does not exist is no error and makes nothing."""
        stranger = an_owner()
        assert store.turns.get(stranger, "no turn") is None
        assert list(store.turns.page(stranger, "no session")) == []
        assert store.sessions.get(stranger, "no session") is None
        assert list(store.sessions.page(stranger, limit=5)) == []
        assert list(store.turns.receipts(stranger, "no session")) == []
        assert store.sessions.update(stranger, "no session", SessionChanges(title="t")) is None
        assert store.sessions.clear(stranger, "no session") is None
        assert store.sessions.delete(stranger, "no session") is None
        assert list(store.owners(stranger.tenant_id)) == []
        assert not any(store.erase(stranger).values())

    @law
    @given(
        activity=st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["tutor", "maestro"])), max_size=7),
        limit=st.integers(1, 4),
        agent_id=st.sampled_from([None, "tutor"]),
    )
    def test_sessions_are_listed_by_activity_in_pages(
        self, store: Store, activity: list[tuple[int, str]], limit: int, agent_id: str | None
    ) -> None:
        """Most recently active first, ties by id, each once over all pages, only of the agent asked for."""
        owner = an_owner()
        for n, (minute, agent) in enumerate(activity):
            moment = START + timedelta(minutes=minute)
            store.turns.append(a_turn(owner, session_id=f"s{n}", agent_id=agent, created_at=moment))
        listed: list[SessionInfo] = []
        page = store.sessions.page(owner, limit=limit, agent_id=agent_id)
        while page:
            assert len(page) <= limit
            listed += page
            page = store.sessions.page(owner, limit=limit, agent_id=agent_id, before=page[-1])
        wanted = sorted(
            ((minute, f"s{n}") for n, (minute, agent) in enumerate(activity) if agent_id in (None, agent)), reverse=True
        )
        assert [info.id for info in listed] == [session_id for _, session_id in wanted]
        assert all(info == store.sessions.get(owner, info.id) for info in listed)

    def test_sessions_are_listed_by_tag(self, store: Store) -> None:
        """Only sessions with exactly that tag, page by page; quotes and commas in a tag are characters like others."""
        owner = an_owner()
        odd = 'a"b,[c]\\é'
        for n, tags in enumerate([("a",), ("a", odd), ("ab",), (), (odd,), ('x"a',)]):
            moment = START + timedelta(minutes=n)
            store.turns.load(SessionInfo(f"s{n}", owner, "tutor", moment, moment, tags=tags), ())
        first = store.sessions.page(owner, limit=1, tag="a")
        assert [info.id for info in first] == ["s1"]
        assert [info.id for info in store.sessions.page(owner, limit=9, tag="a", before=first[0])] == ["s0"]
        assert [info.id for info in store.sessions.page(owner, limit=9, tag=odd)] == ["s4", "s1"]
        assert list(store.sessions.page(owner, limit=9, tag="a", agent_id="coach")) == []

    def test_a_session_tells_its_fields(self, store: Store) -> None:
        """The agent and date of the first turn, the latest activity, how many turns, and a revision that rises."""
        owner = an_owner()
        store.turns.append(a_turn(owner))
        store.turns.append(a_turn(owner, agent_id="maestro", created_at=START + timedelta(hours=1)))
        found = store.sessions.get(owner, "lesson")
        assert found == SessionInfo(
            "lesson", owner, "tutor", START, START + timedelta(hours=1), last_turn=2, turn_count=2, revision=2
        )

    def test_updates_set_what_is_given_and_leave_the_rest(self, store: Store) -> None:
        """Each field can be set alone; the revision rises; the new session comes back."""
        owner = an_owner()
        store.turns.append(a_turn(owner))
        first = store.sessions.get(owner, "lesson")
        assert first is not None
        titled = store.sessions.update(owner, "lesson", SessionChanges(title="Fughe \U0001f3bc"))
        assert titled == replace(first, title="Fughe \U0001f3bc", revision=first.revision + 1)
        changes = SessionChanges(document_ids=("d1",), tags=("music", "bach"), metadata={"n": [1]}, ended_at=START)
        changed = store.sessions.update(owner, "lesson", changes)
        assert titled is not None
        assert changed == replace(
            titled,
            document_ids=("d1",),
            tags=("music", "bach"),
            metadata={"n": [1]},
            ended_at=START,
            revision=titled.revision + 1,
        )
        assert store.sessions.get(owner, "lesson") == changed
        emptied = store.sessions.update(owner, "lesson", SessionChanges(tags=(), metadata={}))
        assert emptied is not None
        assert (emptied.tags, emptied.metadata, emptied.title) == ((), {}, "Fughe \U0001f3bc")

    def test_an_ended_session_that_goes_on_is_no_longer_ended(self, store: Store) -> None:
        """A new turn or a late answer reopens the session."""
        owner = an_owner()
        asked = store.turns.append(a_turn(owner, response=None))
        store.sessions.update(owner, "lesson", SessionChanges(ended_at=START))
        store.turns.answer(owner, asked.id, an_answer("late"), {}, None)
        answered = store.sessions.get(owner, "lesson")
        store.sessions.update(owner, "lesson", SessionChanges(ended_at=START))
        store.turns.append(a_turn(owner))
        gone_on = store.sessions.get(owner, "lesson")
        assert answered is not None
        assert gone_on is not None
        assert (answered.ended_at, gone_on.ended_at) == (None, None)

    def test_owners_are_those_of_the_tenant_with_a_session(self, store: Store) -> None:
        """Every user once, no other tenant's, none whose last session is gone."""
        tenant = an_owner().tenant_id
        users = [Owner(tenant, f"user {n}") for n in range(5)]
        for owner in [*users, Owner(f"{tenant}-other", "user 0")]:
            store.turns.append(a_turn(owner, session_id="a"))
            store.turns.append(a_turn(owner, session_id="b"))
        store.sessions.delete(users[0], "a")
        store.sessions.delete(users[0], "b")
        assert sorted(store.owners(tenant), key=lambda owner: owner.user_id) == users[1:]

    def test_stats_count_what_a_tenant_has(self, store: Store) -> None:
        """Users, sessions, turns, open turns and receipts, of this tenant alone."""
        owner = an_owner()
        store.turns.append(a_turn(owner))
        store.turns.append(a_turn(owner, response=None))
        store.turns.append(a_turn(Owner(owner.tenant_id, "bruno"), session_id="other"))
        store.turns.append(a_turn(an_owner()))
        counted = store.stats(owner.tenant_id)
        assert replace(counted, bytes_on_disk=None) == StoreStats(2, 2, 3, 1, 0)
        assert replace(store.stats(an_owner().tenant_id), bytes_on_disk=None) == StoreStats(0, 0, 0, 0, 0)

    def test_readers_see_whole_turns_while_others_write(self, store: Store) -> None:
        """A page read during writing is a gapless beginning of the session, every turn sealed."""
        owner = an_owner()

        def write() -> None:
            for n in range(40):
                store.turns.append(a_turn(owner, f"question {n}"))

        def read() -> None:
            seen = 0
            while seen < 40:
                page = store.turns.page(owner, "lesson")
                assert [turn.turn_number for turn in page] == list(range(1, len(page) + 1))
                assert all(turn == turn.sealed() for turn in page[-3:])
                assert len(page) >= seen
                seen = len(page)

        at_once([write, read, read])

    def test_a_backup_holds_the_same(self, store: Store, tmp_path: Path) -> None:
        """A backup opens as a SQLite store with the same sessions and turns, gaps of a cleanup included."""
        owner = an_owner()
        for n, days in enumerate([0, 2, 0, 2]):
            store.turns.append(a_turn(owner, f"question {n}", created_at=START - timedelta(days=days)))
        store.sessions.expire(owner, turns_before=START - timedelta(days=1), idle_before=None, batch=100)
        store.sessions.update(owner, "lesson", SessionChanges(title="kept", ended_at=START))
        progress: list[tuple[int, int]] = []
        with backup_of(store, tmp_path, lambda done, total: progress.append((done, total))) as copy:
            assert list(copy.turns.page(owner, "lesson")) == list(store.turns.page(owner, "lesson"))
            assert copy.sessions.get(owner, "lesson") == store.sessions.get(owner, "lesson")
            assert copy.turns.append(a_turn(owner)).turn_number == 5
        assert progress[-1][0] == progress[-1][1] > 0

    def test_a_backup_never_overwrites(self, store: Store, tmp_path: Path) -> None:
        """An existing file is left as it is."""
        (tmp_path / "precious").write_text("mine")
        with pytest.raises(ConflictError):
            store.backup(tmp_path / "precious")
        assert (tmp_path / "precious").read_text() == "mine"

    def test_a_sound_store_reports_no_damage(self, store: Store) -> None:
        """Integrity of what was just written is an empty list."""
        store.turns.append(a_turn(an_owner()))
        assert list(store.integrity()) == []

    def test_closing_twice_is_closing(self, store: Store) -> None:
        """Close is safe to repeat, and the location tells where the data lies."""
        assert store.location
        store.close()
        store.close()


def _with_query(turn: Turn, text: str) -> Turn:
    assert turn.question is not None
    return replace(turn, question=replace(turn.question, content=text))


def _with_response(turn: Turn, text: str) -> Turn:
    assert turn.answer is not None
    return replace(turn, answer=replace(turn.answer, content=text))


class ConstraintContract(Contract):
    """Invalid rows are refused, and a refusal leaves nothing behind."""

    @law
    @given(text=strategies.refused_texts(), field=st.sampled_from([_with_query, _with_response]))
    def test_words_that_may_not_be_stored_are_refused(self, store: Store, text: str, field: object) -> None:
        """Blank text, NUL and lone surrogates are refused by the database, in question and answer."""
        turn = field(a_turn(an_owner()), text)  # type: ignore[operator]
        with pytest.raises(StoreError):
            store.turns.append(turn)
        assert store.sessions.get(turn.owner, turn.session_id) is None

    @pytest.mark.parametrize("field", ["id", "agent_id", "session_id"])
    @pytest.mark.parametrize("value", ["", "x" * 256, "a\x00b"], ids=["empty", "too long", "with NUL"])
    def test_ids_that_may_not_be_stored_are_refused(self, store: Store, field: str, value: str) -> None:
        """Every id has 1 to 255 characters and no NUL."""
        turn = replace(a_turn(an_owner()), **{field: value})  # type: ignore[arg-type]
        with pytest.raises(StoreError):
            store.turns.append(turn)
        assert list(store.sessions.page(turn.owner, limit=1)) == []

    def test_a_turn_that_says_nothing_is_refused(self, store: Store) -> None:
        """A turn has a question, an answer or a step."""
        turn = replace(a_turn(an_owner()), question=None, answer=None)
        with pytest.raises(StoreError):
            store.turns.append(turn)
        assert store.sessions.get(turn.owner, turn.session_id) is None

    def test_a_refused_turn_does_not_use_up_a_number(self, store: Store) -> None:
        """The next turn gets the number that the refused one would have had."""
        owner = an_owner()
        store.turns.append(a_turn(owner))
        with pytest.raises(StoreError):
            store.turns.append(_with_query(a_turn(owner), " "))
        assert store.turns.append(a_turn(owner)).turn_number == 2


# Receipts: kept with their turn in one commit, with the longer texts they name, gone when their turn is.


def a_receipt(*digests: str, session_id: str = "lesson") -> StoredReceipt:
    """A receipt that names these passages."""
    body = canonical({"recipe": [{"passage": digest} for digest in digests]})
    return StoredReceipt(session_id, 0, body, {digest: f"the text of {digest}" for digest in digests})


class ReceiptContract(Contract):
    """receipts, and what becomes of them."""

    @law
    @given(data=st.data())
    def test_receipts_come_back_complete_and_newest_first(self, store: Store, data: st.DataObject) -> None:
        """Each receipt has its body, its turn's number and exactly the passages that it names."""
        owner = an_owner()
        given_receipts = data.draw(st.lists(st.none() | strategies.receipts("lesson"), max_size=4))
        for receipt in given_receipts:
            store.turns.append(a_turn(owner), receipt=receipt)
        wanted = [replace(each, turn_number=n) for n, each in enumerate(given_receipts, start=1) if each is not None]
        assert list(store.turns.receipts(owner, "lesson")) == wanted[::-1]
        for receipt in wanted:
            assert list(store.turns.receipts(owner, "lesson", turn_number=receipt.turn_number)) == [receipt]
        assert list(store.turns.receipts(owner, "lesson", limit=1)) == wanted[::-1][:1]
        assert store.stats(owner.tenant_id).receipts == len(wanted)

    def test_an_answer_may_bring_the_receipt(self, store: Store) -> None:
        """A receipt that comes with the answer is kept; one that comes with a repeat changes nothing."""
        asked = store.turns.append(a_turn(an_owner(), response=None), receipt=a_receipt("a"))
        store.turns.answer(asked.owner, asked.id, an_answer("yes"), {}, a_receipt("b"))
        store.turns.answer(asked.owner, asked.id, an_answer("yes"), {}, a_receipt("c"))
        assert list(store.turns.receipts(asked.owner, "lesson")) == [replace(a_receipt("b"), turn_number=1)]

    def test_a_refused_turn_leaves_no_receipt(self, store: Store) -> None:
        """Turn and receipt are one write: a repeat keeps the first receipt."""
        turn = a_turn(an_owner())
        store.turns.append(turn, receipt=a_receipt("a"))
        store.turns.append(turn, receipt=a_receipt("b"))
        assert list(store.turns.receipts(turn.owner, "lesson")) == [replace(a_receipt("a"), turn_number=1)]

    def test_receipts_of_others_are_not_seen(self, store: Store) -> None:
        """The same digests in another session or of another owner are theirs."""
        anna, bruno = an_owner(), an_owner("bruno")
        store.turns.append(a_turn(anna), receipt=a_receipt("a"))
        store.turns.append(a_turn(anna, session_id="other"), receipt=a_receipt(session_id="other"))
        assert list(store.turns.receipts(bruno, "lesson")) == []
        assert [each.passages for each in store.turns.receipts(anna, "other")] == [{}]

    def test_receipts_and_passages_go_with_their_turns(self, store: Store) -> None:
        """Expired turns take their receipts along; a passage stays while a later turn still names it."""
        owner = an_owner()
        for day, digests in enumerate([("a", "b"), ("b", "c"), ("c",)]):
            store.turns.append(a_turn(owner, created_at=START + timedelta(days=day)), receipt=a_receipt(*digests))
        store.sessions.expire(owner, turns_before=START + timedelta(days=1), idle_before=None, batch=100)
        assert [each.turn_number for each in store.turns.receipts(owner, "lesson")] == [3, 2]
        assert [set(each.passages) for each in store.turns.receipts(owner, "lesson")] == [{"c"}, {"b", "c"}]
        naming_everything = replace(a_receipt("a", "b", "c"), passages={})
        store.turns.append(a_turn(owner), receipt=naming_everything)
        assert set(store.turns.receipts(owner, "lesson", limit=1)[0].passages) == {"b", "c"}

    def test_clearing_takes_the_receipts(self, store: Store) -> None:
        """A cleared session has no receipts, and its new first turn none of the old."""
        owner = an_owner()
        store.turns.append(a_turn(owner), receipt=a_receipt("a"))
        store.sessions.clear(owner, "lesson")
        store.turns.append(a_turn(owner))
        assert list(store.turns.receipts(owner, "lesson")) == []
        assert store.stats(owner.tenant_id).receipts == 0
