"""Shares of a budget: never more than there is, never more than is wanted, never smaller when the limit grows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ricordo.engine.tokens import share_out
from ricordo.errors import BudgetError
from ricordo.prompt.context import FIRST, REST, allot
from ricordo.prompt.window import Section
from ricordo.settings import BudgetSettings

AMOUNTS = st.integers(0, 5000) | st.integers(0, 12)
VESSELS = st.dictionaries(st.integers(0, 9), st.tuples(AMOUNTS, st.integers(1, 2000)), max_size=8)
DEMANDS = st.dictionaries(st.sampled_from(Section), AMOUNTS, max_size=len(Section))
SETTINGS = st.builds(
    BudgetSettings, **{f"{section}_share": st.integers(1, 2000) for section in (*FIRST, *REST)}
) | st.just(BudgetSettings())


def _split(vessels: dict[int, tuple[int, int]]) -> tuple[dict[int, int], dict[int, int]]:
    demands = {key: demand for key, (demand, _) in vessels.items()}
    return demands, {key: weight for key, (_, weight) in vessels.items()}


@given(st.integers(-5, 20_000), VESSELS)
def test_pouring_stays_within_the_total_and_the_demands(total: int, vessels: dict[int, tuple[int, int]]) -> None:
    """The shares sum to at most the total, each to at most its demand and at least 0."""
    demands, weights = _split(vessels)
    shares = share_out(total, demands, weights)
    assert shares.keys() == demands.keys()
    assert sum(shares.values()) <= max(total, 0)
    assert all(0 <= shares[key] <= demands[key] for key in demands)


@given(st.integers(0, 20_000), VESSELS)
def test_pouring_uses_everything_up_to_rounding(total: int, vessels: dict[int, tuple[int, int]]) -> None:
    """When more is wanted than there is, less than one token a vessel is left over; else everyone is full."""
    demands, weights = _split(vessels)
    shares = share_out(total, demands, weights)
    if sum(demands.values()) <= total:
        assert shares == demands
    else:
        assert total - sum(shares.values()) < len(demands)


@given(st.integers(0, 5_000), st.integers(0, 500), VESSELS)
def test_pouring_more_empties_no_vessel(total: int, more: int, vessels: dict[int, tuple[int, int]]) -> None:
    """A larger total makes no share smaller."""
    demands, weights = _split(vessels)
    before, after = share_out(total, demands, weights), share_out(total + more, demands, weights)
    assert all(before[key] <= after[key] for key in demands)


@given(st.integers(0, 500), VESSELS)
def test_pouring_is_in_proportion(total: int, vessels: dict[int, tuple[int, int]]) -> None:
    """Vessels that are not full stand at the same level, up to the rounding of one token."""
    demands, weights = _split(vessels)
    shares = share_out(total, demands, weights)
    unfilled = [key for key in demands if shares[key] < demands[key]]
    for a in unfilled:
        for b in unfilled:
            assert shares[a] * weights[b] < (shares[b] + 1) * weights[a]


@given(st.integers(-100, 20_000), DEMANDS, SETTINGS)
def test_an_allotment_keeps_the_limit_or_names_safety(
    room: int, demands: dict[Section, int], settings: BudgetSettings
) -> None:
    """Shares sum to at most the room, none above its demand, safety whole; refused only if safety alone is larger."""
    safety = demands.get(Section.SAFETY, 0)
    if safety > max(room, 0):
        with pytest.raises(BudgetError, match=f"take {safety} tokens.*raise model_limit"):
            allot(room, demands, settings)
        return
    shares = allot(room, demands, settings)
    assert shares.keys() == set(Section)
    assert shares[Section.SAFETY] == safety
    assert sum(shares.values()) <= max(room, 0)
    assert all(0 <= share <= demands.get(section, 0) for section, share in shares.items())


@given(st.integers(0, 5_000), st.integers(0, 500), DEMANDS, SETTINGS)
def test_a_larger_limit_makes_no_share_smaller(
    room: int, more: int, demands: dict[Section, int], settings: BudgetSettings
) -> None:
    """Every section's share is monotone in the limit."""
    room += demands.get(Section.SAFETY, 0)
    before, after = allot(room, demands, settings), allot(room + more, demands, settings)
    assert all(before[section] <= after[section] for section in Section)


@given(st.integers(0, 5_000), DEMANDS, SETTINGS)
def test_an_allotment_uses_everything_up_to_rounding(
    room: int, demands: dict[Section, int], settings: BudgetSettings
) -> None:
    """When the sections want more than the limit, less than one token a section is left over."""
    room += demands.get(Section.SAFETY, 0)
    shares = allot(room, demands, settings)
    if sum(demands.values()) <= room:
        assert shares == {section: demands.get(section, 0) for section in Section}
    else:
        assert room - sum(shares.values()) < len(Section)


@given(st.integers(0, 5_000), DEMANDS, SETTINGS)
def test_memory_and_material_keep_a_quarter(room: int, demands: dict[Section, int], settings: BudgetSettings) -> None:
    """However long the prompt and the question are, the rest gets a quarter, or all it wants if that is less."""
    demands = {**demands, Section.SAFETY: 0}
    shares = allot(room, demands, settings)
    wanted = sum(demands.get(section, 0) for section in REST)
    got = sum(shares[section] for section in REST)
    assert got > min(wanted, room // 4) - len(REST)


def test_prompt_and_question_leave_a_quarter_and_no_more() -> None:
    """When both sides want everything, three quarters go to prompt, question and format."""
    demands = {Section.SYSTEM: 5_000, Section.QUESTION: 5_000, Section.HISTORY: 5_000}
    shares = allot(1_000, demands, BudgetSettings())
    assert (shares[Section.SYSTEM], shares[Section.QUESTION], shares[Section.HISTORY]) == (600, 150, 250)


def test_the_shares_of_a_4096_token_prompt() -> None:
    """With all of the five classic sections in want, each gets at least what it was designed for."""
    designed = {"system": 800, "history": 1500, "chunks": 1500, "question": 200, "format": 100}
    demands = {Section(name): 10_000 if name in ("history", "chunks") else most for name, most in designed.items()}
    shares = allot(4_096, demands, BudgetSettings())
    assert shares[Section.SYSTEM] == 800
    assert shares[Section.QUESTION] == 200
    assert shares[Section.FORMAT] == 100
    assert shares[Section.HISTORY] == shares[Section.CHUNKS] == 1_498
