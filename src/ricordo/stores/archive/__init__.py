"""Cold turns of a topic, compressed together."""
