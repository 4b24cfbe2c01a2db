"""Chat completions with memory, for clients that send the whole conversation with every request.

The last user message is the question. The client's system message is the base prompt, and its earlier messages are the
history; memory adds profile, summary, recalled messages and passages. A request with the question alone gets the stored
history. The session is the named one, or else the one whose first user message is the same.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any
from uuid import UUID, uuid5

from ricordo.chat.answerers import Answered, Model, Reader, Task
from ricordo.chat.pipeline import Chat
from ricordo.chat.response import ChatRequest, ChatResponse, Delta, Done, Event
from ricordo.errors import NotFoundError, ValidationError
from ricordo.languages.text import language_of
from ricordo.memory import Memory
from ricordo.prompt.context import Context
from ricordo.records.turns import Asked, Chunk, Turn
from ricordo.session import Session

EMPTY_RESULT = "(nothing)"  # stored for an empty tool result, because a message needs text
_NAMESPACE = UUID("6f0f3c1e-9b1d-5f0e-a6a5-0b6f6f2f7c21")


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request in OpenAI's format, with its user and session."""

    user_id: str
    agent_id: str
    session_id: object
    messages: Sequence[Mapping[str, Any]]
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PreparedCompletion:
    """What the answer needs; the question is stored. `messages` go to the model, `sent` are the client's."""

    session: Session
    turn: Turn
    question: str
    context: Context
    messages: tuple[Mapping[str, Any], ...]
    chunks: tuple[Chunk, ...]
    options: Mapping[str, Any]
    model: str
    sent: tuple[Mapping[str, Any], ...]
    context_ms: float

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.session.id

    @property
    def turn_id(self) -> str:
        """The id of the turn that is being answered."""
        return self.turn.id


class Completions:
    """Answers requests in OpenAI's format with a chat's memory, documents and answerer."""

    def __init__(self, chat: Chat, memory: Memory) -> None:
        self._chat = chat
        self._memory = memory

    def prepare(self, request: CompletionRequest) -> PreparedCompletion:
        """Store the question, and compose the prompt for its answer."""
        sent = [dict(message) for message in request.messages]
        asked_at = max((at for at, each in enumerate(sent) if each.get("role") == "user"), default=None)
        if asked_at is None:
            raise ValidationError("messages", "there is no user message to answer")
        question = text_of(sent[asked_at])
        session = self._session(request, sent)
        number = sum(each.get("role") == "user" for each in sent[: asked_at + 1])
        turn = session.ask(question, turn_id=str(uuid5(_NAMESPACE, f"{session.id}/{number}/{question}"))).turn
        self._store_steps(session, turn, sent[asked_at + 1 :])
        passages: list[Chunk] = []

        def find(asked: Asked) -> Sequence[Chunk]:
            passages.extend(self._chat.passages(ChatRequest(question, request.user_id), asked))
            return passages

        system = "\n\n".join(text_of(each) for each in sent if each.get("role") in ("system", "developer"))
        started_at = perf_counter()
        with self._memory.store.without_waiting():  # do not wait for a slow database
            context = session.context(question, chunks=find, system=system or None)
        context_ms = (perf_counter() - started_at) * 1_000
        kept = {item.id for item in context.receipt.items if item.section == "chunks" and item.kept}
        return PreparedCompletion(
            session,
            turn,
            question,
            context,
            _merged_messages(context, sent, asked_at),
            tuple(chunk for chunk in passages if chunk.id in kept),
            request.options,
            self._chat.answerer.name,
            tuple(sent),
            context_ms,
        )

    def events(self, prepared: PreparedCompletion) -> Generator[Event, None, None]:
        """The events of the answer, ending with `Done`; it is stored before `Done`."""
        if prepared.turn.answer is not None:
            yield from self._stored_answer(prepared, prepared.turn.answer.content)
            return
        pieces = self._pieces(prepared)
        while True:
            try:
                piece = next(pieces)
            except StopIteration as stop:
                answered: Answered = stop.value
                break
            yield Delta(piece)
        yield Done(self._store(prepared, answered))

    def _pieces(self, prepared: PreparedCompletion) -> Generator[str, None, Answered]:
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

    def _store(self, prepared: PreparedCompletion, answered: Answered) -> ChatResponse:
        completion = answered.completion
        calls = completion.tool_calls if completion else ()
        if calls:
            if (
                self._memory.store.turns.get(prepared.turn.owner, prepared.turn_id) is None
            ):  # adding a message would create it
                raise NotFoundError("the session was deleted meanwhile: this answer is not stored")
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

    def _stored_answer(self, prepared: PreparedCompletion, text: str) -> Generator[Event, None, None]:
        """The stored answer, for a repeated request."""
        yield Delta(text)
        yield Done(self._response(prepared, text, None))

    def _response(self, prepared: PreparedCompletion, text: str, answered: Answered | None) -> ChatResponse:
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

    def _session(self, request: CompletionRequest, sent: Sequence[Mapping[str, Any]]) -> Session:
        """The session that is named, or the one with the same first user message."""
        session_id = request.session_id
        if session_id is None:
            first = next(text_of(each) for each in sent if each.get("role") == "user")
            session_id = str(uuid5(_NAMESPACE, f"{request.user_id}/{request.agent_id}/{first}"))
        return self._memory.session(str(session_id), user_id=request.user_id, agent_id=request.agent_id)

    def _store_steps(self, session: Session, turn: Turn, steps: Sequence[Mapping[str, Any]]) -> None:
        """Store the tool results since the question, each once."""
        known = {step.tool_call_id for step in turn.steps if step.role == "tool"}
        for step in steps:
            if step.get("role") == "tool" and step.get("tool_call_id") not in known:
                session.add_message(
                    "tool", text_of(step) or EMPTY_RESULT, tool_call_id=str(step.get("tool_call_id") or "tool")
                )


def text_of(message: Mapping[str, Any]) -> str:
    """The text of a message; of several parts, the text parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


def _merged_messages(
    context: Context, sent: Sequence[Mapping[str, Any]], asked_at: int
) -> tuple[Mapping[str, Any], ...]:
    """The messages for the model: the context's system and last message around the client's history, or the stored one.

    If the client's question has parts other than text, it follows unchanged after the message with the memory.
    """
    history = [each for each in sent[:asked_at] if each.get("role") not in ("system", "developer")]
    system = [message for message in context.messages if message["role"] == "system"]
    stored = [message for message in context.messages[:-1] if message["role"] != "system"]
    question = sent[asked_at]
    last: list[Mapping[str, Any]] = [context.messages[-1]]
    if not isinstance(question.get("content"), str):
        last = [question] if context.messages[-1]["content"] == text_of(question) else [context.messages[-1], question]
    return (*system, *(history or stored), *last, *sent[asked_at + 1 :])
