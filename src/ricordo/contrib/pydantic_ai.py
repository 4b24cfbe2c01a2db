"""Pydantic AI on Ricordo: a store of whole conversations, and a capability that gives an agent its memory.

`RicordoConversations` stores messages byte for byte, with revisions, branches and forks, as items of one user.
`RicordoMemory` stores messages as turns, and gives the model what is known, recent and recalled instead of the whole
history. They can be used together.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from pydantic import TypeAdapter
from pydantic_ai import ModelMessage, ModelMessagesTypeAdapter, ModelRequestContext, ModelResponse, RunContext, TextPart
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.conversation_store import (
    ConversationConflict,
    ConversationEntry,
    ConversationRecord,
    ConversationStore,
)
from pydantic_ai.run import AgentRunResult

from ricordo.contrib.pydantic_ai_messages import Step, answer_text, asked_text, composed, last_turns, steps_of
from ricordo.contrib.shared import ItemCollection, UserSource, body_of, check_user_source, owner_of, path, user_of
from ricordo.errors import RicordoError
from ricordo.memory import Memory
from ricordo.prompt.context import Context
from ricordo.records.service import StoredItem
from ricordo.records.turns import DEFAULT_AGENT
from ricordo.safety.crisis import SafeReply, crisis_reply
from ricordo.session import OpenTurn, Session
from ricordo.stores.service_protocols import ItemTransaction

log = logging.getLogger("ricordo")

T = TypeVar("T")
Processor = Callable[[list[ModelMessage]], list[ModelMessage]]

COLLECTION = "pydantic_ai"
RECORDS, ENTRIES = path("records"), path("entries")
_record = TypeAdapter(ConversationRecord)


class RicordoConversations(ConversationStore):
    """The conversations of one user. A scope divides them further, by channel or project.

    Deleting a conversation deletes the messages that no other one shares.
    """

    def __init__(self, memory: Memory, *, user_id: str) -> None:
        self._owner = owner_of(memory, user_id)
        self._items = ItemCollection(memory, COLLECTION)

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        return await self._reading(lambda items: _found(items, conversation_id))

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[ConversationRecord]:
        """The records, most recently saved first."""
        tag = None if scope is None else _tag(scope)
        found = await self._reading(lambda items: items.find(RECORDS, tag=tag))
        records = [_record.validate_json(item.body) for item in found]
        return sorted(records, key=lambda record: record.updated_at, reverse=True)[:limit]

    async def write_record(
        self,
        record: ConversationRecord,
        *,
        new_entries: Sequence[ConversationEntry] = (),
        expected_revision: str | None,
    ) -> None:
        """Store a record and its new entries, all or none."""
        kept = StoredItem(RECORDS, record.conversation_id, _record.dump_json(record), _tag(record.scope))
        entries = [_entry_item(entry, record.conversation_id) for entry in new_entries]
        added = {entry.id for entry in new_entries}

        def write(items: ItemTransaction) -> bool:
            items.serialize()
            stored = _found(items, record.conversation_id)
            if (stored.revision if stored else None) != expected_revision:
                return False
            if record.head_id and record.head_id not in added and items.get(ENTRIES, record.head_id) is None:
                return False
            for entry in entries:
                items.put(entry)
            items.put(kept)
            return True

        if not await self._writing(write):
            raise ConversationConflict(record.conversation_id)

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Remove a conversation and the entries that no other one refers to."""

        def delete(items: ItemTransaction) -> bool:
            items.serialize()
            stored = _found(items, conversation_id)
            if stored is None or stored.revision != expected_revision:
                return False
            items.remove(RECORDS, conversation_id)
            parents = {item.key: item.body.partition(b"\n")[0].decode() or None for item in items.find(ENTRIES)}
            others = [_record.validate_json(item.body) for item in items.find(RECORDS)]
            for gone in parents.keys() - _reached(others, parents):
                items.remove(ENTRIES, gone)
            return True

        if not await self._writing(delete):
            raise ConversationConflict(conversation_id)

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """One entry; KeyError if this user has none with this id."""
        found = await self._reading(lambda items: body_of(items, ENTRIES, entry_id))
        if found is None:
            raise KeyError(entry_id)
        return _entry(entry_id, found)

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """The entries up to a head: one query for each fork, or one for each entry if limited."""

        def read(items: ItemTransaction) -> list[ConversationEntry]:
            found: list[ConversationEntry] = []
            known: dict[str, bytes] = {}
            wanted = head_id
            while wanted is not None and (limit is None or len(found) < limit):
                body = known.get(wanted) or self._body(items, wanted, known, ahead=limit is None)
                found.append(_entry(wanted, body))
                wanted = found[-1].parent_id
            return found[::-1]

        return await self._reading(read)

    def _body(self, items: ItemTransaction, entry_id: str, known: dict[str, bytes], *, ahead: bool) -> bytes:
        """The stored entry; with `ahead`, all entries of its conversation are cached too."""
        item = items.get(ENTRIES, entry_id)
        if item is None:
            raise KeyError(entry_id)
        if ahead:
            known.update((each.key, each.body) for each in items.find(ENTRIES, tag=item.tag))
        return item.body

    async def _reading(self, work: Callable[[ItemTransaction], T]) -> T:
        return await asyncio.to_thread(self._items.read, self._owner, work)

    async def _writing(self, work: Callable[[ItemTransaction], T]) -> T:
        return await asyncio.to_thread(self._items.write, self._owner, work)


