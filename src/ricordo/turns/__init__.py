"""Turns: write, number, export, forget and verify what was said."""
