"""How much of a system prompt the memory of a person may take: a share for each section and a bound for the whole."""

from dataclasses import dataclass, fields

from ricordo.errors import SettingsError


@dataclass(frozen=True, slots=True)
class MemoryShares:
    """Tokens for each section, its heading included, and for the whole enhanced prompt; how many facts and topics.

    The whole includes the safety rules and the base prompt. They are never cut: where they leave little room the
    memory shrinks, and where they leave none it is left out.
    """

    summary: int = 200
    facts: int = 100
    topics: int = 50
    total: int = 1150
    most_facts: int = 5
    most_topics: int = 10

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise SettingsError(f"memory_shares.{each.name}", f"{value!r} is not a count; give 0 or more")

    @property
    def memory(self) -> int:
        """What the three sections may take together."""
        return self.summary + self.facts + self.topics

    def within(self, room: int) -> tuple[int, int, int]:
        """Summary, facts and topics scaled down to `room` tokens, in proportion; never above their shares."""
        if room >= self.memory:
            return self.summary, self.facts, self.topics
        return (
            self.summary * room // self.memory,
            self.facts * room // self.memory,
            self.topics * room // self.memory,
        )
