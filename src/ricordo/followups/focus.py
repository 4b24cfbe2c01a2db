"""The focus of a conversation before the new question: a fold over the past turns.

Each past question either opens a topic (its noun phrases) or continues the one before; answers name people that were
asked for. Phrases keep the turn they come from, so that every word of a standalone question can be traced back.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ricordo.followups.phrases import Phrase, phrases
from ricordo.followups.reference import LONGEST_FOLLOW_UP, Origin, PastTurn
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import WordSpans, split_words

Refers = Callable[[WordSpans, FollowUpWords], bool]
_RECENT = 12
_CACHED = 2_048  # messages


@dataclass(frozen=True, slots=True)
class Mention:
    """A phrase and where it occurs."""

    phrase: Phrase
    turn_number: int
    origin: Origin


@dataclass(frozen=True, slots=True)
class Focus:
    """The topic (`centre` first), what was asked of it last, the person in question, and every phrase so far."""

    centre: tuple[Mention, ...] = ()
    asked: tuple[Mention, ...] = ()
    person: Mention | None = None
    opening: Mention | None = None
    seen: tuple[Mention, ...] = ()
    turn_number: int = 0

    @property
    def lasting(self) -> Mention | None:
        """What the talk opened with, unless it was a nameless topic that the very next question replaced."""
        if self.opening is None or not self.centre:
            return self.opening
        passing = self.centre[0].turn_number - self.opening.turn_number == 1
        return None if passing and not self.opening.phrase.proper else self.opening


def follow(history: Sequence[PastTurn], language: FollowUpWords, refers: Refers) -> Focus:
    """The focus after the last of the past turns; `refers` tells whether a question refers back."""
    focus = Focus()
    for turn in history[-_RECENT:]:
        focus = _after_question(focus, turn, language, refers)
        focus = _after_answer(focus, turn, language, refers)
    return focus


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one question says by itself: topics (names first), what it asks, whether it refers back, who it asks for."""

    topical: tuple[Phrase, ...]
    asked: tuple[Phrase, ...]
    refers: bool
    introduces: bool
    asks_who: bool


# Cached, because the same turns are read for every question of a conversation.
@lru_cache(maxsize=_CACHED)
def _asked(query: str, language: FollowUpWords, refers: Refers) -> _Asked:
    line = split_words(query)
    # What introduces a topic ("let's talk about") is no part of it.
    introduction = language.patterns["introduction"].match(line.text)
    begins = line.match_span(introduction)[1] if introduction is not None else 0
    found = [phrase for phrase in phrases(line, language) if phrase.end > begins]
    topical = sorted((phrase for phrase in found if phrase.topical), key=lambda phrase: not phrase.proper)
    asked = tuple(phrase for phrase in found if not phrase.topical)
    asks_who = not language.person_words.isdisjoint(line.words)
    return _Asked(
        tuple(topical), asked, bool(line.words) and refers(line, language), introduction is not None, asks_who
    )


@lru_cache(maxsize=_CACHED)
def _names(response: str, language: FollowUpWords) -> tuple[Phrase, ...]:
    return tuple(phrase for phrase in phrases(split_words(response), language) if phrase.proper)


def _after_question(focus: Focus, turn: PastTurn, language: FollowUpWords, refers: Refers) -> Focus:
    said = _asked(turn.query[:LONGEST_FOLLOW_UP], language, refers)
    topical = [Mention(phrase, turn.turn_number, "question") for phrase in said.topical]
    if not topical:
        centre = focus.centre
    elif not focus.centre or (not said.refers and _opens_topic(topical, said.introduces)):
        centre = tuple(topical)
    else:
        centre = (*focus.centre[:1], *topical)
    person = next((m for m in topical if m.phrase.proper), focus.person) if not said.refers else focus.person
    return Focus(
        centre=centre,
        asked=tuple(Mention(phrase, turn.turn_number, "question") for phrase in said.asked),
        person=person,
        opening=focus.opening or (topical[0] if topical else None),
        seen=(*focus.seen, *topical),
        turn_number=turn.turn_number,
    )


