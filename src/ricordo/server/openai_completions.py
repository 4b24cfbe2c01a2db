"""Answers with memory for clients of OpenAI, which send the whole conversation or the new question alone.

The last user message is the question. The client's system message is the base prompt, and its earlier messages are the
history; memory adds profile, summary, recalled messages and passages. A request with the question alone gets the stored
history. The session is the named one, or else the one whose turns are the whole history that the client sends; an
equal beginning is not enough. Without a model the chat answers as on the other faces.
"""

import json
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, field, replace
from hashlib import sha256
from time import perf_counter
from typing import TYPE_CHECKING, Any

from starlette.concurrency import run_in_threadpool

from ricordo.chat.answerers import Answered, Answerer, Model, Task
from ricordo.chat.pipeline import Chat
from ricordo.chat.response import STOPPED, ChatRequest, ChatResponse, Delta, Done, Event, Started
from ricordo.engine.core import new_id
from ricordo.errors import ConflictError, LLMError, NotFoundError, RicordoError
from ricordo.limits import check_text
from ricordo.memory import Memory
from ricordo.prompt.context import Context
from ricordo.records.turns import Asked, Chunk, Owner, Turn, message_id
from ricordo.server.sent_messages import Json, Pair, SentMessages, TurnFinder, TurnPlace, call_ids, pair_of, text_of
from ricordo.session import Session

if TYPE_CHECKING:
    from ricordo.server.service import RequestUser
    from ricordo.server.streams import AnswerStream

