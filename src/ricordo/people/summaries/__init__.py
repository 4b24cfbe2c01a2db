"""Summaries of sessions: `condense` covers the old turns of a long session, `summarise` writes the text."""
