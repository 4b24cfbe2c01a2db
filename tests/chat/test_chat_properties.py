"""Twelve properties of a chat that remembers for a day, on SQLite and on a real PostgreSQL, through the chat itself."""

import logging
import sqlite3
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from chat_samples import Place, Switched, Talk
from hypothesis import assume, given
from hypothesis import strategies as st

from ricordo.errors import ConflictError, ValidationError
from ricordo.stores.memory import MemoryStore
from ricordo.stores.spool import SpooledStore, SpoolTimeouts
from ricordo.testing.postgres import PostgresForTests
from ricordo.testing.strategies import hostile_texts, metadata, refused_texts, texts

pytest_plugins = ["ricordo.testing.postgres"]

SHARED = "/dev/shm"
DAY = timedelta(hours=24)
QUICK = SpoolTimeouts(
    probe_interval=0.01, first_pause=0.002, longest_pause=0.02, open_after=2.0, probe_after=0.05, drain=10.0
)
words = texts(40)


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A file, and a database."""
    if request.param == "sqlite":
        # In memory where there is such a folder: what is tested is what is kept, not how fast a disk is.
        folder = Path(SHARED) if Path(SHARED).is_dir() else tmp_path_factory.mktemp("chat")
        place = Place(str(folder / f"ricordo-{uuid4()}.db"))
    else:
        server: PostgresForTests = request.getfixturevalue("postgres_server")
        place = Place(server.database())
    yield place
    place.store.close()
    if request.param == "sqlite":
        for path in folder.glob(f"{Path(place.where).name}*"):
            path.unlink()


@given(query=words, known=metadata())
def test_1_a_stored_turn_comes_back_complete(place: Place, query: str, known: dict[str, Any]) -> None:
    """Session, user, question, answer, number, time and metadata of an answered question are all there."""
    assume(not {"intent", "confidence", "result_count", "answerer", "standalone", "stopped"} & set(known))
    with Talk(place.store) as talk:
        answer = talk.ask(query, metadata=known)
        (turn,) = talk.turns(answer.session_id)
        assert (turn.session_id, turn.owner, turn.turn_number) == (answer.session_id, talk.owner, 1)
        assert (turn.query, turn.response) == (query, answer.message)
        assert turn.created_at == talk.clock.now()
        assert {name: turn.metadata[name] for name in known} == known
        assert {"intent", "confidence", "result_count"} <= set(turn.metadata)


@given(queries=st.lists(words, min_size=1, max_size=4))
def test_2_session_ids_are_unique_uuids_in_every_response(place: Place, queries: list[str]) -> None:
    """Each question without a session begins one of its own, whose id is a UUID and comes back."""
    with Talk(place.store) as talk:
        found = [talk.ask(query).session_id for query in queries]
        assert len(set(found)) == len(queries)
        assert [str(UUID(each)) for each in found] == found


@given(steps=st.lists(st.tuples(st.integers(0, 2), words), min_size=2, max_size=6))
def test_3_sessions_never_mix(place: Place, steps: list[tuple[int, str]]) -> None:
    """However questions to several sessions come, each session holds its own, and no context tells of another."""
    with Talk(place.store) as talk:
        sessions: dict[int, str] = {}
        said: dict[int, list[str]] = {}
        for which, query in steps:
            marked = f"{query} <{which}>"
            answer = talk.ask(marked, sessions.get(which))
            sessions[which] = answer.session_id
            said.setdefault(which, []).append(marked)
            sent = str(talk.echo.asked[-1].context.messages) if talk.echo.asked else ""
            assert not any(f"<{other}>" in sent for other in said if other != which)
        for which, session_id in sessions.items():
            assert [turn.query for turn in talk.turns(session_id)] == said[which]


@given(queries=st.lists(words, min_size=2, max_size=5))
def test_4_a_known_session_goes_on(place: Place, queries: list[str]) -> None:
    """A session id that came back is used again: the same session, the next number, the history before the answerer."""
    with Talk(place.store, follow_ups="off") as talk:
        session_id = None
        for number, query in enumerate(queries, start=1):
            answer = talk.ask(query, session_id)
            assert session_id in (None, answer.session_id)
            session_id = answer.session_id
            assert answer.metadata["turn_number"] == number
            assert answer.metadata["is_new_session"] == (number == 1)
        assert [turn.query for turn in talk.turns(str(session_id))] == queries
        history = [message["content"] for message in talk.echo.asked[-1].context.messages]
        assert sum(content.startswith("Answer to: ") for content in history) == len(queries) - 1


@given(
    given=st.one_of(words, refused_texts(), st.uuids().map(str), st.integers(), st.none(), st.binary(), hostile_texts())
)
def test_5_an_unknown_session_id_begins_anew(place: Place, given: object) -> None:
    """Whatever is given that is no session of this user, a new one begins without an error."""
    with Talk(place.store) as talk:
        answer = talk.ask("Hello there", given)
    assert answer.metadata["is_new_session"]
    assert answer.session_id != given
    assert str(UUID(answer.session_id)) == answer.session_id


@given(ages=st.lists(st.tuples(st.integers(0, 2), st.integers(0, 40)), min_size=1, max_size=6))
def test_6_cleanup_removes_exactly_what_is_past_its_time(place: Place, ages: list[tuple[int, int]]) -> None:
    """Of turns of any age those older than a day go, and every other stays."""
    with Talk(place.store) as talk:
        sessions: dict[int, str] = {}
        kept: dict[str, list[str]] = {}
        begun = talk.clock.now()
        for which, hours in sorted(ages, key=lambda pair: -pair[1]):
            talk.clock._now = begun - timedelta(hours=hours)
            answer = talk.ask(f"question of {hours} hours", sessions.get(which))
            sessions[which] = answer.session_id
            kept.setdefault(answer.session_id, [])
            if timedelta(hours=hours) <= DAY:
                kept[answer.session_id].append(answer.query)
        talk.clock._now = begun
        result = talk.memory.cleanup()
        assert result.turns_deleted == sum(hours > 24 for _, hours in ages)
        assert not result.errors
        assert {session: [turn.query for turn in talk.turns(session)] for session in kept} == kept


@given(order=st.permutations(range(6)), count=st.integers(1, 6))
def test_7_history_is_in_the_order_of_its_numbers(place: Place, order: list[int], count: int) -> None:
    """Whatever the times of turns, and however they were brought in, they are read by rising number."""
    with Talk(place.store) as talk:
        session_id = talk.ask("The first of all").session_id
        session = talk.memory.session(session_id, user_id=talk.owner.user_id)
        begun = talk.clock.now()
        for hour in order[:count]:
            session.add_turn(f"said at {hour}", "yes", created_at=begun - timedelta(hours=hour))
        numbers = [turn.turn_number for turn in talk.turns(session_id)]
        assert numbers == list(range(1, count + 2))
        assert [turn.query for turn in session.history(limit=count)] == [f"said at {hour}" for hour in order[:count]]


@given(steps=st.lists(st.tuples(st.booleans(), st.integers(0, 1)), min_size=1, max_size=5))
def test_8_the_chat_answers_while_the_database_is_away(place: Place, steps: list[tuple[bool, int]]) -> None:
    """Whenever it goes and comes, each question is answered; when it is back all turns are there once and in order."""
    with TemporaryDirectory(dir=SHARED if Path(SHARED).is_dir() else None) as folder:
        inner = Switched(place.store)
        store = SpooledStore(lambda: inner, folder, scratch=MemoryStore(), timeouts=QUICK)
        with Talk(store) as talk:
            sessions: dict[int, str] = {}
            said: dict[str, list[str]] = {}
            for number, (up, which) in enumerate(steps):
                inner.up = up
                answer = talk.ask(f"question {number}", sessions.get(which))
                assert answer.message == f"Answer to: question {number}"
                sessions[which] = answer.session_id
                said.setdefault(answer.session_id, []).append(answer.query)
            inner.up = True
            assert store.settle(20)
            for session_id, queries in said.items():
                stored = list(place.store.turns.page(talk.owner, session_id))
                assert [(turn.turn_number, turn.query) for turn in stored] == list(enumerate(queries, start=1))
                assert all(turn.response == f"Answer to: {turn.query}" for turn in stored)
            store.close()


@given(minutes=st.integers(0, 4), later=st.integers(5, 90), noise=st.lists(words, max_size=2), choice=st.integers(1, 3))
def test_9_short_and_long_memory_do_not_touch_each_other(
    place: Place, minutes: int, later: int, noise: list[str], choice: int
) -> None:
    """A question that is asked back waits five minutes whatever else is kept or cleaned up, and costs no turn."""
    with Talk(place.store) as talk:
        session = talk.memory.session(user_id=talk.owner.user_id)
        session.add_turn("Which exercises do you suggest?", "1) Plank: abs 2) Bridge: glutes 3) Cat: back")
        asked = talk.ask("How do I do that exercise?", session.id)
        assert asked.metadata["clarification"]
        for query in noise:
            talk.ask(query)  # in sessions of their own
        talk.memory.cleanup()
        before = talk.turns(session.id)
        talk.clock.advance(minutes=minutes)
        chosen = talk.ask(str(choice), session.id)
        name = ("Plank", "Bridge", "Cat")[choice - 1]
        assert name in talk.echo.asked[-1].context.question
        assert talk.turns(session.id)[:-1] == before
        again = talk.ask("How do I do that exercise?", session.id)
        talk.clock.advance(minutes=later + 1)
        late = talk.ask(str(choice), session.id)
        assert [turn.query for turn in talk.turns(session.id)][-3:] == [chosen.query, again.query, late.query]
        assert len(talk.turns(session.id)) == len(before) + 3


def test_10_what_is_kept_outlives_the_program(place: Place) -> None:
    """For a day after it was said, a turn is read by a program that was started anew, however often one ends."""

    @given(queries=st.lists(words, min_size=1, max_size=3), hours=st.integers(0, 24))
    def holds(queries: list[str], hours: int) -> None:
        with Talk(place.store) as talk:
            session_id = None
            for query in queries:
                session_id = talk.ask(query, session_id).session_id
            talk.memory.rest()
            again = Talk(place.reopened(), talk.clock, talk.owner)
            again.clock.advance(hours=hours)
            again.memory.cleanup()
            assert [turn.query for turn in again.turns(str(session_id))] == queries
            assert again.ask("And then?", session_id).session_id == session_id

    holds()


@given(bad=refused_texts(), number=st.integers(-5, 0), good=words)
def test_11_invalid_turns_are_refused_by_us_and_by_the_database(place: Place, bad: str, number: int, good: str) -> None:
    """Blank or broken words and impossible or taken numbers never come in, not even by writing past us."""
    with Talk(place.store) as talk:
        session_id = talk.ask("Hello there").session_id
        session = talk.memory.session(session_id, user_id=talk.owner.user_id)
        for refused in (
            lambda: talk.ask(bad, session_id),
            lambda: session.add_turn(bad, good),
            lambda: session.add_turn(good, bad),
            lambda: session.add_turn(good, good, turn_number=number),
        ):
            with pytest.raises(ValidationError):
                refused()
        with pytest.raises(ConflictError):
            session.add_turn(good, good, turn_number=1)
        assert len(talk.turns(session_id)) == 1
        blank = bad if not bad.strip() else " "
        for column, value in (("turn_number", number), ("query", blank), ("response", blank)):
            with pytest.raises((sqlite3.IntegrityError, psycopg.errors.CheckViolation)):
                write_past(place, f"UPDATE {{}} SET {column} = {{}} WHERE session_id = {{}}", value, session_id)


def write_past(place: Place, statement: str, *values: Any) -> None:
    """Change a row without us."""
    if "://" in place.where:
        with psycopg.connect(place.where) as connection:
            connection.execute(statement.format("ricordo.turns", "%s", "%s"), values)
    else:
        with sqlite3.connect(place.where) as file:
            try:
                file.execute(statement.format("turns", "?", "?"), values)
            finally:
                file.rollback()
        file.close()


@given(query=words, known=st.booleans())
def test_12_failures_are_logged_with_their_context(place: Place, query: str, known: bool) -> None:
    """A question that cannot be kept is answered; the log says where and whose it was, but not what was said."""
    secret = f"{query} {uuid4()}"
    inner = Switched(place.store)
    with Talk(inner) as talk:
        session_id = talk.ask("Hello there").session_id if known else None
        inner.up = False
        with records() as logged:
            answer = talk.ask(secret, session_id)
        assert answer.message == f"Answer to: {secret}"
        assert answer.metadata["degraded"]
        about = [record.__dict__ for record in logged if record.__dict__.get("operation") == "chat"]
        assert about
        assert all(each["session_id"] == answer.session_id and each["user_id"] == "anna" for each in about)
        assert not any(secret in f"{record.getMessage()} {record.__dict__}" for record in logged)


class records:  # noqa: N801 - read as a verb: with records() as logged
    """What is logged meanwhile."""

    def __enter__(self) -> list[logging.LogRecord]:
        self.found: list[logging.LogRecord] = []
        self.handler = logging.Handler()
        self.handler.emit = self.found.append  # type: ignore[method-assign, assignment]
        logging.getLogger("ricordo").addHandler(self.handler)
        return self.found

    def __exit__(self, *_: object) -> None:
        logging.getLogger("ricordo").removeHandler(self.handler)


def test_the_place_of_the_file_is_its_own(tmp_path: Path) -> None:
    """Two files know nothing of each other."""
    one, two = Place(str(tmp_path / "a.db")), Place(str(tmp_path / "b.db"))
    with Talk(one.store) as talk:
        session_id = talk.ask("Hello there").session_id
        assert list(two.store.turns.page(talk.owner, session_id)) == []
        one.store.close()
        two.store.close()