EMPTY_RESULT = "(nothing)"  # stored for an empty tool result, because a message needs text
TURNS_COPIED = 50  # newest turns of a history that is stored in no session
VERSIONS_KEPT = 5
VERSION_CHARACTERS = 4_000  # kept of each earlier version


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request in OpenAI's format, with its user and session. The same `turn_id` means the same request again.

    `choices` is how many answers are wanted; the first one is stored.
    """

    user_id: str
    agent_id: str
    session_id: object
    messages: Sequence[Json]
    options: Json = field(default_factory=dict)
    turn_id: str | None = None
    choices: int = 1
    project: str | None = None


@dataclass(frozen=True, slots=True)
class PreparedCompletion:
    """What the answer needs. With a model the question is stored as `turn`; without one the chat stores it.

    With `by_client` nothing is stored: the client adds question and answer to its conversation itself.
    """

    session: Session
    turn_id: str
    sent: SentMessages
    options: Json
    model: str
    choices: int = 1
    replaces: Turn | None = None
    turn: Turn | None = None
    context: Context | None = None
    messages: tuple[Json, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    context_ms: float = 0.0
    by_client: bool = False

    @property
    def session_id(self) -> str:
        return self.session.id

    @property
    def digest(self) -> str:
        """The digest of the request: a turn with tool calls has several answers, each to another request."""
        return sha256(json.dumps([self.sent.messages, self.options], default=str).encode()).hexdigest()

    @property
    def answer_name(self) -> str:
        """The key of the running answer; a repeated request has the same key."""
        return f"{self.turn_id}/{self.digest[:16]}"

    @property
    def object_id(self) -> str:
        """The part of an OpenAI object id that comes from the answer."""
        return sha256(f"{self.turn_id}/{self.digest}".encode()).hexdigest()[:40]


class Completions:
    """Answers requests in OpenAI's format with a chat's memory, documents and answerer."""

    def __init__(self, chat: Chat, memory: Memory, answerer: Answerer | None = None) -> None:
        self._chat = chat
        self._memory = memory
        self._answerer = answerer or chat.answerer

    def prepare(self, request: CompletionRequest) -> PreparedCompletion:
        """Find the session and the turn; for a model, store the question and compose the prompt for its answer."""
        sent = SentMessages.of(request.messages)
        check_text(f"messages.{sent.asked_at}.content", sent.question, self._memory.settings.limits)
        prepared = self._placed(request, sent)
        return self._composed(self._asked(prepared)) if isinstance(self._answerer, Model) else prepared

    def events(
        self, prepared: PreparedCompletion, stop: Callable[[], bool] = lambda: False
    ) -> Generator[Event, None, None]:
        """The events of the answer, ending with `Done`; it is stored before `Done`."""
        if prepared.turn is None or prepared.context is None:
            yield from self._from_chat(prepared, stop)
        elif prepared.turn.answer is not None:
            yield Delta(prepared.turn.answer.content)
            yield Done(self._response(prepared, prepared.turn.answer.content, None))
        else:
            yield from self._from_model(prepared, prepared.turn, prepared.context, stop)

    def _placed(self, request: CompletionRequest, sent: SentMessages) -> PreparedCompletion:
        """The session and the turn that the question belongs to."""
        owner = Owner(self._memory.settings.tenant_id, request.user_id)
        known = self._memory.store.turns.get(owner, request.turn_id) if request.turn_id else None
        if known is not None and known.query != sent.question:
            raise ConflictError("the request id belongs to another question; give each request its own")
        if known is not None:
            found = TurnPlace(known.session_id, known)
        else:
            named = None if request.session_id is None else str(request.session_id)
            finder = TurnFinder(self._memory, owner, sent, agent_id=request.agent_id, session_id=named)
            found = finder.find()
        scope = {"user_id": request.user_id, "agent_id": request.agent_id}
        session = self._memory.session(found.session_id, **scope, project=request.project)
        if found.turn is None:
            self._begin(session, found, sent.pairs if found.session_id is None else ())
        turn_id = found.turn.id if found.turn else request.turn_id or new_id(self._memory.clock.now())
        name, wanted = self._answerer.name, request.choices
        prepared = PreparedCompletion(session, turn_id, sent, request.options, name, wanted, found.replaces, found.turn)
        return replace(prepared, by_client=found.by_client)

    def _asked(self, prepared: PreparedCompletion) -> PreparedCompletion:
        """The same with the question and its tool results stored."""
        turn = prepared.turn
        if turn is None:
            metadata = _version(prepared.replaces) if prepared.replaces else {}
            turn = prepared.session.ask(prepared.sent.question, turn_id=prepared.turn_id, metadata=metadata).turn
        self._drop_replaced(prepared)
        if not prepared.by_client:
            self._store_steps(prepared.session, turn, prepared.sent.steps)
        return replace(prepared, turn=turn)

    def _drop_replaced(self, prepared: PreparedCompletion) -> None:
        """Delete the turn that this question replaces; the new turn keeps the old answer as an earlier version."""
        if (old := prepared.replaces) is not None:
            self._memory.store.turns.delete(old.owner, old.session_id, [old.turn_number])

    def _begin(self, session: Session, found: TurnPlace, pairs: Sequence[Pair]) -> None:
        """Create the session if there is none, with the turns that the client's history has before the question."""
        session.create(metadata={"branch_of": found.branch_of} if found.branch_of else {})
        dates = {pair_of(turn): turn.created_at for turn in found.earlier}
        for pair in pairs[-TURNS_COPIED:]:
            if all(pair):
                session.add_turn(*pair, created_at=dates.get(pair))

    def _composed(self, prepared: PreparedCompletion) -> PreparedCompletion:
        """The same with the prompt for the model."""
        sent, session, passages = prepared.sent, prepared.session, list[Chunk]()

        def find(asked: Asked) -> Sequence[Chunk]:
            request = ChatRequest(sent.question, session.user_id, session.agent_id, session.id)
            passages.extend(self._chat.passages(request, asked))
            return passages

        started_at = perf_counter()
        with self._memory.store.without_waiting():  # do not wait for a slow database
            context = session.context(sent.question, chunks=find, system=sent.system or None)
        kept = {item.id for item in context.receipt.items if item.section == "chunks" and item.kept}
        return replace(
            prepared,
            context=context,
            messages=_merged_messages(context, sent),
            chunks=tuple(chunk for chunk in passages if chunk.id in kept),
            context_ms=(perf_counter() - started_at) * 1_000,
        )

    def _from_chat(self, prepared: PreparedCompletion, stop: Callable[[], bool]) -> Generator[Event, None, None]:
        """The answer of the chat, as on every other face."""
        session = prepared.session
        request = ChatRequest(
            prepared.sent.question,
            session.user_id,
            session.agent_id,
            session.id,
            prepared.turn_id,
            metadata=_version(prepared.replaces) if prepared.replaces else {},
            stop=stop,
        )
        for event in self._chat.respond(request):
            if isinstance(event, Started):
                self._drop_replaced(prepared)
            elif isinstance(event, Delta):
                yield event
            elif isinstance(event, Done):
                done = self._response(prepared, event.response.message, None)
                yield Done(replace(done, metadata={**event.response.metadata, **done.metadata}))

    def _from_model(
        self, prepared: PreparedCompletion, turn: Turn, context: Context, stop: Callable[[], bool]
    ) -> Generator[Event, None, None]:
        try:
            answered = yield from self._deltas(prepared, context, stop)
            others = [_exhausted(self._pieces(prepared, context)) for _ in range(1, prepared.choices)]
        except LLMError as error:
            language = self._chat.language(turn.query, prepared.session)
            if not prepared.by_client:
                self._chat.mark_failed(prepared.session.user_id, prepared.turn_id, error, language)
            raise
        yield Done(self._store(prepared, turn, context, answered, others))

    def _deltas(
        self, prepared: PreparedCompletion, context: Context, stop: Callable[[], bool]
    ) -> Generator[Event, None, Answered]:
        """The answer in pieces. If it is stopped, the text so far is the answer."""
        pieces = self._pieces(prepared, context)
        said: list[str] = []
        try:
            while not stop():
                said.append(next(pieces))
                yield Delta(said[-1])
        except StopIteration as ended:
            answered: Answered = ended.value
            return answered
        pieces.close()
        if not said:
            raise LLMError("the answer was stopped before its first word", cause="stopped")
        return Answered("".join(said), (), (), 0.0, self._answerer.name, notes=(STOPPED,))

    def _pieces(self, prepared: PreparedCompletion, context: Context) -> Generator[str, None, Answered]:
        answerer = self._answerer
        if context.crisis:
            text = self._chat.on_crisis(context.crisis)
            yield text
            return Answered(text, (), (), 1.0, "safety")
        session, question = prepared.session, prepared.sent.question
        language = self._chat.language(question, session)
        past = self._chat.past(session.user_id, session.agent_id, prepared.turn_id)
        task = Task(question, context, prepared.chunks, (), language, past=past)
        assert isinstance(answerer, Model)
        return (yield from answerer.stream_messages(task, prepared.messages, prepared.options))

    def _store(
        self,
        prepared: PreparedCompletion,
        turn: Turn,
        context: Context,
        answered: Answered,
        others: Sequence[Answered] = (),
    ) -> ChatResponse:
        completion = answered.completion
        calls = completion.tool_calls if completion else ()
        if prepared.by_client:
            stored_as = message_id(turn.id, len(turn.steps) + 1 if calls else "response")
        elif calls:
            if self._memory.store.turns.get(turn.owner, turn.id) is None:
                # Adding a message would create it again.
                raise NotFoundError("the session was deleted meanwhile: this answer is not stored")
            stored_as = prepared.session.add_message("assistant", answered.text, tool_calls=calls).id
        else:
            known = {"answerer": answered.answerer, "confidence": answered.confidence}
            if answered.unfinished:
                known |= {"unfinished": answered.unfinished, "degraded": list(answered.notes)}
            prepared.session.answer(
                turn,
                answered.text,
                chunk_ids=answered.cited,
                metadata=known | ({"stopped": True} if STOPPED in answered.notes else {}),
                receipt=context.receipt,
            )
            stored_as = message_id(turn.id, "response")
        response = self._response(prepared, answered.text, answered)
        tokens = response.metadata["tokens"]
        choices = [self._response(prepared, other.text, other) for other in others]
        added = sum(each.metadata["tokens"]["completion"] for each in choices)
        more = {
            "message_id": stored_as,
            "tokens": {**tokens, "completion": tokens["completion"] + added},
            "choices": [_choice(each) for each in choices],
        }
        return replace(response, metadata={**response.metadata, **more})

    def _response(self, prepared: PreparedCompletion, text: str, answered: Answered | None) -> ChatResponse:
        completion = answered.completion if answered else None
        counter = self._memory.counter
        asked = prepared.context.receipt.total_tokens if prepared.context else counter.count(prepared.sent.question)
        metadata: dict[str, Any] = {
            "turn_id": prepared.turn_id,
            "message_id": message_id(prepared.turn_id, "response"),
            "tokens": {
                "prompt": completion.prompt_tokens if completion else asked,
                "completion": completion.completion_tokens if completion else counter.count(text),
                "exact": completion.tokens_exact if completion else counter.exact,
            },
            "tool_calls": [dict(call) for call in completion.tool_calls] if completion else [],
            "finish_reason": completion.finish_reason if completion else "stop",
            "degraded": list(answered.notes) if answered else [],
            "stopped": bool(answered and STOPPED in answered.notes),
        }
        response = ChatResponse(prepared.sent.question, text, (), "other", 0.0, prepared.session_id, metadata)
        if answered is None:  # the stored answer, for every choice
            metadata["choices"] = [_choice(response)] * (prepared.choices - 1)
        return response

    def _store_steps(self, session: Session, turn: Turn, steps: Sequence[Json]) -> None:
        """Store the tool calls and results since the question, each once."""
        results = {step.tool_call_id for step in turn.steps if step.role == "tool"}
        calls = call_ids(step.tool_calls for step in turn.steps)
        for step in steps:
            if step.get("role") == "tool" and step.get("tool_call_id") not in results:
                name = str(step.get("tool_call_id") or "tool")
                session.add_message("tool", text_of(step) or EMPTY_RESULT, tool_call_id=name)
            elif (asked := step.get("tool_calls")) and not call_ids([asked]) <= calls:
                session.add_message("assistant", text_of(step), tool_calls=asked)


