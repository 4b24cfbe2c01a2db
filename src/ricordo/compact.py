"""The history as a few lines of text: one line a message, shortened, labelled, between a header and a footer."""

from collections.abc import Mapping, Sequence

from ricordo.locales import Locale
from ricordo.records import Json, Message, Turn
from ricordo.tokens import CUT_MARK

MOST_SOURCES = 3


def compact_text(text: str, characters: int) -> str:
    """The first `characters` of a text on one line; what is cut is marked."""
    line = " ".join(text.split(None, characters))  # more words than characters are never needed
    return line if len(line) <= characters else line[:characters] + CUT_MARK


def compact_line(message: Message, locale: Locale, characters: int, *, sources: bool = False) -> str:
    """One message as one line: who, what, and optionally at most three sources."""
    return label(message, locale) + compact_text(said(message), characters) + cited(message, locale, sources=sources)


def label(message: Message, locale: Locale) -> str:
    """Who speaks: the speaker's own name where one was given, on one line whatever the name holds."""
    return f"{_one_line(message.name)}: " if message.name else locale.label(message.role)


def said(message: Message) -> str:
    """The words of a message, or the names of the tools it calls instead of words."""
    if message.content.strip() or not message.tool_calls:
        return message.content
    return f"[{', '.join(_tool_name(call) for call in message.tool_calls)}]"


def cited(message: Message, locale: Locale, *, sources: bool) -> str:
    """The sources behind an answer, if they are wanted and there are any."""
    if not sources or not message.chunk_ids:
        return ""
    return locale.sources.format(ids=", ".join(_one_line(each) for each in message.chunk_ids[:MOST_SOURCES]))


def history_text(turns: Sequence[Turn], locale: Locale, characters: int, *, sources: bool = False) -> str:
    """The whole history block, or the sentence that there is none."""
    if not turns:
        return locale.no_history
    lines = [compact_line(message, locale, characters, sources=sources) for turn in turns for message in turn.messages]
    return "\n".join([locale.header(len(turns)), *lines, locale.history_footer])


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _tool_name(call: Json) -> str:
    """The name of a called tool, in the shapes that chat APIs use; callers may have stored any other."""
    inner = call.get("function")
    return str((inner if isinstance(inner, Mapping) else call).get("name", "?"))
