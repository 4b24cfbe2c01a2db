"""What the parts of the store have in common: connections that are lent for one read or one write."""

import sqlite3
from contextlib import AbstractContextManager

from ricordo.stores.sqlite.connections import Connections


class Lending:
    """The connections of an open store; `_reading` lends one and gives it back."""

    _connections: Connections

    def _reading(self) -> AbstractContextManager[sqlite3.Connection]:
        raise NotImplementedError
