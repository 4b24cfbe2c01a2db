"""Forgetting a fact reaches the summaries that told it, in every store, through the face that programs use."""

from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from ricordo.memory import Memory
from ricordo.session import Session
from ricordo.stores.memory import MemoryStore
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing.fakes import ScriptedLLM

STUDENT = {"user_id": "anna", "agent_id": "euclide"}


@dataclass(frozen=True, slots=True)
class Talk:
    """What somebody tells of themselves, the words of it that are forgotten, and what is said besides."""

    told: str
    answer: str
    word: str
    other: str
    reply: str
    stays: str


TALKS = [
    Talk(
        "Vivo a Torino.", "Torino è bella.", "Torino", "Spiegami le frazioni {}.", "Le frazioni sono parti.", "frazioni"
    ),
    Talk("I live in Boston.", "Boston is nice.", "Boston", "Explain fractions {}.", "Fractions are parts.", "ractions"),
]


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def home(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    """An empty store of each kind."""
    if request.param == "memory":
        return MemoryStore()
    return SqliteStore(tmp_path / "f.db") if request.param == "sqlite" else request.getfixturevalue("postgres_store")


def spoken(memory: Memory, talk: Talk, turns: int = 3) -> Session:
    """A session in which the fact is told first."""
    session = memory.session("s", **STUDENT)
    session.add_turn(talk.told, talk.answer)
    for number in range(1, turns):
        session.add_turn(talk.other.format(number), talk.reply)
    assert memory.settle(30)
    return session


def forget(memory: Memory, talk: Talk) -> None:
    """Forget what was told."""
    (fact,) = [fact for fact in memory.facts(**STUDENT) if talk.word in fact.text]
    memory.forget_fact(fact.id, **STUDENT)


def prompts(memory: Memory, session_id: str = "next") -> str:
    """All that a model is told before somebody speaks."""
    context = memory.session(session_id, **STUDENT).context("?", system="BASE")
    profile = memory.profile(**STUDENT)
    return "\n".join([str(context.messages), profile.recent_summary, memory.enhance_prompt("BASE", **STUDENT)])


@pytest.mark.parametrize("talk", TALKS, ids=["italian", "english"])
def test_no_summary_of_a_session_tells_a_forgotten_fact(opened: Any, talk: Talk) -> None:
    """The summary is made anew without the turn it came from, and ending again does not bring it back."""
    memory, clock = opened()
    session = spoken(memory, talk)
    session.end()
    session.add_turn(talk.other.format(9), talk.reply)
    session.end()
    assert len(session.summaries()) == 2
    clock.advance(timedelta(days=1))
    assert talk.word in prompts(memory)
    forget(memory, talk)
    for _ in range(2):
        assert talk.word not in prompts(memory)
        assert talk.stays in memory.profile(**STUDENT).recent_summary
        assert not any(talk.word in summary.text for summary in session.summaries())
        session.end()
    session.add_turn(talk.other.format(10), talk.reply)
    assert session.end().summary is not None
    assert talk.word not in prompts(memory)
    assert session.history()[0].query == talk.told
    assert memory.verify().ok


@pytest.mark.parametrize("talk", TALKS, ids=["italian", "english"])
def test_no_condensation_tells_a_forgotten_fact(opened: Any, talk: Talk) -> None:
    """The condensed turns are told without it, also after they were condensed further."""
    memory, _ = opened(condense="off", max_turns=2)
    session = spoken(memory, talk, turns=12)
    first = session.condense()
    assert first is not None
    assert talk.word in first.text
    spoken(memory, talk, turns=6)
    session.condense()
    forget(memory, talk)
    kept = session.summaries()
    assert kept
    assert not any(talk.word in summary.text for summary in kept)
    assert talk.word not in str(session.context("?").messages)
    for number in range(20, 40):
        session.add_turn(talk.other.format(number), talk.reply)
    again = session.condense()
    assert again is not None
    assert talk.word not in again.text


@pytest.mark.parametrize("talk", TALKS, ids=["italian", "english"])
def test_a_session_that_ends_after_the_forgetting_does_not_tell_it(opened: Any, talk: Talk) -> None:
    """A fact may be forgotten before anything was summed up."""
    memory, clock = opened()
    session = spoken(memory, talk)
    forget(memory, talk)
    session.end()
    clock.advance(timedelta(days=1))
    assert session.summaries()
    assert talk.word not in prompts(memory)


def test_a_summary_that_does_not_cover_the_words_stays_as_it_is(opened: Any) -> None:
    """Other sessions keep their summaries, and so does what was condensed before the fact was told."""
    memory, _ = opened(condense="off")
    talk = TALKS[0]
    other = memory.session("other", **STUDENT)
    other.add_turn("Parliamo di gatti neri.", "I gatti sono felini.")
    untouched = other.end().summary
    session = spoken(memory, talk)
    session.end()
    forget(memory, talk)
    assert other.summaries() == [untouched]


def test_what_a_model_wrote_of_a_forgotten_fact_goes_too(opened: Any) -> None:
    """A model's summary is in its own words, so it goes with the turn it covers, and no model is asked to remake it."""
    llm = ScriptedLLM("L'utente vive a Torino e chiede delle frazioni.")
    session = spoken(opened()[0], TALKS[0])
    memory, _ = opened(llm=llm)
    (written,) = filter(None, [memory.session("s", **STUDENT).end().summary])
    assert written.made_by == "scripted"
    asked = len(llm.asked)
    forget(memory, TALKS[0])
    assert len(llm.asked) == asked
    assert [summary.made_by for summary in session.summaries()] == ["extractive"]
    assert "Torino" not in session.summaries()[0].text


def test_a_context_that_was_built_before_is_still_accounted_for(opened: Any) -> None:
    """The receipt of a past context tells what the model was told then, byte for byte."""
    memory, clock = opened()
    spoken(memory, TALKS[0]).end()
    clock.advance(timedelta(days=1))
    later = memory.session("later", **STUDENT)
    asked = later.context("Ricominciamo?", system="BASE")
    assert "Torino" in str(asked.messages)
    later.add_turn("Ricominciamo?", "Sì.", receipt=asked.receipt)
    forget(memory, TALKS[0])
    assert later.rebuild(1).messages == asked.messages


def test_what_was_released_is_put_away_with_the_next_fact_of_it(opened: Any) -> None:
    """A flag says why a message is kept out; releasing it lets the words in again, until another fact is forgotten."""
    memory, clock = opened()
    name = replace(TALKS[0], told="Mi chiamo Anna. Vivo a Torino.", word="Anna")
    session = spoken(memory, name)
    session.end()
    forget(memory, name)
    (flag,) = memory.flags("anna")
    assert (flag.subject, flag.subject_id, flag.rules) == ("message", session.history()[0].question.id, ("forgotten",))
    memory.set_flag(flag.id, "released", user_id="anna")
    session.add_turn("Spiegami i decimali.", "I decimali sono frazioni.")
    session.end()
    clock.advance(timedelta(days=1))
    assert "Mi chiamo Anna" in prompts(memory)
    forget(memory, TALKS[0])
    assert [each.state for each in memory.flags("anna")] == ["quarantined"]
    assert "Torino" not in prompts(memory)


@pytest.mark.parametrize("kind", ["session", "condensation"])
def test_a_fact_that_is_forgotten_while_a_model_writes_of_it_is_not_told(opened: Any, kind: str) -> None:
    """What was written meanwhile of messages that were put away, or over a summary that went, is not kept."""
    talk = TALKS[0]
    memory, _ = opened(condense="off")
    session = spoken(memory, talk, turns=12)
    if kind == "condensation":
        assert session.condense() is not None
        for number in range(20, 40):
            session.add_turn(talk.other.format(number), talk.reply)
    assert memory.settle(30)

    def answer(_: Any) -> str:
        if any(talk.word in fact.text for fact in memory.facts(**STUDENT)):
            session.add_turn(talk.other.format(99), talk.reply)  # so that what is made anew takes another place
            forget(memory, talk)
        return "L'utente vive a Torino e chiede delle frazioni."

    writing, _ = opened(condense="off", llm=ScriptedLLM(answer))
    theirs = writing.session("s", **STUDENT)
    if kind == "condensation":
        theirs.condense()
    else:
        theirs.end()
    assert not any(fact.text for fact in memory.facts(**STUDENT) if talk.word in fact.text)
    assert not any(talk.word in summary.text for summary in session.summaries())


def test_a_search_still_finds_what_a_context_no_longer_recalls(opened: Any) -> None:
    """The words stay in the history for whoever looks for them."""
    memory, _ = opened(recall_messages=5)
    spoken(memory, TALKS[0])
    forget(memory, TALKS[0])
    assert any("Torino" in hit.text for hit in memory.search("Torino", user_id="anna"))
    assert "Vivo a Torino" not in str(memory.session("new", **STUDENT).context("Dove vivo? A Torino?").messages[:-1])
