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
from ricordo.languages.summaries import ORDER, Wording, wording_for
from ricordo.people.summaries.evidence import find, survives
from ricordo.people.summaries.extractive import evidence_of, extract, sentences, truncate, unchanged
from ricordo.people.summaries.keywords import key_topics, language_of, terms
from ricordo.people.summaries.layout import Condensed, Fitting, Sheet, covered, fresh, gathered, heard, read
from ricordo.records.people import Summary
from ricordo.records.turns import Message, Turn
from ricordo.safety.fence import fenced

log = logging.getLogger("ricordo.people.session_end")

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_UNWRITABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")
_WRAPPED = re.compile(r"\A```\w*\n(.*?)\n?```\Z", re.DOTALL)
_ABOUT = 0.25  # at least this share of a summary's words must have been said
# How a summary tells who said what: its own words, which need not have been said.
_REPORTING = frozenset(
    terms(
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


class _UselessError(Exception):
    """What a model said cannot be used; the message says why, without its words."""


def condense(
    turns: Sequence[Turn],
    previous: Summary | None,
    limit_tokens: int,
    counter: TokenCounter,
    language: str,
    *,
    writer: SummaryWriter | None = None,
    leave_out: frozenset[str] = frozenset(),
) -> Condensed | None:
    """The best summary that can be made of the turns after the earlier one; None leaves everything as it is."""
    added = fresh(turns, previous)
    if not added:
        return unchanged(previous, limit_tokens, counter)
    why = ""
    if writer is not None:
        try:
            return _written(added, previous, limit_tokens, counter, language, writer, leave_out)
        except Exception as failure:
            why = f"{writer.llm.name}: {failure}" if isinstance(failure, _UselessError) else _name_of(writer, failure)
            log.warning("no summary by %s", why)
    for make in (extract, truncate):
        try:
            made = make(added, previous, limit_tokens, counter, language, leave_out=leave_out)
        except Exception as failure:
            why = why or f"{make.__name__}: {type(failure).__name__}"
            log.warning("%s failed: %s", make.__name__, type(failure).__name__)
            continue
        if made is not None:
            return replace(made, why=why)
    return None


def _name_of(writer: SummaryWriter, failure: Exception) -> str:
    """A failure without what others may have put into its words."""
    return f"{writer.llm.name}: {type(failure).__name__}"


def _written(
    turns: Sequence[Turn],
    previous: Summary | None,
    limit: int,
    counter: TokenCounter,
    language: str,
    writer: SummaryWriter,
    leave_out: frozenset[str],
) -> Condensed:
    """A model's summary of the turns, piece by piece where they are too many to be read at once."""
    running = previous
    made: Condensed | None = None
    for piece in _pieces(turns, writer.reads, counter):
        made = _one(piece, running, limit, counter, wording_for(language), writer, leave_out)
        running = as_summary(made, piece[0])
    if made is None:
        raise _UselessError("there was nothing to read")
    return made


def _one(
    turns: Sequence[Turn],
    previous: Summary | None,
    limit: int,
    counter: TokenCounter,
    wording: Wording,
    writer: SummaryWriter,
    leave_out: frozenset[str],
) -> Condensed:
    messages = heard(turns, leave_out)
    before = read(previous.text) if previous else Sheet()
    said = writer.llm.complete(request(messages, before, limit, wording, writer.fence), max_tokens=2 * limit)
    text = cleaned(said.text)[: limit * _CHARACTERS_PER_TOKEN]  # no more is read than could fit
    if not text:
        raise _UselessError("it said nothing")
    if text[0] in "{[":
        raise _UselessError("it answered with data, not with a text")
    told = [before.text(wording), *(message.content for message in messages)]
    if not about(text, told):
        raise _UselessError("what it said is not about the talk")
    # Its sentences in its own order: where there are too many the end gives way, never the evidence.
    own = founded([sentence for line in text.split("\n") for sentence in sentences(line)][:limit], told)
    if not own:
        raise _UselessError("not one sentence of it is of the talk")
    fitting = Fitting(limit, counter, wording, lambda chosen: gathered([("", own[at]) for at in chosen]))
    sheet = fitting.fill(own, range(len(own)), evidence_of(messages, before), before.left_out)
    if not sheet.lines:
        raise _UselessError("not one sentence of it fits")
    whole = sheet.text(wording)
    topics = key_topics([message.content for message in messages], before=previous.topics if previous else ())
    tokens = counter.count(whole)
    return Condensed(whole, topics, writer.llm.name, covered(turns, previous), tokens, sheet.left_out)


def request(
    messages: Sequence[Message], before: Sheet, limit: int, wording: Wording, fence: Callable[[str], str]
) -> list[dict[str, str]]:
    """What a model is sent: what to do in our own words, and everything that was said inside the fence."""
    said = [message for message in messages if message.content.strip()]
    talk = "\n".join(f"{wording.speaker(message.role)}: {message.content}" for message in said)
    parts = [f"{wording.before}\n{fence(before.text(wording))}"] if before != Sheet() else []
    parts.append(f"{wording.talk}\n{fence(talk)}")
    return [
        {"role": "system", "content": wording.condense.format(limit=limit)},
        {"role": "user", "content": "\n\n".join(parts)},
    ]


def cleaned(text: str) -> str:
    """What a model said without its thinking aloud, a code block around it, and characters that no store takes."""
    plain = _THOUGHT.sub("", _UNWRITABLE.sub(" ", text)).strip()
    wrapped = _WRAPPED.match(plain)
    return (wrapped[1] if wrapped else plain).strip()


def about(text: str, said: Iterable[str]) -> bool:
    """Whether enough of a text's words were said: a refusal, or an answer to an order in the talk, is not about it."""
    words = set(terms(text))
    known = {term for each in said for term in terms(each)}
    return bool(words) and len(words & known) >= _ABOUT * len(words)


def founded(own: Sequence[str], said: Sequence[str]) -> list[str]:
    """The sentences of a model that tell of the talk: no name, number or date that nobody said, few words of its own.

    What gives orders is no summary either, whoever gave them.
    """
    whole = "\n".join(said).casefold()
    known = {term for each in said for term in terms(each)} | _REPORTING

    def holds(sentence: str) -> bool:
        words = terms(sentence)
        named = (found.text for found in find(sentence) if not found.weak)
        return (
            2 * sum(word in known for word in words) >= len(words)
            and all(survives(text.casefold(), whole) for text in named)
            and not ORDER.search(sentence)
        )

    return [sentence for sentence in own if holds(sentence)]


def as_summary(made: Condensed, turn: Turn) -> Summary:
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


def _pieces(turns: Sequence[Turn], most: int, counter: TokenCounter) -> Iterable[Sequence[Turn]]:
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
) -> Condensed | None:
    """A summary of a whole session in its own language, the same however often it is asked for; None if it is empty."""
    spoken = language or talk_language(turns)
    return condense(turns, None, limit_tokens, counter, spoken, writer=writer, leave_out=leave_out)


def talk_language(turns: Sequence[Turn], default: str = "en") -> str:
    """The language of a talk, by what the user says first of all."""
    questions = [turn.query for turn in turns if turn.query]
    return language_of(questions or [turn.response or "" for turn in turns], default)


def writer_of(engine: Engine) -> SummaryWriter | None:
    """The model of a memory as a writer of summaries and titles; None without a model."""
    code = engine.settings.locale.code
    return SummaryWriter(engine.llm, lambda text: fenced(text, code)) if engine.llm else None
