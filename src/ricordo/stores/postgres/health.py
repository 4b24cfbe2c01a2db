"""What the server itself can tell about our tables: how large they are, and what is wrong with them.

In: a transaction. Out: bytes, or damages. The wall counts as part of a sound database: a table whose row-level
security was switched off is reported like a broken index.
"""

from ricordo.reports import Damage
from ricordo.stores.postgres.transaction import Transaction
from ricordo.stores.rows import misnamed

TABLES = (
    "owners", "sessions", "turns", "receipts", "passages", "topics", "blocks", "traces",
    "people", "facts", "summaries", "flags",
    "documents", "chunks", "api_keys", "jobs", "leases",
)  # fmt: skip

SIZE = """
    SELECT sum(pg_total_relation_size(oid))::bigint FROM pg_catalog.pg_class
    WHERE relnamespace = 'ricordo'::regnamespace AND relkind = 'r'
"""

_PAGES = """
    SELECT checksum_failures FROM pg_catalog.pg_stat_database
    WHERE datname = current_database() AND checksum_failures > 0
"""

_INDEXES = """
    SELECT c.relname FROM pg_catalog.pg_index AS i JOIN pg_catalog.pg_class AS c ON c.oid = i.indexrelid
    WHERE c.relnamespace = 'ricordo'::regnamespace AND NOT i.indisvalid
"""

_CONSTRAINTS = """
    SELECT conname FROM pg_catalog.pg_constraint
    WHERE connamespace = 'ricordo'::regnamespace AND NOT convalidated
"""

_OPEN_TABLES = """
    SELECT name FROM unnest(%(tables)s::text[]) AS name
    WHERE NOT EXISTS (
        SELECT FROM pg_catalog.pg_class
        WHERE relnamespace = 'ricordo'::regnamespace AND relname = name
          AND relrowsecurity AND relforcerowsecurity)
"""


_OWNERS = "SELECT owner, tenant_id, user_id FROM ricordo.owners"


def wrong_keys(transaction: Transaction) -> tuple[Damage, ...]:
    """Owners whose key is not that of their names; asked behind the wall around names."""
    return tuple(misnamed((key.bytes, *names) for key, *names in transaction.send(_OWNERS, {})))


def damages(transaction: Transaction) -> tuple[Damage, ...]:
    """What the catalogue and the server's own counters find wrong."""
    pages = transaction.send(_PAGES, {})
    indexes = transaction.send(_INDEXES, {})
    constraints = transaction.send(_CONSTRAINTS, {})
    tables = transaction.send(_OPEN_TABLES, {"tables": list(TABLES)})
    return (
        *(Damage("database", f"{n} pages failed their checksum since the counters began") for (n,) in pages),
        *(Damage(f"index {name}", "is not valid; run REINDEX") for (name,) in indexes),
        *(Damage(f"constraint {name}", "was never validated; run VALIDATE CONSTRAINT") for (name,) in constraints),
        *(Damage(f"table {name}", "is missing or has no forced row-level security") for (name,) in tables),
    )
