"""Facts, summaries and flags of the SQLite store: the part, and its operations on a connection.

What happens to facts whose sources are deleted is decided in `ricordo.stores.topic_rules`; here are only the rows.
"""

import json
import sqlite3
from collections.abc import Iterable, Sequence

from ricordo.records.derived import Fact, FactChange, Flag, FlagState, KnownFacts, Summary, SummaryKind
from ricordo.records.turns import Owner
from ricordo.records.values import record
from ricordo.stores import write_rules
from ricordo.stores.derived_rows import FACT_ROWS, FLAG_ROWS, SUMMARY_ROWS, kept_fact
from ricordo.stores.sqlite import people as sql
from ricordo.stores.sqlite import turn_statements
from ricordo.stores.sqlite.connections import Connections, SqlitePart, one_view, writing
from ricordo.stores.sqlite.database import WriteConnection
from ricordo.stores.turn_rows import ENDLESS

# ── facts ────────────────────────────────────────────────────────────────────────────────────────────

AGENTS = "SELECT DISTINCT agent_id FROM facts WHERE owner = ? ORDER BY agent_id"

REVISION = "SELECT revision FROM people WHERE owner = ? AND agent_id = ?"

FACTS = f"SELECT {FACT_ROWS.columns} FROM facts WHERE owner = ? AND agent_id = ? ORDER BY recorded_at, fact_id"

ALL_FACTS = f"SELECT {FACT_ROWS.columns} FROM facts WHERE owner = ?"

TURNS_THERE = "SELECT turn_id FROM turns WHERE owner = ? AND turn_id IN (SELECT value FROM json_each(?))"

SESSIONS_THERE = "SELECT session_id FROM sessions WHERE owner = ? AND session_id IN (SELECT value FROM json_each(?))"

MOVE_PEOPLE = """
INSERT INTO people (owner, agent_id, revision) VALUES (?, ?, 1)
ON CONFLICT (owner, agent_id) DO UPDATE SET revision = revision + 1
"""

SET_PEOPLE = "INSERT INTO people (owner, agent_id, revision) VALUES (?, ?, ?)"

PUT_FACT = f"INSERT OR REPLACE INTO facts {FACT_ROWS.by_place()}"

DROP_FACT = "DELETE FROM facts WHERE owner = ? AND agent_id = ? AND fact_id = ?"

LEARNED_THROUGH = "SELECT learned_through FROM sessions WHERE owner = ? AND session_id = ?"

MOVE_LEARNED = """
UPDATE sessions SET learned_through = max(learned_through, min(?, last_turn))
WHERE owner = ? AND session_id = ?
"""

# ── summaries ────────────────────────────────────────────────────────────────────────────────────────

SUMMARIES_OF_SESSION = f"""
SELECT {SUMMARY_ROWS.columns} FROM summaries
WHERE owner = :owner AND session_id = :session_id
  AND (:agent_id IS NULL OR agent_id = :agent_id) AND (:kind IS NULL OR kind = :kind)
ORDER BY created_at DESC, last_turn DESC, summary_id DESC LIMIT :limit
"""

SUMMARIES = SUMMARIES_OF_SESSION.replace(" AND session_id = :session_id", "")

ADD_SUMMARY = f"INSERT INTO summaries {SUMMARY_ROWS.by_place()} ON CONFLICT DO NOTHING"

DROP_SUMMARY = "DELETE FROM summaries WHERE owner = ? AND summary_id = ?"

DROP_SUMMARIES = "DELETE FROM summaries WHERE owner = ? AND session_id = ?"

# ── flags ────────────────────────────────────────────────────────────────────────────────────────────

FLAGS = f"""
SELECT {FLAG_ROWS.columns} FROM flags
WHERE owner = :owner AND (:state IS NULL OR state = :state)
ORDER BY created_at DESC, flag_id DESC LIMIT :limit
"""

ADD_FLAG = f"INSERT INTO flags {FLAG_ROWS.by_place()} ON CONFLICT DO NOTHING"

SET_FLAG = f"UPDATE flags SET state = ? WHERE owner = ? AND flag_id = ? RETURNING {FLAG_ROWS.columns}"

DROP_FLAG = "DELETE FROM flags WHERE owner = ? AND subject = ? AND subject_id = ?"

DROP_FLAGS_ON_SUMMARIES = """
DELETE FROM flags
WHERE owner = :owner AND subject = 'summary'
  AND subject_id IN (SELECT summary_id FROM summaries WHERE owner = :owner AND session_id = :session_id)
"""

