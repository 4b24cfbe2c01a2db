"""Facts, summaries and flags of the reference store: by agent, in their session, by subject."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from ricordo.records.derived import (
    Fact,
    FactChange,
    Flag,
    FlagState,
    KnownFacts,
    Summary,
    SummaryKind,
    TopicChange,
    TopicShelf,
)
from ricordo.records.turns import Block, IndexedTurn, Owner, TurnVectors
from ricordo.stores import topic_rules, write_rules
from ricordo.stores.derived_rows import indexed_turn
from ricordo.stores.memory.owner_data import MemoryPart, MemorySession, OwnerData


class MemoryPeople(MemoryPart):
    """Facts, summaries and flags."""

    def agents(self, owner: Owner) -> Sequence[str]:
        with self._lock:
            return sorted(name for name, known in self._data.of(owner).facts.items() if known.facts)

    def facts(self, owner: Owner, agent_id: str) -> KnownFacts:
        with self._lock:
            return self._data.of(owner).facts.get(agent_id, KnownFacts())

    def put_facts(self, owner: Owner, agent_id: str, change: FactChange) -> bool:
        write_rules.checked(agent_id, change)
        with self._lock:
            data = self._data.of(owner)
            known = data.facts.get(agent_id, KnownFacts())
            if known.revision != change.revision:
                return False
            stored = {fact.id: fact for fact in known.facts}
            there = {turn_id for turn_id in write_rules.turns_named(change) if data.find(turn_id)}
            put = write_rules.with_live_sources(change, known.facts, there)
            moved = [(session, number) for name, number in change.learned if (session := data.sessions.get(name))]
            if put or moved:
                data.facts[agent_id] = _known({**stored, **{fact.id: fact for fact in put}}, known.revision + 1)
            for session, number in moved:
                session.learned_through = max(session.learned_through, min(number, session.info.last_turn))
            return True

    def learned_through(self, owner: Owner, session_id: str) -> int:
        with self._lock:
            session = self._data.session(owner, session_id)
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
            every = [each for session in self._data.of(owner).sessions.values() for each in session.summaries]
        found = [
            each
            for each in every
            if session_id in (None, each.session_id) and agent_id in (None, each.agent_id) and kind in (None, each.kind)
        ]
        return sorted(found, key=lambda each: (each.created_at, each.last_turn, each.id), reverse=True)[:limit]

    def put_summary(self, owner: Owner, summary: Summary) -> bool:
        with self._lock:
            data = self._data.of(owner)
            session = data.sessions.get(summary.session_id)
            if session is None or summary.last_turn > session.info.last_turn:
                return False
            if any(each.id == summary.id for other in data.sessions.values() for each in other.summaries):
                return False
            if any((each.kind, each.last_turn) == (summary.kind, summary.last_turn) for each in session.summaries):
                return False
            session.summaries.append(summary)
            return True

    def drop_summaries(self, owner: Owner, summary_ids: Sequence[str]) -> int:
        with self._lock:
            data, chosen = self._data.of(owner), set(summary_ids)
            return sum(_drop_summaries(data, session, chosen) for session in data.sessions.values())

    def flags(self, owner: Owner, *, state: FlagState | None = None, limit: int = 1_000) -> Sequence[Flag]:
        with self._lock:
            found = [flag for flag in self._data.of(owner).flags.values() if state in (None, flag.state)]
        return sorted(found, key=lambda flag: (flag.created_at, flag.id), reverse=True)[:limit]

    def put_flag(self, owner: Owner, flag: Flag) -> bool:
        with self._lock:
            data = self._data.of(owner)
            taken = (flag.subject, flag.subject_id) in data.flags or flag.id in {f.id for f in data.flags.values()}
            if taken or flag.session_id not in data.sessions:
                return False
            data.flags[flag.subject, flag.subject_id] = flag
            return True

    def set_flag(self, owner: Owner, flag_id: str, state: FlagState) -> Flag | None:
        with self._lock:
            flags = self._data.of(owner).flags
            for about, flag in flags.items():
                if flag.id == flag_id:
                    flags[about] = replace(flag, state=state)
                    return flags[about]
            return None

    def forget_derived(self, owner: Owner, session_id: str) -> int:
        with self._lock:
            data = self._data.of(owner)
            session = data.sessions.get(session_id)
            gone = _drop_summaries(data, session) if session else 0
            return gone + unlearn(data, session_id)


def forget_flags(data: OwnerData, session_id: str) -> None:
    """Delete the flags of a session that is deleted; a fact that stays keeps its flag, or it would leave quarantine."""
    facts = {fact.id for known in data.facts.values() for fact in known.facts}
    data.flags = {
        about: flag
        for about, flag in data.flags.items()
        if flag.session_id != session_id or (flag.subject == "fact" and flag.subject_id in facts)
    }


def _known(facts: dict[str, Fact], revision: int) -> KnownFacts:
    return KnownFacts(tuple(sorted(facts.values(), key=lambda fact: (fact.recorded_at, fact.id))), revision)


def _drop_summaries(data: OwnerData, session: MemorySession, chosen: set[str] | None = None) -> int:
    """Delete all of a session, or those with these ids."""
    gone = [each for each in session.summaries if chosen is None or each.id in chosen]
    session.summaries = [each for each in session.summaries if each not in gone]
    for summary in gone:
        data.flags.pop(("summary", summary.id), None)
    return len(gone)


def unlearn(data: OwnerData, session_id: str) -> int:
    """Remove a session from the sources of facts; how many facts were deleted."""
    facts = [fact for known in data.facts.values() for fact in known.facts]
    unlearned = write_rules.without_session(facts, session_id)
    for agent_id in unlearned.agents:
        known = data.facts[agent_id]
        left = {fact.id: fact for fact in known.facts}
        left |= {fact.id: fact for fact in unlearned.changed if fact.agent_id == agent_id}
        for fact in unlearned.gone:
            if fact.agent_id == agent_id:
                del left[fact.id]
        data.facts[agent_id] = _known(left, known.revision + 1)
    for fact in unlearned.gone:
        data.flags.pop(("fact", fact.id), None)
    return len(unlearned.gone)


class MemoryTopics(MemoryPart):
    """Topics and blocks of sessions."""

    def load(self, owner: Owner, session_id: str) -> TopicShelf:
        with self._lock:
            session = self._data.session(owner, session_id)
            return session.shelf if session else TopicShelf()

    def put(self, owner: Owner, session_id: str, change: TopicChange) -> bool:
        with self._lock:
            session = self._data.session(owner, session_id)
            if session is None or session.shelf.revision != change.revision:
                return False
            actual = {n: topic_rules.messages_counted(turn) for n in change.counted if (turn := session.at(n))}
            counted = replace(change, put=topic_rules.as_counted(change, actual))
            session.shelf = topic_rules.shelf_after(session.shelf, counted)
            for turn in session.turns:
                if turn.topic_id in change.removed:
                    session.replace(replace(turn, topic_id=None))
            for number, topic_id in change.assigned.items():
                if found := session.at(number):
                    session.replace(replace(found, topic_id=topic_id))
            return True

    def turns_of(self, owner: Owner, session_id: str, topic_id: str) -> Sequence[int]:
        with self._lock:
            session = self._data.session(owner, session_id)
            return [turn.turn_number for turn in session.turns if turn.topic_id == topic_id] if session else []

    def archive(self, owner: Owner, session_id: str, block: Block) -> bool:
        with self._lock:
            session = self._data.session(owner, session_id)
            turns = [session.at(number) for number in block.turn_numbers] if session else []
            if session is None or block.id in session.blocks or not topic_rules.replaces(block, turns):
                return False
            session.blocks[block.id] = block
            for turn in turns:
                if turn:
                    session.replace(replace(turn, block_id=block.id, archived=True))
            session.change_topics([turn for turn in turns if turn], topic_rules.archived)
            return True

    def blocks(self, owner: Owner, session_id: str, topic_id: str | None = None) -> Sequence[Block]:
        with self._lock:
            session = self._data.session(owner, session_id)
            found = [each for each in session.blocks.values() if topic_id in (None, each.topic_id)] if session else []
        return sorted(found, key=lambda block: (block.created_at, block.id))

    def rehydrate(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._set_archived(owner, session_id, turn_numbers, archived=False)

    def release(self, owner: Owner, session_id: str, turn_numbers: Sequence[int]) -> int:
        return self._set_archived(owner, session_id, turn_numbers, archived=True)

    def _set_archived(self, owner: Owner, session_id: str, turn_numbers: Sequence[int], *, archived: bool) -> int:
        with self._lock:
            session = self._data.session(owner, session_id)
            turns = [session.at(number) for number in set(turn_numbers)] if session else []
            due = [turn for turn in turns if turn and turn.block_id and turn.archived is not archived]
            for turn in due:
                if session:
                    session.replace(replace(turn, archived=archived))
            if session:
                session.change_topics(due, topic_rules.archived if archived else topic_rules.returned)
            return len(due)


class MemoryVectors(MemoryPart):
    """Vectors of turns."""

    def read(self, owner: Owner, embedder: str, session_id: str | None = None) -> Iterator[TurnVectors]:
        with self._lock:
            found = [
                each
                for session in _chosen(self._data.of(owner), session_id)
                for (_, name), each in sorted(session.vectors.items())
                if name == embedder
            ]
        return iter(found)

    def turns(self, owner: Owner, embedder: str) -> Iterator[IndexedTurn]:
        with self._lock:
            found = [
                indexed_turn(turn, session.vectors.get((turn.turn_number, embedder)))
                for session in _chosen(self._data.of(owner), None)
                for turn in session.turns
            ]
        return iter(found)

    def write(self, owner: Owner, vectors: Sequence[TurnVectors]) -> None:
        with self._lock:
            for each in vectors:
                session = self._data.session(owner, each.session_id)
                if session and session.at(each.turn_number):
                    session.vectors[each.turn_number, each.embedder] = each

    def drop(self, owner: Owner, *, keep: str) -> int:
        with self._lock:
            gone = 0
            for session in self._data.of(owner).sessions.values():
                kept = {key: each for key, each in session.vectors.items() if key[1] == keep}
                gone += len(session.vectors) - len(kept)
                session.vectors = kept
            return gone


def _chosen(data: OwnerData, session_id: str | None) -> list[MemorySession]:
    if session_id is None:
        return [data.sessions[name] for name in sorted(data.sessions)]
    return [data.sessions[session_id]] if session_id in data.sessions else []
