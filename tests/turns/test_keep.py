"""Keeping what is said: what is given comes back, what is hostile is refused by name, and nothing of it is written."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.engine.tokens import content_tokens
from ricordo.errors import ConflictError, NotFoundError, ValidationError
from ricordo.limits import Limits
from ricordo.records.turns import ROLES, place
from ricordo.testing import FakeClock, MemoryStore
from ricordo.testing.strategies import ids, metadata, moments, refused_texts, texts


def memory(**settings: Any) -> ricordo.Memory:
    """An empty memory with a clock that stands still, and nobody at work beside it: a turn stays as it was written."""
    return with_clock(FakeClock(), **settings)


def with_clock(clock: FakeClock, **settings: Any) -> ricordo.Memory:
    """The same with a clock of one's own."""
    kept = ricordo.Memory(MemoryStore(), ricordo.Settings(**settings), clock=clock)
    kept.rest()
    return kept


MAYBE_WHEN, MAYBE_ID = st.none() | moments(), st.none() | ids()


@given(texts(), texts(), st.lists(ids(), max_size=3), metadata(), MAYBE_WHEN, MAYBE_ID, ids(), ids())
def test_a_stored_turn_comes_back_complete(
    query: str,
    response: str,
    chunk_ids: list[str],
    given_metadata: dict[str, Any],
    created_at: datetime | None,
    turn_id: str | None,
    user_id: str,
    agent_id: str,
) -> None:
    """Every field that was given is in the turn that comes back from the call, from the history and by its id."""
    kept = memory()
    session = kept.session(user_id=user_id, agent_id=agent_id)
    turn = session.add_turn(
        query, response, chunk_ids=chunk_ids, metadata=given_metadata, created_at=created_at, turn_id=turn_id
    )
    assert session.history() == [turn] == [kept.store.turns.get(turn.owner, turn.id)]
    assert (turn.query, turn.response, turn.chunk_ids) == (query, response, tuple(chunk_ids))
    assert turn.metadata == given_metadata
    assert turn.created_at == (created_at or FakeClock().now())
    assert turn_id in (None, turn.id)
    assert (turn.owner.user_id, turn.agent_id, turn.session_id, turn.turn_number) == (user_id, agent_id, session.id, 1)
    assert turn.question
    assert turn.answer
    assert turn.counter == kept.counter.name
    assert turn.question.tokens == kept.counter.count(query)
    assert turn.answer.tokens == kept.counter.count(response)


MESSAGES = st.tuples(st.sampled_from([*ROLES, "calling", "Bob", "moderatrice"]), texts(), st.none() | st.just("Anna"))


@given(st.lists(MESSAGES, max_size=10))
def test_messages_come_back_in_the_order_they_were_said(said: list[tuple[str, str, str | None]]) -> None:
    """Whatever the roles and their order, no message is lost, doubled or moved, and each has its own id."""
    session = memory().session(user_id="anna")
    stored = []
    for role, content, name in said:
        calls = [{"id": "1", "function": {"name": "f", "arguments": "{}"}}] if role == "calling" else []
        known = role if role in ROLES else "assistant"
        is_speaker = role not in (*ROLES, "calling")
        who, named = (role, None) if is_speaker else (known, name)
        stored.append(session.add_message(who, content, tool_calls=calls, name=named))
    spoken = [message for turn in session.history() for message in turn.messages]
    assert spoken == stored
    assert [message.content for message in spoken] == [content for _, content, _ in said]
    assert len({message.id for message in stored}) == len(said)
    for message, (role, _, name) in zip(stored, said, strict=True):
        if role not in (*ROLES, "calling"):
            assert (message.role, message.name) == ("user", role)
        else:
            assert (message.role, message.name) == ("assistant" if role == "calling" else role, name)
    assert [turn.turn_number for turn in session.history()] == list(range(1, len(session.history()) + 1))


@given(texts(), texts(), st.none() | st.just("anna_rossi"))
def test_names_and_calls_are_counted_when_written(content: str, arguments: str, name: str | None) -> None:
    """The stored count of a message is that of its words, its calls and its name."""
    kept = memory()
    call = {"id": "1", "function": {"name": "f", "arguments": arguments}}
    message = kept.session(user_id="anna").add_message("assistant", content, tool_calls=[call], name=name)
    assert message.tokens == content_tokens(content, [call], kept.counter, name)
    assert message.tokens > kept.counter.count(content)


# Open turns