# A fact that stays keeps its flag, or it would come out of quarantine.
DROP_FLAGS = """
DELETE FROM flags
WHERE owner = :owner AND session_id = :session_id
  AND NOT (subject = 'fact' AND subject_id IN (SELECT fact_id FROM facts WHERE owner = :owner))
"""

# ── counting and erasing ─────────────────────────────────────────────────────────────────────────────

STATS = """
WITH mine AS (SELECT owner FROM owners WHERE tenant_id = :tenant_id)
SELECT
    (SELECT count(*) FROM facts WHERE owner IN mine),
    (SELECT count(*) FROM summaries WHERE owner IN mine),
    (SELECT count(*) FROM flags WHERE owner IN mine)
"""


@record
class PersonCopy:
    """What is known of an owner, as it was elsewhere: facts by agent, and flags. Summaries come with sessions."""

    owner: Owner
    people: Sequence[tuple[str, KnownFacts]]
    flags: Sequence[Flag]


class SqlitePeople(SqlitePart[Connections]):
    """Facts, summaries and flags."""

    def agents(self, owner: Owner) -> Sequence[str]:
        with self._database.reading() as reader:
            return [agent_id for (agent_id,) in reader.execute(sql.AGENTS, (owner.key.bytes,))]

    def facts(self, owner: Owner, agent_id: str) -> KnownFacts:
        with self._database.reading() as reader, one_view(reader):
            return _facts(reader, owner, agent_id)

    @writing
    def put_facts(self, writer: WriteConnection, owner: Owner, agent_id: str, change: FactChange) -> bool:
        write_rules.checked(agent_id, change)
        key = (owner.key.bytes, agent_id)
        known = _facts(writer, owner, agent_id)
        if known.revision != change.revision:
            return False
        there = _ids(writer, sql.TURNS_THERE, key[:1], write_rules.turns_named(change))
        put = write_rules.with_live_sources(change, known.facts, there)
        sessions = _ids(writer, sql.SESSIONS_THERE, key[:1], [session_id for session_id, _ in change.learned])
        if put or sessions:
            writer.execute(turn_statements.ADD_OWNER, (owner.key.bytes, owner.tenant_id, owner.user_id))
            writer.execute(sql.MOVE_PEOPLE, key)
            _put(writer, owner, put)
            writer.executemany(sql.MOVE_LEARNED, [(number, key[0], session) for session, number in change.learned])
        return True

    def learned_through(self, owner: Owner, session_id: str) -> int:
        with self._database.reading() as reader:
            (number,) = reader.execute(sql.LEARNED_THROUGH, (owner.key.bytes, session_id)).fetchone() or (0,)
        return int(number)

    def summaries(
        self,
        owner: Owner,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        kind: SummaryKind | None = None,
        limit: int = 50,
    ) -> Sequence[Summary]:
        values = {
            "owner": owner.key.bytes,
            "session_id": session_id,
            "agent_id": agent_id,
            "kind": kind,
            "limit": max(0, min(limit, ENDLESS)),
        }
        statement = sql.SUMMARIES if session_id is None else sql.SUMMARIES_OF_SESSION
        with self._database.reading() as reader:
            return [SUMMARY_ROWS.read(row) for row in reader.execute(statement, values)]

    @writing
    def put_summary(self, writer: WriteConnection, owner: Owner, summary: Summary) -> bool:
        reached = _last_turn(writer, owner, summary.session_id)
        if reached is None or summary.last_turn > reached:
            return False
        return writer.execute(sql.ADD_SUMMARY, (owner.key.bytes, *SUMMARY_ROWS.write(summary))).rowcount == 1

    @writing
    def drop_summaries(self, writer: WriteConnection, owner: Owner, summary_ids: Sequence[str]) -> int:
        key = owner.key.bytes
        writer.executemany(sql.DROP_FLAG, [(key, "summary", each) for each in summary_ids])
        return sum(writer.execute(sql.DROP_SUMMARY, (key, each)).rowcount for each in summary_ids)

    def flags(self, owner: Owner, *, state: FlagState | None = None, limit: int = 1_000) -> Sequence[Flag]:
        values = {"owner": owner.key.bytes, "state": state, "limit": max(0, min(limit, ENDLESS))}
        with self._database.reading() as reader:
            return [FLAG_ROWS.read(row) for row in reader.execute(sql.FLAGS, values)]

    @writing
    def put_flag(self, writer: WriteConnection, owner: Owner, flag: Flag) -> bool:
        if _last_turn(writer, owner, flag.session_id) is None:
            return False
        return writer.execute(sql.ADD_FLAG, (owner.key.bytes, *FLAG_ROWS.write(flag))).rowcount == 1

    @writing
    def set_flag(self, writer: WriteConnection, owner: Owner, flag_id: str, state: FlagState) -> Flag | None:
        return FLAG_ROWS.first(writer.execute(sql.SET_FLAG, (state, owner.key.bytes, flag_id)).fetchall())

    @writing
    def forget_derived(self, writer: WriteConnection, owner: Owner, session_id: str) -> int:
        writer.execute(sql.DROP_FLAGS_ON_SUMMARIES, {"owner": owner.key.bytes, "session_id": session_id})
        went = writer.execute(sql.DROP_SUMMARIES, (owner.key.bytes, session_id)).rowcount
        return went + unlearn(writer, owner, session_id)

    @writing
    def restore(self, writer: WriteConnection, copy: PersonCopy) -> None:
        """Write what is known of an owner, who has nothing here yet, exactly as it was elsewhere: for a backup."""
        owner, key = copy.owner, copy.owner.key.bytes
        if copy.people or copy.flags:
            writer.execute(turn_statements.ADD_OWNER, (key, owner.tenant_id, owner.user_id))
        for agent_id, known in copy.people:
            writer.execute(sql.SET_PEOPLE, (key, agent_id, known.revision))
            _put(writer, owner, known.facts)
        writer.executemany(sql.ADD_FLAG, [(key, *FLAG_ROWS.write(flag)) for flag in copy.flags])


