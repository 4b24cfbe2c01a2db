"""The index of what was said: complete the moment a write returns, embedded once, never of anybody else."""

import sqlite3
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.recall.embedders import EmbedderChoice
from ricordo.recall.indexes import Indexes
from ricordo.records.turns import Owner, SessionMark
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing import FakeClock, MemoryStore
from ricordo.testing.fakes import StoreProxy
from talks import CountingEmbedder, FailingEmbedder, GatedEmbedder, fill, memory, on_file, texts

ANNA = Owner("default", "anna")


# Embedded once


def test_a_message_is_embedded_once_in_its_life(tmp_path: Path) -> None:
    """Work beside the chat, searches, topics and opening the file again embed every message exactly once in all."""
    first, second = CountingEmbedder(), CountingEmbedder()
    with on_file(tmp_path / "r.db", embedder=first) as kept:
        session = kept.session("s", user_id="anna")
        fill(session, 20)
        assert kept.settle(30)
        kept.search("domanda", user_id="anna")
        session.topics()
        fill(session, 3, "altro")
        kept.search("altro", user_id="anna")
        assert kept.settle(30)
    assert sorted(first.passages) == sorted(m.content for t in _turns(tmp_path) for m in t.messages)
    with on_file(tmp_path / "r.db", embedder=second) as kept:
        assert kept.search("domanda", user_id="anna").degraded == ()
        kept.session("s", user_id="anna").topics()
        assert second.passages == []
        kept.session("s", user_id="anna").add_turn("nuova domanda", "nuova risposta")
        kept.session("s", user_id="anna").topics()
        kept.search("domanda", user_id="anna")
        assert second.passages == ["nuova domanda", "nuova risposta"]


def _turns(folder: Path) -> list[ricordo.Turn]:
    with on_file(folder / "r.db") as kept:
        return kept.session("s", user_id="anna").history()


def test_a_question_and_its_later_answer_are_embedded_together() -> None:
    """Beside the chat an open question is left alone until its answer comes; both are embedded once."""
    embedder = CountingEmbedder()
    kept = memory(embedder=embedder)
    session = kept.session("s", user_id="anna")
    asked = session.ask("una domanda")
    assert kept.settle(30)
    assert embedder.passages == []
    asked.answer("la risposta")
    assert kept.settle(30)
    assert embedder.passages == ["una domanda", "la risposta"]


def test_removal_and_rebuilding_do_not_embed_again() -> None:
    """After a session is deleted the index is made anew, from the vectors that are kept."""
    embedder = CountingEmbedder()
    kept = memory(embedder=embedder)
    for name in ("a", "b"):
        fill(kept.session(name, user_id="anna"), 5, name)
    kept.search("domanda", user_id="anna")
    assert kept.settle(30)  # the topics have been found too
    embedder.passages.clear()
    kept.delete_session("a", user_id="anna")
    assert len(kept.search("domanda", user_id="anna", limit=50)) == 10
    assert embedder.passages == []


def test_a_changed_turn_loses_its_vectors_and_gets_new_ones(tmp_path: Path) -> None:
    """A vector is used only for the very turn it was made from: an answer that came later makes it invalid."""
    with on_file(tmp_path / "r.db", embedder=CountingEmbedder()) as kept:
        asked = kept.session("s", user_id="anna").ask("domanda aperta")
        kept.search("domanda", user_id="anna")
        kept.rest()  # nobody makes a new vector before the file is closed
        asked.answer("risposta tardiva")
    again = CountingEmbedder()
    with on_file(tmp_path / "r.db", embedder=again) as kept:
        hits = kept.search("risposta tardiva", user_id="anna")
        assert hits[0].text == "risposta tardiva"
        assert again.passages == ["domanda aperta", "risposta tardiva"]


def test_vectors_of_two_embedders_never_meet(tmp_path: Path) -> None:
    """With another embedder everything is embedded anew; going back finds the old vectors where they were."""
    small, large = CountingEmbedder(32), CountingEmbedder(96)
    for embedder, expected in ((small, 6), (large, 6), (small, 6), (large, 6)):
        with on_file(tmp_path / "r.db", embedder=embedder) as kept:
            session = kept.session("s", user_id="anna")
            if not session.history():
                fill(session, 3)
            hits = kept.search("argomento risposta 1", user_id="anna")
            assert (hits.embedder, hits.degraded) == (embedder.name, ())
            assert hits[0].text == "argomento risposta 1"
            assert any(reason.startswith("meaning") for reason in hits[0].reasons)
            assert len(embedder.passages) == expected


