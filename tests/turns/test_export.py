"""Export and import: out and in again is identity, twice is once, and a forged document is refused by name."""

import copy
import json
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.errors import ValidationError
from ricordo.languages.italian import LABELS as ITALIAN
from ricordo.limits import Limits
from ricordo.records.turns import Owner, SessionInfo, Turn
from ricordo.testing import FakeClock, MemoryStore
from ricordo.testing.strategies import ids, metadata, moments, texts, turns
from ricordo.turns.export import from_document, to_document, to_markdown

ANNA = Owner("acme", "anna")


@st.composite
def sessions(draw: st.DrawFn) -> tuple[SessionInfo, list[Turn]]:
    """Any session with any turns, numbered from any number on."""
    spoken = draw(st.lists(turns(ANNA, "s"), max_size=4))
    first = draw(st.integers(1, 3))
    session = SessionInfo(
        id="s",
        owner=ANNA,
        agent_id=draw(ids()),
        created_at=draw(moments()),
        last_active_at=draw(moments()),
        title=draw(st.none() | texts()),
        document_ids=tuple(draw(st.lists(ids(), max_size=2))),
        tags=tuple(draw(st.lists(ids(), max_size=2))),
        metadata=draw(metadata()),
        ended_at=draw(st.none() | moments()),
    )
    return session, [replace(turn, turn_number=first + n).sealed() for n, turn in enumerate(spoken)]


def memory(tenant_id: str = "default") -> ricordo.Memory:
    """An empty memory with a clock that stands still, and nobody at work beside it: what is compared stays the same."""
    kept = ricordo.Memory(MemoryStore(), ricordo.Settings(tenant_id=tenant_id), clock=FakeClock())
    kept.rest()
    return kept


@given(sessions())
def test_a_document_gives_back_the_very_records(session: tuple[SessionInfo, list[Turn]]) -> None:
    """Through JSON text and back, the session and every turn are equal to what they were."""
    document = json.loads(json.dumps(to_document(*session)))
    assert from_document(document, "acme", None, Limits()) == session


@given(sessions(), ids())
def test_a_document_can_be_given_to_another_user(session: tuple[SessionInfo, list[Turn]], user_id: str) -> None:
    """With a user named, session and turns are that user's and otherwise unchanged."""
    taken, spoken = from_document(to_document(*session), "other", user_id, Limits())
    owner = Owner("other", user_id)
    assert taken == replace(session[0], owner=owner)
    assert spoken == [replace(turn, owner=owner) for turn in session[1]]


@given(sessions())
def test_markdown_holds_every_message(session: tuple[SessionInfo, list[Turn]]) -> None:
    """The page to read has every turn's number and every message word for word."""
    page = to_markdown(*session, ITALIAN)
    assert page.startswith("# ")
    for turn in session[1]:
        assert f"## {turn.turn_number}\n" in page
        assert all(message.content in page for message in turn.messages)


SAYINGS = st.lists(
    st.tuples(
        st.sampled_from(["turn", "ask", "user", "assistant", "system", "tool", "calls", "Bob"]), texts(), texts()
    ),
    max_size=8,
)


def say_all(session: ricordo.Session, sayings: list[tuple[str, str, str]]) -> None:
    """Say things in every way that the session offers."""
    for how, one, other in sayings:
        if how == "turn":
            session.add_turn(one, other, chunk_ids=["c1", "c2"], metadata={"intent": one})
        elif how == "ask":
            session.ask(one)
        elif how == "calls":
            session.add_message(
                "assistant", "", tool_calls=[{"id": "1", "function": {"name": "f", "arguments": other}}]
            )
        else:
            session.add_message(how, one, tool_call_id="1" if how == "tool" else None, metadata={"k": other})


