"""Turns: write, number, export, import, forget, verify and repair them."""
