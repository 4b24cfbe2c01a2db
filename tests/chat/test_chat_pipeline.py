"""The chat itself, without a server: documents, stops, repeats, conflicts, deletions on the way, and spans."""

from collections.abc import Generator, Sequence
from typing import Any

import pytest
from chat_samples import Echo, Talk, settings

from ricordo.chat import Answered, Chat, ChatRequest, Task
from ricordo.chat.answerers import Reader
from ricordo.chat.response import Delta, Done, Started
from ricordo.documents.chunks import Piece
from ricordo.documents.library import INDEXES, Library, Passage, PieceIndex
from ricordo.errors import ConflictError, NotFoundError, ValidationError
from ricordo.memory import Memory
from ricordo.records.turns import Asked, Chunk, Owner, library_of
from ricordo.stores.memory import MemoryStore

ANNA, BRUNO = Owner("default", "anna"), Owner("default", "bruno")


def asked(query: str = "What is a fugue?", **more: Any) -> ChatRequest:
    """A question of Anna's."""
    return ChatRequest(query, "anna", **more)


def test_the_question_is_kept_before_anything_is_told() -> None:
    """Whoever leaves after the first event leaves an open turn behind, and can have it answered later."""
    with Talk(MemoryStore()) as talk:
        events = talk.chat.respond(asked(turn_id="t1"))
        started = next(events)
        events.close()
        assert isinstance(started, Started)
        turn = talk.memory.store.turns.get(talk.owner, "t1")
        assert turn is not None
        assert turn.is_open
        again = talk.chat.ask(asked(turn_id="t1", session_id=started.session_id))
        assert again.metadata["turn_number"] == 1
        assert not talk.turns(started.session_id)[0].is_open


def test_an_answer_is_told_again_and_never_made_twice() -> None:
    """The same turn gets its stored answer; the answerer is asked once."""
    with Talk(MemoryStore()) as talk:
        first = talk.ask("What is a fugue?", turn_id="t1")
        again = talk.ask("What is a fugue?", first.session_id, turn_id="t1")
        assert (again.message, again.metadata["repeated"]) == (first.message, True)
        assert len(talk.echo.asked) == 1
        with pytest.raises(ConflictError):
            talk.ask("Something else", first.session_id, turn_id="t1")


def test_of_two_processes_with_one_turn_one_answer_counts() -> None:
    """Where another was faster with the same turn, its answer is the one that is given."""
    store = MemoryStore()

    class Slower(Echo):
        def answer(self, task: Task) -> Generator[str, None, Answered]:
            with Talk(store, owner=talk.owner) as other:
                other.ask("What is a fugue?", session, turn_id="t1")
            yield "another answer"
            return Answered("another answer", (), (), 0.0, "slower")

    with Talk(store) as talk:
        session = talk.ask("Hello there").session_id
        talk.chat.answerer = Slower()
        given = talk.ask("What is a fugue?", session, turn_id="t1")
        assert given.message == "Answer to: What is a fugue?"
        assert [turn.response for turn in talk.turns(session)][1:] == [given.message]


def test_a_follow_up_keeps_what_it_points_at() -> None:
    """The turn says which point was meant and how the question was read, so that it can be shown again."""
    with Talk(MemoryStore()) as talk:
        session = talk.memory.session("s", user_id=talk.owner.user_id)
        session.add_turn("Quali sono i gradi di un'ustione?", "1. Primo: arrossa\n2. Secondo: vesciche\n3. Terzo")
        talk.ask("approfondisci il punto 2", "s")
        kept = talk.turns("s")[-1].metadata
        assert [(each["turn_number"], each["label"]) for each in kept["references"]] == [(1, "2")]
        assert "vesciche" in kept["references"][0]["text"]
        assert "Secondo" in kept["standalone"]


def test_the_response_names_the_topic_of_the_question() -> None:
    """A question that belongs to a topic of the session says which; a new subject has none yet."""
    with Talk(MemoryStore(), organise="on") as talk:
        session = talk.memory.session("s", user_id=talk.owner.user_id)
        session.add_turn("Come si cuoce il risotto alla milanese?", "Tosta il riso e aggiungi il brodo caldo.")
        session.add_turn("Quanto brodo serve per il risotto?", "Un litro di brodo per 320 grammi di riso.")
        topic = session.topic()
        told = talk.ask("Che vino serve per il risotto alla milanese?", "s").metadata["topic"]
        assert told == {"id": topic.id, "title": topic.read().title}
        assert talk.ask("How do I renew an electronic passport?", "s").metadata["topic"] is None


def test_a_stop_keeps_what_was_said() -> None:
    """Asked after the first piece, the stop leaves that piece as the answer, marked."""
    with Talk(MemoryStore()) as talk:
        events = list(talk.chat.respond(asked(stop=lambda: True)))
        assert [event.text for event in events if isinstance(event, Delta)] == ["Answer to: "]
        done = events[-1]
        assert isinstance(done, Done)
        (turn,) = talk.turns(done.response.session_id)
        assert (turn.response, turn.metadata["stopped"]) == ("Answer to: ", True)


def test_a_session_that_is_deleted_meanwhile_is_not_brought_back() -> None:
    """The answer is given all the same, says that it was not kept, and nothing of it is."""
    with Talk(MemoryStore()) as talk:
        events = talk.chat.respond(asked())
        started = next(events)
        assert isinstance(started, Started)
        talk.memory.delete_session(started.session_id, user_id="anna")
        done = list(events)[-1]
        assert isinstance(done, Done)
        assert any("deleted" in note for note in done.response.metadata["degraded"])
        assert talk.turns(started.session_id) == []


