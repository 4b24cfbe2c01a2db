"""The archive in a file: damage is named and contained, killed processes leave it readable, erasing leaves nothing."""

import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ricordo.errors import DamageError
from ricordo.records.derived import TopicChange
from ricordo.records.turns import Owner, Turn
from ricordo.stores.sqlite import SqliteStore
from ricordo.stores.sqlite.store import copy_to_sqlite
from ricordo.testing.contract.archive import plain
from ricordo.testing.contract.base import assert_sound, engine
from ricordo.testing.fakes import a_block, a_message, a_topic, a_trace, a_turn, an_answer, an_owner
from ricordo.turns.verify import verify

SECRET = "Zorzi-17-confidenza"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path / "memory.db")
    yield store
    store.close()


@pytest.fixture
def other(store: SqliteStore) -> Iterator[sqlite3.Connection]:
    """Another program that has the file open."""
    connection = sqlite3.connect(store.location, isolation_level=None)
    yield connection
    connection.close()


def archived(store: SqliteStore, owner: Owner) -> list[Turn]:
    """Six turns: 1, 2 and 3 in one block, 4 in another, 5 and 6 plain; 3 is plain as well."""
    said = [store.turns.append(a_turn(owner, f"question {n} " * 30, f"answer {n} " * 30)) for n in range(1, 7)]
    topic = a_topic(message_count=12, hot=(1, 2, 3, 4, 5, 6))
    assigned = {turn.turn_number: topic.id for turn in said}
    assert store.topics.put(owner, "lesson", TopicChange(0, put=(topic,), assigned=assigned, through=6))
    assert store.topics.archive(owner, "lesson", a_block(said[:3], block_id="first block"))
    assert store.topics.archive(owner, "lesson", a_block(said[3:4], block_id="second block"))
    assert store.topics.rehydrate(owner, "lesson", [3]) == 1
    return list(store.turns.page(owner, "lesson"))


