"""The traces of the talk inside a question: text in, references out, nothing else read.

Strong cues (a quoted statement, a place in a list, a return, "go on") are looked for first; pronouns and ellipsis are
only believed when none is there. A question complete in itself gives the empty tuple: a false trace costs more than
a missed one, because it drags an old topic into a new question.
"""

from ricordo.followups import cue
from ricordo.followups.ellipsis import ellipsis
from ricordo.followups.labels import label_sequence
from ricordo.followups.language import Language, Words
from ricordo.followups.languages import language_of
from ricordo.followups.line import Line, read
from ricordo.followups.ordinal import places, whole_message
from ricordo.followups.pronoun import general_nouns, pronouns
from ricordo.followups.reference import Reference

# A follow-up is short; a longer text carries its own context (a pasted document, an exercise, a log).
LONGEST_FOLLOW_UP = 400


def parse(
    question: str, *, nouns: Words = frozenset(), labels: Words = frozenset(), language: Language | None = None
) -> tuple[Reference, ...]:
    """The references of a question; `nouns` are stems of what lists in the talk are about, `labels` those in sight."""
    if len(question) > LONGEST_FOLLOW_UP:
        return ()
    line = read(question)
    if not line.words:
        return ()
    return traces(line, language or language_of(question), nouns, labels)


def traces(
    line: Line, language: Language, nouns: Words = frozenset(), labels: Words = frozenset()
) -> tuple[Reference, ...]:
    """The references of a line already read, in a known language."""
    named = label_sequence(line, language, labels)
    alone = whole_message(line, language)
    if alone is not None:
        # "la a e la d" is two places, though all its other words are fillers.
        several = named is not None and named.pick is not None and len(named.pick.positions) > 1
        return (named,) if named is not None and several else (alone,)
    said = cue.statement(line, language)
    if said is not None:
        return (said,)
    going_on = cue.continuation(line, language)
    if going_on is not None:
        return (going_on,)
    found = tuple(places(line, language, nouns))
    if named is not None and not found:
        found = (named,)
    compared = cue.comparison(line, language, found)
    if compared is not None:
        return (compared,)
    if found:
        return found
    described = cue.described(line, language, nouns)
    if described is not None:
        return (described,)
    returned = cue.back(line, language)
    if returned is not None:
        return (returned,)
    standing_for = tuple(pronouns(line, language)) or tuple(general_nouns(line, language))
    if standing_for:
        return standing_for
    left_out = ellipsis(line, language)
    return (left_out,) if left_out is not None else ()
