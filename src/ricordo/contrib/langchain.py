"""LangChain on Ricordo: a middleware that gives an agent its memory, and a chat message history for older code.

In: the messages of an agent. Out: for the model, the system prompt with what is known of the user, the recent turns
that fit and what was recalled; for the store, first the question, and at the end the whole turn with its tool calls.
The objects themselves store no data of a user.
"""

import asyncio
import json
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import AgentMiddleware, AgentState, ModelRequest, ModelResponse
from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
    message_to_dict,
    messages_from_dict,
)
from langchain_core.runnables import RunnableConfig
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.config import get_config

from ricordo.contrib.history import History, HistoryMessage
from ricordo.contrib.shared import (
    UserSource,
    awaited,
    call_of,
    check_user_source,
    moment_of,
    openai_call,
    owner_of,
    paired,
    user_of,
)
from ricordo.engine.core import LRU
from ricordo.engine.tokens import content_tokens
from ricordo.errors import BudgetError, RicordoError
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.prompt.context import Context
from ricordo.prompt.receipt import Receipt
from ricordo.records.turns import DEFAULT_AGENT, Json, Message, Role, Turn
from ricordo.safety.crisis import SafeReply, crisis_reply
from ricordo.session import Session

if TYPE_CHECKING:
    from langgraph.runtime import Runtime

# Messages of LangChain as Ricordo stores them, and back, without loss.

NOTE = "langchain"  # Ricordo's key in a message's metadata
ROLES: Mapping[str, Role] = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}
PLAIN = {"content", "type", "tool_calls", "tool_call_id"}
_PLAIN_ROLES: Mapping[type, Role] = {HumanMessage: "user", AIMessage: "assistant", SystemMessage: "system"}
_PLAIN_CLASSES: Mapping[str, type[HumanMessage | AIMessage | SystemMessage]] = {
    "user": HumanMessage,
    "assistant": AIMessage,
    "system": SystemMessage,
}


def to_words(message: BaseMessage) -> HistoryMessage:
    """A message of LangChain to store; what Ricordo has no field for goes into its metadata."""
    plain = _PLAIN_ROLES.get(type(message))
    if plain and isinstance(message.content, str) and message.content.strip() and not _has_more(message):
        return HistoryMessage(plain, message.content, {})
    given = message_to_dict(message)
    kind, data = given["type"].removesuffix("Chunk").removesuffix("MessageChunk").lower(), given["data"]
    role = ROLES.get(kind) or ROLES.get(_kind(message), "user")
    calls = getattr(message, "tool_calls", None) or []
    text = str(message.text)
    whole = isinstance(message.content, str) and (bool(text.strip()) or (not text and bool(calls)))
    note = {key: value for key, value in data.items() if key not in PLAIN and value != _usual(message, key)}
    if not whole:
        note["content"] = data["content"]
    if kind not in ("human", "ai", "system", "tool"):
        note["type"] = given["type"]
    if not text.strip():
        text = "" if calls and role == "assistant" else f"[{_kinds(message) or 'empty'}]"
    return HistoryMessage(
        role,
        text,
        {NOTE: note} if note else {},
        tuple(openai_call(call["name"], call["args"], call["id"]) for call in calls) if role == "assistant" else (),
        getattr(message, "tool_call_id", None) or None,
        created_at=moment_of(message.additional_kwargs.get("created_at")),
    )


def from_message(message: Message, turn_metadata: Json | None = None) -> BaseMessage:
    """A stored message as LangChain's; a message of an agent's turn keeps its metadata."""
    return _from_messages((message,), turn_metadata)[0]


def from_turns(turns: Iterable[Turn]) -> list[BaseMessage]:
    return [made for turn in turns for made in _from_messages(turn.messages, turn.metadata)]


def _from_messages(messages: Iterable[Message], noted: Json | None) -> list[BaseMessage]:
    """The messages of one turn; those of text only, which are the most, are built inline for speed."""
    return [
        _dressed(each, noted)
        if noted or each.metadata or each.tool_calls or each.name or (simple := _PLAIN_CLASSES.get(each.role)) is None
        else simple(each.content)
        for each in messages
    ]


def _dressed(message: Message, turn_metadata: Json | None) -> BaseMessage:
    """A message with more than text, or of a role that has its own fields."""
    part = message.id.rpartition(":")[2]
    note: dict[str, Any] = dict(message.metadata.get(NOTE) or (turn_metadata or {}).get(NOTE, {}).get(part, {}))
    kind: str = note.pop("type", None) or next(each for each, role in ROLES.items() if role == message.role)
    data: dict[str, Any] = {"content": message.content, "type": kind, **note}
    if message.tool_calls:
        data["tool_calls"] = [_call(call) for call in message.tool_calls]
    if kind == "tool":
        data["tool_call_id"] = message.tool_call_id or ""
    if message.name and "name" not in data:
        data["name"] = message.name
    return messages_from_dict([{"type": kind, "data": data}])[0]


