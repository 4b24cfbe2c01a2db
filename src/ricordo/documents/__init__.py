"""Documents: text, Markdown and PDF, cut into pieces that can be cited and retrieved for a question.

`blocks` and `chunks` are pure: text goes in, pieces with stable ids come out; `chunks` also reads PDF. `library` stores
documents, indexes their pieces by words and vectors, and ranks them for a question.
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
