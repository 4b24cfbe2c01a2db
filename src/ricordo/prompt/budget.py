"""One token budget for the whole prompt: how much each section may take.

In: the limit and what each section would like (its demand). Out: a share per section. Safety is served whole
and first. Question, system prompt and format instructions come next, but always leave a quarter to memory and
material when those have something to say. The rest is poured like water into vessels: in proportion to fixed
weights, each vessel no fuller than its demand. Demands depend on the inputs alone, never on what happens to
fit, so a larger limit can only make every share larger.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import TypeVar

from ricordo.errors import BudgetError
from ricordo.settings import BudgetSettings


class Section(StrEnum):
    """The parts of a prompt, in the order in which they stand in it."""

    SAFETY = "safety"
    SYSTEM = "system"
    PROFILE = "profile"
    SUMMARY = "summary"
    HISTORY = "history"
    RECALLED = "recalled"
    CHUNKS = "chunks"
    QUESTION = "question"
    FORMAT = "format"


FIRST = (Section.SYSTEM, Section.QUESTION, Section.FORMAT)
REST = (Section.PROFILE, Section.SUMMARY, Section.HISTORY, Section.RECALLED, Section.CHUNKS)
KEPT_FOR_REST = 4  # a quarter

Key = TypeVar("Key")


def allot(room: int, demands: Mapping[Section, int], settings: BudgetSettings) -> dict[Section, int]:
    """Tokens per section; their sum is at most `room`. BudgetError if safety alone is larger."""
    safety = demands.get(Section.SAFETY, 0)
    check_safety(safety, max(room, 0))
    room = max(room, 0) - safety
    wanted_first, wanted_rest = ({section: demands.get(section, 0) for section in each} for each in (FIRST, REST))
    first = min(sum(wanted_first.values()), room - min(sum(wanted_rest.values()), room // KEPT_FOR_REST))
    weights = {section: getattr(settings, f"{section}_share") for section in (*FIRST, *REST) if demands.get(section)}
    return {
        Section.SAFETY: safety,
        **share_out(first, wanted_first, weights),
        **share_out(room - first, wanted_rest, weights),
    }


def check_safety(tokens: int, room: int) -> None:
    """Refuse a budget that would have to cut the safety rules."""
    if tokens > room:
        raise BudgetError(
            f"the safety rules take {tokens} tokens and are never cut, but the limit leaves {room}; "
            "raise model_limit, lower answer_reserve or shorten safety_rules"
        )


def share_out(total: int, demands: Mapping[Key, int], weights: Mapping[Key, int]) -> dict[Key, int]:
    """Pour `total` into vessels of the given demands in proportion to weights; monotone in `total`."""
    shares = dict.fromkeys(demands, 0)
    open_keys = [key for key, demand in demands.items() if demand > 0]
    left = max(total, 0)
    while open_keys:
        weight = sum(weights[key] for key in open_keys)
        full = [key for key in open_keys if demands[key] * weight <= weights[key] * left]
        if not full:
            for key in open_keys:
                shares[key] = weights[key] * left // weight
            break
        for key in full:
            shares[key] = demands[key]
            left -= demands[key]
            open_keys.remove(key)
    return shares
