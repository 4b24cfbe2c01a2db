"""Facts, summaries and flags, as scripts of one transaction each.

In: a transaction behind its owner's wall. Out: what is stored. What becomes of facts whose sources go is decided in
`ricordo.stores.topic_rules`; here are only the rows. Every script takes the sessions first, then the agents' revisions,
then the owner, so that none waits for another in a circle.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ricordo.records.people import Fact, FactChange, Flag, KnownFacts, Summary
from ricordo.records.turns import Owner
from ricordo.stores import topic_rules
from ricordo.stores.derived_rows import (
    FACT_COLUMNS,
    FLAG_COLUMNS,
    SUMMARY_COLUMNS,
    fact_to_row,
    flag_to_row,
    row_to_fact,
    summary_to_row,
)
from ricordo.stores.postgres import people_statements as sql
from ricordo.stores.postgres import statements
from ricordo.stores.postgres.transaction import Again, Row, Transaction

_FACT_NAMES = FACT_COLUMNS.split(", ")
_SUMMARY_NAMES = SUMMARY_COLUMNS.split(", ")
_FLAG_NAMES = FLAG_COLUMNS.split(", ")
_FACT_ID = 1 + _FACT_NAMES.index("fact_id")


def to_people(rows: Sequence[Row]) -> KnownFacts:
    """The facts behind rows of their revision and a fact."""
    if not rows:
        return KnownFacts()
    return KnownFacts(tuple(row_to_fact(row[1:]) for row in rows if row[_FACT_ID] is not None), rows[0][0])


def put_facts(transaction: Transaction, owner: Owner, agent_id: str, change: FactChange) -> bool:
    """Apply a change, if nobody was faster."""
    mine = {"owner": owner.key, "agent_id": agent_id}
    learned = {session_id for session_id, _ in change.learned}
    quoted = {source.session_id for fact in change.put for source in fact.sources}
    held = transaction.send(
        statements.LOCK_SESSIONS, {"owner": owner.key, "session_ids": sorted(learned | quoted)}
    )  # who deletes one of them comes before or after, not in between
    transaction.send(sql.LOCK_PEOPLE, mine)
    stored = transaction.send(sql.PEOPLE, mine)
    turns = {"owner": owner.key, "turn_ids": sorted(topic_rules.turns_named(change))}
    there = _ids(transaction.send(sql.TURNS_THERE, turns))
    known = to_people(stored.fetchall())
    if known.revision != change.revision:
        transaction.abandon()
        return False
    put = topic_rules.still_founded(change, known.facts, there)
    if not put and not learned & _ids(held):
        transaction.abandon()
        return True
    transaction.send(statements.KEEP_OWNER, {**mine, "tenant_id": owner.tenant_id, "user_id": owner.user_id})
    moved = transaction.send(sql.MOVE_PEOPLE, mine)
    there_still = transaction.send(sql.HOLD_OWNER, mine)
    _put(transaction, owner, put)
    transaction.send_many(
        sql.MOVE_LEARNED,
        [{"owner": owner.key, "session_id": name, "through": number} for name, number in change.learned],
    )
    if moved.fetchone() != (change.revision + 1,) or there_still.fetchone() is None:
        raise Again("somebody else was the first to learn something, or the owner went away meanwhile")
    return True


def put_summary(transaction: Transaction, owner: Owner, summary: Summary) -> bool:
    """Keep a summary of turns that the session has come to."""
    last_turn = _last_turn(transaction, owner, summary.session_id)
    if last_turn is None or summary.last_turn > last_turn:
        transaction.abandon()
        return False
    values = {"owner": owner.key, **dict(zip(_SUMMARY_NAMES, summary_to_row(summary), strict=True))}
    return transaction.count(transaction.send(sql.ADD_SUMMARY, values)) == 1


def drop_summaries(transaction: Transaction, owner: Owner, summary_ids: Sequence[str]) -> int:
    """Remove summaries by id, with the flags on them."""
    values = {"owner": owner.key, "summary_ids": sorted(summary_ids)}
    transaction.send(sql.REMOVE_FLAGS_ON_SUMMARIES, values)
    return transaction.count(transaction.send(sql.REMOVE_SUMMARIES, values))


def put_flag(transaction: Transaction, owner: Owner, flag: Flag) -> bool:
    """Keep a flag of a session that is there."""
    if _last_turn(transaction, owner, flag.session_id) is None:
        transaction.abandon()
        return False
    values = {"owner": owner.key, **dict(zip(_FLAG_NAMES, flag_to_row(flag), strict=True))}
    return transaction.count(transaction.send(sql.ADD_FLAG, values)) == 1


def forget_derived(transaction: Transaction, owner: Owner, session_id: str) -> int:
    """Remove what was derived from a session; how many summaries and facts went."""
    here = {"owner": owner.key, "session_ids": [session_id]}
    transaction.send(statements.LOCK_SESSIONS, here)
    transaction.send(sql.DELETE_FLAGS_ON_SUMMARIES, here)
    summaries = transaction.send(sql.DELETE_SUMMARIES, here)
    facts = unlearn(transaction, owner, session_id)
    forget_idle_owner(transaction, owner)
    return transaction.count(summaries) + facts


def unlearn(transaction: Transaction, owner: Owner, session_id: str) -> int:
    """Take a session away from the sources of facts; how many facts went with it."""
    mine = {"owner": owner.key}
    transaction.send(sql.LOCK_ALL_PEOPLE, mine)
    facts = [row_to_fact(row) for row in transaction.send(sql.ALL_FACTS, mine)]
    unlearned = topic_rules.without_session(facts, session_id)
    if unlearned.gone:
        fact_ids, agent_ids = [fact.id for fact in unlearned.gone], [fact.agent_id for fact in unlearned.gone]
        transaction.send(sql.REMOVE_FACTS, {**mine, "agent_ids": agent_ids, "fact_ids": fact_ids})
        transaction.send(sql.DELETE_FLAGS_ON_FACTS, {**mine, "fact_ids": fact_ids})
    _put(transaction, owner, unlearned.changed)
    for agent_id in unlearned.agents:
        transaction.send(sql.MOVE_PEOPLE, {**mine, "agent_id": agent_id})
    return len(unlearned.gone)


def forget_idle_owner(transaction: Transaction, owner: Owner) -> None:
    """Let go of an owner's name, if nothing is kept of them any more."""
    mine = {"owner": owner.key}
    transaction.send(statements.LOCK_OWNER, mine)
    transaction.send(statements.FORGET_IDLE_OWNER, mine)


def _last_turn(transaction: Transaction, owner: Owner, session_id: str) -> int | None:
    """How far a session has come; it is held until the commit."""
    locked = transaction.send(statements.LOCK_LAST_TURN, {"owner": owner.key, "session_id": session_id}).fetchone()
    return locked[0] if locked else None


def _put(transaction: Transaction, owner: Owner, facts: Iterable[Fact]) -> None:
    rows: list[dict[str, Any]] = [
        {"owner": owner.key, **dict(zip(_FACT_NAMES, fact_to_row(fact), strict=True))} for fact in facts
    ]
    transaction.send_many(sql.PUT_FACT, rows)


def _ids(rows: Iterable[Row]) -> set[str]:
    return {found for (found,) in rows}
