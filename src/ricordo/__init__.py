"""Ricordo: conversational memory for chat applications.

import ricordo

with ricordo.open("chat.db") as memory:
    session = memory.session(user_id="anna")
    session.add_turn("What is a budget?", "One limit for the whole prompt.")
    context = session.context("And who keeps it?")

Names of recall, topics and follow-ups are loaded with their first use: they bring numpy with them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ricordo.context import Asked, Context, Remembered
from ricordo.errors import (
    BudgetError,
    ConflictError,
    DamageError,
    LLMError,
    NotFoundError,
    ReceiptError,
    RicordoError,
    SchemaError,
    SettingsError,
    StoreError,
    StoreUnavailable,
    ValidationError,
)
from ricordo.locales import Locale
from ricordo.memory import Memory
from ricordo.opening import open
from ricordo.receipt import Receipt, ReceiptItem
from ricordo.records import Chunk, Message, SessionInfo, Turn
from ricordo.reports import CleanupResult, EraseReceipt, ImportResult, Stats, Verification
from ricordo.session import OpenTurn, Session
from ricordo.settings import (
    BudgetSettings,
    CondensationSettings,
    ProfileSettings,
    RecallSettings,
    Retention,
    SafetySettings,
    Settings,
    TopicSettings,
    WindowSettings,
)
from ricordo.window import Window

if TYPE_CHECKING:
    from ricordo.followups.clarify import Pending
    from ricordo.followups.resolution import Resolved
    from ricordo.person import Fact, Flag, Profile, Source, Summary
    from ricordo.ports import LLM, Completion
    from ricordo.prompt import enhance_prompt, extract_base_prompt, has_memory_context
    from ricordo.safety.crisis import Crisis
    from ricordo.session_topic import SessionTopic
    from ricordo.topics.topic import Topic, TopicStats
    from ricordo.verbs.ending import SessionEnd
    from ricordo.verbs.recall import Hit, Hits

__version__ = "0.1.0"

__all__ = [
    "LLM",
    "Asked",
    "BudgetError",
    "BudgetSettings",
    "Chunk",
    "CleanupResult",
    "Completion",
    "CondensationSettings",
    "ConflictError",
    "Context",
    "Crisis",
    "DamageError",
    "EraseReceipt",
    "Fact",
    "Flag",
    "Hit",
    "Hits",
    "ImportResult",
    "LLMError",
    "Locale",
    "Memory",
    "Message",
    "NotFoundError",
    "OpenTurn",
    "Pending",
    "Profile",
    "ProfileSettings",
    "RecallSettings",
    "Receipt",
    "ReceiptError",
    "ReceiptItem",
    "Remembered",
    "Resolved",
    "Retention",
    "RicordoError",
    "SafetySettings",
    "SchemaError",
    "Session",
    "SessionEnd",
    "SessionInfo",
    "SessionTopic",
    "Settings",
    "SettingsError",
    "Source",
    "Stats",
    "StoreError",
    "StoreUnavailable",
    "Summary",
    "Topic",
    "TopicSettings",
    "TopicStats",
    "Turn",
    "ValidationError",
    "Verification",
    "Window",
    "WindowSettings",
    "__version__",
    "enhance_prompt",
    "extract_base_prompt",
    "has_memory_context",
    "open",
]

_LATER = {
    "Completion": "ricordo.ports",
    "Crisis": "ricordo.safety.crisis",
    "Fact": "ricordo.person",
    "Flag": "ricordo.person",
    "Hit": "ricordo.verbs.recall",
    "Hits": "ricordo.verbs.recall",
    "LLM": "ricordo.ports",
    "Pending": "ricordo.followups.clarify",
    "Profile": "ricordo.person",
    "Resolved": "ricordo.followups.resolution",
    "SessionEnd": "ricordo.verbs.ending",
    "SessionTopic": "ricordo.session_topic",
    "Source": "ricordo.person",
    "Summary": "ricordo.person",
    "Topic": "ricordo.topics.topic",
    "TopicStats": "ricordo.topics.topic",
    "enhance_prompt": "ricordo.prompt",
    "extract_base_prompt": "ricordo.prompt",
    "has_memory_context": "ricordo.prompt",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
