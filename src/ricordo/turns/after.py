"""What follows a turn that was written: its session is queued, and the slices of work are done for it.

Writing calls `after_turn`, so that costs next to nothing: what is heavy is imported when a slice needs it. Nothing
here makes a write fail.
"""

from functools import partial

from ricordo.engine.core import Engine, Scope, log_failure
from ricordo.records.turns import Owner, Turn
from ricordo.worker.queue import END, NO_DETAILS, Details, WorkQueue


def start_queue(engine: Engine) -> None:
    """Give an engine its queue of work after a turn."""
    engine.queue = WorkQueue(index=partial(index_slice, engine), people=partial(people_slice, engine))


def after_turn(engine: Engine, scope: Scope, turn: Turn | None = None) -> None:
    """Queue the work that a written turn asks for; without a turn, several were imported.

    An answered turn settles a pending clarification. A turn that was answered after it had found its topic changes
    the topic's counts.
    """
    if engine.queue is None:
        return
    if turn and not turn.is_open and engine.may_have_clarification:
        _settle_clarification(engine, scope, turn.query)
    late = NO_DETAILS
    if turn and turn.topic_id and not _recounted(engine, scope, turn.topic_id):
        late = frozenset((turn.topic_id,))
    if wants_people(engine):
        engine.queue.people.add(scope.owner, scope.session_id)
    if wants_index(engine) or late:
        engine.queue.index.add(scope.owner, scope.session_id, late)


def wants_index(engine: Engine) -> bool:
    """Whether turns are embedded or grouped into topics."""
    recall = engine.settings.recall
    return recall.recall_messages > 0 or recall.organise == "on"


def wants_people(engine: Engine) -> bool:
    """Whether facts, titles or summaries are made of turns."""
    settings = engine.settings
    condenses = settings.condensation.condense == "on" or settings.condensation.titles == "on"
    return condenses or settings.profile.remember_person == "on"


def catch_up(engine: Engine, owner: Owner, session_id: str) -> None:
    """Do now all that is left to do for a session."""
    details: Details | None = NO_DETAILS
    while wants_index(engine) and details is not None:
        details = index_slice(engine, owner, session_id, details)
    details = NO_DETAILS
    while wants_people(engine) and details is not None:
        details = people_slice(engine, owner, session_id, details)


def index_slice(engine: Engine, owner: Owner, session_id: str, late: Details) -> Details | None:
    """A little of what topics and vectors are due for a session; `late` are topics whose counts have changed."""
    from ricordo.recall.indexes import index_some
    from ricordo.topics.organise import organise_some

    try:
        more = organise_some(engine, owner, session_id, late) or index_some(engine, owner)
    except Exception as error:
        log_failure("background", "work after a turn failed", owner, session_id, error)
        raise
    return NO_DETAILS if more else None


def people_slice(engine: Engine, owner: Owner, session_id: str, details: Details) -> Details | None:
    """A little of what is due for a session: title, facts, condensation, and its end where `details` say so."""
    from ricordo.people.facts.learn import learn_facts
    from ricordo.people.session_end import end_if_idle
    from ricordo.people.summaries.condense import condense_if_due
    from ricordo.people.summaries.titles import name_session

    try:
        name_session(engine, owner, session_id)
        if engine.settings.profile.remember_person == "on" and learn_facts(engine, owner, session_id, engine.llm).more:
            return details
        if condense_if_due(engine, owner, session_id) is not None:
            return details
        if END in details:
            end_if_idle(engine, owner, session_id)
    except Exception as error:
        log_failure("knowing", "work after a turn failed", owner, session_id, error)
        raise
    return None


def _settle_clarification(engine: Engine, scope: Scope, query: str) -> None:
    from ricordo.followups.clarification_store import settle_clarification

    try:
        settle_clarification(engine, scope, query)
    except Exception as error:  # the turn is on disk, whatever happens to the short-lived state
        log_failure("clarification", "a clarification cannot be settled", scope.owner, scope.session_id, error)


def _recounted(engine: Engine, scope: Scope, topic_id: str) -> bool:
    from ricordo.topics.archive import recount

    try:
        recount(engine, scope.owner, scope.session_id, topic_id)
    except Exception as error:
        log_failure("topics", "a topic cannot be counted again", scope.owner, scope.session_id, error)
        return False
    return True
