"""A backup of any store: everything copied into a fresh SQLite file that `ricordo.open` can open."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ricordo.errors import ConflictError
from ricordo.records.service import ApiKey
from ricordo.records.topics import TopicShelf
from ricordo.records.turns import Owner, SessionInfo, TurnVectors, Turn
from ricordo.stores.protocols import Store, WholeStore
from ricordo.stores.turn_rows import ENDLESS

PAGE = 500


def copy_to_sqlite(
    source: WholeStore,
    owners: Iterable[Owner],
    path: Path,
    progress: Callable[[int, int], None] | None = None,
    keys: Iterable[ApiKey] = (),
) -> None:
    """Copy all that the owners have, and API keys; `progress(done, total)` counts owners.

    Traces come along for the embedders that topics name; others are made again when they are needed.
    """
    from ricordo.stores.sqlite import SqliteStore
    from ricordo.stores.sqlite.person_operations import PersonCopy
    from ricordo.stores.sqlite.snapshots import SessionCopy

    if path.exists():
        raise ConflictError(f"{path} exists already; name a new file for the backup")
    everyone = list(owners)
    partial = path.with_name(f"{path.name}.partial")
    target = SqliteStore(partial)
    try:
        for done, owner in enumerate(everyone, start=1):
            for session in _sessions(source, owner):
                shelf = source.topics(owner, session.id)
                copy = SessionCopy(
                    session,
                    turns=_turns(source, session),
                    receipts=source.receipts(owner, session.id, limit=session.last_turn),
                    shelf=shelf,
                    blocks=source.blocks(owner, session.id),
                    traces=_traces(source, session, shelf),
                    summaries=source.summaries(owner, session_id=session.id, limit=ENDLESS),
                    learned_through=source.learned_through(owner, session.id),
                )
                target.restore(copy)
            known = [(agent_id, source.people(owner, agent_id)) for agent_id in source.agents(owner)]
            target.restore_person(PersonCopy(owner, known, source.flags(owner, limit=ENDLESS)))
            for document in source.documents(owner, limit=ENDLESS):
                target.put_document(owner, document, source.chunks(owner, [document.id]))
            target.restore_jobs(source.jobs(owner))
            if progress:
                progress(done, len(everyone))
        for key in keys:
            target.put_key(key)
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


def _traces(source: Store, session: SessionInfo, shelf: TopicShelf) -> Iterator[TurnVectors]:
    for embedder in sorted({topic.embedder for topic in shelf.topics}):
        yield from source.traces(session.owner, embedder, session.id)
