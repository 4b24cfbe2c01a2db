"""What becomes of topics, blocks and traces when turns go, and of what comes after an erasure: no word is kept."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.prompt.receipt import Receipt, to_stored
from ricordo.records.derived import TopicChange, TopicShelf
from ricordo.records.turns import Owner, SessionChanges, SessionInfo, StoredReceipt, Turn
from ricordo.records.values import canonical
from ricordo.stores.archive.block import unpack
from ricordo.stores.protocols import Store
from ricordo.stores.write_rules import OwnerErased
from ricordo.testing.contract.archive import plain
from ricordo.testing.contract.base import Contract, assert_sound, at_once, backup_of, law
from ricordo.testing.fakes import START, a_block, a_message, a_topic, a_trace, a_turn, an_answer, an_owner

hour = timedelta(hours=1)


def a_whole_receipt(text: str) -> StoredReceipt:
    """A receipt that can be read back, with one passage."""
    receipt = Receipt(
        question="question", limit=9, answer_reserve=1, total_tokens=1, prompt_tokens=1, shares={"system": 1},
        sections={"system": 1}, items=(), counter="counter", counter_exact=True, messages_digest="digest",
        prompt_digest="digest", recipe={"system": f"{text:x<200}"},
    )  # fmt: skip
    return to_stored(receipt, "", 0)


def kept_in_every_way(store: Store, owner: Owner, session_id: str = "lesson") -> list[Turn]:
    """Six turns an hour apart: 1, 2 and 3 about fugues, 4 and 5 about canons, 6 about nothing.

    1, 2 and 4 are archived, 3 is plain and in the block of 1 and 2 as well; all have receipts and traces.
    """
    for n in range(6):
        turn = a_turn(owner, f"question {n + 1}", session_id=session_id, created_at=START + n * hour)
        store.turns.append(turn, receipt=a_whole_receipt(f"instructions {n + 1}"))
    said = list(store.turns.page(owner, session_id))
    topics = (
        a_topic("fugues", message_count=6, restored_count=2, hot=(1, 2, 3)),
        a_topic("canons", created_at=START + hour, message_count=4, hot=(4, 5)),
    )
    assigned = {1: "fugues", 2: "fugues", 3: "fugues", 4: "canons", 5: "canons"}
    change = TopicChange(store.topics.load(owner, session_id).revision, put=topics, assigned=assigned, through=6)
    assert store.topics.put(owner, session_id, change)
    assert store.topics.archive(owner, session_id, a_block(said[:3], block_id="block of fugues"))
    assert store.topics.archive(owner, session_id, a_block(said[3:4], topic_id="canons", block_id="block of canons"))
    assert store.topics.rehydrate(owner, session_id, [3]) == 1
    store.vectors.write(owner, [a_trace(turn) for turn in said])
    return list(store.turns.page(owner, session_id))


def by_expiry(store: Store, owner: Owner, before: int) -> None:
    """Let turns below a number expire."""
    moment = START + (before - 1) * hour
    while store.sessions.expire(owner, turns_before=moment, idle_before=None, batch=2).more:
        pass


def by_number(store: Store, owner: Owner, before: int) -> None:
    """Delete turns below a number, one by one."""
    assert store.turns.delete(owner, "lesson", list(range(1, before))) == before - 1


class DeletedTurnContract(Contract):
    """expire, delete_turns, clear, delete_session and erase, with topics, blocks and traces; backup."""

    @pytest.mark.parametrize("lose", [by_expiry, by_number], ids=["expired", "deleted"])
    def test_what_is_left_follows(self, store: Store, lose: Callable[[Store, Owner, int], None]) -> None:
        """Counts go down, a block is packed again without the words that went, receipts and traces go along."""
        said = kept_in_every_way(store, an_owner())
        owner = said[0].owner
        before = store.topics.load(owner, "lesson")
        lose(store, owner, 2)
        assert [plain(turn) for turn in store.turns.page(owner, "lesson")] == [plain(turn) for turn in said[1:]]
        fugues, canons = store.topics.load(owner, "lesson").topics
        assert (fugues.message_count, fugues.archived_count, fugues.restored_count, fugues.hot) == (4, 2, 2, (3,))
        assert canons == before.topics[1]
        assert store.topics.load(owner, "lesson").revision != before.revision
        assert store.topics.load(owner, "lesson").through == 6
        block = store.topics.blocks(owner, "lesson", "fugues")[0]
        assert (block.id, block.turn_numbers) == ("block of fugues", (2, 3))
        assert [message.content for message in unpack(block.body) if message.role == "user"] == [
            "question 2",
            "question 3",
        ]
        assert list(store.topics.turns_of(owner, "lesson", "fugues")) == [2, 3]
        assert [trace.turn_number for trace in store.vectors.read(owner, "small")] == [2, 3, 4, 5, 6]
        assert [each.turn_number for each in store.turns.receipts(owner, "lesson")] == [6, 5, 4, 3, 2]
        assert store.turns.get(owner, said[0].id) is None
        assert_sound(store, owner.tenant_id)

    @pytest.mark.parametrize("lose", [by_expiry, by_number], ids=["expired", "deleted"])
    def test_topics_and_blocks_go_with_their_last_turn(
        self, store: Store, lose: Callable[[Store, Owner, int], None]
    ) -> None:
        """An emptied topic is gone from the shelf, an emptied block from the archive; the others are untouched."""
        said = kept_in_every_way(store, an_owner())
        owner = said[0].owner
        lose(store, owner, 5)
        (canons,) = store.topics.load(owner, "lesson").topics
        assert (canons.id, canons.message_count, canons.archived_count, canons.hot) == ("canons", 2, 0, (5,))
        assert list(store.topics.blocks(owner, "lesson")) == []
        assert list(store.turns.page(owner, "lesson")) == said[4:]
        assert_sound(store, owner.tenant_id)

    def test_deleting_every_turn_leaves_an_empty_session(self, store: Store) -> None:
        """The session stays, its numbering goes on, and nothing of its turns is left, not even a passage."""
        owner = kept_in_every_way(store, an_owner())[0].owner
        receipts = store.turns.receipts(owner, "lesson")
        assert store.turns.delete(owner, "lesson", [1, 2, 3, 4, 5, 6, 6, 99]) == 6
        assert store.turns.delete(owner, "lesson", [1]) == 0
        info = store.sessions.get(owner, "lesson")
        assert info is not None
        assert (info.turn_count, info.last_turn) == (0, 6)
        assert store.topics.load(owner, "lesson").topics == ()
        assert list(store.topics.blocks(owner, "lesson")) == []
        assert list(store.vectors.read(owner, "small")) == []
        assert_sound(store, owner.tenant_id)
        digests = [digest for each in receipts for digest in each.passages]
        assert len(digests) == 6
        naming_all = StoredReceipt("lesson", 0, canonical(digests))
        assert store.turns.append(a_turn(owner), receipt=naming_all).turn_number == 7
        assert store.turns.receipts(owner, "lesson")[0].passages == {}

    def test_turns_of_others_are_not_deleted(self, store: Store) -> None:
        """The same numbers elsewhere stay: of another session, another user, another tenant."""
        anna = an_owner()
        places = [
            (anna, "lesson"), (anna, "other"), (Owner(anna.tenant_id, "bruno"), "lesson"), (an_owner(), "lesson"),
        ]  # fmt: skip
        for owner, session_id in places:
            kept_in_every_way(store, owner, session_id)
        assert store.turns.delete(anna, "lesson", [1, 2, 3, 4, 5, 6]) == 6
        assert store.turns.delete(anna, "nowhere", [1]) == 0
        for owner, session_id in places[1:]:
            assert len(store.turns.page(owner, session_id)) == 6
            assert len(store.topics.load(owner, session_id).topics) == 2
            assert len(store.topics.blocks(owner, session_id)) == 2
            assert len(list(store.vectors.read(owner, "small", session_id))) == 6

    def test_a_topic_stays_while_it_has_a_turn(self, store: Store) -> None:
        """An answer that came after its question was counted does not make the count run out."""
        owner = an_owner()
        asked = [store.turns.append(a_turn(owner, f"question {n}", None)) for n in range(3)]
        topic = a_topic(message_count=3, hot=(1, 2, 3))
        assigned = {1: topic.id, 2: topic.id, 3: topic.id}
        assert store.topics.put(owner, "lesson", TopicChange(0, put=(topic,), assigned=assigned))
        for turn in asked:
            store.turns.answer(owner, turn.id, an_answer("late"), {}, None)
        assert store.turns.delete(owner, "lesson", [1, 3]) == 2
        (left,) = store.topics.load(owner, "lesson").topics
        assert (left.message_count, left.hot) == (2, (2,))
        assert store.turns.delete(owner, "lesson", [2]) == 1
        assert store.topics.load(owner, "lesson").topics == ()

    def test_a_topic_that_counted_too_much_goes_with_its_last_turn(self, store: Store) -> None:
        """Topics follow their turns, not their own counts."""
        owner = store.turns.append(a_turn(an_owner())).owner
        topic = a_topic(message_count=9, archived_count=9, restored_count=9)
        assert store.topics.put(owner, "lesson", TopicChange(0, put=(topic,), assigned={1: topic.id}))
        store.turns.append(a_turn(owner))
        assert store.turns.delete(owner, "lesson", [1]) == 1
        assert store.topics.load(owner, "lesson").topics == ()

    @law
    @given(
        topics=st.lists(st.sampled_from(["a", "b", None]), min_size=1, max_size=6),
        blocks=st.lists(st.integers(0, 2), min_size=6, max_size=6),
        back=st.sets(st.integers(1, 6)),
        rounds=st.lists(st.sets(st.integers(1, 6), max_size=3), max_size=3),
    )
    def test_counts_are_those_of_the_turns_that_are_left(
        self, store: Store, topics: list[str | None], blocks: list[int], back: set[int], rounds: list[set[int]]
    ) -> None:
        """However turns are spread over topics and blocks, and whichever go: everything left fits together."""
        owner = an_owner()
        said = [store.turns.append(a_turn(owner, f"question {n}")) for n in range(1, len(topics) + 1)]
        for which in (1, 2):
            packed = [turn for turn in said if blocks[turn.turn_number - 1] == which]
            store.topics.archive(owner, "lesson", a_block(packed, block_id=f"block {which}"))
        store.topics.rehydrate(owner, "lesson", sorted(back))
        state = {turn.turn_number: turn for turn in store.turns.page(owner, "lesson")}
        members = {
            name: [number for number, topic in enumerate(topics, start=1) if topic == name] for name in ("a", "b")
        }
        put = tuple(
            a_topic(
                name,
                message_count=2 * len(numbers),
                archived_count=2 * sum(state[number].archived for number in numbers),
                hot=tuple(number for number in numbers if not state[number].archived),
            )
            for name, numbers in members.items()
            if numbers
        )
        assigned = {number: topic for number, topic in enumerate(topics, start=1) if topic}
        assert store.topics.put(owner, "lesson", TopicChange(0, put=put, assigned=assigned))
        for chosen in rounds:
            assert store.turns.delete(owner, "lesson", sorted(chosen)) == len(chosen & state.keys())
            state = {number: turn for number, turn in state.items() if number not in chosen}
        left = store.turns.page(owner, "lesson")
        assert [plain(turn) for turn in left] == [plain(state[number]) for number in sorted(state)]
        for topic in store.topics.load(owner, "lesson").topics:
            mine = [turn for turn in left if turn.topic_id == topic.id]
            assert mine
            assert topic.message_count == 2 * len(mine)
            assert topic.archived_count == 2 * sum(turn.archived for turn in mine)
            assert topic.hot == tuple(turn.turn_number for turn in mine if not turn.archived)
        assert {turn.topic_id for turn in left} - {None} == {t.id for t in store.topics.load(owner, "lesson").topics}
        held = {block.id: block for block in store.topics.blocks(owner, "lesson")}
        assert {turn.block_id for turn in left} - {None} == set(held)
        for block in held.values():
            mine = [turn for turn in left if turn.block_id == block.id]
            assert block.turn_numbers == tuple(turn.turn_number for turn in mine)
            assert unpack(block.body) == tuple(message for turn in mine for message in turn.messages)
        assert_sound(store, owner.tenant_id)

    @pytest.mark.parametrize("how", ["clear", "delete", "idle"])
    def test_a_session_takes_everything_along(self, store: Store, how: str) -> None:
        """Cleared, deleted or idle for too long: no topic, no block, no trace; a new beginning under the same id."""
        anna = an_owner()
        bruno = Owner(anna.tenant_id, "bruno")
        kept_in_every_way(store, anna)
        spared = kept_in_every_way(store, bruno)
        shelf, blocks = store.topics.load(bruno, "lesson"), list(store.topics.blocks(bruno, "lesson"))
        if how == "idle":
            while store.sessions.expire(anna, turns_before=None, idle_before=START + 24 * hour, batch=4).more:
                pass
        else:
            assert getattr(store.sessions, how)(anna, "lesson") == 6
        after = store.topics.load(anna, "lesson")
        assert (after.topics, after.through) == ((), 0)
        assert list(store.topics.blocks(anna, "lesson")) == []
        assert list(store.vectors.read(anna, "small")) == []
        again = store.turns.append(a_turn(anna))
        assert (again.turn_number, again.topic_id) == (1, None)
        assert store.topics.archive(anna, "lesson", a_block([again], block_id="block of fugues"))
        assert list(store.turns.page(bruno, "lesson")) == spared
        assert (store.topics.load(bruno, "lesson"), list(store.topics.blocks(bruno, "lesson"))) == (shelf, blocks)
        assert_sound(store, anna.tenant_id)

    def test_an_organiser_is_told_that_the_session_was_cleared(self, store: Store) -> None:
        """A change made from the shelf before the clearing is refused."""
        owner = kept_in_every_way(store, an_owner())[0].owner
        revision = store.topics.load(owner, "lesson").revision
        store.sessions.clear(owner, "lesson")
        store.turns.append(a_turn(owner))
        assert not store.topics.put(owner, "lesson", TopicChange(revision, put=(a_topic(),), assigned={1: "fugues"}))

    def test_erasing_counts_and_removes_everything(self, store: Store) -> None:
        """Topics, blocks and traces are in the count; the owner is as if they had never been."""
        anna = an_owner()
        bruno = Owner(anna.tenant_id, "bruno")
        kept_in_every_way(store, anna)
        kept_in_every_way(store, anna, "other")
        spared = kept_in_every_way(store, bruno)
        gone = store.erase(anna)
        counted = {what: number for what, number in gone.items() if number}
        assert counted == {"sessions": 2, "turns": 12, "receipts": 12, "topics": 4, "blocks": 4, "traces": 12}
        for session_id in ("lesson", "other"):
            assert store.topics.load(anna, session_id) == TopicShelf()
            assert list(store.topics.blocks(anna, session_id)) == []
        assert store.sessions.marks(anna) == {}
        assert list(store.vectors.read(anna, "small")) == []
        assert list(store.turns.page(bruno, "lesson")) == spared
        assert len(list(store.vectors.read(bruno, "small"))) == 6
        assert_sound(store, anna.tenant_id)

    def test_a_backup_holds_topics_archive_and_traces(self, store: Store, tmp_path: Path) -> None:
        """The copy reads the same, stays sound, and goes on: counts fit, archived turns come back."""
        said = kept_in_every_way(store, an_owner())
        owner = said[0].owner
        for topic in store.topics.load(owner, "lesson").topics:
            change = TopicChange(store.topics.load(owner, "lesson").revision, put=(replace(topic, embedder="small"),))
            assert store.topics.put(owner, "lesson", change)
        with backup_of(store, tmp_path) as copy:
            assert list(copy.turns.page(owner, "lesson")) == said
            assert copy.topics.load(owner, "lesson").topics == store.topics.load(owner, "lesson").topics
            assert copy.topics.load(owner, "lesson").through == 6
            assert list(copy.topics.blocks(owner, "lesson")) == list(store.topics.blocks(owner, "lesson"))
            assert list(copy.vectors.read(owner, "small")) == list(store.vectors.read(owner, "small"))
            assert copy.sessions.marks(owner) == store.sessions.marks(owner)
            assert copy.turns.delete(owner, "lesson", [1]) == 1
            assert copy.topics.rehydrate(owner, "lesson", [2, 4]) == 2
            assert_sound(copy, owner.tenant_id)


SPOOLED: dict[str, Callable[[Store, Owner, datetime], object]] = {
    "append": lambda store, owner, at: store.turns.append(a_turn(owner), acknowledged_at=at),
    "answer": lambda store, owner, at: store.turns.answer(
        owner, "t1", an_answer("A piece."), {}, None, acknowledged_at=at
    ),
    "add_message": lambda store, owner, at: store.turns.add_message(
        a_message(owner, "user", "And a canon?"), acknowledged_at=at
    ),
    "update": lambda store, owner, at: store.sessions.update(
        owner, "lesson", SessionChanges(title="new"), acknowledged_at=at
    ),
    "load": lambda store, owner, at: store.turns.load(
        SessionInfo("old", owner, "default", START, START),
        [replace(a_turn(owner, session_id="old"), turn_number=1)],
        acknowledged_at=at,
    ),
}


class ErasureContract(Contract):
    """erase, and writes that come from a spool or an import after it."""

    @pytest.mark.parametrize("verb", list(SPOOLED))
    def test_a_write_from_before_an_erasure_is_refused(self, store: Store, verb: str) -> None:
        """A spool of another machine may hold it: it is not stored; what was acknowledged later is."""
        owner = an_owner()
        before = datetime.now(UTC)
        store.turns.append(a_turn(owner, response=None, turn_id="t1"))
        store.erase(owner)
        store.turns.append(a_turn(owner, response=None, turn_id="t1"))
        with pytest.raises(OwnerErased) as refused:
            SPOOLED[verb](store, owner, before)
        assert before <= refused.value.erased_at
        (kept,) = store.turns.page(owner, "lesson")
        assert (kept.response, len(kept.messages)) == (None, 1)
        SPOOLED[verb](store, owner, datetime.now(UTC) + timedelta(hours=1))

    def test_an_erasure_of_one_owner_refuses_nothing_of_another(self, store: Store) -> None:
        """Also of an owner of whom nothing was stored."""
        anna, bruno, before = an_owner(), an_owner("bruno"), datetime.now(UTC)
        store.erase(anna)
        assert store.turns.append(a_turn(bruno), acknowledged_at=before).turn_number == 1
        with pytest.raises(OwnerErased):
            store.turns.append(a_turn(anna), acknowledged_at=before)

    def test_an_erasure_beside_writes_from_a_spool(self, store: Store) -> None:
        """However they meet, nothing that was acknowledged before the erasure is left."""
        before = datetime.now(UTC)
        for _ in range(5):
            owner = an_owner()

            def replay(owner: Owner = owner) -> None:
                for _ in range(5):
                    with suppress(OwnerErased):
                        store.turns.append(a_turn(owner), acknowledged_at=before)

            at_once([replay, replay, lambda owner=owner: store.erase(owner)])  # type: ignore[misc]
            assert list(store.sessions.page(owner, limit=9)) == []

    def test_a_backup_remembers_erasures(self, store: Store, tmp_path: Path) -> None:
        """A machine whose spool was away meets a restored backup instead of the database."""
        owner, before = an_owner(), datetime.now(UTC)
        store.erase(owner)
        with backup_of(store, tmp_path) as copy, pytest.raises(OwnerErased):
            copy.turns.append(a_turn(owner), acknowledged_at=before)