@given(texts(), texts(), metadata(), metadata())
def test_an_open_turn_is_answered_later(
    query: str, response: str, asked: dict[str, Any], answered: dict[str, Any]
) -> None:
    """The question is kept at once, the answer joins it, and the metadata of the answer is laid over the question's."""
    clock = FakeClock()
    kept = with_clock(clock)
    session = kept.session(user_id="anna")
    turn = session.ask(query, metadata=asked)
    assert (turn.turn_number, turn.query, turn.response) == (1, query, None)
    assert session.history()[0].is_open
    clock.advance(minutes=5)
    done = turn.answer(response, chunk_ids=["c1"], metadata=answered)
    assert session.history() == [done]
    assert (done.query, done.response, done.chunk_ids, done.is_open) == (query, response, ("c1",), False)
    assert done.metadata == {**asked, **answered}
    assert done.answer
    assert done.answer.created_at - done.created_at == timedelta(minutes=5)


def test_an_answer_is_written_once_and_never_overwritten() -> None:
    """The same answer again changes nothing; another one is a conflict; by record, handle and id alike."""
    session = memory().session(user_id="anna")
    asked = session.ask("Domanda?")
    done = asked.answer("Risposta.")
    for handle in (asked, asked.turn, asked.id):
        assert session.answer(handle, "Risposta.") == done
        with pytest.raises(ConflictError):
            session.answer(handle, "Un'altra.")
    assert session.history() == [done]


def test_an_answer_stays_in_its_session_and_with_its_user() -> None:
    """A turn of another session or another user is not found here, however it is named."""
    kept = memory()
    asked = kept.session("one", user_id="anna").ask("Domanda?")
    for stranger in (kept.session("two", user_id="anna"), kept.session("one", user_id="bruno")):
        for handle in (asked, asked.turn, asked.id):
            with pytest.raises(NotFoundError):
                stranger.answer(handle, "Risposta.")
    assert kept.session("one", user_id="anna").history()[0].is_open


def test_writing_the_same_turn_twice_is_writing_it_once() -> None:
    """A retry with the same id gives the stored turn back; other content under the id is a conflict."""
    session = memory().session(user_id="anna")
    first = session.add_turn("Domanda?", "Risposta.", turn_id="t1", metadata={"a": 1})
    assert session.add_turn("Domanda?", "Risposta.", turn_id="t1", metadata={"a": 1}) == first
    with pytest.raises(ConflictError, match="t1"):
        session.add_turn("Domanda?", "Altro.", turn_id="t1")
    assert session.history() == [first]


def test_the_number_that_is_counted_on() -> None:
    """A turn_number is a promise about the next one: kept or refused."""
    session = memory().session(user_id="anna")
    assert session.add_turn("Uno?", "Sì.", turn_number=1).turn_number == 1
    for wrong in (1, 3):
        with pytest.raises(ConflictError, match="turn_number"):
            session.add_turn("Due?", "Sì.", turn_number=wrong)
    assert session.add_turn("Due?", "Sì.", turn_number=2).turn_number == 2


# Refusals

Saying = Callable[[ricordo.Session], object]
LATE = datetime.max.replace(tzinfo=timezone(timedelta(hours=-14)))
DEEP: Any = []
for _ in range(2000):
    DEEP = [DEEP]