def flip_a_byte(store: SqliteStore, other: sqlite3.Connection) -> None:
    """One bit of the payload is wrong."""
    ((body,),) = other.execute("SELECT body FROM blocks WHERE block_id = 'first block'")
    wrong = bytearray(body)
    wrong[len(wrong) // 2] ^= 1
    other.execute("UPDATE blocks SET body = ? WHERE block_id = 'first block'", (bytes(wrong),))


def cut_it_short(store: SqliteStore, other: sqlite3.Connection) -> None:
    """Half of the block is missing."""
    other.execute("UPDATE blocks SET body = substr(body, 1, length(body) / 2) WHERE block_id = 'first block'")


def remove_it(store: SqliteStore, other: sqlite3.Connection) -> None:
    """The block is not there at all."""
    other.execute("DELETE FROM blocks WHERE block_id = 'first block'")


def exchange_it(store: SqliteStore, other: sqlite3.Connection) -> None:
    """A sound block, but another turn's."""
    other.execute(
        "UPDATE blocks SET body = (SELECT body FROM blocks WHERE block_id = 'second block') "
        "WHERE block_id = 'first block'"
    )


DAMAGES = [flip_a_byte, cut_it_short, remove_it, exchange_it]
damaging = pytest.mark.parametrize("harm", DAMAGES, ids=lambda harm: harm.__name__)
Harm = Callable[[SqliteStore, sqlite3.Connection], None]


@damaging
def test_a_damaged_block_is_named_and_the_others_are_served(
    store: SqliteStore, other: sqlite3.Connection, harm: Harm
) -> None:
    """Its turns come without words and say which block is at fault; verify reports them; nothing else is held up."""
    owner = an_owner()
    before = archived(store, owner)
    harm(store, other)
    found = store.turns.page(owner, "lesson")
    assert [turn.turn_number for turn in found] == [1, 2, 3, 4, 5, 6]
    for lost, was in zip(found[:2], before[:2], strict=True):
        assert "first block" in lost.damage
        assert lost == replace(was, question=None, answer=None, damage=lost.damage)
        assert store.turns.get(owner, lost.id) == lost
    assert found[2:] == before[2:]
    damages = verify(engine(store), owner.tenant_id).damages
    for number in (1, 2):
        assert [each for each in damages if each.where.endswith(f"turn {number}")]
    assert not [each for each in damages if each.where.endswith(("turn 3", "turn 4", "turn 5", "turn 6"))]


@damaging
def test_damage_does_not_spread(store: SqliteStore, other: sqlite3.Connection, harm: Harm) -> None:
    """Lost turns are not overwritten nor brought back empty, the only copy of words is never let go, talk goes on."""
    owner = an_owner()
    before = archived(store, owner)
    harm(store, other)
    assert store.topics.rehydrate(owner, "lesson", [1, 2, 4]) == 1
    assert store.topics.release(owner, "lesson", [3, 4]) == 1
    with pytest.raises(DamageError, match="first block"):
        store.turns.append(before[0])
    with pytest.raises(DamageError, match="first block"):
        store.turns.answer(owner, before[0].id, an_answer("another"), {}, None)
    assert [bool(turn.damage) for turn in store.turns.page(owner, "lesson")] == [True, True] + [False] * 4
    assert plain(store.turns.page(owner, "lesson")[2]) == plain(before[2])
    assert store.turns.append(a_turn(owner)).turn_number == 7
    assert store.turns.add_message(a_message(owner, "user", "And now?")).turn_number == 8


def test_a_message_after_a_lost_turn_opens_a_turn_of_its_own(store: SqliteStore, other: sqlite3.Connection) -> None:
    """Nobody can tell what the lost turn was missing: what is said next is kept beside it, not in it."""
    owner = an_owner()
    finding = store.turns.add_message(a_message(owner, "tool", "a finding", tool_call_id="c"))
    assert store.topics.archive(owner, "lesson", a_block([finding], block_id="first block"))
    cut_it_short(store, other)
    assert store.turns.add_message(a_message(owner, "assistant", "what it means")).turn_number == 2


@pytest.mark.parametrize("harm", [flip_a_byte, cut_it_short, remove_it], ids=lambda harm: harm.__name__)
def test_forgetting_works_on_a_damaged_block(store: SqliteStore, other: sqlite3.Connection, harm: Harm) -> None:
    """It cannot be packed again, so it goes; what was plain may be archived anew, what is lost stays marked."""
    owner = an_owner()
    before = archived(store, owner)
    harm(store, other)
    assert store.turns.delete(owner, "lesson", [1]) == 1
    lost, kept, *others = store.turns.page(owner, "lesson")
    assert "first block" in lost.damage
    if harm is not remove_it:
        assert [block.id for block in store.topics.blocks(owner, "lesson")] == ["second block"]
        assert kept.block_id is None
        assert store.topics.archive(owner, "lesson", a_block([kept], block_id="third block"))
    assert plain(kept) == plain(before[2])
    assert others == before[3:]
    assert store.turns.delete(owner, "lesson", [2]) == 1
    if harm is remove_it:  # a block that was taken out by hand is missed as long as a turn names it
        assert "first block" in verify(engine(store), owner.tenant_id).damages[0].problem
    else:
        assert_sound(store, owner.tenant_id)


def test_a_damaged_block_is_copied_as_it_is(store: SqliteStore, other: sqlite3.Connection, tmp_path: Path) -> None:
    """A backup of a store with damage is made, and says of each turn what the store says."""
    owner = an_owner()
    archived(store, owner)
    flip_a_byte(store, other)
    copy_to_sqlite(store, [owner], tmp_path / "copy.db")
    store.backup(tmp_path / "backup.db")
    for name in ("copy.db", "backup.db"):
        copy = SqliteStore(tmp_path / name)
        assert list(copy.turns.page(owner, "lesson")) == list(store.turns.page(owner, "lesson"))
        assert list(copy.topics.blocks(owner, "lesson")) == list(store.topics.blocks(owner, "lesson"))
        copy.close()


def test_a_wrong_byte_in_the_file_is_found(store: SqliteStore) -> None:
    """SQLite has no checksum over its pages; the block has one over its words."""
    owner = an_owner()
    before = archived(store, owner)
    body = store.topics.blocks(owner, "lesson")[0].body
    path = Path(store.location)
    store.close()
    content = bytearray(path.read_bytes())
    at = content.index(body) + len(body) - 5
    content[at] ^= 0x10
    path.write_bytes(content)
    again = SqliteStore(path)
    found = again.turns.page(owner, "lesson")
    assert list(again.integrity()) == []
    assert ["first block" in turn.damage for turn in found] == [True, True, False, False, False, False]
    assert found[2:] == before[2:]
    again.close()


def test_topics_that_another_store_changes_are_read_anew(store: SqliteStore) -> None:
    """What a store keeps in memory of the topics it read never outlives a change, nor a session that begins again."""
    anna, other = an_owner(), SqliteStore(store.location)

    def organised(writer: SqliteStore, name: str) -> None:
        turn = writer.turns.append(a_turn(anna, "question", "answer"))
        revision = writer.topics.load(anna, "lesson").revision
        change = TopicChange(revision, put=(a_topic(name, title=name),), assigned={turn.turn_number: name}, through=1)
        assert writer.topics.put(anna, "lesson", change)

    organised(other, "bread")
    assert [topic.title for topic in store.topics.load(anna, "lesson").topics] == ["bread"]
    organised(other, "cheese")
    assert {topic.title for topic in store.topics.load(anna, "lesson").topics} == {"bread", "cheese"}
    other.sessions.delete(anna, "lesson")
    assert store.topics.load(anna, "lesson").topics == ()
    organised(other, "wine")
    organised(other, "olives")
    assert {topic.title for topic in store.topics.load(anna, "lesson").topics} == {"wine", "olives"}
    other.close()


def test_erasing_leaves_nothing_of_archive_topics_and_traces(store: SqliteStore, tmp_path: Path) -> None:
    """Neither the words nor the bytes of a block, a trace, a centre or a summary; not even what was moved about."""
    anna, bruno = an_owner(), an_owner("bruno")
    spared = archived(store, bruno)
    said = [store.turns.append(a_turn(anna, f"{SECRET} {n}", f"{SECRET} {n}" * n)) for n in range(1, 9)]
    vector = os.urandom(32)
    topic = a_topic(title=SECRET, centre=vector, summary=SECRET, tags=(SECRET,), message_count=16)
    assigned = {turn.turn_number: topic.id for turn in said}
    assert store.topics.put(anna, "lesson", TopicChange(0, put=(topic,), assigned=assigned))
    blocks = [a_block(said[:4]), a_block(said[4:])]
    for block in blocks:
        assert store.topics.archive(anna, "lesson", block)
    store.vectors.write(anna, [a_trace(turn, body=vector) for turn in said])
    store.topics.rehydrate(anna, "lesson", [1, 2, 5])
    store.turns.delete(anna, "lesson", [2, 6])
    rewritten = store.topics.blocks(anna, "lesson")
    store.topics.release(anna, "lesson", [1, 5])
    store.backup(tmp_path / "before")
    marks = [SECRET.encode(), vector, *(block.body[40:] for block in [*blocks, *rewritten])]

    def left() -> list[tuple[str, int]]:
        files = [file for file in sorted(tmp_path.iterdir()) if file.name != "before"]
        return [(file.name, at) for file in files for at, mark in enumerate(marks) if mark in file.read_bytes()]

    assert {at for _, at in left()} == set(range(len(marks)))
    gone = store.erase(anna)
    counted = {what: number for what, number in gone.items() if number}
    assert counted == {"sessions": 1, "turns": 6, "topics": 1, "blocks": 2, "traces": 6}
    assert left() == []
    assert list(store.turns.page(bruno, "lesson")) == spared
    assert_sound(store, bruno.tenant_id)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_killed_while_archiving_every_word_is_there(tmp_path: Path) -> None:
    """Between a block and the topic that counts it, while words go and come back: the store reads the same."""
    path, owner = tmp_path / "memory.db", Owner("tenant", "anna")
    promised = 0
    for rounds in range(6):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(read)
            _archive_for_ever(SqliteStore(path), owner, write)
        os.close(write)
        with os.fdopen(read) as pipe:
            for _ in range(5 + 7 * rounds):
                promised = int(pipe.readline())
            os.kill(child, signal.SIGKILL)
            promised = max([promised, *(int(line) for line in pipe if line.endswith("\n"))])
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL
        store = SqliteStore(path)
        found = store.turns.page(owner, "lesson")
        assert [turn.turn_number for turn in found] == list(range(1, len(found) + 1))
        assert len(found) >= promised
        assert not [turn.damage for turn in found if turn.damage]
        assert all(plain(turn) == plain(turn).sealed() for turn in found)
        assert_sound(store, "tenant")
        shelf = store.topics.load(owner, "lesson")
        assert store.topics.put(owner, "lesson", TopicChange(shelf.revision, put=shelf.topics))
        store.close()


def _archive_for_ever(store: SqliteStore, owner: Owner, pipe: int) -> None:
    """Say things, pack them, count them, bring some back, let them go again; tell after each step."""
    try:
        while True:
            said = [store.turns.append(a_turn(owner, f"question {n} " * 20)) for n in range(4)]
            newest = said[-1].turn_number
            os.write(pipe, f"{newest}\n".encode())
            assert store.topics.archive(owner, "lesson", a_block(said))
            os.write(pipe, f"{newest}\n".encode())
            shelf = store.topics.load(owner, "lesson")
            topic = a_topic(message_count=2 * newest, archived_count=2 * newest)
            assigned = {turn.turn_number: topic.id for turn in said}
            store.topics.put(owner, "lesson", TopicChange(shelf.revision, put=(topic,), assigned=assigned))
            os.write(pipe, f"{newest}\n".encode())
            numbers = [turn.turn_number for turn in said]
            store.topics.rehydrate(owner, "lesson", numbers)
            store.topics.release(owner, "lesson", numbers[:2])
            os.write(pipe, f"{newest}\n".encode())
    finally:
        os._exit(1)
