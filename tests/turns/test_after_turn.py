"""A context beyond the window: what is recalled, what is referred to, what the receipt says, and what may fail."""

import json
import sqlite3
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ricordo
from ricordo.followups.clarify import clarifications_of
from ricordo.recall.embedders.light import LightEmbedder
from ricordo.stores.sqlite import SqliteStore
from ricordo.testing import FakeClock, MemoryStore
from ricordo.testing.fakes import StoreProxy
from talks import CountingEmbedder, FailingEmbedder, GatedEmbedder, ThemedEmbedder, fill, memory, on_file

LIST_ANSWER = (
    "Sono tre punti: 1) Definizione: dolore lombare che cambia con il movimento [k-1] "
    "2) Cause: postura, sforzo, sedentarietà, debolezza dei muscoli profondi, sollevamenti fatti male, ore di guida, "
    "materassi troppo morbidi e sovrappeso [k-2] 3) Diagnosi: esame clinico, raramente immagini [k-3]"
)


def recalled(context: ricordo.Context) -> list[tuple[str, str]]:
    """The remembered items that were kept, as id and reason."""
    return [(item.id, item.reason) for item in context.receipt.kept if item.section == "recalled"]


def test_other_sessions_are_recalled() -> None:
    """What was said in another session comes back, dated and labelled; the receipt names the embedder."""
    kept = memory(locale="it")
    turn = kept.session("prima", user_id="anna").add_turn("Il mio gatto si chiama Ettore", "Bel nome, Ettore!")
    context = kept.session("dopo", user_id="anna").context("Come si chiama il mio gatto?")
    assert (f"{turn.id}:query", "recalled") in recalled(context)
    assert "[2026-03-02] UTENTE: Il mio gatto si chiama Ettore" in context.prompt
    assert "Il mio gatto si chiama Ettore" in context.messages[-1]["content"]
    assert context.receipt.embedder == "deterministic-64@1"
    assert context.receipt.degraded == ()


def test_nothing_is_recalled_where_nothing_is_older() -> None:
    """With everything in the window, or nothing said at all, nothing is recalled and no embedder is loaded."""
    kept = memory()
    session = kept.session("s", user_id="anna")
    assert recalled(session.context("Che tempo fa?")) == []
    fill(session, 3)
    context = session.context("argomento domanda 1")
    assert (recalled(context), context.receipt.embedder) == ([], "")
    question = "Qual è l'argomento aperto oggi in classe?"
    session.ask(question)
    context = session.context(question)
    assert (recalled(context), context.receipt.embedder) == ([], "")


@given(st.integers(0, 12), st.integers(0, 4), st.booleans())
def test_turns_of_the_window_are_never_recalled(count: int, elsewhere: int, asked_first: bool) -> None:
    """However much is said, here or elsewhere, no recalled message is in the window or is the question itself."""
    kept = memory(recall_messages=5)
    session = kept.session("s", user_id="anna")
    fill(kept.session("t", user_id="anna"), elsewhere, "tema")
    fill(session, count, "tema")
    question = "tema domanda risposta 1"
    if asked_first:
        session.ask(question)
    context = session.context(question)
    shown = {turn.id for turn in session.history()[-4:] if not turn.is_open} & {
        item.id for item in context.receipt.items if item.section == "history"
    }
    found = [address for address, reason in recalled(context) if reason == "recalled"]
    assert not {address.rpartition(":")[0] for address in found} & shown
    assert len(found) == len(set(found)) <= 5
    newest = session.history()[-1:]
    assert not [turn for turn in newest if turn.is_open and f"{turn.id}:query" in found]
    if max(count - 3, 0) + elsewhere > 2:
        assert found