REFUSALS: dict[str, tuple[str, Saying]] = {
    "query number": ("query", lambda s: s.add_turn(5, "r")),  # type: ignore[arg-type]
    "query bytes": ("query", lambda s: s.ask(b"q")),  # type: ignore[arg-type]
    "query oversized": ("query", lambda s: s.ask("à" * 600_000)),
    "response none": ("response", lambda s: s.add_turn("q", None)),  # type: ignore[arg-type]
    "content none": ("content", lambda s: s.add_message("user", None)),  # type: ignore[arg-type]
    "role number": ("role", lambda s: s.add_message(5, "c")),  # type: ignore[arg-type]
    "role empty": ("role", lambda s: s.add_message("", "c")),
    "role long": ("role", lambda s: s.add_message("x" * 256, "c")),
    "role nul": ("role", lambda s: s.add_message("a\x00", "c")),
    "role beside name": ("role", lambda s: s.add_message("moderator", "c", name="Bob")),
    "name blank": ("name", lambda s: s.add_message("user", "c", name=" ")),
    "name number": ("name", lambda s: s.add_message("user", "c", name=5)),  # type: ignore[arg-type]
    "turn id empty": ("turn_id", lambda s: s.add_turn("q", "r", turn_id="")),
    "turn id surrogate": ("turn_id", lambda s: s.ask("q", turn_id="\udc00")),
    "turn number zero": ("turn_number", lambda s: s.add_turn("q", "r", turn_number=0)),
    "turn number bool": ("turn_number", lambda s: s.add_turn("q", "r", turn_number=True)),
    "turn number huge": ("turn_number", lambda s: s.add_turn("q", "r", turn_number=10**30)),
    "time text": ("created_at", lambda s: s.add_turn("q", "r", created_at="2026-01-01")),  # type: ignore[arg-type]
    "time naive": ("created_at", lambda s: s.add_turn("q", "r", created_at=datetime(2026, 1, 1))),
    "time too early": ("created_at", lambda s: s.ask("q", created_at=datetime(1, 1, 1, tzinfo=UTC))),
    "time too late": ("created_at", lambda s: s.ask("q", created_at=LATE)),
    "chunk ids one text": ("chunk_ids", lambda s: s.add_turn("q", "r", chunk_ids="abc")),
    "chunk ids none": ("chunk_ids", lambda s: s.add_turn("q", "r", chunk_ids=None)),  # type: ignore[arg-type]
    "chunk ids number": ("chunk_ids", lambda s: s.add_turn("q", "r", chunk_ids=5)),  # type: ignore[arg-type]
    "chunk ids mapping": ("chunk_ids", lambda s: s.add_turn("q", "r", chunk_ids={"a": 1})),
    "chunk id": ("chunk_ids[1]", lambda s: s.add_turn("q", "r", chunk_ids=["a", 5])),  # type: ignore[list-item]
    "metadata list": ("metadata", lambda s: s.add_turn("q", "r", metadata=[1])),  # type: ignore[arg-type]
    "metadata object": ("metadata", lambda s: s.add_turn("q", "r", metadata={"a": object()})),
    "metadata nan": ("metadata", lambda s: s.add_turn("q", "r", metadata={"a": float("nan")})),
    "metadata infinite": ("metadata", lambda s: s.add_turn("q", "r", metadata={"a": [float("inf")]})),
    "metadata key": ("metadata", lambda s: s.add_turn("q", "r", metadata={1: "a"})),  # type: ignore[dict-item]
    "metadata inner key": ("metadata", lambda s: s.add_turn("q", "r", metadata={"a": [{None: 1}]})),
    "metadata nul": ("metadata", lambda s: s.add_turn("q", "r", metadata={"a": {"b\x00": 1}})),
    "metadata surrogate": ("metadata", lambda s: s.ask("q", metadata={"a": "\ud800"})),
    "metadata deep": ("metadata", lambda s: s.ask("q", metadata={"a": DEEP})),
    "metadata oversized": ("metadata", lambda s: s.ask("q", metadata={"a": "x" * 65_536})),
    "metadata huge number": ("metadata", lambda s: s.ask("q", metadata={"a": 10**5000})),
    "calls none": ("tool_calls", lambda s: s.add_message("assistant", "c", tool_calls=None)),  # type: ignore[arg-type]
    "calls mapping": ("tool_calls", lambda s: s.add_message("assistant", "c", tool_calls={"a": 1})),  # type: ignore[dict-item]
    "call text": ("tool_calls[0]", lambda s: s.add_message("assistant", "c", tool_calls=["f"])),  # type: ignore[list-item]
    "call empty": ("tool_calls[0]", lambda s: s.add_message("assistant", "", tool_calls=[{}])),
    "call none": ("tool_calls[0]", lambda s: s.add_message("assistant", "", tool_calls=[None])),  # type: ignore[list-item]
    "call of a user": ("tool_calls", lambda s: s.add_message("user", "", tool_calls=[{"a": 1}])),
    "call of a speaker": ("tool_calls", lambda s: s.add_message("Bob", "", tool_calls=[{"a": 1}])),
    "call id": ("tool_call_id", lambda s: s.add_message("tool", "c", tool_call_id="")),
    "receipt": ("receipt", lambda s: s.add_turn("q", "r", receipt="r")),  # type: ignore[arg-type]
    "answer to nothing": ("turn", lambda s: s.answer(None, "r")),  # type: ignore[arg-type]
    "answer to a NUL": ("turn", lambda s: s.answer("a\x00", "r")),
    "answer to a lone surrogate": ("turn", lambda s: s.answer("a\ud800", "r")),
    "answer to a number": ("turn", lambda s: s.answer(1, "r")),  # type: ignore[arg-type]
}  # fmt: skip


@pytest.mark.parametrize(("field", "say"), REFUSALS.values(), ids=REFUSALS.keys())
def test_hostile_input_is_refused_by_name_and_leaves_no_trace(field: str, say: Saying) -> None:
    """The error names the field, its message begins with it, and the store is as empty as before."""
    kept = memory()
    with pytest.raises(ValidationError) as caught:
        say(kept.session("s", user_id="anna"))
    assert caught.value.field == field
    assert str(caught.value).startswith(f"{field}: ")
    assert kept.stats().holds == memory().stats().holds


