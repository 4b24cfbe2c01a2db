"""The store's traces: vectors of turns, read a page at a time, because an owner may have more than fit in memory."""

from collections.abc import Iterator, Sequence

from ricordo.records.turns import Owner, SessionMark, TurnVectors
from ricordo.stores.derived_rows import row_to_trace, rows_to_marks
from ricordo.stores.postgres import topic_operations
from ricordo.stores.postgres import topic_statements as sql
from ricordo.stores.postgres.row_security import Walled

TRACES_AT_ONCE = 1000


class PostgresTraces(Walled):
    """Vectors of turns."""

    def marks(self, owner: Owner) -> dict[str, SessionMark]:
        return rows_to_marks(self._read(owner, sql.MARKS))

    def traces(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[TurnVectors]:
        statement = sql.TRACES if session_id is None else sql.TRACES_OF_SESSION
        reached = {"session_id": session_id or "", "turn_number": 0}
        while True:
            rows = self._read(owner, statement, embedder=embedder, limit=TRACES_AT_ONCE, **reached)
            yield from map(row_to_trace, rows)
            if len(rows) < TRACES_AT_ONCE:
                return
            reached = {"session_id": rows[-1][0], "turn_number": rows[-1][1]}

    def keep_traces(self, owner: Owner, traces: Sequence[TurnVectors]) -> None:
        if traces:
            self._patiently(owner, lambda tx: topic_operations.keep_traces(tx, owner, traces))

    def drop_traces(self, owner: Owner, *, keep: str) -> int:
        values = {"owner": owner.key, "keep": keep}
        return self._patiently(owner, lambda tx: tx.send(sql.REMOVE_OTHER_TRACES, values)).rowcount
