"""What every verb works with: a store, a counter, a clock and the settings; and whose session it is about."""

from dataclasses import dataclass

from ricordo.ports import Clock, Store, TokenCounter
from ricordo.records import Owner
from ricordo.settings import Settings


@dataclass(frozen=True, slots=True)
class Tools:
    """The parts that the façade has wired together."""

    store: Store
    counter: TokenCounter
    clock: Clock
    settings: Settings


@dataclass(frozen=True, slots=True)
class Scope:
    """One session of one owner, spoken with one agent."""

    owner: Owner
    session_id: str
    agent_id: str
