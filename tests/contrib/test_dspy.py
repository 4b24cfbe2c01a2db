"""Histories, remembering programs and condensers with the real DSPy and its dummy model."""

import runpy
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.importorskip("dspy", reason="dspy is not installed: scripts/test-integrations")

import dspy
from dspy.utils import DummyLM

import ricordo
from ricordo import Memory
from ricordo.contrib.dspy import Remembering, StandaloneQuestion, condenser, history_of
from ricordo.stores.memory import MemoryStore

pytestmark = pytest.mark.filterwarnings("default")
CHAT = "question, history: dspy.History -> answer"


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with ricordo.open(tmp_path / "chat.db") as opened:
        yield opened


words = st.text(st.characters(min_codepoint=97, max_codepoint=122), min_size=1, max_size=9)


@given(st.lists(st.tuples(words, st.none() | words), max_size=6))
def test_a_history_pairs_what_was_asked_with_what_was_answered(turns: list[tuple[str, str | None]]) -> None:
    """Every answered turn is one message with both fields, in order; an open one is none."""
    with Memory(MemoryStore()) as memory:
        session = memory.session("s", user_id="ada")
        for question, answer in turns:
            asked = session.ask(question)
            if answer is not None:
                asked.answer(answer)
        found = history_of(session.history(), question_field="q", answer_field="a").messages
        assert found == [{"q": question, "a": answer} for question, answer in turns if answer is not None]


def test_a_program_reads_what_was_said_and_keeps_what_it_says(memory: Memory) -> None:
    """The second call has the first turn before it, and both are in the memory with the other fields."""
    lm = DummyLM([{"reasoning": "tè", "answer": "Verde."}, {"reasoning": "tè", "answer": "Il tè."}])
    program = Remembering(dspy.ChainOfThought(CHAT))
    session = memory.session("s", user_id="ada")
    with dspy.context(lm=lm):
        program(question="Che tè bevo?", session=session)
        program(question="Che cosa?", session=session)
    roles = [message["role"] for message in lm.history[-1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]
    assert "Che tè bevo?" in lm.history[-1]["messages"][1]["content"]
    turns = session.history()
    assert [(turn.query, turn.response) for turn in turns] == [("Che tè bevo?", "Verde."), ("Che cosa?", "Il tè.")]
    assert turns[0].metadata == {"dspy": {"reasoning": "tè"}}


def test_one_program_serves_users_apart(memory: Memory) -> None:
    """The same program with the session of another user has nothing of the first."""
    lm = DummyLM([{"answer": "sì"}, {"answer": "no"}])
    program = Remembering(dspy.Predict(CHAT))
    with dspy.context(lm=lm):
        program(question="segreto di Ada", session=memory.session("s", user_id="ada"))
        program(question="che cosa sai?", session=memory.session("s", user_id="bob"))
    assert "segreto" not in str(lm.history[-1]["messages"])


def test_a_program_that_fails_leaves_the_question(memory: Memory) -> None:
    """What was asked is kept when the model fails, as an open turn."""

    class Broken(dspy.Module):  # type: ignore[misc]
        def forward(self, **inputs: Any) -> Any:
            raise RuntimeError("away")

    session = memory.session("s", user_id="ada")
    with pytest.raises(RuntimeError):
        Remembering(Broken())(question="ci sei?", session=session)
    (turn,) = session.history()
    assert turn.is_open
    assert history_of(session).messages == []


def test_a_long_talk_gives_what_fits_the_window(tmp_path: Path) -> None:
    """The history of a session is its window, however long the session is."""
    with ricordo.open(tmp_path / "w.db", max_turns=3) as memory:
        session = memory.session("s", user_id="ada")
        for number in range(10):
            session.add_turn(f"domanda {number}", f"risposta {number}")
        assert [each["question"] for each in history_of(session).messages] == [f"domanda {n}" for n in (7, 8, 9)]


HISTORY = {"question": "Chi ha scritto la Divina Commedia?", "answer": "Dante Alighieri."}


@pytest.mark.parametrize(
    ("written", "taken"),
    [
        ("Quando è nato Dante Alighieri?", True),
        ("When was Dante Alighieri born and where did he live?", False),
        ("", False),
        ("Quando è nato Dante Alighieri? " * 40, False),
    ],
)
def test_a_standalone_question_keeps_its_language_and_can_be_seen(written: str, taken: bool) -> None:
    """A rewriting in another language, empty or swollen is not used; the user's words are always beside it."""
    question = "E quando è nato?"
    with dspy.context(lm=DummyLM([{"standalone_question": written}])):
        made = StandaloneQuestion()(history=dspy.History(messages=[HISTORY]), question=question)
    assert made.question == question
    assert (made.standalone_question, made.made_by) == ((written, "model") if taken else (question, "user"))


def test_a_first_question_asks_no_model() -> None:
    """Without history there is nothing to complete, and no call is paid."""
    lm = DummyLM([{"standalone_question": "altro"}])
    with dspy.context(lm=lm):
        made = StandaloneQuestion()(history=dspy.History(messages=[]), question="Chi è Dante?")
    assert (made.standalone_question, lm.history) == ("Chi è Dante?", [])


def test_the_condenser_is_here_too() -> None:
    """The condensing module has its two inputs and two outputs."""
    fields = condenser().condense.signature
    assert [*fields.input_fields, *fields.output_fields] == [
        "conversation_history", "current_query", "condensed_context", "key_topics"
    ]  # fmt: skip


def test_the_example_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The shipped example does what it says."""
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "dspy_chat.py"))
    example["main"](str(tmp_path / "chat.db"))
    assert "(meant: When was Dante Alighieri born?) → In 1265." in capsys.readouterr().out
