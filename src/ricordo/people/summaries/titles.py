"""A short title for a talk, from its first questions or by a model.

Without a model it is what the first telling question asks about, greetings and requests taken off; a message that
gives orders to a model is passed over whole, so that nobody writes a title by command. A model's title is checked the
same way. None when there is nothing to name.
"""

import logging
import re
import unicodedata
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ricordo.engine.core import Engine
from ricordo.languages.summaries import ARTICLE, GREETING, ORDER, REQUEST, wording_for
from ricordo.people.summaries.extractive import sentences
from ricordo.people.summaries.keywords import is_small, key_topics, language_of, terms
from ricordo.people.summaries.layout import EXTRACTIVE, heard
from ricordo.people.summaries.summarise import SummaryWriter, about, cleaned, founded, writer_of
from ricordo.records.turns import Message, Owner, SessionChanges, Turn
from ricordo.safety.screen import cleaned as cleaned_turn
from ricordo.safety.screen import screen_of
from ricordo.safety.signals import signals

log = logging.getLogger("ricordo.people.session_end")

LONGEST = 60
_MESSAGES = 6  # what a talk is about shows in its beginning
_CHARACTERS = 2_000
_SHOULD_END = 15  # a title is not cut back to less than this for the sake of a clause

_LABEL = re.compile(r"\A(?:title|titolo|titre|subject|oggetto)\s*[:\-–]\s*", re.IGNORECASE)
_LINK = re.compile(r"\b(?:https?|ftp)://\S*|\bwww\.\S*", re.IGNORECASE)
_TAG = re.compile(r"</?\w+(?: [^<>]{0,80})?/?>")
_MARKUP = re.compile(r"[\"«»“”„‟‘‛`´<>#*_|{}\[\]\\~^=]+")
_EDGES = " \t.,;:!?…-–—'’/()+&"


@dataclass(frozen=True, slots=True)
class Title:
    """A title, and who made it: a model's name, or `extractive`."""

    text: str
    made_by: str


def title(
    turns: Sequence[Turn],
    *,
    language: str | None = None,
    writer: SummaryWriter | None = None,
    leave_out: frozenset[str] = frozenset(),
    suspicious: Callable[[str], bool] | None = None,
) -> Title | None:
    """A title of at most 60 characters in the talk's language; None when nothing can be named.

    `suspicious` may refuse texts beside those that are recognised here as orders to a model.
    """

    def refused(text: str) -> bool:
        return bool(ORDER.search(text)) or (suspicious is not None and suspicious(text))

    said = heard(turns, leave_out)[: 2 * _MESSAGES]
    calm = [message for message in said if not refused(message.content[:_CHARACTERS])]
    spoken = language or language_of(message.content for message in calm if message.role == "user")
    if writer is not None and calm:
        if (made := _by_model(calm, spoken, writer)) and not refused(made):
            return Title(made, writer.llm.name)
        log.info("no title by %s: taken from the talk", writer.llm.name)
    for candidate in _from_talk(calm):
        if candidate and not refused(candidate):
            return Title(candidate, EXTRACTIVE)
    return None


def _by_model(said: Sequence[Message], language: str, writer: SummaryWriter) -> str:
    """A model's title if it is one: about the talk, in its language. Empty otherwise."""
    wording = wording_for(language)
    talk = "\n".join(f"{wording.speaker(each.role)}: {each.content[:_CHARACTERS]}" for each in said[:_MESSAGES])
    request = [
        {"role": "system", "content": wording.title},
        {"role": "user", "content": f"{wording.talk}\n{writer.fence(talk)}"},
    ]
    try:
        answer = cleaned(writer.llm.complete(request, max_tokens=40).text)
    except Exception as failure:
        log.warning("no title by %s: %s", writer.llm.name, type(failure).__name__)
        return ""
    made = plain(_LABEL.sub("", answer.partition("\n")[0].strip(" \"'«»“”")))
    told = [message.content for message in said]
    grounded = about(made, told) and founded([made], told)
    return made if grounded and language_of([made], language) == language else ""


