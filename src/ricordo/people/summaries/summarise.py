"""Write a summary or a title: with a language model, else by extraction; a summary at last by truncation.

The model gets the conversation as fenced data. Its summary must be non-empty, about the conversation and grounded in
it; missing key details are appended. If a step fails, the next one is tried and the result says which was used. If all
fail the result is None and nothing is stored.

A title is the first question with content, without greeting and request. Messages that give orders to a model are
skipped, so that a user cannot dictate a title. A model's title is checked the same way. None if there is no title.
"""

import logging
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from ricordo.languages.registry import AnyLanguage
from ricordo.languages.registry import language as language_by_code
from ricordo.languages.text import detect_language
from ricordo.people.summaries.extractive import (
    extractive_summary,
    quotable_sentences,
    rank_key_details,
    truncated_summary,
    unchanged_summary,
)
from ricordo.people.summaries.key_details import ORDER, grounded_sentences, is_about, is_stop_word, key_topics, keywords
from ricordo.people.summaries.layout import (
    EXTRACTIVE,
    SummaryDraft,
    SummaryFitter,
    SummaryParts,
    covered_range,
    parse_summary,
    quotable_messages,
    speaker_lines,
    uncovered_turns,
)
from ricordo.records.derived import Summary
from ricordo.safety.fence import fenced

if TYPE_CHECKING:
    from ricordo.engine import LLM, TokenCounter
    from ricordo.engine.core import Engine
    from ricordo.languages.base import SummaryWording
    from ricordo.records.turns import Message, Turn

log = logging.getLogger("ricordo")

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_WRAPPED = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.DOTALL)
_CHARACTERS_PER_TOKEN = 16
_EPOCH = datetime.fromtimestamp(0, UTC)
SESSION_TOKENS = 200
MAX_TITLE = 60
_MESSAGES = 6  # messages read for a title
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
class SummaryWriter:
    """A model that writes summaries and titles: `fence` marks text as data, `reads` is its input limit in tokens."""

    llm: "LLM"
    fence: Callable[[str], str]
    reads: int = 24_000


class _UnusableSummaryError(Exception):
    """The model's text cannot be used; the message says why, without quoting it."""


def summarise(
    turns: Sequence["Turn"],
    previous: Summary | None,
    limit_tokens: int,
    counter: "TokenCounter",
    language: str,
    *,
    writer: SummaryWriter | None = None,
    leave_out: frozenset[str] = frozenset(),
) -> SummaryDraft | None:
    """The best summary of the turns after the earlier one; None if nothing could be written."""
    added = uncovered_turns(turns, previous)
    if not added:
        return unchanged_summary(previous, limit_tokens, counter)
    why = ""
    if writer is not None:
        try:
            return _summary_in_batches(added, previous, limit_tokens, counter, language, writer, leave_out)
        except Exception as failure:
            # Other errors may quote the conversation: only their type is reported.
            cause = failure if isinstance(failure, _UnusableSummaryError) else type(failure).__name__
            why = f"{writer.llm.name}: {cause}"
            log.warning("no summary by %s", why)
    for step, make in (("extract", extractive_summary), ("truncate", truncated_summary)):
        try:
            made = make(added, previous, limit_tokens, counter, language, leave_out=leave_out)
        except Exception as failure:
            why = why or f"{step}: {type(failure).__name__}"
            log.warning("summary step %s failed: %s", step, type(failure).__name__)
            continue
        if made is not None:
            return replace(made, why=why)
    return None


def _summary_in_batches(
    turns: Sequence["Turn"],
    previous: Summary | None,
    limit: int,
    counter: "TokenCounter",
    language: str,
    writer: SummaryWriter,
    leave_out: frozenset[str],
) -> SummaryDraft:
    """A model's summary of the turns, in batches if they exceed the input limit."""
    running = previous
    made: SummaryDraft | None = None
    for piece in _batches(turns, writer.reads, counter):
        made = _model_summary(piece, running, limit, counter, language_by_code(language).summaries, writer, leave_out)
        running = as_summary(made, piece[0])
    if made is None:
        raise _UnusableSummaryError("there is nothing to read")
    return made


