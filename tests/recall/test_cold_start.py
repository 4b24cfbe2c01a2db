"""A fresh process: the index is built from the words and vectors that are stored, and is the one of the texts."""

import sqlite3
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ricordo.errors import StoreError, StoreUnavailable
from ricordo.languages import registry
from ricordo.recall import evidence, index_state
from ricordo.recall.embedders import EmbedderChoice
from ricordo.recall.evidence import terms, words_version
from ricordo.recall.index_state import AT_ONCE, IndexState, words_of
from ricordo.recall.indexes import Indexes
from ricordo.records.turns import Message, Owner, SessionInfo, Turn, TurnVectors, message_id
from ricordo.stores.protocols import Store
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing import MemoryStore
from ricordo.testing.fakes import START, StoreProxy
from talks import CountingEmbedder

ANNA = Owner("default", "anna")
SAID = (
    "Ciao",
    "dove sono le chiavi di casa?",
    "  ",
    "Anna: the keys are in the kitchen",
    "Nota: 3.14 e ISO-8859",
    "🙂",
)
DIMENSIONS = 64


class WordsOnly(StoreProxy):
    """Counts the pages of text that are read."""

    pages = 0

    def turns_page(self, *where: Any, **which: Any) -> Any:
        self.pages += 1
        return self.inner.turns.page(*where, **which)


def indexes_on(store: Any) -> Indexes:
    """The indexes of a fresh process."""
    return Indexes(store, EmbedderChoice(CountingEmbedder(DIMENSIONS), "test"))


def by_text(store: Any) -> IndexState:
    """The index that is built page by page from the texts."""
    state = indexes_on(store).state(ANNA)
    state.read(store, store.sessions.marks(ANNA), most=10**9)
    return state


def contents(state: IndexState) -> dict[str, Any]:
    """Everything that a search reads of an index, and how far it has come."""
    index = state.index
    postings = sorted(
        pair for keys, times in index.postings._runs for pair in zip(keys.tolist(), times.tolist(), strict=True)
    )
    books = (index.sessions, index.agents, index.topics, index.roles, index.speakers)
    return {
        "rows": (index.message_ids, index._places, list(index._before), list(index._after), index._newest),
        "names": [[book.name(row) for row in range(len(index))] for book in books],
        "tags": (index.tags, index.session_tags),
        "numbers": [column.tolist() for column in (index.times, index.lengths, index.asks, index.has_vector)],
        "postings": postings,
        "vectors": (index.codes.values.tolist(), index.codes.scales.tolist()),
        "read": (state.sessions, state.unembedded),
    }


def a_talk(store: Store, turns: int = AT_ONCE + 6, session_id: str = "s") -> None:
    """A session of ordinary turns, indexed by a process before."""
    said = [
        _turn(session_id, number, f"{SAID[number % 6].strip()} {number}", "Ecco la risposta.")
        for number in range(turns)
    ]
    store.turns.load(SessionInfo(session_id, ANNA, "tutor", START, START, tags=("home",)), said)
    embed(store)


def embed(store: Any) -> None:
    """What the background work does, up to the end."""
    indexes = indexes_on(store)
    indexes.read(ANNA)
    while indexes.embed(ANNA, unanswered=True):
        pass


def _turn(
    session_id: str, number: int, query: str | None, response: str | None, *steps: str, name: str | None = None
) -> Turn:
    turn_id, at = f"{session_id}-{number}", START + timedelta(minutes=number, microseconds=number)
    question = Message(message_id(turn_id, "query"), "user", query, at, name=name) if query else None
    answer = (
        Message(message_id(turn_id, "response"), "assistant", response, at + timedelta(seconds=7)) if response else None
    )
    between = tuple(
        Message(message_id(turn_id, place), "tool", text, at + timedelta(seconds=place), tool_call_id="1")
        for place, text in enumerate(steps, start=1)
    )
    return Turn(turn_id, ANNA, f"agent-{number % 2}", session_id, number + 1, at, question, answer, between).sealed()


texts = st.sampled_from([each for each in SAID if each.strip()])
spoken = st.tuples(texts, st.none() | texts, st.lists(st.sampled_from(SAID), max_size=3), st.none() | st.just("Marco"))
faults = st.sampled_from(
    ["", "", "", "no words", "damaged", "no vectors", "shorter vectors", "of another turn", "random"]
)


