"""A turn as two rows of a table of messages."""

from bench.systems.bare import Messages as System

__all__ = ["System"]