def test_what_is_referred_to_comes_first_and_in_full() -> None:
    """The item that a follow-up means stands before what is recalled, whole, though the window is cut."""
    kept = memory(locale="it")
    other = kept.session("altra", user_id="anna")
    other.add_turn(
        "Le cause della lombalgia meccanica, punto per punto?", "Le cause della lombalgia meccanica sono tante."
    )
    session = kept.session("s", user_id="anna")
    session.add_turn("Parliamo di lombalgia meccanica", LIST_ANSWER, chunk_ids=["k-1", "k-2", "k-3"])
    context = session.context("Approfondisci il punto 2")
    cause = LIST_ANSWER[LIST_ANSWER.index("Cause") : LIST_ANSWER.index(" 3) Diagnosi")]
    (reference,) = context.references
    assert (reference.text, reference.chunk_ids, reference.turn_number) == (cause, ("k-2",), 1)
    assert recalled(context)[0] == ("turn-1:2", "referenced")
    assert len(recalled(context)) > 1
    assert cause in context.prompt
    assert LIST_ANSWER not in context.prompt
    assert context.question == context.receipt.standalone == "Approfondisci il punto 2 (Cause, lombalgia meccanica)"
    assert context.receipt.question == "Approfondisci il punto 2"


def test_an_answer_that_is_referred_to_is_not_recalled_as_well() -> None:
    """The whole answer that a question points at stands in the prompt once among what is remembered."""
    kept = memory(max_turns=1)
    session = kept.session("s", user_id="anna")
    session.add_turn("La stenosi dà sintomi?", "La stenosi lombare è sempre sintomatica.")
    fill(session, 4, "cucina")
    context = session.context("Hai detto che la stenosi è sempre sintomatica?")
    assert [reason for _, reason in recalled(context)].count("referenced") == 1
    remembered = context.messages[-1]["content"]
    assert remembered.count("La stenosi lombare è sempre sintomatica.") == 1


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_context_is_the_same_twice(kind: str, tmp_path: Path) -> None:
    """Building a context changes nothing: the same question gives the same bytes, clarifications included."""
    kept = memory(MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "r.db"))
    fill(kept.session("t", user_id="anna"), 6, "viaggio")
    session = kept.session("s", user_id="anna")
    session.add_turn("Meglio la Sony o la Canon?", "Dipende dal viaggio.")
    assert kept.settle(30)
    for question in ("viaggio domanda 2", "Quanto pesa quella?", "continua", "hai detto che dipende dal viaggio?"):
        first, second = session.context(question), session.context(question)
        assert first == second
        assert first.receipt.messages_digest == second.receipt.messages_digest
    kept.close()


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
def test_a_past_context_is_rebuilt_with_what_was_remembered(kind: str, tmp_path: Path) -> None:
    """Byte for byte, recalled and referenced texts included, also after all of it went to the archive."""
    clock = FakeClock()
    store = MemoryStore() if kind == "memory" else SqliteStore(tmp_path / "r.db")
    kept = memory(store, clock=clock, locale="it", embedder=ThemedEmbedder())
    session = kept.session("s", user_id="anna")
    other = kept.session("t", user_id="anna")
    other.add_turn(
        "Le cause della lombalgia meccanica, punto per punto?", "Le cause della lombalgia meccanica sono tante"
    )
    session.add_turn("Parliamo di lombalgia meccanica", LIST_ANSWER, chunk_ids=["k-1", "k-2", "k-3"])
    built = session.context("Approfondisci il punto 2")
    turn = session.add_turn("Approfondisci il punto 2", "Le cause, nel dettaglio, sono queste.")
    assert {reason for _, reason in recalled(built)} == {"referenced", "recalled"}
    for where, word in ((session, "lombalgia"), (other, "lombalgia")):
        for number in range(20):
            where.add_turn(f"{word} cause postura sforzo {number}", f"{word} cause postura risposta {number}")
        where.topics()
    assert session.history()[0].archived
    assert other.history()[0].archived
    again = session.rebuild(turn.turn_number)
    assert (again.messages, again.prompt, again.question) == (built.messages, built.prompt, built.question)
    assert again.receipt.items == built.receipt.items
    assert again.receipt.standalone == built.receipt.standalone
    kept.close()


def test_a_receipt_copies_no_words_of_other_sessions(tmp_path: Path) -> None:
    """What is recalled or referred to is named by address: deleting its session leaves no word of it in the file."""
    path = tmp_path / "r.db"
    with on_file(path) as kept:
        secret = "la password del portone è cinciallegra-ottantadue " * 4
        other = kept.session("other", user_id="anna")
        other.add_turn("Ricordami il portone", secret)
        session = kept.session("s", user_id="anna")
        context = session.context("Il portone?")
        assert "cinciallegra" in context.prompt
        turn = session.add_turn("Il portone?", "Certo.")
        assert session.rebuild(turn.turn_number).prompt == context.prompt
        kept.delete_session("other", user_id="anna")
        with pytest.raises(ricordo.ReceiptError):
            session.rebuild(turn.turn_number)
    with sqlite3.connect(path) as file:
        stored = [
            str(row) for table in ("passages", "receipts", "turns") for row in file.execute(f"SELECT * FROM {table}")
        ]
    file.close()
    assert not [row for row in stored if "cinciallegra" in row]


