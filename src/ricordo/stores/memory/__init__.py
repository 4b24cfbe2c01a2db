"""The store that keeps everything in the process: the reference for the others."""

from ricordo.stores.memory.store import MemoryStore

__all__ = ["MemoryStore"]
