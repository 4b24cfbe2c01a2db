"""The window: the last whole turns that fit, the newest shortened rather than lost."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine import TokenCounter
from ricordo.engine.tokens import CUT_MARK, ApproximateCounter, counter_for, recounted
from ricordo.languages.italian import LABELS as ITALIAN
from ricordo.prompt.window import Window, fit_window
from ricordo.records.turns import Message, Owner, Turn, message_id
from ricordo.records.values import canonical
from ricordo.settings import WindowSettings
from ricordo.testing.strategies import texts

START = datetime(2026, 3, 2, tzinfo=UTC)
EXACT = counter_for("o200k")
COUNTERS = st.sampled_from([EXACT, ApproximateCounter(3)])
CALL = {"id": "c1", "function": {"name": "search", "arguments": '{"q": "gradi"}'}}
SAYING = texts(40) | st.integers(1, 60).map(lambda n: "parole " * n)
BOUNDS = st.builds(WindowSettings, max_turns=st.none() | st.integers(0, 6), max_tokens=st.integers(0, 400))


@st.composite
def turns(draw: st.DrawFn, number: int, counter: TokenCounter) -> Turn:
    """A turn of any shape: open, answered, with tool traffic, without a question."""

    def said(role: str, part: str | int, **more: object) -> Message:
        name = draw(st.none() | st.sampled_from(["anna", "Dr. Bianchi"]))
        address = message_id(f"t{number}", part)
        return Message(address, role, draw(SAYING), START + timedelta(minutes=number), name=name, **more)  # type: ignore[arg-type]

    question = draw(st.booleans())
    traffic = draw(st.sampled_from(["none", "none", "tools", "note"]))
    steps: tuple[Message, ...] = ()
    if traffic == "tools":
        steps = (said("assistant", 1, tool_calls=(CALL,)), said("tool", 2, tool_call_id="c1"))
    elif traffic == "note":
        steps = (said("system", 1),)
    answer = draw(st.booleans()) or not (question or steps)
    turn = Turn(
        id=f"t{number}",
        owner=Owner("acme", "anna"),
        agent_id="tutor",
        session_id="s",
        turn_number=number,
        created_at=START,
        question=said("user", "query") if question else None,
        answer=said("assistant", "response") if answer else None,
        steps=steps,
    )
    return recounted(turn, counter)


@st.composite
def histories(draw: st.DrawFn, counters: st.SearchStrategy[TokenCounter] = COUNTERS) -> tuple[list[Turn], TokenCounter]:
    """Turns newest first, counted by a counter."""
    counter = draw(counters)
    count = draw(st.integers(0, 6))
    return [draw(turns(number, counter)) for number in range(count, 0, -1)], counter


def recount(window: Window, counter: TokenCounter) -> int:
    """What the window costs, counted anew from its words."""
    total = 0
    for message in window.messages:
        total += 4 + counter.count(message.content)
        total += sum(counter.count(canonical(call)) for call in message.tool_calls)
        total += 1 + counter.count(message.name) if message.name else 0
    return total


@given(histories(), BOUNDS)
def test_the_window_never_exceeds_its_bounds(history: tuple[list[Turn], TokenCounter], bounds: WindowSettings) -> None:
    """At most max_turns turns and max_tokens tokens, and the total is what a fresh count gives."""
    newest_first, counter = history
    window = fit_window(newest_first, bounds, counter)
    assert bounds.max_turns is None or len(window.turns) <= bounds.max_turns
    assert window.total_tokens == recount(window, counter) <= bounds.max_tokens


@given(histories(), st.integers(0, 6), st.integers(-2, 2))
def test_the_bound_holds_to_the_token(history: tuple[list[Turn], TokenCounter], count: int, off: int) -> None:
    """A bound of exactly what some turns cost keeps those turns; one token less drops the oldest of them."""
    newest_first, counter = history
    some = newest_first[:count]
    limit = sum(4 + message.tokens + bool(message.name) for turn in some for message in turn.messages) + off
    window = fit_window(newest_first, WindowSettings(max_turns=None, max_tokens=max(limit, 0)), counter)
    assert window.total_tokens <= max(limit, 0)
    if off >= 0:
        assert len(window.turns) >= len(some)
    elif len(some) > 1:
        assert len(window.turns) == len(some) - 1


@given(histories(), BOUNDS)
def test_whole_turns_from_the_newest_back(history: tuple[list[Turn], TokenCounter], bounds: WindowSettings) -> None:
    """The window is the end of the talk, in order; only a newest turn that stands alone may be shortened."""
    newest_first, counter = history
    window = fit_window(newest_first, bounds, counter)
    spoken = newest_first[::-1]
    end = spoken[len(spoken) - len(window.turns) :]
    if window.shortened:
        assert [turn.id for turn in window.turns] == [turn.id for turn in end]
        assert len(window.turns) == 1
    else:
        assert list(window.turns) == end


@given(histories(), BOUNDS)
def test_a_shortened_turn_is_marked(history: tuple[list[Turn], TokenCounter], bounds: WindowSettings) -> None:
    """Each message of a shortened turn is as it was said or a marked beginning of it, and something did change.

    Tool traffic goes before any word of the question or the answer.
    """
    newest_first, counter = history
    window = fit_window(newest_first, bounds, counter)
    if not window.shortened:
        return
    (short,), whole = window.turns, {message.id: message for message in newest_first[0].messages}
    assert short != newest_first[0]
    for message in short.messages:
        original = whole[message.id]
        if message.content != original.content:
            assert message.content.endswith(CUT_MARK)
            assert original.content.startswith(message.content.removesuffix(CUT_MARK))
        assert replace(message, content=original.content, tokens=original.tokens) == original
    assert short.steps == () or not (short.question or short.answer)


@given(histories(), BOUNDS)
def test_tool_traffic_is_never_torn_apart(history: tuple[list[Turn], TokenCounter], bounds: WindowSettings) -> None:
    """A call is there with its result or neither is, and a call is never cut."""
    newest_first, counter = history
    for turn in fit_window(newest_first, bounds, counter).turns:
        calls = [message for message in turn.messages if message.tool_calls]
        results = [message for message in turn.messages if message.role == "tool"]
        original = next(each for each in newest_first if each.id == turn.id)
        assert (len(calls), len(results)) in ((0, 0), (1, 1))
        assert all(call in original.steps for call in calls)
        assert (turn.question is None) == (original.question is None)
        assert (turn.answer is None) == (original.answer is None)


@given(histories(), BOUNDS, st.integers(0, 3), st.integers(0, 200))
def test_larger_bounds_keep_a_superset(
    history: tuple[list[Turn], TokenCounter], bounds: WindowSettings, more_turns: int, more_tokens: int
) -> None:
    """No turn is lost when the bounds grow."""
    newest_first, counter = history
    larger = WindowSettings(
        max_turns=None if bounds.max_turns is None else bounds.max_turns + more_turns,
        max_tokens=bounds.max_tokens + more_tokens,
    )
    before, after = fit_window(newest_first, bounds, counter), fit_window(newest_first, larger, counter)
    assert {turn.id for turn in before.turns} <= {turn.id for turn in after.turns}
    if not before.shortened:
        assert set(map(id, before.turns)) <= set(map(id, after.turns))


class Tallying:
    """A counter that remembers how often it was asked."""

    name, exact, message_overhead = EXACT.name, True, 4

    def __init__(self) -> None:
        self.calls = 0

    def count(self, text: str) -> int:
        self.calls += 1
        return EXACT.count(text)


@given(histories(st.just(EXACT)), st.none() | st.integers(0, 6))
def test_stored_counts_are_used(history: tuple[list[Turn], TokenCounter], max_turns: int | None) -> None:
    """A window of turns counted by the same counter is fitted without counting a single text."""
    counter = Tallying()
    fit_window(history[0], WindowSettings(max_turns=max_turns, max_tokens=10**6), counter)
    assert counter.calls == 0


@given(histories(st.just(ApproximateCounter(3))), BOUNDS)
def test_counts_of_another_counter_are_made_again(
    history: tuple[list[Turn], TokenCounter], bounds: WindowSettings
) -> None:
    """Turns counted by another counter give the very window that this counter's own counts give."""
    own = [recounted(turn, EXACT) for turn in history[0]]
    assert fit_window(history[0], bounds, EXACT) == fit_window(own, bounds, EXACT)


