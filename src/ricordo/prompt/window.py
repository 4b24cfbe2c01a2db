"""The recent turns that fit: the last few whole turns within a number of tokens.

In: turns newest first, bounds, a counter. Out: a `Window`, oldest first. Oldest whole turns are dropped first,
never half a turn; if the newest turn alone is too large it is shortened and marked, not dropped.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, TypeVar

from ricordo.engine.tokens import CUT_MARK, content_tokens, cut, message_cost, recounted, turn_cost
from ricordo.errors import BudgetError

if TYPE_CHECKING:
    from ricordo.engine import TokenCounter
    from ricordo.languages.registry import Locale
    from ricordo.records.turns import Json, Message, Turn
    from ricordo.settings import BudgetSettings, WindowSettings


class Section(StrEnum):
    """The parts of a prompt, in the order in which they stand in it."""

    SAFETY = "safety"
    SYSTEM = "system"
    PROFILE = "profile"
    SUMMARY = "summary"
    HISTORY = "history"
    RECALLED = "recalled"
    CHUNKS = "chunks"
    QUESTION = "question"
    FORMAT = "format"


FIRST = (Section.SYSTEM, Section.QUESTION, Section.FORMAT)
REST = (Section.PROFILE, Section.SUMMARY, Section.HISTORY, Section.RECALLED, Section.CHUNKS)
KEPT_FOR_REST = 4  # a quarter

Key = TypeVar("Key")


def allot(room: int, demands: Mapping[Section, int], settings: "BudgetSettings") -> dict[Section, int]:
    """Tokens per section; their sum is at most `room`. BudgetError if safety alone is larger."""
    safety = demands.get(Section.SAFETY, 0)
    check_safety(safety, max(room, 0))
    room = max(room, 0) - safety
    wanted_first, wanted_rest = ({section: demands.get(section, 0) for section in each} for each in (FIRST, REST))
    first = min(sum(wanted_first.values()), room - min(sum(wanted_rest.values()), room // KEPT_FOR_REST))
    weights = {section: getattr(settings, f"{section}_share") for section in (*FIRST, *REST) if demands.get(section)}
    return {
        Section.SAFETY: safety,
        **share_out(first, wanted_first, weights),
        **share_out(room - first, wanted_rest, weights),
    }


def check_safety(tokens: int, room: int) -> None:
    """Refuse a budget that would have to cut the safety rules."""
    if tokens > room:
        raise BudgetError(
            f"the safety rules take {tokens} tokens and are never cut, but the limit leaves {room}; "
            "raise model_limit, lower answer_reserve or shorten safety_rules"
        )


def share_out(total: int, demands: Mapping[Key, int], weights: Mapping[Key, int]) -> dict[Key, int]:
    """Pour `total` into vessels of the given demands in proportion to weights; monotone in `total`."""
    shares = dict.fromkeys(demands, 0)
    open_keys = [key for key, demand in demands.items() if demand > 0]
    left = max(total, 0)
    while open_keys:
        weight = sum(weights[key] for key in open_keys)
        full = [key for key in open_keys if demands[key] * weight <= weights[key] * left]
        if not full:
            for key in open_keys:
                shares[key] = weights[key] * left // weight
            break
        for key in full:
            shares[key] = demands[key]
            left -= demands[key]
            open_keys.remove(key)
    return shares


# The history as a few lines of text: one line a message, shortened, labelled, between a header and a footer.

MOST_SOURCES = 3


def compact_text(text: str, characters: int) -> str:
    """The first `characters` of a text on one line; what is cut is marked."""
    line = " ".join(text.split(None, characters))  # more words than characters are never needed
    return line if len(line) <= characters else line[:characters] + CUT_MARK


def compact_line(message: "Message", locale: "Locale", characters: int, *, sources: bool = False) -> str:
    """One message as one line: who, what, and optionally at most three sources."""
    return label(message, locale) + compact_text(said(message), characters) + cited(message, locale, sources=sources)


def label(message: "Message", locale: "Locale") -> str:
    """Who speaks: the speaker's own name where one was given, on one line whatever the name holds."""
    return f"{_one_line(message.name)}: " if message.name else locale.label(message.role)


