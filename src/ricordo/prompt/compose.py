"""Composing the next prompt: fetch the recent turns, gather the other sections, fit all of it, explain it.

A failure of memory must not fail the chat: if history cannot be loaded or counted, the context is built without it,
and the window, the receipt and the log say so.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING

from ricordo.engine.core import Engine, Scope, cause_of
from ricordo.engine.tokens import ApproximateCounter
from ricordo.errors import NotFoundError, RicordoError, StoreError, StoreUnavailable, ValidationError
from ricordo.limits import Limits, check_id, check_list, check_text
from ricordo.prompt.context import PRIMING, Context, Material, TopicMaterial, TopicName, assemble, stable_room_of
from ricordo.prompt.receipt import Receipt, from_stored, rebuild
from ricordo.prompt.window import Window, fit_blocks, fit_window
from ricordo.records.turns import (
    LOOKBACK,
    Asked,
    Chunk,
    Excerpt,
    KnownContext,
    Message,
    Remembered,
    Turn,
    log_details,
    turn_id_of,
)
from ricordo.records.values import record
from ricordo.safety.fence import defuse
from ricordo.settings import BudgetSettings

if TYPE_CHECKING:
    from ricordo.followups.reference import Pending, Resolved
    from ricordo.prompt.memory_block import EndIdle

log = logging.getLogger("ricordo")

Retrieve = Callable[[Asked], Sequence[object]]

FIRST_PAGE = 32
LARGEST_PAGE = 1_024
RANKS_ALIKE, SHORT, LENGTH_COUNTS = 5, 120, 0.3  # how rank and length of a recalled message are weighed


@record
class Meaning:
    """What a question means in its talk; empty where it says it all."""

    standalone: str = ""
    references: "tuple[Resolved, ...]" = ()
    clarification: "Pending | None" = None


@record
class Slots:
    """What other capabilities and the caller add to a context beside history, chunks and question."""

    safety: str = ""
    system: str = ""
    profile: str = ""
    summary: str = ""
    recalled: tuple[Remembered, ...] = ()
    format_instructions: str = ""
    standalone: str = ""

    def check(self, limits: Limits) -> None:
        """Refuse what cannot be part of a prompt, by name; blank texts are empty slots."""
        for each in fields(self):
            if each.name != "recalled":
                check_text(each.name, getattr(self, each.name), limits, may_be_blank=True)
        for index, remembered in enumerate(self.recalled):
            if not isinstance(remembered, Remembered):
                found = type(remembered).__name__
                raise ValidationError(f"recalled[{index}]", f"expected a Remembered, got {found}")
            check_id(f"recalled[{index}].id", remembered.id)
            check_text(f"recalled[{index}].text", remembered.text, limits)


def load_window(
    engine: Engine,
    scope: Scope,
    *,
    asking: str | None = None,
    before: str = "",
    budget: BudgetSettings | None = None,
    read: "list[Sequence[Turn]] | None" = None,
) -> Window:
    """The recent turns that fit; the first page goes to `read`. An open turn that asks `asking` is not history yet.

    A `budget` with `cache_stable` bounds the window instead of `max_turns` and `max_tokens`: by what the text `before`
    the history leaves of the stable room.
    """
    settings, counter = engine.settings.window, engine.counter
    try:
        if budget and budget.cache_stable == "on" and settings.max_turns != 0:
            room = stable_room_of(budget) - PRIMING - 2 * counter.message_overhead - counter.count(before)
            window = fit_blocks(_newest_first(engine, scope, asking, None, read), max(room, 0), counter)
        else:
            window = fit_window(_newest_first(engine, scope, asking, settings.max_turns, read), settings, counter)
    except Exception as error:  # whatever a store or a counter does, the chat goes on
        window = Window(degraded=(_without_memory(scope, "window", "history is unavailable", error),))
    return replace(
        window, labels=engine.labels, compact_chars=settings.compact_chars, sources=settings.history_sources == "on"
    )


def compose(
    engine: Engine,
    scope: Scope,
    question: str,
    chunks: "Sequence[Chunk] | Retrieve",
    slots: Slots,
    budget: BudgetSettings,
    end_idle: "EndIdle | None" = None,
) -> Context:
    """The context for `question`. Chunks may be a function: it is asked once it is known what the question means."""
    from ricordo.safety.screen import screen_of

    check_text("question", question, engine.settings.limits)
    slots.check(engine.settings.limits)
    if engine.queue is not None:
        engine.queue.touch()
    crisis = screen_of(engine).crisis_in(question)
    read = _to_refer_to(engine, question)
    scope, known, window = _known_and_window(engine, scope, question, slots, budget, end_idle, read)
    # Without history there is no talk to understand, and asking the store again would only keep the chat waiting.
    # In a crisis the notice comes first: nothing is understood or recalled, by no rule and by no model.
    alone = bool(window.degraded or crisis)
    meaning, puzzled = (Meaning(), ()) if alone else _understand(engine, scope, question, read[0] if read else None)
    if slots.standalone:
        meaning = replace(meaning, standalone=slots.standalone, clarification=None)
    asked = Asked(meaning.standalone or question, meaning.references)
    chunks, unfound = _retrieved(engine, scope, chunks, asked)
    referenced = _referenced(engine, scope, meaning)
    found, missing, embedder = ((), (), "") if alone else _recall(engine, scope, question, meaning, window)
    if stable := budget.cache_stable == "on":
        found = by_worth(found)
    topic, found, untold = (None, found, ()) if alone else _topic(engine, scope, question, window, found, alone=stable)
    most = budget.chunks_later if window.turns or _spoke_before(engine, scope, question) else budget.chunks_first
    counted = () if engine.counter.exact else (f"tokens are approximate ({engine.counter.name})",)
    material = Material(
        question=question,
        standalone=meaning.standalone,
        safety=slots.safety,
        system=slots.system,
        profile=defuse(slots.profile) or known.profile,
        summary=slots.summary or known.summary,
        topic=topic if topic and (topic.summary or topic.turns) else None,
        history=tuple(reversed(window.turns)),
        history_shortened=window.shortened,
        stable_turns=window.stable_turns,
        recalled=(*referenced, *slots.recalled, *found),
        chunks=tuple(chunks[:most]),
        chunks_left_out=tuple(chunks[most:]),
        format_instructions=slots.format_instructions,
        embedder=embedder,
        degraded=(*window.degraded, *known.degraded, *puzzled, *unfound, *missing, *untold, *counted),
    )
    context = _assembled(engine, scope, material, budget)
    return replace(
        context,
        references=meaning.references,
        clarification=meaning.clarification,
        crisis=crisis,
        topic=TopicName(topic.id, topic.title) if topic else None,
    )


def _assembled(engine: Engine, scope: Scope, material: Material, budget: BudgetSettings) -> Context:
    """The context, even if the counter fails."""
    labels, window = engine.labels, engine.settings.window
    characters, sources = window.compact_chars, window.history_sources == "on"
    try:
        return assemble(material, budget, labels, characters, engine.counter, sources=sources)
    except RicordoError:
        raise
    except Exception as error:  # a counter that fails; without counts no history can be trusted to fit
        note = _without_memory(scope, "context", f"tokens cannot be counted by {engine.counter.name}", error)
        poorer = replace(material, history=(), history_shortened=False, degraded=(*material.degraded, note))
        return assemble(poorer, budget, labels, characters, ApproximateCounter(reason=note), sources=sources)


def _known_and_window(
    engine: Engine,
    scope: Scope,
    question: str,
    slots: Slots,
    budget: BudgetSettings,
    end_idle: "EndIdle | None",
    read: list[Sequence[Turn]] | None,
) -> tuple[Scope, KnownContext, Window]:
    """What is known beforehand, and the recent turns, condensed ones too if they fit; the chat goes on without.

    The scope comes back with the project of the session. A store that is away is not asked twice: that would only keep
    the chat waiting.
    """
    from ricordo.prompt.memory_block import known_for_context  # facts and summaries load with the first context

    known = KnownContext()
    try:
        session = engine.store.sessions.get(scope.owner, scope.session_id)
    except Exception as error:  # without its project, a session must recall nothing
        return scope, known, Window(degraded=(_without_memory(scope, "window", "history is unavailable", error),))
    if session and session.project:
        scope = replace(scope, project=session.project)
    try:
        known = known_for_context(engine, scope, session, end_idle)
    except StoreUnavailable as error:
        return scope, known, Window(degraded=(_without_memory(scope, "window", "history is unavailable", error),))
    except Exception as error:
        known = KnownContext(
            degraded=(_without_memory(scope, "profile", "profile and summary are unavailable", error),)
        )
    before = slots.safety + slots.system
    return scope, known, load_window(engine, scope, asking=question, before=before, budget=budget, read=read)


def _retrieved(
    engine: Engine, scope: Scope, chunks: "Sequence[Chunk] | Retrieve", asked: Asked
) -> tuple[Sequence[Chunk], tuple[str, ...]]:
    """The chunks that were given, or those that are found for the question; the chat goes on without."""
    if not callable(chunks):
        return chunks, ()
    try:
        return as_chunks(chunks(asked), engine.settings.limits), ()
    except Exception as error:
        return (), (_without_memory(scope, "retrieve", "chunks are unavailable", error),)


def _to_refer_to(engine: Engine, question: str) -> list[Sequence[Turn]] | None:
    """Where to keep the page of turns that the question may refer to; None if it refers to none."""
    if engine.settings.recall.follow_ups == "off":
        return None
    from ricordo.followups.reference import LONGEST_FOLLOW_UP

    return [] if len(question) <= LONGEST_FOLLOW_UP else None


def _understand(
    engine: Engine, scope: Scope, question: str, recent: Sequence[Turn] | None
) -> tuple["Meaning", tuple[str, ...]]:
    """What the question refers to; where that fails it is taken as it stands."""
    recall = engine.settings.recall
    if recall.follow_ups == "off":
        return Meaning(), ()
    from ricordo.followups.understand import understand

    find = None
    if recall.recall_messages != 0:
        from ricordo.recall.search import turns_that_said

        find = partial(turns_that_said, engine, scope)
    try:
        understood = understand(engine, scope, question, find=find, recent=recent)
    except Exception as error:
        return Meaning(), (_without_memory(scope, "understand", "the question is taken as it stands", error),)
    return Meaning(understood.standalone, understood.references, understood.clarification), understood.degraded


def _recall(
    engine: Engine, scope: Scope, question: str, meaning: Meaning, window: Window
) -> tuple[tuple[Remembered, ...], tuple[str, ...], str]:
    """Past messages beyond the window, notes, and the embedder; the chat goes on without them."""
    if engine.settings.recall.recall_messages == 0:
        return (), (), ""
    try:
        from ricordo.recall.search import recall_for_context

        found, notes, embedder = recall_for_context(engine, scope, question, window.turns, meaning.standalone)
    except Exception as error:
        return (), (_without_memory(scope, "recall", "recall is unavailable", error),), ""
    whole = {each.text for each in meaning.references}
    others = tuple(each for each in found if each.excerpt is None or each.excerpt.message.content not in whole)
    return others, notes, embedder


def by_worth(found: Sequence[Remembered]) -> tuple[Remembered, ...]:
    """What was recalled, for a small part of a prompt: long messages stand behind short ones of nearly their rank."""
    worth = [(rank + RANKS_ALIKE) * max(len(each.text), SHORT) ** LENGTH_COUNTS for rank, each in enumerate(found)]
    return tuple(found[place] for place in sorted(range(len(found)), key=worth.__getitem__))


def _topic(
    engine: Engine, scope: Scope, question: str, window: Window, found: tuple[Remembered, ...], *, alone: bool
) -> tuple[TopicMaterial | None, tuple[Remembered, ...], tuple[str, ...]]:
    """The topic of the question, what was recalled outside of it, and notes; the chat goes on without.

    A turn of the topic that was recalled is told there, before its newer ones, and not a second time. With `alone` the
    topic has no turns: the part of a prompt that changes is too small for whole ones, and tells what was recalled.
    """
    if engine.settings.recall.organise == "off":
        return None, found, ()
    try:
        from ricordo.topics.organise import topic_for_context

        topic, turns, notes = topic_for_context(engine, scope, question, window.turns)
    except Exception as error:
        return None, found, (_without_memory(scope, "topics", "the active topic is unavailable", error),)
    if topic is None:
        return None, found, notes
    if alone:
        return TopicMaterial(topic.id, topic.title, topic.summary or ""), found, notes
    ranks = {turn_id_of(each.id): rank for rank, each in reversed(list(enumerate(found)))}
    best_first = sorted(turns, key=lambda turn: (ranks.get(turn.id, len(found)), -turn.turn_number))
    told = {turn.id for turn in turns}
    others = tuple(each for each in found if turn_id_of(each.id) not in told)
    return TopicMaterial(topic.id, topic.title, topic.summary or "", tuple(best_first)), others, notes


def _referenced(engine: Engine, scope: Scope, meaning: Meaning) -> tuple[Remembered, ...]:
    """What the question points at, in full, before anything else that is remembered."""
    return tuple(
        Remembered(
            f"turn-{each.turn_number}:{each.item.label if each.item else 'answer'}",
            each.text,
            "referenced",
            _excerpt(engine, scope, each),
        )
        for each in meaning.references
        if each.text.strip()
    )


def _excerpt(engine: Engine, scope: Scope, reference: "Resolved") -> Excerpt | None:
    """Where the text of a reference is stored: a passage of the turn's answer, or of its question."""
    try:
        number = reference.turn_number
        turns = engine.store.turns.page(scope.owner, scope.session_id, after=number - 1, before=number + 1)
    except StoreError:
        return None
    start, end = (reference.item.start, reference.item.end) if reference.item else (0, None)
    said = [message for turn in turns for message in (turn.answer, turn.question) if message]
    return next((Excerpt(each, "", start, end) for each in said if each.content[start:end] == reference.text), None)


