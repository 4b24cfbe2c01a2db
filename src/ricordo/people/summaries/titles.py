"""A short title for a session, from its first questions or by a model.

Without a model it is the first question with content, without greeting and request. Messages that give orders to a
model are skipped, so that a user cannot dictate a title. A model's title is checked the same way. None if there is no
title.
"""

import logging
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ricordo.languages.detect import detect_language
from ricordo.languages.registry import AnyLanguage
from ricordo.languages.registry import language as language_by_code
from ricordo.people.summaries.evidence import is_stop_word, key_topics, keywords
from ricordo.people.summaries.extractive import quotable_sentences
from ricordo.people.summaries.layout import EXTRACTIVE, quotable_messages
from ricordo.people.summaries.summarise import (
    ORDER,
    SummaryWriter,
    clean_completion,
    grounded_sentences,
    is_about,
    writer_of,
)
from ricordo.records.turns import Message, Owner, SessionChanges, Turn
from ricordo.safety.screen import redact_turn as cleaned_turn
from ricordo.safety.screen import screen_of
from ricordo.safety.signals import signals

if TYPE_CHECKING:
    from ricordo.engine.core import Engine

log = logging.getLogger("ricordo")

MAX_TITLE = 60
_MESSAGES = 6  # messages read
_CHARACTERS = 2_000
_SHOULD_END = 15  # least length when a title is cut at a clause

_GREETING = AnyLanguage(r"(?:<titles.greetings>)\b[\s,!.;:–-]*")
_REQUEST = AnyLanguage(
    r"(?:(?:<titles.polite>)\s(?:<titles.asked>)|<titles.requests>)(?=[\s,:]|$)[\s,:]*"
    r"(?:(?:<titles.links>)\s+|(?:<titles.elided_links>)['’])?"
)
_ARTICLE = AnyLanguage(r"(?:(?:<vocabulary.articles>)\s+|(?:<vocabulary.elided_articles>)['’])")
_LABEL = AnyLanguage(r"\A(?:<titles.labels>)\s*[:\-–]\s*")
_LINK = re.compile(r"\b(?:https?|ftp)://\S*|\bwww\.\S*", re.IGNORECASE)
_TAG = re.compile(r"</?\w+(?: [^<>]{0,80})?/?>")
_MARKUP = re.compile(r"[\"«»“”„‟‘‛`´<>#*_|{}\[\]\\~^=]+")
_EDGES = " \t.,;:!?…-–—'’/()+&"


@dataclass(frozen=True, slots=True)
class Title:
    """A title and its author: a model's name, or `extractive`."""

    text: str
    made_by: str


def make_title(
    turns: Sequence[Turn],
    *,
    language: str | None = None,
    writer: SummaryWriter | None = None,
    leave_out: frozenset[str] = frozenset(),
    suspicious: Callable[[str], bool] | None = None,
) -> Title | None:
    """A title of at most 60 characters in the language of the conversation; None if there is none.

    `suspicious` may refuse further texts besides orders to a model.
    """

    def refused(text: str) -> bool:
        return bool(ORDER.search(text)) or (suspicious is not None and suspicious(text))

    said = quotable_messages(turns, leave_out)[: 2 * _MESSAGES]
    calm = [message for message in said if not refused(message.content[:_CHARACTERS])]
    spoken = language or detect_language(message.content for message in calm if message.role == "user")
    if writer is not None and calm:
        if (made := _by_model(calm, spoken, writer)) and not refused(made):
            return Title(made, writer.llm.name)
        log.info("no title by %s: extracted from the conversation", writer.llm.name)
    for candidate in _from_talk(calm):
        if candidate and not refused(candidate):
            return Title(candidate, EXTRACTIVE)
    return None


def _by_model(said: Sequence[Message], language: str, writer: SummaryWriter) -> str:
    """The model's title if it is grounded and in the right language; else empty."""
    wording = language_by_code(language).summaries
    talk = "\n".join(f"{wording.speaker(each.role)}: {each.content[:_CHARACTERS]}" for each in said[:_MESSAGES])
    request = [
        {"role": "system", "content": wording.title},
        {"role": "user", "content": f"{wording.talk}\n{writer.fence(talk)}"},
    ]
    try:
        answer = clean_completion(writer.llm.complete(request, max_tokens=40).text)
    except Exception as failure:
        log.warning("no title by %s: %s", writer.llm.name, type(failure).__name__)
        return ""
    made = clean_title(_LABEL.sub("", answer.partition("\n")[0].strip(" \"'«»“”")))
    told = [message.content for message in said]
    grounded = is_about(made, told) and grounded_sentences([made], told)
    return made if grounded and detect_language([made], language) == language else ""


