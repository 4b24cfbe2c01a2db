"""Chat completions with memory, for clients that send the whole conversation with every request.

The last user message is the question. The client's system message is the base prompt, and its earlier messages are the
history; memory adds profile, summary, recalled messages and passages. A request with the question alone gets the stored
history. The session is the named one, or else the one whose turns are the history that the client sends: the same
opening alone joins no two chats. Without a model the chat answers as it does everywhere.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any

from ricordo.chat.answerers import Answered, Model, Task
from ricordo.chat.pipeline import Chat
from ricordo.chat.response import ChatRequest, ChatResponse, Delta, Done, Event, Started
from ricordo.engine.core import new_id
from ricordo.errors import ConflictError, LLMError, NotFoundError, ValidationError
from ricordo.limits import check_text
from ricordo.memory import Memory
from ricordo.prompt.context import Context
from ricordo.records.turns import Asked, Chunk, Owner, SessionInfo, Turn
from ricordo.session import Session

EMPTY_RESULT = "(nothing)"  # stored for an empty tool result, because a message needs text
SESSIONS_SEARCHED = 100  # most recently active ones, for the history of a client
TURNS_COPIED = 50  # newest turns of a history that is stored in no session
VERSIONS_KEPT = 5
VERSION_CHARACTERS = 4_000  # kept of each earlier version

Json = Mapping[str, Any]
Pair = tuple[str, str]  # a question and its answer


@dataclass(frozen=True, slots=True)
class CompletionRequest:
    """A request in OpenAI's format, with its user and session. The same `turn_id` means the same request again."""

    user_id: str
    agent_id: str
    session_id: object
    messages: Sequence[Json]
    options: Json = field(default_factory=dict)
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class SentMessages:
    """The messages of a client: where the question is, and what lies before and after it."""

    messages: tuple[Json, ...]
    asked_at: int

    @classmethod
    def of(cls, messages: Sequence[Json]) -> "SentMessages":
        """The messages; ValidationError if no user message is among them."""
        asked_at = max((at for at, each in enumerate(messages) if each.get("role") == "user"), default=None)
        if asked_at is None:
            raise ValidationError("messages", "there is no user message to answer")
        return cls(tuple(dict(each) for each in messages), asked_at)

    @property
    def question(self) -> str:
        """The text of the question."""
        return text_of(self.messages[self.asked_at])

    @property
    def system(self) -> str:
        """The client's own instructions."""
        return "\n\n".join(text_of(each) for each in self.messages if each.get("role") in ("system", "developer"))

    @property
    def history(self) -> tuple[Json, ...]:
        """The messages before the question, without instructions."""
        return tuple(each for each in self.messages[: self.asked_at] if each.get("role") not in ("system", "developer"))

    @property
    def steps(self) -> tuple[Json, ...]:
        """The tool calls and results since the question."""
        return self.messages[self.asked_at + 1 :]

    @property
    def pairs(self) -> list[Pair]:
        """The earlier questions with their answers."""
        found: list[Pair] = []
        asked = ""
        for each in self.history:
            if each.get("role") == "user":
                asked = text_of(each).strip()
            elif each.get("role") == "assistant" and not each.get("tool_calls") and asked:
                found.append((asked, text_of(each).strip()))
                asked = ""
        return found


@dataclass(frozen=True, slots=True)
class TurnPlace:
    """Where a question belongs: in a session, in a turn that has no answer yet, or in place of an answered one."""

    session_id: str | None = None
    turn: Turn | None = None
    replaces: Turn | None = None
    branch_of: str | None = None
    earlier: Sequence[Turn] = ()


