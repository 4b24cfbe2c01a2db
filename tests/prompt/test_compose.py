"""Composing through the façade: budgets, chunks, receipts that outlive the talk, and a chat that goes on regardless."""

import logging
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import ricordo
from ricordo.engine.tokens import ApproximateCounter
from ricordo.errors import (
    BudgetError,
    DamageError,
    NotFoundError,
    ReceiptError,
    StoreError,
    StoreUnavailable,
    ValidationError,
)
from ricordo.languages.italian import LABELS as ITALIAN
from ricordo.records.values import canonical
from ricordo.settings import BudgetSettings, Settings, WindowSettings
from ricordo.testing import FakeClock, MemoryStore
from ricordo.testing.fakes import StoreProxy
from ricordo.testing.strategies import texts

SAYING = texts(40) | st.integers(1, 80).map(lambda n: "parole " * n)
TALKS = st.lists(st.tuples(st.sampled_from(["turn", "ask", "tools", "Bob"]), SAYING, SAYING), max_size=5)
WINDOWS = st.builds(WindowSettings, max_turns=st.none() | st.integers(0, 5), max_tokens=st.integers(0, 600))


def memory(*, store: Any = None, counter: Any = None, **settings: Any) -> ricordo.Memory:
    """A memory with a clock that stands still."""
    return ricordo.Memory(store or MemoryStore(), Settings(**settings), clock=FakeClock(), counter=counter)


def talk(session: ricordo.Session, said: list[tuple[str, str, str]]) -> None:
    """Say things in several ways."""
    for how, one, other in said:
        if how == "turn":
            session.add_turn(one, other, chunk_ids=["c1"])
        elif how == "ask":
            session.ask(one)
        elif how == "tools":
            session.ask(one)
            session.add_message(
                "assistant", "", tool_calls=[{"id": "1", "function": {"name": "f", "arguments": other}}]
            )
            session.add_message("tool", other, tool_call_id="1")
        else:
            session.add_message(how, one)


def recount(messages: tuple[dict[str, Any], ...], counter: Any) -> int:
    """What a chat API counts."""
    total = 3 if messages else 0
    for message in messages:
        total += 4 + counter.count(message["content"])
        total += sum(counter.count(canonical(call)) for call in message.get("tool_calls", ()))
        total += 1 + counter.count(message["name"]) if "name" in message else 0
    return total


@given(
    TALKS, WINDOWS, SAYING, st.lists(SAYING, max_size=9), st.integers(0, 900), st.sampled_from(["o200k", "approximate"])
)
def test_a_context_keeps_every_limit(
    said: list[tuple[str, str, str]], window: WindowSettings, question: str, chunks: list[str], limit: int, model: str
) -> None:
    """Whatever was said and offered, both forms stay within the limit and the window within its own."""
    kept = memory(window=window, model=model)
    session = kept.session(user_id="anna")
    talk(session, said)
    assert session.window().total_tokens <= window.max_tokens
    context = session.context(question, chunks=chunks, budget=limit)
    assert recount(context.messages, kept.counter) == context.receipt.total_tokens <= limit
    assert kept.counter.count(context.prompt) == context.receipt.prompt_tokens <= limit


@given(TALKS, WINDOWS, SAYING, st.integers(0, 900), st.sampled_from(["add_turn", "ask first", "ask later"]))
def test_a_past_context_is_rebuilt_whatever_came_after(
    said: list[tuple[str, str, str]], window: WindowSettings, question: str, limit: int, way: str
) -> None:
    """The context of a turn comes back byte for byte after answers and turns that came later."""
    session = memory(window=window, locale=ITALIAN).session(user_id="anna")
    talk(session, said)
    open_turns = [turn for turn in session.history() if turn.is_open]
    if way == "ask first":
        asked = session.ask(question)
        context = session.context(question, chunks=["materiale " * 30], budget=limit, system="Sei un tutor. " * 20)
        turn = asked.answer("Risposta.")
    else:
        context = session.context(question, chunks=["materiale " * 30], budget=limit, system="Sei un tutor. " * 20)
        turn = (
            session.add_turn(question, "Risposta.") if way == "add_turn" else session.ask(question).answer("Risposta.")
        )
    for each in open_turns:
        session.answer(each, "Tardi.")
    talk(session, [("turn", "Ancora?", "Sì."), ("ask", "Davvero?", "")])
    again = session.rebuild(turn.turn_number)
    assert (again.messages, again.prompt, again.question) == (context.messages, context.prompt, context.question)
    assert again.receipt.turn_number == turn.turn_number
    assert replace(again.receipt, recipe={}, turn_number=None) == replace(context.receipt, recipe={})
    assert session.receipts()[0].messages_digest == context.receipt.messages_digest


