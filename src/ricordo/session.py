"""`Session`: one conversation. Add turns, get the window and the context, change, end or delete it.

A `Session` is a light handle that is cheap to make and thread-safe. Nothing is stored before the first message.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal, overload

from ricordo.engine.core import Engine, Scope
from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_id, check_ids, check_list, check_number, check_project, check_text
from ricordo.prompt import compose
from ricordo.prompt.context import Context
from ricordo.prompt.receipt import Receipt
from ricordo.prompt.window import Window
from ricordo.records.turns import Asked, Chunk, Message, Remembered, SessionChanges, SessionInfo, Turn, with_project
from ricordo.records.values import record
from ricordo.settings import BudgetSettings
from ricordo.turns import export, forget, write
from ricordo.turns.write import Said

if TYPE_CHECKING:
    from ricordo.people.facts.learn import SessionEnd
    from ricordo.records.derived import Summary
    from ricordo.topics.session_topic import SessionTopic, Topics

AnyChunk = Chunk | str | Mapping[str, Any] | tuple[str, str]


class Session:
    """A conversation of one user with one agent."""

    def __init__(self, engine: Engine, scope: Scope) -> None:
        self._engine = engine
        self._scope = scope
        self._last_receipt: Receipt | None = None

    def __repr__(self) -> str:
        return f"Session({self.id!r}, user_id={self.user_id!r}, agent_id={self.agent_id!r})"

    @property
    def id(self) -> str:
        """The session id: the caller's, or a UUID that was made."""
        return self._scope.session_id

    @property
    def user_id(self) -> str:
        """The user of the session."""
        return self._scope.owner.user_id

    @property
    def agent_id(self) -> str:
        """The agent that answers."""
        return self._scope.agent_id

    # Saying

    def add_turn(
        self,
        query: str,
        response: str,
        *,
        chunk_ids: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        turn_id: str | None = None,
        turn_number: int | None = None,
        importance: float | None = None,
        receipt: Receipt | None = None,
    ) -> Turn:
        """Store a question with its answer. It is on disk when this returns.

        The same `turn_id` with the same content is written once; with other content it is a ConflictError.
        `turn_number` is the number that you expect; ConflictError if it is not the next. `importance`, from 0 to 1, is
        for the topic that the turn joins. The receipt of the last `context()` for this question is stored with the
        turn.
        """
        turn = write.keep_turn(
            self._engine,
            self._scope,
            Said("user", query, created_at),
            Said("assistant", response, created_at, chunk_ids),
            metadata=metadata if importance is None else write.with_importance(metadata, importance),
            turn_id=turn_id,
            turn_number=turn_number,
            receipt=receipt or (self._last_receipt and self._receipt_for(query)),
        )
        self._last_receipt = None
        return turn

    def ask(
        self,
        query: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        turn_id: str | None = None,
        importance: float | None = None,
        receipt: Receipt | None = None,
    ) -> "OpenTurn":
        """Store a question whose answer comes later. It is on disk when this returns."""
        turn = write.keep_turn(
            self._engine,
            self._scope,
            Said("user", query, created_at),
            None,
            metadata=write.with_importance(metadata, importance),
            turn_id=turn_id,
            receipt=receipt or self._receipt_for(query),
        )
        self._last_receipt = None
        return OpenTurn(self, turn)

    def answer(
        self,
        turn: "Turn | OpenTurn | str",
        response: str,
        *,
        chunk_ids: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        receipt: Receipt | None = None,
    ) -> Turn:
        """Store the answer of an open turn, given by its record, its handle or its id."""
        record = turn.turn if isinstance(turn, OpenTurn) else turn
        if isinstance(record, str):
            found = self._engine.store.turns.get(self._scope.owner, check_id("turn", record))
            if found is None:
                raise NotFoundError(f"turn {record!r} does not exist for user {self.user_id!r}; ask first")
            record = found
        if not isinstance(record, Turn):
            raise ValidationError("turn", f"expected a turn or its id, got {type(record).__name__}")
        said = Said("assistant", response, created_at, chunk_ids)
        receipt = receipt or self._receipt_for(record.query)
        answered = write.keep_answer(self._engine, self._scope, record, said, metadata=metadata, receipt=receipt)
        self._last_receipt = None
        return answered

    def add_message(
        self,
        role: str,
        content: str,
        *,
        created_at: datetime | None = None,
        chunk_ids: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        tool_calls: Iterable[Mapping[str, Any]] = (),
        tool_call_id: str | None = None,
        name: str | None = None,
    ) -> Message:
        """Store one message of a history that is not question and answer.

        Roles are user, assistant, system and tool; any other role is the name of a speaker.
        """
        said = Said(role, content, created_at, chunk_ids, metadata, tool_calls, tool_call_id, name)
        return write.keep_message(self._engine, self._scope, said)

    # Reading

    def history(self, limit: int | None = None, *, before: int | None = None) -> list[Turn]:
        """Turns in order, at most the `limit` newest, optionally before a number."""
        last = None if limit is None else check_number("limit", limit, least=0)
        below = None if before is None else check_number("before", before, least=0)
        return list(self._engine.store.turns.page(self._scope.owner, self.id, last=last, before=below))

    def window(self) -> Window:
        """The recent turns that fit the window's bounds."""
        return compose.load_window(self._engine, self._scope)

    def context(
        self,
        question: str,
        *,
        chunks: "Sequence[AnyChunk] | Callable[[Asked], Sequence[AnyChunk]]" = (),
        budget: int | BudgetSettings | None = None,
        standalone: str = "",
        system: str | None = None,
        safety: str | None = None,
        profile: str = "",
        summary: str = "",
        recalled: Sequence[Remembered] = (),
        format_instructions: str | None = None,
    ) -> Context:
        """Everything for the next prompt, within the budget, with its receipt.

        `chunks` may be a function that is called with the understood question (`Asked`). `standalone` is your own
        standalone question, used instead of that of the rules. `budget` is a token limit or a whole BudgetSettings.
        Texts left at None come from the settings, profile and summary from the memory.
        """
        settings = self._engine.settings
        slots = compose.Slots(
            safety=settings.safety_rules if safety is None else safety,
            system=settings.system_prompt if system is None else system,
            profile=profile,
            summary=summary,
            recalled=check_list("recalled", recalled),
            format_instructions=settings.format_instructions if format_instructions is None else format_instructions,
            standalone=standalone,
        )
        chosen = chunks if callable(chunks) else compose.as_chunks(chunks, settings.limits)
        context = compose.compose(self._engine, self._scope, question, chosen, slots, self._budget(budget), _end_idle)
        self._last_receipt = context.receipt
        return context

    def topics(self) -> "Topics":
        """The topics of this session, in the order in which they began; updated first.

        If they cannot be updated, the stored ones are returned, and `degraded` says why.
        """
        from ricordo.topics.organise import bring_up_to_date
        from ricordo.topics.session_topic import Topics

        notes = bring_up_to_date(self._engine, self._scope.owner, self.id)
        return Topics(self._engine.store.topics.load(self._scope.owner, self.id).topics, degraded=notes)

    def topic(self, topic_id: str | None = None) -> "SessionTopic":
        """One topic, to read, tag, weigh, merge or export; NotFoundError if there is none.

        Without an id it is the active topic, that of the last turn with a topic; topics are updated first.
        """
        from ricordo.topics.session_topic import SessionTopic, active_topic_id

        if topic_id is None:
            topic_id = active_topic_id(self.topics(), self.id)
        return SessionTopic(self._engine, self._scope, check_id("topic_id", topic_id))

    def receipts(self, limit: int = 50) -> list[Receipt]:
        """Receipts of past turns, newest first."""
        return list(compose.past_receipts(self._engine, self._scope, check_number("limit", limit)))

    def rebuild(self, turn_number: int) -> Context:
        """The context that was built for a past turn, byte for byte."""
        return compose.recompose(self._engine, self._scope, check_number("turn_number", turn_number))

    def ask_back(self, question: str, options: Sequence[str], *, language: str) -> None:
        """Note that you ask the user back which option the question means; the next message may name one."""
        from ricordo.followups.clarify import remember_question

        remember_question(self._engine, self._scope, question, options, language)

    def info(self) -> SessionInfo:
        """Title, tags, documents, counts and times; NotFoundError before the first message."""
        return export.counted_session(self._engine, self._scope)

    @overload
    def export(self, form: Literal["json"] = "json") -> dict[str, Any]: ...
    @overload
    def export(self, form: Literal["markdown"]) -> str: ...
    def export(self, form: Literal["json", "markdown"] = "json") -> dict[str, Any] | str:
        """The session as JSON values that `Memory.import_documents` can import, or as Markdown."""
        if form == "json":
            return export.export_session(self._engine, self._scope)
        if form == "markdown":
            return export.export_markdown(self._engine, self._scope)
        raise ValidationError("form", f"expected 'json' or 'markdown', got {form!r}")

    # Changing and deleting

    def create(
        self,
        *,
        title: str | None = None,
        document_ids: Iterable[str] = (),
        tags: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> SessionInfo:
        """Create the session before its first message; an existing one is unchanged. Answers use its `document_ids`."""
        limits, now = self._engine.settings.limits, self._engine.clock.now()
        named = check_ids("tags", tags)
        empty = SessionInfo(
            self.id,
            self._scope.owner,
            self.agent_id,
            created_at=now,
            last_active_at=now,
            title=None if title is None else check_text("title", title, limits),
            document_ids=check_ids("document_ids", document_ids),
            tags=with_project(named, self._scope.project) if self._scope.project else named,
            metadata=write.checked_metadata(self._engine, metadata) or {},
        )
        self._engine.store.turns.load(empty, ())
        return self.info()

    def update(
        self,
        *,
        title: str | None = None,
        document_ids: Iterable[str] | None = None,
        tags: Iterable[str] | None = None,
        metadata: Mapping[str, Any] | None = None,
        project: str | None = None,
    ) -> SessionInfo:
        """Set the given fields; NotFoundError before the first message. `project` moves the session to another one."""
        limits = self._engine.settings.limits
        named = None if tags is None else check_ids("tags", tags)
        if named is not None or project is not None:
            current = export.found_session(self._engine, self._scope)
            moved = replace(current, tags=named).project or current.project if named is not None else current.project
            named = with_project(current.tags if named is None else named, check_project(project, moved))
        changes = SessionChanges(
            title=None if title is None else check_text("title", title, limits),
            document_ids=None if document_ids is None else check_ids("document_ids", document_ids),
            tags=named,
            metadata=write.checked_metadata(self._engine, metadata),
        )
        return self._changed(changes)

    def end(self) -> "SessionEnd":
        """End the session; returns its summary, the facts that were learned in it, and its topics. Safe to repeat.

        A new message opens it again. With `remember_person` off it is only marked as ended.
        """
        from ricordo.people.facts.learn import SessionEnd, end_now

        if self._engine.settings.profile.remember_person == "on":
            return end_now(self._engine, self._scope.owner, self.id)
        current = export.found_session(self._engine, self._scope)
        ended = current if current.ended_at else self._changed(SessionChanges(ended_at=self._engine.clock.now()))
        return SessionEnd(ended, None, (), ())

    def condense(self) -> "Summary | None":
        """Summarise the older turns now, whatever their size; None if there are too few. The turns stay."""
        from ricordo.people.summaries.condense import condense_now
        from ricordo.people.summaries.summarise import writer_of

        export.found_session(self._engine, self._scope)
        return condense_now(self._engine, self._scope.owner, self.id, writer_of(self._engine), force=True)

    def summaries(self, limit: int = 50) -> "list[Summary]":
        """Summaries of this session, newest first, each with the turns that it covers."""
        most = check_number("limit", limit)
        return list(self._engine.store.people.summaries(self._scope.owner, session_id=self.id, limit=most))

    def forget_derived(self) -> int:
        """Delete what was derived from this session: summaries, and facts without another source; returns how many."""
        export.found_session(self._engine, self._scope)
        return self._engine.store.people.forget_derived(self._scope.owner, self.id)

    def clear(self) -> int:
        """Delete the turns and keep the session; returns how many turns."""
        gone = self._engine.store.sessions.clear(self._scope.owner, self.id)
        forget.drop_pending_clarification(self._engine, self._scope.owner, self.id)
        if gone is None:
            export.found_session(self._engine, self._scope)
        self._last_receipt = None
        return gone or 0

    def _changed(self, changes: SessionChanges) -> SessionInfo:
        changed = self._engine.store.sessions.update(self._scope.owner, self.id, changes)
        return changed or export.found_session(self._engine, self._scope)

    def _budget(self, given: int | BudgetSettings | None) -> BudgetSettings:
        if isinstance(given, BudgetSettings):
            return given
        own = self._engine.settings.budget
        return own if given is None else replace(own, model_limit=check_number("budget", given, least=0))

    def _receipt_for(self, query: str) -> Receipt | None:
        last = self._last_receipt
        return last if last and last.question == query else None


def _end_idle(engine: Engine, scope: Scope) -> list[str]:
    """End idle sessions before the first context of a new one; loaded when it is needed."""
    from ricordo.people.facts.learn import end_idle_before

    return end_idle_before(engine, scope)


@record
class OpenTurn:
    """A stored question that has no answer yet."""

    session: Session
    turn: Turn

    @property
    def id(self) -> str:
        """The turn's id."""
        return self.turn.id

    @property
    def turn_number(self) -> int:
        """The turn's number in its session."""
        return self.turn.turn_number

    @property
    def query(self) -> str:
        """The question."""
        return self.turn.query

    @property
    def response(self) -> str | None:
        """None, because the turn was open when this handle was made."""
        return self.turn.response

    def answer(
        self,
        response: str,
        *,
        chunk_ids: Iterable[str] = (),
        metadata: Mapping[str, Any] | None = None,
        created_at: datetime | None = None,
        receipt: Receipt | None = None,
    ) -> Turn:
        """Store the answer. Repeating it changes nothing; another answer is a ConflictError."""
        return self.session.answer(
            self.turn, response, chunk_ids=chunk_ids, metadata=metadata, created_at=created_at, receipt=receipt
        )