def a_library() -> tuple[Library, Memory]:
    """An empty library."""
    memory = Memory(MemoryStore(), settings())
    return Library(memory, memory.store.documents), memory


def test_a_session_reads_its_own_documents_alone() -> None:
    """The documents that a session was made with are the only ones it is answered from, however others fit better."""
    library, memory = a_library()
    for number in range(40):
        library.add(ANNA, f"Fugue {number}", f"A fugue is a piece in several voices, number {number}.")
    document, _ = library.add(ANNA, "Voices", "In this course a fugue begins with one voice alone.")
    session = memory.session("s", user_id="anna")
    session.create(document_ids=[document.id])
    chat = Chat(memory, answerer=Echo(), passages=library)
    limited = chat.ask(asked(session_id="s"))
    assert {each.document_id for each in limited.data} == {document.id}
    other = library.documents(ANNA)[0][0].id
    named = chat.ask(asked(session_id="s", document_ids=[other]))
    assert {each.document_id for each in named.data} == {other}
    memory.session("free", user_id="anna").create()
    assert len({each.document_id for each in chat.ask(asked(session_id="free")).data}) > 1


def test_a_user_reads_their_own_documents_and_the_library() -> None:
    """Passages of others are never found; those of the library are found by all; the same content is kept once."""
    library, memory = a_library()
    library.add(ANNA, "Fugues", "A fugue has a subject and an answer.")
    library.add(BRUNO, "Canons", "A fugue of Bruno's is a secret.")
    document, new = library.add(library_of("default"), "Shared", "Every fugue is counterpoint.")
    assert new
    assert library.add(library_of("default"), "Shared", "Every fugue is counterpoint.") == (document, False)
    answer = Chat(memory, answerer=Echo(), passages=library).ask(asked())
    assert {each.title for each in answer.data} == {"Fugues", "Shared"}
    only = Chat(memory, answerer=Echo(), passages=library).ask(asked(document_ids=[document.id]))
    assert {each.document_id for each in only.data} == {document.id}
    with pytest.raises(NotFoundError):
        library.document(ANNA, library.documents(BRUNO)[-1][0].id + "x")
    memory.close()


def test_a_library_is_indexed_once_however_many_ask_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """More users than indexes are kept ask in turns: the library's index is made once, one's own documents add one."""
    made: list[int] = []

    class Counting(PieceIndex):
        def __init__(self, pieces: Sequence[Piece], vectors: Any = None) -> None:
            made.append(len(pieces))
            super().__init__(pieces, vectors)

    monkeypatch.setattr("ricordo.documents.library.PieceIndex", Counting)
    library, memory = a_library()
    library.add(library_of("default"), "Shared", "Every fugue is counterpoint.")
    library.add(ANNA, "Fugues", "A fugue has a subject and an answer.")
    for _ in range(2):
        for user in ("anna", *(f"user-{number}" for number in range(INDEXES + 2))):
            found = library.find(ChatRequest("What is a fugue?", user), Asked("What is a fugue?"), 5)
            assert len(found) == (2 if user == "anna" else 1)
    assert sorted(made) == [1, 2]
    memory.close()


def test_an_application_brings_its_own_search() -> None:
    """Whatever finds passages is asked with what the question means, and what it finds is offered and cited."""

    class Own:
        def find(self, request: ChatRequest, asked: Asked, limit: int) -> list[Passage]:
            heard.append((request.user_id, asked.question, limit))
            return [Passage(Chunk("own-1", "A fugue has a subject and an answer."), 0.9, "d", "Own")]

    heard: list[tuple[str, str, int]] = []
    memory = Memory(MemoryStore(), settings())
    answer = Chat(memory, answerer=Reader(), passages=Own()).ask(ChatRequest("What does a fugue have?", "anna"))
    assert heard == [("anna", "What does a fugue have?", memory.settings.budget.chunks_first)]
    assert answer.metadata["citations"] == ["own-1"]
    assert [each.title for each in answer.data] == ["Own"]
    memory.close()


@pytest.mark.parametrize("text", ["", "  \n ", "a\0b", b"\xff\xfe"])
def test_what_holds_no_text_is_no_document(text: str | bytes) -> None:
    """Blank, broken or undecodable content is refused."""
    library, memory = a_library()
    with pytest.raises(ValidationError):
        library.add(ANNA, "Nothing", text)
    assert library.documents(ANNA) == []
    memory.close()


def test_steps_become_spans_without_a_word() -> None:
    """With OpenTelemetry configured an answer is a span with one child a step, and no attribute holds what was said."""
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    from ricordo.chat import response

    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    known = {"answerer": "echo", "tokens": {"prompt": 7, "completion": 2}, "turn_number": 1, "degraded": []}
    response.trace("s1", {"load": 1.0, "answer": 2.0}, known, provider.get_tracer("test"))
    *steps, whole = exporter.get_finished_spans()
    assert [span.name for span in steps] == ["chat.load", "chat.answer"]
    assert whole.attributes is not None
    assert whole.attributes["gen_ai.conversation.id"] == "s1"
    assert whole.attributes["gen_ai.usage.input_tokens"] == 7
    assert all(span.parent is not None and span.parent.span_id == whole.context.span_id for span in steps)
    assert whole.end_time - whole.start_time == 3_000_000
    provider.shutdown()
