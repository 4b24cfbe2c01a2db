"""The wall between owners: which role a transaction takes on and which owner it names to row-level security.

In: what the connecting role may do. Out: the statements that open every transaction. `SET LOCAL` and not
`set_config()`, because only the former reaches the shards of a distributed PostgreSQL; it takes no parameters,
so values are quoted here and nowhere else.
"""

from dataclasses import dataclass
from uuid import UUID

from psycopg import sql

from ricordo.errors import StoreError

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

    def around_owner(self, owner: UUID) -> tuple[sql.Composed, ...]:
        """Only this owner's rows."""
        return self._within(sql.SQL("SET LOCAL ricordo.owner = {}").format(sql.Literal(str(UUID(str(owner))))))

    def around_tenant(self, tenant_id: str) -> tuple[sql.Composed, ...]:
        """Only the names of this tenant's users."""
        return self._within(sql.SQL("SET LOCAL ricordo.tenant = {}").format(sql.Literal(tenant_id)))

    def around_names(self) -> tuple[sql.Composed, ...]:
        """The names of all users, for a backup."""
        return self._within(sql.SQL("SET LOCAL ricordo.backup = {}").format(sql.Literal("on")))

    def _within(self, scope: sql.Composed) -> tuple[sql.Composed, ...]:
        statements: list[sql.Composed] = [scope]
        if self.distributed:
            reach = sql.SQL("SET LOCAL citus.propagate_set_commands = {}").format(sql.Literal("local"))
            statements.insert(0, reach)
        if self.role is not None:
            statements.append(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(self.role)))
        return tuple(statements)


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
