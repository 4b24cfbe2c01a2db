"""The store's people: each method is one read or one script of `person`."""

from collections.abc import Sequence

from ricordo.records.people import FactChange, Flag, FlagState, KnownFacts, Summary, SummaryKind
from ricordo.records.turns import Owner
from ricordo.stores import topic_rules
from ricordo.stores.derived_rows import row_to_flag, row_to_summary
from ricordo.stores.postgres import people_statements as sql
from ricordo.stores.postgres import person_operations
from ricordo.stores.postgres.row_security import Walled
from ricordo.stores.turn_rows import ENDLESS


class PostgresPeople(Walled):
    """What is known of a person."""

    def agents(self, owner: Owner) -> Sequence[str]:
        return [agent_id for (agent_id,) in self._read(owner, sql.AGENTS)]

    def people(self, owner: Owner, agent_id: str) -> KnownFacts:
        return person_operations.to_people(self._read(owner, sql.PEOPLE, agent_id=agent_id))

    def put_facts(self, owner: Owner, agent_id: str, change: FactChange) -> bool:
        topic_rules.checked(agent_id, change)
        return self._run(owner, lambda tx: person_operations.put_facts(tx, owner, agent_id, change))

    def learned_through(self, owner: Owner, session_id: str) -> int:
        rows = self._read(owner, sql.LEARNED_THROUGH, session_id=session_id)
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
        rows = self._read(owner, sql.SUMMARIES, **chosen, limit=max(0, min(limit, ENDLESS)))
        return [row_to_summary(row) for row in rows]

    def put_summary(self, owner: Owner, summary: Summary) -> bool:
        return self._run(owner, lambda tx: person_operations.put_summary(tx, owner, summary))

    def drop_summaries(self, owner: Owner, summary_ids: Sequence[str]) -> int:
        return self._run(owner, lambda tx: person_operations.drop_summaries(tx, owner, summary_ids))

    def flags(self, owner: Owner, *, state: FlagState | None = None, limit: int = 1_000) -> Sequence[Flag]:
        rows = self._read(owner, sql.FLAGS, state=state, limit=max(0, min(limit, ENDLESS)))
        return [row_to_flag(row) for row in rows]

    def put_flag(self, owner: Owner, flag: Flag) -> bool:
        return self._run(owner, lambda tx: person_operations.put_flag(tx, owner, flag))

    def set_flag(self, owner: Owner, flag_id: str, state: FlagState) -> Flag | None:
        values = {"owner": owner.key, "flag_id": flag_id, "state": state}
        row = self._run(owner, lambda tx: tx.send(sql.SET_FLAG, values), repeatable=True).fetchone()
        return row_to_flag(row) if row else None

    def forget_derived(self, owner: Owner, session_id: str) -> int:
        return self._run(owner, lambda tx: person_operations.forget_derived(tx, owner, session_id))
