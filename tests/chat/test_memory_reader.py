"""Answers from memory: what was said is quoted with its speaker and day; what was not said is not claimed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

import ricordo
from ricordo import Memory
from ricordo.chat.pipeline import Chat
from ricordo.chat.response import ChatRequest, ChatResponse
from ricordo.errors import StoreUnavailable


@pytest.fixture
def memory() -> Iterator[Memory]:
    """A memory with two past sessions of one user."""
    with ricordo.open(":memory:", embedder="light") as opened:
        now = datetime.now(UTC)
        first = opened.session(user_id="anna")
        first.add_turn("My dentist appointment is on Thursday at 15:40", "Noted.", created_at=now - timedelta(days=9))
        first.add_turn(
            "My knee hurts after running",
            "For the knee I recommend ten minutes of ice and a shorter stride.",
            created_at=now - timedelta(days=9),
        )
        second = opened.session(user_id="anna")
        second.add_turn("Il mio forno arriva a 275 gradi", "Perfetto per la pizza.", created_at=now - timedelta(days=1))
        yield opened


def ask(memory: Memory, question: str, user: str = "anna", session: str | None = None) -> ChatResponse:
    """The answer of a chat without a model."""
    return Chat(memory).ask(ChatRequest(question, user, session_id=session))


def test_recall_of_the_users_words(memory: Memory) -> None:
    """What the user said in another session is quoted, with its day and its source."""
    answer = ask(memory, "when is my dentist appointment?")
    assert "15:40" in answer.message
    assert "9 days ago" in answer.message
    source = answer.metadata["memory_sources"][0]
    assert source["role"] == "user"
    assert source["turn_number"] == 1


def test_recall_in_italian(memory: Memory) -> None:
    """The answer is in the language of the question."""
    answer = ask(memory, "A quanti gradi arriva il mio forno?")
    assert "275" in answer.message
    assert "ieri" in answer.message


def test_summary_of_a_day(memory: Memory) -> None:
    """The talk of a day tells that day and no other."""
    told = ask(memory, "di che cosa abbiamo parlato ieri?").message
    assert "forno" in told
    assert "dentist" not in told


def test_claim_that_was_said(memory: Memory) -> None:
    """A claim that an earlier answer bears out is confirmed with the passage."""
    told = ask(memory, "you told me to put ice on the knee, right?").message
    assert "ten minutes of ice" in told


def test_claim_that_was_never_said(memory: Memory) -> None:
    """A claim that nothing bears out is not confirmed."""
    told = ask(memory, "you told me to buy an electric bike, right?").message
    assert "I do not find that" in told
    assert not told.startswith("Yes")


def test_nothing_known(memory: Memory) -> None:
    """A user of whom nothing is known gets a refusal without a source, in the language of the question."""
    answer = ask(memory, "quanti anni ha mio fratello?", user="bruno")
    assert answer.message.startswith("Nel materiale non c'è una risposta")
    assert answer.metadata["memory_sources"] == []


@pytest.mark.parametrize(
    ("message", "wanted"),
    [("Hello!", "Hello"), ("Grazie!", "Prego"), ("I got the job!!", "Noted"), ("Mi chiamo Anna", "Annotato")],
)
def test_small_talk_and_statements(memory: Memory, message: str, wanted: str) -> None:
    """Greetings are greeted and statements acknowledged, in their language."""
    assert wanted in ask(memory, message, user="carla").message


def test_own_answers_are_no_source(memory: Memory) -> None:
    """A question that was asked before, and its refusal, answer nothing later."""
    ask(memory, "what is my neighbour's phone number?", user="dora")
    answer = ask(memory, "what is my neighbour's phone number?", user="dora")
    assert answer.metadata["memory_sources"] == []


def test_what_is_forgotten_is_not_quoted(memory: Memory) -> None:
    """After "forget …" the message is quoted no more."""
    ask(memory, "Forget my dentist appointment please")
    assert "15:40" not in ask(memory, "when is my dentist appointment?").message


def test_users_do_not_mix(memory: Memory) -> None:
    """What one user said answers no other user."""
    assert "15:40" not in ask(memory, "when is my dentist appointment?", user="bruno").message


def test_memory_that_cannot_be_read(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the past cannot be read the chat answers without it, and the response says so."""

    def away(*_: object, **__: object) -> None:
        raise StoreUnavailable("the database is away")

    monkeypatch.setattr(Memory, "search", away)
    answer = ask(memory, "when is my dentist appointment?")
    assert answer.message.startswith("The material holds no answer")
    assert "memory could not be read for this answer" in answer.metadata["degraded"]


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("Qual è la capitale del Perù?", "Nel materiale non c'è"),
        ("Quanto pesa un elefante?", "Nel materiale non c'è"),
        ("How tall is Mount Everest?", "The material holds no answer"),
    ],
)
def test_a_question_about_the_world_is_not_answered_with_something_said(
    memory: Memory, question: str, said: str
) -> None:
    """Where no word of it was ever said, a quote would only look like an answer."""
    answer = ask(memory, question)
    assert said in answer.message
    assert not answer.metadata.get("memory_sources")
