"""When a talk is condensed, and which of its turns."""

from types import SimpleNamespace

from condensation_samples import summary, turn
from hypothesis import given
from hypothesis import strategies as st

from ricordo.people.summaries.condense import turns_to_condense
from ricordo.people.summaries.layout import TurnRange, covered_range
from ricordo.records.turns import Turn
from ricordo.settings import CondensationSettings


@st.composite
def talks(draw: st.DrawFn) -> list[Turn]:
    """Turns of two messages, or of one where nobody asked or answered, numbered with or without gaps."""
    turns: list[Turn] = []
    number = 0
    for _ in range(draw(st.integers(0, 20))):
        number += draw(st.integers(1, 2))
        asked, answered = draw(st.sampled_from([("q", "a"), ("q", "a"), ("q", None), (None, "a")]))
        turns.append(turn(number, asked, answered, tokens=draw(st.integers(1, 50))))
    return turns


settings = st.builds(
    CondensationSettings,
    condense_tokens=st.integers(1, 1000),
    condense_at=st.floats(0, 1),
    condense_keep=st.integers(1, 9),
    condense_least=st.integers(1, 6),
)


@given(talks(), settings, st.integers(0, 10))
def test_laws_of_due(turns: list[Turn], chosen: CondensationSettings, covered: int) -> None:
    """Due turns are whole, begin after the earlier summary, leave the newest messages, and are never too few."""
    already = summary("earlier", 1, covered, tokens=10) if covered else None
    found = turns_to_condense(turns, chosen, already)
    fresh = [each for each in turns if each.turn_number > covered]
    size = sum(each.tokens for each in fresh) + (10 if already else 0)
    if found is None:
        return
    going = found.of(turns)
    assert size >= chosen.condense_at * chosen.condense_tokens
    assert going[0] == fresh[0]
    assert [each.turn_number for each in (going[0], going[-1])] == [found.first_turn, found.last_turn]
    staying = fresh[len(going) :]
    assert sum(len(each.messages) for each in staying) >= chosen.condense_keep
    # Not more than needed stays: without its oldest turn it would be fewer than the newest messages.
    assert sum(len(each.messages) for each in staying[1:]) < chosen.condense_keep
    assert sum(len(each.messages) for each in going) >= chosen.condense_least


@given(talks(), settings)
def test_due_once(turns: list[Turn], chosen: CondensationSettings) -> None:
    """What has been condensed is not due again."""
    found = turns_to_condense(turns, chosen)
    if found is not None:
        already = summary("short", found.first_turn, found.last_turn, tokens=1)
        again = turns_to_condense(turns, chosen, already)
        assert again is None or again.first_turn > found.last_turn


@given(talks(), settings)
def test_covered_turns_need_not_be_read(turns: list[Turn], chosen: CondensationSettings) -> None:
    """It makes no difference whether the turns that are covered already are given or not."""
    already = summary("short", 1, 4, tokens=3)
    assert turns_to_condense(turns, chosen, already) == turns_to_condense(
        [each for each in turns if each.turn_number > 4], chosen, already
    )


def test_default_trigger() -> None:
    """With 260,000 tokens nothing happens under 247,000; then all but the five newest messages go, whole turns."""
    chosen = CondensationSettings()
    turns = [turn(number, "q", "a", tokens=12_349) for number in range(1, 11)]
    assert turns_to_condense(turns, chosen) is None
    turns = [turn(number, "q", "a", tokens=12_350) for number in range(1, 11)]
    assert turns_to_condense(turns, chosen) == TurnRange(1, 7)


def test_overhead_counts() -> None:
    """What a chat API adds to a message counts towards the trigger."""
    chosen = CondensationSettings(condense_tokens=100, condense_at=1.0)
    turns = [turn(number, "q", "a", tokens=4) for number in range(1, 11)]
    assert turns_to_condense(turns, chosen) is None
    assert turns_to_condense(turns, chosen, overhead=1) == TurnRange(1, 7)


def test_never_few_messages() -> None:
    """Fewer than four messages are not worth a summary, however long they are."""
    chosen = CondensationSettings(condense_tokens=10)
    turns = [turn(number, "q", "a", tokens=1000) for number in range(1, 5)]
    assert turns_to_condense(turns, chosen) is None
    assert turns_to_condense([*turns, turn(5, "q", "a", tokens=1000)], chosen) == TurnRange(1, 2)


@given(st.integers(1, 50), st.integers(0, 50), st.integers(1, 50), st.integers(0, 50))
def test_union(first: int, size: int, start: int, length: int) -> None:
    """An extended summary covers what either covers."""
    added = [SimpleNamespace(turn_number=number) for number in range(start, start + length + 1)]
    both = covered_range(added, summary("x", first, first + size))
    assert both == TurnRange(min(first, start), max(first + size, start + length))
    assert covered_range(added, None) == TurnRange(start, start + length)
