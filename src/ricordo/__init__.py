"""Ricordo: conversational memory for chat applications.

import ricordo

with ricordo.open("chat.db") as memory:
    session = memory.session(user_id="anna")
    session.add_turn("What is a budget?", "One limit for the whole prompt.")
    context = session.context("And who keeps it?")

Every name is imported at its first use, so that a command that only calls a running process starts quickly: recall,
topics and follow-ups import numpy.
"""

TYPE_CHECKING = False  # as in `typing`, without importing it
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
    name: f"ricordo.{module}"
    for module, names in {
        "engine": "Completion LLM",
        "errors": "BudgetError ConflictError DamageError LLMError NotFoundError ReceiptError "
        "RicordoError SchemaError SettingsError StoreError StoreUnavailable ValidationError",
        "followups.reference": "Pending Resolved",
        "languages.registry": "Locale",
        "memory": "Memory open",
        "people.facts.learn": "SessionEnd",
        "prompt.context": "Context",
        "prompt.memory_block": "enhance_prompt extract_base_prompt has_memory_context",
        "prompt.receipt": "Receipt ReceiptItem",
        "prompt.window": "Window",
        "recall.search": "Hit Hits",
        "records.derived": "Fact Flag Profile Source Summary Topic TopicStats",
        "records.service": "CleanupResult EraseReceipt ImportResult Repair Stats Verification",
        "records.turns": "Asked Chunk Message Remembered SessionInfo Turn",
        "safety.crisis": "Crisis",
        "session": "OpenTurn Session",
        "settings": "BudgetSettings CondensationSettings ProfileSettings RecallSettings "
        "Retention SafetySettings Settings TopicSettings WindowSettings",
        "topics.session_topic": "SessionTopic",
    }.items()
    for name in names.split()
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