def from_context(message: Mapping[str, Any]) -> AnyMessage:
    """A message of a context as LangChain's."""
    if message["role"] == "tool":
        return ToolMessage(message["content"], tool_call_id=message.get("tool_call_id", ""))
    extra = {"name": message["name"]} if "name" in message else {}
    if message["role"] == "assistant":
        calls = [_call(call) for call in message.get("tool_calls", ())]
        return AIMessage(message["content"], tool_calls=calls, **extra)
    if message["role"] == "system":
        return SystemMessage(message["content"], **extra)
    return HumanMessage(message["content"], **extra)


def _call(call: Mapping[str, Any]) -> dict[str, Any]:
    name, arguments, call_id = call_of(call)
    return {"name": name, "args": arguments, "id": call_id, "type": "tool_call"}


def _has_more(message: BaseMessage) -> bool:
    """Whether anything but the content was set; most messages have only content."""
    return any(field not in ("content", "type") and value for field, value in message)


def _usual(message: BaseMessage, field: str) -> Any:
    known = type(message).model_fields.get(field)
    return known.get_default(call_default_factory=True) if known else None


def _kind(message: BaseMessage) -> str:
    """The type of a message; a chunk counts as its message type, a chat message as its role's."""
    for kind, found in (("human", HumanMessage), ("ai", AIMessage), ("system", SystemMessage), ("tool", ToolMessage)):
        if isinstance(message, found):
            return kind
    spoken = str(getattr(message, "role", ""))
    return {"user": "human", "assistant": "ai"}.get(spoken, spoken)


def _kinds(message: BaseMessage) -> str:
    blocks = message.content if isinstance(message.content, list) else []
    return ", ".join(str(block.get("type", "text")) for block in blocks if isinstance(block, dict))


log = logging.getLogger("ricordo")

RECEIPTS = 1_024  # of turns that are being answered


def thread_of(config: RunnableConfig) -> str:
    """The thread of a graph, which is the session by default."""
    return str(config["configurable"]["thread_id"])


class RicordoMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Gives an agent its memory: `create_agent(model, tools, middleware=[RicordoMiddleware(memory, user_id=...)])`.

    `user_id` and `session_id` are ids, or functions that read them from the config of a run, for one agent that serves
    many. Without a session id it is the run's `thread_id`. `budget` is the model's whole window in tokens, from the
    settings where none is given: tools, system prompt, history and the answer's reserve all count. In a crisis the
    fixed reply is given and no model is asked.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: UserSource[RunnableConfig],
        session_id: UserSource[RunnableConfig] = thread_of,
        agent_id: str = DEFAULT_AGENT,
        budget: int | None = None,
        on_crisis: SafeReply = crisis_reply,
    ) -> None:
        super().__init__()
        check_user_source(user_id)
        self._memory = memory
        self._user_source = user_id
        self._where = session_id
        self._agent_id = check_id("agent_id", agent_id)
        self._budget = budget
        self._on_crisis = on_crisis
        self._receipts: LRU[str, Receipt] = LRU(RECEIPTS)
        self._lock = Lock()

    def before_agent(self, state: AgentState[Any], runtime: "Runtime[Any]") -> None:
        """Store the question; a question with the same id is stored once."""
        asked, _ = _split(state["messages"])
        if asked is not None:
            self._kept(self._session(), asked)

    abefore_agent = awaited(before_agent)

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage:
        """Call the model with the composed context in place of the raw messages."""
        composed = self._composed(request)
        return composed if isinstance(composed, AIMessage) else handler(composed)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | AIMessage:
        """See `wrap_model_call`."""
        composed = await asyncio.to_thread(self._composed, request)
        return composed if isinstance(composed, AIMessage) else await handler(composed)

    def _composed(self, request: ModelRequest[Any]) -> ModelRequest[Any] | AIMessage:
        """The request with the composed context; the fixed reply in a crisis; unchanged without a question."""
        asked, after = _split(request.messages)
        if asked is None or not asked.text.strip():
            return request
        session = self._session()
        try:
            context = self._context(session, request, str(asked.text), after)
        except RicordoError as error:  # a failing memory must not stop the chat
            self._warn("context", error)
            return request
        if context.crisis and not after:
            return AIMessage(self._on_crisis(context.crisis))
        if asked.id:
            self._note(asked.id, context.receipt)
        messages = [from_context(each) for each in paired(context.messages)]
        first = messages[0] if messages else None
        system = first if isinstance(first, SystemMessage) else None
        messages = messages[1:] if system else messages
        question = messages.pop() if messages else asked
        return request.override(system_message=system, messages=[*messages, _asking(asked, str(question.text)), *after])

    def _context(
        self, session: Session, request: ModelRequest[Any], question: str, after: Sequence[AnyMessage]
    ) -> Context:
        limit = self._budget or self._memory.settings.budget.model_limit
        system = request.system_message.text if request.system_message else None
        taken = self._tokens(request.tools, after)
        try:
            return session.context(question, system=system, budget=max(limit - taken, 0))
        except BudgetError:
            if taken:
                self._warn("context", BudgetError(f"tools and tool messages take {taken} of {limit} tokens"))
            return session.context(question, system=system, budget=limit)

    def _tokens(self, tools: Sequence[Any], after: Sequence[AnyMessage]) -> int:
        """The tokens of what is sent besides the context: tools, and messages after the question."""
        counter = self._memory.counter
        shapes = [tool if isinstance(tool, dict) else convert_to_openai_tool(tool) for tool in tools]
        said = [to_words(message) for message in after]
        return sum(counter.count(json.dumps(shape, default=str)) for shape in shapes) + sum(
            content_tokens(each.content, each.tool_calls, counter) + counter.message_overhead for each in said
        )

    def after_agent(self, state: AgentState[Any], runtime: "Runtime[Any]") -> None:
        """Store the agent's steps and answer; a turn that is stored already is not changed."""
        asked, said = _split(state["messages"])
        if asked is None:
            return
        session = self._session()
        try:
            self._keep(session, asked, said)
        except RicordoError as error:
            self._warn("after_agent", error)

    aafter_agent = awaited(after_agent)

    def _keep(self, session: Session, asked: HumanMessage, said: Sequence[AnyMessage]) -> None:
        owner = owner_of(self._memory, session.user_id)
        turn = self._memory.store.turns.get(owner, asked.id or "") or self._kept(session, asked)
        if turn is None or not turn.is_open:
            return
        final = said[-1] if said and isinstance(said[-1], AIMessage) and not said[-1].tool_calls else None
        history = History(self._memory, session.id, user_id=session.user_id, agent_id=self._agent_id)
        history.append([to_words(message) for message in (said[:-1] if final else said)[len(turn.steps) :]])
        if final is not None:
            words = to_words(final)
            notes = {"query": to_words(asked).metadata.get(NOTE), "response": words.metadata.get(NOTE)}
            note_of_turn = {NOTE: {part: note for part, note in notes.items() if note}}
            session.answer(turn.id, words.content, metadata=note_of_turn, receipt=self._taken(turn.id))

    def _kept(self, session: Session, asked: HumanMessage) -> Turn | None:
        """The stored turn of a question; None if it cannot be stored, and the chat continues."""
        words = to_words(asked)
        note_of_turn = {NOTE: {"query": words.metadata[NOTE]}} if words.metadata else None
        try:
            kept = session.ask(words.content, turn_id=asked.id, metadata=note_of_turn, created_at=words.created_at)
        except RicordoError as error:
            self._warn("before_agent", error)
            return None
        return kept.turn

    def _session(self) -> Session:
        config = get_config()
        user, session = user_of(self._user_source, config), user_of(self._where, config)
        return self._memory.session(session, user_id=user, agent_id=self._agent_id)

    def _note(self, turn_id: str, receipt: Receipt) -> None:
        with self._lock:
            self._receipts.put(turn_id, receipt)

    def _taken(self, turn_id: str) -> Receipt | None:
        with self._lock:
            return self._receipts.pop(turn_id)

    def _warn(self, operation: str, error: RicordoError) -> None:
        log.warning("the agent continues without memory: %s", error, extra={"operation": operation})


class RicordoChatMessageHistory(BaseChatMessageHistory):
    """The messages of one session, for `RunnableWithMessageHistory` and similar older code."""

    def __init__(self, memory: Memory, session_id: str, *, user_id: str, agent_id: str = DEFAULT_AGENT) -> None:
        self._history = History(memory, session_id, user_id=user_id, agent_id=agent_id)

    @property
    def messages(self) -> list[BaseMessage]:  # type: ignore[override]
        """All messages, oldest first."""
        turns = self._history.turns()
        if turns is None:
            return [from_message(each.message, each.turn_metadata) for each in self._history.read(aside=True)]
        return from_turns(turns)

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Add messages in order, all or none."""
        self._history.append([to_words(message) for message in messages])

    def clear(self) -> None:
        """Remove all messages."""
        self._history.clear()


def _split(messages: Sequence[AnyMessage]) -> tuple[HumanMessage | None, list[AnyMessage]]:
    """The newest question, and the messages after it."""
    for position in reversed(range(len(messages))):
        message = messages[position]
        if isinstance(message, HumanMessage):
            return message, list(messages[position + 1 :])
    return None, []


def _asking(asked: HumanMessage, text: str) -> HumanMessage:
    """The question with its composed text; its images and files stay."""
    if isinstance(asked.content, str):
        return asked.model_copy(update={"content": text})
    others = [block for block in asked.content if not isinstance(block, str) and block.get("type") != "text"]
    return asked.model_copy(update={"content": [{"type": "text", "text": text}, *others]})