def _facts(reader: sqlite3.Connection, owner: Owner, agent_id: str) -> KnownFacts:
    """An agent's facts; called inside one snapshot."""
    key = (owner.key.bytes, agent_id)
    found = reader.execute(sql.REVISION, key).fetchall()
    if not found:
        return KnownFacts()
    return KnownFacts(tuple(kept_fact(row) for row in reader.execute(sql.FACTS, key)), found[0][0])


def unlearn(writer: sqlite3.Connection, owner: Owner, session_id: str) -> int:
    """Remove a session from the sources of facts; how many facts were deleted."""
    key = owner.key.bytes
    facts = [kept_fact(row) for row in writer.execute(sql.ALL_FACTS, (key,))]
    unlearned = write_rules.without_session(facts, session_id)
    writer.executemany(sql.DROP_FACT, [(key, fact.agent_id, fact.id) for fact in unlearned.gone])
    writer.executemany(sql.DROP_FLAG, [(key, "fact", fact.id) for fact in unlearned.gone])
    _put(writer, owner, unlearned.changed)
    writer.executemany(sql.MOVE_PEOPLE, [(key, agent_id) for agent_id in unlearned.agents])
    return len(unlearned.gone)


def drop_session(writer: sqlite3.Connection, key: tuple[bytes, str]) -> None:
    """Delete a session's summaries and flags, not its facts."""
    writer.execute(sql.DROP_SUMMARIES, key)
    writer.execute(sql.DROP_FLAGS, {"owner": key[0], "session_id": key[1]})


def restore_session(
    writer: sqlite3.Connection, owner: Owner, session_id: str, through: int, kept: Iterable[Summary]
) -> None:
    """Write how far a session was learned from, and its summaries."""
    writer.execute(sql.MOVE_LEARNED, (through, owner.key.bytes, session_id))
    writer.executemany(sql.ADD_SUMMARY, [(owner.key.bytes, *SUMMARY_ROWS.write(summary)) for summary in kept])


def _put(writer: sqlite3.Connection, owner: Owner, facts: Iterable[Fact]) -> None:
    writer.executemany(sql.PUT_FACT, [(owner.key.bytes, *FACT_ROWS.write(fact)) for fact in facts])


def _ids(connection: sqlite3.Connection, statement: str, key: tuple[object, ...], wanted: Iterable[str]) -> set[str]:
    asked = json.dumps(sorted(wanted))
    return {found for (found,) in connection.execute(statement, (*key, asked))} if asked != "[]" else set()


def _last_turn(connection: sqlite3.Connection, owner: Owner, session_id: str) -> int | None:
    """The last turn number of a session; None if it does not exist."""
    found = connection.execute(turn_statements.LAST_TURN_OF_SESSION, (owner.key.bytes, session_id)).fetchone()
    return found[0] if found else None
