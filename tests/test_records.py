"""Records are values: one key per owner, one checksum per content, addresses for messages."""

import pickle
from copy import copy
from dataclasses import FrozenInstanceError, field, replace
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.records.turns import Message, Owner, SessionInfo, message_id, turn_id_of
from ricordo.records.values import canonical, record
from ricordo.testing import strategies
from ricordo.testing.fakes import START, a_turn, an_answer, an_owner

ANNA = Owner("tenant", "anna")


@given(first=strategies.owners(), second=strategies.owners())
def test_two_owners_have_one_key_only_if_they_are_one(first: Owner, second: Owner) -> None:
    """The key of (tenant, user) is derived, stable and never shared."""
    assert (first.key == second.key) == (first == second)
    assert first.key == Owner(first.tenant_id, first.user_id).key


@given(text=st.text(min_size=2, max_size=20), cut=st.data())
def test_where_tenant_ends_and_user_begins_matters(text: str, cut: st.DataObject) -> None:
    """The same letters divided elsewhere are somebody else."""
    here, there = cut.draw(st.lists(st.integers(0, len(text)), min_size=2, max_size=2, unique=True))
    assert Owner(text[:here], text[here:]).key != Owner(text[:there], text[there:]).key


@given(turn_id=strategies.ids(), part=st.sampled_from(["query", "response", 1, 2, 30]))
def test_a_message_id_leads_back_to_its_turn(turn_id: str, part: str | int) -> None:
    """Also when the turn id itself has colons."""
    assert turn_id_of(message_id(turn_id, part)) == turn_id


@given(data=st.data())
def test_the_checksum_depends_on_content_alone(data: st.DataObject) -> None:
    """Sealing twice is sealing once; what derives from outside the content does not matter."""
    turn = data.draw(strategies.turns(ANNA, "lesson")).sealed()
    assert turn.sealed() == turn
    assert replace(turn, checksum="stale").sealed() == turn
    assert len(turn.checksum) == 16


@pytest.mark.parametrize(
    "change",
    [
        lambda turn: replace(turn, id="other"),
        lambda turn: replace(turn, session_id="other"),
        lambda turn: replace(turn, agent_id="other"),
        lambda turn: replace(turn, turn_number=2),
        lambda turn: replace(turn, created_at=START + timedelta(microseconds=1)),
        lambda turn: replace(turn, metadata={"mood": 1}),
        lambda turn: replace(turn, answer=None),
        lambda turn: replace(turn, question=replace(turn.question, content="other")),
        lambda turn: replace(turn, answer=replace(turn.answer, content="other")),
        lambda turn: replace(turn, answer=replace(turn.answer, tokens=1000)),
        lambda turn: replace(turn, answer=replace(turn.answer, chunk_ids=("c",))),
        lambda turn: replace(turn, answer=replace(turn.answer, metadata={"a": 1})),
        lambda turn: replace(turn, answer=replace(turn.answer, name="n")),
        lambda turn: replace(turn, steps=(Message("", "tool", "found", START, tool_call_id="c"),)),
    ],
)
def test_any_change_changes_the_checksum(change: object) -> None:
    """Silent damage to any part of a stored turn is found."""
    turn = a_turn(ANNA, turn_id="t").sealed()
    assert change(turn).sealed().checksum != turn.checksum  # type: ignore[operator]


@given(data=st.data())
def test_every_turn_repeats_itself(data: st.DataObject) -> None:
    """A retry with the same content is a retry, also of the bare question, also with other counts and dates."""
    turn = data.draw(strategies.turns(ANNA, "lesson"))
    assert turn.repeats(turn)
    if turn.question and not turn.steps:
        assert replace(turn, answer=None, metadata={}).repeats(turn)
    if turn.answer:
        later = replace(turn, answer=replace(turn.answer, tokens=7, created_at=START))
        assert later.repeats(turn)


def test_other_words_are_no_repeat() -> None:
    """Another query, answer, session or metadata is another turn."""
    turn = a_turn(ANNA, turn_id="t", metadata={"a": 1})
    assert turn.question is not None
    others = [
        replace(turn, question=replace(turn.question, content="other")),
        replace(turn, question=None),
        replace(turn, answer=an_answer("other")),
        replace(turn, session_id="other"),
        replace(turn, metadata={"a": 2}),
        replace(turn, steps=(an_answer("a step"),)),
    ]
    assert not any(other.repeats(turn) for other in others)


def test_a_turn_tells_what_was_said() -> None:
    """Query, response, open or not, messages in the order they were said, tokens of all of them."""
    turn = a_turn(ANNA, "q", "r")
    step = Message("", "tool", "found", START, tokens=4)
    whole = replace(turn, steps=(step,))
    assert (turn.query, turn.response, turn.is_open) == ("q", "r", False)
    assert [message.content for message in whole.messages] == ["q", "found", "r"]
    assert whole.tokens == 5 + 4 + 9
    greeting = replace(turn, question=None)
    assert (greeting.query, greeting.is_open) == ("", False)
    assert replace(turn, answer=None).is_open


def test_answering_lays_metadata_over_and_seals() -> None:
    """What the question brought stays unless the answer says otherwise; the original is not changed."""
    asked = a_turn(ANNA, response=None, metadata={"a": 1, "b": 1})
    answered = asked.answered(an_answer("yes"), {"b": 2})
    assert answered.metadata == {"a": 1, "b": 2}
    assert answered == answered.sealed()
    assert asked.is_open


def test_records_cannot_be_changed_in_place() -> None:
    """Change is by copy."""
    turn = a_turn(an_owner())
    with pytest.raises(FrozenInstanceError):
        turn.turn_number = 5  # type: ignore[misc]


@record
class _Sample:
    name: str
    size: int = 3
    labels: dict[str, str] = field(default_factory=dict)


def test_a_record_is_a_frozen_dataclass() -> None:
    """Whatever its quicker constructor: defaults, names, copies, comparison and refusals are those of a dataclass."""
    one = _Sample("a", labels={"b": "c"})
    assert (one.name, one.size, one.labels) == ("a", 3, {"b": "c"})
    assert type(one) is _Sample
    assert one == _Sample(labels={"b": "c"}, size=3, name="a") != replace(one, size=4)
    assert _Sample("a").labels is not _Sample("a").labels
    assert pickle.loads(pickle.dumps(one)) == copy(one) == one
    with pytest.raises(FrozenInstanceError):
        one.name = "b"  # type: ignore[misc]
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'name'"):
        _Sample()  # type: ignore[call-arg]
    assert repr(one) == "_Sample(name='a', size=3, labels={'b': 'c'})"
    with pytest.raises(FrozenInstanceError):
        del one.name


def test_records_are_keys() -> None:
    """Equal records have one hash, unequal ones and other classes differ; a field may be left out of the comparison."""
    assert {ANNA: 1}[replace(ANNA)] == 1
    assert Owner("acme", "anna") != Owner("acme", "bruno") != ("acme", "bruno")
    counted = SessionInfo("s", ANNA, "default", START, START, message_count=3)
    assert counted == replace(counted, message_count=None)


@given(value=strategies.metadata())
def test_json_has_one_spelling(value: dict[str, object]) -> None:
    """The order of keys does not matter."""
    assert canonical(value) == canonical(dict(reversed(list(value.items()))))
