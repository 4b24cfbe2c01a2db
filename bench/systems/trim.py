"""The window rule for systems that leave trimming to their user: the last 3 turns within 2,000 tokens.

Tokens are counted at four characters each plus four for the message. That is less work than an exact count, so it
favours the others: Ricordo counts exactly, once, when it writes.
"""

from collections.abc import Sequence

TURNS = 3
TOKENS = 2_000

Said = tuple[str, str]


def tokens(text: str) -> int:
    """Four characters a token, four tokens around a message."""
    return (len(text) + 3) // 4 + 4


def trim(messages: Sequence[Said]) -> list[Said]:
    """The newest whole turns that fit, oldest first."""
    kept = list(messages[-2 * TURNS :])
    while kept and kept[0][0] != "user":
        del kept[0]
    while len(kept) > 2 and sum(tokens(text) for _, text in kept) > TOKENS:
        del kept[:2]
    return kept
