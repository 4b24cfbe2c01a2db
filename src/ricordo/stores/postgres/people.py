"""What is known about a user (facts, summaries, flags): each method is one read or one script of one transaction.

`ricordo.stores.topic_rules` decides what happens to facts when their sources are deleted; here are only the rows.
Every script locks the sessions first, then the agents' revisions, then the owner, so that no two deadlock.
"""

from collections.abc import Iterable, Sequence

from ricordo.records.derived import Fact, FactChange, Flag, FlagState, KnownFacts, Summary, SummaryKind
from ricordo.records.turns import Owner
from ricordo.stores import write_rules
from ricordo.stores.derived_rows import FACT_ROWS, FLAG_ROWS, SUMMARY_ROWS, kept_fact
from ricordo.stores.postgres import derived_statements as sql
from ricordo.stores.postgres import owner_statements, turn_statements
from ricordo.stores.postgres.transaction import (
    Cursor,
    PostgresPart,
    RetryTransaction,
    Row,
    Transaction,
    as_bigint,
    script,
)

_FACT_ID = 1 + FACT_ROWS.columns.split(", ").index("fact_id")  # after the revision


class PostgresPeople(PostgresPart):
    """`PeopleStore` on PostgreSQL."""

    def agents(self, owner: Owner) -> Sequence[str]:
        return [agent_id for (agent_id,) in self._transactions.read(owner, sql.AGENTS)]

    def facts(self, owner: Owner, agent_id: str) -> KnownFacts:
        return _known_facts(self._transactions.read(owner, sql.FACTS, agent_id=agent_id))

    def put_facts(self, owner: Owner, agent_id: str, change: FactChange) -> bool:
        write_rules.checked(agent_id, change)
        return self._transactions.run(owner, lambda tx: _put_facts(tx, owner, agent_id, change))

    def learned_through(self, owner: Owner, session_id: str) -> int:
        rows = self._transactions.read(owner, sql.LEARNED_THROUGH, session_id=session_id)
        return int(rows[0][0]) if rows else 0

    def summaries(
        self,
        owner: Owner,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        kind: SummaryKind | None = None,
        limit: int = 50,
    ) -> Sequence[Summary]:
        chosen = {"session_id": session_id, "agent_id": agent_id, "kind": kind}
        rows = self._transactions.read(owner, sql.SUMMARIES, **chosen, limit=as_bigint(limit))
        return [SUMMARY_ROWS.read(row) for row in rows]

    @script()
    def put_summary(self, transaction: Transaction, owner: Owner, summary: Summary) -> bool:
        last_turn = _last_turn(transaction, owner, summary.session_id)
        if last_turn is None or summary.last_turn > last_turn:
            transaction.rollback()
            return False
        values = {"owner": owner.key, **SUMMARY_ROWS.named(summary)}
        return transaction.count(transaction.send(sql.ADD_SUMMARY, values)) == 1

    @script()
    def drop_summaries(self, transaction: Transaction, owner: Owner, summary_ids: Sequence[str]) -> int:
        values = {"owner": owner.key, "summary_ids": sorted(summary_ids)}
        transaction.send(sql.DELETE_FLAGS_BY_SUMMARY, values)
        return transaction.count(transaction.send(sql.DELETE_SUMMARIES_BY_ID, values))

    def flags(self, owner: Owner, *, state: FlagState | None = None, limit: int = 1_000) -> Sequence[Flag]:
        rows = self._transactions.read(owner, sql.FLAGS, state=state, limit=as_bigint(limit))
        return [FLAG_ROWS.read(row) for row in rows]

    @script()
    def put_flag(self, transaction: Transaction, owner: Owner, flag: Flag) -> bool:
        if _last_turn(transaction, owner, flag.session_id) is None:
            transaction.rollback()
            return False
        values = {"owner": owner.key, **FLAG_ROWS.named(flag)}
        return transaction.count(transaction.send(sql.ADD_FLAG, values)) == 1

    def set_flag(self, owner: Owner, flag_id: str, state: FlagState) -> Flag | None:
        values = {"owner": owner.key, "flag_id": flag_id, "state": state}
        row = self._transactions.run(owner, lambda tx: tx.send(sql.SET_FLAG, values), repeatable=True).fetchone()
        return FLAG_ROWS.read(row) if row else None

    @script()
    def forget_derived(self, transaction: Transaction, owner: Owner, session_id: str) -> int:
        here = {"owner": owner.key, "session_ids": [session_id]}
        if not lock_owner(transaction, owner):
            return 0
        transaction.send(turn_statements.LOCK_SESSIONS, here)
        transaction.send(sql.DELETE_FLAGS_ON_SUMMARIES, here)
        summaries = transaction.send(sql.DELETE_SUMMARIES, here)
        facts = unlearn(transaction, owner, session_id)
        delete_idle_owner(transaction, owner)
        return transaction.count(summaries) + facts


