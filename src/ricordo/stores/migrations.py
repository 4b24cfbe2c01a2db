"""Forward-only migrations: numbered SQL files, applied on open, each once, in one transaction.

The ledger keeps a digest of every applied file, so that an edited migration or a database made by a
newer version is refused instead of guessed at. This module decides; the stores run the SQL.
"""

import hashlib
from dataclasses import dataclass
from importlib.resources import files

from ricordo.errors import SchemaError


@dataclass(frozen=True, slots=True)
class Migration:
    """One numbered SQL file."""

    version: int
    name: str
    sql: str

    @property
    def digest(self) -> str:
        """Identifies the text that was applied."""
        return hashlib.sha256(self.sql.encode()).hexdigest()


def migrations_for(dialect: str) -> tuple[Migration, ...]:
    """All migrations of a dialect (`sqlite` or `postgres`), in order; files are named `0001_core.sql`."""
    folder = files("ricordo.stores") / "sql" / dialect
    found = [
        Migration(int(entry.name[:4]), entry.name[5:-4], entry.read_text(encoding="utf-8"))
        for entry in folder.iterdir()
        if entry.name.endswith(".sql")
    ]
    return tuple(sorted(found, key=lambda migration: migration.version))


def pending(known: tuple[Migration, ...], applied: dict[int, str]) -> tuple[Migration, ...]:
    """Those of `known` that are not in the ledger `applied` (version to digest) yet."""
    newest = known[-1].version if known else 0
    for version, digest in sorted(applied.items()):
        if version > newest:
            raise SchemaError(
                f"the database has schema version {version}, this version of Ricordo knows {newest}; "
                "upgrade Ricordo to open it"
            )
        match = next((migration for migration in known if migration.version == version), None)
        if match is None or match.digest != digest:
            raise SchemaError(
                f"schema version {version} of the database differs from the one in this version of Ricordo; "
                "a migration was edited after it was applied: restore the original package"
            )
    return tuple(migration for migration in known if migration.version not in applied)
