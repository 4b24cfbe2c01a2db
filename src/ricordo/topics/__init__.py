"""Topics: what a session talks about.

`organise` runs the steps: `subjects` and `assign` find the topic of each turn (by `thresholds`), `decay` says which
topics have faded, `archive` compacts and restores them. `session_topic` is the handle that users work with, merging
included.
"""
