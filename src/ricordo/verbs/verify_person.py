"""Verifying what is known of a person: facts against the messages they quote, summaries against their session.

In: an owner or a session. Out: every difference, as damage. A fact may outlive the turn it was said in, so a source
whose turn is gone proves nothing; one whose turn is there must quote it word for word.
"""

from collections.abc import Iterator

from ricordo.errors import RicordoError
from ricordo.person import Fact, Source
from ricordo.records import Owner, SessionInfo, turn_id_of
from ricordo.reports import Damage
from ricordo.verbs.tools import Tools

EVERY = 2**53


def bad_facts(tools: Tools, owner: Owner) -> Iterator[Damage]:
    """Facts that quote what was not said, or were superseded by what is not there."""
    where = f"user {owner.user_id!r}"
    try:
        agents = tools.store.agents(owner)
    except RicordoError as error:
        yield Damage(where, f"what is known of them cannot be read: {error}")
        return
    for agent_id in agents:
        try:
            facts = tools.store.people(owner, agent_id).facts
        except RicordoError as error:
            yield Damage(f"{where}, agent {agent_id!r}", f"what it knows cannot be read: {error}")
            continue
        ids = {fact.id for fact in facts}
        for fact in facts:
            for problem in _problems(tools, owner, fact, ids):
                yield Damage(f"{where}, agent {agent_id!r}, fact {fact.id!r}", problem)


def bad_summaries(tools: Tools, session: SessionInfo, where: str) -> Iterator[Damage]:
    """Summaries of turns that the session never had or of another length, and more turns learned from than it had."""
    try:
        for summary in tools.store.summaries(session.owner, session_id=session.id, limit=EVERY):
            if not 1 <= summary.first_turn <= summary.last_turn <= session.last_turn:
                reach = f"turns {summary.first_turn} to {summary.last_turn}"
                yield Damage(where, f"summary {summary.id!r} is of {reach}, but the session has {session.last_turn}")
            size = tools.counter.count(summary.text) if summary.counter == tools.counter.name else summary.tokens
            if size != summary.tokens:  # a prompt makes room for what it says
                yield Damage(where, f"summary {summary.id!r} is said to have {summary.tokens} tokens, but has {size}")
        learned = tools.store.learned_through(session.owner, session.id)
        if learned > session.last_turn:
            yield Damage(where, f"counts as learned up to turn {learned}, but has {session.last_turn}")
    except RicordoError as error:
        yield Damage(where, f"its summaries cannot be read: {error}")


def _problems(tools: Tools, owner: Owner, fact: Fact, ids: set[str]) -> Iterator[str]:
    if fact.superseded_by is not None and fact.superseded_by not in ids:
        yield f"was superseded by fact {fact.superseded_by!r}, which is not there"
    for source in fact.sources:
        problem = _misquoted(tools, owner, source)
        if problem:
            yield problem


def _misquoted(tools: Tools, owner: Owner, source: Source) -> str | None:
    try:
        turn = tools.store.turn(owner, turn_id_of(source.message_id))
    except RicordoError:
        return None  # damage to the turn is reported with the turn
    if turn is None or turn.damage:
        return None
    said = next((message for message in turn.messages if message.id == source.message_id), None)
    if said is None or turn.session_id != source.session_id:
        return f"names message {source.message_id!r} of session {source.session_id!r}, which was never there"
    if source.quote not in said.content:
        return f"quotes words that message {source.message_id!r} does not say"
    return None
