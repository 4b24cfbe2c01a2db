"""Row-level security: the settings that restrict a transaction to one owner, and scripts run under them.

In: what the connecting role may do. Out: the statements that open every transaction. `SET LOCAL` and not
`set_config()`, because only the former reaches the shards of a distributed PostgreSQL; it takes no parameters, so
values are quoted here and nowhere else.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from uuid import UUID

from ricordo.errors import StoreError
from ricordo.records.turns import Owner
from ricordo.stores.postgres.transaction import Row, Statements, Transaction, TransactionRunner

T = TypeVar("T")

ROLE = "ricordo_app"
LONG_TIMEOUT = 600.0  # seconds for scripts whose size the caller chose: imports, erasures, statistics


@dataclass(frozen=True, slots=True)
class ConnectedRole:
    """The role that connects: whether it bypasses row-level security, and whether it may become `ricordo_app`."""

    name: str
    bypasses: bool
    may_assume: bool
    distributed: bool = False


@dataclass(frozen=True, slots=True)
class RowSecurity:
    """The settings of a transaction; `role` is None where row-level security applies to the connecting role itself."""

    role: str | None
    distributed: bool = False

    def for_owner(self, owner: UUID) -> tuple[str, ...]:
        """Only this owner's rows."""
        return self._settings("ricordo.owner", str(UUID(int=owner.int)))

    def for_tenant(self, tenant_id: str) -> tuple[str, ...]:
        """Only the names of this tenant's users, its API keys and jobs."""
        return self._settings("ricordo.tenant", tenant_id)

    def for_digest(self, digest: str) -> tuple[str, ...]:
        """Only the API key with this digest."""
        return self._settings("ricordo.digest", digest)

    def for_workers(self) -> tuple[str, ...]:
        """The jobs of all owners, to be leased."""
        return self._settings("ricordo.worker", "on")

    def for_backup(self) -> tuple[str, ...]:
        """The names of all users, and all API keys."""
        return self._settings("ricordo.backup", "on")

    def _settings(self, setting: str, value: str) -> tuple[str, ...]:
        scope = f"SET LOCAL {setting} = {quoted(value)}"
        role = (f"SET LOCAL ROLE {self.role}",) if self.role else ()
        reach = ("SET LOCAL citus.propagate_set_commands = 'local'",) if self.distributed else ()
        return (*reach, scope, *role)


def quoted(value: str) -> str:
    """A text literal that means the same whatever the server's settings for backslashes are."""
    doubled = value.replace("'", "''").replace("\\", "\\\\")
    return f"E'{doubled}'"


def row_security_for(role: ConnectedRole, *, required: bool) -> RowSecurity:
    """Assume the application role where possible; otherwise refuse a role that bypasses row-level security."""
    if role.may_assume:
        return RowSecurity(ROLE, role.distributed)
    if role.bypasses and required:
        raise StoreError(
            f"the role {role.name!r} bypasses row-level security and cannot assume {ROLE!r}, so one user's rows would "
            f"not be separated from another's; run GRANT {ROLE} TO {role.name}, connect as an ordinary role, or pass "
            "require_wall=False to continue without row-level security"
        )
    return RowSecurity(None, role.distributed)


class OwnerTransactions:
    """Runs the scripts of all parts of a store, each in a transaction restricted by row-level security."""

    def __init__(self, runner: TransactionRunner, security: RowSecurity) -> None:
        self.runner = runner
        self.security = security

    def run(
        self,
        owner: Owner,
        script: Callable[[Transaction], T],
        *,
        repeatable: bool = False,
        timeout: float | None = None,
    ) -> T:
        """The script's result, once it is committed; it sees one owner's rows."""
        return self.runner.run(self.security.for_owner(owner.key), script, repeatable=repeatable, timeout=timeout)

    def run_long(self, owner: Owner, script: Callable[[Transaction], T]) -> T:
        """`run` for a script that may run twice without harm, and may take long."""
        return self.run(owner, script, repeatable=True, timeout=LONG_TIMEOUT)

    def read(self, owner: Owner, statement: str, **values: Any) -> list[Row]:
        """The rows of one statement, in one round trip."""
        values["owner"] = owner.key
        return self.run(owner, lambda tx: tx.send(statement, values, binary=True), repeatable=True).fetchall()

    def read_with(self, settings: Statements, statement: str, **values: Any) -> list[Row]:
        """The rows of a statement that names no owner, under the given settings."""
        return self.runner.run(settings, lambda tx: tx.send(statement, values, binary=True), repeatable=True).fetchall()
