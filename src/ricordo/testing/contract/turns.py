"""Keeping turns: complete, numbered without a gap, written once, answered once, never mixed."""

from contextlib import closing
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import ConflictError, NotFoundError, RicordoError, ValidationError
from ricordo.records.turns import Owner, SessionInfo, Turn, message_id
from ricordo.stores.protocols import Store
from ricordo.testing import strategies
from ricordo.testing.contract.base import Contract, at_once, law
from ricordo.testing.fakes import START, a_message, a_turn, an_answer, an_owner

WRITERS = 16


class TurnContract(Contract):
    """append, answer, add_message."""

    @law
    @given(data=st.data(), user_id=strategies.ids())
    def test_a_stored_turn_comes_back_complete(self, store: Store, data: st.DataObject, user_id: str) -> None:
        """Whatever a turn holds, in any Unicode, is what reading it gives back."""
        turn = data.draw(strategies.turns(an_owner(user_id)))
        kept = store.turns.append(turn)
        assert kept == replace(turn, turn_number=1).sealed()
        assert store.turns.get(turn.owner, turn.id) == kept
        assert list(store.turns.page(turn.owner, turn.session_id)) == [kept]

    @pytest.mark.parametrize("text", strategies.HOSTILE)
    def test_hostile_words_and_ids_are_only_words_and_ids(self, store: Store, text: str) -> None:
        """Quotes, placeholders, markup and odd Unicode are data in every field."""
        owner = Owner(f"{an_owner().tenant_id}{text}", text)
        turn = a_turn(owner, text, text, session_id=text, turn_id=text, agent_id=text, metadata={text: text})
        kept = store.turns.append(turn)
        assert store.turns.get(owner, text) == kept
        assert [info.id for info in store.sessions.page(owner, limit=2, agent_id=text)] == [text]
        assert list(store.owners(owner.tenant_id)) == [owner]

    def test_numbers_have_no_gap_with_sixteen_writers_on_one_session(self, store: Store) -> None:
        """Concurrent writers get 1..N, each number once, and reading is in that order."""
        owner, each = an_owner(), 10

        def write(writer: int) -> list[int]:
            return [store.turns.append(a_turn(owner, f"question {writer}-{n}")).turn_number for n in range(each)]

        numbers = at_once([lambda writer=writer: write(writer) for writer in range(WRITERS)])  # type: ignore[misc]
        assert sorted(number for mine in numbers for number in mine) == list(range(1, WRITERS * each + 1))
        assert all(mine == sorted(mine) for mine in numbers)
        stored = store.turns.page(owner, "lesson")
        assert [turn.turn_number for turn in stored] == list(range(1, WRITERS * each + 1))
        info = store.sessions.get(owner, "lesson")
        assert info is not None
        assert (info.last_turn, info.turn_count) == (WRITERS * each, WRITERS * each)

    def test_one_turn_id_from_sixteen_writers_is_one_turn(self, store: Store) -> None:
        """A retry that races with the first try is still written once."""
        turn = a_turn(an_owner())
        kept = at_once([lambda: store.turns.append(turn)] * WRITERS)
        assert all(each == kept[0] for each in kept)
        assert list(store.turns.page(turn.owner, turn.session_id)) == [kept[0]]

    @law
    @given(moments=st.lists(strategies.moments(), min_size=1, max_size=6))
    def test_history_is_in_the_order_of_writing(self, store: Store, moments: list[object]) -> None:
        """Turn order is the order of writing, whatever the dates say; activity is the latest date."""
        owner = an_owner()
        for moment in moments:
            store.turns.append(a_turn(owner, str(moment), created_at=moment))  # type: ignore[arg-type]
        assert [turn.query for turn in store.turns.page(owner, "lesson")] == [str(moment) for moment in moments]
        info = store.sessions.get(owner, "lesson")
        assert info is not None
        assert (info.created_at, info.last_active_at) == (moments[0], max(moments))  # type: ignore[type-var]

    @law
    @given(
        said=st.lists(
            st.tuples(
                st.sampled_from(["", "b"]), st.sampled_from(["anna", "banna"]), st.sampled_from(["s", "S", "s "])
            ),
            max_size=12,
        )
    )
    def test_sessions_users_and_tenants_never_mix(self, store: Store, said: list[tuple[str, str, str]]) -> None:
        """Every owner finds exactly the turns of the session that they name, and nothing else."""
        tenant = an_owner().tenant_id
        for place in said:
            suffix, user_id, session_id = place
            store.turns.append(a_turn(Owner(tenant + suffix, user_id), repr(place), session_id=session_id))
        for place in {*said, ("", "banna", "S")}:
            suffix, user_id, session_id = place
            owner = Owner(tenant + suffix, user_id)
            found = store.turns.page(owner, session_id)
            assert [turn.query for turn in found] == [repr(place)] * said.count(place)
            assert [turn.turn_number for turn in found] == list(range(1, said.count(place) + 1))
            assert all(turn.owner == owner for turn in found)

    def test_a_turn_of_another_owner_is_not_found(self, store: Store) -> None:
        """Knowing an id is not enough: another owner neither reads, answers nor removes what it names."""
        turn = store.turns.append(a_turn(an_owner(), response=None))
        for stranger in (Owner(turn.owner.tenant_id, "bruno"), an_owner()):
            assert store.turns.get(stranger, turn.id) is None
            assert list(store.turns.page(stranger, turn.session_id)) == []
            assert store.sessions.get(stranger, turn.session_id) is None
            assert store.sessions.clear(stranger, turn.session_id) is None
            assert store.sessions.delete(stranger, turn.session_id) is None
            with pytest.raises(NotFoundError):
                store.turns.answer(stranger, turn.id, an_answer("mine now"), {}, None)
            assert store.turns.append(replace(turn, owner=stranger)).turn_number == 1
        assert store.turns.get(turn.owner, turn.id) == turn

    def test_a_known_session_goes_on_after_a_restart(self, store: Store) -> None:
        """Opening again continues the numbering and finds all that was written."""
        owner = an_owner()
        before = [store.turns.append(a_turn(owner, f"question {n}")) for n in range(3)]
        with closing(self.reopened(store)) as again:
            after = again.turns.append(a_turn(owner, "one more"))
            assert after.turn_number == 4
            assert list(again.turns.page(owner, "lesson")) == [*before, after]

    @law
    @given(data=st.data())
    def test_writing_a_turn_again_changes_nothing(self, store: Store, data: st.DataObject) -> None:
        """The same id with the same content is written once; the stored turn comes back."""
        turn = data.draw(strategies.turns(an_owner(), "lesson"))
        kept = store.turns.append(turn)
        store.turns.append(a_turn(turn.owner))
        before = store.sessions.get(turn.owner, "lesson")
        assert store.turns.append(turn) == kept
        assert store.turns.append(turn, expected=7) == kept
        assert store.sessions.get(turn.owner, "lesson") == before

    def test_other_content_under_a_known_id_is_a_conflict(self, store: Store) -> None:
        """A different query, response, metadata or session under the same id is refused and changes nothing."""
        kept = store.turns.append(a_turn(an_owner(), metadata={"a": 1}))
        assert kept.question is not None
        assert kept.answer is not None
        others = [
            replace(kept, question=replace(kept.question, content="What is a canon?")),
            replace(kept, answer=replace(kept.answer, content="I do not know.")),
            replace(kept, metadata={"a": 2}),
            replace(kept, metadata={"a": True}),
            replace(kept, metadata={"a": 1.0}),
            replace(kept, session_id="another"),
        ]
        for other in others:
            with pytest.raises(ConflictError):
                store.turns.append(other)
        assert list(store.turns.page(kept.owner, "lesson")) == [kept]
        assert store.sessions.get(kept.owner, "another") is None

    def test_an_open_turn_is_kept_and_answered_later(self, store: Store) -> None:
        """The question is stored at once; the answer joins it with its date and metadata laid over."""
        asked = store.turns.append(a_turn(an_owner(), response=None, metadata={"a": 1, "b": 1}))
        assert asked.is_open
        later = START + timedelta(minutes=3)
        answered = store.turns.answer(asked.owner, asked.id, an_answer("Voices in turn.", later), {"b": 2}, None)
        assert (answered.turn_number, answered.response, answered.is_open) == (1, "Voices in turn.", False)
        assert answered.metadata == {"a": 1, "b": 2}
        assert answered == answered.sealed()
        assert answered.answer is not None
        assert answered.answer.id == message_id(asked.id, "response")
        assert store.turns.get(asked.owner, asked.id) == answered
        info = store.sessions.get(asked.owner, asked.session_id)
        assert info is not None
        assert info.last_active_at == later

    def test_an_answer_is_written_once_and_never_overwritten(self, store: Store) -> None:
        """The same answer again changes nothing; another one is a conflict; an unknown turn is not found."""
        asked = store.turns.append(a_turn(an_owner(), response=None))
        answered = store.turns.answer(asked.owner, asked.id, an_answer("first"), {}, None)
        assert store.turns.answer(asked.owner, asked.id, an_answer("first"), {}, None) == answered
        with pytest.raises(ConflictError):
            store.turns.answer(asked.owner, asked.id, an_answer("second"), {}, None)
        with pytest.raises(ConflictError):
            store.turns.answer(asked.owner, asked.id, an_answer("first"), {"new": None}, None)
        with pytest.raises(NotFoundError):
            store.turns.answer(asked.owner, "no such turn", an_answer("first"), {}, None)
        assert store.turns.get(asked.owner, asked.id) == answered

    def test_the_cause_of_a_failure_is_kept_until_the_turn_is_answered(self, store: Store) -> None:
        """A failed turn stays open with its newest cause; its answer removes it, and nothing marks it again."""
        asked = store.turns.append(a_turn(an_owner(), response=None, metadata={"a": 1}))
        store.turns.mark_failed(asked.owner, asked.id, {"cause": "timeout"})
        failed = store.turns.mark_failed(asked.owner, asked.id, {"cause": "refused", "status": 401})
        assert failed is not None
        assert failed == failed.sealed() == store.turns.get(asked.owner, asked.id)
        assert (failed.is_open, failed.failure) == (True, {"cause": "refused", "status": 401})
        assert store.turns.append(a_turn(asked.owner, response=None, turn_id=asked.id, metadata={"a": 1})) == failed
        answered = store.turns.answer(asked.owner, asked.id, an_answer("first"), {"b": 2}, None)
        assert (answered.metadata, answered.failure) == ({"a": 1, "b": 2}, None)
        assert store.turns.mark_failed(asked.owner, asked.id, {"cause": "cut"}) == answered
        assert store.turns.mark_failed(asked.owner, "no such turn", {"cause": "cut"}) is None
        assert store.turns.mark_failed(an_owner("another"), asked.id, {"cause": "cut"}) is None

    def test_writing_an_open_turn_again_with_its_answer_answers_it(self, store: Store) -> None:
        """A whole turn sent after its question completes the stored one under its old number."""
        whole = a_turn(an_owner())
        store.turns.append(replace(whole, answer=None))
        store.turns.append(a_turn(whole.owner, "in between"))
        answered = store.turns.append(whole)
        assert (answered.turn_number, answered.response) == (1, whole.response)
        assert store.turns.append(replace(whole, answer=None)) == answered
        assert [turn.is_open for turn in store.turns.page(whole.owner, "lesson")] == [False, False]

    def test_a_number_that_is_counted_on_is_given_or_refused(self, store: Store) -> None:
        """`expected` is the next number or a conflict; a refused write leaves no gap and no session."""
        owner = an_owner()
        with pytest.raises(ConflictError):
            store.turns.append(a_turn(owner), expected=2)
        assert store.sessions.get(owner, "lesson") is None
        assert store.turns.append(a_turn(owner), expected=1).turn_number == 1
        with pytest.raises(ConflictError):
            store.turns.append(a_turn(owner), expected=1)
        assert store.turns.append(a_turn(owner), expected=2).turn_number == 2

    def test_single_messages_find_their_place(self, store: Store) -> None:
        """A question opens a turn, tool traffic joins it as steps, plain words of the assistant answer it."""
        owner = an_owner()
        call = {"id": "c1", "function": {"name": "look_up", "arguments": "{}"}}
        said = [
            a_message(owner, "assistant", "Good morning!"),
            a_message(owner, "user", "What is a fugue?"),
            a_message(owner, "assistant", "Let me look.", tool_calls=(call,)),
            a_message(owner, "tool", "voices, one after another", tool_call_id="c1"),
            a_message(owner, "assistant", "Voices that enter in turn.", created_at=START + timedelta(seconds=5)),
            a_message(owner, "user", "And a canon?"),
            a_message(owner, "user", "Are you there?"),
            a_message(owner, "system", "The lesson ends at ten."),
        ]
        placed = [store.turns.add_message(each) for each in said]
        assert [turn.turn_number for turn in placed] == [1, 2, 2, 2, 2, 3, 4, 4]
        greeting, fugue, canon, there = store.turns.page(owner, "lesson")
        assert (greeting.question, greeting.response) == (None, "Good morning!")
        assert [step.role for step in fugue.steps] == ["assistant", "tool"]
        assert [step.id for step in fugue.steps] == [message_id(fugue.id, 1), message_id(fugue.id, 2)]
        assert (fugue.steps[0].tool_calls, fugue.steps[1].tool_call_id) == ((call,), "c1")
        assert fugue.response == "Voices that enter in turn."
        assert canon.is_open
        assert [step.content for step in there.steps] == ["The lesson ends at ten."]
        assert all(turn == turn.sealed() for turn in (greeting, fugue, canon, there))

    def test_messages_from_many_writers_are_neither_lost_nor_split(self, store: Store) -> None:
        """Concurrent single messages all arrive, each once, in gapless turns."""
        owner = an_owner()
        roles = ["user", "assistant", "tool", "system"] * 4

        def write(writer: int) -> None:
            for n in range(5):
                role = roles[writer]
                extra = {"tool_call_id": "c"} if role == "tool" else {}
                store.turns.add_message(a_message(owner, role, f"{writer}-{n}", **extra))  # type: ignore[arg-type]

        at_once([lambda writer=writer: write(writer) for writer in range(WRITERS)])  # type: ignore[misc]
        stored = store.turns.page(owner, "lesson")
        assert [turn.turn_number for turn in stored] == list(range(1, len(stored) + 1))
        heard = [message.content for turn in stored for message in turn.messages]
        assert sorted(heard) == sorted(f"{writer}-{n}" for writer in range(WRITERS) for n in range(5))
        assert all(turn == turn.sealed() for turn in stored)


