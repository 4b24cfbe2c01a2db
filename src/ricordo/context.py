"""Everything for the next prompt, under one budget: messages for chat APIs, and one text.

In: the material of every section, settings and a counter. Out: a `Context` with its receipt. Pure: the same
inputs give the same bytes. Both forms are filled by the same rules, each within the limit by its own count. Whatever
was stored stands between two fences, as data: what is outside them comes from the program or is the question itself.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from ricordo.budget import Section, allot, check_safety
from ricordo.locales import Locale
from ricordo.ports import TokenCounter
from ricordo.prompt.words import MemoryWords, memory_words
from ricordo.receipt import ChatMessage, Receipt, ReceiptItem, chat_message, digest, text_recipe
from ricordo.records import Chunk, Message, Turn
from ricordo.safety.fence import close_fence, defuse, marker, open_fence
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
    piece_text,
    text_part,
    turn_part,
)
from ricordo.settings import BudgetSettings

if TYPE_CHECKING:
    from ricordo.followups.clarify import Pending
    from ricordo.followups.resolution import Resolved
    from ricordo.safety.crisis import Crisis

BREAK = "\n\n"
PRIMING = 3  # what a chat API adds before the reply

SYSTEM_SECTIONS = (Section.SAFETY, Section.SYSTEM, Section.PROFILE, Section.SUMMARY)
USER_SECTIONS = (Section.RECALLED, Section.CHUNKS, Section.QUESTION, Section.FORMAT)
DATA_SECTIONS = (Section.SUMMARY, Section.HISTORY, Section.RECALLED, Section.CHUNKS)
NO_HISTORY = "none"
STANDALONE = "standalone"  # the part of the question that words of the talk went into


@dataclass(frozen=True, slots=True)
class Remembered:
    """A past message or fact brought back for this question; `excerpt` tells where its text is stored, if it is."""

    id: str
    text: str
    reason: Reason = "recalled"
    excerpt: Excerpt | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """What to find chunks for: the question as it reads without the talk, and what it points at."""

    question: str
    references: "tuple[Resolved, ...]" = ()


@dataclass(frozen=True, slots=True)
class Material:
    """What every section could say. `history` is newest first; `chunks` and `recalled` best first.

    `profile` is taken as it is: whoever writes it has defused its lines. Other stored text is defused here.
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
    `clarification` it is better to ask that than to answer. With a `crisis` the notice comes before any model.
    """

    messages: tuple[ChatMessage, ...]
    prompt: str
    question: str
    references: tuple["Resolved", ...]
    receipt: Receipt
    clarification: "Pending | None" = None
    crisis: "Crisis | None" = None


@dataclass(frozen=True, slots=True)
class _Look:
    """How a context is written: headings, and the fence of this one request."""

    locale: Locale
    memory: MemoryWords
    opening: str
    closing: str

    def fenced(self, segments: Sequence[Segment]) -> list[Segment]:
        """Segments as data."""
        return [self.opening, SEPARATOR, *segments, SEPARATOR, self.closing]


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
    look = _look(as_prompt, locale)

    def cost_of_messages(kept: Mapping[Section, tuple[Part, ...]]) -> int:
        return _messages_cost(kept, look, counter)

    def cost_of_prompt(kept: Mapping[Section, tuple[Part, ...]]) -> int:
        return counter.count(_join(_prompt_segments(kept, look)))

    around = PRIMING + counter.message_overhead
    if any(as_messages[section].demand for section in SYSTEM_SECTIONS):
        around += counter.message_overhead
    fences = [_fences(sections, plain, look, counter) for sections in (SYSTEM_SECTIONS, USER_SECTIONS)]
    chat = _fit(as_messages, limit, around + sum(fences), budget, counter, cost_of_messages)
    text = _fit(as_prompt, limit, _fences(tuple(Section), as_prompt, look, counter), budget, counter, cost_of_prompt)

    messages, messages_recipe = _render_messages(chat.kept, look)
    segments = _prompt_segments(text.kept, look)
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


def _look(candidates: Mapping[Section, Candidates], locale: Locale) -> _Look:
    """The fence of this request: its marker is made of what it fences and occurs nowhere in it."""
    texts = [piece_text(part.piece) for section in Section for part in candidates[section].parts]
    word = marker(texts)
    return _Look(locale, memory_words(locale), open_fence(word, locale.code), close_fence(word, locale.code))


def _fences(
    sections: Sequence[Section], candidates: Mapping[Section, Candidates], look: _Look, counter: TokenCounter
) -> int:
    """What the fences around the data of these sections cost; decided by what there is, not by what fits."""
    pair = counter.count(SEPARATOR.join((look.opening, "", look.closing, "")))
    data = any(_is_data(candidates[section].parts) for section in sections if section in DATA_SECTIONS)
    asked = any(part.id == STANDALONE for part in candidates[Section.QUESTION].parts) and Section.QUESTION in sections
    profile = Section.PROFILE in sections and bool(candidates[Section.PROFILE].parts)
    words = counter.count(SEPARATOR.join((look.memory.title, look.memory.instructions, "")))
    return pair * (data or asked) + (pair + words) * profile


def _is_data(parts: Sequence[Part]) -> bool:
    """Whether parts hold anything stored: that there is no history yet is our own sentence."""
    return bool(parts) and parts[0].id != NO_HISTORY


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
        else text_part(Section.RECALLED, each.id, each.reason, defuse(each.text), counter)
        for each in material.recalled
    )
    chunks = tuple(
        text_part(Section.CHUNKS, chunk.id, "cited", f"[{defuse(chunk.id)}] {defuse(chunk.text)}", counter)
        for chunk in material.chunks
    )
    asked = [("question", material.question)]
    if material.standalone and material.standalone != material.question:
        asked.append((STANDALONE, locale.complete_question.format(question=defuse(material.standalone))))
    questions = tuple(text_part(Section.QUESTION, name, "asked", text, counter) for name, text in asked if text.strip())
    return {
        Section.SAFETY: one(Section.SAFETY, "always", material.safety),
        Section.SYSTEM: one(Section.SYSTEM, "always", material.system),
        Section.PROFILE: one(Section.PROFILE, "fact", material.profile),
        Section.SUMMARY: one(Section.SUMMARY, "summary", defuse(material.summary), locale.summary_header),
        Section.RECALLED: Candidates(Section.RECALLED, recalled, frame(locale.recalled_header)),
        Section.CHUNKS: Candidates(Section.CHUNKS, chunks, frame(locale.chunks_header)),
        Section.QUESTION: Candidates(Section.QUESTION, questions, frame(locale.question_header)),
        Section.FORMAT: one(Section.FORMAT, "always", material.format_instructions),
    }


def _frame(text: str, counter: TokenCounter) -> int:
    """What stands around the parts of a section, and one token for the empty line between sections."""
    return counter.count(text) + 1


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
        none = text_part(Section.HISTORY, NO_HISTORY, "recent", locale.no_history, counter)
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
    segments: list[Segment] = [locale.header(len(parts)), SEPARATOR]
    for part in reversed(parts):
        for line in part.piece.lines or (part.piece.text,):
            segments += [line, SEPARATOR]
    return [*segments, locale.history_footer]


def _text_of(sections: Sequence[Section], kept: Mapping[Section, tuple[Part, ...]], look: _Look) -> list[Segment]:
    """The blocks of the sections that kept anything, apart by an empty line; data between fences."""
    blocks: list[list[Segment]] = []
    data: list[list[Segment]] = []

    def end_data() -> None:
        if data:
            blocks.append(look.fenced(_apart(data)))
            data.clear()

    for section in sections:
        parts = kept[section]
        if not parts:
            continue
        if section is Section.QUESTION:
            data.extend([part.piece.segment] for part in parts if part.id == STANDALONE)
            parts = tuple(part for part in parts if part.id != STANDALONE)
        if section in DATA_SECTIONS and _is_data(parts):
            history = section is Section.HISTORY
            data.append(_history_block(parts, look.locale) if history else _block(section, parts, look.locale))
            continue
        end_data()
        block = _block(section, parts, look.locale)
        if section is Section.PROFILE:
            block = [look.memory.title, SEPARATOR, *look.fenced(block), SEPARATOR, look.memory.instructions]
        blocks.append(block)
    end_data()
    return _apart(blocks)


def _apart(blocks: Sequence[Sequence[Segment]]) -> list[Segment]:
    segments: list[Segment] = []
    for block in blocks:
        segments += [BREAK] if segments else []
        segments += block
    return segments


def _prompt_segments(kept: Mapping[Section, tuple[Part, ...]], look: _Look) -> list[Segment]:
    return _text_of(tuple(Section), kept, look)


def _join(segments: Sequence[Segment]) -> str:
    return "".join(segment if isinstance(segment, str) else segment.text for segment in segments)


def _render_messages(
    kept: Mapping[Section, tuple[Part, ...]], look: _Look
) -> tuple[tuple[ChatMessage, ...], list[dict[str, Any]]]:
    """System message, history, user message; and the recipe that gives them again."""
    messages: list[ChatMessage] = []
    recipe: list[dict[str, Any]] = []

    def add_text(role: str, segments: list[Segment]) -> None:
        if segments:
            messages.append({"role": role, "content": _join(segments)})
            recipe.append({"role": role, "content": text_recipe(segments)})

    add_text("system", _text_of(SYSTEM_SECTIONS, kept, look))
    for part in reversed(kept[Section.HISTORY]):
        for message in part.piece.messages:
            chat, entry = _past_message(message, shortened=part.shortened)
            messages.append(chat)
            recipe.append(entry)
    add_text("user", _user_text(kept, look))
    return tuple(messages), recipe


def _past_message(message: Message, *, shortened: bool) -> tuple[ChatMessage, dict[str, Any]]:
    """A message of the history and its recipe. What was stored never speaks as the system: that is the program's."""
    chat = chat_message(message)
    if message.role == "system":
        chat["role"] = "user"
        return chat, {**chat, "content": text_recipe([message.content if shortened else Excerpt(message)])}
    return chat, {**chat, "content": [message.content]} if shortened else {"message": message.id}


def _user_text(kept: Mapping[Section, tuple[Part, ...]], look: _Look) -> list[Segment]:
    """The last message: a bare question stands alone; beside other blocks it gets its heading."""
    questions = kept[Section.QUESTION]
    if len(questions) == 1 and not any(kept[section] for section in USER_SECTIONS if section is not Section.QUESTION):
        return [part.piece.segment for part in questions]
    return _text_of(USER_SECTIONS, kept, look)


def _messages_cost(kept: Mapping[Section, tuple[Part, ...]], look: _Look, counter: TokenCounter) -> int:
    """What a chat API counts: stored counts for the history, a fresh count for the two texts around it."""
    texts = [text for text in (_text_of(SYSTEM_SECTIONS, kept, look), _user_text(kept, look)) if text]
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
