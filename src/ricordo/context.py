"""Everything for the next prompt, under one budget: messages for chat APIs, and one text.

In: the material of every section, settings and a counter. Out: a `Context` with its receipt. Pure: the same
inputs give the same bytes. Both forms are filled by the same rules, each within the limit by its own count.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ricordo.budget import Section, allot, check_safety
from ricordo.locales import Locale
from ricordo.ports import TokenCounter
from ricordo.receipt import ChatMessage, Receipt, ReceiptItem, chat_message, digest, text_recipe
from ricordo.records import Chunk, Turn
from ricordo.sections import (
    SEPARATOR,
    Candidates,
    Excerpt,
    Part,
    Reason,
    Segment,
    compact_part,
    excerpt_part,
    fill,
    text_part,
    turn_part,
)
from ricordo.settings import BudgetSettings

if TYPE_CHECKING:
    from ricordo.followups.clarify import Pending
    from ricordo.followups.resolution import Resolved

BREAK = "\n\n"
PRIMING = 3  # what a chat API adds before the reply

SYSTEM_SECTIONS = (Section.SAFETY, Section.SYSTEM, Section.PROFILE, Section.SUMMARY)
USER_SECTIONS = (Section.RECALLED, Section.CHUNKS, Section.QUESTION, Section.FORMAT)


@dataclass(frozen=True, slots=True)
class Remembered:
    """A past message or fact brought back for this question; `excerpt` tells where its text is stored, if it is."""

    id: str
    text: str
    reason: Reason = "recalled"
    excerpt: Excerpt | None = None


@dataclass(frozen=True, slots=True)
class Material:
    """What every section could say. `history` is newest first; `chunks` and `recalled` best first.

    `standalone` is the question as it reads without the talk, where that differs. `history_shortened` says that the
    window had to cut the one turn of the history to make it fit.
    """

    question: str
    standalone: str = ""
    safety: str = ""
    system: str = ""
    profile: str = ""
    summary: str = ""
    history: tuple[Turn, ...] = ()
    history_shortened: bool = False
    referenced: frozenset[str] = frozenset()
    recalled: tuple[Remembered, ...] = ()
    chunks: tuple[Chunk, ...] = ()
    chunks_left_out: tuple[Chunk, ...] = ()
    format_instructions: str = ""
    embedder: str = ""
    degraded: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """What to send to a model, and the account of it.

    `question` stands alone: it is what to search documents with. `references` are what it points at. With a
    `clarification` it is better to ask that than to answer.
    """

    messages: tuple[ChatMessage, ...]
    prompt: str
    question: str
    references: tuple["Resolved", ...]
    receipt: Receipt
    clarification: "Pending | None" = None


@dataclass(frozen=True, slots=True)
class _Form:
    """One of the two shapes of a context, filled."""

    kept: Mapping[Section, tuple[Part, ...]]
    shares: Mapping[Section, int]
    tokens: int


def assemble(
    material: Material, budget: BudgetSettings, locale: Locale, characters: int, counter: TokenCounter
) -> Context:
    """Fill both forms, render them, and write the receipt."""
    limit = max(budget.model_limit - budget.answer_reserve, 0)
    plain = _plain_candidates(material, locale, counter)
    as_messages = {**plain, Section.HISTORY: _history(material, counter)}
    as_prompt = {**plain, Section.HISTORY: _compact_history(material, locale, characters, counter)}

    def cost_of_messages(kept: Mapping[Section, tuple[Part, ...]]) -> int:
        return _messages_cost(kept, locale, counter)

    def cost_of_prompt(kept: Mapping[Section, tuple[Part, ...]]) -> int:
        return counter.count(_join(_prompt_segments(kept, locale)))

    around = PRIMING + counter.message_overhead
    if any(as_messages[section].demand for section in SYSTEM_SECTIONS):
        around += counter.message_overhead
    chat = _fit(as_messages, limit, around, budget, counter, cost_of_messages)
    text = _fit(as_prompt, limit, 0, budget, counter, cost_of_prompt)

    messages, messages_recipe = _render_messages(chat.kept, locale)
    segments = _prompt_segments(text.kept, locale)
    prompt = _join(segments)
    receipt = Receipt(
        question=material.question,
        limit=budget.model_limit,
        answer_reserve=budget.answer_reserve,
        total_tokens=chat.tokens,
        prompt_tokens=text.tokens,
        shares={section.value: share for section, share in chat.shares.items()},
        sections={section.value: sum(part.tokens for part in parts) for section, parts in chat.kept.items()},
        items=_items(as_messages, chat, text, material),
        counter=counter.name,
        counter_exact=counter.exact,
        messages_digest=digest(messages),
        prompt_digest=digest(prompt),
        recipe={"messages": messages_recipe, "prompt": text_recipe(segments)},
        degraded=material.degraded,
        standalone=material.standalone,
        embedder=material.embedder,
    )
    return Context(messages, prompt, material.standalone or material.question, (), receipt)


def _fit(
    candidates: Mapping[Section, Candidates],
    limit: int,
    around: int,
    budget: BudgetSettings,
    counter: TokenCounter,
    cost: Callable[[Mapping[Section, tuple[Part, ...]]], int],
) -> _Form:
    """Allot, fill, and count the result as it will be sent.

    Joined texts may cost a little more than their parts, so the largest room is taken whose result fits. What
    is kept only grows with the room, and a larger limit leaves every smaller room open: so what is kept only
    grows with the limit, whatever the counter does. The search ends at the latest with the safety rules alone.
    """
    demands = {section: each.demand for section, each in candidates.items()}
    safety = candidates[Section.SAFETY].parts
    check_safety(cost({section: safety if section is Section.SAFETY else () for section in candidates}), limit)
    room = max(limit - around, demands[Section.SAFETY])
    while True:
        shares = allot(room, demands, budget)
        kept = {section: fill(each, shares[section], counter) for section, each in candidates.items()}
        tokens = cost(kept)
        if tokens <= limit:
            return _Form(kept, shares, tokens)
        room -= 1


def _plain_candidates(material: Material, locale: Locale, counter: TokenCounter) -> dict[Section, Candidates]:
    """The sections that look alike in both forms."""

    def one(section: Section, reason: Reason, text: str, heading: str = "") -> Candidates:
        if not text.strip():
            return Candidates(section, ())
        return Candidates(section, (text_part(section, section.value, reason, text, counter),), frame(heading))

    def frame(heading: str) -> int:
        return _frame(f"{heading}{SEPARATOR}" if heading else "", counter)

    recalled = tuple(
        excerpt_part(Section.RECALLED, each.id, each.reason, each.excerpt, counter)
        if each.excerpt and each.excerpt.text == each.text
        else text_part(Section.RECALLED, each.id, each.reason, each.text, counter)
        for each in material.recalled
    )
    chunks = tuple(
        text_part(Section.CHUNKS, chunk.id, "cited", f"[{chunk.id}] {chunk.text}", counter) for chunk in material.chunks
    )
    return {
        Section.SAFETY: one(Section.SAFETY, "always", material.safety),
        Section.SYSTEM: one(Section.SYSTEM, "always", material.system),
        Section.PROFILE: one(Section.PROFILE, "fact", material.profile),
        Section.SUMMARY: one(Section.SUMMARY, "summary", material.summary, locale.summary_header),
        Section.RECALLED: Candidates(Section.RECALLED, recalled, frame(locale.recalled_header)),
        Section.CHUNKS: Candidates(Section.CHUNKS, chunks, frame(locale.chunks_header)),
        Section.QUESTION: one(Section.QUESTION, "asked", _question_text(material, locale), locale.question_header),
        Section.FORMAT: one(Section.FORMAT, "always", material.format_instructions),
    }


def _frame(text: str, counter: TokenCounter) -> int:
    """What stands around the parts of a section, and one token for the empty line between sections."""
    return counter.count(text) + 1


def _question_text(material: Material, locale: Locale) -> str:
    """What is asked, and below it what that means where the words alone do not say."""
    if not material.standalone or material.standalone == material.question:
        return material.question
    return f"{material.question}\n{locale.complete_question.format(question=material.standalone)}"


def _reason(turn: Turn, material: Material) -> Reason:
    return "referenced" if turn.id in material.referenced else "recent"


def _history(material: Material, counter: TokenCounter) -> Candidates:
    parts = tuple(
        turn_part(turn, _reason(turn, material), counter, shortened=material.history_shortened)
        for turn in material.history
    )
    return Candidates(Section.HISTORY, parts)


def _compact_history(material: Material, locale: Locale, characters: int, counter: TokenCounter) -> Candidates:
    parts = tuple(
        compact_part(turn, _reason(turn, material), locale, characters, counter, shortened=material.history_shortened)
        for turn in material.history
    )
    if not parts:
        none = text_part(Section.HISTORY, "none", "recent", locale.no_history, counter)
        return Candidates(Section.HISTORY, (none,), _frame("", counter))
    around = f"{locale.header(len(parts))}{SEPARATOR}{locale.history_footer}"
    return Candidates(Section.HISTORY, parts, _frame(around, counter))


def _block(section: Section, parts: Sequence[Part], locale: Locale) -> list[Segment]:
    """One section of text: its heading, if it has one, and its parts."""
    headings = {
        Section.SUMMARY: locale.summary_header,
        Section.RECALLED: locale.recalled_header,
        Section.CHUNKS: locale.chunks_header,
        Section.QUESTION: locale.question_header,
    }
    heading = headings.get(section)
    segments: list[Segment] = [heading, SEPARATOR] if heading else []
    for index, part in enumerate(parts):
        segments += [SEPARATOR] if index else []
        segments.append(part.piece.segment)
    return segments


def _history_block(parts: Sequence[Part], locale: Locale) -> list[Segment]:
    if parts[0].turn is None:
        return [parts[0].piece.text]
    segments: list[Segment] = [locale.header(len(parts)), SEPARATOR]
    for part in reversed(parts):
        for line in part.piece.lines or (part.piece.text,):
            segments += [line, SEPARATOR]
    return [*segments, locale.history_footer]


def _text_of(sections: Sequence[Section], kept: Mapping[Section, tuple[Part, ...]], locale: Locale) -> list[Segment]:
    """The blocks of the sections that kept anything, apart by an empty line."""
    segments: list[Segment] = []
    for section in sections:
        if not kept[section]:
            continue
        block = _history_block if section is Section.HISTORY else None
        segments += [BREAK] if segments else []
        segments += block(kept[section], locale) if block else _block(section, kept[section], locale)
    return segments


def _prompt_segments(kept: Mapping[Section, tuple[Part, ...]], locale: Locale) -> list[Segment]:
    return _text_of(tuple(Section), kept, locale)


def _join(segments: Sequence[Segment]) -> str:
    return "".join(segment if isinstance(segment, str) else segment.text for segment in segments)


def _render_messages(
    kept: Mapping[Section, tuple[Part, ...]], locale: Locale
) -> tuple[tuple[ChatMessage, ...], list[dict[str, Any]]]:
    """System message, history, user message; and the recipe that gives them again."""
    messages: list[ChatMessage] = []
    recipe: list[dict[str, Any]] = []

    def add_text(role: str, segments: list[Segment]) -> None:
        if segments:
            messages.append({"role": role, "content": _join(segments)})
            recipe.append({"role": role, "content": text_recipe(segments)})

    add_text("system", _text_of(SYSTEM_SECTIONS, kept, locale))
    for part in reversed(kept[Section.HISTORY]):
        for message in part.piece.messages:
            chat = chat_message(message)
            messages.append(chat)
            recipe.append({**chat, "content": [message.content]} if part.shortened else {"message": message.id})
    add_text("user", _user_text(kept, locale))
    return tuple(messages), recipe


def _user_text(kept: Mapping[Section, tuple[Part, ...]], locale: Locale) -> list[Segment]:
    """The last message: a bare question stands alone; beside other blocks it gets its heading."""
    if kept[Section.QUESTION] and not any(
        kept[section] for section in USER_SECTIONS if section is not Section.QUESTION
    ):
        return [part.piece.segment for part in kept[Section.QUESTION]]
    return _text_of(USER_SECTIONS, kept, locale)


def _messages_cost(kept: Mapping[Section, tuple[Part, ...]], locale: Locale, counter: TokenCounter) -> int:
    """What a chat API counts: stored counts for the history, a fresh count for the two texts around it."""
    texts = [text for text in (_text_of(SYSTEM_SECTIONS, kept, locale), _user_text(kept, locale)) if text]
    history = sum(part.tokens for part in kept[Section.HISTORY])
    if not texts and not history:
        return 0
    return PRIMING + history + sum(counter.message_overhead + counter.count(_join(text)) for text in texts)


def _items(
    candidates: Mapping[Section, Candidates], chat: _Form, text: _Form, material: Material
) -> tuple[ReceiptItem, ...]:
    """Every candidate with its fate, section by section, best first: what is kept is always the first ones."""
    items: list[ReceiptItem] = []
    for section in Section:
        parts = candidates[section].parts
        in_prompt = len(text.kept[section])
        for rank, (part, fate) in enumerate(zip_longest(parts, chat.kept[section])):
            items.append(
                ReceiptItem(
                    section=section.value,
                    id=part.id,
                    tokens=(fate or part).tokens,
                    kept=fate is not None,
                    reason=part.reason if fate else f"over the share of {chat.shares[section]} tokens",
                    in_prompt=rank < in_prompt,
                    shortened=bool(fate and fate.shortened),
                )
            )
        if section is Section.CHUNKS:
            most = len(material.chunks)
            items += [
                ReceiptItem(section.value, chunk.id, 0, kept=False, reason=f"over the limit of {most} chunks")
                for chunk in material.chunks_left_out
            ]
    return tuple(items)
