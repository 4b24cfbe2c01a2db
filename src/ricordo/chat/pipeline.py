"""The chat as one recipe: keep the question, understand it, find material, compose, answer, keep the answer.

Every face cooks by it: HTTP, the command line, the OpenAI-compatible endpoint and the page. The steps are a generator
of events; whoever reads it may stream them or wait for the end. The question is on disk before anything else happens,
and whatever fails on the way, the chat answers and says what it went without.
"""

import logging
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

from ricordo.chat.answerers import Answered, Answerer, Model, Reader, Task, instructions
from ricordo.chat.events import (
    ChatResponse,
    Clarify,
    CrisisNotice,
    Delta,
    Done,
    Event,
    Sources,
    Started,
    Understood,
)
from ricordo.chat.response import (
    STOPPED,
    ChatRequest,
    helplines,
    intent,
    kept_references,
    pointed,
    standalone,
    stored_response,
    told,
)
from ricordo.chat.tracing import trace
from ricordo.documents.library import Passage, Passages
from ricordo.errors import ConflictError, NotFoundError, RicordoError, StoreError
from ricordo.languages.detect import language_of
from ricordo.memory import Memory
from ricordo.prompt.compose import as_chunks
from ricordo.prompt.context import Asked, Context
from ricordo.records.turns import Chunk, Owner, Turn
from ricordo.safety.crisis import Crisis, SafeReply, reply
from ricordo.session import OpenTurn, Session
from ricordo.turns.write import new_id

log = logging.getLogger("ricordo")

EARLIER_ANSWERS = 4


@dataclass
class _Talk:
    """One question on its way to its answer: what is known so far, and how long each step took."""

    request: ChatRequest
    session: Session
    turn_id: str
    is_new: bool
    turn: OpenTurn | None = None
    language: str = "it"
    found: tuple[Passage, ...] = ()
    notes: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=perf_counter)

    def place(self) -> dict[str, Any]:
        """Where the question is kept."""
        number = self.turn.turn_number if self.turn else None
        return {"turn_id": self.turn_id, "turn_number": number, "is_new_session": self.is_new}

    def took(self, step: str) -> None:
        """Note how long the step took that has just ended."""
        now = perf_counter()
        self.timings[step] = round((now - self.last) * 1000, 2)
        self.last = now


