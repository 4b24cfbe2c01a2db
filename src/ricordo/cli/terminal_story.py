"""`ricordo demo --terminal`: a talk over some days, a follow-up, a memory from another session, topics.

It runs the same calls as any application, on a temporary file or on the one given, and prints what they
gave. Everything that is claimed on the screen is checked there: the limit, the reopening, the rebuilt bytes.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import ricordo
from ricordo.cli.account import item_names
from ricordo.cli.exits import FAILED, OK
from ricordo.cli.options import Options, keywords_of
from ricordo.cli.output import Output
from ricordo.cli.plain import context_json, topic_json, turn_json
from ricordo.cli.recalling import hits_json
from ricordo.cli.sample import SAMPLES, Sample, SampleTurn
from ricordo.cli.story import Shown, screen
from ricordo.records import Owner, Turn
from ricordo.session import Session

USER = "anna"
AGENT = "tutor"
BUDGET = 420
BROUGHT_BACK = 2  # hits that are shown
PATIENCE = 120.0  # seconds for the work beside the chat; it takes a few


def tell(place: str, options: Options, output: Output) -> int:
    """Live the story and print it."""
    sample = SAMPLES[options.language]
    settings = {"locale": options.language, **keywords_of(options)}
    with output.progress("remembering"):
        done = play(place, sample, settings, options.budget)
    output.document(plain(done), *screen(done, sample, kept=options.db, user=USER))
    return OK if done.same else FAILED


def play(place: str, sample: Sample, settings: dict[str, Any], budget: int) -> Shown:
    """The whole story, as an application would live it."""
    with ricordo.open(place, **settings) as memory:
        began = datetime.now(UTC)
        earlier = memory.session(user_id=USER, agent_id=AGENT)
        long_ago = _say(earlier, sample.earlier, began)
        session = memory.session(user_id=USER, agent_id=AGENT)
        talk = [_say(session, each, began, after=minute) for minute, each in enumerate(sample.talk)]
        session.update(title=sample.title)
        memory.settle(PATIENCE)  # an application has it done beside the chat

        context = session.context(
            sample.follow_up.query, chunks=sample.found, budget=budget, safety=sample.safety, system=sample.system
        )
        names = item_names(memory.store, Owner(memory.settings.tenant_id, USER), context.receipt)
        asked = session.ask(sample.follow_up.query)
        answered = asked.answer(sample.follow_up.response, chunk_ids=sample.follow_up.chunk_ids)

        remembered = session.context(sample.remember.query)
        hits = memory.search(sample.remember.query, user_id=USER, limit=BROUGHT_BACK)
        session.add_turn(sample.remember.query, sample.remember.response)

        session.add_turn(sample.choice.query, sample.choice.response, chunk_ids=sample.choice.chunk_ids)
        unclear = session.context(sample.unclear)
        chosen = session.context(sample.which)

        topics = [topic_json(session.topic(topic.id)) for topic in session.topics()]
        again = session.rebuild(asked.turn_number) if place == "memory:" else None
        embedder = memory.stats().embedder
    return Shown(
        session_id=session.id,
        long_ago=long_ago,
        talk=tuple(talk),
        context=context,
        names=names,
        answered=answered,
        remembered=remembered,
        hits=hits,
        unclear=unclear,
        chosen=chosen,
        topics=topics,
        embedder=embedder,
        rebuilt=again or _reopened(place, settings, session.id, asked.turn_number),
    )


def plain(done: Shown) -> dict[str, Any]:
    """Everything on the screen, for a program."""
    return {
        "session_id": done.session_id,
        "turns": [turn_json(turn) for turn in (*done.talk, done.answered)],
        "context": context_json(done.context),
        "recalled": hits_json(done.remembered.question, done.hits),
        "asked_back": context_json(done.unclear)["clarification"],
        "understood_after": done.chosen.question,
        "topics": done.topics,
        "embedder": done.embedder,
        "rebuilt_is_identical": done.same,
    }


def _say(session: Session, each: SampleTurn, began: datetime, *, after: int = 0) -> Turn:
    """Keep a turn at the time it belongs to, always before now."""
    moment = began - timedelta(days=each.days_ago, minutes=30 - after)
    return session.add_turn(each.query, each.response, chunk_ids=each.chunk_ids, created_at=moment)


def _reopened(place: str, settings: dict[str, Any], session_id: str, turn_number: int) -> ricordo.Context:
    with ricordo.open(place, **settings) as memory:
        return memory.session(session_id, user_id=USER).rebuild(turn_number)