def _from_talk(said: Sequence[Message]) -> Iterable[str]:
    """What the first questions ask about, then what the talk is about."""
    for message in said[:_MESSAGES]:
        if message.role == "user":
            for sentence in sentences(message.content[:_CHARACTERS])[:4]:
                asked = plain(_asked(sentence))
                if terms(asked):
                    yield asked
    yield plain(", ".join(key_topics([message.content[:_CHARACTERS] for message in said], most=3)))


def _asked(sentence: str) -> str:
    """A sentence without greeting, request and article; itself where they are all it says."""
    rest = sentence
    for pattern in (GREETING, GREETING, GREETING, REQUEST, ARTICLE):
        if found := pattern.match(rest):
            rest = rest[found.end() :].lstrip()
    return rest if terms(rest) else sentence


def plain(text: str) -> str:
    """One line of words: no quotes, links, markup or invisible characters, at most 60 characters, cut at a word."""
    visible = "".join(" " if unicodedata.category(c)[0] in "CZ" else c for c in text)
    words = " ".join(_MARKUP.sub(" ", _LINK.sub(" ", _TAG.sub(" ", visible))).split()).strip(_EDGES)
    if len(words) > LONGEST:
        head = words[: LONGEST + 1]
        ends = [head.rfind(mark) for mark in (", ", "; ", ". ", "? ", "! ", " - ", " ")]
        clause = max(ends[:-1])
        at = clause if clause >= _SHOULD_END else ends[-1] if ends[-1] > 0 else LONGEST
        words = head[:at].rstrip(_EDGES)
        while " " in words and is_small(words.rpartition(" ")[2].lower()):
            words = words.rpartition(" ")[0].rstrip(_EDGES)
    capital = words[:1].upper()
    return (capital if len(capital) == 1 else words[:1]) + words[1:]


TITLED_BY = 6  # turns that a title is made from
REMEMBERED = 1_024  # sessions without a title that are remembered


class Untitled:
    """Sessions that nothing could name, with the turns that were looked at: a model is not asked again for the same."""

    def __init__(self, engine: Engine) -> None:
        self._looked_at: OrderedDict[tuple[Owner, str], int] = OrderedDict()

    def has(self, owner: Owner, session_id: str, turns: int) -> bool:
        """Whether so many turns gave no title."""
        return self._looked_at.get((owner, session_id)) == turns

    def add(self, owner: Owner, session_id: str, turns: int) -> None:
        """So many turns gave no title."""
        self._looked_at[owner, session_id] = turns
        while len(self._looked_at) > REMEMBERED:
            self._looked_at.popitem(last=False)

    def forget(self, owner: Owner) -> None:
        """Drop what is remembered of an owner."""
        for key in [key for key in self._looked_at if key[0] == owner]:
            self._looked_at.pop(key, None)


def name_session(engine: Engine, owner: Owner, session_id: str) -> None:
    """Give a session a title once it has an answer; a title that a user set stays."""
    if engine.settings.condensation.titles == "off":
        return
    session = engine.store.sessions.get(owner, session_id)
    if session is None or session.title is not None or not session.turn_count:
        return
    turns = [turn for turn in engine.store.turns.page(owner, session_id, before=TITLED_BY + 1) if not turn.is_open]
    untitled = engine.part(Untitled)
    if not turns or untitled.has(owner, session_id, len(turns)):
        return
    unfit = screen_of(engine).turns(engine, owner, turns)
    turns = [cleaned_turn(turn, engine.settings.safety) for turn in turns]
    named = title(turns, writer=writer_of(engine), leave_out=unfit, suspicious=lambda text: bool(signals(text)))
    if named:
        engine.store.sessions.update(owner, session_id, SessionChanges(title=named.text))
    else:
        untitled.add(owner, session_id, len(turns))