class Chat:
    """Answers questions with everything that is remembered. Thread-safe."""

    def __init__(
        self,
        memory: Memory,
        *,
        answerer: Answerer | None = None,
        passages: Passages | None = None,
        on_crisis: SafeReply = reply,
    ) -> None:
        self.memory = memory
        self.answerer = answerer or (Model(memory.llm) if memory.llm else Reader())
        self._passages = passages
        self.on_crisis = on_crisis

    def ask(self, request: ChatRequest) -> ChatResponse:
        """The whole answer."""
        for event in self.respond(request):
            if isinstance(event, Done):
                return event.response
        raise AssertionError("a chat ends with its response")

    def respond(self, request: ChatRequest) -> Generator[Event, None, None]:
        """The answer as it comes, ending with `Done`. The question is kept before the first event."""
        talk = self._begin(request)
        if talk.turn is not None and (known := _answered_before(talk)):
            yield Done(known)
            return
        yield Started(talk.session.id, talk.turn_id, talk.is_new, tuple(talk.notes))
        context = self._compose(talk)
        yield Understood(standalone(request.query, context), pointed(context), self._intent(request, context))
        if context.crisis:
            answered = yield from self._comfort(talk, context.crisis)
        elif context.clarification:
            answered = yield from _ask_back(context)
        else:
            answered = yield from self._answer(talk, context)
        talk.took("answer")
        try:
            response = self._keep(talk, context, answered)
        except ConflictError:  # another process was faster with the same turn: one answer counts
            if (given := self._given(talk)) is None:
                raise
            yield Done(given)
            return
        trace(talk.session.id, talk.timings, response.metadata)
        yield Done(response)

    def _given(self, talk: _Talk) -> ChatResponse | None:
        """The answer that a turn has by now."""
        owner = Owner(self.memory.settings.tenant_id, talk.request.user_id)
        turn = self.memory.store.turns.get(owner, talk.turn_id)
        return None if turn is None or turn.is_open else stored_response(turn)

    def _begin(self, request: ChatRequest) -> _Talk:
        """The session, and the question kept in it."""
        session = self.memory.resume(request.session_id, user_id=request.user_id, agent_id=request.agent_id)
        turn_id = request.turn_id or new_id(self.memory.clock.now())
        talk = _Talk(request, session, turn_id, is_new=session.id != request.session_id)
        default = self.memory.settings.locale.code
        talk.language = language_of(request.query).code if request.query.strip() else default
        try:
            talk.turn = session.ask(request.query, turn_id=turn_id, metadata=dict(request.metadata))
        except ConflictError:
            raise
        except StoreError as error:  # without a spool nothing can be kept just now; the chat answers all the same
            talk.notes.append("the database is away: this turn could not be kept")
            _log("chat", "a question could not be kept", talk, error)
        talk.notes += self._said_of(talk)
        talk.took("load")
        return talk

    def _said_of(self, talk: _Talk) -> Sequence[str]:
        """What a store with a spool has to say about a session; nothing while all is well."""
        owner = Owner(self.memory.settings.tenant_id, talk.request.user_id)
        return self.memory.store.sessions.notes(owner, talk.session.id)

    def _compose(self, talk: _Talk) -> Context:
        """Everything for the answer, with the passages that were found on the way."""

        def find(asked: Asked) -> Sequence[Chunk]:
            talk.took("understand")
            talk.found = self._find(talk, asked)
            talk.took("retrieve")
            return [each.chunk for each in talk.found]

        settings = self.memory.settings
        taught = instructions(talk.language, ("id",))
        model = not isinstance(self.answerer, Reader)
        with self.memory.store.without_waiting():  # what a database does not tell at once, the chat goes without
            context = talk.session.context(
                talk.request.query,
                chunks=find,
                standalone=talk.request.understood_as,
                system=settings.system_prompt or (taught.system if model else None),
                format_instructions=settings.format_instructions or (taught.format if model else None),
            )
        talk.notes += context.receipt.degraded
        talk.took("compose")
        return context

    def _find(self, talk: _Talk, asked: Asked) -> tuple[Passage, ...]:
        """The caller's own chunks, or what the documents say to the question."""
        if talk.request.chunks is not None:
            given = as_chunks(talk.request.chunks, self.memory.settings.limits)
            return tuple(Passage(chunk) for chunk in given)
        return self._found(talk.request, asked)

    def passages(self, request: ChatRequest, asked: Asked) -> list[Chunk]:
        """What the documents say to a question."""
        return [each.chunk for each in self._found(request, asked)]

    def _found(self, request: ChatRequest, asked: Asked) -> tuple[Passage, ...]:
        if self._passages is None:
            return ()
        return tuple(self._passages.find(request, asked, self.memory.settings.budget.chunks_first))

    def _intent(self, request: ChatRequest, context: Context) -> str:
        return intent(
            request.query,
            follow_up=bool(context.references) or context.question != request.query,
            clarification=context.clarification is not None,
            crisis=context.crisis is not None,
        )

    def _comfort(self, talk: _Talk, crisis: Crisis) -> Generator[Event, None, Answered]:
        """The fixed reply: no model is asked."""
        text = self.on_crisis(crisis)
        yield CrisisNotice(crisis.tier, crisis.category, crisis.notice, helplines(crisis))
        yield Delta(text)
        return Answered(text, (), (), 1.0, "safety")

    def _answer(self, talk: _Talk, context: Context) -> Generator[Event, None, Answered]:
        """What the answerer says, until it has said it all or is stopped."""
        kept = {item.id for item in context.receipt.items if item.section == "chunks" and item.kept}
        found = [each for each in talk.found if each.chunk.id in kept]
        if found:
            yield Sources(tuple(each.offered() for each in found))
        earlier = talk.session.history(limit=EARLIER_ANSWERS) if talk.turn else []
        task = Task(
            talk.request.query,
            context,
            tuple(each.chunk for each in found),
            tuple(each.score or 0.0 for each in found),
            talk.language,
            tuple(turn.response for turn in earlier if turn.response),
        )
        said: list[str] = []
        pieces = self.answerer.answer(task)
        while True:
            try:
                piece = next(pieces)
            except StopIteration as ended:
                answered: Answered = ended.value
                talk.notes += answered.notes
                return answered
            said.append(piece)
            yield Delta(piece)
            if talk.request.stop():
                pieces.close()
                talk.notes.append(STOPPED)
                return Answered("".join(said), (), (), 0.0, self.answerer.name)

    def _keep(self, talk: _Talk, context: Context, answered: Answered) -> ChatResponse:
        """Keep the answer and say all about it."""
        request = talk.request
        wish = self._intent(request, context)
        if talk.turn is not None:
            kept = {
                "intent": wish,
                "confidence": answered.confidence,
                "result_count": len(talk.found),
                "answerer": answered.answerer,
            }
            if meant := standalone(request.query, context):
                kept["standalone"] = meant
            if points := kept_references(context):
                kept["references"] = points
            if STOPPED in talk.notes:
                kept["stopped"] = True
            if context.clarification:
                kept["clarification"] = [option.name for option in context.clarification.options]
            try:
                talk.turn.answer(answered.text, chunk_ids=answered.cited, metadata=kept, receipt=context.receipt)
            except NotFoundError:
                talk.notes.append("the session was deleted meanwhile: this turn is not kept")
            except StoreError as error:
                talk.notes.append("the database is away: the answer could not be kept")
                _log("chat", "an answer could not be kept", talk, error)
        talk.notes += self._said_of(talk)
        talk.took("store")
        return ChatResponse(
            query=request.query,
            message=answered.text,
            data=tuple(each.offered() for each in talk.found),
            intent=wish,
            confidence=answered.confidence,
            session_id=talk.session.id,
            metadata=talk.place() | told(request.query, context, answered, talk.notes, talk.timings),
        )


def _ask_back(context: Context) -> Generator[Event, None, Answered]:
    pending = context.clarification
    assert pending is not None
    options = tuple({"label": option.name, "text": option.text} for option in pending.options)
    yield Clarify(pending.prompt, options)
    yield Delta(pending.prompt)
    return Answered(pending.prompt, (), (), 1.0, "clarification")


def _answered_before(talk: _Talk) -> ChatResponse | None:
    """The answer that this very turn has already, where a request was sent twice."""
    turn: Turn | None = talk.turn.turn if talk.turn else None
    if turn is None or turn.is_open:
        return None
    return stored_response(turn)


def _log(operation: str, problem: str, talk: _Talk, error: RicordoError) -> None:
    owner = talk.session
    log.error(
        "%s: %s",
        problem,
        error,
        extra={"operation": operation, "user_id": owner.user_id, "session_id": owner.id, "turn_id": talk.turn_id},
    )