def _known_facts(rows: Sequence[Row]) -> KnownFacts:
    """Facts from rows of their revision and a fact."""
    if not rows:
        return KnownFacts()
    return KnownFacts(tuple(kept_fact(row[1:]) for row in rows if row[_FACT_ID] is not None), rows[0][0])


def _put_facts(transaction: Transaction, owner: Owner, agent_id: str, change: FactChange) -> bool:
    """Apply a change, unless the facts were written since they were read."""
    mine = {"owner": owner.key, "agent_id": agent_id}
    learned = {session_id for session_id, _ in change.learned}
    quoted = {source.session_id for fact in change.put for source in fact.sources}
    transaction.send(owner_statements.SHARE_OWNER, mine)
    locked = transaction.send(  # a transaction that deletes one of them runs before or after this one
        turn_statements.LOCK_SESSIONS, {"owner": owner.key, "session_ids": sorted(learned | quoted)}
    )
    transaction.send(sql.LOCK_FACTS, mine)
    stored = transaction.send(sql.FACTS, mine)
    turns = {"owner": owner.key, "turn_ids": sorted(write_rules.turns_named(change))}
    existing = _ids(transaction.send(sql.EXISTING_TURNS, turns))
    known = _known_facts(stored.fetchall())
    if known.revision != change.revision:
        transaction.rollback()
        return False
    put = write_rules.with_live_sources(change, known.facts, existing)
    if not put and not learned & _ids(locked):
        transaction.rollback()
        return True
    owner_row = add_owner(transaction, owner)
    moved = transaction.send(sql.NEXT_FACTS_REVISION, mine)
    _put(transaction, owner, put)
    transaction.send_many(
        sql.MOVE_LEARNED,
        [{"owner": owner.key, "session_id": name, "through": number} for name, number in change.learned],
    )
    first_row(owner_row)
    if moved.fetchone() != (change.revision + 1,):
        raise RetryTransaction("another writer added the first facts meanwhile")
    return True


def unlearn(transaction: Transaction, owner: Owner, session_id: str) -> int:
    """Remove a session from the sources of facts; number of facts deleted with it."""
    mine = {"owner": owner.key}
    transaction.send(sql.LOCK_ALL_FACTS, mine)
    facts = [kept_fact(row) for row in transaction.send(sql.ALL_FACTS, mine)]
    unlearned = write_rules.without_session(facts, session_id)
    if unlearned.gone:
        fact_ids, agent_ids = [fact.id for fact in unlearned.gone], [fact.agent_id for fact in unlearned.gone]
        transaction.send(sql.DELETE_FACTS, {**mine, "agent_ids": agent_ids, "fact_ids": fact_ids})
        transaction.send(sql.DELETE_FLAGS_ON_FACTS, {**mine, "fact_ids": fact_ids})
    _put(transaction, owner, unlearned.changed)
    for agent_id in unlearned.agents:
        transaction.send(sql.NEXT_FACTS_REVISION, {**mine, "agent_id": agent_id})
    return len(unlearned.gone)


def lock_owner(transaction: Transaction, owner: Owner) -> bool:
    """Lock an owner's row until the commit; False if nothing is stored for the owner.

    The order of locks is owner, sessions, facts: a transaction that may delete the owner's row locks it first.
    """
    return transaction.send(owner_statements.LOCK_OWNER, {"owner": owner.key}).fetchone() is not None


def add_owner(transaction: Transaction, owner: Owner) -> Cursor:
    """Add an owner's row, unless it exists, and share it: it cannot be deleted before the commit.

    The cursor is empty if another transaction deleted the row between the two; then the caller starts again.
    """
    mine = {"owner": owner.key, "tenant_id": owner.tenant_id, "user_id": owner.user_id}
    transaction.send(owner_statements.ADD_OWNER, mine)
    return transaction.send(owner_statements.SHARE_OWNER, mine)


def first_row(cursor: Cursor) -> Row:
    """The one row of a session or an owner that this transaction has added or locked."""
    row = cursor.fetchone()
    if row is None:
        raise RetryTransaction("the session or its owner was deleted meanwhile")
    return row


def delete_idle_owner(transaction: Transaction, owner: Owner) -> None:
    """Delete an owner's row, which is locked, if nothing else is stored for the owner."""
    transaction.send(owner_statements.DELETE_IDLE_OWNER, {"owner": owner.key})


def _last_turn(transaction: Transaction, owner: Owner, session_id: str) -> int | None:
    """The last turn number of a session, which is locked until the commit."""
    locked = transaction.send(turn_statements.LOCK_LAST_TURN, {"owner": owner.key, "session_id": session_id}).fetchone()
    return locked[0] if locked else None


def _put(transaction: Transaction, owner: Owner, facts: Iterable[Fact]) -> None:
    rows = [{"owner": owner.key, **FACT_ROWS.named(fact)} for fact in facts]
    transaction.send_many(sql.PUT_FACT, rows)


def _ids(rows: Iterable[Row]) -> set[str]:
    return {found for (found,) in rows}