@given(TALKS, SAYING, st.integers(50, 900), st.integers(1, 400))
def test_a_larger_budget_keeps_a_superset(
    said: list[tuple[str, str, str]], question: str, limit: int, more: int
) -> None:
    """Through the façade too, no item is lost when the budget grows."""
    kept = memory()
    session = kept.session(user_id="anna")
    talk(session, said)
    assert kept.settle(20)  # both contexts are of the same memory
    chunks = [("a", "breve"), ("b", "parole " * 60), ("c", "fine")]
    small = session.context(question, chunks=chunks, budget=limit).receipt
    large = session.context(question, chunks=chunks, budget=limit + more).receipt
    assert {(i.section, i.id) for i in small.kept} <= {(i.section, i.id) for i in large.kept}
    assert {(i.section, i.id) for i in small.items if i.in_prompt} <= {
        (i.section, i.id) for i in large.items if i.in_prompt
    }


class Tampered(StoreProxy):
    """A store that gives other turns back than it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.change: Callable[[ricordo.Turn], ricordo.Turn | None] = lambda turn: turn

    def turns_get(self, *which: Any) -> Any:
        found = self.inner.turns.get(*which)
        return self.change(found) if found else None


def test_a_rebuilt_context_is_exact_or_refused() -> None:
    """Once a message of the context is gone, or another stands in its place, rebuilding raises ReceiptError."""
    store = Tampered()
    session = memory(store=store).session("s", user_id="anna")
    session.add_turn("Prima domanda?", "Prima risposta.")
    session.context("Seconda domanda?")
    session.add_turn("Seconda domanda?", "Seconda risposta.")
    assert session.rebuild(2).messages[0]["content"] == "Prima domanda?"
    store.change = lambda turn: replace(turn, answer=replace(turn.answer, content="Altra."))  # type: ignore[type-var]
    with pytest.raises(ReceiptError, match="changed"):
        session.rebuild(2)
    store.change = lambda turn: replace(turn, answer=None)
    with pytest.raises(ReceiptError, match="gone"):
        session.rebuild(2)
    store.change = lambda turn: None
    with pytest.raises(ReceiptError, match="gone"):
        session.rebuild(2)


def test_a_turn_without_a_context_has_no_receipt() -> None:
    """A receipt belongs to the turn whose question it was built for, and is not handed on to the next."""
    session = memory().session(user_id="anna")
    session.context("Continua")
    session.add_turn("Altro?", "No.")
    session.context("Continua")
    session.add_turn("Continua", "Ecco.")
    session.add_turn("Continua", "Ecco ancora.")
    assert [receipt.turn_number for receipt in session.receipts()] == [2]
    for number in (1, 3, 4):
        with pytest.raises(NotFoundError, match=f"turn {number}"):
            session.rebuild(number)


def test_a_receipt_can_be_handed_over() -> None:
    """A server that builds the context in one request and stores the turn in another passes the receipt along."""
    kept = memory()
    context = kept.session("s", user_id="anna").context("Domanda?")
    kept.session("s", user_id="anna").add_turn("Domanda?", "Risposta.", receipt=context.receipt)
    assert kept.session("s", user_id="anna").rebuild(1).messages == context.messages


def test_an_open_question_is_not_history_of_itself() -> None:
    """Asked and then composed, the question stands in the context once; an older open question is history."""
    session = memory().session(user_id="anna")
    session.ask("Vecchia domanda")
    session.ask("Nuova domanda")
    contents = [message["content"] for message in session.context("Nuova domanda").messages]
    assert contents == ["Vecchia domanda", "Nuova domanda"]


@pytest.mark.parametrize(
    ("window", "said", "most"),
    [
        (WindowSettings(), 0, 8),
        (WindowSettings(), 1, 6),
        (WindowSettings(max_turns=0), 1, 6),
        (WindowSettings(max_tokens=0), 1, 6),
        (WindowSettings(max_turns=0), 0, 8),
    ],
)
@pytest.mark.parametrize("asked", [False, True])
def test_eight_chunks_for_a_first_question_six_later(window: WindowSettings, said: int, most: int, asked: bool) -> None:
    """What counts is whether the session has an earlier turn, not whether it fits the window."""
    session = memory(window=window).session(user_id="anna")
    talk(session, [("turn", "Prima?", "Sì.")] * said)
    if asked:
        session.ask("Domanda?")
    items = session.context("Domanda?", chunks=[f"testo {n}" for n in range(10)]).receipt.items
    chunks = [item for item in items if item.section == "chunks"]
    assert [item.kept for item in chunks] == [True] * most + [False] * (10 - most)
    assert {item.reason for item in chunks[most:]} == {f"over the limit of {most} chunks"}


def test_chunks_come_in_the_shapes_that_callers_have() -> None:
    """Records, pairs, mappings and plain texts are chunks; those without an id are numbered."""
    chunks: list[Any] = [
        ricordo.Chunk("a", "uno"),
        ("b", "due"),
        {"id": "c", "text": "tre"},
        {"content": "quattro"},
        "cinque",
    ]
    prompt = memory().session(user_id="anna").context("Domanda?", chunks=chunks).prompt
    assert "[a] uno\n[b] due\n[c] tre\n[chunk-4] quattro\n[chunk-5] cinque" in prompt


Composing = Callable[[ricordo.Session], object]
REFUSALS: dict[str, tuple[str, Composing]] = {
    "question": ("question", lambda s: s.context(" ")),
    "question none": ("question", lambda s: s.context(None)),  # type: ignore[arg-type]
    "chunks text": ("chunks", lambda s: s.context("q", chunks="abc")),
    "chunks none": ("chunks", lambda s: s.context("q", chunks=None)),  # type: ignore[arg-type]
    "chunk number": ("chunks[1]", lambda s: s.context("q", chunks=["a", 5])),  # type: ignore[list-item]
    "chunk triple": ("chunks[0]", lambda s: s.context("q", chunks=[("a", "b", "c")])),  # type: ignore[list-item]
    "chunk id": ("chunks[0].id", lambda s: s.context("q", chunks=[("", "b")])),
    "chunk id number": ("chunks[0].id", lambda s: s.context("q", chunks=[{"id": 5, "text": "b"}])),
    "chunk text": ("chunks[0].text", lambda s: s.context("q", chunks=[{"id": "a"}])),
    "chunk text blank": ("chunks[0].text", lambda s: s.context("q", chunks=[" "])),
    "chunk surrogate": ("chunks[0].text", lambda s: s.context("q", chunks=[ricordo.Chunk("a", "\ud800")])),
    "system": ("system", lambda s: s.context("q", system="\x00")),
    "safety": ("safety", lambda s: s.context("q", safety=5)),  # type: ignore[arg-type]
    "profile": ("profile", lambda s: s.context("q", profile="\udfff")),
    "summary": ("summary", lambda s: s.context("q", summary=None)),  # type: ignore[arg-type]
    "format": ("format_instructions", lambda s: s.context("q", format_instructions=b"x")),  # type: ignore[arg-type]
    "recalled": ("recalled", lambda s: s.context("q", recalled=5)),  # type: ignore[arg-type]
    "recalled text": ("recalled[0]", lambda s: s.context("q", recalled=["x"])),  # type: ignore[list-item]
    "recalled id": ("recalled[0].id", lambda s: s.context("q", recalled=[ricordo.Remembered("", "x")])),
    "recalled blank": ("recalled[0].text", lambda s: s.context("q", recalled=[ricordo.Remembered("a", "")])),
    "budget": ("budget", lambda s: s.context("q", budget=-1)),
    "budget text": ("budget", lambda s: s.context("q", budget="100")),  # type: ignore[arg-type]
}


@pytest.mark.parametrize(("field", "compose"), REFUSALS.values(), ids=REFUSALS.keys())
def test_hostile_material_is_refused_by_name(field: str, compose: Composing) -> None:
    """What cannot be part of a prompt is refused before anything is read or counted."""
    with pytest.raises(ValidationError) as caught:
        compose(memory().session(user_id="anna"))
    assert caught.value.field == field


def test_settings_fill_the_slots_that_are_not_given() -> None:
    """Safety, system prompt and format come from the settings; an argument replaces one, an empty one removes it."""
    session = memory(safety_rules="Sii gentile.", system_prompt="Sei un tutor.", format_instructions="Breve.").session(
        user_id="anna"
    )
    assert session.context("Ciao").messages[0]["content"] == "Sii gentile.\n\nSei un tutor."
    assert session.context("Ciao", system="Sei un medico.").messages[0]["content"] == "Sii gentile.\n\nSei un medico."
    bare = session.context("Ciao", system="", safety="", format_instructions="")
    assert bare.messages == ({"role": "user", "content": "Ciao"},)


def test_a_budget_too_small_for_safety_is_refused() -> None:
    """The error says what safety takes, what is left and what to change."""
    session = memory(safety_rules="Non dare mai diagnosi.").session(user_id="anna")
    with pytest.raises(BudgetError, match=r"raise model_limit, lower answer_reserve or shorten safety_rules"):
        session.context("Ciao", budget=BudgetSettings(model_limit=20, answer_reserve=10))
    assert (
        session.context("Ciao", budget=BudgetSettings(model_limit=200, answer_reserve=100)).receipt.total_tokens <= 100
    )


# When something fails


class Failing(StoreProxy):
    """A store whose every call fails while `away`."""

    def __init__(self, error: Exception | None = None) -> None:
        super().__init__()
        self.error, self.away = error or StoreUnavailable("the database is away"), False

    def through(self, call: str, method: Any) -> Any:
        if self.away:
            raise self.error
        return method


@given(TALKS, SAYING)
def test_the_chat_goes_on_without_its_database(said: list[tuple[str, str, str]], question: str) -> None:
    """With the store away the window is empty and says so; the context still holds system, material and question."""
    store = Failing()
    session = memory(store=store).session("s", user_id="anna")
    talk(session, said)
    before = session.context(question)
    store.away = True
    window = session.window()
    assert (window.turns, window.total_tokens) == ((), 0)
    assert window.degraded == ("history is unavailable: the database is away",)
    context = session.context(question, chunks=["materiale"], system="Sei un tutor.")
    assert context.receipt.degraded == window.degraded
    assert context.messages[0]["content"] == "Sei un tutor."
    assert "materiale" in context.messages[-1]["content"]
    store.away = False
    assert session.context(question) == before


def test_damage_to_what_is_known_of_a_person_leaves_the_history() -> None:
    """Facts that cannot be read cost the profile, and the context says so; the recent turns are there."""

    class Damaged(StoreProxy):
        def people_facts(self, *_: Any, **__: Any) -> Any:
            raise DamageError("the fact f1 cannot be read back")

    session = memory(store=Damaged()).session("s", user_id="anna")
    session.add_turn("Che cos'è il lievito?", "Un fungo.")
    context = session.context("E il sale?")
    assert "Un fungo." in context.prompt
    (note,) = context.receipt.degraded
    assert note == "profile and summary are unavailable: the fact f1 cannot be read back"


def test_what_fails_is_logged_with_its_place_and_without_the_words(caplog: pytest.LogCaptureFixture) -> None:
    """The log names operation, session, user, tenant and cause, and no text of a message."""
    store = Failing()
    session = memory(store=store).session("s", user_id="anna")
    session.add_turn("Un segreto", "Taciuto")
    store.away = True
    with caplog.at_level(logging.WARNING, logger="ricordo"):
        session.context("Un altro segreto")
    (record,) = caplog.records
    assert record.getMessage() == "history is unavailable: the database is away"
    assert {name: vars(record)[name] for name in ("operation", "session_id", "user_id", "tenant_id")} == {
        "operation": "window",
        "session_id": "s",
        "user_id": "anna",
        "tenant_id": "default",
    }
    assert "segreto" not in caplog.text


def test_a_write_that_fails_is_not_acknowledged() -> None:
    """Saying something while the store is away raises its error; afterwards nothing half-written is there."""
    store = Failing()
    session = memory(store=store).session("s", user_id="anna")
    store.away = True
    with pytest.raises(StoreError):
        session.add_turn("Domanda?", "Risposta.")
    store.away = False
    assert session.history() == []


def test_a_known_talk_is_not_split_while_the_store_is_away() -> None:
    """Resuming cannot look an id up then, and takes it at its word instead of starting anew."""
    store = Failing()
    kept = memory(store=store)
    store.away = True
    assert kept.resume("s", user_id="anna").id == "s"
    assert kept.resume("", user_id="anna").id != ""


class Broken:
    """A counter that fails for every text."""

    name, exact, message_overhead = "broken", True, 4

    def count(self, text: str) -> int:
        raise MemoryError(text)


def test_the_chat_goes_on_when_counting_fails(caplog: pytest.LogCaptureFixture) -> None:
    """Where tokens cannot be counted the context is built without memory by the approximate rule, and says so."""
    store = MemoryStore()
    memory(store=store).session("s", user_id="anna").add_turn("Un segreto", "Taciuto")
    session = memory(store=store, counter=Broken()).session("s", user_id="anna")
    window = session.window()
    assert (window.turns, window.degraded) == ((), ("history is unavailable: MemoryError",))
    context = session.context("Ciao", system="Sei un tutor.", budget=100)
    assert context.messages == ({"role": "system", "content": "Sei un tutor."}, {"role": "user", "content": "Ciao"})
    assert context.receipt.counter == "approximate-4"
    assert context.receipt.degraded == (window.degraded[0], "tokens cannot be counted by broken: MemoryError")
    assert "segreto" not in caplog.text


def test_an_approximate_count_is_labelled() -> None:
    """Receipt and stats say when tokens are approximate, and why."""
    kept = memory(model="some-model", locale=ITALIAN)
    receipt = kept.session(user_id="anna").context("Ciao").receipt
    assert (receipt.counter, receipt.counter_exact) == ("approximate-3", False)
    assert receipt.degraded == ("tokens are approximate (approximate-3)",)
    assert kept.stats().counter_exact is False
    assert "some-model" in kept.stats().degraded[0]


@given(TALKS)
def test_turns_counted_by_another_counter_are_counted_again(said: list[tuple[str, str, str]]) -> None:
    """A store written with one counter and opened with another gives windows that are right by the new one."""
    store = MemoryStore()
    talk(memory(store=store, counter=ApproximateCounter(3)).session("s", user_id="anna"), said)
    kept = memory(store=store, window=WindowSettings(max_turns=None, max_tokens=10**6))
    window = kept.session("s", user_id="anna").window()
    assume(window.turns)
    assert window.total_tokens == sum(
        4
        + kept.counter.count(message.content)
        + sum(kept.counter.count(canonical(call)) for call in message.tool_calls)
        + (1 + kept.counter.count(message.name) if message.name else 0)
        for message in window.messages
    )


def test_long_windows_are_read_in_pages() -> None:
    """An unbounded window reads as far back as fits, also across pages."""
    kept = memory(window=WindowSettings(max_turns=None, max_tokens=10**6))
    session = kept.session("s", user_id="anna")
    for number in range(150):
        session.add_turn(f"Domanda {number}", "Risposta.")
    assert [turn.turn_number for turn in session.window().turns] == list(range(1, 151))
