"""Topics, archive and traces in PostgreSQL: damage stays where it is, nobody waits in a circle, keys and not walks."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random
from typing import Any

import psycopg
import pytest

from ricordo.errors import DamageError
from ricordo.records.derived import TopicChange
from ricordo.records.turns import Owner, Turn, TurnVectors
from ricordo.stores.postgres import PostgresStore, derived_statements, turn_statements
from ricordo.stores.postgres.schema import TABLES
from ricordo.stores.postgres.topics import VECTORS_PER_PAGE
from ricordo.testing.fakes import START, a_block, a_message, a_topic, a_trace, a_turn, an_answer, an_owner
from ricordo.testing.postgres import PostgresForTests

pytest_plugins = ["ricordo.testing.postgres"]

WRITERS = 12


def three_turns(store: PostgresStore, owner: Owner) -> list[Turn]:
    """Three answered turns of one session."""
    return [store.turns.append(a_turn(owner, f"question {n}", f"answer {n}", session_id="s")) for n in (1, 2, 3)]


def counts(url: str) -> dict[str, int]:
    """How many rows each table has."""
    with psycopg.connect(url) as connection:
        rows = {table: connection.execute(f"SELECT count(*) FROM ricordo.{table}").fetchone() for table in TABLES}
    return {table: row[0] for table, row in rows.items() if row}


def together(work: Callable[[int], object], writers: int = WRITERS) -> list[object]:
    """Results of the work done by many threads that start at the same moment."""
    gate = threading.Barrier(writers)

    def wait_and_work(number: int) -> object:
        gate.wait()
        return work(number)

    with ThreadPoolExecutor(writers) as threads:
        return list(threads.map(wait_and_work, range(writers)))


def test_organising_while_writing_and_forgetting(postgres_store: PostgresStore) -> None:
    """Everything at once on one owner: nothing fails, no word is lost, and blocks, topics and traces fit the turns."""
    owner = an_owner()
    store = postgres_store

    def work(writer: int) -> None:
        chance = Random(writer)
        for _ in range(20):
            session_id = chance.choice(["a", "b"])
            turns = store.turns.page(owner, session_id)
            assert not any(turn.damage for turn in turns)
            some = chance.sample(turns, min(len(turns), 3))
            numbers = sorted(turn.turn_number for turn in some)
            match chance.randrange(11):
                case 0 | 1 | 2:
                    store.turns.append(a_turn(owner, session_id=session_id))
                case 3:
                    free = sorted((turn for turn in some if not turn.block_id), key=lambda turn: turn.turn_number)
                    store.topics.archive(owner, session_id, a_block(free))
                case 4:
                    shelf = store.topics.load(owner, session_id)
                    topic = a_topic(message_count=2 * len(numbers), hot=tuple(numbers))
                    change = TopicChange(shelf.revision, put=(topic,), assigned=dict.fromkeys(numbers, topic.id))
                    store.topics.put(owner, session_id, change)
                case 5:
                    store.vectors.write(owner, [a_trace(turn) for turn in some])
                case 6:
                    store.topics.rehydrate(owner, session_id, numbers)
                case 7:
                    store.topics.release(owner, session_id, numbers)
                case 8:
                    store.turns.delete(owner, session_id, numbers)
                case 9:
                    store.sessions.clear(owner, session_id)
                case 10:
                    store.vectors.drop(owner, keep="small")

    together(work)
    for session_id in ("a", "b"):
        turns = store.turns.page(owner, session_id)
        assert all(turn.query == "What is a fugue?" and not turn.damage for turn in turns)
        in_blocks = sorted((turn.block_id, turn.turn_number) for turn in turns if turn.block_id)
        blocks = store.topics.blocks(owner, session_id)
        assert in_blocks == sorted((block.id, number) for block in blocks for number in block.turn_numbers)
        there = {turn.turn_number for turn in turns}
        assert {trace.turn_number for trace in store.vectors.read(owner, "small", session_id)} <= there


def test_a_damaged_block_hurts_its_own_turns_alone(postgres_store: PostgresStore, postgres_url: str) -> None:
    """Its turns come without words and say why, are never overwritten, and the talk goes on."""
    owner = an_owner()
    first, second, third = three_turns(postgres_store, owner)
    assert postgres_store.topics.archive(owner, "s", a_block([second, third]))
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE ricordo.blocks SET body = 'broken'")
    assert postgres_store.turns.page(owner, "s")[0] == first
    for turn in postgres_store.turns.page(owner, "s")[1:]:
        assert (turn.archived, turn.messages) == (True, ())
        assert "damage" in turn.damage or "block" in turn.damage
    assert postgres_store.topics.rehydrate(owner, "s", [2, 3]) == 0
    with pytest.raises(DamageError):
        postgres_store.turns.append(third)
    with pytest.raises(DamageError):
        postgres_store.turns.answer(owner, third.id, an_answer("another"), {}, None)
    added = postgres_store.turns.add_message(a_message(owner, "assistant", "still here", session_id="s"))
    assert (added.turn_number, added.response) == (4, "still here")


def test_what_a_damaged_block_held_twice_is_not_lost_with_it(postgres_store: PostgresStore, postgres_url: str) -> None:
    """Plain words are not let go for a broken block; when it goes, they may be packed again."""
    owner = an_owner()
    turns = three_turns(postgres_store, owner)
    postgres_store.topics.archive(owner, "s", a_block(turns))
    postgres_store.topics.rehydrate(owner, "s", [1, 2])
    with psycopg.connect(postgres_url) as connection:
        connection.execute("UPDATE ricordo.blocks SET body = 'broken'")
    assert postgres_store.topics.release(owner, "s", [1, 2]) == 0
    assert postgres_store.turns.delete(owner, "s", [3]) == 1
    assert list(postgres_store.topics.blocks(owner, "s")) == []
    assert list(postgres_store.turns.page(owner, "s")) == turns[:2]
    assert postgres_store.topics.archive(owner, "s", a_block(turns[:2]))


def test_topics_count_questions_that_only_a_block_tells(postgres_store: PostgresStore) -> None:
    """A question without tokens is counted when its archived turn goes, and a note without question is not."""
    owner = an_owner()
    asked = a_turn(owner, session_id="s")
    assert asked.question is not None
    asked = postgres_store.turns.append(replace(asked, question=replace(asked.question, tokens=0)))
    greeting = postgres_store.turns.append(replace(a_turn(owner, session_id="s"), question=None))
    stays = postgres_store.turns.append(a_turn(owner, session_id="s"))
    topic = a_topic(message_count=5, hot=(1, 2, 3))
    assigned = {turn.turn_number: topic.id for turn in (asked, greeting, stays)}
    postgres_store.topics.put(owner, "s", TopicChange(0, put=(topic,), assigned=assigned, through=3))
    assert postgres_store.topics.archive(owner, "s", a_block([asked, greeting]))
    assert postgres_store.turns.delete(owner, "s", [1]) == 1
    assert postgres_store.topics.load(owner, "s").topics == (
        replace(topic, message_count=3, archived_count=1, hot=(3,)),
    )
    assert postgres_store.turns.delete(owner, "s", [2]) == 1
    assert postgres_store.topics.load(owner, "s").topics == (
        replace(topic, message_count=2, archived_count=0, hot=(3,)),
    )
    assert list(postgres_store.topics.blocks(owner, "s")) == []


def test_traces_come_page_by_page_in_order(postgres_store: PostgresStore) -> None:
    """More traces than a page, of several sessions and embedders, come complete and in rising order."""
    owner = an_owner()
    number_of_turns = VECTORS_PER_PAGE + 7
    for session_id in ("a", "B", "é"):
        first = postgres_store.turns.append(a_turn(owner, session_id=session_id))
        info = postgres_store.sessions.get(owner, session_id)
        assert info is not None
        more = [replace(a_turn(owner, session_id=session_id), turn_number=n) for n in range(2, number_of_turns + 1)]
        postgres_store.turns.load(info, more)
        traces = [
            TurnVectors(session_id, n, "small", first.checksum, n.to_bytes(3)) for n in range(number_of_turns, 0, -1)
        ]
        postgres_store.vectors.write(owner, [*traces, a_trace(first, "other")])
    found = list(postgres_store.vectors.read(owner, "small"))
    places = [(trace.session_id, trace.turn_number) for trace in found]
    assert places == [(name, n) for name in ("B", "a", "é") for n in range(1, number_of_turns + 1)]
    assert all(int.from_bytes(trace.body) == trace.turn_number for trace in found)
    assert len(list(postgres_store.vectors.read(owner, "small", "a"))) == number_of_turns
    assert postgres_store.vectors.drop(owner, keep="small") == 3
    assert list(postgres_store.vectors.read(owner, "other")) == []


def test_traces_of_turns_that_go_meanwhile_are_left_out(postgres_store: PostgresStore) -> None:
    """Writers of traces and those who forget the same turns never fail and leave no trace of what is gone."""
    owner = an_owner()
    turns = [postgres_store.turns.append(a_turn(owner, session_id="s")) for _ in range(40)]

    def work(writer: int) -> None:
        if writer % 2:
            order = Random(writer).sample(turns, len(turns))
            postgres_store.vectors.write(owner, [a_trace(turn) for turn in order])
        else:
            postgres_store.turns.delete(owner, "s", range(writer * 3 + 1, writer * 3 + 4))

    together(work)
    there = [turn.turn_number for turn in postgres_store.turns.page(owner, "s")]
    assert len(there) == 40 - 3 * WRITERS // 2
    assert {trace.turn_number for trace in postgres_store.vectors.read(owner, "small")} <= set(there)


def fill(store: PostgresStore, owner: Owner) -> list[Turn]:
    """Turns with a topic, a block and traces."""
    turns = three_turns(store, owner)
    change = TopicChange(0, put=(a_topic(message_count=6),), assigned={1: "fugues", 2: "fugues"}, through=2)
    assert store.topics.put(owner, "s", change)
    assert store.topics.archive(owner, "s", a_block(turns[:2]))
    store.vectors.write(owner, [a_trace(turn) for turn in turns])
    return turns


@pytest.mark.parametrize(
    ("forget", "left"),
    [
        (lambda store, owner: store.sessions.clear(owner, "s"), {"owners": 1, "sessions": 1}),
        (lambda store, owner: store.sessions.delete(owner, "s"), {}),
        (lambda store, owner: store.erase(owner), {"erasures": 1}),
        (
            lambda store, owner: store.sessions.expire(
                owner, turns_before=None, idle_before=START.replace(year=9000), batch=9
            ),
            {},
        ),
        (
            lambda store, owner: store.sessions.expire(
                owner, turns_before=START.replace(year=9000), idle_before=None, batch=9
            ),
            {},
        ),
        (lambda store, owner: store.turns.delete(owner, "s", [1, 2, 3]), {"owners": 1, "sessions": 1}),
    ],
    ids=["clear", "delete", "erase", "expire idle", "expire turns", "delete turns"],
)
def test_forgetting_leaves_no_row_behind(
    postgres_store: PostgresStore, postgres_url: str, forget: Callable[[PostgresStore, Owner], object], left: Any
) -> None:
    """Topics, blocks and traces go with the turns they came from, in every way of forgetting."""
    owner = an_owner()
    fill(postgres_store, owner)
    assert all(counts(postgres_url)[table] for table in ("topics", "blocks", "traces"))
    forget(postgres_store, owner)
    assert {table: n for table, n in counts(postgres_url).items() if n} == left


HERE: dict[str, Any] = {"owner": Owner("acme", "anna").key, "session_id": "s3", "topic_id": "t3", "turn_id": "3-3"}
HERE |= {"topic_ids": ["t3", "t4"], "numbers": [3, 4], "block_ids": ["b1"], "block_id": "b1", "embedder": "e"}
HERE |= {"turn_number": 1, "limit": 9, "after": 0, "before": 9, "last": 6}

FILLED = """
    INSERT INTO ricordo.owners VALUES (%(owner)s, 'acme', 'anna');
    INSERT INTO ricordo.sessions (owner, session_id, agent_id, created_at, last_active_at, last_turn, turn_count)
        SELECT %(owner)s, 's' || s, 'tutor', 0, 0, 500, 500 FROM generate_series(1, 20) AS s;
    INSERT INTO ricordo.turns (owner, session_id, turn_number, turn_id, agent_id, created_at, query, query_tokens,
                               response_tokens, origin, counter, checksum, topic_id)
        SELECT %(owner)s, 's' || s, n, s || '-' || n, 'tutor', n, 'hello', 1, 0, 'chat', '', '0123456789abcdef',
               't' || n / 25
        FROM generate_series(1, 20) AS s, generate_series(1, 500) AS n;
    INSERT INTO ricordo.topics
        SELECT %(owner)s, 's' || s, 't' || n, '', '', '', 0, 0, 1, 0, 0, 0, 0, '[]', '[]', NULL, 'working'
        FROM generate_series(1, 20) AS s, generate_series(0, 20) AS n;
    INSERT INTO ricordo.blocks
        SELECT %(owner)s, 's' || s, 'b' || n, 't', '[]', 0, 'x'
        FROM generate_series(1, 20) AS s, generate_series(1, 50) AS n;
    INSERT INTO ricordo.traces
        SELECT %(owner)s, 's' || s, n, 'e', '0123456789abcdef', 'x'
        FROM generate_series(1, 20) AS s, generate_series(1, 500) AS n;
    INSERT INTO ricordo.topic_turns SELECT owner, session_id, topic_id, turn_number FROM ricordo.turns;
    ANALYZE ricordo.topic_turns, ricordo.sessions, ricordo.turns, ricordo.topics, ricordo.blocks, ricordo.traces;
