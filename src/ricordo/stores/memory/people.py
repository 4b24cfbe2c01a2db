"""Facts, summaries and flags of the reference store: by agent, in their session, by subject."""

from collections.abc import Sequence
from dataclasses import replace

from ricordo.records.people import Fact, FactChange, Flag, FlagState, KnownFacts, Summary, SummaryKind
from ricordo.records.turns import Owner
from ricordo.stores import topic_rules
from ricordo.stores.memory.home import Home, Homes, MemorySession


class MemoryPeople:
    """Facts, summaries and flags."""

    def __init__(self, homes: Homes) -> None:
        self._homes = homes
        self._lock = homes.lock

    def agents(self, owner: Owner) -> Sequence[str]:
        with self._lock:
            return sorted(name for name, known in self._homes.of(owner).facts.items() if known.facts)

    def facts(self, owner: Owner, agent_id: str) -> KnownFacts:
        with self._lock:
            return self._homes.of(owner).facts.get(agent_id, KnownFacts())

    def put_facts(self, owner: Owner, agent_id: str, change: FactChange) -> bool:
        topic_rules.checked(agent_id, change)
        with self._lock:
            home = self._homes.of(owner)
            known = home.facts.get(agent_id, KnownFacts())
            if known.revision != change.revision:
                return False
            stored = {fact.id: fact for fact in known.facts}
            there = {turn_id for turn_id in topic_rules.turns_named(change) if home.find(turn_id)}
            put = topic_rules.with_live_sources(change, known.facts, there)
            moved = [(session, number) for name, number in change.learned if (session := home.sessions.get(name))]
            if put or moved:
                home.facts[agent_id] = _known({**stored, **{fact.id: fact for fact in put}}, known.revision + 1)
            for session, number in moved:
                session.learned_through = max(session.learned_through, min(number, session.info.last_turn))
            return True

    def learned_through(self, owner: Owner, session_id: str) -> int:
        with self._lock:
            session = self._homes.session(owner, session_id)
            return session.learned_through if session else 0

    def summaries(
        self,
        owner: Owner,
        *,
        session_id: str | None = None,
        agent_id: str | None = None,
        kind: SummaryKind | None = None,
        limit: int = 50,
    ) -> Sequence[Summary]:
        with self._lock:
            every = [each for session in self._homes.of(owner).sessions.values() for each in session.summaries]
        found = [
            each
            for each in every
            if session_id in (None, each.session_id) and agent_id in (None, each.agent_id) and kind in (None, each.kind)
        ]
        return sorted(found, key=lambda each: (each.created_at, each.last_turn, each.id), reverse=True)[:limit]

    def put_summary(self, owner: Owner, summary: Summary) -> bool:
        with self._lock:
            home = self._homes.of(owner)
            session = home.sessions.get(summary.session_id)
            if session is None or summary.last_turn > session.info.last_turn:
                return False
            if any(each.id == summary.id for other in home.sessions.values() for each in other.summaries):
                return False
            if any((each.kind, each.last_turn) == (summary.kind, summary.last_turn) for each in session.summaries):
                return False
            session.summaries.append(summary)
            return True

    def drop_summaries(self, owner: Owner, summary_ids: Sequence[str]) -> int:
        with self._lock:
            home, doomed = self._homes.of(owner), set(summary_ids)
            return sum(_drop_summaries(home, session, doomed) for session in home.sessions.values())

    def flags(self, owner: Owner, *, state: FlagState | None = None, limit: int = 1_000) -> Sequence[Flag]:
        with self._lock:
            found = [flag for flag in self._homes.of(owner).flags.values() if state in (None, flag.state)]
        return sorted(found, key=lambda flag: (flag.created_at, flag.id), reverse=True)[:limit]

    def put_flag(self, owner: Owner, flag: Flag) -> bool:
        with self._lock:
            home = self._homes.of(owner)
            taken = (flag.subject, flag.subject_id) in home.flags or flag.id in {f.id for f in home.flags.values()}
            if taken or flag.session_id not in home.sessions:
                return False
            home.flags[flag.subject, flag.subject_id] = flag
            return True

    def set_flag(self, owner: Owner, flag_id: str, state: FlagState) -> Flag | None:
        with self._lock:
            flags = self._homes.of(owner).flags
            for about, flag in flags.items():
                if flag.id == flag_id:
                    flags[about] = replace(flag, state=state)
                    return flags[about]
            return None

    def forget_derived(self, owner: Owner, session_id: str) -> int:
        with self._lock:
            home = self._homes.of(owner)
            session = home.sessions.get(session_id)
            gone = _drop_summaries(home, session) if session else 0
            return gone + unlearn(home, session_id)


def forget_flags(home: Home, session_id: str) -> None:
    """Delete the flags of a session that is deleted; a fact that stays keeps its flag, or it would leave quarantine."""
    facts = {fact.id for known in home.facts.values() for fact in known.facts}
    home.flags = {
        about: flag
        for about, flag in home.flags.items()
        if flag.session_id != session_id or (flag.subject == "fact" and flag.subject_id in facts)
    }


def _known(facts: dict[str, Fact], revision: int) -> KnownFacts:
    return KnownFacts(tuple(sorted(facts.values(), key=lambda fact: (fact.recorded_at, fact.id))), revision)


def _drop_summaries(home: Home, session: MemorySession, doomed: set[str] | None = None) -> int:
    """Delete all of a session, or those in `doomed`."""
    gone = [each for each in session.summaries if doomed is None or each.id in doomed]
    session.summaries = [each for each in session.summaries if each not in gone]
    for summary in gone:
        home.flags.pop(("summary", summary.id), None)
    return len(gone)


def unlearn(home: Home, session_id: str) -> int:
    """Remove a session from the sources of facts; how many facts were deleted."""
    facts = [fact for known in home.facts.values() for fact in known.facts]
    unlearned = topic_rules.without_session(facts, session_id)
    for agent_id in unlearned.agents:
        known = home.facts[agent_id]
        left = {fact.id: fact for fact in known.facts}
        left |= {fact.id: fact for fact in unlearned.changed if fact.agent_id == agent_id}
        for fact in unlearned.gone:
            if fact.agent_id == agent_id:
                del left[fact.id]
        home.facts[agent_id] = _known(left, known.revision + 1)
    for fact in unlearned.gone:
        home.flags.pop(("fact", fact.id), None)
    return len(unlearned.gone)
