"""The chat pipeline: store the question, understand it, retrieve, compose, answer, store the answer.

HTTP, the command line, the OpenAI-compatible endpoint and the page all use it. It is a generator of events, so a caller
can stream them or wait for the response. The question is stored first. If a later step fails, the chat still answers
and the response lists what was missing.
"""

import logging
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ricordo.chat.answerers import Answered, Answerer, Model, Reader, Task, instructions
from ricordo.chat.past import Past
from ricordo.chat.question import (
    SMALL_TALK,
    STOPS,
    TOLD,
    UNTAUGHT,
    DialogueAct,
    dialogue_act,
    document_to_summarise,
    folded,
)
from ricordo.chat.response import (
    STOPPED,
    ChatRequest,
    ChatResponse,
    Clarify,
    CrisisNotice,
    Delta,
    Done,
    Event,
    OfferedChunk,
    PassageSource,
    Sources,
    Started,
    Understood,
    helplines,
    intent,
    recalled_message,
    reference_infos,
    response_metadata,
    standalone_question,
    stored_metadata,
    stored_response,
    trace,
)
from ricordo.documents.library import Library, Passage
from ricordo.engine.core import new_id
from ricordo.errors import ConflictError, LLMError, NotFoundError, RicordoError, StoreError
from ricordo.followups.parse import small_talk_languages
from ricordo.languages.registry import codes, told_note
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import followup_languages, guess_language, language_of
from ricordo.limits import readable
from ricordo.people.facts.learn import UNLEARNED
from ricordo.prompt.compose import as_chunks
from ricordo.records.turns import Chunk, Owner, Turn, turn_id_of
from ricordo.safety.crisis import Crisis, SafeReply, crisis_reply
from ricordo.session import OpenTurn

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.prompt.context import Context
    from ricordo.records.turns import Asked
    from ricordo.session import Session

log = logging.getLogger("ricordo")

EARLIER_ANSWERS = 4
MOST_RECALLED = 3  # messages that a turn names as sent to the model; its receipt has all
FACTS_PATIENCE = 0.25  # seconds that the reader waits for the facts of what the user said a moment ago
WARMING = ("Che cosa sai del mio forno?", "What do you know about my oven?")
WARMING_USER = "warm-up"  # nothing is stored for it


@dataclass
class _TurnState:
    """One question in progress: what is known so far, and how long each step took."""

    request: ChatRequest
    session: "Session"
    turn_id: str
    is_new: bool
    turn: "OpenTurn | None" = None
    language: str = "it"
    act: DialogueAct | None = None  # of the question, where the reader answers
    found: tuple[Passage, ...] = ()
    titles: tuple[str, ...] = ()  # of the documents, where the question is for them
    outlined: bool = False  # `found` is the outline of one document
    notes: list[str] = field(default_factory=list)
    timings: dict[str, float] = field(default_factory=dict)
    last: float = field(default_factory=perf_counter)

    def ids(self) -> dict[str, Any]:
        """Where the question is stored, for the metadata."""
        number = self.turn.turn_number if self.turn else None
        return {"turn_id": self.turn_id, "turn_number": number, "is_new_session": self.is_new}

    def note(self, name: str) -> None:
        """Add one of the built-in notes, in the language of the answer."""
        self.notes.append(language_by_code(self.language).reader.notes[name])

    def record_time(self, step: str) -> None:
        """Record the duration of the step that has just ended."""
        now = perf_counter()
        self.timings[step] = round((now - self.last) * 1000, 2)
        self.last = now


