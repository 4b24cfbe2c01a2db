"""What a follow-up points at, before it is bound to anything.

A `Reference` is the trace found in the question alone: its kind, how sure the rule is, and the span of the words that
triggered it. A `Pick` says which places of a list are meant; binding both to a turn is the resolver's work.
"""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["comparison", "ordinal", "statement", "back", "continuation", "pronoun", "ellipsis"]

# When several kinds are found, the first of these is what the question is about.
KINDS: tuple[Kind, ...] = (
    "statement",
    "comparison",
    "ordinal",
    "back",
    "continuation",
    "pronoun",
    "ellipsis",
)


@dataclass(frozen=True, slots=True)
class Pick:
    """Which items of a list: places from 1 (negative: from the end), a printed label, all of them, none, the next."""

    positions: tuple[int, ...] = ()
    label: str = ""
    every: bool = False
    count: int = 0
    negated: bool = False
    step: int = 0
    # All but `positions`; without any, all but the item last talked about.
    rest: bool = False


@dataclass(frozen=True, slots=True)
class ReferenceCue:
    """One trace of the talk so far inside a question: `question[start:end]` triggered it."""

    kind: Kind
    confidence: float
    start: int
    end: int
    text: str
    pick: Pick | None = None
    noun: str = ""
    content: str = ""
    plural: bool = False
    person: bool = False
    gender: str = ""
    # Believed only when its content is found in the talk; `one`: the content describes one item of a list.
    must_match: bool = False
    one: bool = False


def main_kind(references: tuple[ReferenceCue, ...]) -> Kind | None:
    """The kind that decides how the question is read, None for a question complete in itself."""
    found = {reference.kind for reference in references}
    return next((kind for kind in KINDS if kind in found), None)
