"""Exports of messengers: chats of WhatsApp as text and of Telegram as JSON.

In: the lines of a text, or one chat. Out: one conversation with the speakers' names. The messages of the user have the
role user; those of all others have the role assistant and a name, so that no facts are learned from them. The caller
says who the user is; if not, the name of a chat between two people does, because it is that of the other person. Lines
of the program itself and deleted messages are left out; pictures and files become a mark such as `[image]`.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any

from ricordo.imports.conversation import (
    Conversation,
    ImportedMessage,
    ImportProblem,
    identifier,
    join_lines,
    listed,
    mapping,
    other_fields,
    parse_time,
    text,
)
from ricordo.records.turns import Json, Role
from ricordo.records.values import canonical

MAX_MESSAGES = 100_000  # of one chat
HEAD_LINES = 20  # lines that are read to detect a chat

# "[31/12/24, 21:45:12] Anna: hello" of iOS, "31/12/24, 21:45 - Anna: hello" of Android; the year may come first.
_DATE = r"(\d{1,4})[/.\-](\d{1,2})[/.\-](\d{2,4})\.?"
_TIME = r"(\d{1,2})[:.](\d{2})(?:[:.](\d{2}))?(?:\s*([ap])\.?\s*m\.?)?"
_LINE = re.compile(rf"(?:\[{_DATE},?\s+{_TIME}\]\s*|{_DATE},?\s+{_TIME}\s+-\s+)(.*)", re.IGNORECASE | re.DOTALL)
_SPEAKER = re.compile(r"([^:\n]{1,100}?):[ \u00a0](.*)", re.DOTALL)
_INVISIBLE = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_NARROW = str.maketrans({"\u202f": " ", "\u00a0": " "})

# The program's texts in place of a message, in English and Italian.
_GONE = re.compile(
    r"(?:this message was deleted|you deleted this message|questo messaggio è stato eliminato|"
    r"hai eliminato questo messaggio|waiting for this message.*|in attesa del messaggio.*|null)\.?",
    re.IGNORECASE,
)
_EDITED = re.compile(r"\s*<(?:this message was edited|questo messaggio è stato modificato)>\s*$", re.IGNORECASE)
_NOTICE = re.compile(
    r"(?:messages and calls are end-to-end encrypted|i messaggi e le chiamate sono crittografati end-to-end|"
    r"missed (?:voice|video) call|chiamata (?:vocale |video)?persa|videochiamata persa)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_KINDS = (
    (r"images?|photos?|immagin[ei]|foto|gif|sticker|adesiv[oi]", "image"),
    (r"videos?|video notes?|videomessagg[io]", "video"),
    (r"audio|voice messages?|messagg[io] vocal[ei]", "audio"),
    (r"contact cards?|schede? (?:del )?contatt[oi]", "contact"),
    (r"documents?|document[oi]|files?|media|contenut[oi] multimedial[ei]", "file"),
)
_ANY_KIND = "|".join(kinds for kinds, _ in _KINDS)
_OMITTED = re.compile(rf"<?\s*({_ANY_KIND})\s+(?:omitted|omess[oaei]|esclus[oaei])\s*>?", re.IGNORECASE)
_ATTACHED = re.compile(
    r"<(?:attached|allegato):\s*(?P<ios>[^<>\n]+)>"
    r"|(?P<android>[^\n<>]*?\.\w{2,5})\s+\((?:file attached|file allegato)\)",
    re.IGNORECASE,
)
_SUFFIXES = {
    "image": ("jpg", "jpeg", "png", "webp", "gif", "heic"),
    "video": ("mp4", "mov", "3gp", "avi"),
    "audio": ("opus", "ogg", "m4a", "mp3", "aac", "amr", "wav"),
    "contact": ("vcf",),
}
_CHAT_NAME = re.compile(
    r"(?:whatsapp chat (?:with|-)|chat whatsapp con|chat di whatsapp con)\s*(.+?)(?:\s*\(\d+\))?(?:\.txt|\.zip)?",
    re.IGNORECASE,
)

_TELEGRAM = (
    "id", "type", "date", "date_unixtime", "edited", "edited_unixtime", "from", "from_id", "text", "text_entities",
    "photo", "file", "media_type", "forwarded_from", "width", "height",
)  # fmt: skip
_TELEGRAM_CHATS = ("personal_chat", "bot_chat")
_MEDIA = {
    "sticker": "image",
    "animation": "image",
    "video_file": "video",
    "video_message": "video",
    "voice_message": "audio",
    "audio_file": "audio",
}


Date = tuple[int, int, int]


@dataclass(slots=True)
class _Line:
    """A dated line, and the lines below it that belong to it. `date` is as it was written."""

    date: Date
    clock: tuple[int, int, int]
    half: str
    words: list[str] = field(default_factory=list)


def is_whatsapp(head: str) -> bool:
    """Whether the beginning of a text is a chat of WhatsApp: a dated line first, and a speaker or a notice in it."""
    lines = [found for line in head.splitlines()[:HEAD_LINES] if (found := _dated(line))]
    first = next((line for line in head.splitlines() if line.strip()), "")
    if not lines or not _dated(first):
        return False
    return any(_SPEAKER.fullmatch(line.words[0]) for line in lines) or len(lines) > 1


def whatsapp(lines: Iterable[str], name: str, me: str | None = None) -> Iterator[Conversation | ImportProblem]:
    """The chat of a text. `name` is the file's: it may name the other person of a chat between two."""
    found: list[_Line] = []
    problems: list[ImportProblem] = []
    for number, written in enumerate(lines, 1):
        if dated := _dated(written):
            found.append(dated)
        elif found:
            found[-1].words.append(_cleaned(written))
        elif written.strip():
            problems.append(ImportProblem(f"{name}, line {number}", "is before the first dated line; left out"))
    spoken: list[tuple[datetime, str, str]] = []
    to_day = _day_of([line.date for line in found], american=any(line.half for line in found))
    for line in found:
        said = _said("\n".join(line.words).strip())
        at = _moment(to_day(line.date), line)
        if said and at:
            spoken.append((at, *said))
        elif said:
            problems.append(ImportProblem(name, f"the date {'/'.join(map(str, line.date))} does not exist", "left out"))
    if not spoken:
        yield from problems
        return
    owner = me or _other_than(_named_in(name), [speaker for _, speaker, _ in spoken])
    yield Conversation(
        id=_digest("whatsapp", *map(str, spoken[0])),
        place=name,
        paths=(tuple(_numbered(spoken[:MAX_MESSAGES], owner)),),
        title=_named_in(name) or ", ".join(dict.fromkeys(speaker for _, speaker, _ in spoken[:200])),
        metadata={"speakers": sorted({speaker for _, speaker, _ in spoken})[:50]},
        problems=(*problems, *_too_many(name, len(spoken))),
    )


