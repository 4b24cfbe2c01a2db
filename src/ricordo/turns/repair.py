"""Repair what is derived from turns, where it does not agree with them.

In: a tenant. Out: what was repaired, and what `verify` still reports. Repaired are the counts of topics, turns with an
unknown topic, topics without turns, summaries of missing turns, and facts superseded by a missing fact. Damaged turns,
receipts and archive blocks must be restored from a backup.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from ricordo.engine.core import Engine
from ricordo.errors import DamageError, RicordoError
from ricordo.records.derived import FactChange, Topic, TopicChange, TopicShelf
from ricordo.records.service import Damage, Repair
from ricordo.records.turns import Owner, SessionInfo, Turn
from ricordo.stores.write_rules import grouped
from ricordo.topics.archive import attempts, recounted
from ricordo.turns.verify import bad_summaries, every_session, every_summary, owners_of, verify


def repair(engine: Engine, tenant_id: str, progress: Callable[[int, int], None] | None = None) -> Repair:
    """Repair what can be repaired of a tenant, then verify everything."""
    repaired: list[Damage] = []
    owners = owners_of(engine, tenant_id, [])
    for done, owner in enumerate(owners, start=1):
        for session in every_session(engine, owner):
            if isinstance(session, SessionInfo):
                repaired += _repair_topics(engine, session)
                repaired += _repair_summaries(engine, session)
        repaired += _repair_facts(engine, owner)
        if progress:
            progress(done, len(owners))
    return Repair(tuple(repaired), verify(engine, tenant_id))


def _repair_topics(engine: Engine, session: SessionInfo) -> list[Damage]:
    """Correct the topics of a session from its turns. Nothing is changed if a turn or a topic cannot be read."""
    where, topics = _where(session), engine.store.topics
    for _ in attempts():
        try:
            shelf = topics.load(session.owner, session.id)
            turns = engine.store.turns.page(session.owner, session.id)
        except DamageError:
            return []
        change, problems = _corrected(shelf, turns)
        if not problems:
            return []
        if topics.put(session.owner, session.id, change):
            return [Damage(where, problem) for problem in problems]
    return []


def _corrected(shelf: TopicShelf, turns: Sequence[Turn]) -> tuple[TopicChange, list[str]]:
    """The change that corrects the topics of a session, and the problems that it corrects."""
    of_topic = grouped(turns, lambda turn: turn.topic_id)
    problems = []
    changed: list[Topic] = []
    removed = sorted(of_topic.keys() - {topic.id for topic in shelf.topics})
    problems += [f"{len(of_topic[each])} turns belonged to topic {each!r}, which does not exist" for each in removed]
    for topic in shelf.topics:
        mine = of_topic.get(topic.id, [])
        if not mine:
            removed.append(topic.id)
            problems.append(f"topic {topic.id!r} had no turns")
        elif (right := recounted(topic, mine)) != topic:
            changed.append(right)
            problems.append(f"topic {topic.id!r} had wrong counts")
    return TopicChange(shelf.revision, put=tuple(changed), removed=tuple(removed)), problems


def _repair_summaries(engine: Engine, session: SessionInfo) -> Iterator[Damage]:
    """Delete the summaries that `verify` reports; new ones are written when they are needed."""
    wrong = list(bad_summaries(engine, session, _where(session)))
    try:
        summaries = every_summary(engine, session) if wrong else ()
        wrong_ids = [summary.id for summary in summaries if any(repr(summary.id) in each.problem for each in wrong)]
        engine.store.people.drop_summaries(session.owner, wrong_ids)
    except RicordoError:
        return
    for summary_id in wrong_ids:
        yield Damage(_where(session), f"summary {summary_id!r} did not agree with the turns")


def _repair_facts(engine: Engine, owner: Owner) -> Iterator[Damage]:
    """Make a fact current again if the fact that superseded it does not exist."""
    try:
        for agent_id in engine.store.people.agents(owner):
            known = engine.store.people.facts(owner, agent_id)
            ids = {fact.id for fact in known.facts}
            wrong = [fact for fact in known.facts if fact.superseded_by is not None and fact.superseded_by not in ids]
            right = tuple(replace(fact, superseded_by=None, valid_to=None) for fact in wrong)
            if wrong and engine.store.people.put_facts(owner, agent_id, FactChange(known.revision, right)):
                where = f"user {owner.user_id!r}, agent {agent_id!r}"
                yield from (
                    Damage(f"{where}, fact {fact.id!r}", "was superseded by a fact that does not exist")
                    for fact in wrong
                )
    except RicordoError:
        return


def _where(session: SessionInfo) -> str:
    return f"user {session.owner.user_id!r}, session {session.id!r}"