def past_receipts(engine: Engine, scope: Scope, limit: int) -> tuple[Receipt, ...]:
    """Receipts of a session, newest first."""
    return tuple(from_stored(each) for each in engine.store.turns.receipts(scope.owner, scope.session_id, limit=limit))


def recompose(engine: Engine, scope: Scope, turn_number: int) -> Context:
    """The context that was built for a past turn, byte for byte."""
    found = engine.store.turns.receipts(scope.owner, scope.session_id, turn_number=turn_number, limit=1)
    if not found:
        raise NotFoundError(f"turn {turn_number} of session {scope.session_id!r} has no receipt")
    receipt = from_stored(found[0])

    turns: dict[str, Turn | None] = {}

    def message_of(address: str) -> Message | None:
        turn_id = turn_id_of(address)
        if turn_id not in turns:
            turns[turn_id] = engine.store.turns.get(scope.owner, turn_id)
        turn = turns[turn_id]
        return next((each for each in turn.messages if each.id == address), None) if turn else None

    messages, prompt = rebuild(receipt, message_of)
    return Context(messages, prompt, receipt.standalone or receipt.question, (), receipt)


def as_chunks(given: object, limits: Limits) -> tuple[Chunk, ...]:
    """Chunks in any of the shapes that callers have: records, mappings with id and text, pairs, plain text."""
    chunks = []
    for index, each in enumerate(check_list("chunks", given)):
        field, own_id = f"chunks[{index}]", f"chunk-{index + 1}"
        match each:
            case Chunk(chunk_id, text):
                pass
            case str():
                chunk_id, text = own_id, each
            case (chunk_id, text):
                pass
            case Mapping():
                chunk_id, text = each.get("id", own_id), each.get("text", each.get("content"))
            case _:
                raise ValidationError(
                    field, "expected a Chunk, a text, a pair (id, text) or a mapping with id and text"
                )
        chunks.append(Chunk(check_id(f"{field}.id", chunk_id), check_text(f"{field}.text", text, limits)))
    return tuple(chunks)