@given(SAYINGS, SAYINGS)
def test_a_round_trip_through_two_memories_is_identity(
    first: list[tuple[str, str, str]], second: list[tuple[str, str, str]]
) -> None:
    """Everything of a user, exported and imported elsewhere, exports to the same documents and reads the same."""
    source, target = memory(), memory()
    for name, sayings in (("one", first), ("two", second)):
        say_all(source.session(name, user_id="anna"), sayings)
    documents = json.loads(json.dumps(list(source.export("anna"))))
    result = target.import_documents(documents)
    spoken = sum(len(document["turns"]) for document in documents)
    assert (result.sessions_added, result.turns_added, result.errors) == (len(documents), spoken, ())
    assert list(target.export("anna")) == documents
    for name in ("one", "two"):
        assert target.session(name, user_id="anna").history() == source.session(name, user_id="anna").history()
        assert target.session(name, user_id="anna").window() == source.session(name, user_id="anna").window()
    assert target.verify().ok


@given(SAYINGS)
def test_importing_twice_is_importing_once(sayings: list[tuple[str, str, str]]) -> None:
    """A second import finds everything known and changes nothing."""
    source, target = memory(), memory()
    say_all(source.session("one", user_id="anna"), sayings)
    documents = list(source.export("anna"))
    target.import_documents(documents)
    before = list(target.export("anna")), target.stats()
    again = target.import_documents(documents)
    assert (again.sessions_added, again.turns_added, again.errors) == (0, 0, ())
    assert again.turns_known == sum(len(document["turns"]) for document in documents)
    assert (list(target.export("anna")), target.stats()) == before


def test_ended_titled_and_cleared_sessions_travel() -> None:
    """Title, tags, documents, metadata and the end of a session survive, also when its history was cleared."""
    source, target = memory(), memory()
    session = source.session("s", user_id="anna", agent_id="tutor")
    session.add_turn("Che cos'è?", "Questo.")
    session.update(title="Cuore", tags=["esame"], document_ids=["libro"], metadata={"corso": 3})
    ended = session.end().session
    assert target.import_documents([session.export()]).errors == ()
    assert replace(target.session("s", user_id="anna").info(), revision=ended.revision) == ended
    session.clear()
    empty = memory()
    assert empty.import_documents([session.export()]).sessions_added == 1
    assert empty.session("s", user_id="anna").info().title == "Cuore"
    assert empty.session("s", user_id="anna").history() == []


# Forged documents


def good_document() -> dict[str, Any]:
    """A document with a question, steps, an answer and everything that they may carry."""
    source = memory()
    session = source.session("s", user_id="anna")
    session.add_message("user", "Cerca i gradi", name="anna")
    session.add_message("assistant", "", tool_calls=[{"id": "1", "function": {"name": "f"}}])
    session.add_message("tool", "quattro", tool_call_id="1")
    session.add_message("assistant", "Sono quattro.", chunk_ids=["c1"])
    return json.loads(json.dumps(session.export()))  # type: ignore[no-any-return]


def turn_of(document: dict[str, Any]) -> dict[str, Any]:
    """The first turn of a document."""
    return document["turns"][0]  # type: ignore[no-any-return]


