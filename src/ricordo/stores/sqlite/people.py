"""The SQLite store's people: each method is one read or one write operation of `person`."""

from collections.abc import Sequence

from ricordo.records.people import FactChange, Flag, FlagState, KnownFacts, Summary, SummaryKind
from ricordo.records.turns import Owner
from ricordo.stores import topic_rules
from ricordo.stores.sqlite import person_operations, snapshots
from ricordo.stores.sqlite.connections import Lending
from ricordo.stores.turn_rows import ENDLESS


class SqlitePeople(Lending):
    """What is known of a person."""

    def agents(self, owner: Owner) -> Sequence[str]:
        with self._reading() as reader:
            return person_operations.agents(reader, owner)

    def people(self, owner: Owner, agent_id: str) -> KnownFacts:
        with self._reading() as reader, snapshots.one_view(reader):
            return person_operations.people(reader, owner, agent_id)

    def put_facts(self, owner: Owner, agent_id: str, change: FactChange) -> bool:
        topic_rules.checked(agent_id, change)
        return self._connections.write(lambda writer: person_operations.put_facts(writer, owner, agent_id, change))

    def learned_through(self, owner: Owner, session_id: str) -> int:
        with self._reading() as reader:
            return person_operations.learned_through(reader, owner, session_id)

    def summaries(
        self,
        owner: Owner,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        kind: SummaryKind | None = None,
        limit: int = 50,
    ) -> Sequence[Summary]:
        with self._reading() as reader:
            return person_operations.summaries(reader, owner, session_id, agent_id, kind, min(limit, ENDLESS))

    def put_summary(self, owner: Owner, summary: Summary) -> bool:
        return self._connections.write(lambda writer: person_operations.put_summary(writer, owner, summary))

    def drop_summaries(self, owner: Owner, summary_ids: Sequence[str]) -> int:
        return self._connections.write(lambda writer: person_operations.drop_summaries(writer, owner, summary_ids))

    def flags(self, owner: Owner, *, state: FlagState | None = None, limit: int = 1_000) -> Sequence[Flag]:
        with self._reading() as reader:
            return person_operations.flags(reader, owner, state, min(limit, ENDLESS))

    def put_flag(self, owner: Owner, flag: Flag) -> bool:
        return self._connections.write(lambda writer: person_operations.put_flag(writer, owner, flag))

    def set_flag(self, owner: Owner, flag_id: str, state: FlagState) -> Flag | None:
        return self._connections.write(lambda writer: person_operations.set_flag(writer, owner, flag_id, state))

    def forget_derived(self, owner: Owner, session_id: str) -> int:
        return self._connections.write(lambda writer: person_operations.forget_derived(writer, owner, session_id))

    def restore_person(self, copy: person_operations.PersonCopy) -> None:
        """Write what is known of an owner exactly as it was elsewhere: a backup's way in."""
        self._connections.write(lambda writer: person_operations.restore(writer, copy))
