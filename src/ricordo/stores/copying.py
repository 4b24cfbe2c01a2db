"""A backup of any store: everything copied into a fresh SQLite file that `ricordo.open` can open."""

from collections.abc import Callable, Iterable
from pathlib import Path

from ricordo.errors import ConflictError
from ricordo.ports import Store
from ricordo.records import Owner

PAGE = 500


def copy_to_sqlite(
    source: Store, owners: Iterable[Owner], path: Path, progress: Callable[[int, int], None] | None = None
) -> None:
    """Copy the owners' sessions, turns and receipts; `progress(done, total)` counts owners."""
    from ricordo.stores.sqlite import SqliteStore

    if path.exists():
        raise ConflictError(f"{path} exists already; name a new file for the backup")
    everyone = list(owners)
    target = SqliteStore(path)
    try:
        for done, owner in enumerate(everyone, start=1):
            page = source.sessions(owner, limit=PAGE)
            while page:
                for session in page:
                    target.load(session, source.turns(owner, session.id))
                    for receipt in source.receipts(owner, session.id, limit=session.last_turn):
                        target.keep_receipt(owner, receipt)
                page = source.sessions(owner, limit=PAGE, before=page[-1])
            if progress:
                progress(done, len(everyone))
    finally:
        target.close()