def test_everything_can_be_embedded_again(tmp_path: Path) -> None:
    """`embed_again` makes all vectors of all users with the embedder of now, tells how far it is, drops the others."""
    with on_file(tmp_path / "r.db", embedder=CountingEmbedder(32)) as kept:
        for user in ("anna", "bruno", "carla"):
            fill(kept.session("s", user_id=user), 20)
            kept.search("domanda", user_id=user)
    steps: list[tuple[int, int]] = []
    with on_file(tmp_path / "r.db", embedder=CountingEmbedder(96)) as kept:
        assert kept.embed_again(progress=lambda done, total: steps.append((done, total))) == 60
        assert kept.embed_again() == 0
        assert kept.search("domanda 3", user_id="bruno").degraded == ()
    assert steps[-1] == (60, 60)
    assert len(steps) > 3
    assert steps == sorted(steps)
    with sqlite3.connect(tmp_path / "r.db") as file:
        assert file.execute("SELECT DISTINCT embedder FROM traces").fetchall() == [("deterministic-96@1",)]
    file.close()


# Complete, whoever wrote


def test_another_memory_on_the_file_sees_every_change(tmp_path: Path) -> None:
    """Turns, answers and steps that another process wrote are found at once, and what it removed is not."""
    path = tmp_path / "r.db"
    with on_file(path) as writer, on_file(path) as reader:
        here = writer.session("s", user_id="anna")

        def found(query: str) -> list[str]:
            hits = reader.search(query, user_id="anna", limit=50)
            assert hits.degraded == ()
            return texts(hits)

        here.add_turn("la capitale del Perù", "Lima")
        assert "la capitale del Perù" in found("capitale Perù")
        asked = here.ask("quanto è alto il Cervino")
        assert "quanto è alto il Cervino" in found("Cervino")
        asked.answer("4478 metri")
        assert "4478 metri" in found("4478 metri")
        here.add_message("user", "controlla il meteo")
        assert "controlla il meteo" in found("meteo")
        here.add_message("assistant", "", tool_calls=[{"name": "meteo"}])
        here.add_message("tool", "grandine a Merano", tool_call_id="1")
        assert "grandine a Merano" in found("grandine Merano")
        here.add_message("assistant", "ombrello consigliato")
        assert "ombrello consigliato" in found("ombrello")
        here.clear()
        assert found("Cervino Perù meteo ombrello") == []


def test_a_session_that_was_emptied_and_filled_again_is_read_again(tmp_path: Path) -> None:
    """As many new turns under the same numbers: the new ones are found, the old ones are gone."""
    path = tmp_path / "r.db"
    with on_file(path) as writer, on_file(path) as reader:
        for word in ("gatto", "cane", "oca"):
            session = writer.session("s", user_id="anna")
            fill(session, 3, word)
            found = texts(reader.search("domanda risposta", user_id="anna", limit=50))
            assert sorted(found) == sorted(m.content for turn in session.history() for m in turn.messages)
            session.clear()
        for word in ("gatto", "cane"):
            fill(writer.session("t", user_id="anna"), 2, word)
            found = texts(writer.search("domanda risposta", user_id="anna", limit=50))
            assert sorted(found) == sorted(f"{word} {kind} {n}" for kind in ("domanda", "risposta") for n in (0, 1))
            writer.delete_session("t", user_id="anna")


ACTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["turn", "turn", "turn", "ask", "answer", "clear", "delete", "expire", "erase", "search", "topics", "tag"]
        ),
        st.sampled_from(["s", "t"]),
        st.sampled_from(["anna", "bruno"]),
    ),
    max_size=20,
)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
@given(acts=ACTS)
def test_what_is_found_is_what_is_kept(
    kind: str, tmp_path_factory: pytest.TempPathFactory, acts: list[tuple[str, str, str]]
) -> None:
    """After any sequence of writing and forgetting a search finds exactly the messages that are there, of one user."""
    clock = FakeClock()
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path_factory.mktemp("store") / "r.db")
    kept = memory(store, clock=clock)
    for number, (act, name, user) in enumerate(acts):
        clock.advance(minutes=10)
        session = kept.session(name, user_id=user)
        known = bool(session.history())
        if act == "turn":
            session.add_turn(f"parola domanda {user} {number}", f"parola risposta {user} {number}")
        elif act == "ask":
            session.ask(f"parola aperta {user} {number}")
        elif act == "answer":
            for turn in session.history()[-3:]:
                if turn.is_open:
                    session.answer(turn, f"parola tardiva {user} {number}")
        elif act == "clear" and known:
            session.clear()
        elif act == "delete" and known:
            kept.delete_session(name, user_id=user)
        elif act == "expire":
            kept.cleanup(retention=ricordo.Retention(turn_ttl=timedelta(minutes=35)))
        elif act == "erase":
            kept.erase(user)
        elif act == "topics":
            session.topics()
        elif act == "tag" and known:
            session.update(tags=[user])
        else:
            kept.search("parola", user_id=user)
    for user in ("anna", "bruno"):
        there = [
            m.content for name in ("s", "t") for t in kept.session(name, user_id=user).history() for m in t.messages
        ]
        hits = kept.search("parola", user_id=user, limit=500)
        assert (sorted(texts(hits)), hits.degraded) == (sorted(there), ())
    assert kept.verify().ok
    kept.close()


