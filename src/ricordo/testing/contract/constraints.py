"""What a database must refuse by itself, when the checks of the library were passed by."""

from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import StoreError
from ricordo.records.turns import StoredReceipt, Turn, canonical
from ricordo.stores.protocols import Store
from ricordo.testing import strategies
from ricordo.testing.contract.base import Contract, law
from ricordo.testing.examples import a_turn, an_answer, an_owner
from ricordo.testing.fakes import START


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
