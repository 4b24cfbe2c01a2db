"""What fits a number of tokens: the recent turns of a window, and the parts of a section.

In: turns newest first, or parts in order of rank; and a number of tokens. Out: a `Window`, oldest first, or the parts
kept, as pieces ready to be rendered. Oldest whole turns are dropped first, never half a turn, and nothing of lower rank
survives something of higher rank that was dropped. Where not even the first turn or part fits, it is shortened and
marked, not dropped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import StrEnum
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from ricordo.engine.tokens import CUT_MARK, content_tokens, cut, recounted, shorten_turn, turn_cost
from ricordo.languages.registry import locale_for
from ricordo.limits import check_number
from ricordo.records.turns import Excerpt, Reason
from ricordo.records.values import record
from ricordo.safety.fence import defuse

if TYPE_CHECKING:
    from ricordo.engine import TokenCounter
    from ricordo.languages.registry import Locale
    from ricordo.records.turns import Json, Message, Turn
    from ricordo.settings import WindowSettings


class Section(StrEnum):
    """The parts of a prompt, in the order in which they stand in it."""

    SAFETY = "safety"
    SYSTEM = "system"
    PROFILE = "profile"
    SUMMARY = "summary"
    TOPIC = "topic"
    HISTORY = "history"
    RECALLED = "recalled"
    CHUNKS = "chunks"
    QUESTION = "question"
    FORMAT = "format"


MOST_SOURCES = 3
MOST_TOOL_CHARACTERS = 150
SEPARATOR = "\n"


def compact_text(text: str, characters: int) -> str:
    """The first `characters` of a text on one line; what is cut is marked."""
    line = " ".join(text[: 2 * characters].split())  # nearly always enough
    if len(line) <= characters < len(text):
        line = " ".join(text.split(None, characters))  # more words than characters are never needed
    return line if len(line) <= characters else line[:characters] + CUT_MARK


def label(message: "Message", locale: "Locale") -> str:
    """Who speaks: the speaker's own name where one was given, on one line whatever the name holds."""
    return f"{_one_line(message.name)}: " if message.name else locale.label(message.role)


def said(message: "Message") -> str:
    """The words of a message, or the names of the tools it calls instead of words."""
    if message.content.strip() or not message.tool_calls:
        return message.content
    return f"[{', '.join(_tool_name(call) for call in message.tool_calls)}]"


def cited(message: "Message", locale: "Locale") -> str:
    """The sources behind an answer, if there are any."""
    if not message.chunk_ids:
        return ""
    return locale.sources.format(ids=", ".join(_one_line(each) for each in message.chunk_ids[:MOST_SOURCES]))


@record
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


def compact_line(message: "Message", locale: "Locale", characters: int, *, sources: bool = False) -> CompactLine:
    """One message as one line: who, what, and optionally at most three sources."""
    who, suffix = label(message, locale), cited(message, locale) if sources else ""
    words = compact_text(said(message), characters)
    safe = (defuse(who) if message.name else who) + defuse(words) + defuse(suffix)
    return CompactLine(message, who, characters, suffix, who + words + suffix, safe)


def history_text(turns: Sequence["Turn"], locale: "Locale", characters: int, *, sources: bool = False) -> str:
    """The whole history block, or the sentence that there is none."""
    if not turns:
        return locale.no_history
    said = [message for turn in turns for message in turn.messages]
    lines = [compact_line(message, locale, characters, sources=sources).text for message in said]
    return "\n".join([locale.header(len(turns)), *lines, locale.history_footer])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _tool_name(call: "Json") -> str:
    """The name of a called tool, in the shapes that chat APIs use; callers may have stored any other."""
    inner = call.get("function")
    return str((inner if isinstance(inner, Mapping) else call).get("name", "?"))