def test_the_tutor_follows_and_does_not_recall() -> None:
    """The preset `tutor` understands follow-ups and brings nothing back from other sessions, without any embedder."""
    kept = memory(preset="tutor", embedder=FailingEmbedder())
    kept.session("altra", user_id="anna").add_turn("La lombalgia?", "La lombalgia passa.")
    session = kept.session("s", user_id="anna")
    session.add_turn("Parliamo di lombalgia meccanica", LIST_ANSWER)
    context = session.context("Approfondisci il punto 2")
    assert recalled(context) == [("turn-1:2", "referenced")]
    assert context.question == "Approfondisci il punto 2 (Cause, lombalgia meccanica)"
    assert (context.receipt.embedder, context.receipt.degraded) == ("", ())
    assert kept.settle(10)
    assert kept.stats().embedder.endswith("(not loaded yet)")


def test_follow_ups_can_be_switched_off() -> None:
    """With `follow_ups="off"` a question is taken as it stands: no reference, no clarification, no other words."""
    kept = memory(follow_ups="off", recall_messages=0)
    session = kept.session("s", user_id="anna")
    session.add_turn("Meglio la Sony o la Canon?", LIST_ANSWER)
    for question in ("Approfondisci il punto 2", "Quanto pesa?"):
        context = session.context(question)
        assert (context.question, context.references, context.clarification) == (question, (), None)
        assert recalled(context) == []


class Broken(StoreProxy):
    """A store that keeps and shows turns, and fails in whatever else is told."""

    fails: tuple[str, ...] = ()

    def through(self, call: str, method: Any) -> Any:
        if call in self.fails:
            raise RuntimeError("«parole private»")
        return method


def test_the_chat_goes_on_when_recall_fails(caplog: pytest.LogCaptureFixture) -> None:
    """A context without recall is built, and receipt and log say so, with the place and without the words."""
    store = Broken()
    kept = memory(store, organise="off")
    fill(kept.session("t", user_id="anna"), 3)
    store.fails = ("sessions.marks",)
    context = kept.session("s", user_id="anna").context("argomento domanda")
    assert context.receipt.degraded == ("recall is unavailable: RuntimeError",)
    assert context.messages[-1]["content"] == "argomento domanda"
    record = next(each for each in caplog.records if getattr(each, "operation", "") == "recall")
    assert (record.user_id, record.session_id) == ("anna", "s")  # type: ignore[attr-defined]
    assert "private" not in record.getMessage()
    kept.close()


def test_the_chat_goes_on_when_understanding_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """If the rules break on a question, it is taken as it stands and the receipt says so."""

    def breaking(*_: object, **__: object) -> None:
        raise RecursionError

    monkeypatch.setattr("ricordo.followups.understand.resolve", breaking)
    kept = memory()
    session = kept.session("s", user_id="anna")
    session.add_turn("Parliamo di lombalgia", LIST_ANSWER)
    context = session.context("Approfondisci il punto 2")
    assert context.receipt.degraded == ("the question is taken as it stands: RecursionError",)
    assert (context.question, context.references) == ("Approfondisci il punto 2", ())


def test_a_failing_embedder_leaves_the_words(caplog: pytest.LogCaptureFixture) -> None:
    """When the question cannot be embedded, a context recalls by words and says so."""

    class Half(CountingEmbedder):
        def embed_query(self, text: str) -> Any:
            raise ConnectionError(text)

    kept = memory(embedder=Half())
    kept.session("t", user_id="anna").add_turn("Il gatto Ettore dorme", "Sul divano")
    kept.search("gatto", user_id="anna")
    context = kept.session("s", user_id="anna").context("Dove dorme Ettore?")
    assert recalled(context)
    assert context.receipt.degraded == (
        "found by words only: the embedder deterministic-64@1 failed (ConnectionError)",
    )
    assert "Ettore" not in caplog.text
    kept.close()


