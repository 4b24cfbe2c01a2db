"""What a chat is asked, checked once for every face."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ricordo.memory import DEFAULT_AGENT
from ricordo.session import AnyChunk


def never() -> bool:
    """Nobody stops the answer."""
    return False


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One question to a chat.

    `chunks` are the caller's own passages; without them documents are searched, those named by `document_ids` or all
    that the user may read. `understood_as` is the user's correction of what the question was taken to mean. `stop` is
    asked between the pieces of the answer.
    """

    query: str
    user_id: str
    agent_id: str = DEFAULT_AGENT
    session_id: object = None
    turn_id: str | None = None
    chunks: Sequence[AnyChunk] | None = None
    document_ids: Sequence[str] | None = None
    understood_as: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    stop: Callable[[], bool] = never
