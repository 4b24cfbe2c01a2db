"""A system prompt with the memory of a person in it: composed, recognised, and taken apart again to the byte."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ricordo.prompt.enhance import enhance_prompt, extract_base_prompt, has_memory_context
    from ricordo.prompt.shares import MemoryShares
    from ricordo.prompt.words import MEMORY_WORDS, MemoryWords, memory_words

_HOMES = {
    "MEMORY_WORDS": "words",
    "MemoryShares": "shares",
    "MemoryWords": "words",
    "enhance_prompt": "enhance",
    "extract_base_prompt": "enhance",
    "has_memory_context": "enhance",
    "memory_words": "words",
}

__all__ = [
    "MEMORY_WORDS",
    "MemoryShares",
    "MemoryWords",
    "enhance_prompt",
    "extract_base_prompt",
    "has_memory_context",
    "memory_words",
]


def __getattr__(name: str) -> Any:
    """Import a name when it is first asked for: the headings alone are needed by many, the rest by few."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
