"""Safety: fence stored text, detect crises, flag injection signals, redact personal data.

Detection is pure and needs no model and no network. The guarantee is `fence`: stored text stands between two lines and
cannot break out of them. Detection (`signals`) only sets flags and is no defence by itself.
"""
