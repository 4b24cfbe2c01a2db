"""Condensation: when a long talk is summarised, how, and what must survive it.

Records, numbers and the words of a counter or a model go in; a summary that names the turns it covers comes out. It
never replaces them, and it says who made it: a model, the extractive rules, or plain truncation.
"""
