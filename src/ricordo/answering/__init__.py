"""Answering: the reader that needs no model, what a model is told, and honest figures about any answer.

Everything in here is pure: a question and chunks come in, an answer with checked citations, an intent and a
confidence come out.
"""

from ricordo.answering.citations import Checked, CitationCheck, check
from ricordo.answering.confidence import Evidence, confidence
from ricordo.answering.evidence import coverage
from ricordo.answering.instructions import Instructions, instructions
from ricordo.answering.intent import INTENTS, Intent, intent
from ricordo.answering.reader import Answer, Point, read, stream

__all__ = [
    "INTENTS",
    "Answer",
    "Checked",
    "CitationCheck",
    "Evidence",
    "Instructions",
    "Intent",
    "Point",
    "check",
    "confidence",
    "coverage",
    "instructions",
    "intent",
    "read",
    "stream",
]
