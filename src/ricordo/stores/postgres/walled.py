"""What the parts of the store have in common: pieces of work, each run behind the wall of its owner.

In: an owner and a statement or a script. Out: its result, once it is committed.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from ricordo.records import Owner
from ricordo.stores.postgres.pool import Pool
from ricordo.stores.postgres.transaction import Row, Runner, Statements, Transaction
from ricordo.stores.postgres.wall import Wall

T = TypeVar("T")

LONG = 600.0  # seconds for work whose size the caller chose: imports, erasures, statistics


class Walled:
    """A pool, a wall, and what runs work behind it: the pool, or a snapshot of one moment."""

    _pool: Pool
    _wall: Wall
    _runner: Runner

    def _run(
        self,
        owner: Owner,
        work: Callable[[Transaction], T],
        *,
        repeatable: bool = False,
        patience: float | None = None,
    ) -> T:
        wall = self._wall.around_owner(owner.key)
        return self._runner.run(wall, work, repeatable=repeatable, patience=patience)

    def _read(self, owner: Owner, statement: str, **values: Any) -> list[Row]:
        """The rows of one statement, in one round trip."""
        values["owner"] = owner.key
        return self._run(owner, lambda tx: tx.send(statement, values, binary=True), repeatable=True).fetchall()

    def _ask(self, wall: Statements, statement: str, **values: Any) -> list[Row]:
        """The rows of a statement that no owner's wall fits, behind the one that is given."""
        return self._runner.run(wall, lambda tx: tx.send(statement, values, binary=True), repeatable=True).fetchall()

    def _patiently(self, owner: Owner, work: Callable[[Transaction], T]) -> T:
        """Work that does no harm when it is done twice, and may take long."""
        return self._run(owner, work, repeatable=True, patience=LONG)
