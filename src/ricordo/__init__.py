"""Ricordo: conversational memory for chat applications.

import ricordo

with ricordo.open("chat.db") as memory:
    session = memory.session(user_id="anna")
    session.add_turn("What is a budget?", "One limit for the whole prompt.")
    context = session.context("And who keeps it?")

Every name is loaded with its first use: a command that only asks a running process starts at once, and recall, topics
and follow-ups bring numpy with them.
"""

TYPE_CHECKING = False  # what `typing` says, without importing it
if TYPE_CHECKING:
    from ricordo.engine import LLM, Completion
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
    from ricordo.followups.reference import Pending, Resolved
    from ricordo.languages.registry import Locale
    from ricordo.memory import Memory, open
    from ricordo.people.facts.learn import SessionEnd
    from ricordo.prompt.context import Context
    from ricordo.prompt.memory_block import enhance_prompt, extract_base_prompt, has_memory_context
    from ricordo.prompt.receipt import Receipt, ReceiptItem
    from ricordo.prompt.window import Window
    from ricordo.recall.search import Hit, Hits
    from ricordo.records.derived import Fact, Flag, Profile, Source, Summary, Topic, TopicStats
    from ricordo.records.service import CleanupResult, EraseReceipt, ImportResult, Repair, Stats, Verification
    from ricordo.records.turns import Asked, Chunk, Message, Remembered, SessionInfo, Turn
    from ricordo.safety.crisis import Crisis
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
    "Asked": "ricordo.records.turns",
    "BudgetError": "ricordo.errors",
    "BudgetSettings": "ricordo.settings",
    "Chunk": "ricordo.records.turns",
    "CleanupResult": "ricordo.records.service",
    "Completion": "ricordo.engine",
    "CondensationSettings": "ricordo.settings",
    "ConflictError": "ricordo.errors",
    "Context": "ricordo.prompt.context",
    "Crisis": "ricordo.safety.crisis",
    "DamageError": "ricordo.errors",
    "EraseReceipt": "ricordo.records.service",
    "Fact": "ricordo.records.derived",
    "Flag": "ricordo.records.derived",
    "Hit": "ricordo.recall.search",
    "Hits": "ricordo.recall.search",
    "ImportResult": "ricordo.records.service",
    "LLM": "ricordo.engine",
    "LLMError": "ricordo.errors",
    "Locale": "ricordo.languages.registry",
    "Memory": "ricordo.memory",
    "Message": "ricordo.records.turns",
    "NotFoundError": "ricordo.errors",
    "OpenTurn": "ricordo.session",
    "Pending": "ricordo.followups.reference",
    "Profile": "ricordo.records.derived",
    "ProfileSettings": "ricordo.settings",
    "RecallSettings": "ricordo.settings",
    "Receipt": "ricordo.prompt.receipt",
    "ReceiptError": "ricordo.errors",
    "ReceiptItem": "ricordo.prompt.receipt",
    "Remembered": "ricordo.records.turns",
    "Repair": "ricordo.records.service",
    "Resolved": "ricordo.followups.reference",
    "Retention": "ricordo.settings",
    "RicordoError": "ricordo.errors",
    "SafetySettings": "ricordo.settings",
    "SchemaError": "ricordo.errors",
    "Session": "ricordo.session",
    "SessionEnd": "ricordo.people.facts.learn",
    "SessionInfo": "ricordo.records.turns",
    "SessionTopic": "ricordo.topics.session_topic",
    "Settings": "ricordo.settings",
    "SettingsError": "ricordo.errors",
    "Source": "ricordo.records.derived",
    "Stats": "ricordo.records.service",
    "StoreError": "ricordo.errors",
    "StoreUnavailable": "ricordo.errors",
    "Summary": "ricordo.records.derived",
    "Topic": "ricordo.records.derived",
    "TopicSettings": "ricordo.settings",
    "TopicStats": "ricordo.records.derived",
    "Turn": "ricordo.records.turns",
    "ValidationError": "ricordo.errors",
    "Verification": "ricordo.records.service",
    "Window": "ricordo.prompt.window",
    "WindowSettings": "ricordo.settings",
    "enhance_prompt": "ricordo.prompt.memory_block",
    "extract_base_prompt": "ricordo.prompt.memory_block",
    "has_memory_context": "ricordo.prompt.memory_block",
    "open": "ricordo.memory",
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    if name in _LATER:
        found = globals()[name] = getattr(import_module(_LATER[name]), name)
        return found
    if not name.startswith("_"):
        try:
            return import_module(f"{__name__}.{name}")  # a room: `ricordo.errors` needs no import of its own
        except ModuleNotFoundError as error:
            if error.name != f"{__name__}.{name}":
                raise
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
