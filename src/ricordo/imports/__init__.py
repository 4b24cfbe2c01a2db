"""Reads the exports and databases of other programs: ChatGPT, Claude, Open WebUI, LibreChat and others.

A path goes in; session documents come out one at a time, in bounded memory, with a problem in place of what cannot be
read. `ricordo.imports.run` imports them into a memory.
"""
