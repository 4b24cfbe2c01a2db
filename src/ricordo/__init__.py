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
from ricordo.languages.registry import Locale
from ricordo.memory import Memory, open
from ricordo.prompt.context import Context
from ricordo.prompt.receipt import Receipt, ReceiptItem
from ricordo.prompt.window import Window
from ricordo.records.service import CleanupResult, EraseReceipt, ImportResult, Repair, Stats, Verification
from ricordo.records.turns import Asked, Chunk, Message, Remembered, SessionInfo, Turn
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

if TYPE_CHECKING:
    from ricordo.engine import LLM, Completion
    from ricordo.followups.reference import Pending, Resolved
    from ricordo.people.facts.learn import SessionEnd
    from ricordo.prompt.memory_block import enhance_prompt, extract_base_prompt, has_memory_context
    from ricordo.recall.search import Hit, Hits
    from ricordo.records.derived import Fact, Flag, Profile, Source, Summary, Topic, TopicStats
    from ricordo.safety.crisis import Crisis
    from ricordo.topics.session_topic import SessionTopic

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
    "Repair",
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
    "Completion": "ricordo.engine",
    "Crisis": "ricordo.safety.crisis",
    "Fact": "ricordo.records.derived",
    "Flag": "ricordo.records.derived",
    "Hit": "ricordo.recall.search",
    "Hits": "ricordo.recall.search",
    "LLM": "ricordo.engine",
    "Pending": "ricordo.followups.reference",
    "Profile": "ricordo.records.derived",
    "Resolved": "ricordo.followups.reference",
    "SessionEnd": "ricordo.people.facts.learn",
    "SessionTopic": "ricordo.topics.session_topic",
    "Source": "ricordo.records.derived",
    "Summary": "ricordo.records.derived",
    "Topic": "ricordo.records.derived",
    "TopicStats": "ricordo.records.derived",
    "enhance_prompt": "ricordo.prompt.memory_block",
    "extract_base_prompt": "ricordo.prompt.memory_block",
    "has_memory_context": "ricordo.prompt.memory_block",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
