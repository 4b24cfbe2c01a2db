"""Topics: what a session talks about.

`organise` runs the steps: `assign` finds the topic of each turn (by `thresholds` and `centres`), `decay` says which
topics have faded, `archive` compacts and restores them. `merge` and `session_topic` serve the user.
"""
