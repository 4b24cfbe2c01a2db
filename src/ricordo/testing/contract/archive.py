"""The archive: turns whose words are in a block are read like any others, and come back without loss."""

from contextlib import closing
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.core import Scope
from ricordo.errors import ConflictError
from ricordo.prompt.compose import Slots, compose, recompose
from ricordo.records.derived import TopicChange
from ricordo.records.turns import Block, Owner, SessionInfo, Turn
from ricordo.stores.archive.block import unpack
from ricordo.stores.protocols import Store
from ricordo.testing import strategies
from ricordo.testing.contract.base import Contract, assert_sound, at_once, engine, law
from ricordo.testing.fakes import START, a_block, a_message, a_topic, a_turn, an_answer, an_owner
from ricordo.turns.write import Said, keep_turn


def plain(turn: Turn) -> Turn:
    """What was said, wherever it lies."""
    return replace(turn, topic_id=None, block_id=None, archived=False)


def talked(store: Store, turns: int = 4) -> tuple[Owner, list[Turn]]:
    """A new owner, and the plain turns of a lesson about one topic."""
    owner = an_owner()
    said = [store.turns.append(a_turn(owner, f"question {n}", f"answer {n}")) for n in range(turns)]
    topic = a_topic(message_count=2 * turns, hot=tuple(turn.turn_number for turn in said))
    revision = store.topics.load(owner, "lesson").revision
    assigned = {turn.turn_number: topic.id for turn in said}
    assert store.topics.put(owner, "lesson", TopicChange(revision, put=(topic,), assigned=assigned, through=turns))
    return owner, list(store.turns.page(owner, "lesson"))


def _figures(store: Store, owner: Owner) -> tuple[int, int, tuple[int, ...]]:
    (topic,) = store.topics.load(owner, "lesson").topics
    return topic.message_count, topic.archived_count, topic.hot


