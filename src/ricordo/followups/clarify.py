"""Clarifications: asking which option is meant, and understanding the answer. Pure; the clock is an argument.

A pending clarification expires after five minutes of inactivity and never enters long-term memory. A number, an
ordinal, a name or a misspelled name answers it; any other message cancels it and is treated as a new question.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from difflib import SequenceMatcher

from ricordo.followups.ordinals import places, whole_message
from ricordo.followups.parse import label_sequence
from ricordo.followups.reference import (
    PATIENCE,
    Candidate,
    ClarificationKey,
    ClarificationOption,
    ClarificationStates,
    Outcome,
    Pending,
    Pick,
    followup_words,
)
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import Words
from ricordo.languages.text import WordSpans, followup_languages, language_of, split_words, stem

_NEAR = 0.8
_SHORTEST_NEAR = 4
_LONGEST_ANSWER = 12


def ask(
    question: str,
    candidates: Sequence[Candidate],
    *,
    language: str,
    now: datetime,
    patience: timedelta = PATIENCE,
) -> Pending:
    """The clarification for several candidates; `pending.prompt` is the text to show."""
    options = tuple(
        ClarificationOption(
            candidate.name,
            candidate.turn_number,
            candidate.item.text if candidate.item is not None else "",
            candidate.item.chunk_ids if candidate.item is not None else (),
        )
        for candidate in candidates
    )
    return Pending(question, options, language, now, patience)


def answer(pending: Pending, message: str, *, now: datetime) -> Outcome:
    """Interpret a message while a clarification is pending."""
    if now >= pending.expires_at:
        return Outcome("expired")
    line = split_words(message)
    if not line.words or len(line.words) > _LONGEST_ANSWER:
        return Outcome("cancelled")
    for language in _languages(pending, message):
        pick = _picked(line, language, frozenset(str(place) for place in range(1, len(pending.options) + 1)))
        if pick is not None:
            return _by_pick(pending, pick)
    named = _named(pending, line) or _mentioned(pending, line) or _nearly_named(pending, line)
    if len(named) == 1:
        return _answered(pending, named)
    if named:
        return Outcome("unclear", pending=replace(pending, last_active_at=now))
    return Outcome("cancelled")


def handle(states: ClarificationStates, key: ClarificationKey, message: str, *, now: datetime) -> Outcome | None:
    """Interpret a message by the pending clarification of its session, if there is one, and update the store."""
    pending = states.get(key, now)
    if pending is None:
        return None
    outcome = answer(pending, message, now=now)
    if outcome.pending is not None:
        states.put(key, outcome.pending)
        return outcome
    # Of two processes that read the same clarification, only the one that removes it may act on it.
    return outcome if states.delete(key) else None


def _picked(line: WordSpans, language: FollowUpWords, labels: Words) -> Pick | None:
    named = label_sequence(line, language, labels)
    if named is not None:
        return named.pick
    alone = whole_message(line, language)
    if alone is not None:
        return alone.pick
    found = tuple(places(line, language))
    return found[0].pick if len(found) == 1 else None


def _by_pick(pending: Pending, pick: Pick) -> Outcome:
    options = pending.options
    if pick.negated:
        return Outcome("cancelled")
    if pick.every:
        fits = pick.count in (0, len(options))
        return _answered(pending, options) if fits else Outcome("cancelled")
    indexes = [place - 1 if place > 0 else len(options) + place for place in pick.positions]
    if not indexes or not all(0 <= index < len(options) for index in indexes):
        return Outcome("cancelled")
    return _answered(pending, tuple(options[index] for index in indexes))


def _named(pending: Pending, line: WordSpans) -> tuple[ClarificationOption, ...]:
    """The options that contain every content word of the message."""
    said = _meaning(line)
    if not said:
        return ()
    exact = tuple(option for option in pending.options if _meaning(split_words(option.name)) == said)
    if _is_question(line):
        # "How long does the train take?" is a question of its own, though it names an option.
        return tuple(option for option in exact if split_words(option.name).words == line.words)
    return exact or tuple(option for option in pending.options if said <= _meaning(split_words(option.name)))


def _mentioned(pending: Pending, line: WordSpans) -> tuple[ClarificationOption, ...]:
    """ "Intendo l'aereo", "I mean the train": the one option whose own words are all said in a short statement."""
    if line.text.endswith("?") or _is_question(line):
        return ()
    said = _meaning(line)
    names = [_meaning(split_words(option.name)) for option in pending.options]
    found = []
    for at, name in enumerate(names):
        own = name.difference(*(other for i, other in enumerate(names) if i != at))
        # Beside the name stands at most the verb that chooses it; more would be a question of its own.
        if own and own <= said and len(said - name) <= 1:
            found.append(pending.options[at])
    return tuple(found) if len(found) == 1 else ()


def _is_question(line: WordSpans) -> bool:
    asking = [at for at, word in enumerate(line.words) if _asks(word)]
    return bool(asking) and (asking[0] == 0 or line.text.endswith("?"))


def _asks(word: str) -> bool:
    return any(
        word in language.manner_words or word in language.sorting_words or word in language.person_words
        for language in followup_languages()
    )


def _nearly_named(pending: Pending, line: WordSpans) -> tuple[ClarificationOption, ...]:
    """The options that the message names with a spelling error, by the whole name or one word."""
    if _is_question(line):
        return ()
    scores = [0.0] * len(pending.options)
    for read_words in (_meaning, _spelled):
        said = " ".join(sorted(read_words(line)))
        if len(said) >= _SHORTEST_NEAR:
            near = [_nearness(said, read_words(split_words(option.name))) for option in pending.options]
            scores = [max(pair) for pair in zip(scores, near, strict=True)]
    best = max(scores, default=0.0)
    if best < _NEAR:
        return ()
    return tuple(option for option, score in zip(pending.options, scores, strict=True) if score >= best - 0.02)


def _nearness(said: str, name: frozenset[str]) -> float:
    spellings = [" ".join(sorted(name)), *(word for word in sorted(name) if len(word) >= _SHORTEST_NEAR)]
    return max((SequenceMatcher(None, said, spelling).ratio() for spelling in spellings), default=0.0)


def _meaning(line: WordSpans) -> frozenset[str]:
    """Stems of the words that could belong to a name."""
    return frozenset(stem(word) for word in _spelled(line))


def _spelled(line: WordSpans) -> frozenset[str]:
    """The words that could belong to a name, as they are written."""
    return frozenset(
        word
        for word in line.words
        if not any(word in lang.function_words or word in lang.fillers for lang in followup_languages())
    )


def _answered(pending: Pending, chosen: tuple[ClarificationOption, ...]) -> Outcome:
    body = pending.question.rstrip()
    bare = body.rstrip("?!.… ")
    names = ", ".join(option.name for option in chosen)
    return Outcome("answered", chosen, f"{bare} ({names}){body[len(bare) :].strip()}")


def _languages(pending: Pending, message: str) -> tuple[FollowUpWords, ...]:
    """The language of the message first, then the one of the question."""
    asked = followup_words(pending.language)
    spoken = language_of(message, default=asked)
    return (spoken,) if spoken == asked else (spoken, asked)
