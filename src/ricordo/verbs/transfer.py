"""Taking sessions out and bringing them in: documents to and from the store, session by session.

An import is all or nothing per session and may be repeated: what is there already counts as known. A damaged
document is reported and the rest goes in.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ricordo.errors import NotFoundError, RicordoError, ValidationError
from ricordo.export import from_document, lost_turns, to_document, to_markdown
from ricordo.ports import TokenCounter
from ricordo.records import Owner, SessionInfo, Turn
from ricordo.reports import ImportResult
from ricordo.tokens import recounted
from ricordo.verbs.tools import Scope, Tools

PAGE = 200


def export_session(tools: Tools, scope: Scope) -> dict[str, Any]:
    """One session as JSON values."""
    session = found_session(tools, scope)
    return to_document(session, tools.store.turns(scope.owner, scope.session_id))


def export_markdown(tools: Tools, scope: Scope) -> str:
    """One session as a page to read."""
    session = found_session(tools, scope)
    return to_markdown(session, tools.store.turns(scope.owner, scope.session_id), tools.settings.locale)


def export_user(tools: Tools, owner: Owner) -> Iterator[dict[str, Any]]:
    """Every session of a user, most recent first, one document at a time."""
    page = tools.store.sessions(owner, limit=PAGE)
    while page:
        for session in page:
            yield to_document(session, tools.store.turns(owner, session.id))
        page = tools.store.sessions(owner, limit=PAGE, before=page[-1])


def import_documents(
    tools: Tools,
    documents: Iterable[Mapping[str, Any] | Exception],
    user_id: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> ImportResult:
    """Bring documents in; an Exception among them is a document that could not even be read."""
    tenant_id = tools.settings.tenant_id
    sessions = added = known = 0
    errors: list[str] = []
    for done, document in enumerate(documents, start=1):
        try:
            if isinstance(document, Exception):
                raise ValidationError("document", f"cannot be read ({document})")
            session, turns = from_document(document, tenant_id, user_id, tools.settings.limits)
            new = tools.store.session(session.owner, session.id) is None
            fresh, repeated = tools.store.load(session, [_counted(turn, tools.counter) for turn in turns])
            if fresh and tools.beyond:
                tools.beyond.note(Scope(session.owner, session.id, session.agent_id))
            errors += [f"document {done}: {lost}" for lost in lost_turns(document)]
            sessions += new
            added += fresh
            known += repeated
        except RicordoError as error:
            errors.append(f"document {done}: {error}")
        if progress:
            progress(done)
    return ImportResult(sessions, added, known, tuple(errors))


def _counted(turn: Turn, counter: TokenCounter) -> Turn:
    """The turn as this counter counts it.

    Counts decide what fits a prompt, so a document's are never believed: they could make a long text look short.
    """
    return recounted(replace(turn, counter=""), counter)


def found_session(tools: Tools, scope: Scope) -> SessionInfo:
    """The session's fields, or NotFoundError."""
    session = tools.store.session(scope.owner, scope.session_id)
    if session is None:
        raise NotFoundError(
            f"session {scope.session_id!r} does not exist for user {scope.owner.user_id!r}; list the sessions"
        )
    return session