class Chat:
    """Answers questions with memory and documents. Thread-safe."""

    def __init__(
        self,
        memory: "Memory",
        *,
        answerer: Answerer | None = None,
        passages: PassageSource | None = None,
        on_crisis: SafeReply = crisis_reply,
    ) -> None:
        self.memory = memory
        self.answerer = answerer or _answerer_of(memory)
        self._passages = passages
        self.on_crisis = on_crisis

    def ask(self, request: ChatRequest) -> ChatResponse:
        """The complete answer."""
        for event in self.respond(request):
            if isinstance(event, Done):
                return event.response
        raise AssertionError("the last event of a chat is Done")

    def warm(self) -> None:
        """Load what the first answer needs: the embedder, the token counter, the tables of all languages."""
        for words in WARMING:
            self.memory.embedder.embed_query(words)
            request = ChatRequest(words, WARMING_USER)
            context, past = self.preview(request), self.past(request.user_id, request.agent_id, "")
            if isinstance(self.answerer, Reader):
                for _ in self.answerer.answer(Task(words, context, (), (), language_of(words).code, past=past)):
                    pass

    def preview(
        self, request: ChatRequest, *, budget: int | None = None, system: str | None = None, **slots: Any
    ) -> "Context":
        """The context that an answerer would get for this question in this session. Nothing is stored.

        `budget`, `system` and the other slots are those of `Session.context`, over what the chat sets.
        """
        session_id = None if request.session_id is None else str(request.session_id)
        session = self.memory.session(
            session_id, user_id=request.user_id, agent_id=request.agent_id, project=request.project
        )
        state = _TurnState(request, session, "", is_new=False, language=self.language(request.query, session))
        return self._compose(state, budget=budget, system=system, **slots)

    def respond(self, request: ChatRequest) -> Generator[Event, None, None]:
        """The events of the answer, `Done` last. The question is stored before the first event."""
        state = self._store_question(request)
        if state.turn is not None and (known := _repeated_answer(state)):
            yield Done(known)
            return
        yield Started(state.session.id, state.turn_id, state.is_new, tuple(state.notes))
        context = self._compose(state)
        read_as = standalone_question(request.query, context)
        if state.act is not None and state.act.act in TOLD and dialogue_act(read_as).act != "question":
            read_as = ""  # the reader takes such a message as it stands
        yield Understood(read_as, reference_infos(context), self._intent(request, context))
        if context.crisis:
            answered = yield from self._reply_to_crisis(state, context.crisis)
        elif context.clarification:
            answered = yield from _clarify(context)
        else:
            try:
                answered = yield from self._answer(state, context)
            except LLMError as error:
                self.mark_failed(request.user_id, state.turn_id, error, state.language)
                raise
        state.record_time("answer")
        try:
            response = self._store_answer(state, context, answered)
        except ConflictError:  # another process answered the same turn first: its answer counts
            if (stored := self._stored_answer(state)) is None:
                raise
            yield Done(stored)
            return
        trace(state.session.id, state.timings, response.metadata)
        yield Done(response)

    def mark_failed(self, user_id: str, turn_id: str, error: LLMError, language: str) -> None:
        """Keep the cause of a model's failure with the open turn, and give the error a sentence for the user."""
        error.shown = language_by_code(language).reader.failures[error.cause]
        at = self.memory.clock.now().isoformat()
        failure: dict[str, object] = {"cause": error.cause, "status": error.status, "message": error.shown, "at": at}
        try:
            self.memory.store.turns.mark_failed(Owner(self.memory.settings.tenant_id, user_id), turn_id, failure)
        except StoreError as unkept:
            log.error("the cause of a failure could not be kept: %s", unkept, extra={"operation": "chat"})

    def _stored_answer(self, state: _TurnState) -> ChatResponse | None:
        """The answer that is stored for the turn now."""
        owner = Owner(self.memory.settings.tenant_id, state.request.user_id)
        turn = self.memory.store.turns.get(owner, state.turn_id)
        return None if turn is None or turn.is_open else stored_response(turn)

    def _store_question(self, request: ChatRequest) -> _TurnState:
        """Open the session and store the question in it."""
        session = self.memory.resume(
            request.session_id, user_id=request.user_id, agent_id=request.agent_id, project=request.project
        )
        turn_id = request.turn_id or new_id(self.memory.clock.now())
        state = _TurnState(request, session, turn_id, is_new=session.id != request.session_id)
        state.language = self.language(request.query, session)
        metadata = dict(request.metadata)
        if isinstance(self.answerer, Reader):
            self.memory.settle_facts(request.user_id, FACTS_PATIENCE)
            state.act = self._act(request)
            if state.act.act in UNTAUGHT or state.act.only_asks:
                metadata[UNLEARNED] = True  # the reader obeys or answers it: learning leaves it alone
        try:
            state.turn = session.ask(request.query, turn_id=turn_id, metadata=metadata)
        except ConflictError:
            if (known := self._asked_before(state)) is None:
                raise
            state.session, state.turn, state.is_new = known.session, known, False
        except StoreError as error:  # no spool: the turn is not stored, but the chat answers
            state.note("question_not_kept")
            _log("chat", "a question could not be kept", state, error)
        state.notes += self._store_notes(state)
        state.record_time("load")
        return state

    def _act(self, request: ChatRequest) -> DialogueAct:
        """The act of a message; an order to stop something that the user once wished ends that wish."""
        act = dialogue_act(readable(request.query))
        stops = STOPS.match(folded(request.query)) if act.act in ("standing", "statement", "forget") else None
        if stops and self.past(request.user_id, request.agent_id, "").wishes_about(
            folded(request.query)[stops.end() :]
        ):
            return DialogueAct("end_wish", folded(request.query)[stops.end() :])
        return act

    def language(self, query: str, session: "Session") -> str:
        """The language of a question; where its words do not tell, that of the session or of the settings.

        A first message is read by the forms of its words; a greeting that two languages share says nothing: then the
        session before this one counts.
        """
        plain = folded(query)
        greets = small_talk_languages(plain)
        told = greets[0] if len(greets) == 1 else None if greets else _language_told(query)
        if told is not None:
            return told
        try:
            with self.memory.store.without_waiting():
                earlier = session.history(limit=EARLIER_ANSWERS)
                if not earlier and (greets or not any(map(str.isalpha, plain))):
                    earlier = self._talk_before(session)
                elif not earlier and len(plain.split()) > 1 and guess_language(query) != codes()[0]:
                    return guess_language(query)
        except StoreError:  # the question is answered without what was said before
            earlier = []
        for turn in sorted(earlier, key=lambda one: (one.metadata.get("act") in SMALL_TALK, -one.turn_number)):
            if (told := _language_told(f"{turn.query}\n{turn.response or ''}")) is not None:
                return told
        return self.memory.settings.locale.code

    def _talk_before(self, session: "Session") -> list[Turn]:
        """The last turns of the session that the user had before this one."""
        known = self.memory.sessions(user_id=session.user_id, limit=2)
        before = next((each.id for each in known if each.id != session.id), None)
        owner = Owner(self.memory.settings.tenant_id, session.user_id)
        return list(self.memory.store.turns.page(owner, before, last=EARLIER_ANSWERS)) if before else []

    def _asked_before(self, state: _TurnState) -> "OpenTurn | None":
        """The turn of a request that is sent again without its session, which its sender may never have learned."""
        request = state.request
        turn = self.memory.store.turns.get(Owner(self.memory.settings.tenant_id, request.user_id), state.turn_id)
        if not state.is_new or turn is None or turn.query != request.query:
            return None
        session = self.memory.session(turn.session_id, user_id=request.user_id, agent_id=turn.agent_id)
        return OpenTurn(session, turn)

    def _store_notes(self, state: _TurnState) -> Sequence[str]:
        """Notes of a spooled store about a session; empty while the database is up."""
        owner = Owner(self.memory.settings.tenant_id, state.request.user_id)
        return [told_note(each, state.language) for each in self.memory.store.sessions.notes(owner, state.session.id)]

    def _compose(
        self, state: _TurnState, *, budget: int | None = None, system: str | None = None, **slots: Any
    ) -> "Context":
        """The context, with the passages that are retrieved while it is composed."""

        def find(asked: "Asked") -> Sequence[Chunk]:
            state.record_time("understand")
            state.found = self._retrieve(state, asked)
            state.record_time("retrieve")
            return [each.chunk for each in state.found]

        settings = self.memory.settings
        prompts = instructions(state.language, ("id",))
        model = not isinstance(self.answerer, Reader)
        with self.memory.store.without_waiting():  # reads that take too long are skipped
            context = state.session.context(
                state.request.query,
                chunks=find,
                budget=budget,
                standalone=state.request.understood_as,
                system=system or settings.system_prompt or (prompts.system if model else None),
                format_instructions=settings.format_instructions or (prompts.format if model else None),
                **slots,
            )
        state.notes += [told_note(each, state.language) for each in context.receipt.degraded]
        state.record_time("compose")
        return context

    def _retrieve(self, state: _TurnState, asked: "Asked") -> tuple[Passage, ...]:
        """The caller's own chunks, or the passages found in the documents."""
        if state.request.chunks is not None:
            given = as_chunks(state.request.chunks, self.memory.settings.limits)
            return tuple(Passage(chunk) for chunk in given)
        request = replace(state.request, session_id=state.session.id)
        if state.act is not None and state.act.act in ("documents", "talk") and isinstance(self._passages, Library):
            request = replace(request, document_ids=request.document_ids or self._documents_of(request))
            titles = self._passages.titles(request)
            wanted = "" if state.act.act == "documents" else document_to_summarise(request.query, titles)
            if wanted:
                state.outlined = True
                return tuple(self._passages.outline(request, wanted, self.memory.settings.budget.chunks_first))
            state.titles = () if wanted is None else tuple(titles.values())
        return self._search(request, asked)

    def passages(self, request: ChatRequest, asked: "Asked") -> list[Chunk]:
        """The chunks found in the documents for a question."""
        return [each.chunk for each in self._search(request, asked)]

    def _search(self, request: ChatRequest, asked: "Asked") -> tuple[Passage, ...]:
        if self._passages is None:
            return ()
        if request.document_ids is None:
            request = replace(request, document_ids=self._documents_of(request))
        return tuple(self._passages.find(request, asked, self.memory.settings.budget.chunks_first))

    def _documents_of(self, request: ChatRequest) -> tuple[str, ...] | None:
        """The documents that the session of a request is limited to; None for all."""
        if not isinstance(request.session_id, str):
            return None
        try:
            info = self.memory.store.sessions.get(
                Owner(self.memory.settings.tenant_id, request.user_id), request.session_id
            )
        except StoreError as error:
            log.warning("the documents of a session could not be read: %s", error, extra={"operation": "chat"})
            return None
        return info.document_ids or None if info else None

    def past(self, user_id: str, agent_id: str, turn_id: str) -> Past:
        """What was said before a turn, for an answer from memory."""
        return Past(self.memory, user_id, agent_id, turn_id)

    def _intent(self, request: ChatRequest, context: "Context") -> str:
        return intent(
            request.query,
            follow_up=bool(context.references) or context.question != request.query,
            clarification=context.clarification is not None,
            crisis=context.crisis is not None,
        )

    def _reply_to_crisis(self, state: _TurnState, crisis: Crisis) -> Generator[Event, None, Answered]:
        """The fixed crisis reply. No model is called."""
        text = self.on_crisis(crisis)
        yield CrisisNotice(crisis.tier, crisis.category, crisis.notice, helplines(crisis))
        yield Delta(text)
        return Answered(text, (), (), 1.0, "safety")

    def _answer(self, state: _TurnState, context: "Context") -> Generator[Event, None, Answered]:
        """Stream the answer until it is complete or the request stops it."""
        kept = {item.id for item in context.receipt.items if item.section == "chunks" and item.kept}
        found = [each for each in state.found if each.chunk.id in kept]
        if found:
            yield Sources(tuple(map(OfferedChunk.of, found)))
        earlier = state.session.history(limit=EARLIER_ANSWERS) if state.turn else []
        task = Task(
            state.request.query,
            context,
            tuple(each.chunk for each in found),
            tuple(each.score or 0.0 for each in found),
            state.language,
            tuple(turn.response for turn in earlier if turn.response),
            self.past(state.request.user_id, state.request.agent_id, state.turn_id),
            state.act,
            state.titles,
            state.outlined,
        )
        said: list[str] = []
        pieces = self.answerer.answer(task)
        while True:
            try:
                piece = next(pieces)
            except StopIteration as ended:
                answered: Answered = ended.value
                state.notes += answered.notes
                return answered
            said.append(piece)
            yield Delta(piece)
            if state.request.stop():
                pieces.close()
                if not "".join(said).strip():
                    raise LLMError("the answer was stopped before its first word", cause="stopped")
                state.notes.append(STOPPED)
                return Answered("".join(said), (), (), 0.0, self.answerer.name)

    def _recalled(self, user_id: str, context: "Context", answered: Answered) -> list[dict[str, Any]]:
        """The first past messages that were sent to a model; an answer of the reader names those that it quotes."""
        if answered.completion is None:
            return []
        ids = [each.id for each in context.receipt.kept if each.section == "recalled" and ":" in each.id]
        owner = Owner(self.memory.settings.tenant_id, user_id)
        with suppress(StoreError):
            turns = [(each, self.memory.store.turns.get(owner, turn_id_of(each))) for each in ids[:MOST_RECALLED]]
            return [recalled_message(each, turn) for each, turn in turns if turn]
        return []

    def _store_answer(self, state: _TurnState, context: "Context", answered: Answered) -> ChatResponse:
        """Store the answer and build the response."""
        request = state.request
        intended = self._intent(request, context)
        kept: dict[str, Any] = {}
        if state.turn is not None:
            kept = stored_metadata(request.query, context, answered, state.notes, state.timings) | {
                "intent": intended,
                "result_count": len(state.found),
            }
            if scores := {each.chunk.id: round(each.score, 3) for each in state.found if each.score is not None}:
                kept["scores"] = scores
            if recalled := self._recalled(request.user_id, context, answered):
                kept["recalled"] = recalled
            try:
                if answered.options:
                    state.session.ask_back(request.query, answered.options, language=state.language)
                state.turn.answer(answered.text, chunk_ids=answered.cited, metadata=kept, receipt=context.receipt)
            except NotFoundError:
                state.note("session_deleted")
            except StoreError as error:
                state.note("answer_not_kept")
                _log("chat", "an answer could not be kept", state, error)
        state.notes += self._store_notes(state)
        state.record_time("store")
        return ChatResponse(
            query=request.query,
            message=answered.text,
            data=tuple(map(OfferedChunk.of, state.found)),
            intent=intended,
            confidence=answered.confidence,
            session_id=state.session.id,
            metadata=state.ids()
            | response_metadata(request.query, context, answered, state.notes, state.timings)
            | {"recalled": kept.get("recalled", [])},
        )


