"""Ricordo: conversational memory for chat applications."""
