"""Ricordo inside other libraries: one module for each, imported by name, none of them with Ricordo itself."""
