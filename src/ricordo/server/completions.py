"""Chat completions with memory: whose talk it is, what is asked, and how the answer is kept.

A client sends its own copy of the talk with every request. Its last user message is the question; its system message
stays the base prompt; its earlier messages stay the history, in its words and order; what is remembered beyond them
(profile, summary, recalled messages, passages) is laid around. A request that holds the question alone gets our
history. The session is the one that is named, or else the one that began with the same words.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from uuid import UUID, uuid5

from ricordo.chat.answerers import Answered, Model, Reader, Task
from ricordo.chat.events import ChatRequest, ChatResponse, Delta, Done, Event
from ricordo.chat.pipeline import Chat
from ricordo.errors import NotFoundError, ValidationError
from ricordo.languages.detect import language_of
from ricordo.memory import Memory
from ricordo.prompt.context import Asked, Context
from ricordo.records.turns import Chunk, Turn
from ricordo.session import Session

NOTHING = "(nothing)"  # what a tool said that said nothing: a message needs words
_TALKS = UUID("6f0f3c1e-9b1d-5f0e-a6a5-0b6f6f2f7c21")


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request of OpenAI's shape, and whose it is."""

    user_id: str
    agent_id: str
    session_id: object
    messages: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything for the answer; the question is kept already. `messages` are sent on, `asked` are the client's."""

    session: Session
    turn: Turn
    question: str
    context: Context
    messages: tuple[Mapping[str, Any], ...]
    chunks: tuple[Chunk, ...]
    options: Mapping[str, Any]
    model: str
    asked: tuple[Mapping[str, Any], ...]
    composing_ms: float

    @property
    def session_id(self) -> str:
        """The session that the turn is in."""
        return self.session.id

    @property
    def turn_id(self) -> str:
        """The turn that is being answered."""
        return self.turn.id