def _choice(response: ChatResponse) -> dict[str, Any]:
    """One more answer to the same question."""
    known = response.metadata
    return {"message": response.message, **{key: known[key] for key in ("tool_calls", "finish_reason")}}


def _exhausted(pieces: Generator[str, None, Answered]) -> Answered:
    """The return value of a generator, after running it to the end."""
    while True:
        try:
            next(pieces)
        except StopIteration as ended:
            answered: Answered = ended.value
            return answered


def _version(replaced: Turn) -> dict[str, Any]:
    """The metadata of the next version of an answered turn."""
    known = replaced.metadata
    earlier = [*known.get("earlier_versions", ()), (replaced.response or "")[:VERSION_CHARACTERS]]
    return {"version": int(known.get("version", 1)) + 1, "earlier_versions": earlier[-VERSIONS_KEPT:]}


def _merged_messages(context: Context, sent: SentMessages) -> tuple[Json, ...]:
    """The messages for the model: the context's system and last message around the client's history, or the stored one.

    If the client's question has parts other than text, it follows unchanged after the message with the memory.
    """
    system = [message for message in context.messages if message["role"] == "system"]
    stored = [message for message in context.messages[:-1] if message["role"] != "system"]
    question = sent.messages[sent.asked_at]
    last: list[Json] = [context.messages[-1]]
    if not isinstance(question.get("content"), str):
        last = [question] if context.messages[-1]["content"] == text_of(question) else [context.messages[-1], question]
    return (*system, *(sent.history or stored), *last, *sent.steps)