@record
class Window:
    """The chosen turns, oldest first; `degraded` says why memory is missing. The other fields are how it is written.

    With `cache_stable` its first `stable_turns` were the window of the context before.
    """

    turns: tuple["Turn", ...] = ()
    total_tokens: int = 0
    shortened: bool = False
    degraded: tuple[str, ...] = ()
    stable_turns: int = 0
    labels: "Locale | None" = None
    compact_chars: int = 150
    sources: bool = False

    @property
    def messages(self) -> tuple["Message", ...]:
        """All messages of the chosen turns, in the order they were said."""
        return tuple(message for turn in self.turns for message in turn.messages)

    def text(
        self, locale: "Locale | str | None" = None, compact_chars: int | None = None, *, sources: bool | None = None
    ) -> str:
        """The window as the compact lines of a prompt; what is not given is as the settings say.

        The code of the language that is set gives its labels as they are set.
        """
        own = self.labels or locale_for("en")
        labels = own if locale is None or locale == own.code else locale_for(locale)
        characters = self.compact_chars if compact_chars is None else check_number("compact_chars", compact_chars)
        return history_text(self.turns, labels, characters, sources=self.sources if sources is None else sources)


def fit_window(newest_first: Iterable["Turn"], bounds: "WindowSettings", counter: "TokenCounter") -> Window:
    """Take turns from the newest on while they fit; reads no more of `newest_first` than it needs."""
    chosen: list[Turn] = []
    total = 0
    if bounds.max_turns == 0:
        return Window()
    for stored in newest_first:
        turn = recounted(stored, counter)
        cost = turn_cost(turn, counter)
        if total + cost > bounds.max_tokens:
            if not chosen:
                return _only_the_newest(turn, bounds.max_tokens, counter)
            break
        chosen.append(turn)
        total += cost
        if len(chosen) == bounds.max_turns:  # before another one is asked for: that would be read for nothing
            break
    return Window(tuple(reversed(chosen)), total)


def fit_blocks(newest_first: Iterable["Turn"], room: int, counter: "TokenCounter") -> Window:
    """A window that begins at the same turn for many turns; it says how many of its turns began the one before it.

    Once the talk is larger than `room`, about half of the window is dropped at a time. Where it begins follows from
    the numbers of the turns alone: at the number most often divisible by two in the older half of what fits. That
    moves only forward, and a larger room never begins later.
    """
    turns: list[Turn] = []
    costs: list[int] = []
    total = 0
    for stored in newest_first:
        turns.append(turn := recounted(stored, counter))
        costs.append(turn_cost(safe_turn(turn, counter), counter))
        total += costs[-1]
        if total - costs[0] > room:  # enough for the window before the newest turn, too
            break
    kept, before = _block(turns, costs, room), _block(turns[1:], costs[1:], room)
    if turns and not kept:
        return _only_the_newest(turns[0], room, counter)
    size = sum(turn_cost(turn, counter) for turn in turns[:kept])
    return Window(tuple(reversed(turns[:kept])), size, stable_turns=before * (before == kept - 1))


