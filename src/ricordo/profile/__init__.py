"""Profile: what an agent knows of a user across sessions, short enough for every prompt; and how long ago that was.

Everything here is pure: summaries, facts, topics, a token counter and the moment go in, a profile comes out.
"""