class Completing:
    """Answers requests of OpenAI's shape with a chat's memory, documents and answerer."""

    def __init__(self, chat: Chat, memory: Memory) -> None:
        self._chat = chat
        self._memory = memory

    def prepare(self, request: CompletionRequest) -> Prepared:
        """Keep the question, and compose everything for its answer."""
        talk = [dict(message) for message in request.messages]
        asked_at = max((at for at, each in enumerate(talk) if each.get("role") == "user"), default=None)
        if asked_at is None:
            raise ValidationError("messages", "there is no user message to answer")
        question = text_of(talk[asked_at])
        session = self._session(request, talk)
        place = sum(each.get("role") == "user" for each in talk[: asked_at + 1])
        turn = session.ask(question, turn_id=str(uuid5(_TALKS, f"{session.id}/{place}/{question}"))).turn
        self._keep_steps(session, turn, talk[asked_at + 1 :])
        passages: list[Chunk] = []

        def find(asked: Asked) -> Sequence[Chunk]:
            passages.extend(self._chat.passages(ChatRequest(question, request.user_id), asked))
            return passages

        system = "\n\n".join(text_of(each) for each in talk if each.get("role") in ("system", "developer"))
        begun = perf_counter()
        with self._memory.store.without_waiting():  # what a database does not tell at once, the chat goes without
            context = session.context(question, chunks=find, system=system or None)
        took = (perf_counter() - begun) * 1_000
        kept = {item.id for item in context.receipt.items if item.section == "chunks" and item.kept}
        return Prepared(
            session,
            turn,
            question,
            context,
            _laid_around(context, talk, asked_at),
            tuple(chunk for chunk in passages if chunk.id in kept),
            request.options,
            self._chat.answerer.name,
            tuple(talk),
            took,
        )

    def events(self, prepared: Prepared) -> Generator[Event, None, None]:
        """The answer as it comes, ending with `Done`; kept before the end is told."""
        if prepared.turn.answer is not None:
            yield from self._again(prepared, prepared.turn.answer.content)
            return
        pieces = self._pieces(prepared)
        while True:
            try:
                piece = next(pieces)
            except StopIteration as ended:
                answered: Answered = ended.value
                break
            yield Delta(piece)
        yield Done(self._keep(prepared, answered))

    def _pieces(self, prepared: Prepared) -> Generator[str, None, Answered]:
        context, answerer = prepared.context, self._chat.answerer
        if context.crisis:
            text = self._chat.on_crisis(context.crisis)
            yield text
            return Answered(text, (), (), 1.0, "safety")
        language = language_of(prepared.question).code
        task = Task(prepared.question, context, prepared.chunks, (), language)
        if isinstance(answerer, Model):
            return (yield from answerer.stream_messages(task, prepared.messages, prepared.options))
        return (yield from Reader().answer(task))

    def _keep(self, prepared: Prepared, answered: Answered) -> ChatResponse:
        completion = answered.completion
        calls = completion.tool_calls if completion else ()
        if calls:
            if (
                self._memory.store.turns.get(prepared.turn.owner, prepared.turn_id) is None
            ):  # a message would begin it anew
                raise NotFoundError("the session was deleted meanwhile: this answer is not kept")
            prepared.session.add_message("assistant", answered.text, tool_calls=calls)
        else:
            prepared.session.answer(
                prepared.turn,
                answered.text,
                chunk_ids=answered.cited,
                metadata={"answerer": answered.answerer, "confidence": answered.confidence},
                receipt=prepared.context.receipt,
            )
        return self._response(prepared, answered.text, answered)

    def _again(self, prepared: Prepared, text: str) -> Generator[Event, None, None]:
        """The same request once more: the answer that is kept."""
        yield Delta(text)
        yield Done(self._response(prepared, text, None))

    def _response(self, prepared: Prepared, text: str, answered: Answered | None) -> ChatResponse:
        completion = answered.completion if answered else None
        count = self._memory.counter.count
        tokens = {
            "prompt": completion.prompt_tokens if completion else prepared.context.receipt.total_tokens,
            "completion": completion.completion_tokens if completion else count(text),
            "exact": completion.tokens_exact if completion else self._memory.counter.exact,
        }
        metadata = {
            "turn_id": prepared.turn_id,
            "tokens": tokens,
            "tool_calls": [dict(call) for call in completion.tool_calls] if completion else [],
            "finish_reason": completion.finish_reason if completion else "stop",
            "degraded": list(answered.notes) if answered else [],
        }
        return ChatResponse(prepared.question, text, (), "other", 0.0, prepared.session_id, metadata)

    def _session(self, request: CompletionRequest, talk: Sequence[Mapping[str, Any]]) -> Session:
        """The session that is named, or the one that began with the same words."""
        given = request.session_id
        if given is None:
            first = next(text_of(each) for each in talk if each.get("role") == "user")
            given = str(uuid5(_TALKS, f"{request.user_id}/{request.agent_id}/{first}"))
        return self._memory.session(str(given), user_id=request.user_id, agent_id=request.agent_id)

    def _keep_steps(self, session: Session, turn: Turn, steps: Sequence[Mapping[str, Any]]) -> None:
        """Keep what tools answered since the question was asked; what is kept already is not kept twice."""
        known = {step.tool_call_id for step in turn.steps if step.role == "tool"}
        for step in steps:
            if step.get("role") == "tool" and step.get("tool_call_id") not in known:
                session.add_message(
                    "tool", text_of(step) or NOTHING, tool_call_id=str(step.get("tool_call_id") or "tool")
                )


def text_of(message: Mapping[str, Any]) -> str:
    """The words of a message; of several parts, those that are text."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def _laid_around(context: Context, talk: Sequence[Mapping[str, Any]], asked_at: int) -> tuple[Mapping[str, Any], ...]:
    """What is sent on: our system message and our last one; between them the client's history, or ours if it has none.

    The client's own question may hold pictures or other parts: then memory stands in a message before it.
    """
    own = [each for each in talk[:asked_at] if each.get("role") not in ("system", "developer")]
    system = [message for message in context.messages if message["role"] == "system"]
    ours = [message for message in context.messages[:-1] if message["role"] != "system"]
    asked = talk[asked_at]
    last: list[Mapping[str, Any]] = [context.messages[-1]]
    if not isinstance(asked.get("content"), str):
        last = [asked] if context.messages[-1]["content"] == text_of(asked) else [context.messages[-1], asked]
    return (*system, *(own or ours), *last, *talk[asked_at + 1 :])
