"""What may become a fact: a claim of one sentence, with the user message that it quotes.

A candidate carries its message, so that whoever takes it in can check the quote without asking anybody.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from ricordo.person import FactKind, Source, Trust


class When(NamedTuple):
    """When a message was said: what was said first is less.

    Of one moment, which a whole day may be in an import, the number of the turn decides; between sessions, their names.
    """

    moment: datetime
    session_id: str = ""
    turn_number: int = 0


@dataclass(frozen=True, slots=True)
class Said:
    """One message of a user, as facts are looked for in it. `origin` is how it got here, and is never raised."""

    id: str
    session_id: str
    text: str
    created_at: datetime
    origin: Trust = "user_said"
    turn_number: int = 0

    @property
    def when(self) -> When:
        """When it was said; a turn has one message of its user, so that its number tells the rest."""
        return When(self.created_at, self.session_id, self.turn_number)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One claim. `about` names what it decides, `quote` is a verbatim span of the message, `made_by` who read it."""

    kind: FactKind
    text: str
    about: str
    quote: str
    language: str
    said: Said
    confidence: float = 1.0
    made_by: str = "patterns"

    @property
    def source(self) -> Source:
        """Where it was said."""
        return Source(self.said.id, self.said.session_id, self.quote)


@dataclass(frozen=True, slots=True)
class Extraction:
    """What was found, by whom, at which cost; `why` tells what kept a model from being the one."""

    candidates: tuple[Candidate, ...]
    made_by: str
    why: str = ""
    dropped: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