def _from_talk(said: Sequence[Message]) -> Iterable[str]:
    """Title candidates: the first questions, then the key topics."""
    for message in said[:_MESSAGES]:
        if message.role == "user":
            for sentence in quotable_sentences(message.content[:_CHARACTERS])[:4]:
                asked = clean_title(_asked(sentence))
                if keywords(asked):
                    yield asked
    yield clean_title(", ".join(key_topics([message.content[:_CHARACTERS] for message in said], most=3)))


def _asked(sentence: str) -> str:
    """A sentence without greeting, request and article; unchanged if nothing else is left."""
    rest = sentence
    for pattern in (_GREETING, _GREETING, _GREETING, _REQUEST, _ARTICLE):
        if found := pattern.match(rest):
            rest = rest[found.end() :].lstrip()
    return rest if keywords(rest) else sentence


def clean_title(text: str) -> str:
    """One line without quotes, links, markup and invisible characters, cut at a word to 60 characters."""
    visible = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text)
    words = " ".join(_MARKUP.sub(" ", _LINK.sub(" ", _TAG.sub(" ", visible))).split()).strip(_EDGES)
    if len(words) > MAX_TITLE:
        head = words[: MAX_TITLE + 1]
        ends = [head.rfind(mark) for mark in (", ", "; ", ". ", "? ", "! ", " - ", " ")]
        clause = max(ends[:-1])
        at = clause if clause >= _SHOULD_END else ends[-1] if ends[-1] > 0 else MAX_TITLE
        words = head[:at].rstrip(_EDGES)
        while " " in words and is_stop_word(words.rpartition(" ")[2].lower()):
            words = words.rpartition(" ")[0].rstrip(_EDGES)
    capital = words[:1].upper()
    return (capital if len(capital) == 1 else words[:1]) + words[1:]


TITLE_TURNS = 6  # turns read for a title
MAX_UNTITLED = 1_024  # sessions cached as untitled


class Untitled:
    """Sessions without a possible title and their number of turns, so that a model is not asked again."""

    def __init__(self, engine: "Engine") -> None:
        self._looked_at: OrderedDict[tuple[Owner, str], int] = OrderedDict()

    def has(self, owner: Owner, session_id: str, turns: int) -> bool:
        """Whether this number of turns gave no title."""
        return self._looked_at.get((owner, session_id)) == turns

    def add(self, owner: Owner, session_id: str, turns: int) -> None:
        """Record that this number of turns gave no title."""
        self._looked_at[owner, session_id] = turns
        while len(self._looked_at) > MAX_UNTITLED:
            self._looked_at.popitem(last=False)

    def forget(self, owner: Owner) -> None:
        """Drop the entries of an owner."""
        for key in [key for key in self._looked_at if key[0] == owner]:
            self._looked_at.pop(key, None)


def name_session(engine: "Engine", owner: Owner, session_id: str) -> None:
    """Title a session once it has an answer; a title set by a user stays."""
    if engine.settings.condensation.titles == "off":
        return
    session = engine.store.sessions.get(owner, session_id)
    if session is None or session.title is not None or not session.turn_count:
        return
    turns = [turn for turn in engine.store.turns.page(owner, session_id, before=TITLE_TURNS + 1) if not turn.is_open]
    untitled = engine.part(Untitled)
    if not turns or untitled.has(owner, session_id, len(turns)):
        return
    unfit = screen_of(engine).turns(engine, owner, turns)
    turns = [cleaned_turn(turn, engine.settings.safety) for turn in turns]
    named = make_title(turns, writer=writer_of(engine), leave_out=unfit, suspicious=lambda text: bool(signals(text)))
    if named:
        engine.store.sessions.update(owner, session_id, SessionChanges(title=named.text))
    else:
        untitled.add(owner, session_id, len(turns))
