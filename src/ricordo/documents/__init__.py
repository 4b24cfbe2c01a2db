"""Documents: text, Markdown and PDF cut into pieces that can be cited, and found again by a question.

Everything in here is pure: a text (or the bytes of a PDF) and vectors come in as arguments, pieces with stable ids
and ranked findings with reasons come out. Where documents are kept is a store's affair.
"""

from ricordo.documents.chunks import KINDS, Bounds, Kind, Piece, as_chunk, chunk, kind_of
from ricordo.documents.pdf import read_pdf
from ricordo.documents.retrieval import PieceIndex, RetrievedPiece, Retriever, rank

__all__ = [
    "KINDS",
    "Bounds",
    "Kind",
    "Piece",
    "PieceIndex",
    "RetrievedPiece",
    "Retriever",
    "as_chunk",
    "chunk",
    "kind_of",
    "rank",
    "read_pdf",
]
