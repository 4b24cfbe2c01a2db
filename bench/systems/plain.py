"""The plainest insert."""

from bench.systems.bare import Plain as System

__all__ = ["System"]
