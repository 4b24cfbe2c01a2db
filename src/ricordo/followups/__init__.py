"""Follow-ups: what a short question means in the light of the talk so far, by rules, in Italian and English."""

from ricordo.followups.clarify import (
    ClarificationKey,
    ClarificationOption,
    ClarificationStates,
    Outcome,
    Pending,
    answer,
    ask,
    handle,
)
from ricordo.followups.cues import Kind, Pick, ReferenceCue, main_kind
from ricordo.followups.focus import PastTurn
from ricordo.followups.items import Item, derive_items
from ricordo.followups.parse import parse
from ricordo.followups.resolve import Candidate, FindAnswer, Resolution, Resolved, resolve
from ricordo.followups.rewrite import Addition, Rewriter

__all__ = [
    "Addition",
    "Candidate",
    "ClarificationKey",
    "ClarificationOption",
    "ClarificationStates",
    "FindAnswer",
    "Item",
    "Kind",
    "Outcome",
    "PastTurn",
    "Pending",
    "Pick",
    "ReferenceCue",
    "Resolution",
    "Resolved",
    "Rewriter",
    "answer",
    "ask",
    "derive_items",
    "handle",
    "main_kind",
    "parse",
    "resolve",
]