class RicordoMemory(AbstractCapability[Any]):
    """Gives an agent its memory: `Agent(model, capabilities=[RicordoMemory(memory, user_id=...)])`.

    `user_id` and `session_id` are ids, or functions that read them from the context of a run
    (`lambda run: run.deps.user`). Without a session id it is the run's `conversation_id`. The question is kept before
    the model is asked, tool calls and answer when the run ends. The model reads the context that fits `budget`; what is
    stored stays whole. In a crisis the fixed reply is given and no model is asked.
    """

    def __init__(
        self,
        memory: Memory,
        *,
        user_id: UserSource[RunContext[Any]],
        session_id: UserSource[RunContext[Any]] | None = None,
        agent_id: str = DEFAULT_AGENT,
        budget: int | None = None,
        on_crisis: SafeReply = crisis_reply,
    ) -> None:
        check_user_source(user_id)
        self._memory = memory
        self._user_source = user_id
        self._where = session_id
        self._agent_id = agent_id
        self._budget = budget
        self._on_crisis = on_crisis
        self._session: Session | None = None
        self._turn: OpenTurn | None = None
        self._context: Context | None = None

    async def for_run(self, ctx: RunContext[Any]) -> "RicordoMemory":
        """A new instance for each run, so that the agent holds nothing of a user."""
        mine = RicordoMemory(
            self._memory,
            user_id=user_of(self._user_source, ctx),
            session_id=str(ctx.conversation_id) if self._where is None else user_of(self._where, ctx),
            agent_id=self._agent_id,
            budget=self._budget,
            on_crisis=self._on_crisis,
        )
        user, session_id = cast(str, mine._user_source), cast(str, mine._where)
        mine._session = self._memory.session(session_id, user_id=user, agent_id=self._agent_id)
        return mine

    async def before_run(self, ctx: RunContext[Any]) -> None:
        """Store the question and compose the context. A failing memory does not stop the agent."""
        question = asked_text(ctx.prompt)
        if question and self._session:
            await asyncio.to_thread(self._begin, self._session, question)

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Replace the messages before this run's own with the composed context."""
        if self._context is None:
            return request_context
        messages = composed(self._context, request_context.messages)
        return replace(request_context, messages=messages)

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: Any
    ) -> ModelResponse:
        """In a crisis return the fixed reply without calling the model."""
        if self._context is not None and self._context.crisis:
            return ModelResponse(parts=[TextPart(self._on_crisis(self._context.crisis))])
        answered: ModelResponse = await handler(request_context)
        return answered

    async def after_run(self, ctx: RunContext[Any], *, result: AgentRunResult[Any]) -> AgentRunResult[Any]:
        """Store tool calls, their results and the answer, each with its time."""
        if self._turn is not None and self._session is not None:
            steps, said = steps_of(result.new_messages()), answer_text(result.output)
            await asyncio.to_thread(self._finish, self._session, self._turn, steps, said)
        return result

    def _begin(self, session: Session, question: str) -> None:
        try:
            self._context = session.context(question, system="", budget=self._budget)
            self._turn = session.ask(question, receipt=self._context.receipt)
        except RicordoError as error:
            log.warning("the agent continues without memory: %s", error, extra={"operation": "before_run"})

    def _finish(self, session: Session, turn: OpenTurn, steps: Sequence[Step], said: str) -> None:
        try:
            for step in steps:
                session.add_message(**step)
            if said:
                turn.answer(said)
        except RicordoError as error:
            log.warning("the answer is not kept: %s", error, extra={"operation": "after_run"})


def recent_turns(
    memory: Memory, *, max_tokens: int | None = None
) -> Callable[[list[ModelMessage]], list[ModelMessage]]:
    """A history processor, for `ProcessHistory`: the newest whole turns that fit, the system prompt always.

    No tool result comes without its call. The newest turn stays whatever its size. Counted by the memory's counter.
    """
    most = memory.settings.budget.model_limit - memory.settings.budget.answer_reserve
    limit = max(most, 0) if max_tokens is None else max_tokens

    def process(messages: list[ModelMessage]) -> list[ModelMessage]:
        return last_turns(messages, limit, memory.counter.count)

    return process


def _tag(scope: str | None) -> str:
    return "" if scope is None else f"={scope}"


def _found(items: ItemTransaction, conversation_id: str) -> ConversationRecord | None:
    item = items.get(RECORDS, conversation_id)
    return None if item is None else _record.validate_json(item.body)


def _entry_item(entry: ConversationEntry, conversation_id: str) -> StoredItem:
    """The parent's id precedes the message, so that a chain can be followed without parsing messages."""
    body = ModelMessagesTypeAdapter.dump_json([entry.message])
    return StoredItem(ENTRIES, entry.id, f"{entry.parent_id or ''}\n".encode() + body, conversation_id)


def _entry(entry_id: str, kept: bytes) -> ConversationEntry:
    parent, _, body = kept.partition(b"\n")
    (message,) = ModelMessagesTypeAdapter.validate_json(body)
    return ConversationEntry(id=entry_id, parent_id=parent.decode() or None, message=message)


def _reached(records: Sequence[ConversationRecord], parents: dict[str, str | None]) -> set[str]:
    """The entries of all histories and abandoned branches."""
    reached: set[str] = set()
    for record in records:
        for tip in (record.head_id, *record.branches):
            step = tip
            while step is not None and step not in reached:
                reached.add(step)
                step = parents.get(step)
    return reached
