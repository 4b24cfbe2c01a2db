"""Facts: one-sentence claims that a user makes about themselves, each quoting the message it was read from.

`extraction` reads claims from messages, `claims` compares and admits them, `merge` merges them into the stored
facts. A wrong claim about a person is worse than a missing one, so in doubt every rule returns nothing.
"""
