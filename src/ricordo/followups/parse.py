"""Parsing a question for cues that it refers to the conversation: text in, cues out.

Strong cues (a quoted statement, a position in a list, a return, "go on") are tried first; pronouns and ellipsis count
only without them. A complete question gives the empty tuple: a false cue costs more than a missed one, because it
brings an old topic into a new question.
"""

import re

from ricordo.followups import cues
from ricordo.followups.about import about_answer
from ricordo.followups.corrections import correction
from ricordo.followups.ellipsis import ellipsis
from ricordo.followups.ordinals import label_number, places, whole_message
from ricordo.followups.pronouns import general_nouns, pronouns
from ricordo.followups.reference import LONGEST_FOLLOW_UP, Pick, ReferenceCue
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import Words
from ricordo.languages.text import WordSpans, language_of, respelled, split_words

_JOINERS = frozenset(",&+")
_QUOTED = re.compile(r"(?<!\w)['\"“«‘][^'\"”»’\n]{3,200}['\"”»’](?!\w)")
_LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz")


def label_sequence(line: WordSpans, language: FollowUpWords, labels: Words) -> ReferenceCue | None:
    """Labels that a message names on their own ("1 e 3", "more on 2", "la a e la d"), if they mean items of a list."""
    if not labels:
        return None
    for index in range(len(line.tokens)):
        found = _sequence(line, language, labels, index)
        if found is None:
            continue
        ends, named, introduced = found
        believed = introduced if _stands_free(line, language, ends) else False
        if not believed and not _only_requested(line, language, index, ends, len(named)):
            return None
        start, end = line.span(index, ends)
        positions = tuple(dict.fromkeys(label_number(label) or 0 for label in named))
        pick = Pick(positions=positions, label=named[0] if len(named) == 1 else "")
        return ReferenceCue(
            "ordinal", 0.85 if len(named) > 1 else 0.75, start, end, line.original[start:end], pick=pick
        )
    return None


def _sequence(
    line: WordSpans, language: FollowUpWords, labels: Words, index: int
) -> tuple[int, list[str], bool] | None:
    """From `index`: article? label (joiner article? label)*; its end, the labels, and whether it may be believed."""
    named: list[str] = []
    ends, at, introduced = index, index, False
    while True:
        article = line.word(at) in language.label_articles
        at += article
        word = line.word(at)
        if word not in labels or label_number(word) is None:
            break
        follows = at + 1 < len(line.tokens) and line.is_word(at + 1)
        if word in language.function_words and not article and follows and not _joined(line, language, labels, at):
            break
        if not named:
            lone_letter = word in _LETTERS and word not in language.function_words
            introduced = article or (
                lone_letter and not language.label_article_needed and not _part_of_name(line, language, at)
            )
        named.append(word)
        ends = at
        at += 1
        while line.word(at) in _JOINERS or line.word(at) in language.coordinators:
            at += 1
        if at == ends + 1:
            break
    return (ends, named, introduced) if named else None