FORGERIES: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "no format": ("format", lambda d: d.pop("format")),
    "other format": ("format", lambda d: d.update(format="other")),
    "later version": ("version", lambda d: d.update(version=2)),
    "no user": ("user_id", lambda d: d.pop("user_id")),
    "blank user": ("user_id", lambda d: d.update(user_id=" ")),
    "no session": ("session", lambda d: d.pop("session")),
    "session id": ("session.id", lambda d: d["session"].update(id="x" * 256)),
    "session time": ("session.created_at", lambda d: d["session"].update(created_at="yesterday")),
    "session naive time": ("session.created_at", lambda d: d["session"].update(created_at="2026-01-01T00:00:00")),
    "session tags": ("session.tags", lambda d: d["session"].update(tags=5)),
    "session tag": ("session.tags[1]", lambda d: d["session"].update(tags=["a", ""])),
    "session documents": ("session.document_ids", lambda d: d["session"].update(document_ids="a")),
    "session metadata": ("session.metadata", lambda d: d["session"].update(metadata=[1])),
    "session title": ("session.title", lambda d: d["session"].update(title="\x00")),
    "no turns": ("turns", lambda d: d.pop("turns")),
    "turns no list": ("turns", lambda d: d.update(turns={"0": {}})),
    "turn no mapping": ("turns[0]", lambda d: d.update(turns=["hello"])),
    "turn empty": ("turns[0]", lambda d: turn_of(d).update(question=None, steps=[], answer=None)),
    "turn id": ("turns[0].id", lambda d: turn_of(d).update(id="a\x00b")),
    "turn agent": ("turns[0].agent_id", lambda d: turn_of(d).pop("agent_id")),
    "turn number zero": ("turns[0].turn_number", lambda d: turn_of(d).update(turn_number=0)),
    "turn number text": ("turns[0].turn_number", lambda d: turn_of(d).update(turn_number="1")),
    "turn number huge": ("turns[0].turn_number", lambda d: turn_of(d).update(turn_number=2**64)),
    "turn time": ("turns[0].created_at", lambda d: turn_of(d).update(created_at=0)),
    "turn origin": ("turns[0].origin", lambda d: turn_of(d).update(origin="elsewhere")),
    "turn counter": ("turns[0].counter", lambda d: turn_of(d).update(counter=5)),
    "turn metadata": ("turns[0].metadata", lambda d: turn_of(d).update(metadata="x")),
    "steps no list": ("turns[0].steps", lambda d: turn_of(d).update(steps=5)),
    "step no mapping": ("turns[0].steps[0]", lambda d: turn_of(d).update(steps=["x"])),
    "question no mapping": ("turns[0].question", lambda d: turn_of(d).update(question=[])),
    "answer no mapping": ("turns[0].answer", lambda d: turn_of(d).update(answer="")),
    "question blank": ("turns[0].question.content", lambda d: turn_of(d)["question"].update(content=" ")),
    "question surrogate": ("turns[0].question.content", lambda d: turn_of(d)["question"].update(content="\ud800")),
    "question as system": ("turns[0].question.role", lambda d: turn_of(d)["question"].update(role="system")),
    "answer as user": ("turns[0].answer.role", lambda d: turn_of(d)["answer"].update(role="user")),
    "answer that calls": ("turns[0].answer.tool_calls", lambda d: turn_of(d)["answer"].update(tool_calls=[{"a": 1}])),
    "unknown role": ("turns[0].steps[1].role", lambda d: turn_of(d)["steps"][1].update(role="root")),
    "calls no list": ("turns[0].steps[0].tool_calls", lambda d: turn_of(d)["steps"][0].update(tool_calls=5)),
    "empty call": ("turns[0].steps[0].tool_calls[0]", lambda d: turn_of(d)["steps"][0].update(tool_calls=[{}])),
    "call of a tool": ("turns[0].steps[1].tool_calls", lambda d: turn_of(d)["steps"][1].update(tool_calls=[{"a": 1}])),
    "chunk ids": ("turns[0].answer.chunk_ids", lambda d: turn_of(d)["answer"].update(chunk_ids=None)),
    "tokens": ("turns[0].answer.tokens", lambda d: turn_of(d)["answer"].update(tokens=-1)),
    "message time": ("turns[0].answer.created_at", lambda d: turn_of(d)["answer"].pop("created_at")),
    "name": ("turns[0].question.name", lambda d: turn_of(d)["question"].update(name="")),
    "tool call id": ("turns[0].steps[1].tool_call_id", lambda d: turn_of(d)["steps"][1].update(tool_call_id=7)),
}


@pytest.mark.parametrize(("field", "forge"), FORGERIES.values(), ids=FORGERIES.keys())
def test_a_forged_document_is_refused_by_field(field: str, forge: Callable[[dict[str, Any]], object]) -> None:
    """Each forgery raises one ValidationError that names the field, and an import of it writes nothing."""
    document = good_document()
    forge(document)
    with pytest.raises(ValidationError) as caught:
        from_document(document, "default", None, Limits())
    assert caught.value.field == field
    target = memory()
    result = target.import_documents([document])
    assert len(result.errors) == 1
    assert field in result.errors[0]
    assert target.stats().holds.sessions == 0


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("2026-01-01T00:00:00Z"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=4,
)


@st.composite
def tampered(draw: st.DrawFn) -> Any:
    """A good document with one value anywhere replaced by anything."""
    document: Any = copy.deepcopy(good_document())
    here = document
    while True:
        keys = list(here) if isinstance(here, dict) else list(range(len(here)))
        key = draw(st.sampled_from(keys))
        inner = here[key]
        if not isinstance(inner, dict | list) or not inner or draw(st.booleans()):
            here[key] = draw(JSON)
            return document
        here = inner


