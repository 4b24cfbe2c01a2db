"""Which of a topic's hot messages leave for the archive, and which stay.

A topic's hot messages go in, in order; a plan of ids comes out. A message is written into a block once in its life:
blocks stay valid after a restore, so compacting a restored topic again only lets go of the copies that a block
already holds and packs what is new.
"""

from collections.abc import Sequence
from dataclasses import dataclass

MAX_MESSAGES_PER_TOPIC = 12
RECENT_MESSAGE_KEEP = 4


@dataclass(frozen=True, slots=True)
class HotMessage:
    """One message in a topic's working memory; `block_id` names the block that already holds it, if any does."""

    id: str
    block_id: str | None = None


@dataclass(frozen=True, slots=True)
class Compaction:
    """What to do: write `pack` as one new block, then drop the hot copies of `pack` and `release`; `keep` stays."""

    pack: tuple[str, ...] = ()
    release: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()

    @property
    def needed(self) -> bool:
        """Whether anything leaves at all."""
        return bool(self.pack or self.release)


def plan(
    hot: Sequence[HotMessage],
    *,
    restored: int = 0,
    max_messages: int = MAX_MESSAGES_PER_TOPIC,
    keep_recent: int = RECENT_MESSAGE_KEEP,
) -> Compaction:
    """All but the last `keep_recent` messages leave when more than `max_messages` came since the last restore.

    `restored` is how many messages the last restore brought back (0 when there was none since the last compaction).
    They do not count towards the limit: a restored topic stays whole for the talk that called it back, instead of being
    packed again at its next message.
    """
    if not 0 <= keep_recent <= max_messages:
        raise ValueError("keep_recent must be between 0 and max_messages")
    if len(hot) - min(max(restored, 0), len(hot)) <= max_messages:
        return Compaction(keep=tuple(message.id for message in hot))
    cut = len(hot) - keep_recent
    old, recent = hot[:cut], hot[cut:]
    return Compaction(
        pack=tuple(message.id for message in old if message.block_id is None),
        release=tuple(message.id for message in old if message.block_id is not None),
        keep=tuple(message.id for message in recent),
    )
