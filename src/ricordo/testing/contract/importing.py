"""Importing: a session with its numbered turns comes in as it was, once, whole or not at all."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import ConflictError, RicordoError, ValidationError
from ricordo.ports import Store
from ricordo.records import Owner, SessionInfo, Turn
from ricordo.testing import strategies
from ricordo.testing.clock import START
from ricordo.testing.contract.base import Contract, law
from ricordo.testing.examples import a_turn, an_owner


def a_session(owner: Owner) -> SessionInfo:
    """A session as an import brings it."""
    return SessionInfo(
        "lesson", owner, "tutor", START, START, title="Fugues", tags=("music",), metadata={"n": 1}, ended_at=START
    )


def numbered(owner: Owner, *numbers: int) -> list[Turn]:
    """Plain turns with these numbers; the id and the words follow from the number."""
    return [replace(a_turn(owner, f"question {n}", turn_id=f"turn-{n}"), turn_number=n) for n in numbers]


class ImportingContract(Contract):
    """load."""

    @law
    @given(data=st.data())
    def test_what_is_loaded_comes_back_as_it_was(self, store: Store, data: st.DataObject) -> None:
        """Numbers, dates, ids and contents are kept; loading again finds all of it known."""
        owner = an_owner()
        drawn = data.draw(st.lists(strategies.turns(owner, "lesson"), max_size=3))
        first = data.draw(st.integers(1, 50))
        turns = [replace(turn, turn_number=first + n).sealed() for n, turn in enumerate(drawn)]
        assert store.load(a_session(owner), data.draw(st.permutations(turns))) == (len(turns), 0)
        assert list(store.turns(owner, "lesson")) == turns
        info = store.session(owner, "lesson")
        assert store.load(a_session(owner), iter(turns)) == (0, len(turns))
        assert store.session(owner, "lesson") == info

    def test_a_loaded_session_keeps_its_fields_and_goes_on(self, store: Store) -> None:
        """Title, tags, metadata and end come along; activity is the latest date; the next number follows."""
        owner = an_owner()
        turns = numbered(owner, 1, 2)
        late = START + timedelta(days=1)
        store.load(a_session(owner), [turns[0], replace(turns[1], created_at=late)])
        assert store.session(owner, "lesson") == replace(
            a_session(owner), last_active_at=late, last_turn=2, turn_count=2, revision=2
        )
        assert store.append(a_turn(owner)).turn_number == 3

    def test_an_existing_session_keeps_its_own_fields(self, store: Store) -> None:
        """More turns can be loaded into a session; what is known of it stays."""
        owner = an_owner()
        store.load(a_session(owner), numbered(owner, 1))
        before = store.session(owner, "lesson")
        assert before is not None
        other = replace(a_session(owner), title="Other", tags=(), ended_at=None)
        assert store.load(other, numbered(owner, 1, 2)) == (1, 1)
        assert store.session(owner, "lesson") == replace(
            before, last_turn=2, turn_count=2, revision=before.revision + 1
        )

    def test_a_session_that_forgot_turns_comes_back_as_it_was(self, store: Store) -> None:
        """Numbers with a gap are kept, and the next turn counts on from the newest."""
        owner = an_owner()
        assert store.load(a_session(owner), numbered(owner, 2, 5)) == (2, 0)
        assert [turn.turn_number for turn in store.turns(owner, "lesson")] == [2, 5]
        assert store.append(a_turn(owner)).turn_number == 6

    def test_an_empty_session_can_be_loaded(self, store: Store) -> None:
        """A session without turns is kept, and its first turn is number 1."""
        owner = an_owner()
        assert store.load(a_session(owner), []) == (0, 0)
        assert store.session(owner, "lesson") == a_session(owner)
        assert store.append(a_turn(owner)).turn_number == 1

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
            store.load(a_session(owner), turns)
        assert store.session(owner, "lesson") is None

    def test_a_taken_number_or_id_is_a_conflict(self, store: Store) -> None:
        """Other content under a stored number, a stored id, or an id twice in the import is refused whole."""
        owner = an_owner()
        first, second, third = numbered(owner, 1, 2, 3)
        store.load(a_session(owner), [first])
        elsewhere = replace(a_session(owner), id="elsewhere")
        refused = [
            (a_session(owner), [second, replace(first, id="new id")]),
            (a_session(owner), [second, replace(third, id=first.id)]),
            (a_session(owner), [second, replace(third, id=second.id)]),
            (elsewhere, [replace(first, session_id="elsewhere")]),
        ]
        for session, turns in refused:
            with pytest.raises(ConflictError):
                store.load(session, turns)
        assert [turn.turn_number for turn in store.turns(owner, "lesson")] == [1]
        assert store.session(owner, "elsewhere") is None

    def test_a_turn_of_another_session_is_refused(self, store: Store) -> None:
        """An import that mixes sessions names the field and brings nothing in."""
        owner = an_owner()
        with pytest.raises(ValidationError) as refusal:
            store.load(a_session(owner), [replace(numbered(owner, 1)[0], session_id="another")])
        assert refusal.value.field == "session_id"
        assert store.session(owner, "lesson") is None
