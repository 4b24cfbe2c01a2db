"""Adapters for other libraries, one module each; Ricordo itself imports none of them."""
