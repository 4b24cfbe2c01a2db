"""How a context is written: as messages for chat APIs and as one text, stored things between fences.

In: the parts that every section kept, and a `Look` (headings and the fence of this request). Out: texts that know which
of their segments are stored, so that a receipt can name them. Whatever was stored stands between two fences, as data:
what is outside them comes from the program or is the question itself.
"""

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ricordo.languages.registry import Locale, memory_words
from ricordo.prompt.window import SEPARATOR, Candidates, CompactLine, Part, Section, Segment, piece_text
from ricordo.records.turns import Excerpt, Message
from ricordo.records.values import canonical, record
from ricordo.safety.fence import close_fence, marker, open_fence

if TYPE_CHECKING:
    from ricordo.engine import TokenCounter
    from ricordo.languages.base import MemoryWords

BREAK = "\n\n"

SECTIONS = tuple(Section)
SYSTEM_SECTIONS = (Section.SAFETY, Section.SYSTEM, Section.PROFILE, Section.SUMMARY, Section.TOPIC)
USER_SECTIONS = (Section.RECALLED, Section.CHUNKS, Section.QUESTION, Section.FORMAT)
STABLE_SECTIONS = (Section.SAFETY, Section.SYSTEM)  # what stands before the history where that should not change
VOLATILE_SECTIONS = (Section.PROFILE, Section.SUMMARY, Section.TOPIC, *USER_SECTIONS)
DATA_SECTIONS = (Section.SUMMARY, Section.TOPIC, Section.HISTORY, Section.RECALLED, Section.CHUNKS)
NO_HISTORY = "none"
STANDALONE = "standalone"  # the part of the question that words of the talk went into

Kept = Mapping[Section, tuple[Part, ...]]
ChatMessage = dict[str, Any]


@record
class Text:
    """A text, and the segments it is made of; false where there is none."""

    segments: Sequence[Segment]
    whole: str

    def __bool__(self) -> bool:
        return bool(self.segments)


@record
class Look:
    """How a context is written: headings, and the fence of this one request."""

    locale: Locale
    memory: "MemoryWords"
    opening: str
    closing: str
    stable: bool = False

    @property
    def before(self) -> tuple[Section, ...]:
        """The sections that stand before the history."""
        return STABLE_SECTIONS if self.stable else SYSTEM_SECTIONS

    @property
    def after(self) -> tuple[Section, ...]:
        """The sections that stand after the history."""
        return VOLATILE_SECTIONS if self.stable else USER_SECTIONS

    def fenced(self, segments: Sequence[Segment]) -> list[Segment]:
        """Segments as data."""
        return [self.opening, SEPARATOR, *segments, SEPARATOR, self.closing]


def heading(section: Section, locale: Locale) -> str:
    """What stands above a section, if anything does."""
    match section:
        case Section.SUMMARY:
            return locale.summary_header
        case Section.TOPIC:
            return locale.topic_header
        case Section.RECALLED:
            return locale.recalled_header
        case Section.CHUNKS:
            return locale.chunks_header
        case Section.QUESTION:
            return locale.question_header
    return ""


def look_for(candidates: Mapping[Section, Candidates], locale: Locale, *, stable: bool = False) -> Look:
    """The look of this request: the marker of its fence is made of what it fences and occurs nowhere in it.

    Where the beginning should not change, the marker is made of what stands first and of the oldest turn.
    """
    texts = [piece_text(part.piece) for section in SECTIONS for part in candidates[section].parts]
    first = [part for section in STABLE_SECTIONS for part in candidates[section].parts]
    oldest = candidates[Section.HISTORY].parts[-1:]
    word = marker(texts, source=[piece_text(part.piece) for part in (*first, *oldest)] if stable else None)
    fences = open_fence(word, locale.code), close_fence(word, locale.code)
    return Look(locale, memory_words(locale), *fences, stable)


def cost_of_fences(
    sections: Sequence[Section], candidates: Mapping[Section, Candidates], look: Look, counter: "TokenCounter"
) -> int:
    """What the fences around the data of these sections cost; decided by what there is, not by what fits."""
    data = any(_is_data(candidates[section].parts) for section in sections if section in DATA_SECTIONS)
    asked = any(part.id == STANDALONE for part in candidates[Section.QUESTION].parts) and Section.QUESTION in sections
    profile = Section.PROFILE in sections and bool(candidates[Section.PROFILE].parts)
    if not (data or asked or profile):
        return 0
    pair = counter.count(SEPARATOR.join((look.opening, "", look.closing, "")))
    words = counter.count(SEPARATOR.join((look.memory.title, look.memory.instructions, ""))) if profile else 0
    return pair * (data or asked) + (pair + words) * profile


def one_text(kept: Kept, look: Look) -> Text:
    """Every section in one text."""
    return _text(_blocks((*look.before, Section.HISTORY, *look.after), kept, look))