@dataclass(frozen=True, slots=True)
class PreparedCompletion:
    """What the answer needs. With a model the question is stored as `turn`; without one the chat stores it."""

    session: Session
    turn_id: str
    sent: SentMessages
    options: Json
    model: str
    replaces: Turn | None = None
    turn: Turn | None = None
    context: Context | None = None
    messages: tuple[Json, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    context_ms: float = 0.0

    @property
    def session_id(self) -> str:
        """The id of the session."""
        return self.session.id


class Completions:
    """Answers requests in OpenAI's format with a chat's memory, documents and answerer."""

    def __init__(self, chat: Chat, memory: Memory) -> None:
        self._chat = chat
        self._memory = memory

    def prepare(self, request: CompletionRequest) -> PreparedCompletion:
        """Find the session and the turn; for a model, store the question and compose the prompt for its answer."""
        sent = SentMessages.of(request.messages)
        check_text("messages", sent.question, self._memory.settings.limits)
        prepared = self._placed(request, sent)
        return self._composed(self._asked(prepared)) if isinstance(self._chat.answerer, Model) else prepared

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
            yield from self._from_model(prepared, prepared.turn, prepared.context)

    def _placed(self, request: CompletionRequest, sent: SentMessages) -> PreparedCompletion:
        """The session and the turn that the question belongs to."""
        owner = Owner(self._memory.settings.tenant_id, request.user_id)
        known = self._memory.store.turns.get(owner, request.turn_id) if request.turn_id else None
        if known is not None and known.query != sent.question:
            raise ConflictError("the request id belongs to another question; give each request its own")
        if known is not None:
            found = TurnPlace(known.session_id, known)
        else:
            found = TurnFinder(self._memory, owner, request, sent).find()
        session = self._memory.session(found.session_id, user_id=request.user_id, agent_id=request.agent_id)
        if found.turn is None:
            self._begin(session, found, sent.pairs if found.session_id is None else ())
        turn_id = found.turn.id if found.turn else request.turn_id or new_id(self._memory.clock.now())
        name = self._chat.answerer.name
        return PreparedCompletion(session, turn_id, sent, request.options, name, found.replaces, found.turn)

    def _asked(self, prepared: PreparedCompletion) -> PreparedCompletion:
        """The same with the question and its tool results stored."""
        turn = prepared.turn
        if turn is None:
            metadata = _version(prepared.replaces) if prepared.replaces else {}
            turn = prepared.session.ask(prepared.sent.question, turn_id=prepared.turn_id, metadata=metadata).turn
        self._drop_replaced(prepared)
        self._store_steps(prepared.session, turn, prepared.sent.steps)
        return replace(prepared, turn=turn)

    def _drop_replaced(self, prepared: PreparedCompletion) -> None:
        """Delete the turn of which the question asks a new version; that version keeps its answer."""
        if (old := prepared.replaces) is not None:
            self._memory.store.turns.delete(old.owner, old.session_id, [old.turn_number])

    def _begin(self, session: Session, found: TurnPlace, pairs: Sequence[Pair]) -> None:
        """Create the session if there is none, with the turns that the client's history has before the question."""
        session.create(metadata={"branch_of": found.branch_of} if found.branch_of else {})
        dates = {_pair(turn): turn.created_at for turn in found.earlier}
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

    def _from_model(self, prepared: PreparedCompletion, turn: Turn, context: Context) -> Generator[Event, None, None]:
        pieces = self._pieces(prepared, context)
        while True:
            try:
                piece = next(pieces)
            except StopIteration as stop:
                answered: Answered = stop.value
                break
            except LLMError as error:
                language = self._chat.language(turn.query, prepared.session)
                self._chat.mark_failed(prepared.session.user_id, prepared.turn_id, error, language)
                raise
            yield Delta(piece)
        yield Done(self._store(prepared, turn, context, answered))

    def _pieces(self, prepared: PreparedCompletion, context: Context) -> Generator[str, None, Answered]:
        answerer = self._chat.answerer
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

    def _store(self, prepared: PreparedCompletion, turn: Turn, context: Context, answered: Answered) -> ChatResponse:
        completion = answered.completion
        calls = completion.tool_calls if completion else ()
        if calls:
            if self._memory.store.turns.get(turn.owner, turn.id) is None:
                # Adding a message would create it again.
                raise NotFoundError("the session was deleted meanwhile: this answer is not stored")
            prepared.session.add_message("assistant", answered.text, tool_calls=calls)
        else:
            prepared.session.answer(
                turn,
                answered.text,
                chunk_ids=answered.cited,
                metadata={"answerer": answered.answerer, "confidence": answered.confidence},
                receipt=context.receipt,
            )
        return self._response(prepared, answered.text, answered)

    def _response(self, prepared: PreparedCompletion, text: str, answered: Answered | None) -> ChatResponse:
        completion = answered.completion if answered else None
        counter = self._memory.counter
        asked = prepared.context.receipt.total_tokens if prepared.context else counter.count(prepared.sent.question)
        metadata = {
            "turn_id": prepared.turn_id,
            "tokens": {
                "prompt": completion.prompt_tokens if completion else asked,
                "completion": completion.completion_tokens if completion else counter.count(text),
                "exact": completion.tokens_exact if completion else counter.exact,
            },
            "tool_calls": [dict(call) for call in completion.tool_calls] if completion else [],
            "finish_reason": completion.finish_reason if completion else "stop",
            "degraded": list(answered.notes) if answered else [],
        }
        return ChatResponse(prepared.sent.question, text, (), "other", 0.0, prepared.session_id, metadata)

    def _store_steps(self, session: Session, turn: Turn, steps: Sequence[Json]) -> None:
        """Store the tool calls and results since the question, each once."""
        results = {step.tool_call_id for step in turn.steps if step.role == "tool"}
        calls = _call_ids(step.tool_calls for step in turn.steps)
        for step in steps:
            if step.get("role") == "tool" and step.get("tool_call_id") not in results:
                name = str(step.get("tool_call_id") or "tool")
                session.add_message("tool", text_of(step) or EMPTY_RESULT, tool_call_id=name)
            elif (asked := step.get("tool_calls")) and not _call_ids([asked]) <= calls:
                session.add_message("assistant", text_of(step), tool_calls=asked)


class TurnFinder:
    """Finds the place of a question by the history that the client sends with it."""

    def __init__(self, memory: Memory, owner: Owner, request: CompletionRequest, sent: SentMessages) -> None:
        self._store = memory.store
        self._owner = owner
        self._named = None if request.session_id is None else str(request.session_id)
        self._agent_id = request.agent_id
        self._sent = sent
        self._pairs = sent.pairs

    def find(self) -> TurnPlace:
        """The place in the named session, else in the session with this history, else in a new session.

        The same question after the same history again asks for a new version of its turn. Another question there is
        an edit, and begins a branch: a session with a copy of the turns before it.
        """
        if self._named is not None:
            info = self._store.sessions.get(self._owner, self._named)
            return (info and self._in_session(info)) or TurnPlace(self._named)
        branch: TurnPlace | None = None
        for info in self._store.sessions.page(self._owner, limit=SESSIONS_SEARCHED, agent_id=self._agent_id):
            found = self._in_session(info)
            if found is not None and found.branch_of is None:
                return found
            branch = branch or found
        return branch or TurnPlace()

    def _in_session(self, info: SessionInfo) -> TurnPlace | None:
        """The place in a session; None if it is not the named one and its turns are not the history."""
        length, elsewhere = len(self._pairs), TurnPlace(info.id) if self._named is not None else None
        if self._named is None and (info.turn_count < length or (length < 2 and info.turn_count > length + 2)):
            return None
        recent = self._store.turns.page(self._owner, info.id, last=3)
        again = recent[-1] if recent and self._is_asked_again(recent[-1]) else None
        if self._named is not None and again:
            return TurnPlace(info.id, again)
        if length and self._pairs[-1] not in map(_pair, recent):
            return elsewhere
        turns = self._store.turns.page(self._owner, info.id, last=length + 2)
        answered = [turn for turn in turns if turn.answer is not None]
        said, whole = list(map(_pair, answered)), info.turn_count - len(turns) + len(answered)
        if self._is_end(said, whole) and (again or length):
            return TurnPlace(info.id, again)
        if length and said and self._is_end(said[:-1], whole - 1):
            if answered[-1].query == self._sent.question:
                return TurnPlace(info.id, replaces=answered[-1])
            if self._named is None:
                return TurnPlace(branch_of=info.id, earlier=answered[:-1])
        return elsewhere

    def _is_asked_again(self, turn: Turn) -> bool:
        """Whether this open turn is asked again: it failed, or the client sends the results of its tools."""
        if not turn.is_open or turn.query != self._sent.question:
            return False
        return turn.failure is not None or self._continues(turn)

    def _is_end(self, said: Sequence[Pair], whole: int) -> bool:
        """Whether the turns of a session end with the history.

        A short history must be the `whole` of an unnamed session; of a longer one the client may have cut a part.
        """
        length = len(self._pairs)
        if self._named is None and length < 2 and whole != length:
            return False
        return length == 0 or list(said[-length:]) == self._pairs

    def _continues(self, turn: Turn) -> bool:
        """Whether the client sends the results of the tools that this turn has called."""
        calls = _call_ids(step.tool_calls for step in turn.steps)
        results = {step.get("tool_call_id") for step in self._sent.steps if step.get("role") == "tool"}
        return bool(calls) and bool(results) and results <= calls


def _pair(turn: Turn) -> Pair:
    return turn.query.strip(), (turn.response or "").strip()


def _call_ids(calls: Any) -> set[Any]:
    """The ids of tool calls, given as lists of calls."""
    return {call.get("id") for each in calls for call in each or () if isinstance(call, Mapping)}


def _version(replaced: Turn) -> dict[str, Any]:
    """The metadata of the next version of an answered turn."""
    known = replaced.metadata
    earlier = [*known.get("earlier_versions", ()), (replaced.response or "")[:VERSION_CHARACTERS]]
    return {"version": int(known.get("version", 1)) + 1, "earlier_versions": earlier[-VERSIONS_KEPT:]}


def text_of(message: Json) -> str:
    """The text of a message; of several parts, the text parts."""
    content = message.get("content")
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "\n".join(part for part in parts if isinstance(part, str))
    return ""


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
