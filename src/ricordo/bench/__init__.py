"""Measurements anybody can repeat: each module has a typed `run` and a `main` that prints a table."""