def test_threads_that_write_and_search_at_once(tmp_path: Path) -> None:
    """Each writer finds its own turn as soon as it has written it, and in the end all of it is there."""
    with on_file(tmp_path / "r.db") as kept:
        missing: list[str] = []

        def write(name: str) -> None:
            session = kept.session(name, user_id="anna")
            for number in range(12):
                said = f"{name} unico{name}{number} cosa"
                session.add_turn(said, f"va bene {number}")
                if said not in texts(kept.search(f"unico{name}{number}", user_id="anna", limit=3)):
                    missing.append(said)
                if number == 6:
                    session.topics()

        threads = [threading.Thread(target=write, args=(name,)) for name in "abcd"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert missing == []
        assert kept.settle(60)
        hits = kept.search("cosa bene", user_id="anna", limit=500)
        assert (len(hits), hits.degraded) == (96, ())
        assert kept.verify().damages == ()


# What is not there yet


def test_without_patience_words_answer_and_it_says_so() -> None:
    """With patience 0 nothing is embedded: everything is found by its words, and the answer says what it lacks."""
    embedder = CountingEmbedder()
    kept = memory(embedder=embedder, recall_messages=0, organise="off")
    fill(kept.session("s", user_id="anna"), 3)
    hits = kept.search("risposta", user_id="anna", patience=0)
    assert {f"argomento risposta {number}" for number in range(3)} < set(texts(hits))
    assert hits.degraded == (f"3 turns are found by their words only: {embedder.name} is behind",)
    assert embedder.passages == []
    assert kept.search("risposta 1", user_id="anna").degraded == ()


def test_whoever_is_embedding_holds_up_no_reader() -> None:
    """While vectors are being made, a context is built and a search without patience answers."""
    embedder = GatedEmbedder()
    kept = memory(embedder=embedder)
    fill(kept.session("old", user_id="anna"), 3, "sonno")
    thread = threading.Thread(target=kept.search, args=("sonno",), kwargs={"user_id": "anna"})
    thread.start()
    assert embedder.waiting.wait(10)
    context = kept.session("new", user_id="anna").context("sonno domanda 1")
    assert any(item.section == "recalled" and item.kept for item in context.receipt.items)
    kept.session("new", user_id="anna").add_turn("sonno nuovo", "bene")
    assert "sonno nuovo" in texts(kept.search("nuovo", user_id="anna", patience=0))
    embedder.gate.set()
    thread.join(30)
    assert not thread.is_alive()
    kept.close()


def test_an_embedder_that_fails_takes_nothing_but_the_meaning(caplog: pytest.LogCaptureFixture) -> None:
    """Words are found, the answer and the log say what is missing, without the words of anybody; later all is well."""
    embedder = FailingEmbedder()
    kept = memory(embedder=embedder)
    fill(kept.session("s", user_id="anna"), 3)
    hits = kept.search("risposta", user_id="anna")
    assert {f"argomento risposta {number}" for number in range(3)} < set(texts(hits))
    assert hits.degraded[0] == f"found by words only: the embedder {embedder.name} failed (ConnectionError)"
    assert not kept.settle(30)
    assert kept._engine.queue.index.lane.failure is not None
    records = [record for record in caplog.records if record.name == "ricordo"]
    assert {getattr(record, "user_id", None) for record in records} == {"anna"}
    assert {getattr(record, "operation", None) for record in records} == {"recall", "index"}
    embedder.failing = False
    assert kept.search("risposta 1", user_id="anna").degraded == ()
    assert kept.settle(30)
    assert len(kept.session("s", user_id="anna").topics()) >= 1


class Miscounting(StoreProxy):
    """A store whose session marks never tell the truth about how many turns there are."""

    def sessions_marks(self, owner: Owner) -> dict[str, SessionMark]:
        return {
            name: SessionMark(mark.revision, mark.last_turn, mark.turn_count + 7)
            for name, mark in self.inner.sessions.marks(owner).items()
        }


class Restless(StoreProxy):
    """A store whose session marks are never twice the same, and sometimes go back."""

    calls = 0

    def sessions_marks(self, owner: Owner) -> dict[str, SessionMark]:
        self.calls += 1
        return {
            name: SessionMark((self.calls * 7) % 5, mark.last_turn + self.calls % 3, mark.turn_count)
            for name, mark in self.inner.sessions.marks(owner).items()
        }


@pytest.mark.parametrize("store", [Miscounting(), Restless()])
def test_marks_that_never_match_do_not_loop(store: StoreProxy) -> None:
    """With marks that are wrong, a search ends and finds what there is; the work beside the chat ends too."""
    kept = memory(store)
    fill(kept.session("s", user_id="anna"), 5)
    assert "argomento risposta 4" in texts(kept.search("risposta 4", user_id="anna"))
    kept.session("s", user_id="anna").add_turn("una parola nuova", "bene")
    assert "una parola nuova" in texts(kept.search("parola nuova", user_id="anna"))
    kept.close()


def test_a_failure_while_reading_loses_nothing() -> None:
    """A store that fails in the middle of reading is read on where it failed."""

    class Stumbling(StoreProxy):
        stumbles = 0

        def turns_page(self, *where: Any, **which: Any) -> Any:
            if self.stumbles:
                self.stumbles -= 1
                raise ricordo.StoreUnavailable("busy")
            return self.inner.turns.page(*where, **which)

        def vectors_read(self, *where: Any, **which: Any) -> Any:
            if self.stumbles:
                self.stumbles -= 1
                raise ricordo.StoreUnavailable("busy")
            return self.inner.vectors.read(*where, **which)

    for stumbles in (1, 2, 3):
        store = Stumbling()
        kept = memory(store, recall_messages=0, organise="off")
        kept.rest()  # only the search reads, and stumbles
        fill(kept.session("s", user_id="anna"), 300)
        store.stumbles = stumbles
        for _ in range(stumbles):
            with pytest.raises(ricordo.StoreUnavailable):
                kept.search("domanda", user_id="anna")
        assert len(kept.search("domanda risposta", user_id="anna", limit=1000)) == 600


# Room


def test_the_longest_unasked_make_room() -> None:
    """Only so many owners, or so many messages, are held; who was let go is read again when asked about."""
    store = MemoryStore()
    kept = memory(store, recall_messages=0, organise="off")
    owners = [Owner("default", f"user{number}") for number in range(5)]
    for owner in owners:
        fill(kept.session("s", user_id=owner.user_id), 2)
    embedder = CountingEmbedder()
    indexes = Indexes(store, EmbedderChoice(embedder, "test"), owners=3)
    for owner in owners:
        assert indexes.complete(owner, 10).done
    assert list(indexes._states) == [owner.key for owner in owners[2:]]
    indexes.read(owners[2])
    assert indexes.complete(owners[0], 10).done
    assert list(indexes._states) == [owners[4].key, owners[2].key, owners[0].key]
    assert len(indexes.state(owners[0]).index) == 4
    assert len(embedder.passages) == 20
    few = Indexes(store, EmbedderChoice(embedder, "test"), messages=8)
    for owner in owners:
        few.complete(owner, 10)
    assert list(few._states) == [owner.key for owner in owners[-2:]]


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3)), max_size=12))
def test_indexes_that_grow_make_room(talk: list[tuple[int, int]]) -> None:
    """However those who are known already go on talking, no more messages are held than allowed or than one has."""
    store = MemoryStore()
    kept = memory(store, recall_messages=0, organise="off")
    indexes = Indexes(store, EmbedderChoice(CountingEmbedder(), "test"), messages=10)
    for number, turns in talk:
        owner = Owner("default", f"user{number}")
        fill(kept.session("s", user_id=owner.user_id), turns)
        indexes.read(owner)
        sizes = [len(shelf.index) for shelf in indexes._states.values()]
        assert sum(sizes) <= max(10, sizes[-1])
        assert len(indexes.state(owner).index) == 2 * store.sessions.marks(owner)["s"].turn_count


def test_the_same_ids_of_two_users_are_two_messages() -> None:
    """Turn ids are the caller's: two users may use the same, and a cleared one may come again with other words."""
    kept = memory()
    for user, word in (("anna", "mele"), ("bruno", "pere")):
        session = kept.session("s", user_id=user)
        session.add_turn(f"compra {word}", "fatto", turn_id="t1")
        session.topics()
        assert texts(kept.search("compra", user_id=user))[0] == f"compra {word}"
    session = kept.session("s", user_id="anna")
    session.clear()
    session.add_turn("compra uva", "fatto", turn_id="t1")
    session.topics()
    assert sorted(texts(kept.search("compra fatto", user_id="anna"))) == ["compra uva", "fatto"]


def test_a_store_is_read_in_pages(tmp_path: Path) -> None:
    """However long a session is, all of it is in the index, the pages' edges included."""
    store = SqliteStore(tmp_path / "r.db")
    kept = memory(store, recall_messages=0, organise="off", embedder=CountingEmbedder())
    session = kept.session("s", user_id="anna")
    fill(session, 520)
    assert len(kept.search("argomento", user_id="anna", limit=2000, patience=0)) == 1040
    kept.close()
