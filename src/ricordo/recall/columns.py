"""Columns that grow: numbers of one type in one array, and names as small codes.

An array is doubled when it is full, so that adding a message costs the same however many there are; names
(sessions, speakers, topics…) become small integers, so that a filter is one comparison over an array.
"""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray


class Column:
    """A growing array of one type, optionally of rows of a fixed width."""

    def __init__(self, kind: Any, width: int | None = None) -> None:
        self._shape = () if width is None else (width,)
        self._store: NDArray[Any] = np.zeros((0, *self._shape), dtype=kind)
        self._size = 0

    @property
    def array(self) -> NDArray[Any]:
        """What was put in so far; writing into it changes the column."""
        return self._store[: self._size]

    def extend(self, values: Sequence[Any]) -> None:
        """Put values at the end."""
        start = self._size
        self.extend_blank(len(values))
        self._store[start : self._size] = values

    def extend_blank(self, count: int) -> None:
        """Put so many zeros at the end."""
        needed = self._size + count
        if needed > len(self._store):
            grown = np.zeros((max(needed, 2 * len(self._store)), *self._shape), dtype=self._store.dtype)
            grown[: self._size] = self.array
            self._store = grown
        self._size = needed


class Codebook:
    """A growing column of names, each kept once; None is a name like any other, with the code -1."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._code_of: dict[str, int] = {}
        self._column = Column(np.int32)

    @property
    def codes(self) -> NDArray[np.int32]:
        """The code of each row's name."""
        return self._column.array

    def extend(self, names: Sequence[str | None]) -> list[int]:
        """Put names at the end and return their codes."""
        codes = [self._code(name) for name in names]
        self._column.extend(codes)
        return codes

    def change(self, row: int, name: str | None) -> None:
        """Give one row another name."""
        self.codes[row] = self._code(name)

    def name(self, row: int) -> str | None:
        """The name of one row."""
        code = int(self.codes[row])
        return self.names[code] if code >= 0 else None

    def among(self, names: Collection[str]) -> NDArray[np.bool_]:
        """Which rows have one of the names."""
        found = np.zeros(len(self.codes), dtype=np.bool_)
        for name in names:
            found |= self.codes == self._code_of.get(name, -2)
        return found

    def _code(self, name: str | None) -> int:
        if name is None:
            return -1
        if name not in self._code_of:
            self._code_of[name] = len(self.names)
            self.names.append(name)
        return self._code_of[name]