def _part_of_name(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """ "vitamin c", "plan b": the word before a letter makes it part of a name."""
    before = line.word(at - 1)
    return line.is_word(at - 1) and (language.is_content(before) or before not in language.function_words)


def _joined(line: WordSpans, language: FollowUpWords, labels: Words, at: int) -> bool:
    """Whether another label is joined to this one, so that "a" and "i" are labels and not words."""
    if line.word(at + 1) not in language.coordinators and line.word(at + 1) not in _JOINERS:
        return False
    after = at + 2 + (line.word(at + 2) in language.label_articles)
    return line.word(after) in labels


def _stands_free(line: WordSpans, language: FollowUpWords, ends: int) -> bool:
    """Neither "il 4 luglio" nor "la d eufonica": no noun or adjective belongs to the label."""
    following = line.word(ends + 1)
    if not line.is_word(ends + 1):
        return following not in {"-", "/", "%", "°", "€", "$"} and not (following in ".,:" and line.is_word(ends + 2))
    if following in language.prepositions:
        # "la b in inglese" is a letter of its own, "il 4 a cosa serve?" asks about an item.
        return line.word(ends + 2) in language.sorting_words or line.word(ends + 2) in language.person_words
    return not language.is_content(following)


def _only_requested(line: WordSpans, language: FollowUpWords, first: int, last: int, count: int) -> bool:
    """Whether all other words only ask for them; an unknown first word is taken for the verb before two labels."""
    others = [at for at, token in enumerate(line.tokens) if token.is_word and not first <= at <= last]
    unknown = [
        at for at in others if line.word(at) not in language.requests and line.word(at) not in language.polite_endings
    ]
    return not unknown or (count > 1 and unknown == [0] and first == 1 and language.is_content(line.word(0)))


# A follow-up is short; a longer text carries its own context (a pasted document, an exercise, a log).


def parse(
    question: str,
    *,
    nouns: Words = frozenset(),
    labels: Words = frozenset(),
    said: Words = frozenset(),
    language: FollowUpWords | None = None,
) -> tuple[ReferenceCue, ...]:
    """The cues of a question; `nouns` are stems of what recent lists are about, `labels` theirs.

    `said` are the roots of the words of the last answer.
    """
    if len(question) > LONGEST_FOLLOW_UP:
        return ()
    spoken = language or language_of(question)
    line = respelled(split_words(question), spoken.spellings)
    if not line.words:
        return ()
    found = traces(line, spoken, nouns, labels, said)
    quoted = _quoted(question, line, spoken)
    return tuple(cue for cue in found if not any(start <= cue.start and cue.end <= end for start, end in quoted))


def _quoted(question: str, line: WordSpans, language: FollowUpWords) -> list[tuple[int, int]]:
    """Where a question quotes a text of its own: between quotation marks, or after "translate:"."""
    spans = [match.span() for match in _QUOTED.finditer(question)]
    colon = question.find(":")
    if colon > 0 and line.word(0) in language.text_requests:
        spans.append((colon, len(question)))
    return spans


def traces(
    line: WordSpans,
    language: FollowUpWords,
    nouns: Words = frozenset(),
    labels: Words = frozenset(),
    said: Words = frozenset(),
) -> tuple[ReferenceCue, ...]:
    """The cues of a tokenized question in a known language."""
    if closes(line, language):
        return ()
    named = label_sequence(line, language, labels)
    alone = whole_message(line, language)
    if alone is not None:
        # "la a e la d" is two places, though all its other words are fillers.
        several = named is not None and named.pick is not None and len(named.pick.positions) > 1
        return (named,) if named is not None and several else (alone,)
    corrected = correction(line, language)
    if corrected is not None:
        return (corrected,)
    stated = cues.statement(line, language)
    if stated is not None:
        return (stated,)
    going_on = cues.continuation(line, language)
    if going_on is not None:
        return (going_on,)
    found = tuple(places(line, language, nouns))
    if named is not None and not found:
        found = (named,)
    compared = cues.comparison(line, language, found)
    if compared is not None:
        return (compared,)
    if found:
        return found
    described = cues.described(line, language, nouns)
    if described is not None:
        return (described,)
    returned = cues.back(line, language)
    if returned is not None:
        return (returned,)
    standing_for = tuple(pronouns(line, language)) or tuple(general_nouns(line, language))
    if standing_for:
        return standing_for
    left_out = ellipsis(line, language) or about_answer(line, language, said)
    return (left_out,) if left_out is not None else ()


def closes(line: WordSpans, language: FollowUpWords) -> bool:
    """A message that thanks or agrees and asks for nothing ("ok, got it", "no, grazie, è tutto")."""
    if line.text.endswith("?") or not line.words:
        return False
    thanks = any(word in language.thanks for word in line.words)
    declines = thanks and line.words[0] in language.refusals
    return declines or (len(line.words) > 1 and all(word in language.acknowledgements for word in line.words))


def refers_back(line: WordSpans, language: FollowUpWords) -> bool:
    """Whether a question refers to the conversation."""
    return bool(traces(line, language))