def _opens_topic(topical: Sequence[Mention], introduced: bool) -> bool:
    """Whether a question brings its own topic: it introduces one, or names it other than by "the …"."""
    return introduced or any(mention.phrase.proper or not mention.phrase.definite for mention in topical)


def _after_answer(focus: Focus, turn: PastTurn, language: FollowUpWords, refers: Refers) -> Focus:
    """A question that asks who makes the name in its answer the person in question."""
    found = _names(turn.response[:LONGEST_FOLLOW_UP], language)
    if not found:
        return focus
    known = {word for mention in focus.seen for word in mention.phrase.words}
    new = [Mention(phrase, turn.turn_number, "answer") for phrase in found if known.isdisjoint(phrase.words)]
    asks_who = _asked(turn.query[:LONGEST_FOLLOW_UP], language, refers).asks_who
    person = new[0] if asks_who and new and len(new[0].phrase.words) > 1 else focus.person
    return replace(focus, person=person, seen=(*focus.seen, *new[:5]))


_LONGEST = 8


def alternatives(line: WordSpans, language: FollowUpWords) -> tuple[str, ...]:
    """The two sides of a choice ("the Sony or the Canon", "tra VACUUM e ANALYZE") as written; empty if none."""
    for at in range(1, len(line.tokens) - 1):
        if not _joins(line, language, at):
            continue
        left = _side(line, language, at, -1)
        right = _side(line, language, at, 1)
        if left and right and left.lower() != right.lower():
            return left, right
    return ()


def _joins(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    word = line.word(at)
    if word in language.choice_words:
        return True
    if word not in language.coordinators:
        return False
    if any(line.word(back) in language.between_words for back in range(max(0, at - _LONGEST), at)):
        return True
    # "Compare SQLite and PostgreSQL"
    compares = language.patterns["comparison"].match(line.text)
    return compares is not None and line.token_at(compares.end() - 1) < at


def _side(line: WordSpans, language: FollowUpWords, joiner: int, step: int) -> str:
    """The words on one side of the joiner, up to a verb, a question word or a mark."""
    end = joiner + step
    while abs(end - joiner) <= _LONGEST and (
        (line.is_word(end) and not _stops(line, language, end)) or _hyphen(line, end)
    ):
        end += step
    first, last = sorted((joiner + step, end - step))
    while first <= last and not language.is_content(line.word(first)):
        first += 1
    while last >= first and not language.is_content(line.word(last)):
        last -= 1
    if step > 0 and last > first and line.word(0) in language.auxiliaries and _said_of(line, language, last):
        last -= 1
    if first > last:
        return ""
    start, stop = line.span(first, last)
    return line.original[start:stop]


def _hyphen(line: WordSpans, at: int) -> bool:
    """Whether a hyphen holds two words together ("cast-iron")."""
    if line.word(at) != "-" or not (line.is_word(at - 1) and line.is_word(at + 1)):
        return False
    return line.tokens[at - 1].end == line.tokens[at].start and line.tokens[at].end == line.tokens[at + 1].start


def _said_of(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """ "Is bread or focaccia easier?": the last word is asked of both sides and belongs to neither."""
    token = line.tokens[at]
    ends = not line.is_word(at + 1)
    return ends and not token.capital and (token.word in language.modifiers or _graded(token.word, language))


def _graded(word: str, language: FollowUpWords) -> bool:
    return language.graded != "" and len(word) > 5 and word.endswith(language.graded)


def _stops(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    word = line.word(at)
    if line.tokens[at].capital and at > 0:
        return False
    return (
        word in language.verbs
        or word in language.auxiliaries
        or word in language.sorting_words
        or word in language.manner_words
        or word in language.between_words
        or word in language.personal
    )