def around_history(kept: Kept, look: Look) -> tuple[Text, Text]:
    """The texts of the system message and of the last one: a bare question stands alone, beside others headed."""
    system = _text(_blocks(look.before, kept, look))
    questions = kept[Section.QUESTION]
    if len(questions) == 1 and not any(kept[section] for section in look.after if section is not Section.QUESTION):
        return system, _text([questions[0].piece.segment])
    return system, _text(_blocks(look.after, kept, look))


def as_messages(
    system: Text, history: Sequence[Part], user: Text
) -> tuple[tuple[ChatMessage, ...], list[dict[str, Any]]]:
    """System message, history, user message; and the recipe that gives them again."""
    messages: list[ChatMessage] = []
    recipe: list[dict[str, Any]] = []

    def add(role: str, text: Text) -> None:
        if text:
            messages.append({"role": role, "content": text.whole})
            recipe.append({"role": role, "content": text_recipe(text.segments)})

    add("system", system)
    for part in reversed(history):
        stored = {} if part.shortened or not part.turn else {each.id: each for each in part.turn.messages}
        for message in part.piece.messages:
            messages.append(chat_message(message))
            recipe.append(_past_recipe(message, stored.get(message.id)))
    add("user", user)
    return tuple(messages), recipe


def _past_recipe(message: "Message", stored: "Message | None") -> dict[str, Any]:
    """The recipe of a message of the history: by address what is shown as it is stored, a copy of what differs."""
    if message == stored:
        return {"message": message.id}
    segments: list[Segment] = [message.content]
    if stored:
        start = _common_start(message.content, stored.content)
        end = _common_start(message.content[start:][::-1], stored.content[start:][::-1])
        copied = message.content[start : len(message.content) - end]
        segments = [Excerpt(stored, end=start), copied, Excerpt(stored, start=len(stored.content) - end)]
    return {**chat_message(message), "content": text_recipe(segments)}


def _common_start(one: str, other: str) -> int:
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (each, beside) in pairs if each != beside), min(len(one), len(other)))


def _blocks(sections: Sequence[Section], kept: Kept, look: Look) -> list[Segment]:
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
            data.append(_history(parts, look) if section is Section.HISTORY else _block(section, parts, look))
            continue
        end_data()
        block = _block(section, parts, look)
        if section is Section.PROFILE:
            block = [look.memory.title, SEPARATOR, *look.fenced(block), SEPARATOR, look.memory.instructions]
        blocks.append(block)
    end_data()
    return _apart(blocks)


def _block(section: Section, parts: Sequence[Part], look: Look) -> list[Segment]:
    """One section of text: its heading, if it has one, and its parts."""
    above = heading(section, look.locale)
    segments: list[Segment] = [above, SEPARATOR] if above else []
    # Parts of a topic are kept by rank and told in the order they were said.
    if section is Section.TOPIC:
        parts = sorted(parts, key=lambda part: part.turn.turn_number if part.turn else 0)
    lines = [line for part in parts for line in part.piece.lines or (part.piece.segment,)]
    for index, line in enumerate(lines):
        segments += [SEPARATOR, line] if index else [line]
    return segments


def _history(parts: Sequence[Part], look: Look) -> list[Segment]:
    segments: list[Segment] = [look.locale.header(None if look.stable else len(parts)), SEPARATOR]
    for part in reversed(parts):
        for line in part.piece.lines or (part.piece.text,):
            segments += [line, SEPARATOR]
    return [*segments, look.locale.history_footer]


def _apart(blocks: Sequence[Sequence[Segment]]) -> list[Segment]:
    segments: list[Segment] = []
    for block in blocks:
        segments += [BREAK] if segments else []
        segments += block
    return segments


def _is_data(parts: Sequence[Part]) -> bool:
    """Whether parts hold anything stored: that there is no history yet is our own sentence."""
    return bool(parts) and parts[0].id != NO_HISTORY


def _text(segments: list[Segment]) -> Text:
    return Text(segments, "".join([each if isinstance(each, str) else each.text for each in segments]))


def digest(value: object) -> str:
    """Identifies messages or a prompt to the byte."""
    return hashlib.sha256(canonical(value).encode()).hexdigest()


def chat_message(message: Message) -> ChatMessage:
    """A stored message as chat APIs take it."""
    result: ChatMessage = {"role": message.role, "content": message.content}
    if message.name:
        result["name"] = message.name
    if message.tool_calls:
        result["tool_calls"] = [dict(call) for call in message.tool_calls]
    if message.tool_call_id:
        result["tool_call_id"] = message.tool_call_id
    return result


def text_recipe(segments: Sequence[Segment]) -> list[Any]:
    """Segments of a text: literals stay, what stands in stored messages becomes an address."""
    return [segment if isinstance(segment, str) else _address(segment) for segment in segments]


def _address(segment: "CompactLine | Excerpt") -> dict[str, Any]:
    if isinstance(segment, CompactLine):
        return {"line": [segment.message.id, segment.label, segment.characters, segment.suffix]}
    return {"excerpt": [segment.message.id, segment.label, segment.start, segment.end]}