async def prepare(
    user: "RequestUser", model: str, request: CompletionRequest
) -> tuple[Completions, PreparedCompletion]:
    """Store the question of a request for a model, and compose its prompt; ObjectNotFound if there is no such model."""
    answerer = await run_in_threadpool(user.service.answerer, user.caller.tenant_id, model)
    completions = Completions(await run_in_threadpool(lambda: user.chat), user.memory, answerer)
    prepared = await run_in_threadpool(completions.prepare, request)
    user.service.jobs.note(user.owner, prepared.session_id)
    if prepared.context:
        user.service.metrics.record_context(prepared.context_ms, prepared.context.receipt.total_tokens)
    return completions, prepared


def begin(
    user: "RequestUser",
    completions: Completions,
    prepared: PreparedCompletion,
    keep: Callable[[ChatResponse | Exception], None] = lambda result: None,
) -> "AnswerStream":
    """Start the answer, or join the running one of the same request; `keep` gets its end before any reader."""

    def work(stop: Callable[[], bool]) -> Generator[Event, None, None]:
        try:
            for event in completions.events(prepared, stop):
                if isinstance(event, Done):
                    if not prepared.context:
                        user.count_answer(event)
                    keep(event.response)
                yield event
        except RicordoError as error:
            keep(error)
            raise

    return user.service.answers.begin(user.owner, prepared.answer_name, work)
