"""Questions that leave out what they are about: "E nei bambini?", "Quali sono i gradi?", "Why?", "Quanto dura?".

The test is the same in every language: when all the words that carry meaning only make sense *of something* (cause,
price, symptom) or there are none, the something must come from the conversation.
"""

from dataclasses import replace

from ricordo.followups.reference import ReferenceCue
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import WordSpans

_FRAGMENT_WORDS = 6
_CONDITION_WORDS = 9
_QUESTION_WORDS = 9
_HEADLESS_WORDS = 14


def ellipsis(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """The cue that something was left out, if there is one."""
    found = _left_out(line, language)
    if found is None or found.part or found.zero:
        return found
    bare = language.patterns["bare_predicate"].match(line.text.rstrip(" ?!.…"))
    return replace(found, zero=bare is not None)


def _left_out(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    clause = line.text.rstrip(" ?!.…")
    count = len(line.words)
    if not count:
        return None
    if language.patterns["bare_question"].match(clause):
        return replace(_whole(line, 0.85), whole=True)
    opener = language.patterns["openers"].match(clause)
    if opener is not None:
        found = _opened(line, language, opener.groupdict())
        if found is not None:
            return found
    if _fragment(line, language, clause):
        return replace(_whole(line, 0.7), part=_part(line, language, count))
    if _waits_for_topic(line, language):
        return _whole(line, 0.7)
    headless = language.patterns["headless"].search(clause) if count <= _HEADLESS_WORDS else None
    if headless is not None:
        start, end = line.match_span(headless)
        return ReferenceCue("ellipsis", 0.65, start, end, line.original[start:end])
    unsorted = _unsorted(line, language)
    if unsorted is not None:
        return unsorted
    if _plural_of_something(line, language):
        return _whole(line, 0.6)
    presupposing = language.patterns["presupposing"].search(clause)
    if presupposing is not None and not _names_someone(line) and _topical_words(line, language) <= 1:
        start, end = line.match_span(presupposing)
        return ReferenceCue("ellipsis", 0.6, start, end, line.original[start:end])
    bare = language.patterns["bare_predicate"].match(clause) if not _names_someone(line) else None
    addressed = any(word in language.second_person for word in line.words)
    if bare is not None and count > 1 and not addressed and _topical_words(line, language) <= 1:
        return replace(_whole(line, 0.6), zero=True)
    predicate = language.patterns["zero_subject"].match(clause)
    if predicate is not None and _lower_case(line, predicate.group("predicate")):
        return _whole(line, 0.6)
    return None


def _opened(line: WordSpans, language: FollowUpWords, groups: dict[str, str | None]) -> ReferenceCue | None:
    rest, condition = groups.get("rest"), groups.get("condition") or groups.get("supposed")
    if condition and len(condition.split()) <= _CONDITION_WORDS:
        return replace(_whole(line, 0.65), whole=True)
    people = groups.get("people")
    if people and len(people.split()) <= _CONDITION_WORDS and not _names_someone(line):
        return _whole(line, 0.65)
    if not rest:
        return None
    words = rest.split()
    complete = any(word in language.verbs or word in language.auxiliaries for word in words)
    if len(words) > _FRAGMENT_WORDS or complete:
        return None
    return replace(_whole(line, 0.8), part=_part(line, language, len(words)))


def _part(line: WordSpans, language: FollowUpWords, count: int) -> str:
    """The last `count` words as they are written, without what only introduces or ends them ("too", "invece")."""
    at = [index for index in range(len(line.tokens)) if line.is_word(index)][-count:]
    while at and (line.word(at[-1]) in language.part_fillers):
        at.pop()
    while at and (line.word(at[0]) in language.part_fillers or line.word(at[0]) in language.coordinators):
        at.pop(0)
    if not at or not any(
        language.is_content(line.word(index)) or line.word(index) in language.ordinals for index in at
    ):
        return ""
    start, end = line.span(at[0], at[-1])
    return line.original[start:end]


def _fragment(line: WordSpans, language: FollowUpWords, clause: str) -> bool:
    """A short question without a verb ("In children?", "Nei bambini?", "Malta?")."""
    words = clause.split()
    if not line.text.endswith("?") or len(words) > 5 or any(_completes(word, language) for word in words):
        return False
    if words[0] in language.prepositions or words[0] in language.part_openers:
        return True
    named = [word for word in words if language.is_content(word) or word in language.ordinals]
    waits = all(word in language.relational for word in named)
    return bool(named) and len(named) <= 3 and (not waits or len(words) == 1) and not _opens_clause(words, language)


def _completes(word: str, language: FollowUpWords) -> bool:
    """Whether a word belongs to a question that is complete: a verb, a question word, "you"."""
    return (
        word in language.verbs
        or word in language.auxiliaries
        or word in language.question_words
        or word in language.second_person
    )


def _opens_clause(words: list[str], language: FollowUpWords) -> bool:
    return any(word in language.clause_words for word in words[:-1])


def _waits_for_topic(line: WordSpans, language: FollowUpWords) -> bool:
    """Whether nothing in the question names a topic, and something in it asks for one."""
    words = line.words
    if len(words) > _QUESTION_WORDS or any(word in language.second_person for word in words):
        return False
    if any(language.is_topical(word) for word in words):
        return False
    if _names_someone(line):
        return False
    relational = [i for i, token in enumerate(line.tokens) if token.word in language.relational]
    if not relational:
        return line.text.endswith("?") and any(word in language.verbs for word in words) and len(words) >= 2
    if any(_is_complement(line, language, i) for i in relational[1:]):
        return False
    # "What is a symptom?" asks for a definition and is complete.
    return not any(line.word(i - 1) in language.indefinite for i in relational)


def _is_complement(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """ "the stages of the process", "le fasi della vita": what a noun is said to be of is itself the topic.

    Without an article it is half of a compound that still waits ("the cause of death", "i fattori di rischio").
    """
    at -= 1
    if line.word(at) not in language.articles:
        return False
    while line.word(at) in language.articles and line.word(at) not in language.links:
        at -= 1
    return line.word(at) in language.links and line.word(at - 1) in language.relational


def _unsorted(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """ "What type is best?": a question that sorts, without saying what."""
    for at in range(min(3, len(line.tokens) - 1)):
        if line.word(at) in language.sorting_words and line.word(at + 1) in language.sort_nouns:
            if line.is_word(at + 2) and (line.word(at + 2) in language.links or language.is_topical(line.word(at + 2))):
                return None
            start, end = line.span(at, at + 1)
            return ReferenceCue("ellipsis", 0.65, start, end, line.original[start:end])
    return None


def _plural_of_something(line: WordSpans, language: FollowUpWords) -> bool:
    """ "What were the diplomatic objectives?", "Quali sono gli obiettivi diplomatici?": objectives of whom?"""
    match = language.patterns["plural_of"].match(line.text)
    if match is None:
        return False
    head, other = match.group("head"), match.group("other")
    return head in language.relational and all(
        language.is_content(word) and _lower_case(line, word) for word in other.split()
    )


def _topical_words(line: WordSpans, language: FollowUpWords) -> int:
    return sum(language.is_topical(word) for word in line.words)


def _names_someone(line: WordSpans) -> bool:
    return any(token.capital and len(token.word) > 1 for token in line.tokens[1:])


def _lower_case(line: WordSpans, word: str) -> bool:
    return any(token.word == word and not token.capital for token in line.tokens)


def _whole(line: WordSpans, confidence: float) -> ReferenceCue:
    words = [i for i, token in enumerate(line.tokens) if token.is_word]
    start, end = line.span(words[0], words[-1])
    return ReferenceCue("ellipsis", confidence, start, end, line.original[start:end])