def _too_many(name: str, count: int) -> Iterator[ImportProblem]:
    if count > MAX_MESSAGES:
        yield ImportProblem(name, f"the chat ends after {MAX_MESSAGES} messages; the others are left out", "left out")


def _dated(line: str) -> _Line | None:
    """The line if it begins with a date and a time."""
    found = _LINE.fullmatch(_cleaned(line))
    if not found:
        return None
    *numbers, half = found.groups()[:7] if found[1] else found.groups()[7:14]
    first, second, third, *clock = (int(each or 0) for each in numbers)
    return _Line((first, second, third), (clock[0], clock[1], clock[2]), (half or "").lower(), [found[15]])


def _cleaned(line: str) -> str:
    """A line without direction marks, and with plain spaces."""
    return _INVISIBLE.sub("", line.rstrip("\r\n")).translate(_NARROW)


def _day_of(dates: Sequence[Date], *, american: bool) -> Callable[[Date], Date]:
    """The order of dates in this text: year, day or month first.

    A number above twelve decides; else the order in which the days never go back; else the clock: with "PM" the month
    is first.
    """
    if any(first > 31 for first, _, _ in dates):
        return lambda date: date

    def day_first(date: Date) -> Date:
        return _year(date[2]), date[1], date[0]

    def month_first(date: Date) -> Date:
        return _year(date[2]), date[0], date[1]

    if any(first > 12 for first, _, _ in dates):
        return day_first
    if any(second > 12 for _, second, _ in dates):
        return month_first
    by_day, by_month = (sum(a > b for a, b in pairwise(map(each, dates))) for each in (day_first, month_first))
    if by_day != by_month:
        return day_first if by_day < by_month else month_first
    return month_first if american else day_first


def _year(number: int) -> int:
    return number if number > 99 else 2000 + number


def _moment(day: tuple[int, int, int], line: _Line) -> datetime | None:
    hour, minute, second = line.clock
    if line.half:
        hour = hour % 12 + 12 * (line.half == "p")
    try:
        return datetime(*day, hour, minute, second, tzinfo=UTC)
    except ValueError:
        return None


def _said(words: str) -> tuple[str, str] | None:
    """Speaker and text; None for a line of the program itself and for a deleted message."""
    found = _SPEAKER.fullmatch(words)
    if not found:
        return None
    speaker, content = found[1].strip(), _EDITED.sub("", found[2]).strip()
    if not content or _GONE.fullmatch(content) or _NOTICE.fullmatch(content):
        return None
    if omitted := _OMITTED.fullmatch(content):
        kind = next(kind for words, kind in _KINDS if re.fullmatch(words, omitted[1], re.IGNORECASE))
        return speaker, f"[{kind}]"
    return speaker, _ATTACHED.sub(_attached, content).strip()