def said(message: "Message") -> str:
    """The words of a message, or the names of the tools it calls instead of words."""
    if message.content.strip() or not message.tool_calls:
        return message.content
    return f"[{', '.join(_tool_name(call) for call in message.tool_calls)}]"


def cited(message: "Message", locale: "Locale", *, sources: bool) -> str:
    """The sources behind an answer, if they are wanted and there are any."""
    if not sources or not message.chunk_ids:
        return ""
    return locale.sources.format(ids=", ".join(_one_line(each) for each in message.chunk_ids[:MOST_SOURCES]))


def history_text(turns: Sequence["Turn"], locale: "Locale", characters: int, *, sources: bool = False) -> str:
    """The whole history block, or the sentence that there is none."""
    if not turns:
        return locale.no_history
    lines = [compact_line(message, locale, characters, sources=sources) for turn in turns for message in turn.messages]
    return "\n".join([locale.header(len(turns)), *lines, locale.history_footer])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _tool_name(call: "Json") -> str:
    """The name of a called tool, in the shapes that chat APIs use; callers may have stored any other."""
    inner = call.get("function")
    return str((inner if isinstance(inner, Mapping) else call).get("name", "?"))


@dataclass(frozen=True, slots=True)
class Window:
    """The chosen turns, oldest first. `degraded` says why memory is missing, if it is."""

    turns: tuple["Turn", ...] = ()
    total_tokens: int = 0
    shortened: bool = False
    degraded: tuple[str, ...] = ()

    @property
    def messages(self) -> tuple["Message", ...]:
        """All messages of the chosen turns, in the order they were said."""
        return tuple(message for turn in self.turns for message in turn.messages)

    def text(self, locale: "Locale", compact_chars: int = 150, *, sources: bool = False) -> str:
        """The window as the compact lines of a prompt."""
        return history_text(self.turns, locale, compact_chars, sources=sources)


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


def _only_the_newest(turn: "Turn", limit: int, counter: "TokenCounter") -> Window:
    short = shorten_turn(turn, limit, counter)
    if short is None:
        return Window(degraded=(f"the newest turn does not fit {limit} tokens, not even shortened",))
    return Window((short,), turn_cost(short, counter), shortened=True)


def shorten_turn(turn: "Turn", limit: int, counter: "TokenCounter") -> "Turn | None":
    """The turn with its messages cut to fit `limit` tokens, or None where not even marks would fit.

    Messages share the room evenly. Tool traffic is one group that breaks when cut, so it goes as a whole
    before any word of the question or the answer does; in a turn of nothing else the calls stay whole.
    """
    if turn.steps and (turn.question or turn.answer):
        return shorten_turn(replace(turn, steps=()), limit, counter)
    messages = turn.messages
    calling = [message for message in messages if message.tool_calls]
    fixed = sum(message_cost(message, counter) - message.tokens for message in messages)
    room = limit - fixed - sum(message.tokens for message in calling)
    if room < 0:
        return None
    demands = {message.id: message.tokens for message in messages if not message.tool_calls}
    shares = share_out(room, demands, dict.fromkeys(demands, 1))
    short = {message.id: message for message in calling} | {
        message.id: _shorten(message, shares[message.id], counter) for message in messages if message.id in shares
    }
    if any(message is None for message in short.values()):
        return None
    return replace(
        turn,
        question=short[turn.question.id] if turn.question else None,
        answer=short[turn.answer.id] if turn.answer else None,
        steps=tuple(step for each in turn.steps if (step := short[each.id])),
    )


def _shorten(message: "Message", limit: int, counter: "TokenCounter") -> "Message | None":
    if message.tokens <= limit:
        return message
    named = content_tokens("", (), counter, message.name)
    text = cut(message.content, limit - named, counter)
    return replace(message, content=text, tokens=counter.count(text) + named) if text else None