def _exchange(number: int, question: str, answer: str | None) -> Turn:
    def said(role: str, part: str, text: str) -> Message:
        return Message(message_id(f"t{number}", part), role, text, START)  # type: ignore[arg-type]

    turn = Turn(
        f"t{number}",
        Owner("acme", "anna"),
        "tutor",
        "s",
        number,
        START,
        said("user", "query", question),
        said("assistant", "response", answer) if answer else None,
    )
    return recounted(turn, EXACT)


def test_the_last_three_turns_by_default() -> None:
    """Without other bounds the window holds the last three turns, oldest first."""
    talk = [_exchange(n, f"Domanda {n}", f"Risposta {n}") for n in range(5, 0, -1)]
    window = fit_window(talk, WindowSettings(), EXACT)
    assert [turn.turn_number for turn in window.turns] == [3, 4, 5]
    assert window.text(ITALIAN).splitlines()[0] == "=== CRONOLOGIA CONVERSAZIONE (ultimi 3 turni) ==="


def test_no_more_is_read_than_fits() -> None:
    """The source of turns is asked for one turn past the last that fits, and no further."""
    taken = []

    def source() -> Iterator[Turn]:
        for number in range(100, 0, -1):
            taken.append(number)
            yield _exchange(number, "parole " * 40, "parole " * 40)

    window = fit_window(source(), WindowSettings(max_turns=None, max_tokens=300), EXACT)
    assert len(taken) == len(window.turns) + 1


def test_question_and_answer_share_the_room_when_both_are_too_long() -> None:
    """A newest turn far over the limit keeps the beginning of its question and of its answer."""
    window = fit_window([_exchange(1, "domanda " * 500, "risposta " * 500)], WindowSettings(max_tokens=100), EXACT)
    assert window.shortened
    assert window.turns[0].query.startswith("domanda domanda")
    assert str(window.turns[0].response).startswith("risposta risposta")
    assert 90 <= window.total_tokens <= 100