def test_a_write_never_fails_for_what_is_beside_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever breaks in clarifications, a turn that is on disk is reported as kept."""
    kept = memory()
    session = kept.session("s", user_id="anna")
    session.add_turn("Meglio la Sony o la Canon?", "Dipende.")
    assert session.context("Quanto pesa quella?").clarification is not None

    def breaking(*_: object) -> None:
        raise OSError("disk")

    monkeypatch.setattr(type(clarifications_of(kept._engine)), "get", breaking)
    assert session.add_turn("Altro?", "No.").turn_number == 2
    kept.close()


def test_imported_sessions_are_worked_on_beside_the_chat() -> None:
    """What an import brings in gets its vectors and topics without anybody asking."""
    source = memory()
    fill(source.session("s", user_id="anna"), 5)
    embedder = CountingEmbedder()
    target = memory(embedder=embedder)
    assert target.import_documents(source.export("anna")).errors == ()
    assert target.settle(30)
    assert len(embedder.passages) == 10
    assert target.store.topics.load(next(target.store.owners("default")), "s").through == 5


def test_adding_a_turn_waits_for_nothing() -> None:
    """With an embedder that does not answer, turns are kept, windows read and words found all the same."""
    embedder = GatedEmbedder()
    kept = memory(embedder=embedder)
    session = kept.session("s", user_id="anna")
    session.add_turn("prima domanda", "prima risposta")
    hurry = threading.Thread(target=kept.settle)
    hurry.start()
    assert embedder.waiting.wait(10)
    for number in range(30):
        session.add_turn(f"domanda {number}", f"risposta {number}")
    assert len(session.history()) == 31
    assert session.window().turns
    assert session.context("domanda 3").messages
    assert kept.search("prima", user_id="anna", patience=0)
    assert not any(turn.topic_id for turn in session.history())
    embedder.gate.set()
    hurry.join(30)
    assert kept.settle(30)
    assert all(turn.topic_id for turn in session.history())
    kept.close()


def test_a_receipt_is_small(tmp_path: Path) -> None:
    """Recalling five long messages adds addresses to the stored receipt, not their words."""
    with on_file(tmp_path / "r.db") as kept:
        for number in range(5):
            kept.session(f"t{number}", user_id="anna").add_turn("la vela e il vento", "vento " * 60)
        session = kept.session("s", user_id="anna")
        session.context("la vela e il vento")
        session.add_turn("la vela e il vento", "ciao")
        owner = next(kept.store.owners("default"))
        (stored,) = kept.store.turns.receipts(owner, "s")
        assert "vento vento" not in json.dumps([stored.body, dict(stored.passages)])


def test_expired_history_is_not_recalled() -> None:
    """What is past its time is not in any context after the cleanup."""
    clock = FakeClock()
    kept = memory(clock=clock)
    kept.session("t", user_id="anna").add_turn("Il segreto del limone", "È verde")
    clock.advance(days=2)
    kept.session("u", user_id="anna").add_turn("Il limone giallo", "È giallo")
    assert "verde" in kept.session("s", user_id="anna").context("limone segreto").prompt
    kept.cleanup(retention=ricordo.Retention(turn_ttl=timedelta(days=1)))
    context = kept.session("s", user_id="anna").context("limone segreto")
    assert "verde" not in context.prompt
    assert "giallo" in context.prompt


def test_a_question_about_something_else_brings_nothing_back() -> None:
    """What lies nearest is not recalled for that: a talk about cats has nothing to say about France."""
    with memory(embedder=LightEmbedder(), locale="it", max_turns=1, remember_person="off") as kept:
        other = kept.session("t", user_id="anna")
        other.add_turn("Qual è il cibo migliore per il mio gatto Ettore?", "Le crocchette, poche e buone.")
        other.add_turn("Domani ho il dentista alle nove", "Auguri per la visita!")
        other.add_turn("Mi piace suonare la chitarra", "Bello, da quanto la suoni?")
        kept.search("gatto", user_id="anna")  # everything has its vector
        session = kept.session("s", user_id="anna")
        assert recalled(session.context("Qual è la capitale della Francia?")) == []
        found = session.context("A che ora ho il dentista?")
        assert [reason for _, reason in recalled(found)] == ["recalled", "recalled"]
        assert "chitarra" not in found.prompt
