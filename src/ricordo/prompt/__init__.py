"""A system prompt with the memory of a person in it: composed, recognised, and taken apart again to the byte."""

from ricordo.prompt.enhance import enhance_prompt, extract_base_prompt, has_memory_context
from ricordo.prompt.shares import MemoryShares
from ricordo.prompt.words import MEMORY_WORDS, MemoryWords, memory_words

__all__ = [
    "MEMORY_WORDS",
    "MemoryShares",
    "MemoryWords",
    "enhance_prompt",
    "extract_base_prompt",
    "has_memory_context",
    "memory_words",
]