def _spoke_before(engine: Engine, scope: Scope, question: str) -> bool:
    """Whether the session has an earlier turn, though none of it fits the window."""
    try:
        return next(_newest_first(engine, scope, question, most=1), None) is not None
    except Exception:  # the window has said already that history is unavailable
        return False


def _without_memory(scope: Scope, operation: str, problem: str, error: Exception) -> str:
    """Log why memory is missing, never with the text of a message, and return the sentence."""
    cause = cause_of(error)
    log.warning("%s: %s", problem, cause, extra=log_details(operation, scope.owner, scope.session_id))
    # Notes reach the caller; the address of a database and its driver's words belong in the log.
    return f"{problem}: {'the database is away' if isinstance(error, StoreUnavailable) else cause}"


def _newest_first(
    engine: Engine, scope: Scope, asking: str | None, most: int | None, read: list[Sequence[Turn]] | None = None
) -> Iterator[Turn]:
    """Turns from the newest on, fetched in growing pages (the first of `most`), only as far as they are read.

    The first page goes to `read` as well, with all turns that a follow-up may refer to.
    """
    page_size = FIRST_PAGE if most is None else most + (asking is not None)
    if read is not None:
        page_size = max(page_size, LOOKBACK + 1)
    before: int | None = None
    current = asking
    while page_size:
        page = engine.store.turns.page(scope.owner, scope.session_id, last=page_size, before=before)
        if read is not None and before is None:
            read.append(page)
        for turn in reversed(page):
            if current is not None and turn.is_open and turn.query == current:
                current = None
                continue
            current = None
            yield turn
        if len(page) < page_size:
            return
        before = page[0].turn_number
        page_size = min(2 * page_size, LARGEST_PAGE)
