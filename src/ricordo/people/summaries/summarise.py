"""A summary by a language model, checked, with the extractive one and plain truncation behind it.

The talk is handed over fenced, as data. What comes back must say something, must be about the talk, must fit, and gets
the evidence it dropped written under it. Whatever fails, something simpler takes its place and the result says which;
when nothing can be said the result is None, and what is stored stays as it is.
"""

import logging
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ricordo.engine.core import Engine
from ricordo.engine.protocols import LLM, TokenCounter
from ricordo.languages.base import SummaryWording
from ricordo.languages.registry import AnyLanguage
from ricordo.languages.registry import language as language_by_code
from ricordo.people.summaries.evidence import contains_verbatim, find_evidence
from ricordo.people.summaries.extractive import (
    extractive_summary,
    quotable_sentences,
    rank_evidence,
    truncated_summary,
    unchanged_summary,
)
from ricordo.people.summaries.keywords import detect_language, key_topics, keywords
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
from ricordo.records.turns import Message, Turn
from ricordo.safety.fence import fenced

log = logging.getLogger("ricordo.people.session_end")

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_WRAPPED = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.DOTALL)
# Orders to a model, marks of chat templates, and a role at the beginning of a line.
ORDER = AnyLanguage(
    r"\b(?:<titles.orders>)\b|<\|\w+\|>|</?(?:s|sys|system|user|assistant|instructions?)>|\[/?inst\]"
    r"|^\s*(?:<titles.roles>)\s*:",
    re.IGNORECASE | re.MULTILINE,
)
_ABOUT = 0.25  # at least this share of a summary's words must have been said
# How a summary tells who said what: its own words, which need not have been said.
_REPORTING = frozenset(
    keywords(
        """the user asked asks wants wanted said says told mentioned requested student tutor assistant explained
        explains discussed discussing answered described talk conversation summary about topic then also learned learns
        l'utente ha chiesto chiede vuole voleva detto dice menzionato richiesto studente studentessa assistente spiegato
        spiega discusso risposto descritto conversazione riassunto argomento poi anche imparato si parla parlato"""
    )
)
_CHARACTERS_PER_TOKEN = 16
_EPOCH = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, slots=True)
class SummaryWriter:
    """A model that writes summaries and titles: `fence` marks text as data, `reads` bounds what it is given at once."""

    llm: LLM
    fence: Callable[[str], str]
    reads: int = 24_000


class _UnusableSummaryError(Exception):
    """What a model said cannot be used; the message says why, without its words."""


def summarise(
    turns: Sequence[Turn],
    previous: Summary | None,
    limit_tokens: int,
    counter: TokenCounter,
    language: str,
    *,
    writer: SummaryWriter | None = None,
    leave_out: frozenset[str] = frozenset(),
) -> SummaryDraft | None:
    """The best summary that can be made of the turns after the earlier one; None leaves everything as it is."""
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
    turns: Sequence[Turn],
    previous: Summary | None,
    limit: int,
    counter: TokenCounter,
    language: str,
    writer: SummaryWriter,
    leave_out: frozenset[str],
) -> SummaryDraft:
    """A model's summary of the turns, piece by piece where they are too many to be read at once."""
    running = previous
    made: SummaryDraft | None = None
    for piece in _batches(turns, writer.reads, counter):
        made = _model_summary(piece, running, limit, counter, language_by_code(language).summaries, writer, leave_out)
        running = as_summary(made, piece[0])
    if made is None:
        raise _UnusableSummaryError("there was nothing to read")
    return made


def _model_summary(
    turns: Sequence[Turn],
    previous: Summary | None,
    limit: int,
    counter: TokenCounter,
    wording: SummaryWording,
    writer: SummaryWriter,
    leave_out: frozenset[str],
) -> SummaryDraft:
    messages = quotable_messages(turns, leave_out)
    before = parse_summary(previous.text) if previous else SummaryParts()
    said = writer.llm.complete(summary_prompt(messages, before, limit, wording, writer.fence), max_tokens=2 * limit)
    text = clean_completion(said.text)[: limit * _CHARACTERS_PER_TOKEN]  # no more is read than could fit
    if not text:
        raise _UnusableSummaryError("it said nothing")
    if text[0] in "{[":
        raise _UnusableSummaryError("it answered with data, not with a text")
    told = [before.text(wording), *(message.content for message in messages)]
    if not is_about(text, told):
        raise _UnusableSummaryError("what it said is not about the talk")
    # Its sentences in its own order: where there are too many the end gives way, never the evidence.
    own = grounded_sentences(
        [sentence for line in text.split("\n") for sentence in quotable_sentences(line)][:limit], told
    )
    if not own:
        raise _UnusableSummaryError("not one sentence of it is of the talk")
    fitting = SummaryFitter(limit, counter, wording, lambda chosen: speaker_lines([("", own[at]) for at in chosen]))
    sheet = fitting.fill(own, range(len(own)), rank_evidence(messages, before), before.left_out)
    if not sheet.lines:
        raise _UnusableSummaryError("not one sentence of it fits")
    whole = sheet.text(wording)
    topics = key_topics([message.content for message in messages], before=previous.topics if previous else ())
    tokens = counter.count(whole)
    return SummaryDraft(whole, topics, writer.llm.name, covered_range(turns, previous), tokens, sheet.left_out)


