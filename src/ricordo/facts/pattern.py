"""One way of telling something of oneself: how the clause goes, what kind of claim it is, how a fact says it.

`clause` matches a whole clause; its groups `x` and `y` are checked and cleaned by the named checks of `objects` and
filled into `text` and `about`. An `about` of "preference:{x}" stands for whatever is said of that one thing.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from ricordo.person import FactKind


@dataclass(frozen=True)
class Pattern:
    """`greeted` patterns are believed only right after a greeting."""

    kind: FactKind
    clause: str
    text: str
    about: str = ""
    x: str = "thing"
    y: str = "thing"
    confidence: float = 0.9
    greeted: bool = False

    @cached_property
    def regex(self) -> re.Pattern[str]:
        """The clause, compiled at first use."""
        return re.compile(self.clause, re.IGNORECASE)


@dataclass(frozen=True)
class Tongue:
    """The patterns of one language. `lead` may stand before any of them; `sign` is in every text that can match one."""

    code: str
    lead: re.Pattern[str]
    sign: re.Pattern[str]
    patterns: tuple[Pattern, ...]