talks = st.lists(st.lists(st.tuples(spoken, faults), min_size=1, max_size=6), max_size=3)


@settings(max_examples=60, deadline=None)
@given(talks, st.sampled_from(["memory", "sqlite"]), st.data())
def test_stored_words_give_the_index_of_the_texts(
    tmp_path_factory: pytest.TempPathFactory, sessions: list[list[Any]], kind: str, data: st.DataObject
) -> None:
    """Whatever was said, and whatever became of the stored bytes: the same rows, words, vectors and neighbours."""
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path_factory.mktemp("store") / "r.db")
    for place, said in enumerate(sessions):
        turns = [
            _turn(f"s{place}", number, q, r, *steps, name=name) for number, ((q, r, steps, name), _) in enumerate(said)
        ]
        store.turns.load(SessionInfo(f"s{place}", ANNA, "tutor", START, START, tags=("home",) * (place % 2)), turns)
    embed(store)
    for place, said in enumerate(sessions):
        traces = list(store.vectors.read(ANNA, CountingEmbedder(DIMENSIONS).name, f"s{place}"))
        wrong = [(trace, fault) for trace in traces if (fault := said[trace.turn_number - 1][1])]
        store.vectors.write(ANNA, [_spoiled(trace, fault, data) for trace, fault in wrong])
    plain = by_text(store)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(index_state, "AT_ONCE", -1)
        indexes = indexes_on(store)
        indexes.read(ANNA)
        assert contents(indexes.state(ANNA)) == contents(plain)
        again = indexes_on(store)
        again.read(ANNA)
        assert contents(again.state(ANNA)) == contents(plain)
        assert again.state(ANNA).remade == []
    assert all(trace.words for trace in store.vectors.read(ANNA, CountingEmbedder(DIMENSIONS).name))
    store.close()


def _spoiled(trace: TurnVectors, fault: str, data: st.DataObject) -> TurnVectors:
    if fault == "no words":
        return replace(trace, words=b"")
    if fault == "damaged":
        place = data.draw(st.integers(0, len(trace.words) - 1))
        return replace(trace, words=trace.words[:place] + bytes([trace.words[place] ^ 4]) + trace.words[place + 1 :])
    if fault == "random":
        return replace(trace, words=data.draw(st.binary(max_size=64)))
    if fault == "of another turn":
        return replace(trace, words=words_of(_turn("other", 3, "tutt'altro", "parole diverse")))
    return replace(trace, body=b"" if fault == "no vectors" else trace.body[:-3])


def test_no_text_is_read_and_no_word_is_stemmed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fresh process reads what is stored beside the turns, and nothing else of them."""
    store = WordsOnly(MemoryStore())
    a_talk(store)
    expected = contents(by_text(store))
    store.pages = 0
    monkeypatch.setattr(index_state, "terms", lambda text: pytest.fail("a message was stemmed again"))
    fresh = indexes_on(store)
    assert fresh.read(ANNA).done
    assert contents(fresh.state(ANNA)) == expected
    assert store.pages == 0


def test_words_of_an_older_version_are_made_again_and_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once: the process that finds them stores them, the next one takes them as they are."""
    store = WordsOnly(MemoryStore())
    a_talk(store)
    before = [trace.words for trace in store.vectors.read(ANNA, CountingEmbedder(DIMENSIONS).name)]
    monkeypatch.setattr(evidence, "WORDS_VERSION", evidence.WORDS_VERSION + 1)
    evidence._version_for.cache_clear()
    try:
        expected, store.pages = contents(by_text(store)), 0
        for pages in (1, 1):
            fresh = indexes_on(store)
            assert fresh.read(ANNA).done
            assert contents(fresh.state(ANNA)) == expected
            assert store.pages == pages
        after = [trace.words for trace in store.vectors.read(ANNA, CountingEmbedder(DIMENSIONS).name)]
        assert all(old[4:] == new[4:] and old[:4] != new[:4] for old, new in zip(before, after, strict=True))
    finally:
        monkeypatch.undo()
        evidence._version_for.cache_clear()


