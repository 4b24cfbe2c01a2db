"""A backup of any store: everything copied into a fresh SQLite file that `ricordo.open` can open."""

from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

from ricordo.errors import ConflictError
from ricordo.records.service import ApiKey, StoredItem
from ricordo.records.topics import TopicShelf
from ricordo.records.turns import Owner, SessionInfo, Turn, TurnVectors
from ricordo.stores.protocols import Store
from ricordo.stores.turn_rows import ENDLESS

PAGE = 500


def copy_to_sqlite(
    source: Store,
    owners: Iterable[Owner],
    path: Path,
    progress: Callable[[int, int], None] | None = None,
    keys: Iterable[ApiKey] = (),
) -> None:
    """Copy everything of the owners, and API keys; `progress(done, total)` counts owners.

    Vectors are copied for the embedders that topics name; others are computed again when they are needed.
    """
    from ricordo.stores.sqlite import SqliteStore
    from ricordo.stores.sqlite.people import PersonCopy
    from ricordo.stores.sqlite.snapshots import SessionCopy

    if path.exists():
        raise ConflictError(f"{path} exists already; name a new file for the backup")
    everyone = list(owners)
    partial = path.with_name(f"{path.name}.partial")
    target = SqliteStore(partial)
    try:
        for done, owner in enumerate(everyone, start=1):
            for session in _sessions(source, owner):
                shelf = source.topics.load(owner, session.id)
                copy = SessionCopy(
                    session,
                    turns=_turns(source, session),
                    receipts=source.turns.receipts(owner, session.id, limit=session.last_turn),
                    shelf=shelf,
                    blocks=source.topics.blocks(owner, session.id),
                    vectors=_vectors(source, session, shelf),
                    summaries=source.people.summaries(owner, session_id=session.id, limit=ENDLESS),
                    learned_through=source.people.learned_through(owner, session.id),
                )
                target.restore(copy)
            known = [(agent_id, source.people.facts(owner, agent_id)) for agent_id in source.people.agents(owner)]
            target.people.restore(PersonCopy(owner, known, source.people.flags(owner, limit=ENDLESS)))
            for document in source.documents.page(owner, limit=ENDLESS):
                target.documents.put(owner, document, source.documents.chunks(owner, [document.id]))
            target.jobs.restore(source.jobs.page(owner))
            for items in _items(source, owner):
                target.items.restore(owner, items)
            if progress:
                progress(done, len(everyone))
        for key in keys:
            target.keys.put(key)
        target.close()
        partial.rename(path)
    finally:
        target.close()
        for leftover in (partial, Path(f"{partial}-lock")):
            leftover.unlink(missing_ok=True)


def _sessions(source: Store, owner: Owner) -> Iterator[SessionInfo]:
    page = source.sessions.page(owner, limit=PAGE)
    while page:
        yield from page
        page = source.sessions.page(owner, limit=PAGE, before=page[-1])


def _turns(source: Store, session: SessionInfo) -> Iterator[Turn]:
    """From the newest back, a page at a time: a session may be longer than memory."""
    page = source.turns.page(session.owner, session.id, last=PAGE)
    while page:
        yield from page
        page = source.turns.page(session.owner, session.id, last=PAGE, before=page[0].turn_number)


def _vectors(source: Store, session: SessionInfo, shelf: TopicShelf) -> Iterator[TurnVectors]:
    for embedder in sorted({topic.embedder for topic in shelf.topics}):
        yield from source.vectors.read(session.owner, embedder, session.id)


def _items(source: Store, owner: Owner) -> Iterator[list[tuple[str, StoredItem]]]:
    """All items, a page at a time, expired ones included: at the beginning of time none had expired."""
    now = datetime.min.replace(tzinfo=UTC)
    page = source.items.page(owner, now, limit=PAGE)
    while page:
        yield page
        collection, last = page[-1]
        page = source.items.page(owner, now, after=(collection, last.place, last.key), limit=PAGE)
