"""What a session says of itself: its documents, how many messages and tokens it has, how often it was condensed."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.errors import ValidationError
from ricordo.presets import settings_from
from ricordo.testing import FakeClock, MemoryStore
from ricordo.turns import export

STEPS = st.lists(
    st.sampled_from(["turn", "ask", "answer first", "answer last", "user", "assistant", "tool", "clear", "info"]),
    max_size=20,
)


def memory(clock: FakeClock | None = None, **chosen: Any) -> ricordo.Memory:
    """A memory without work beside it."""
    off = dict.fromkeys(("organise", "remember_person", "titles"), "off")
    settings = settings_from({"recall_messages": 0, **off, **chosen}, {})
    return ricordo.Memory(MemoryStore(), settings, clock=clock or FakeClock())


def take(session: ricordo.Session, step: str) -> None:
    """One thing that can happen to a session."""
    waiting = [turn for turn in session.history() if turn.is_open and turn.question]
    if step == "turn":
        session.add_turn("Quanti gradi?", "Quattro gradi.")
    elif step == "ask":
        session.ask("E poi?")
    elif step.startswith("answer"):
        if waiting:
            session.answer(waiting[0 if step.endswith("first") else -1], "Poi si vede.")
    elif step == "tool":
        session.add_message("tool", "risultato", tool_call_id="1")
    elif step == "clear":
        session.clear()
    elif step == "info":
        session.info()
    else:
        session.add_message(step, "Parole dette a parte.")


@given(STEPS)
def test_counts_are_those_of_the_messages_whatever_happened(steps: list[str]) -> None:
    """Late answers, single messages, tool traffic and a clearing: the counts are always those of what is stored."""
    session = memory().session("s", user_id="anna")
    session.create()
    for step in steps:
        take(session, step)
        messages = [message for turn in session.history() for message in turn.messages]
        info = session.info()
        assert info.message_count == len(messages)
        assert info.token_count == sum(message.tokens for message in messages)
        assert info.condensation_count == 0


def test_expired_turns_are_counted_no_more() -> None:
    """What a cleanup takes is taken from the counts, though turns were added since they were last asked for."""
    clock = FakeClock()
    kept = memory(clock, turn_ttl="1h")
    session = kept.session("s", user_id="anna")
    session.add_turn("Prima?", "Sì.")
    session.add_turn("Seconda?", "Sì.")
    assert session.info().message_count == 4
    clock.advance(timedelta(hours=2))
    session.add_turn("Terza?", "Sì.")
    kept.cleanup()
    session.add_turn("Quarta?", "Sì.")
    assert session.info().message_count == 4
    assert session.info().turn_count == 2


def test_a_list_counts_what_it_has_time_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sessions of a list have the counts of their info; beyond the limit they are None, and the next list goes on."""
    kept = memory()
    for name, turns in (("long", 4), ("short", 2)):
        for number in range(turns):
            kept.session(name, user_id="anna").add_turn(f"Domanda {number}?", "Sì.")
    assert [each.message_count for each in kept.sessions(user_id="anna")] == [None, None]
    assert kept.sessions(user_id="bruno", counts=True) == []
    monkeypatch.setattr(export, "MOST_LISTED", 5)
    first, second = ({each.id: each for each in kept.sessions(user_id="anna", counts=True)} for _ in range(2))
    assert (first["short"].message_count, first["long"].message_count) == (4, None)
    assert (second["short"].message_count, second["long"].message_count) == (4, 8)
    info = kept.session("long", user_id="anna").info()
    assert (second["long"].token_count, second["long"].condensation_count) == (info.token_count, 0)


def test_condensations_are_counted() -> None:
    """Each summary of older turns counts once."""
    session = memory(condense="off").session("s", user_id="anna")
    for times in (1, 2):
        for number in range(8):
            session.add_turn(
                f"Domanda {times}-{number} sul viaggio?", f"Risposta {number}: il treno parte alle {number}."
            )
        assert session.condense() is not None
        assert session.info().condensation_count == times


def test_a_session_is_created_with_its_documents() -> None:
    """The documents that limit its answers are given when it is made, and stand in its info."""
    session = memory().session("s", user_id="anna")
    assert session.create(title="Corso", document_ids=["d1", "d2"]).document_ids == ("d1", "d2")
    assert session.create(document_ids=["d3"]).document_ids == ("d1", "d2")
    assert session.info().title == "Corso"
    with pytest.raises(ValidationError, match="document_ids"):
        memory().session(user_id="anna").create(document_ids="d1")


def test_a_page_to_read_says_what_it_is() -> None:
    """Markdown begins with title, id, dates and counts; speakers are user and assistant also where a tutor speaks."""
    clock = FakeClock()
    session = memory(clock, preset="tutor").session("s-1", user_id="anna")
    session.create(title="Il cuore", document_ids=["cap1"])
    session.add_turn("Quanti gradi?", "Quattro.")
    clock.advance(timedelta(hours=1))
    session.ask("E poi?")
    page = session.export("markdown")
    assert page.splitlines()[:10] == [
        "# Il cuore",
        "",
        "- id: s-1",
        "- created: 2026-03-02 09:00 UTC",
        "- last active: 2026-03-02 10:00 UTC",
        f"- turns: 2, messages: 3, tokens: {session.info().token_count}",
        "- documents: cap1",
        "",
        "## 1",
        "",
    ]
    assert "**UTENTE** (2026-03-02 09:00)" in page
    assert "**ASSISTENTE** (2026-03-02 09:00)" in page