def test_the_version_counts_the_tables_of_words() -> None:
    """A stop word more is another version, without a hand that raises a number."""
    known = registry.language("en")
    before = words_version()
    more = replace(known.vocabulary, stop_words=known.vocabulary.stop_words | {"keys"})
    registry.register(replace(known, vocabulary=more))
    try:
        evidence._version_for.cache_clear()
        assert words_version() != before
    finally:
        registry.register(known)
        evidence._version_for.cache_clear()
    assert words_version() == before


def test_a_change_of_the_code_needs_a_new_version() -> None:
    """These terms and marks were stored under WORDS_VERSION 2: if they change, the version must be raised."""
    texts = (
        "Dov'erano le chiavi? ISO-8859, 3.14!",
        "She went to the kitchen and wrote a co-operative e-mail",
        "l'été à Zürich",
    )
    found = b"".join(terms(text, language).tobytes() for text in texts for language in ("it", "en"))
    turn = _turn("s", 1, "Anna: dove?", "  Nel cassetto. ", "step", name="Marco")
    assert (evidence.WORDS_VERSION, zlib.crc32(found), zlib.crc32(words_of(turn)[4:])) == (2, 1768498412, 3080748296)


@pytest.mark.parametrize("error", [StoreUnavailable("a replica takes no writes"), StoreError("read-only")])
def test_a_replica_is_searched_without_writing(error: StoreError) -> None:
    """Words that cannot be stored are made again by the next process; nothing fails."""

    class Replica(WordsOnly):
        def vectors_write(self, *_: Any) -> None:
            raise error

    kept = MemoryStore()
    a_talk(kept)
    name = CountingEmbedder(DIMENSIONS).name
    kept.vectors.write(ANNA, [replace(trace, words=b"") for trace in kept.vectors.read(ANNA, name)])
    for _ in range(2):
        fresh = indexes_on(Replica(kept))
        assert fresh.read(ANNA).done
        assert contents(fresh.state(ANNA)) == contents(by_text(kept))
    assert not any(trace.words for trace in kept.vectors.read(ANNA, name))


def test_another_embedder_finds_no_words_of_this_one() -> None:
    """Words stand beside vectors: for an embedder without vectors every turn is read, and then embedded."""
    store = WordsOnly(MemoryStore())
    a_talk(store)
    store.pages = 0
    other = Indexes(store, EmbedderChoice(CountingEmbedder(96), "test"))
    assert other.read(ANNA).unembedded == AT_ONCE + 6
    assert store.pages == 1


def test_two_processes_store_the_same_words(tmp_path: Path) -> None:
    """Both find a file of an older version, both store the words, and neither harms the other."""
    path, name = tmp_path / "r.db", CountingEmbedder(DIMENSIONS).name
    first, second = SqliteStore(path), SqliteStore(path)
    a_talk(first)
    words = {trace.turn_number: trace.words for trace in first.vectors.read(ANNA, name)}
    with sqlite3.connect(path) as file:
        file.execute("UPDATE traces SET words = NULL")
    file.close()
    with ThreadPoolExecutor() as pool:
        done = list(pool.map(lambda store: indexes_on(store).read(ANNA).done, (first, second)))
    assert done == [True, True]
    assert {trace.turn_number: trace.words for trace in second.vectors.read(ANNA, name)} == words
    for store in (first, second):
        store.close()


def test_an_interrupted_start_begins_again() -> None:
    """The database goes away in the middle: the next search finds everything, once."""

    class Stumbling(WordsOnly):
        stumbles = 1

        def through(self, call: str, method: Callable[..., Any]) -> Callable[..., Any]:
            if call == "turns.page" and self.stumbles:
                self.stumbles -= 1
                raise StoreUnavailable("busy")
            return method

    kept = MemoryStore()
    a_talk(kept, session_id="a")
    a_talk(kept, session_id="b")
    name = CountingEmbedder(DIMENSIONS).name
    [*_, last] = kept.vectors.read(ANNA, name)
    kept.vectors.write(ANNA, [replace(last, words=b"")])
    fresh = indexes_on(Stumbling(kept))
    with pytest.raises(StoreUnavailable):
        fresh.read(ANNA)
    assert fresh.read(ANNA).done
    assert contents(fresh.state(ANNA)) == contents(by_text(kept))
