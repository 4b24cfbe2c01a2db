"""Write a summary with a language model, else by extraction, else by truncation.

The model gets the conversation as fenced data. Its summary must be non-empty, about the conversation and grounded in
it; missing evidence is appended. If a step fails, the next one is tried and the result says which was used. If all fail
the result is None and nothing is stored.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

from ricordo.languages.detect import detect_language
from ricordo.languages.registry import AnyLanguage, languages
from ricordo.languages.registry import language as language_by_code
from ricordo.people.summaries.evidence import contains_verbatim, find_evidence, key_topics, keywords
from ricordo.people.summaries.extractive import (
    extractive_summary,
    quotable_sentences,
    rank_evidence,
    truncated_summary,
    unchanged_summary,
)
from ricordo.people.summaries.layout import (
    SummaryDraft,
    SummaryFitter,
    SummaryParts,
    covered_range,
    parse_summary,
    quotable_messages,
    speaker_lines,
    uncovered_turns,
)
from ricordo.records.people import Summary
from ricordo.safety.fence import fenced

if TYPE_CHECKING:
    from ricordo.engine.core import Engine
    from ricordo.engine.protocols import LLM, TokenCounter
    from ricordo.languages.base import Language, SummaryWording
    from ricordo.records.turns import Message, Turn

log = logging.getLogger("ricordo")

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_WRAPPED = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.DOTALL)
# Orders to a model, chat template tokens, and a role at the start of a line.
ORDER = AnyLanguage(
    r"\b(?:<titles.orders>)\b|<\|\w+\|>|</?(?:s|sys|system|user|assistant|instructions?)>|\[/?inst\]"
    r"|^\s*(?:<titles.roles>)\s*:",
    re.IGNORECASE | re.MULTILINE,
)
_ABOUT = 0.25  # least share of a summary's keywords that were said
_CHARACTERS_PER_TOKEN = 16
_EPOCH = datetime.fromtimestamp(0, UTC)


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
    told = [before.text(wording), *(message.content for message in messages)]
    if not is_about(text, told):
        raise _UnusableSummaryError("the summary is not about the conversation")
    # Sentences stay in order: the last ones are dropped before evidence is.
    own = grounded_sentences(
        [sentence for line in text.split("\n") for sentence in quotable_sentences(line)][:limit], told
    )
    if not own:
        raise _UnusableSummaryError("not one sentence is grounded in the conversation")
    fitting = SummaryFitter(limit, counter, wording, lambda chosen: speaker_lines([("", own[at]) for at in chosen]))
    sheet = fitting.fill(own, range(len(own)), rank_evidence(messages, before), before.left_out)
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


def is_about(text: str, said: Iterable[str]) -> bool:
    """Whether enough keywords of a text were said; a refusal or an answer to an injected order is not."""
    words = set(keywords(text))
    known = {term for each in said for term in keywords(each)}
    return bool(words) and len(words & known) >= _ABOUT * len(words)


@cache
def _reporting(known: tuple["Language", ...]) -> frozenset[str]:
    """Reporting words of a summary, which need not have been said."""
    return frozenset(word for each in known for word in keywords(each.summaries.reporting))


def grounded_sentences(own: Sequence[str], said: Sequence[str]) -> list[str]:
    """The model's sentences whose names, numbers and dates were all said, with few words of its own.

    Sentences that give orders are dropped too.
    """
    whole = "\n".join(said).casefold()
    known = {term for each in said for term in keywords(each)} | _reporting(languages())

    def holds(sentence: str) -> bool:
        words = keywords(sentence)
        named = (found.text for found in find_evidence(sentence) if not found.weak)
        return (
            2 * sum(word in known for word in words) >= len(words)
            and all(contains_verbatim(text.casefold(), whole) for text in named)
            and not ORDER.search(sentence)
        )

    return [sentence for sentence in own if holds(sentence)]


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


SESSION_TOKENS = 200


def summarise_session(
    turns: Sequence["Turn"],
    counter: "TokenCounter",
    *,
    limit_tokens: int = SESSION_TOKENS,
    language: str | None = None,
    writer: SummaryWriter | None = None,
    leave_out: frozenset[str] = frozenset(),
) -> SummaryDraft | None:
    """A summary of a whole session in its own language; None if it is empty."""
    spoken = language or conversation_language(turns)
    return summarise(turns, None, limit_tokens, counter, spoken, writer=writer, leave_out=leave_out)


def conversation_language(turns: Sequence["Turn"], default: str = "en") -> str:
    """The language of a conversation, by the user's questions."""
    questions = [turn.query for turn in turns if turn.query]
    return detect_language(questions or [turn.response or "" for turn in turns], default)


def writer_of(engine: "Engine") -> SummaryWriter | None:
    """The engine's model as a summary writer; None without a model."""
    code = engine.settings.locale.code
    return SummaryWriter(engine.llm, lambda text: fenced(text, code)) if engine.llm else None
