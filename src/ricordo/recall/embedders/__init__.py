"""Embedders: texts go in, unit vectors come out (see `protocol.Embedder` for the contract).

`selection.embedder_for("auto")` returns the best one that works here. Nothing in here is imported by `import ricordo`:
numpy and the models are loaded when recall is first used.
"""