class ArchiveContract(Contract):
    """archive, blocks, rehydrate, release."""

    @law
    @given(data=st.data())
    def test_archiving_changes_nothing_that_can_be_read(self, store: Store, data: st.DataObject) -> None:
        """Whatever turns hold, in any Unicode: archived, brought back and let go again, they read the same."""
        owner = an_owner()
        drawn = data.draw(st.lists(strategies.turns(owner, "lesson").filter(lambda t: not t.is_open), max_size=3))
        said = [store.turns.append(turn) for turn in drawn]
        chosen = [turn for turn in said if data.draw(st.booleans())]
        block = a_block(chosen)
        assert store.topics.archive(owner, "lesson", block) is bool(chosen)
        numbers = [turn.turn_number for turn in chosen]
        for archived, move in ((True, None), (False, store.topics.rehydrate), (True, store.topics.release)):
            if move:
                assert move(owner, "lesson", numbers) == len(numbers)
                assert move(owner, "lesson", numbers) == 0
            found = store.turns.page(owner, "lesson")
            assert [plain(turn) for turn in found] == said
            assert [turn.archived for turn in found] == [archived and turn in chosen for turn in said]
            assert [turn.block_id for turn in found] == [block.id if turn in chosen else None for turn in said]
            assert [store.turns.get(owner, turn.id) for turn in said] == list(found)
            together = store.turns.by_ids(owner, ["unknown", *(turn.id for turn in said)])
            assert sorted(together, key=lambda turn: turn.turn_number) == list(found)
            assert not store.turns.by_ids(an_owner("another"), [turn.id for turn in said])
        assert store.stats(owner.tenant_id).open_turns == 0
        assert_sound(store, owner.tenant_id)

    def test_every_page_of_an_archived_session_is_the_same(self, store: Store) -> None:
        """Pages over archived and plain turns together are in order and complete."""
        owner, said = talked(store, 6)
        for chosen in (said[0:2], said[3:5]):
            assert store.topics.archive(owner, "lesson", a_block(chosen))
        for last, before, after in ((None, None, None), (2, None, None), (3, 6, 1), (None, 5, 3)):
            wanted = [turn for turn in said if (after or 0) < turn.turn_number < (before or 99)][-(last or 99) :]
            found = store.turns.page(owner, "lesson", last=last, before=before, after=after)
            assert [plain(turn) for turn in found] == [plain(turn) for turn in wanted]

    def test_archived_turns_survive_a_restart(self, store: Store) -> None:
        """Opening again finds the words in their blocks."""
        owner, said = talked(store)
        assert store.topics.archive(owner, "lesson", a_block(said[:2]))
        with closing(self.reopened(store)) as again:
            assert [plain(turn) for turn in again.turns.page(owner, "lesson")] == [plain(turn) for turn in said]

    def test_a_block_that_does_not_fit_is_refused_and_changes_nothing(self, store: Store) -> None:
        """Turns that are gone, open, packed already, named twice or other than the block says; no turn at all."""
        owner, said = talked(store)
        asked = store.turns.append(a_turn(owner, "open", None))
        packed = a_block(said[:1])
        assert store.topics.archive(owner, "lesson", packed)
        before = (list(store.turns.page(owner, "lesson")), list(store.topics.blocks(owner, "lesson")))
        refused = {
            "gone": replace(a_block(said[1:3]), turn_numbers=(2, 99)),
            "open": a_block([said[1], asked]),
            "packed already": a_block(said[:2]),
            "the same block again": packed,
            "a block id that is taken": replace(a_block(said[1:2]), id=packed.id),
            "named twice": replace(a_block(said[1:2]), turn_numbers=(2, 2)),
            "other words": replace(a_block(said[1:2]), turn_numbers=(3,)),
            "too few words": replace(a_block(said[1:2]), turn_numbers=(2, 3)),
            "damaged": replace(a_block(said[1:2]), body=a_block(said[1:2]).body[:-3]),
            "no turn at all": a_block([]),
        }
        for why, block in refused.items():
            assert not store.topics.archive(owner, "lesson", block), why
            assert (list(store.turns.page(owner, "lesson")), list(store.topics.blocks(owner, "lesson"))) == before, why
        assert not store.topics.archive(owner, "no such session", a_block(said[1:2]))
        assert not store.topics.archive(an_owner(), "lesson", a_block(said[1:2]))

    def test_a_block_of_what_was_said_before_a_clearing_is_refused(self, store: Store) -> None:
        """Numbers are given again after a clearing: the new turns keep their own words."""
        owner, old = talked(store)
        block = a_block(old)
        store.sessions.clear(owner, "lesson")
        new = [store.turns.append(a_turn(owner, f"another question {n}")) for n in range(4)]
        assert not store.topics.archive(owner, "lesson", block)
        assert list(store.turns.page(owner, "lesson")) == new

    def test_a_block_that_misses_a_later_message_is_refused(self, store: Store) -> None:
        """What was added to a turn after it was packed is never lost."""
        owner = an_owner()
        said = store.turns.add_message(a_message(owner, "tool", "a finding", tool_call_id="c"))
        block = a_block([said])
        grown = store.turns.add_message(a_message(owner, "assistant", "what it means"))
        assert not store.topics.archive(owner, "lesson", block)
        assert store.turns.get(owner, said.id) == grown

    def test_the_figures_of_a_topic_move_with_its_turns(self, store: Store) -> None:
        """What a topic has at hand and counts as archived is right after each move, in the same transaction."""
        owner, said = talked(store)
        figures = _figures(store, owner)
        assert figures == (8, 0, (1, 2, 3, 4))
        revision = store.topics.load(owner, "lesson").revision
        assert store.topics.archive(owner, "lesson", a_block(said[:3]))
        assert _figures(store, owner) == (8, 6, (4,))
        assert store.topics.load(owner, "lesson").revision > revision
        assert store.topics.rehydrate(owner, "lesson", [2, 3]) == 2
        assert _figures(store, owner) == (8, 2, (2, 3, 4))
        assert store.topics.release(owner, "lesson", [2, 4]) == 1
        assert _figures(store, owner) == (8, 4, (3, 4))

    def test_an_answer_that_comes_late_is_counted(self, store: Store) -> None:
        """A turn that found its topic while it was open: its topic counts the answer with the answer."""
        owner = an_owner()
        for n in range(3):
            store.turns.append(a_turn(owner, f"question {n}", None, turn_id=f"t{n}"))
        topic, assigned = a_topic(message_count=3, hot=(1, 2, 3)), dict.fromkeys((1, 2, 3), "fugues")
        assert store.topics.put(owner, "lesson", TopicChange(0, put=(topic,), assigned=assigned, through=3))
        store.turns.answer(owner, "t0", an_answer("late"), {}, None)
        store.turns.answer(owner, "t0", an_answer("late"), {}, None)
        store.turns.add_message(a_message(owner, "assistant", "later"))
        store.turns.append(a_turn(owner, "question 1", "latest", turn_id="t1"))
        assert _figures(store, owner) == (6, 0, (1, 2, 3))

    def test_turns_that_changed_since_they_were_read_are_counted_as_they_are(self, store: Store) -> None:
        """A turn answered or deleted between reading and assigning it: the change counts what is there."""
        owner = an_owner()
        for n in range(3):
            store.turns.append(a_turn(owner, f"question {n}", None, turn_id=f"t{n}"))
        store.turns.answer(owner, "t0", an_answer("meanwhile"), {}, None)
        store.turns.delete(owner, "lesson", [2])
        topic, assigned = a_topic(message_count=3, hot=(1, 2, 3)), dict.fromkeys((1, 2, 3), "fugues")
        change = TopicChange(0, put=(topic,), assigned=assigned, through=3, counted=dict.fromkeys((1, 2, 3), 1))
        assert store.topics.put(owner, "lesson", change)
        assert _figures(store, owner) == (3, 0, (1, 3))

    def test_a_message_for_an_archived_turn_brings_it_back(self, store: Store) -> None:
        """The turn is plain again and in no block; the others stay archived; its topic knows."""
        owner = an_owner()
        other = store.turns.append(a_turn(owner))
        finding = store.turns.add_message(a_message(owner, "tool", "a finding", tool_call_id="c"))
        topic = a_topic(message_count=2, archived_count=2)
        assigned = {1: topic.id, 2: topic.id}
        assert store.topics.put(owner, "lesson", TopicChange(0, put=(topic,), assigned=assigned))
        block = a_block([other, finding])
        assert store.topics.archive(owner, "lesson", block)
        kept = store.turns.add_message(a_message(owner, "system", "a note"))
        answered = store.turns.answer(owner, finding.id, an_answer("what it means"), {}, None)
        assert [message.content for message in answered.messages] == ["a finding", "a note", "what it means"]
        for turn in (kept, answered):
            assert (turn.turn_number, turn.block_id, turn.archived) == (2, None, False)
        assert store.turns.get(owner, finding.id) == answered
        assert [turn.archived for turn in store.turns.page(owner, "lesson")] == [True, False]
        (left,) = store.topics.blocks(owner, "lesson")
        assert left.turn_numbers == (1,)
        assert unpack(left.body) == other.messages
        (found,) = store.topics.load(owner, "lesson").topics
        assert (found.archived_count, found.hot) == (2, (2,))
        assert store.topics.archive(owner, "lesson", a_block([answered]))
        assert_sound(store, owner.tenant_id)

    def test_retries_and_imports_know_archived_turns(self, store: Store) -> None:
        """The same turn again is written once, the same import is known, other content is a conflict."""
        owner, said = talked(store)
        assert store.topics.archive(owner, "lesson", a_block(said))
        archived = list(store.turns.page(owner, "lesson"))
        info = store.sessions.get(owner, "lesson")
        assert isinstance(info, SessionInfo)
        for turn in (said[0], archived[0]):
            assert store.turns.append(turn) == archived[0]
            answer = an_answer(turn.response or "", START)
            assert store.turns.answer(owner, turn.id, answer, {}, None) == archived[0]
        assert store.turns.load(info, [plain(turn) for turn in said]) == (0, 4)
        assert store.turns.load(info, archived) == (0, 4)
        with pytest.raises(ConflictError):
            store.turns.append(replace(said[0], metadata={"other": 1}))
        with pytest.raises(ConflictError):
            store.turns.answer(owner, said[0].id, an_answer("another answer"), {}, None)
        assert list(store.turns.page(owner, "lesson")) == archived
        assert store.sessions.get(owner, "lesson") == info

    def test_a_past_context_is_rebuilt_from_archived_turns(self, store: Store) -> None:
        """A receipt names messages wherever they lie: byte for byte the same context, archived or not."""
        parts, owner = engine(store), an_owner()
        scope = Scope(owner, "lesson", "tutor")
        for n in range(4):
            question = f"question {n} è una fuga? " * 9
            built = compose(parts, scope, question, (), Slots(system="Be kind. " * 40), parts.settings.budget)
            said = Said("user", question), Said("assistant", f"answer {n}")
            keep_turn(parts, scope, *said, receipt=built.receipt)
        before = [recompose(parts, scope, n) for n in range(1, 5)]
        receipts = list(store.turns.receipts(owner, "lesson"))
        assert store.topics.archive(owner, "lesson", a_block(store.turns.page(owner, "lesson")))
        assert [recompose(parts, scope, n) for n in range(1, 5)] == before
        assert list(store.turns.receipts(owner, "lesson")) == receipts
        assert built.prompt == before[-1].prompt
        assert_sound(store, owner.tenant_id)

    def test_blocks_are_listed_oldest_first(self, store: Store) -> None:
        """All of a session's blocks, or those of one topic, ties by id, with the bytes they were given."""
        owner, said = talked(store)
        made = [
            a_block(said[0:1], block_id="b"),
            a_block(said[1:2], block_id="a", topic_id="canons"),
            a_block(said[2:3], block_id="c", created_at=START.replace(year=2025)),
        ]
        for block in made:
            assert store.topics.archive(owner, "lesson", block)
        assert list(store.topics.blocks(owner, "lesson")) == [made[2], made[1], made[0]]
        assert list(store.topics.blocks(owner, "lesson", "canons")) == [made[1]]
        for where in ((owner, "other"), (an_owner(), "lesson")):
            assert list(store.topics.blocks(*where)) == []
        assert list(store.topics.blocks(owner, "lesson", "unknown")) == []

    def test_only_what_is_in_a_block_is_brought_back_or_let_go(self, store: Store) -> None:
        """Plain turns, unknown numbers, numbers named twice and other people's turns count for nothing."""
        owner, said = talked(store)
        assert store.topics.archive(owner, "lesson", a_block(said[:2]))
        for stranger, session_id in ((an_owner(), "lesson"), (owner, "other")):
            assert store.topics.rehydrate(stranger, session_id, [1, 2]) == 0
        assert store.topics.rehydrate(owner, "lesson", [1, 1, 3, 99]) == 1
        assert [turn.archived for turn in store.turns.page(owner, "lesson")] == [False, True, False, False]
        assert store.topics.release(an_owner(), "lesson", [1]) == 0
        assert store.topics.release(owner, "lesson", [1, 1, 2, 3, 99]) == 1
        assert [turn.archived for turn in store.turns.page(owner, "lesson")] == [True, True, False, False]
        assert store.topics.rehydrate(owner, "lesson", []) == store.topics.release(owner, "lesson", []) == 0

    def test_of_many_who_archive_the_same_turns_one_does(self, store: Store) -> None:
        """Exactly one block takes the words; the others are told."""
        owner, said = talked(store)
        blocks = [a_block(said[:3]) for _ in range(8)]

        def archive(block: Block) -> Block | None:
            return block if store.topics.archive(owner, "lesson", block) else None

        outcomes = at_once([lambda block=block: archive(block) for block in blocks])  # type: ignore[misc]
        assert list(store.topics.blocks(owner, "lesson")) == [outcome for outcome in outcomes if outcome]
        assert [plain(turn) for turn in store.turns.page(owner, "lesson")] == [plain(turn) for turn in said]

    def test_readers_see_whole_turns_while_others_archive(self, store: Store) -> None:
        """Between archiving, bringing back, letting go and deleting, no reader meets damage or misses a word."""
        owner, said = talked(store, 12)
        wanted = [plain(turn) for turn in said]
        numbers = [turn.turn_number for turn in said[:8]]
        done = False

        def move() -> None:
            nonlocal done
            try:
                for first in (0, 4):
                    assert store.topics.archive(owner, "lesson", a_block(said[first : first + 4]))
                for n in range(15):
                    assert store.topics.rehydrate(owner, "lesson", numbers) == len(numbers)
                    assert store.topics.release(owner, "lesson", numbers) == len(numbers)
                    if n % 4 == 0:  # blocks are rewritten under the readers
                        assert store.turns.delete(owner, "lesson", [numbers.pop(0)]) == 1
            finally:
                done = True

        def read() -> None:
            while not done:
                page = store.turns.page(owner, "lesson")
                assert not [turn.damage for turn in page if turn.damage]
                assert [plain(turn) for turn in page] == wanted[-len(page) :]
                one = store.turns.get(owner, said[7].id)
                assert one is not None
                assert plain(one) == wanted[7]

        at_once([move, read, read])
        assert_sound(store, owner.tenant_id)

    @law
    @given(
        moves=st.lists(
            st.tuples(st.sampled_from(["anna", "banna"]), st.sampled_from(["s", "S"]), st.integers(1, 3)), max_size=6
        )
    )
    def test_archives_of_different_people_never_mix(self, store: Store, moves: list[tuple[str, str, int]]) -> None:
        """The same block id and numbers elsewhere hold other words, and every owner reads their own."""
        tenant = an_owner().tenant_id
        places = [(Owner(tenant, user), session) for user in ("anna", "banna") for session in ("s", "S")]
        said = {
            place: [
                store.turns.append(a_turn(place[0], f"{place} {n}", turn_id=f"{place[1]}{n}", session_id=place[1]))
                for n in range(3)
            ]
            for place in places
        }
        packed = set()
        for user, session_id, number in moves:
            place = (Owner(tenant, user), session_id)
            block = a_block([said[place][number - 1]], block_id=f"block {number}")
            assert store.topics.archive(*place, block) is ((place, number) not in packed)
            packed.add((place, number))
        for place in places:
            found = store.turns.page(*place)
            assert [plain(turn) for turn in found] == said[place]
            assert [turn.archived for turn in found] == [(place, n) in packed for n in (1, 2, 3)]
            for block in store.topics.blocks(*place):
                assert unpack(block.body) == said[place][block.turn_numbers[0] - 1].messages