def summary_prompt(
    messages: Sequence[Message], before: SummaryParts, limit: int, wording: SummaryWording, fence: Callable[[str], str]
) -> list[dict[str, str]]:
    """What a model is sent: what to do in our own words, and everything that was said inside the fence."""
    said = [message for message in messages if message.content.strip()]
    talk = "\n".join(f"{wording.speaker(message.role)}: {message.content}" for message in said)
    parts = [f"{wording.before}\n{fence(before.text(wording))}"] if before != SummaryParts() else []
    parts.append(f"{wording.talk}\n{fence(talk)}")
    return [
        {"role": "system", "content": wording.condense.format(limit=limit)},
        {"role": "user", "content": "\n\n".join(parts)},
    ]


def clean_completion(text: str) -> str:
    """What a model said without its thinking aloud, a code block around it, and characters that no store takes."""
    plain = _THOUGHT.sub("", _UNWRITABLE.sub(" ", text)).strip()
    wrapped = _WRAPPED.match(plain)
    return (wrapped[1] if wrapped else plain).strip()


def is_about(text: str, said: Iterable[str]) -> bool:
    """Whether enough of a text's words were said: a refusal, or an answer to an order in the talk, is not about it."""
    words = set(keywords(text))
    known = {term for each in said for term in keywords(each)}
    return bool(words) and len(words & known) >= _ABOUT * len(words)


def grounded_sentences(own: Sequence[str], said: Sequence[str]) -> list[str]:
    """The sentences of a model that tell of the talk: no name, number or date that nobody said, few words of its own.

    What gives orders is no summary either, whoever gave them.
    """
    whole = "\n".join(said).casefold()
    known = {term for each in said for term in keywords(each)} | _REPORTING

    def holds(sentence: str) -> bool:
        words = keywords(sentence)
        named = (found.text for found in find_evidence(sentence) if not found.weak)
        return (
            2 * sum(word in known for word in words) >= len(words)
            and all(contains_verbatim(text.casefold(), whole) for text in named)
            and not ORDER.search(sentence)
        )

    return [sentence for sentence in own if holds(sentence)]


def as_summary(made: SummaryDraft, turn: Turn) -> Summary:
    """A condensed text as the earlier summary of the next piece; it is not stored."""
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


def _batches(turns: Sequence[Turn], most: int, counter: TokenCounter) -> Iterable[Sequence[Turn]]:
    """Runs of whole turns of at most so many tokens; a turn that is longer stands alone."""
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


# What a session was about, once it is over: a short summary of all of its turns.

SESSION_TOKENS = 200


def summarise_session(
    turns: Sequence[Turn],
    counter: TokenCounter,
    *,
    limit_tokens: int = SESSION_TOKENS,
    language: str | None = None,
    writer: SummaryWriter | None = None,
    leave_out: frozenset[str] = frozenset(),
) -> SummaryDraft | None:
    """A summary of a whole session in its own language, the same however often it is asked for; None if it is empty."""
    spoken = language or conversation_language(turns)
    return summarise(turns, None, limit_tokens, counter, spoken, writer=writer, leave_out=leave_out)


def conversation_language(turns: Sequence[Turn], default: str = "en") -> str:
    """The language of a talk, by what the user says first of all."""
    questions = [turn.query for turn in turns if turn.query]
    return detect_language(questions or [turn.response or "" for turn in turns], default)


def writer_of(engine: Engine) -> SummaryWriter | None:
    """The model of a memory as a writer of summaries and titles; None without a model."""
    code = engine.settings.locale.code
    return SummaryWriter(engine.llm, lambda text: fenced(text, code)) if engine.llm else None
