"""A model that fails is never an answer: the question stays open, nothing is stored, and it is asked again."""

from collections.abc import Generator, Mapping, Sequence
from typing import Any

import pytest
from chat_samples import settings

from ricordo.chat import Chat, ChatRequest
from ricordo.chat.response import Delta, Done, Event
from ricordo.engine import Completion
from ricordo.errors import LLMError
from ricordo.memory import Memory
from ricordo.stores.memory import MemoryStore
from ricordo.testing.fakes import ScriptedLLM

ASKED = {"query": "What does a wombat eat?", "user_id": "anna", "turn_id": "t1"}


class CutModel(ScriptedLLM):
    """Breaks off after the first word, once; then it answers."""

    def stream(
        self, messages: Sequence[Mapping[str, Any]], *, max_tokens: int | None = None, options: Any = None
    ) -> Generator[str, None, Completion]:
        if len(self.asked) == 0:
            self.asked.append([dict(message) for message in messages])
            yield "It"
            raise LLMError("the connection was cut")
        return (yield from super().stream(messages, max_tokens=max_tokens, options=options))


MODELS = {
    "error": lambda: ScriptedLLM(LLMError("401: the key was refused"), "Grass."),
    "timeout": lambda: ScriptedLLM(LLMError("no answer within 60 s"), "Grass."),
    "empty": lambda: ScriptedLLM("  ", "Grass."),
    "cut": lambda: CutModel("Grass."),
}


@pytest.mark.parametrize("failure", MODELS)
def test_a_failed_model_stores_nothing_and_is_asked_again(failure: str) -> None:
    """Whatever fails, the turn stays open; asking the same turn again asks the model, and its answer is stored."""
    with Memory(MemoryStore(), settings(), llm=MODELS[failure]()) as memory:
        chat = Chat(memory)
        with pytest.raises(LLMError):
            chat.ask(ChatRequest(**ASKED))
        (session,) = memory.sessions(user_id="anna")
        (turn,) = memory.session(session.id, user_id="anna").history()
        assert turn.is_open
        answer = chat.ask(ChatRequest(**ASKED, session_id=session.id))
        assert answer.message == "Grass."
        (turn,) = memory.session(session.id, user_id="anna").history()
        assert turn.response == "Grass."


@pytest.mark.parametrize("reason", ["length", "content_filter"])
@pytest.mark.parametrize(("query", "said"), [("What is it?", "not whole"), ("Che cos'è?", "non è intera")])
def test_an_answer_that_the_model_ended_early_is_marked(reason: str, query: str, said: str) -> None:
    """It is kept, with the reason and a sentence in the response, in the stored turn, and when it is sent again."""
    llm = ScriptedLLM(Completion("It is an animal that", "scripted", 3, 5, finish_reason=reason))
    with Memory(MemoryStore(), settings(), llm=llm) as memory:
        chat = Chat(memory)
        answer = chat.ask(ChatRequest(query=query, user_id="anna", turn_id="t1"))
        (turn,) = memory.session(answer.session_id, user_id="anna").history()
        again = chat.ask(ChatRequest(query=query, user_id="anna", turn_id="t1", session_id=answer.session_id))
    assert turn.response == "It is an animal that"
    for known in (answer.metadata, turn.metadata, again.metadata):
        assert known["unfinished"] == reason
        assert said in known["degraded"][0]


def test_a_whole_answer_has_no_such_mark() -> None:
    """A model that ends by itself leaves nothing to say."""
    with Memory(MemoryStore(), settings(), llm=ScriptedLLM("Grass.")) as memory:
        answer = Chat(memory).ask(ChatRequest(**ASKED))
        (turn,) = memory.session(answer.session_id, user_id="anna").history()
    assert (answer.metadata["unfinished"], answer.metadata["degraded"]) == ("", [])
    assert not {"unfinished", "degraded"} & set(turn.metadata)


def _noted(events: Generator[Event, None, None], seen: list[Event]) -> Generator[Event, None, None]:
    """Notes each event as it comes and passes none on, so that those before an error are known."""
    for event in events:
        seen.append(event)
        yield from ()


def test_a_failed_model_ends_the_events_without_done() -> None:
    """A caller that streams gets what was said and then the error, never the end of an answer."""
    with Memory(MemoryStore(), settings(), llm=MODELS["cut"]()) as memory:
        seen: list[Event] = []
        with pytest.raises(LLMError):
            seen.extend(_noted(Chat(memory).respond(ChatRequest(**ASKED)), seen))
        assert [event.text for event in seen if isinstance(event, Delta)] == ["It"]
        assert not any(isinstance(event, Done) for event in seen)


@pytest.mark.parametrize(("query", "said"), [("What is it?", "did not answer"), ("Che cos'è?", "non ha risposto")])
def test_the_reader_stands_in_only_where_the_settings_say_so(query: str, said: str) -> None:
    """Its answer begins with a sentence that says so, in the language of the question, and the notes name the cause."""
    chosen = settings(model_fallback="reader")
    with Memory(MemoryStore(), chosen, llm=ScriptedLLM(LLMError("429: too many requests"))) as memory:
        answer = Chat(memory).ask(ChatRequest(query=query, user_id="anna"))
    assert said in answer.message.splitlines()[0]
    assert answer.metadata["answerer"] == "reader"
    assert any("429" in note for note in answer.metadata["degraded"])


def test_a_model_that_is_cut_is_not_completed_by_the_reader() -> None:
    """Half an answer of a model and the reader's words must not pass for one answer."""
    with (
        Memory(MemoryStore(), settings(model_fallback="reader"), llm=MODELS["cut"]()) as memory,
        pytest.raises(LLMError),
    ):
        Chat(memory).ask(ChatRequest(**ASKED))