def _block(turns: Sequence["Turn"], costs: Sequence[int], room: int) -> int:
    """How many of the newest turns form the window."""
    fits = next((count for count, total in enumerate(accumulate(costs)) if total > room), len(turns))
    if fits in (0, len(turns)):
        return fits
    return max(range(fits - fits // 2, fits + 1), key=lambda count: (n := turns[count - 1].turn_number) & -n)


def _only_the_newest(turn: "Turn", limit: int, counter: "TokenCounter") -> Window:
    short = shorten_turn(turn, limit, counter)
    if short is None:
        return Window(degraded=(f"the newest turn does not fit {limit} tokens, not even shortened",))
    return Window((short,), turn_cost(short, counter), shortened=True)


Segment = str | CompactLine | Excerpt


class SectionPiece(NamedTuple):  # not a dataclass: a context makes dozens, and these take a quarter of the time
    """What a part contributes: literal text, an excerpt, lines of a turn, or whole messages."""

    text: str = ""
    lines: tuple[CompactLine | Excerpt, ...] = ()
    messages: tuple["Message", ...] = ()
    excerpt: Excerpt | None = None

    @property
    def segment(self) -> Segment:
        """A piece of one text, by address where it is stored."""
        return self.excerpt or self.text


class Part(NamedTuple):
    """One candidate of a section. `tokens` is what keeping it costs, its separator included."""

    section: Section
    id: str
    reason: Reason
    piece: SectionPiece
    tokens: int
    turn: "Turn | None" = None
    shortened: bool = False


@record
class Candidates:
    """All parts of one section, best first, and what its heading costs once anything is kept."""

    section: Section
    parts: tuple[Part, ...]
    frame: int = 0

    @property
    def demand(self) -> int:
        """What the section would take if everything fitted."""
        return self.frame + sum([part.tokens for part in self.parts]) if self.parts else 0


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
        return part._replace(piece=piece, tokens=turn_cost(short, counter), shortened=True)
    text = cut(piece_text(part.piece), room, counter, after=SEPARATOR)
    if not text:
        return None
    return part._replace(piece=SectionPiece(text=text), tokens=_tokens(text, counter), shortened=True)


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
        content, name = defuse(message.content), message.name and defuse(message.name)
        calls = tuple(_defused_json(call) for call in message.tool_calls)
        call_id = message.tool_call_id and defuse(message.tool_call_id)
        if (content, name, calls, call_id) == (message.content, message.name, message.tool_calls, message.tool_call_id):
            return message
        tokens = content_tokens(content, calls, counter, name)
        return replace(message, content=content, name=name, tool_calls=calls, tool_call_id=call_id, tokens=tokens)

    question, answer = safe(turn.question), safe(turn.answer)
    steps = tuple(step for each in turn.steps if (step := safe(each)))
    if question is turn.question and answer is turn.answer and steps == turn.steps:
        return turn
    return replace(turn, question=question, answer=answer, steps=steps)


def _defused_json(value: Any) -> Any:
    """A JSON value with every text in it defused."""
    if isinstance(value, str):
        return defuse(value)
    if isinstance(value, Mapping):
        return {defuse(name): _defused_json(inner) for name, inner in value.items()}
    return [_defused_json(inner) for inner in value] if isinstance(value, list | tuple) else value


def compact_part(
    turn: "Turn",
    reason: Reason,
    locale: "Locale",
    characters: int,
    counter: "TokenCounter",
    *,
    shortened: bool = False,
    sources: bool = True,
) -> Part:
    """A turn of the history as compact lines; as plain text where its messages are not as they are stored.

    That is where the window had to cut them, or where they hold what could be taken for a role or a fence.
    """
    lines = tuple(compact_line(message, locale, characters, sources=sources) for message in turn.messages)
    safe = "\n".join(line.safe for line in lines)
    return _lines_part(Section.HISTORY, turn, reason, lines, safe, counter, shortened=shortened)


def topic_part(
    turn: "Turn", locale: "Locale", characters: int | None, counter: "TokenCounter", *, sources: bool = True
) -> Part:
    """A turn of the active topic: compact lines of so many characters, or the whole messages behind their labels."""
    if characters:
        part = compact_part(turn, "topic", locale, characters, counter, sources=sources)
        return part._replace(section=Section.TOPIC)
    lines: list[CompactLine | Excerpt] = []
    safe: list[str] = []
    for message in turn.messages:
        if message.content.strip():
            lines.append(Excerpt(message, who := label(message, locale)))
            safe.append((defuse(who) if message.name else who) + defuse(message.content))
        else:  # only the names of the tools that it calls
            lines.append(line := compact_line(message, locale, MOST_TOOL_CHARACTERS))
            safe.append(line.safe)
    return _lines_part(Section.TOPIC, turn, "topic", tuple(lines), "\n".join(safe), counter)


def _lines_part(
    section: Section,
    turn: "Turn",
    reason: Reason,
    lines: tuple[CompactLine | Excerpt, ...],
    safe: str,
    counter: "TokenCounter",
    *,
    shortened: bool = False,
) -> Part:
    """A turn as lines by address, or as plain text where that had to be cut or defused."""
    piece = SectionPiece(lines=lines)
    text = piece_text(piece)
    if shortened or safe != text:
        piece, text = SectionPiece(text=safe), safe
    return Part(section, turn.id, reason, piece, _tokens(text, counter), turn, shortened)


def _tokens(text: str, counter: "TokenCounter") -> int:
    return counter.count(text + SEPARATOR)
