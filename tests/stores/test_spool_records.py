"""What lies in the spool: whole records come back as they were, and damage is told from what a crash tore."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.errors import DamageError
from ricordo.records.turns import SessionChanges, StoredReceipt, Turn
from ricordo.stores.spool.segments import MARK, frame, read_frames
from ricordo.stores.spool.writes import (
    AddMessage,
    AnswerTurn,
    AppendTurn,
    SpoolRecord,
    UpdateSession,
    Write,
    decode,
    encode,
    owner_of,
)
from ricordo.testing import strategies
from ricordo.testing.fakes import START, a_message, a_turn, an_owner

records = st.lists(st.binary(max_size=40) | st.just(MARK) | st.just(frame(b"inner")), max_size=6)


@given(records=records)
def test_records_come_back(records: list[bytes]) -> None:
    """Any bytes, also such as look like frames, are read back in order."""
    found = read_frames(b"".join(map(frame, records)))
    assert found.records == tuple(records)
    assert found.damaged == ()
    assert found.torn == b""


@given(records=records, last=st.binary(max_size=60), cut=st.integers(0, 60))
def test_a_torn_tail_costs_only_the_record_that_was_torn(records: list[bytes], last: bytes, cut: int) -> None:
    """However a crash cuts the last record short, those before it are whole."""
    torn = frame(last)[: min(cut, len(frame(last)) - 1)]
    found = read_frames(b"".join(map(frame, records)) + torn)
    assert found.records[: len(records)] == tuple(records)
    assert found.damaged == ()


@given(records=st.lists(st.binary(min_size=1, max_size=40), min_size=2, max_size=5), data=st.data())
def test_damage_in_the_middle_is_told_and_stepped_over(records: list[bytes], data: st.DataObject) -> None:
    """A flipped bit takes one record, whose bytes are told as damaged; the others come back."""
    at = data.draw(st.integers(0, len(records) - 2))
    frames = [bytearray(frame(record)) for record in records]
    position = data.draw(st.integers(0, len(frames[at]) - 1))
    frames[at][position] ^= 1 << data.draw(st.integers(0, 7))
    found = read_frames(b"".join(frames))
    assert found.records == tuple(record for n, record in enumerate(records) if n != at)
    assert found.damaged == (bytes(frames[at]),)


def receipts() -> st.SearchStrategy[StoredReceipt | None]:
    """A receipt, or none."""
    texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=9)
    return st.none() | st.builds(
        lambda body, passages: StoredReceipt("lesson", 0, body, passages), texts, st.dictionaries(texts, texts)
    )


@st.composite
def writes(draw: st.DrawFn) -> Write:
    """Any write that can wait."""
    owner = an_owner(draw(strategies.ids()))
    turn: Turn = draw(strategies.turns(owner, "lesson"))
    kind = draw(st.sampled_from(["append", "answer", "message", "update"]))
    if kind == "append":
        return AppendTurn(turn, draw(receipts()))
    if kind == "answer" and turn.answer:
        return AnswerTurn(owner, "lesson", turn.id, turn.answer, dict(turn.metadata), draw(receipts()))
    if kind == "message":
        message = a_message(owner, draw(st.sampled_from(["user", "assistant", "tool"])), draw(strategies.ids()))
        return AddMessage(message, draw(st.sampled_from(["new", "step", "open"])))
    ended = draw(st.none() | st.just(START))
    tags = draw(st.none() | st.lists(strategies.ids()).map(tuple))
    return UpdateSession(
        owner, "lesson", SessionChanges(title=draw(st.none() | strategies.ids()), tags=tags, ended_at=ended)
    )


@given(write=writes(), at=st.floats(0, 1e10), unsure=st.booleans())
def test_a_write_comes_back_as_it_was(write: Write, at: float, unsure: bool) -> None:
    """Whatever waits is what is replayed, in any Unicode; only a number and a checksum are not kept."""
    entry = SpoolRecord(write, at, unsure)
    if isinstance(write, AppendTurn):
        entry = SpoolRecord(replace(write, turn=replace(write.turn, turn_number=0, checksum="")), at, unsure)
    assert decode(encode(entry)) == entry
    assert owner_of(encode(entry, cause="refused")) == write.scope[0]


@pytest.mark.parametrize("record", [b"", b"{}", b"[]", b"\xff", b'{"do": "dance"}'])
def test_what_is_no_write_is_damage(record: bytes) -> None:
    """Bytes that hold no write are told as damage and belong to nobody."""
    with pytest.raises(DamageError):
        decode(record)
    assert owner_of(record) is None


def test_a_turn_without_words_of_its_own_is_kept() -> None:
    """A question alone comes back as a question alone."""
    turn = a_turn(an_owner(), response=None)
    assert decode(encode(SpoolRecord(AppendTurn(turn), 1.0))).write == AppendTurn(turn)
