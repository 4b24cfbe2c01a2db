"""Traces in packs: what goes in comes out, whatever is added, replaced, deleted or damaged."""

import sqlite3
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.records.turns import Turn, TurnVectors
from ricordo.stores.memory import MemoryStore
from ricordo.stores.sqlite import SqliteStore
from ricordo.stores.sqlite.vectors import TURNS_IN_PACK, packed, packed_words, unpacked, unpacked_words
from ricordo.testing.fakes import a_trace, a_turn, an_owner

TURNS = 2 * TURNS_IN_PACK + 6

entries = st.tuples(st.binary(min_size=8, max_size=8), st.binary(max_size=60))


@st.composite
def packs(draw: st.DrawFn) -> tuple[int, dict[int, tuple[bytes, bytes]]]:
    pack = draw(st.integers(0, 2**40))
    first = pack * TURNS_IN_PACK + 1
    return pack, draw(st.dictionaries(st.integers(first, first + TURNS_IN_PACK - 1), entries))


@given(packs())
def test_what_is_packed_comes_back_in_order(given: tuple[int, dict[int, tuple[bytes, bytes]]]) -> None:
    """Numbers, checksums and vectors are those that went in, by rising number."""
    pack, held = given
    assert list(unpacked(pack, packed(held)).items()) == sorted(held.items())


@given(packs(), st.data())
def test_a_pack_that_was_cut_gives_what_is_whole(
    given: tuple[int, dict[int, tuple[bytes, bytes]]], data: st.DataObject
) -> None:
    """The traces before the cut come back, no other; the rest will be made again."""
    pack, held = given
    body = packed(held)
    cut = data.draw(st.integers(0, len(body)))
    found = list(unpacked(pack, body[:cut]).items())
    assert found == sorted(held.items())[: len(found)]
    assert len(found) == len(held) or cut < len(body)


@given(st.binary(max_size=200))
def test_no_bytes_are_an_error(body: bytes) -> None:
    """Whatever stands in a pack, reading it ends."""
    assert all(len(checksum) == 8 for checksum, _ in unpacked(3, body).values())


some = st.tuples(st.integers(1, TURNS + 5), st.sampled_from(["small", "large"]))
changes = st.one_of(
    st.tuples(st.just("keep"), st.lists(some, max_size=12)),
    st.tuples(st.just("delete"), st.lists(st.integers(1, TURNS + 5), max_size=40)),
    st.tuples(st.just("drop"), st.sampled_from(["small", "large"])),
)


@settings(max_examples=100)
@given(st.lists(changes, max_size=6))
def test_packs_are_like_single_traces(steps: list[tuple[str, object]]) -> None:
    """Kept, replaced, deleted with their turns, dropped with their embedder: the file agrees with the memory store."""
    owner = an_owner()
    with tempfile.TemporaryDirectory() as folder:
        file, plain = SqliteStore(Path(folder) / "memory.db"), MemoryStore()
        said = [a_turn(owner) for _ in range(TURNS)]
        for store in (file, plain):
            for turn in said:
                store.turns.append(turn)
        for at, (what, argument) in enumerate(steps):
            answers = [_do(store, said, what, argument, at) for store in (file, plain)]
            assert answers[0] == answers[1]
            for embedder in ("small", "large"):
                assert list(file.vectors.read(owner, embedder)) == list(plain.vectors.read(owner, embedder))
        assert file.erase(owner)["traces"] == plain.erase(owner)["traces"]
        file.close()


def _do(store: SqliteStore | MemoryStore, said: list[Turn], what: str, argument: object, at: int) -> int | None:
    owner = said[0].owner
    if what == "delete":
        assert isinstance(argument, list)
        return store.turns.delete(owner, "lesson", sorted(set(argument)))
    if what == "drop":
        return store.vectors.drop(owner, keep=str(argument))
    assert isinstance(argument, list)
    kept = [
        TurnVectors("lesson", number, embedder, f"{number:016x}", f"{number} {embedder} {at}".encode())
        for number, embedder in argument
    ]
    store.vectors.write(owner, kept)
    return None


@given(packs(), st.data())
def test_words_come_back_or_are_missing(given: tuple[int, dict[int, tuple[bytes, bytes]]], data: st.DataObject) -> None:
    """Whole bytes give all words; damaged ones give none that were not there, and no error."""
    pack, held = given
    words = {number: body for number, (_, body) in held.items() if body}
    body = packed_words(words)
    assert unpacked_words(pack, body) == words
    place = data.draw(st.integers(0, max(len(body or b"") - 1, 0)))
    assert unpacked_words(pack, (body or b"")[:place]) == {}
    assert isinstance(unpacked_words(pack, data.draw(st.binary(max_size=60))), dict)


def test_a_file_of_an_older_version_has_vectors_and_no_words(tmp_path: Path) -> None:
    """Its packs are read as they are; words are added to them later, turn by turn."""
    path, owner = tmp_path / "memory.db", an_owner()
    store = SqliteStore(path)
    traces = [a_trace(store.turns.append(a_turn(owner))) for _ in range(3)]
    store.vectors.write(owner, traces)
    store.close()
    file = sqlite3.connect(path)
    file.executescript("ALTER TABLE traces DROP COLUMN words; DELETE FROM schema_migrations WHERE version = 6;")
    file.close()
    store = SqliteStore(path)
    plain = [replace(trace, words=b"") for trace in traces]
    assert list(store.vectors.read(owner, "small")) == plain
    store.vectors.write(owner, traces[1:2])
    assert list(store.vectors.read(owner, "small")) == [plain[0], traces[1], plain[2]]
    assert [turn.words for turn in store.vectors.turns(owner, "small")] == [b"", b"words", b""]
    store.turns.delete(owner, "lesson", [1])
    assert list(store.vectors.read(owner, "small")) == [traces[1], plain[2]]
    store.close()


def test_a_damaged_pack_harms_no_other(tmp_path: Path) -> None:
    """Traces of the other packs are served, those that are lost can be kept again."""
    store = SqliteStore(tmp_path / "memory.db")
    owner = an_owner()
    said = [store.turns.append(a_turn(owner)) for _ in range(TURNS)]
    traces = [a_trace(turn) for turn in said]
    store.vectors.write(owner, traces)
    other = sqlite3.connect(tmp_path / "memory.db")
    other.execute("UPDATE traces SET body = substr(body, 1, 30) WHERE pack = 1")
    other.commit()
    other.close()
    left = [trace.turn_number for trace in store.vectors.read(owner, "small")]
    assert left[:33] == list(range(1, 34))
    assert left[33:] == list(range(2 * TURNS_IN_PACK + 1, TURNS + 1))
    store.vectors.write(owner, traces)
    assert list(store.vectors.read(owner, "small")) == traces
    store.close()