@given(refused_texts(), st.sampled_from(["query", "response", "content", "asked", "late"]))
def test_blank_broken_and_nul_texts_are_refused_everywhere(text: str, where: str) -> None:
    """No way of saying something takes a text that may not be stored; an open turn stays open."""
    kept = memory()
    session = kept.session("s", user_id="anna")
    asked = session.ask("Domanda?")
    before = session.history()
    attempts: dict[str, tuple[str, Callable[[], object]]] = {
        "query": ("query", lambda: session.add_turn(text, "r")),
        "response": ("response", lambda: session.add_turn("q", text)),
        "content": ("content", lambda: session.add_message("user", text)),
        "asked": ("query", lambda: session.ask(text)),
        "late": ("response", lambda: asked.answer(text)),
    }
    field, attempt = attempts[where]
    with pytest.raises(ValidationError) as caught:
        attempt()
    assert caught.value.field == field
    assert session.history() == before


@given(st.one_of(refused_texts(), st.text("x", min_size=256, max_size=300), st.sampled_from([None, 5, b"x", ["a"]])))
def test_hostile_ids_are_refused_by_every_call_that_takes_one(hostile: Any) -> None:
    """user_id, agent_id, session_id and tenant_id are refused by their names."""
    kept = memory()
    calls: list[tuple[str, Callable[[], object]]] = [
        ("user_id", lambda: kept.session(user_id=hostile)),
        ("user_id", lambda: kept.resume("s", user_id=hostile)),
        ("user_id", lambda: kept.sessions(user_id=hostile)),
        ("user_id", lambda: kept.delete_session("s", user_id=hostile)),
        ("user_id", lambda: kept.erase(hostile)),
        ("user_id", lambda: kept.export(hostile)),
        ("agent_id", lambda: kept.session(user_id="anna", agent_id=hostile)),
        ("tenant_id", lambda: ricordo.Memory(MemoryStore(), replace(ricordo.Settings(), tenant_id=hostile))),
    ]
    if hostile is not None:
        calls.append(("session_id", lambda: kept.session(hostile, user_id="anna")))
        calls.append(("agent_id", lambda: kept.sessions(user_id="anna", agent_id=hostile)))
    for field, call in calls:
        with pytest.raises((ValidationError, ricordo.SettingsError), match=field):
            call()
    with pytest.raises(ricordo.NotFoundError):  # nobody can have a session of such a name
        kept.delete_session(hostile, user_id="anna")


@pytest.mark.parametrize("number", [-1, 1.5, "3", None, True, 10**30])
def test_hostile_numbers_are_refused_by_name(number: Any) -> None:
    """Limits, pages and turn numbers are whole numbers of a sane size."""
    kept = memory()
    session = kept.session("s", user_id="anna")
    session.add_turn("q", "r")
    calls: list[tuple[str, Callable[[], object]]] = [
        ("limit", lambda: session.receipts(limit=number)),
        ("turn_number", lambda: session.rebuild(number)),
    ]
    if number is not None:
        calls.append(("limit", lambda: session.history(limit=number)))
        calls.append(("before", lambda: session.history(before=number)))
        calls.append(("limit", lambda: kept.sessions(user_id="anna", limit=number)))
        calls.append(("before", lambda: kept.sessions(user_id="anna", before=number)))
        calls.append(("budget", lambda: session.context("q", budget=number)))
    for field, call in calls:
        with pytest.raises(ValidationError) as caught:
            call()
        assert caught.value.field == field


def test_the_size_of_a_text_is_measured_in_bytes() -> None:
    """A text of exactly the limit is kept, one byte more is refused."""
    session = memory(limits=Limits(text_bytes=10)).session(user_id="anna")
    assert session.ask("àèìòù").query == "àèìòù"
    with pytest.raises(ValidationError, match=r"query: is larger than 10 bytes"):
        session.ask("àèìòùx")


@given(st.sampled_from(ROLES), st.booleans())
def test_only_an_unanswered_turn_takes_more(role: str, calling: bool) -> None:
    """A user always opens a turn; the others join the newest turn while it has no answer."""
    session = memory().session(user_id="anna")
    calls = ({"a": 1},) if calling and role == "assistant" else ()
    message = session.add_message(role, "parole", tool_calls=calls)
    newest = session.history()[-1]
    asked = memory().session(user_id="anna").ask("Domanda?").turn
    joins = "step" if calls or role in ("system", "tool") else "answer"
    assert place(message, None) == "new"
    assert place(message, asked) == ("new" if role == "user" else joins)
    assert newest.messages == (message,)
    assert place(message, replace(asked, answer=message)) == "new"
