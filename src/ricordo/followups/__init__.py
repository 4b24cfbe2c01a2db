"""Follow-ups: what a short question means in its conversation, by rules, in Italian and English.

`understand` runs the steps: `parse` finds cues, `resolve` binds them to past turns and their `items`, `rewrite` makes a
standalone question, `clarify` asks back when a reference is ambiguous.
"""
