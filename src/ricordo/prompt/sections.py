"""A section of a prompt being filled: parts in order of rank, taken while they fit.

In: parts and a share of tokens. Out: the parts kept, as pieces ready to be rendered. The prefix rule holds:
nothing of lower rank survives something of higher rank that was dropped. Where not even the first part fits,
it is shortened and marked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ricordo.engine.tokens import content_tokens, cut, turn_cost
from ricordo.prompt.window import Section, cited, compact_text, label, said, shorten_turn
from ricordo.records.turns import Excerpt, Reason
from ricordo.safety.fence import defuse

if TYPE_CHECKING:
    from ricordo.engine import TokenCounter
    from ricordo.languages.registry import Locale
    from ricordo.records.turns import Message, Turn

SEPARATOR = "\n"


@dataclass(frozen=True, slots=True)
class CompactLine:
    """A compact line of a stored message, kept as the message's address so that a receipt need not copy it.

    `text` is the line as it stands in the prompt. `safe` is the same with what was said in it defused, and a speaker's
    name too; other labels are ours.
    """

    message: "Message"
    label: str
    characters: int
    suffix: str
    text: str
    safe: str


def compact_line_of(message: "Message", locale: "Locale", characters: int) -> CompactLine:
    """The line of a message, with its sources."""
    who, suffix = label(message, locale), cited(message, locale, sources=True)
    words = compact_text(said(message), characters)
    safe = (defuse(who) if message.name else who) + defuse(words) + defuse(suffix)
    return CompactLine(message, who, characters, suffix, who + words + suffix, safe)


Segment = str | CompactLine | Excerpt


@dataclass(frozen=True, slots=True)
class SectionPiece:
    """What a part contributes: literal text, an excerpt, compact lines, or whole messages."""

    text: str = ""
    lines: tuple[CompactLine, ...] = ()
    messages: tuple["Message", ...] = ()
    excerpt: Excerpt | None = None

    @property
    def segment(self) -> Segment:
        """A piece of one text, by address where it is stored."""
        return self.excerpt or self.text


@dataclass(frozen=True, slots=True)
class Part:
    """One candidate of a section. `tokens` is what keeping it costs, its separator included."""

    section: Section
    id: str
    reason: Reason
    piece: SectionPiece
    tokens: int
    turn: "Turn | None" = None
    shortened: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """All parts of one section, best first, and what its heading costs once anything is kept."""

    section: Section
    parts: tuple[Part, ...]
    frame: int = 0

    @property
    def demand(self) -> int:
        """What the section would take if everything fitted."""
        return self.frame + sum(part.tokens for part in self.parts) if self.parts else 0


def fill(candidates: Candidates, share: int, counter: "TokenCounter") -> tuple[Part, ...]:
    """The parts kept within `share` tokens, best first."""
    kept: list[Part] = []
    room = share - candidates.frame
    for part in candidates.parts:
        if part.tokens > room:
            if not kept and (short := shorten(part, room, counter)):
                kept.append(short)
            break
        kept.append(part)
        room -= part.tokens
    return tuple(kept)


def shorten(part: Part, room: int, counter: "TokenCounter") -> Part | None:
    """The part cut to `room` tokens, or None where nothing sensible is left."""
    if part.piece.messages and part.turn:
        short = shorten_turn(safe_turn(part.turn, counter), room, counter)
        short = short and safe_turn(short, counter)  # a cut may bare what stood whole
        if short is None or turn_cost(short, counter) > room:
            return None
        piece = SectionPiece(messages=short.messages)
        return replace(part, piece=piece, tokens=turn_cost(short, counter), shortened=True)
    text = cut(piece_text(part.piece), room, counter, after=SEPARATOR)
    if not text:
        return None
    return replace(part, piece=SectionPiece(text=text), tokens=_tokens(text, counter), shortened=True)


def piece_text(piece: SectionPiece) -> str:
    """A piece as text."""
    if piece.excerpt:
        return piece.excerpt.text
    return piece.text or "\n".join(line.text for line in piece.lines)


def text_part(section: Section, part_id: str, reason: Reason, text: str, counter: "TokenCounter") -> Part:
    """A part that is plain text, counted with what separates it from its neighbour."""
    return Part(section, part_id, reason, SectionPiece(text=text), _tokens(text, counter))


def excerpt_part(section: Section, part_id: str, reason: Reason, excerpt: Excerpt, counter: "TokenCounter") -> Part:
    """A part that stands in a stored message; as plain text where that had to be defused."""
    if (safe := defuse(excerpt.text)) != excerpt.text:
        return text_part(section, part_id, reason, safe, counter)
    return Part(section, part_id, reason, SectionPiece(excerpt=excerpt), _tokens(excerpt.text, counter))


def turn_part(turn: "Turn", reason: Reason, counter: "TokenCounter", *, shortened: bool = False) -> Part:
    """A turn of the history as whole chat messages, defused; `shortened` if the window had to cut it."""
    safe = safe_turn(turn, counter)
    piece = SectionPiece(messages=safe.messages)
    return Part(Section.HISTORY, turn.id, reason, piece, turn_cost(safe, counter), turn, shortened)


def safe_turn(turn: "Turn", counter: "TokenCounter") -> "Turn":
    """The turn as chat messages may show it: defused, and without stored messages of the system.

    Those would be taken for the program's rules, or for the words of a user; the compact lines tell them as data.
    """

    def safe(message: "Message | None") -> "Message | None":
        if message is None or message.role == "system":
            return None
        name = message.name and defuse(message.name)
        calls = tuple(_defused_json(call) for call in message.tool_calls)
        shown = replace(
            message,
            content=defuse(message.content),
            name=name,
            tool_calls=calls,
            tool_call_id=message.tool_call_id and defuse(message.tool_call_id),
        )
        if shown == message:
            return message
        return replace(shown, tokens=content_tokens(shown.content, calls, counter, name))

    steps = tuple(step for each in turn.steps if (step := safe(each)))
    return replace(turn, question=safe(turn.question), answer=safe(turn.answer), steps=steps)


def _defused_json(value: Any) -> Any:
    """A JSON value with every text in it defused."""
    if isinstance(value, str):
        return defuse(value)
    if isinstance(value, Mapping):
        return {defuse(name): _defused_json(inner) for name, inner in value.items()}
    return [_defused_json(inner) for inner in value] if isinstance(value, list | tuple) else value


def compact_part(
    turn: "Turn", reason: Reason, locale: "Locale", characters: int, counter: "TokenCounter", *, shortened: bool = False
) -> Part:
    """A turn of the history as compact lines; as plain text where its messages are not as they are stored.

    That is where the window had to cut them, or where they hold what could be taken for a role or a fence.
    """
    lines = tuple(compact_line_of(message, locale, characters) for message in turn.messages)
    safe = "\n".join(line.safe for line in lines)
    piece = SectionPiece(lines=lines)
    text = piece_text(piece)
    if shortened or safe != text:
        piece, text = SectionPiece(text=safe), safe
    return Part(
        Section.HISTORY,
        turn.id,
        reason,
        piece,
        _tokens(text, counter),
        turn,
        shortened,
    )


def _tokens(text: str, counter: "TokenCounter") -> int:
    return counter.count(text + SEPARATOR)
