"""A backup of any store: everything copied into a fresh SQLite file that `ricordo.open` can open."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ricordo.errors import ConflictError
from ricordo.ports import Store
from ricordo.records import Owner, SessionInfo, Turn

PAGE = 500


def copy_to_sqlite(
    source: Store, owners: Iterable[Owner], path: Path, progress: Callable[[int, int], None] | None = None
) -> None:
    """Copy the owners' sessions, turns and receipts; `progress(done, total)` counts owners."""
    from ricordo.stores.sqlite import SqliteStore

    if path.exists():
        raise ConflictError(f"{path} exists already; name a new file for the backup")
    everyone = list(owners)
    partial = path.with_name(f"{path.name}.partial")
    target = SqliteStore(partial)
    try:
        for done, owner in enumerate(everyone, start=1):
            for session in _sessions(source, owner):
                receipts = source.receipts(owner, session.id, limit=session.last_turn)
                target.restore(session, _turns(source, session), receipts)
            if progress:
                progress(done, len(everyone))
        target.close()
        partial.rename(path)
    finally:
        target.close()
        for leftover in (partial, Path(f"{partial}-lock")):
            leftover.unlink(missing_ok=True)


def _sessions(source: Store, owner: Owner) -> Iterator[SessionInfo]:
    page = source.sessions(owner, limit=PAGE)
    while page:
        yield from page
        page = source.sessions(owner, limit=PAGE, before=page[-1])


def _turns(source: Store, session: SessionInfo) -> Iterator[Turn]:
    """From the newest back, a page at a time: a session may be longer than memory."""
    page = source.turns(session.owner, session.id, last=PAGE)
    while page:
        yield from page
        page = source.turns(session.owner, session.id, last=PAGE, before=page[0].turn_number)