# Importing: a session with its numbered turns comes in as it was, once, whole or not at all.


def a_session(owner: Owner) -> SessionInfo:
    """A session as an import brings it."""
    return SessionInfo(
        "lesson", owner, "tutor", START, START, title="Fugues", tags=("music",), metadata={"n": 1}, ended_at=START
    )


def numbered(owner: Owner, *numbers: int) -> list[Turn]:
    """Plain turns with these numbers; the id and the words follow from the number."""
    return [replace(a_turn(owner, f"question {n}", turn_id=f"turn-{n}"), turn_number=n) for n in numbers]


class ImportContract(Contract):
    """load."""

    @law
    @given(data=st.data())
    def test_what_is_loaded_comes_back_as_it_was(self, store: Store, data: st.DataObject) -> None:
        """Numbers, dates, ids and contents are kept; loading again finds all of it known."""
        owner = an_owner()
        drawn = data.draw(st.lists(strategies.turns(owner, "lesson"), max_size=3))
        first = data.draw(st.integers(1, 50))
        turns = [replace(turn, turn_number=first + n).sealed() for n, turn in enumerate(drawn)]
        assert store.turns.load(a_session(owner), data.draw(st.permutations(turns))) == (len(turns), 0)
        assert list(store.turns.page(owner, "lesson")) == turns
        info = store.sessions.get(owner, "lesson")
        assert store.turns.load(a_session(owner), iter(turns)) == (0, len(turns))
        assert store.sessions.get(owner, "lesson") == info

    def test_a_loaded_session_keeps_its_fields_and_goes_on(self, store: Store) -> None:
        """Title, tags, metadata and end come along; activity is the latest date; the next number follows."""
        owner = an_owner()
        turns = numbered(owner, 1, 2)
        late = START + timedelta(days=1)
        store.turns.load(a_session(owner), [turns[0], replace(turns[1], created_at=late)])
        assert store.sessions.get(owner, "lesson") == replace(
            a_session(owner), last_active_at=late, last_turn=2, turn_count=2, revision=2
        )
        assert store.turns.append(a_turn(owner)).turn_number == 3

    def test_an_existing_session_keeps_its_own_fields(self, store: Store) -> None:
        """More turns can be loaded into a session; what is known of it stays."""
        owner = an_owner()
        store.turns.load(a_session(owner), numbered(owner, 1))
        before = store.sessions.get(owner, "lesson")
        assert before is not None
        other = replace(a_session(owner), title="Other", tags=(), ended_at=None)
        assert store.turns.load(other, numbered(owner, 1, 2)) == (1, 1)
        assert store.sessions.get(owner, "lesson") == replace(
            before, last_turn=2, turn_count=2, revision=before.revision + 1
        )

    def test_a_session_that_forgot_turns_comes_back_as_it_was(self, store: Store) -> None:
        """Numbers with a gap are kept, and the next turn counts on from the newest."""
        owner = an_owner()
        assert store.turns.load(a_session(owner), numbered(owner, 2, 5)) == (2, 0)
        assert [turn.turn_number for turn in store.turns.page(owner, "lesson")] == [2, 5]
        assert store.turns.append(a_turn(owner)).turn_number == 6

    def test_an_empty_session_can_be_loaded(self, store: Store) -> None:
        """A session without turns is kept, and its first turn is number 1."""
        owner = an_owner()
        assert store.turns.load(a_session(owner), []) == (0, 0)
        assert store.sessions.get(owner, "lesson") == a_session(owner)
        assert store.turns.append(a_turn(owner)).turn_number == 1

    @pytest.mark.parametrize(
        ("numbers", "error"),
        [((0, 1), ValidationError), ((1, 1), ConflictError)],
        ids=["a number below 1", "a number twice"],
    )
    def test_wrong_numbers_are_refused_whole(
        self, store: Store, numbers: tuple[int, ...], error: type[RicordoError]
    ) -> None:
        """Nothing of a refused import is kept."""
        owner = an_owner()
        turns = [replace(turn, id=f"id-{at}") for at, turn in enumerate(numbered(owner, *numbers))]
        with pytest.raises(error):
            store.turns.load(a_session(owner), turns)
        assert store.sessions.get(owner, "lesson") is None

    def test_a_taken_number_or_id_is_a_conflict(self, store: Store) -> None:
        """Other content under a stored number, a stored id, or an id twice in the import is refused whole."""
        owner = an_owner()
        first, second, third = numbered(owner, 1, 2, 3)
        store.turns.load(a_session(owner), [first])
        elsewhere = replace(a_session(owner), id="elsewhere")
        refused = [
            (a_session(owner), [second, replace(first, id="new id")]),
            (a_session(owner), [second, replace(third, id=first.id)]),
            (a_session(owner), [second, replace(third, id=second.id)]),
            (elsewhere, [replace(first, session_id="elsewhere")]),
        ]
        for session, turns in refused:
            with pytest.raises(ConflictError):
                store.turns.load(session, turns)
        assert [turn.turn_number for turn in store.turns.page(owner, "lesson")] == [1]
        assert store.sessions.get(owner, "elsewhere") is None

    def test_a_turn_of_another_session_is_refused(self, store: Store) -> None:
        """An import that mixes sessions names the field and brings nothing in."""
        owner = an_owner()
        with pytest.raises(ValidationError) as refusal:
            store.turns.load(a_session(owner), [replace(numbered(owner, 1)[0], session_id="another")])
        assert refusal.value.field == "session_id"
        assert store.sessions.get(owner, "lesson") is None
