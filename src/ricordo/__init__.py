"""Ricordo: conversational memory for chat applications.

import ricordo

with ricordo.open("chat.db") as memory:
    session = memory.session(user_id="anna")
    session.add_turn("What is a budget?", "One limit for the whole prompt.")
    context = session.context("And who keeps it?")
"""

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
from ricordo.settings import BudgetSettings, Retention, Settings, WindowSettings
from ricordo.window import Window

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
    "ImportResult",
    "Locale",
    "Memory",
    "Message",
    "NotFoundError",
    "OpenTurn",
    "Receipt",
    "ReceiptError",
    "ReceiptItem",
    "Remembered",
    "Retention",
    "RicordoError",
    "SchemaError",
    "Session",
    "SessionInfo",
    "Settings",
    "SettingsError",
    "Stats",
    "StoreError",
    "StoreUnavailable",
    "Turn",
    "ValidationError",
    "Verification",
    "Window",
    "WindowSettings",
    "__version__",
    "open",
]
