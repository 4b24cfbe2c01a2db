"""The wall between owners: which role a transaction takes on and which owner it names to row-level security.

In: what the connecting role may do. Out: the statements that open every transaction. `SET LOCAL` and not
`set_config()`, because only the former reaches the shards of a distributed PostgreSQL; it takes no parameters,
so values are quoted here and nowhere else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from ricordo.errors import StoreError
from ricordo.records.turns import Owner
from ricordo.stores.postgres.pool import Pool
from ricordo.stores.postgres.transaction import Row, Runner, Statements, Transaction

ROLE = "ricordo_app"

# What decides about the wall, asked as the connecting role.
STANDING = """
    SELECT me.rolname, me.rolsuper OR me.rolbypassrls,
           app.rolname IS NOT NULL, coalesce(app.rolsuper OR app.rolbypassrls, false),
           EXISTS (SELECT FROM pg_catalog.pg_extension WHERE extname = 'citus')
    FROM pg_catalog.pg_roles AS me LEFT JOIN pg_catalog.pg_roles AS app ON app.rolname = 'ricordo_app'
    WHERE me.rolname = current_user
"""

# Asked after SET LOCAL ROLE: the role may be there for another database and have no rights in this one.
MAY_WRITE = """
    SELECT CASE WHEN has_schema_privilege('ricordo', 'USAGE')
                THEN has_table_privilege('ricordo.turns', 'SELECT, INSERT') ELSE false END
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the connecting role is and may become."""

    role: str
    bypasses: bool
    may_assume: bool
    distributed: bool = False


@dataclass(frozen=True, slots=True)
class Wall:
    """How a transaction shuts itself in; `role` is None where the connecting role is walled by itself."""

    role: str | None
    distributed: bool = False

    def around_owner(self, owner: UUID) -> tuple[str, ...]:
        """Only this owner's rows."""
        return self._around("ricordo.owner", str(UUID(int=owner.int)))

    def around_tenant(self, tenant_id: str) -> tuple[str, ...]:
        """Only the names of this tenant's users."""
        return self._around("ricordo.tenant", tenant_id)

    def around_digest(self, digest: str) -> tuple[str, ...]:
        """Only the API key that has this digest."""
        return self._around("ricordo.digest", digest)

    def around_workers(self) -> tuple[str, ...]:
        """The jobs of everybody, to be taken."""
        return self._around("ricordo.worker", "on")

    def around_names(self) -> tuple[str, ...]:
        """The names of all users, and all API keys, for a backup."""
        return self._around("ricordo.backup", "on")

    def _around(self, setting: str, value: str) -> tuple[str, ...]:
        scope = f"SET LOCAL {setting} = {quoted(value)}"
        role = (f"SET LOCAL ROLE {self.role}",) if self.role else ()
        reach = ("SET LOCAL citus.propagate_set_commands = 'local'",) if self.distributed else ()
        return (*reach, scope, *role)


def quoted(value: str) -> str:
    """A text literal that means the same whatever the server's settings for backslashes are."""
    doubled = value.replace("'", "''").replace("\\", "\\\\")
    return f"E'{doubled}'"


def raise_wall(standing: Standing, *, required: bool) -> Wall:
    """Take on the application role where possible; refuse a role that walks through walls otherwise."""
    if standing.may_assume:
        return Wall(ROLE, standing.distributed)
    if standing.bypasses and required:
        raise StoreError(
            f"the role {standing.role!r} ignores row-level security and cannot take on {ROLE!r}, so one user's "
            f"rows would not be walled off from another's; run GRANT {ROLE} TO {standing.role}, connect as an "
            "ordinary role, or pass require_wall=False to go on without the wall"
        )
    return Wall(None, standing.distributed)


# What the parts of the store have in common: pieces of work, each run behind the wall of its owner.

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
