"""What a database must refuse by itself, when the checks of the library were passed by."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import StoreError
from ricordo.ports import Store
from ricordo.records import Turn
from ricordo.testing import strategies
from ricordo.testing.contract.base import Contract, law
from ricordo.testing.examples import a_turn, an_owner


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
            store.append(turn)
        assert store.session(turn.owner, turn.session_id) is None

    @pytest.mark.parametrize("field", ["id", "agent_id", "session_id"])
    @pytest.mark.parametrize("value", ["", "x" * 256, "a\x00b"], ids=["empty", "too long", "with NUL"])
    def test_ids_that_may_not_be_stored_are_refused(self, store: Store, field: str, value: str) -> None:
        """Every id has 1 to 255 characters and no NUL."""
        turn = replace(a_turn(an_owner()), **{field: value})  # type: ignore[arg-type]
        with pytest.raises(StoreError):
            store.append(turn)
        assert list(store.sessions(turn.owner, limit=1)) == []

    def test_a_turn_that_says_nothing_is_refused(self, store: Store) -> None:
        """A turn has a question, an answer or a step."""
        turn = replace(a_turn(an_owner()), question=None, answer=None)
        with pytest.raises(StoreError):
            store.append(turn)
        assert store.session(turn.owner, turn.session_id) is None

    def test_a_refused_turn_does_not_use_up_a_number(self, store: Store) -> None:
        """The next turn gets the number that the refused one would have had."""
        owner = an_owner()
        store.append(a_turn(owner))
        with pytest.raises(StoreError):
            store.append(_with_query(a_turn(owner), " "))
        assert store.append(a_turn(owner)).turn_number == 2
