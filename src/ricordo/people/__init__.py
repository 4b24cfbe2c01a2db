"""Facts: what a user says of themselves, as claims of one sentence that quote the words they were made from.

Everything here is pure: messages, facts and the moment go in, candidates and changes come out. A wrong claim about a
person is worse than a missing one, so every rule here prefers to be silent.
"""
