"""Reads the exports and databases of other programs: ChatGPT, Claude, Open WebUI, LibreChat and others.

A path goes in; session documents come out one at a time, in bounded memory, with a problem in place of what cannot be
read. `ricordo.imports.run` imports them into a memory.
"""

from ricordo.imports.conversation import Imported, ImportProblem
from ricordo.imports.read import ReadOptions, detect, read
from ricordo.imports.sources import FORMATS, Format

__all__ = ["FORMATS", "Format", "ImportProblem", "Imported", "ReadOptions", "detect", "read"]
