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

from ricordo.context import Context, Remembered
from ricordo.errors import (
    BudgetError,
    ConflictError,
    DamageError,
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
from ricordo.memory import Memory, open
from ricordo.receipt import Receipt, ReceiptItem
from ricordo.records import Chunk, Message, SessionInfo, Turn
from ricordo.reports import CleanupResult, EraseReceipt, ImportResult, Stats, Verification
from ricordo.session import OpenTurn, Session
from ricordo.settings import BudgetSettings, RecallSettings, Retention, Settings, TopicSettings, WindowSettings
from ricordo.window import Window

if TYPE_CHECKING:
    from ricordo.followups.clarify import Pending
    from ricordo.followups.resolution import Resolved
    from ricordo.session_topic import SessionTopic
    from ricordo.topics.topic import Topic, TopicStats
    from ricordo.verbs.recall import Hit, Hits

__version__ = "0.1.0"

__all__ = [
    "BudgetError",
    "BudgetSettings",
    "Chunk",
    "CleanupResult",
    "ConflictError",
    "Context",
    "DamageError",
    "EraseReceipt",
    "Hit",
    "Hits",
    "ImportResult",
    "Locale",
    "Memory",
    "Message",
    "NotFoundError",
    "OpenTurn",
    "Pending",
    "RecallSettings",
    "Receipt",
    "ReceiptError",
    "ReceiptItem",
    "Remembered",
    "Resolved",
    "Retention",
    "RicordoError",
    "SchemaError",
    "Session",
    "SessionInfo",
    "SessionTopic",
    "Settings",
    "SettingsError",
    "Stats",
    "StoreError",
    "StoreUnavailable",
    "Topic",
    "TopicSettings",
    "TopicStats",
    "Turn",
    "ValidationError",
    "Verification",
    "Window",
    "WindowSettings",
    "__version__",
    "open",
]

_LATER = {
    "Hit": "ricordo.verbs.recall",
    "Hits": "ricordo.verbs.recall",
    "Pending": "ricordo.followups.clarify",
    "Resolved": "ricordo.followups.resolution",
    "SessionTopic": "ricordo.session_topic",
    "Topic": "ricordo.topics.topic",
    "TopicStats": "ricordo.topics.topic",
}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_LATER[name]), name)
