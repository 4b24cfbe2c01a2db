"""Safety: what is stored stays data, a crisis is noticed, personal data and suspicious text are seen.

Everything here is pure, needs no model and no network. The guarantee is `fence`: what is stored stands between two
lines and cannot leave them. Detection (`signals`) only informs flags and is no defence by itself.
"""
