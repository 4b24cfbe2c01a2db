"""Everything for the next prompt, under one budget: messages for chat APIs, and one text.

In: the material of every section, settings and a counter. Out: a `Context` with its receipt. Pure: the same
inputs give the same bytes. Both forms are filled by the same rules, each within the limit by its own count; how they
are written is `render`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from ricordo.engine.tokens import share_out
from ricordo.errors import BudgetError
from ricordo.prompt.receipt import Receipt, ReceiptItem
from ricordo.prompt.render import (
    NO_HISTORY,
    SECTIONS,
    STABLE_SECTIONS,
    STANDALONE,
    ChatMessage,
    Kept,
    Text,
    around_history,
    as_messages,
    cost_of_fences,
    digest,
    heading,
    look_for,
    one_text,
    text_recipe,
)
from ricordo.prompt.window import (
    SEPARATOR,
    Candidates,
    Part,
    Section,
    compact_part,
    excerpt_part,
    fill,
    text_part,
    topic_part,
    turn_part,
)
from ricordo.records.values import record
from ricordo.safety.fence import defuse

if TYPE_CHECKING:
    from ricordo.engine import TokenCounter
    from ricordo.followups.reference import Pending, Resolved
    from ricordo.languages.registry import Locale
    from ricordo.records.turns import Chunk, Reason, Remembered, Turn
    from ricordo.safety.crisis import Crisis
    from ricordo.settings import BudgetSettings

PRIMING = 3  # what a chat API adds before the reply
FIRST = (Section.SYSTEM, Section.QUESTION, Section.FORMAT)
REST = (Section.PROFILE, Section.SUMMARY, Section.TOPIC, Section.HISTORY, Section.RECALLED, Section.CHUNKS)
_SHARES = tuple((section, f"{section}_share") for section in (*FIRST, *REST))
KEPT_FOR_REST = 4  # a quarter
CHANGING_PART, MOST_CHANGING = 0.22, 7_500  # of the limit, in tokens: recall hardly ever finds more than they hold


class TopicName(NamedTuple):
    """Which topic a question belongs to."""

    id: str
    title: str


@record
class TopicMaterial:
    """What the active topic could say: title, summary, and its turns beyond the window, best first."""

    id: str
    title: str = ""
    summary: str = ""
    turns: tuple["Turn", ...] = ()


@record
class Material:
    """What every section could say. `history` is newest first; `chunks` and `recalled` best first.

    `profile` is taken as it is: its lines are defused when they are written. Other stored text is defused here.
    `standalone` is the question as it reads without the talk, where that differs. `history_shortened` says that the
    window had to cut the one turn of the history to make it fit; `stable_turns`, how many of its oldest turns began
    the history of the context before this one.
    """

    question: str
    standalone: str = ""
    safety: str = ""
    system: str = ""
    profile: str = ""
    summary: str = ""
    topic: TopicMaterial | None = None
    history: tuple["Turn", ...] = ()
    history_shortened: bool = False
    stable_turns: int = 0
    referenced: frozenset[str] = frozenset()
    recalled: tuple["Remembered", ...] = ()
    chunks: tuple["Chunk", ...] = ()
    chunks_left_out: tuple["Chunk", ...] = ()
    format_instructions: str = ""
    embedder: str = ""
    degraded: tuple[str, ...] = ()


@record
class Context:
    """What to send to a model, and the account of it.

    `question` stands alone: it is what to search documents with. `references` are what it points at. With a
    `clarification` it is better to ask that than to answer. With a `crisis` the notice comes before any model.
    `topic` is the one that the question belongs to; None for a new subject.
    """

    messages: tuple[ChatMessage, ...]
    prompt: str
    question: str
    references: tuple["Resolved", ...]
    receipt: Receipt
    clarification: "Pending | None" = None
    crisis: "Crisis | None" = None
    topic: TopicName | None = None


@record
class _Form:
    """One of the two shapes of a context, filled and written."""

    kept: Kept
    shares: Mapping[Section, int]
    tokens: int
    texts: Sequence[Text]


def room_of(budget: "BudgetSettings") -> int:
    """Tokens of a prompt, without the reserve for the answer."""
    return max(budget.model_limit - budget.answer_reserve, 0)


def stable_room_of(budget: "BudgetSettings") -> int:
    """Tokens of it for what stays the same from turn to turn."""
    room, share = room_of(budget), budget.stable_share
    return room - min(int(room * CHANGING_PART), MOST_CHANGING) if share is None else int(room * share)


def assemble(
    material: Material,
    budget: "BudgetSettings",
    locale: "Locale",
    characters: int,
    counter: "TokenCounter",
    *,
    sources: bool = True,
) -> Context:
    """Fill both forms, write them, and write the receipt; compact lines have `characters` and, if wanted, sources."""
    limit = room_of(budget)
    plain = _plain_candidates(material, locale, counter)
    as_chat = {
        **plain,
        Section.TOPIC: _topic(material, locale, None, counter),
        Section.HISTORY: _history(material, counter),
    }
    as_prompt = {
        **plain,
        Section.TOPIC: _topic(material, locale, characters, counter, sources=sources),
        Section.HISTORY: _compact_history(material, locale, characters, counter, sources=sources),
    }
    look = look_for(as_prompt, locale, stable=budget.cache_stable == "on")

    def cost_of_chat(kept: Kept) -> tuple[int, Sequence[Text]]:
        """What a chat API counts: stored counts for the history, a fresh count for the two texts around it."""
        texts = around_history(kept, look)
        history = sum(part.tokens for part in kept[Section.HISTORY])
        around = sum(counter.message_overhead + counter.count(text.whole) for text in texts if text)
        return (PRIMING + history + around if around or history else 0), texts

    def cost_of_prompt(kept: Kept) -> tuple[int, Sequence[Text]]:
        text = one_text(kept, look)
        return counter.count(text.whole), (text,)

    around = PRIMING + counter.message_overhead
    if any(as_chat[section].demand for section in look.before):
        around += counter.message_overhead
    fences = [cost_of_fences(sections, as_chat, look, counter) for sections in (look.before, look.after)]
    chat = _fit(as_chat, limit, around + sum(fences), budget, counter, cost_of_chat)
    groups = [(*look.before, Section.HISTORY), look.after] if look.stable else [SECTIONS]
    around = sum(cost_of_fences(sections, as_prompt, look, counter) for sections in groups)
    prompt = _fit(as_prompt, limit, around, budget, counter, cost_of_prompt)

    system, user = chat.texts
    messages, recipe = as_messages(system, chat.kept[Section.HISTORY], user)
    (text,) = prompt.texts
    receipt = Receipt(
        question=material.question,
        limit=budget.model_limit,
        answer_reserve=budget.answer_reserve,
        total_tokens=chat.tokens,
        prompt_tokens=prompt.tokens,
        shares={section.value: share for section, share in chat.shares.items()},
        sections={section.value: sum(part.tokens for part in parts) for section, parts in chat.kept.items()},
        items=_items(as_chat, chat, prompt, material),
        counter=counter.name,
        counter_exact=counter.exact,
        messages_digest=digest(messages),
        prompt_digest=digest(text.whole),
        recipe={"messages": recipe, "prompt": text_recipe(text.segments)},
        degraded=material.degraded,
        standalone=material.standalone,
        embedder=material.embedder,
        stable_tokens=_stable_tokens(chat, material.stable_turns, counter) if look.stable else None,
    )
    return Context(messages, text.whole, material.standalone or material.question, (), receipt)


def _fit(
    candidates: Mapping[Section, Candidates],
    limit: int,
    around: int,
    budget: "BudgetSettings",
    counter: "TokenCounter",
    cost: Callable[[Kept], tuple[int, Sequence[Text]]],
) -> _Form:
    """Allot, fill, write, and count the result as it will be sent.

    Joined texts may cost a little more than their parts, so the largest room is taken whose result fits. What
    is kept only grows with the room, and a larger limit leaves every smaller room open: so what is kept only
    grows with the limit, whatever the counter does. The search ends at the latest with the safety rules alone.
    """
    demands = {section: each.demand for section, each in candidates.items()}
    if safety := candidates[Section.SAFETY].parts:
        alone, _ = cost({section: safety if section is Section.SAFETY else () for section in candidates})
        check_safety(alone, limit)
    room = max(limit - around, demands[Section.SAFETY])
    while True:
        shares = allot(room, demands, budget)
        kept = {section: fill(each, shares[section], counter) for section, each in candidates.items()}
        tokens, texts = cost(kept)
        if tokens <= limit:
            return _Form(kept, shares, tokens, texts)
        room -= 1


def _stable_tokens(chat: _Form, turns: int, counter: "TokenCounter") -> int:
    """Tokens at the beginning of the messages that the context before this one had, too, if nothing had to be cut."""
    system, _ = chat.texts
    history = chat.kept[Section.HISTORY]
    if any(part.shortened for section in STABLE_SECTIONS for part in chat.kept[section]):
        return 0
    head = counter.message_overhead + counter.count(system.whole) if system else 0
    again = len(history) == turns + 1 or not history  # all but the newest turn
    return head + sum(part.tokens for part in history[1:]) * again


def allot(room: int, demands: Mapping[Section, int], settings: "BudgetSettings") -> dict[Section, int]:
    """Tokens per section; their sum is at most `room`. BudgetError if safety alone is larger."""
    safety = demands.get(Section.SAFETY, 0)
    check_safety(safety, max(room, 0))
    room = max(room, 0) - safety
    wanted_first, wanted_rest = ({section: demands.get(section, 0) for section in each} for each in (FIRST, REST))
    first = min(sum(wanted_first.values()), room - min(sum(wanted_rest.values()), room // KEPT_FOR_REST))
    weights = {section: getattr(settings, name) for section, name in _SHARES if demands.get(section)}
    shares = {Section.SAFETY: safety, **share_out(first, wanted_first, weights)}
    room -= first
    if settings.cache_stable == "on":  # the history was chosen to fit; what changes takes its part, however short it is
        shares[Section.HISTORY] = min(wanted_rest.pop(Section.HISTORY), room)
        changes = room_of(settings) - stable_room_of(settings)
        asked = sum(wanted_first.values()) - wanted_first[Section.SYSTEM]
        room = min(room - shares[Section.HISTORY], max(changes - asked, changes // 2))
    return shares | share_out(room, wanted_rest, weights)


def check_safety(tokens: int, room: int) -> None:
    """Refuse a budget that would have to cut the safety rules."""
    if tokens > room:
        raise BudgetError(
            f"the safety rules take {tokens} tokens and are never cut, but the limit leaves {room}; "
            "raise model_limit, lower answer_reserve or shorten safety_rules"
        )


def _plain_candidates(material: Material, locale: "Locale", counter: "TokenCounter") -> dict[Section, Candidates]:
    """The sections that look alike in both forms."""

    def one(section: Section, reason: "Reason", text: str) -> Candidates:
        parts = (text_part(section, section.value, reason, text, counter),) if text.strip() else ()
        return headed(section, parts)

    def headed(section: Section, parts: tuple[Part, ...]) -> Candidates:
        return _headed(section, parts, locale, counter)

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
        Section.SUMMARY: one(Section.SUMMARY, "summary", defuse(material.summary)),
        Section.RECALLED: headed(Section.RECALLED, recalled),
        Section.CHUNKS: headed(Section.CHUNKS, chunks),
        Section.QUESTION: headed(Section.QUESTION, questions),
        Section.FORMAT: one(Section.FORMAT, "always", material.format_instructions),
    }


def _frame(text: str, counter: "TokenCounter") -> int:
    """What stands around the parts of a section, and one token for the empty line between sections."""
    return counter.count(text) + 1


def _headed(section: Section, parts: tuple[Part, ...], locale: "Locale", counter: "TokenCounter") -> Candidates:
    """A section with its heading; without parts it has none."""
    if not parts:
        return Candidates(section, ())
    above = heading(section, locale)
    return Candidates(section, parts, _frame(f"{above}{SEPARATOR}" if above else "", counter))


def _topic(
    material: Material, locale: "Locale", characters: int | None, counter: "TokenCounter", *, sources: bool = True
) -> Candidates:
    """Title and summary of the active topic, then its turns: as compact lines, or whole without `characters`."""
    topic = material.topic
    if topic is None:
        return Candidates(Section.TOPIC, ())
    named = [defuse(" ".join(topic.title.split())), defuse(topic.summary)]
    about = SEPARATOR.join(text for text in named if text.strip())
    first = (text_part(Section.TOPIC, topic.id, "topic", about, counter),) if about else ()
    turns = tuple(topic_part(turn, locale, characters, counter, sources=sources) for turn in topic.turns)
    return _headed(Section.TOPIC, (*first, *turns), locale, counter)


def _reason(turn: "Turn", material: Material) -> "Reason":
    return "referenced" if turn.id in material.referenced else "recent"


def _history(material: Material, counter: "TokenCounter") -> Candidates:
    parts = tuple(
        turn_part(turn, _reason(turn, material), counter, shortened=material.history_shortened)
        for turn in material.history
    )
    return Candidates(Section.HISTORY, parts)


def _compact_history(
    material: Material, locale: "Locale", characters: int, counter: "TokenCounter", *, sources: bool
) -> Candidates:
    parts = tuple(
        compact_part(
            turn,
            _reason(turn, material),
            locale,
            characters,
            counter,
            shortened=material.history_shortened,
            sources=sources,
        )
        for turn in material.history
    )
    if not parts:
        none = text_part(Section.HISTORY, NO_HISTORY, "recent", locale.no_history, counter)
        return Candidates(Section.HISTORY, (none,), _frame("", counter))
    around = f"{locale.header(len(parts))}{SEPARATOR}{locale.history_footer}"
    return Candidates(Section.HISTORY, parts, _frame(around, counter))


def _items(
    candidates: Mapping[Section, Candidates], chat: _Form, prompt: _Form, material: Material
) -> tuple[ReceiptItem, ...]:
    """Every candidate with its fate, section by section, best first: what is kept is always the first ones."""
    items: list[ReceiptItem] = []
    found = {each.id: each for each in material.recalled}
    for section in SECTIONS:
        name, parts, kept = section.value, candidates[section].parts, chat.kept[section]
        over, in_prompt = f"over the share of {chat.shares[section]} tokens", len(prompt.kept[section])
        for rank, part in enumerate(parts):
            fate = kept[rank] if rank < len(kept) else None
            hit = found.get(part.id) if section is Section.RECALLED else None
            score, reasons = (hit.score, hit.reasons) if hit else (None, ())
            told = (fate.tokens, True, part.reason) if fate else (part.tokens, False, over)
            shortened = fate is not None and fate.shortened
            items.append(ReceiptItem(name, part.id, *told, rank < in_prompt, shortened, score, reasons))
        if section is Section.CHUNKS:
            most = len(material.chunks)
            items += [
                ReceiptItem(name, chunk.id, 0, kept=False, reason=f"over the limit of {most} chunks")
                for chunk in material.chunks_left_out
            ]
    return tuple(items)
