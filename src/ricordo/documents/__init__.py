"""Documents: text, Markdown and PDF, cut into pieces that can be cited and retrieved for a question.

`blocks`, `chunks`, `pdf` and `retrieval` are pure: text and vectors go in, pieces with stable ids and ranked results
come out. `library` stores documents and searches them.
"""

from ricordo.documents.chunks import KINDS, Bounds, Kind, Piece, chunk, kind_of, read_pdf
from ricordo.documents.library import PieceIndex, RetrievedPiece, as_chunk, rank

__all__ = [
    "KINDS",
    "Bounds",
    "Kind",
    "Piece",
    "PieceIndex",
    "RetrievedPiece",
    "as_chunk",
    "chunk",
    "kind_of",
    "rank",
    "read_pdf",
]