def _model_summary(
    turns: Sequence["Turn"],
    previous: Summary | None,
    limit: int,
    counter: "TokenCounter",
    wording: "SummaryWording",
    writer: SummaryWriter,
    leave_out: frozenset[str],
) -> SummaryDraft:
    messages = quotable_messages(turns, leave_out)
    before = parse_summary(previous.text) if previous else SummaryParts()
    said = writer.llm.complete(summary_prompt(messages, before, limit, wording, writer.fence), max_tokens=2 * limit)
    text = clean_completion(said.text)[: limit * _CHARACTERS_PER_TOKEN]  # bounds how much is processed
    if not text:
        raise _UnusableSummaryError("it wrote nothing")
    if text[0] in "{[":
        raise _UnusableSummaryError("it returned data, not text")
    said_texts = [before.text(wording), *(message.content for message in messages)]
    if not is_about(text, said_texts):
        raise _UnusableSummaryError("the summary is not about the conversation")
    # Sentences stay in order: the last ones are dropped before key details are.
    own = grounded_sentences(
        [sentence for line in text.split("\n") for sentence in quotable_sentences(line)][:limit], said_texts
    )
    if not own:
        raise _UnusableSummaryError("not one sentence is grounded in the conversation")
    fitting = SummaryFitter(limit, counter, wording, lambda chosen: speaker_lines([("", own[at]) for at in chosen]))
    sheet = fitting.fill(own, range(len(own)), rank_key_details(messages, before), before.left_out)
    if not sheet.lines:
        raise _UnusableSummaryError("not one sentence fits")
    whole = sheet.text(wording)
    topics = key_topics([message.content for message in messages], before=previous.topics if previous else ())
    tokens = counter.count(whole)
    return SummaryDraft(whole, topics, writer.llm.name, covered_range(turns, previous), tokens, sheet.left_out)


def summary_prompt(
    messages: Sequence["Message"],
    before: SummaryParts,
    limit: int,
    wording: "SummaryWording",
    fence: Callable[[str], str],
) -> list[dict[str, str]]:
    """The instructions, and the conversation inside the fence."""
    said = [message for message in messages if message.content.strip()]
    talk = "\n".join(f"{wording.speaker(message.role)}: {message.content}" for message in said)
    parts = [f"{wording.before}\n{fence(before.text(wording))}"] if before != SummaryParts() else []
    parts.append(f"{wording.talk}\n{fence(talk)}")
    return [
        {"role": "system", "content": wording.condense.format(limit=limit)},
        {"role": "user", "content": "\n\n".join(parts)},
    ]


def clean_completion(text: str) -> str:
    """A completion without reasoning, an enclosing code block and unstorable characters."""
    plain = _THOUGHT.sub("", _UNWRITABLE.sub(" ", text)).strip()
    wrapped = _WRAPPED.match(plain)
    return (wrapped[1] if wrapped else plain).strip()


def as_summary(made: SummaryDraft, turn: "Turn") -> Summary:
    """A draft as the earlier summary of the next batch; it is not stored."""
    covers = made.covers
    return Summary(
        id="",
        session_id=turn.session_id,
        agent_id=turn.agent_id,
        kind="condensation",
        text=made.text,
        first_turn=covers.first_turn,
        last_turn=covers.last_turn,
        topics=made.topics,
        created_at=_EPOCH,
        tokens=made.tokens,
        counter="",
        made_by=made.made_by,
    )


def _batches(turns: Sequence["Turn"], most: int, counter: "TokenCounter") -> Iterable[Sequence["Turn"]]:
    """Groups of whole turns up to a number of tokens; a longer turn is alone."""
    piece: list[Turn] = []
    size = 0
    for turn in turns:
        cost = sum(counter.count(message.content) for message in turn.messages)
        if piece and size + cost > most:
            yield piece
            piece, size = [], 0
        piece.append(turn)
        size += cost
    if piece:
        yield piece


def summarise_session(
    turns: Sequence["Turn"],
    counter: "TokenCounter",
    *,
    limit_tokens: int = SESSION_TOKENS,
    writer: SummaryWriter | None = None,
    leave_out: frozenset[str] = frozenset(),
) -> SummaryDraft | None:
    """A summary of a whole session in its own language; None if it is empty."""
    spoken = conversation_language(turns)
    return summarise(turns, None, limit_tokens, counter, spoken, writer=writer, leave_out=leave_out)


def conversation_language(turns: Sequence["Turn"], default: str = "en") -> str:
    """The language of a conversation, by the user's questions."""
    questions = [turn.query for turn in turns if turn.query]
    return detect_language(questions or [turn.response or "" for turn in turns], default)


def writer_of(engine: "Engine") -> SummaryWriter | None:
    """The engine's model as a summary writer; None without a model."""
    code = engine.settings.locale.code
    return SummaryWriter(engine.llm, lambda text: fenced(text, code)) if engine.llm else None


@dataclass(frozen=True, slots=True)
class Title:
    """A title and its author: a model's name, or `extractive`."""

    text: str
    made_by: str


def make_title(
    turns: Sequence["Turn"],
    *,
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
    spoken = detect_language(message.content for message in calm if message.role == "user")
    if writer is not None and calm:
        if (made := _by_model(calm, spoken, writer)) and not refused(made):
            return Title(made, writer.llm.name)
        log.info("no title by %s: extracted from the conversation", writer.llm.name)
    for candidate in _from_talk(calm):
        if candidate and not refused(candidate):
            return Title(candidate, EXTRACTIVE)
    return None


def _by_model(said: Sequence["Message"], language: str, writer: SummaryWriter) -> str:
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
    said_texts = [message.content for message in said]
    grounded = is_about(made, said_texts) and grounded_sentences([made], said_texts)
    return made if grounded and detect_language([made], language) == language else ""


def _from_talk(said: Sequence["Message"]) -> Iterable[str]:
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