@given(tampered())
def test_no_tampering_raises_anything_but_a_validation_error(document: Any) -> None:
    """Whatever stands anywhere in a document, it is taken or refused, never stumbled over."""
    target = memory()
    result = target.import_documents([document])
    assert result.sessions_added + len(result.errors) == 1
    assert target.verify().ok


def test_token_counts_of_a_document_are_not_believed() -> None:
    """A long text that claims to cost nothing is counted again, so that no window is over its limit."""
    source, target = memory(), memory()
    source.session("s", user_id="anna").add_turn("parole " * 3000, "risposta " * 3000)
    document = source.session("s", user_id="anna").export()
    turn_of(document)["question"]["tokens"] = turn_of(document)["answer"]["tokens"] = 0
    assert target.import_documents([document]).errors == ()
    window = target.session("s", user_id="anna").window()
    assert window.shortened
    assert window.total_tokens <= 2_000
    assert all(message.tokens == target.counter.count(message.content) for message in window.messages)


def test_a_document_that_could_not_be_read_is_reported_and_the_rest_goes_in() -> None:
    """An exception among the documents is one error of the result, whatever its class."""
    target = memory()
    steps: list[int] = []
    documents = [OSError("no such file"), KeyError("x"), good_document(), 5]
    result = target.import_documents(documents, progress=steps.append)  # type: ignore[arg-type]
    assert (result.sessions_added, len(result.errors)) == (1, 3)
    assert "no such file" in result.errors[0]
    assert steps == [1, 2, 3, 4]


def test_a_document_that_meets_other_content_is_a_conflict() -> None:
    """An import never overwrites: a taken turn number with other words is reported and nothing changes."""
    target = memory()
    document = good_document()
    target.import_documents([document])
    before = list(target.export("anna"))
    turn_of(document)["answer"]["content"] = "Sono cinque."
    result = target.import_documents([document])
    assert len(result.errors) == 1
    assert list(target.export("anna")) == before


def test_markdown_to_the_letter() -> None:
    """Title, date, numbered turns, who spoke and when, what was cited."""
    clock = FakeClock()
    source = ricordo.Memory(MemoryStore(), ricordo.Settings(locale=ITALIAN), clock=clock)
    session = source.session("s", user_id="anna")
    session.ask("Quanti gradi?")
    clock.advance(timedelta(minutes=1))
    session.add_message("assistant", "", tool_calls=[{"function": {"name": "cerca"}}])
    session.add_message("assistant", "Quattro.", chunk_ids=["cap1", "cap2"])
    session.update(title="Il\ncuore")
    assert session.export("markdown") == (
        "# Il cuore\n\n- id: s\n- created: 2026-03-02 09:00 UTC\n- last active: 2026-03-02 09:01 UTC\n"
        f"- turns: 1, messages: 3, tokens: {session.info().token_count}\n\n## 1\n\n"
        "**UTENTE** (2026-03-02 09:00)\n\nQuanti gradi?\n\n"
        "**ASSISTENTE** (2026-03-02 09:01)\n\n[cerca]\n\n"
        "**ASSISTENTE** (2026-03-02 09:01)\n\nQuattro.\n\n[fonti: cap1, cap2]\n"
    )


def test_an_export_from_before_an_erasure_is_not_imported_for_that_user() -> None:
    """The words stay erased, the error names the time and the remedy; for another user id they are taken."""
    with ricordo.Memory(MemoryStore()) as memory:
        memory.session("s", user_id="anna").add_turn("My locker code is 4711", "Noted.")
        documents = list(memory.export("anna"))
        memory.erase("anna")
        refused = memory.import_documents(documents)
        assert (refused.sessions_added, refused.turns_added) == (0, 0)
        assert "was erased at" in refused.errors[0]
        assert "another user id" in refused.errors[0]
        assert list(memory.sessions(user_id="anna")) == []
        assert memory.import_documents(documents, user_id="anna-2").turns_added == 1
