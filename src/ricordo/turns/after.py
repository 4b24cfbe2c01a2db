"""The work that follows a turn, in slices: vectors and topics, facts, titles, summaries, the end of a session.

The queue calls the slices; what is heavy is imported when a slice needs it.
"""

from functools import partial

from ricordo.engine.core import Engine, log_failure
from ricordo.records.turns import Owner
from ricordo.turns.write import wants_index, wants_people
from ricordo.worker.queue import END, NO_DETAILS, Details, WorkQueue


def start_queue(engine: Engine) -> None:
    """Give an engine its queue of work after a turn."""
    engine.queue = WorkQueue(index=partial(index_slice, engine), people=partial(people_slice, engine))


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
    from ricordo.people.summaries.condense import condense_if_due, name_session

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