def _language_told(text: str) -> str | None:
    """The language of a text; None where its words are of none, or of several alike."""
    found = {language_of(text, default=each).code for each in followup_languages()}
    return found.pop() if len(found) == 1 else None


def _answerer_of(memory: "Memory") -> Answerer:
    """The model of a memory, or the reader."""
    return Model(memory.llm, fallback=memory.settings.model_fallback == "reader") if memory.llm else Reader()


def _clarify(context: "Context") -> Generator[Event, None, Answered]:
    pending = context.clarification
    assert pending is not None
    options = tuple({"label": option.name, "text": option.text} for option in pending.options)
    yield Clarify(pending.prompt, options)
    yield Delta(pending.prompt)
    return Answered(pending.prompt, (), (), 1.0, "clarification")


def _repeated_answer(state: _TurnState) -> ChatResponse | None:
    """The stored answer, if the same turn was sent before."""
    turn: Turn | None = state.turn.turn if state.turn else None
    if turn is None or turn.is_open:
        return None
    return stored_response(turn)


def _log(operation: str, problem: str, state: _TurnState, error: RicordoError) -> None:
    owner = state.session
    log.error(
        "%s: %s",
        problem,
        error,
        extra={"operation": operation, "user_id": owner.user_id, "session_id": owner.id, "turn_id": state.turn_id},
    )