"""

BY_KEY = {
    "TURNS_OF_TOPIC": ("topic_turns_pkey", "(topic_id = "),
    "TOPICS_WITH_TURNS": ("topic_turns_pkey", "(topic_id = "),
    "UNASSIGN_TURNS": ("topic_turns_pkey", "(topic_id = "),
    "LEAVE_TOPICS": ("topic_turns_pkey", "(topic_id = "),
    "TURNS_BY_TOPIC": ("topic_turns_pkey", "(topic_id = "),
    "ASSIGN_TURNS": ("turns_pkey", "(turn_number = "),
    "ARCHIVE_TURNS": ("turns_pkey", "(turn_number = "),
    "DETACH_FROM_BLOCK": ("turns_pkey", "(turn_number = "),
    "TURNS_IN_BLOCKS": ("turns_pkey", "(turn_number = "),
    "DELETE_NUMBERED_TURNS": ("turns_pkey", "(turn_number = "),
    "TOPICS": ("topics_pkey", "(session_id = "),
    "BLOCKS": ("blocks_pkey", "(session_id = "),
    "BLOCKS_BY_ID": ("blocks_pkey", "(block_id = "),
    "TURNS": ("blocks_pkey", "(block_id = t.block_id)"),
    "TURN_BY_ID": ("blocks_pkey", "(block_id = t.block_id)"),
    "VECTORS": ("traces_pkey", "ROW(session_id, turn_number) >"),
    "SESSION_VECTORS": ("traces_pkey", "(turn_number > "),
}


@pytest.fixture(scope="module")
def filled_url(postgres_server: PostgresForTests) -> str:
    """A database with one user who has ten thousand turns in twenty sessions, known to the planner."""
    url = postgres_server.database()
    with psycopg.connect(url, cursor_factory=psycopg.ClientCursor) as connection:
        connection.execute(FILLED, HERE)
    return url


@pytest.mark.parametrize("name", BY_KEY)
def test_statements_find_by_key(filled_url: str, name: str) -> None:
    """Turns of a topic, of a block, of a page and their blocks and traces are found by their keys, not by a walk."""
    index, condition = BY_KEY[name]
    statement: str = vars(derived_statements).get(name) or vars(turn_statements)[name]
    with psycopg.connect(filled_url) as connection:
        connection.execute("SET LOCAL enable_seqscan = off")  # twenty sessions fit on one page
        plan = [line for (line,) in connection.execute(f"EXPLAIN {statement}", HERE)]
    scans = [line for line in plan if "Scan" in line]
    assert any(index in line for line in scans)
    assert any("Index Cond" in line and condition in line for line in plan), "\n".join(plan)
