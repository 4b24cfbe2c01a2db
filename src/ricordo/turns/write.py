"""Write turns: check the input, count its tokens, write the turn to the store, queue the work after it.

All input is checked before it is stored, and a write returns once it is on disk. The queue does the work after a turn
in slices: vectors and topics, facts, titles, summaries, the end of a session. Heavy modules are imported by the first
slice that needs them. `import_documents` writes whole sessions that were exported.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from ricordo.engine import TokenCounter
from ricordo.engine.core import Engine, Scope, log_failure, new_id
from ricordo.engine.tokens import ExactCounter, content_tokens, recounted
from ricordo.errors import NotFoundError, RicordoError, ValidationError
from ricordo.limits import (
    check_id,
    check_ids,
    check_metadata,
    check_number,
    check_text,
    check_time,
    check_tool_calls,
    check_within,
)
from ricordo.prompt.receipt import Receipt, to_stored
from ricordo.records.derived import IMPORTANCE
from ricordo.records.turns import (
    ROLES,
    Json,
    Message,
    Owner,
    Role,
    SessionInfo,
    StoredReceipt,
    Turn,
    message_id,
    open_turn,
    with_project,
)
from ricordo.turns.export import from_document, lost_turns
from ricordo.worker import END, NO_DETAILS, Details, WorkQueue, give_way

if TYPE_CHECKING:
    from ricordo.records.service import ImportResult


class Said(NamedTuple):
    """A message as the caller gives it, before it is checked."""

    role: str
    content: str
    created_at: datetime | None = None
    chunk_ids: Iterable[str] = ()
    metadata: Mapping[str, Any] | None = None
    tool_calls: Iterable[Mapping[str, Any]] = ()
    tool_call_id: str | None = None
    name: str | None = None


def keep_turn(
    engine: Engine,
    scope: Scope,
    question: Said,
    answer: Said | None,
    *,
    metadata: Mapping[str, Any] | None = None,
    turn_id: str | None = None,
    turn_number: int | None = None,
    receipt: Receipt | None = None,
) -> Turn:
    """Write a question, with its answer if there is one already."""
    now = engine.clock.now()
    name = new_id(now) if turn_id is None else check_id("turn_id", turn_id)
    moment = now if question.created_at is None else check_time("created_at", question.created_at)
    expected = None if turn_number is None else check_number("turn_number", turn_number)
    turn = Turn(
        name, scope.owner, scope.agent_id, scope.session_id, 0, moment,
        _message(engine, "query", message_id(name, "query"), question, moment),
        _message(engine, "response", message_id(name, "response"), answer, moment) if answer else None, (),
        {} if metadata is None else check_metadata("metadata", metadata, engine.settings.limits), "chat",
        engine.counter.name,
    )  # fmt: skip
    if scope.project:
        _begin_in_project(engine, scope)
    kept = engine.store.turns.append(turn, expected=expected, receipt=_stored(receipt, scope) if receipt else None)
    after_turn(engine, scope, kept)
    return kept


def keep_answer(
    engine: Engine,
    scope: Scope,
    turn: Turn,
    answer: Said,
    *,
    metadata: Mapping[str, Any] | None = None,
    receipt: Receipt | None = None,
) -> Turn:
    """Write the answer of an open turn of the session in `scope`."""
    if (turn.owner, turn.session_id) != (scope.owner, scope.session_id):
        raise NotFoundError(f"turn {turn.id!r} is not of session {scope.session_id!r}; answer it in its own session")
    message = _message(engine, "response", message_id(turn.id, "response"), answer, engine.clock.now())
    checked = check_metadata("metadata", metadata, engine.settings.limits)
    check_metadata("metadata", {**turn.metadata, **checked}, engine.settings.limits)
    kept = engine.store.turns.answer(turn.owner, turn.id, message, dict(checked), _stored(receipt, scope))
    after_turn(engine, scope, kept)
    return kept


def keep_message(engine: Engine, scope: Scope, said: Said) -> Message:
    """Write one message of a history that is not question and answer; returns it with its id."""
    turn = _blank_turn(engine, scope, said.created_at)
    message = _message(engine, "content", "", said, turn.created_at)
    if turn.counter != engine.counter.name:  # the first count has shown that it cannot count exactly
        turn = replace(turn, counter=engine.counter.name)
    _begin_in_project(engine, scope)
    kept = engine.store.turns.add_message(open_turn(turn, message))
    after_turn(engine, scope, kept)
    return next(each for each in reversed(kept.messages) if each.says_the_same(message))


def _begin_in_project(engine: Engine, scope: Scope) -> None:
    """Create a new session with the tag of its project; an existing session stays in its own."""
    if scope.project and engine.store.sessions.get(scope.owner, scope.session_id) is None:
        now = engine.clock.now()
        tags = with_project((), scope.project)
        engine.store.turns.load(SessionInfo(scope.session_id, scope.owner, scope.agent_id, now, now, tags=tags), ())


def _blank_turn(engine: Engine, scope: Scope, created_at: datetime | None) -> Turn:
    now = engine.clock.now()
    return Turn(
        id=new_id(now), owner=scope.owner, agent_id=scope.agent_id, session_id=scope.session_id, turn_number=0,
        created_at=now if created_at is None else check_time("created_at", created_at), question=None, answer=None,
        counter=engine.counter.name,
    )  # fmt: skip


def _message(engine: Engine, field: str, address: str, said: Said, moment: datetime) -> Message:
    """The checked message. `field` is the name of its text in an error."""
    limits = engine.settings.limits
    role, content, created_at, chunk_ids, metadata, calls, call_id, name = said
    # Most messages have only text: then the checks of the other fields are skipped.
    plain = chunk_ids is _NONE and calls is _NONE and metadata is None and call_id is None and name is None
    if plain and type(role) is str and role in ROLES:
        text = check_text(field, content, limits)
        spoken = moment if created_at is None else check_time("created_at", created_at)
        counter = engine.counter
        tokens = counter.count_new(text) if type(counter) is ExactCounter else counter.count(text)
        return Message(address, role, text, spoken, tokens)
    role, name = _role_and_name(said)
    calls = check_tool_calls("tool_calls", calls, role, limits)
    if not calls or content != "":
        content = check_text(field, content, limits)
    return Message(
        address, role, content, moment if created_at is None else check_time("created_at", created_at),
        content_tokens(content, calls, engine.counter, name), check_ids("chunk_ids", chunk_ids),
        check_metadata("metadata", metadata, limits), calls,
        None if call_id is None else check_id("tool_call_id", call_id), name,
    )  # fmt: skip


def _role_and_name(said: Said) -> tuple[Role, str | None]:
    """The role and the name. A role that is none of the four is the name of a speaker, with the role user."""
    name = None if said.name is None else check_id("name", said.name)
    if not isinstance(said.role, str):
        raise ValidationError("role", f"expected text, got {type(said.role).__name__}")
    for role in ROLES:
        if said.role == role:
            return role, name
    if name is not None:
        raise ValidationError(
            "role", f"expected one of {', '.join(ROLES)} beside a name; another role is a name itself"
        )
    return "user", check_id("role", said.role)


def _stored(receipt: Receipt | None, scope: Scope) -> StoredReceipt | None:
    """The receipt in its stored form; the store sets the number of the turn."""
    if receipt is None:
        return None
    if not isinstance(receipt, Receipt):
        raise ValidationError("receipt", f"expected the receipt of a context, got {type(receipt).__name__}")
    return to_stored(receipt, scope.session_id, 0)


def with_importance(metadata: Mapping[str, Any] | None, importance: float | None) -> Mapping[str, Any] | None:
    """The metadata of a turn with the importance of its topic, from 0 to 1; unchanged without one."""
    if importance is None or not isinstance(metadata, Mapping | None):
        return metadata  # the check of the turn refuses what is not a mapping
    return {**(metadata or {}), IMPORTANCE: check_within(IMPORTANCE, importance, 0, 1)}


def checked_metadata(engine: Engine, value: Mapping[str, Any] | None) -> Json | None:
    """Checked metadata for a session; None leaves the stored metadata unchanged."""
    return None if value is None else check_metadata("metadata", value, engine.settings.limits)


def after_turn(engine: Engine, scope: Scope, turn: Turn | None = None) -> None:
    """Queue the work after a turn that was written; without a turn, after an import.

    An answered turn ends a pending clarification. A turn that was answered after it was assigned to a topic changes the
    topic's counts.
    """
    if engine.queue is None:
        return
    if engine.may_have_clarification(scope.session_id) and turn and not turn.is_open:
        _settle_clarification(engine, scope, turn.query)
    late = NO_DETAILS
    if turn and turn.topic_id and not _recounted(engine, scope, turn.topic_id):
        late = frozenset((turn.topic_id,))
    if engine.wants_people:
        engine.queue.people.add(scope.owner, scope.session_id)
    if engine.wants_index or late:
        engine.queue.index.add(scope.owner, scope.session_id, late)


def _settle_clarification(engine: Engine, scope: Scope, query: str) -> None:
    from ricordo.followups.clarify import settle_clarification

    try:
        settle_clarification(engine, scope, query)
    except Exception as error:  # the turn is on disk: the write must not fail
        log_failure("clarification", "a clarification cannot be settled", scope.owner, scope.session_id, error)


def _recounted(engine: Engine, scope: Scope, topic_id: str) -> bool:
    from ricordo.topics.archive import recount

    try:
        recount(engine, scope.owner, scope.session_id, topic_id)
    except Exception as error:
        log_failure("topics", "a topic cannot be counted again", scope.owner, scope.session_id, error)
        return False
    return True


_NONE: tuple[()] = ()


def start_queue(engine: Engine) -> None:
    """Give an engine its queue of work after a turn."""
    engine.queue = WorkQueue(index=partial(index_slice, engine), people=partial(people_slice, engine))


def catch_up(engine: Engine, owner: Owner, session_id: str) -> None:
    """Do all queued work of a session now."""
    details: Details | None = NO_DETAILS
    while engine.wants_index and details is not None:
        details = index_slice(engine, owner, session_id, details)
    details = NO_DETAILS
    while engine.wants_people and details is not None:
        details = people_slice(engine, owner, session_id, details)


def index_slice(engine: Engine, owner: Owner, session_id: str, late: Details) -> Details | None:
    """One slice of topics and vectors for a session; `late` are topics whose counts have changed."""
    from ricordo.recall.indexes import index_some
    from ricordo.topics.organise import organise_some

    try:
        more = organise_some(engine, owner, session_id, late) or index_some(engine, owner)
    except Exception as error:
        log_failure("index", "work after a turn failed", owner, session_id, error)
        raise
    return NO_DETAILS if more else None


def people_slice(engine: Engine, owner: Owner, session_id: str, details: Details) -> Details | None:
    """One slice of title, facts and condensation for a session; with `END` in `details` also its end."""
    from ricordo.people.summaries.condense import condense_if_due, name_session

    give_way()  # importing takes some milliseconds, too
    from ricordo.people.facts.learn import end_if_idle, learn_facts

    try:
        give_way()
        name_session(engine, owner, session_id)
        give_way()
        if engine.settings.profile.remember_person == "on" and learn_facts(engine, owner, session_id, engine.llm).more:
            return details
        if condense_if_due(engine, owner, session_id) is not None:
            return details
        if END in details:
            end_if_idle(engine, owner, session_id)
    except Exception as error:
        log_failure("people", "work after a turn failed", owner, session_id, error)
        raise
    return None


def import_documents(
    engine: Engine,
    documents: Iterable[Mapping[str, Any] | Exception],
    user_id: str | None = None,
    progress: Callable[[int], None] | None = None,
    project: str = "",
) -> "ImportResult":
    """Import exported documents; an Exception among them stands for a document that could not be read.

    `project` is for sessions that belong to none.
    """
    from ricordo.records.service import ImportResult
    from ricordo.turns import export_items

    tenant_id = engine.settings.tenant_id
    sessions = added = known = items = 0
    errors: list[str] = []
    for done, document in enumerate(documents, start=1):
        try:
            if isinstance(document, Exception):
                raise ValidationError("document", f"cannot be read ({document})")
            if isinstance(document, Mapping) and document.get("format") == export_items.FORMAT:
                items += export_items.import_item(engine, document, user_id)
                continue
            if isinstance(document, Mapping) and document.get("format") == export_items.FACT_FORMAT:
                items += export_items.import_fact(engine, document, user_id)
                continue
            session, turns = from_document(document, tenant_id, user_id, engine.settings.limits)
            if project and not session.project:
                session = replace(session, tags=with_project(session.tags, project))
            new = engine.store.sessions.get(session.owner, session.id) is None
            counted = [_counted(turn, engine.counter) for turn in turns]
            said_at = max((turn.created_at for turn in turns), default=session.created_at)
            fresh, repeated = engine.store.turns.load(session, counted, acknowledged_at=said_at)
            if fresh:
                after_turn(engine, Scope(session.owner, session.id, session.agent_id))
            errors += [f"document {done}: {lost}" for lost in lost_turns(document)]
            sessions += new
            added += fresh
            known += repeated
        except RicordoError as error:
            errors.append(f"document {done}: {error}")
        finally:
            if progress:
                progress(done)
    return ImportResult(sessions, added, known, tuple(errors), items)


def _counted(turn: Turn, counter: TokenCounter) -> Turn:
    """The turn with the token counts of this counter.

    The counts in a document are not trusted: they decide what fits a prompt.
    """
    return recounted(replace(turn, counter=""), counter)
