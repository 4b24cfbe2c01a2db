"""The careful insert."""

from bench.systems.bare import Careful as System

__all__ = ["System"]