def _attached(found: re.Match[str]) -> str:
    file = (found["ios"] or found["android"]).strip()
    suffix = file.rpartition(".")[2].lower()
    kind = next((kind for kind, suffixes in _SUFFIXES.items() if suffix in suffixes), "file")
    return f"[{kind}]" if kind != "file" else f"[file: {file}]"


def _named_in(name: str) -> str:
    """The other person of a chat, by the name of its file."""
    found = _CHAT_NAME.fullmatch(name.rpartition("/")[2].strip())
    return found[1].strip() if found else ""


def _other_than(other: str, speakers: Sequence[str]) -> str | None:
    """The user: of two speakers the one who is not `other`; None if that is unknown."""
    names = set(speakers)
    return next(iter(names - {other})) if other in names and len(names) == 2 else None


def _numbered(spoken: Sequence[tuple[datetime, str, str]], owner: str | None) -> Iterator[ImportedMessage]:
    """The messages. The id of each comes from its content and time; equal ones are numbered."""
    seen: Counter[tuple[datetime, str, str]] = Counter()
    for each in spoken:
        seen[each] += 1
        at, speaker, words = each
        name = _digest(str(at), speaker, words, str(seen[each]))
        yield ImportedMessage(name, _role(speaker, owner), words, at, name=speaker)


def _role(speaker: str, owner: str | None) -> Role:
    return "user" if owner is not None and speaker.casefold() == owner.casefold() else "assistant"


def _digest(*parts: str) -> str:
    return hashlib.sha256(canonical(parts).encode(errors="backslashreplace")).hexdigest()[:24]


def is_telegram(chat: Json) -> bool:
    """Whether an object is a chat of Telegram, by its first message."""
    messages = listed(chat.get("messages"))
    first = mapping(messages[0]) if messages else {}
    return first.get("type") in ("message", "service") and ("date_unixtime" in first or "from_id" in first)


def telegram(value: Any, place: str, fallback: str, me: str | None = None) -> Conversation | ImportProblem | None:
    """One chat of Telegram; None for one without messages."""
    chat = mapping(value)
    if "messages" not in chat:
        return ImportProblem(place, "is not a chat: expected an object with 'messages'")
    said = [each for each in map(mapping, listed(chat.get("messages"))) if each.get("type") == "message"]
    if not said:
        return None
    speakers = [_telegram_speaker(each) for each in said]
    owner = me
    if owner is None and chat.get("type") in _TELEGRAM_CHATS:
        owner = _other_than(text(chat.get("name")), speakers)
    if chat.get("type") == "saved_messages":
        owner = owner or speakers[0]
    return Conversation(
        id=identifier(chat.get("id")) or fallback,
        place=place,
        paths=(tuple(_telegram_message(each, n, owner) for n, each in enumerate(said[:MAX_MESSAGES])),),
        title=text(chat.get("name")) or "Telegram",
        metadata={"speakers": sorted(set(speakers))[:50]},
        problems=tuple(_too_many(place, len(said))),
    )


def _telegram_speaker(message: Json) -> str:
    return text(message.get("from")) or identifier(message.get("from_id")) or "unknown"


def _telegram_message(message: Json, number: int, owner: str | None) -> ImportedMessage:
    speaker = _telegram_speaker(message)
    written = message.get("text")
    parts = written if isinstance(written, list) else [written]
    words = "".join(text(part) or text(mapping(part).get("text")) for part in parts)
    forwarded = text(message.get("forwarded_from"))
    return ImportedMessage(
        id=identifier(message.get("id")) or f"#{number}",
        role=_role(speaker, owner) if not forwarded else "assistant",  # the words of another person
        content=join_lines([*_telegram_media(message), words]),
        created_at=parse_time(message.get("date_unixtime"), message.get("date")),
        name=speaker,
        metadata={"forwarded_from": forwarded or None},
        raw=other_fields(message, *_TELEGRAM),
    )


def _telegram_media(message: Json) -> Iterator[str]:
    """A mark for each attachment of a message."""
    if kind := _MEDIA.get(text(message.get("media_type"))):
        yield f"[{kind}]"
    elif message.get("photo"):
        yield "[image]"
    elif message.get("file"):
        file = text(message.get("file_name")) or text(message.get("file")).rpartition("/")[2]
        yield f"[file: {file}]" if file else "[file]"
    elif mapping(message.get("contact_information")):
        yield "[contact]"
    elif mapping(message.get("location_information")):
        yield "[location]"
