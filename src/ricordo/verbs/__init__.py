"""What Ricordo does: each module is one verb that fetches, calls the pure decisions, and saves."""
