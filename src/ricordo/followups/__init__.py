"""Follow-ups: what a short question means in its conversation, by rules for all languages and a small scorer.

`understand` runs the steps: `parse` finds cues, `resolve` binds them to past turns, their `items` and `candidates`,
`antecedents` scores phrases of the talk, `rewrite` makes a standalone question, `clarify` asks back when a reference is
ambiguous.
"""
