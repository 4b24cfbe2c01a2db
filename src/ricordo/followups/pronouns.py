"""Pronouns and demonstratives that point outside the question.

A pronoun is left alone when the question itself holds what it stands for ("why do cats purr when they are happy?")
or when it stands for nothing ("is it safe to…", "che ne pensi"); the others refer to the conversation.
"""

import re
from collections.abc import Iterator

from ricordo.followups.reference import ReferenceCue
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import WordSpans

_MARKS = frozenset(",;:.!?")


def pronouns(line: WordSpans, language: FollowUpWords) -> Iterator[ReferenceCue]:
    """Every pronoun whose antecedent is in the conversation."""
    pointing = [at for at, token in enumerate(line.tokens) if token.is_word and _may_point(token.word, language)]
    matches = language.patterns["pleonastic"].finditer(line.text) if pointing else ()
    empty = [line.match_span(match) for match in matches]
    for index in pointing:
        token = line.tokens[index]
        noun_at = _pointing(line, language, index)
        if noun_at is None or any(start <= token.start < end for start, end in empty):
            continue
        if _answered_within(line, language, index) or _answered_after(line, language, index):
            continue
        if noun_at > index and _compared_within(line, language, index):
            continue
        word = token.word
        last = noun_at if noun_at > index else index
        start, end = line.span(index, last)
        yield ReferenceCue(
            "pronoun",
            0.8 if noun_at == index else 0.75,
            start,
            end,
            line.original[start:end],
            noun=line.word(noun_at) if noun_at > index else "",
            plural=word in language.plural_pronouns or _ends_plural(word, language),
            person=word in language.person_pronouns,
            gender=_gender(line, language, index),
        )


def _ends_plural(word: str, language: FollowUpWords) -> bool:
    """ "riassumerli", "confrontale"."""
    return word.endswith(("li", "le")) and language.patterns["enclitic"].fullmatch(word) is not None


def _gender(line: WordSpans, language: FollowUpWords, index: int) -> str:
    """The gender shown by a clitic or by the participle that agrees with it: "l'ha inventata"."""
    word, after = line.word(index), line.word(index + 2)
    if word not in language.clitics and language.patterns["enclitic"].fullmatch(word) is None:
        return ""
    if line.word(index + 1) in language.auxiliaries and after.endswith(("a", "o")) and len(after) > 3:
        word = after
    return {"a": "f", "o": "m"}.get(word[-1], "")


def general_nouns(line: WordSpans, language: FollowUpWords) -> Iterator[ReferenceCue]:
    """ "the company", "la malattia": a general noun that names nothing by itself stands for what was named before."""
    for index in range(1, len(line.tokens)):
        word = line.word(index)
        if word not in language.general_nouns or line.word(index - 1) not in language.articles:
            continue
        if line.tokens[index].capital or _described(line, language, index + 1):
            continue
        if _answered_within(line, language, index) or any(_names(line, language, at) for at in range(index - 1)):
            continue
        start, end = line.span(index - 1, index)
        yield ReferenceCue("pronoun", 0.6, start, end, line.original[start:end], noun=word)


def _described(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """Whether the noun is told apart by what follows ("the city with the most bridges")."""
    word = line.word(at)
    return line.is_word(at) and (
        language.is_content(word) or word in language.prepositions or word in language.clause_words
    )


def _may_point(word: str, language: FollowUpWords) -> bool:
    """Whether a word can be a pronoun at all; a fast test that excludes most words."""
    return word in language.pointing_words or language.patterns["enclitic"].fullmatch(word) is not None


def _pointing(line: WordSpans, language: FollowUpWords, index: int) -> int | None:
    """The index of the noun that a demonstrative points with, `index` for a pronoun on its own, None for neither."""
    word = line.word(index)
    if word in language.demonstrative:
        return _demonstrative(line, language, index)
    if word in language.personal or word in language.possessive:
        return index
    if word in language.place:
        return index if _goes_somewhere(line, language, index) else None
    if word in language.ones and not line.is_word(index + 1):
        before = line.word(index - 1)
        return index if before in language.verbs else None
    if word in language.clitics:
        return index if _is_clitic(line, language, index) else None
    return index if language.patterns["enclitic"].fullmatch(word) else None


def _goes_somewhere(line: WordSpans, language: FollowUpWords, index: int) -> bool:
    """ "drive there", "from there"; neither "is there" nor "hello there"."""
    before = line.word(index - 1)
    acts = language.is_content(before) or before in language.verbs
    moves = index >= 2 and acts and before not in language.auxiliaries
    return (moves or before in language.prepositions) and not _content_at(line, language, index + 1)


def _demonstrative(line: WordSpans, language: FollowUpWords, index: int) -> int | None:
    word, following = line.word(index), line.word(index + 1)
    if following in language.time_nouns or following in language.relatives:
        return None
    before = line.word(index - 1)
    if _content_at(line, language, index + 1):
        onset = language.onset_article.get(word)
        if onset is not None and not re.match(onset, following):
            return None
        # A word that may also open a clause ("that") points only where no clause can begin.
        if word in language.relatives and before not in language.prepositions and before not in language.auxiliaries:
            return None
        after = line.word(index + 2)
        return None if after in language.links or after in language.relatives else index + 1
    if word in language.relatives:
        ends = before in language.verbs and not line.is_word(index + 1)
        opens = ends or before in language.auxiliaries or before in language.prepositions
        if not opens or following in language.articles or following in language.personal:
            return None
    if following in language.links or following in language.articles:
        return None
    return index


def _is_clitic(line: WordSpans, language: FollowUpWords, index: int) -> bool:
    word, following = line.word(index), line.word(index + 1)
    if not line.is_word(index + 1):
        return False
    if word == "ne":
        return True
    if following in language.clitic_hosts:
        return True
    onset = language.onset_article.get(word)
    if onset is None:
        return word == "li"
    return re.match(onset, following) is None


def _answered_within(line: WordSpans, language: FollowUpWords, index: int) -> bool:
    """Whether a noun earlier in the question, in a clause before, is what the pronoun stands for."""
    if line.word(index) in language.person_pronouns and any(
        line.word(at) in language.own_people and _content_at(line, language, at + 1) for at in range(index)
    ):
        return True  # "My grandmother says she…"
    word = line.word(index)
    boundary = index if word in language.possessive else None
    for at in range(index - 1, 0, -1):
        if _opens_clause(line, language, at):
            # "the tribes that they met": the noun before a relative is the object, so the pronoun is someone else.
            if at == index - 1 and line.word(at) in language.relatives and _names(line, language, at - 1):
                return False
            boundary = boundary or at
            break
    if boundary is None:
        return False
    people = word in language.person_pronouns
    return any(
        _names(line, language, at) and (not people or (at > 0 and line.tokens[at].capital)) for at in range(boundary)
    )


def _answered_after(line: WordSpans, language: FollowUpWords, index: int) -> bool:
    """Whether the noun comes later: "Chi lo ha scritto il Nome della rosa?", "Who painted it, the Mona Lisa?"."""
    if line.word(index) in language.place:
        return any(
            line.word(at) in language.prepositions and at + 1 < len(line.tokens) and line.tokens[at + 1].capital
            for at in range(index + 1, len(line.tokens))
        )
    announced = language.announced.get(line.word(index), "").split()
    end = max(at for at, token in enumerate(line.tokens) if token.is_word)
    for at in range(index + 1, end):
        article, tail = line.word(at), range(at, end + 1)
        apart = line.word(at - 1) == "," and article in language.articles
        if not (apart or article in announced) or article in language.prepositions:
            continue
        if not _content_at(line, language, at + 1) or not any(_names(line, language, i) for i in tail):
            continue
        if any(not line.is_word(i) or line.word(i) in language.auxiliaries for i in tail):
            continue
        if apart:
            return True
        if any(line.word(i) in _MARKS or line.word(i) in language.clause_words for i in range(index, at)):
            continue
        asks_who = any(line.word(i) in language.person_words for i in range(index))
        if asks_who or language.patterns["own_subject"].fullmatch(line.word(index + 1)) is not None:
            return True
    return False


def _compared_within(line: WordSpans, language: FollowUpWords, index: int) -> bool:
    """ "L'acqua calda congela prima di quella fredda": a demonstrative and an adjective repeat the noun compared."""
    if line.word(index - 1) not in language.links and line.word(index - 1) not in language.relatives:
        return False
    before = next((at for at in range(index - 1) if line.word(at) in language.comparatives), 0)
    return any(_names(line, language, at) for at in range(before))


def _opens_clause(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """Whether a clause begins here; "and" between two nouns begins none."""
    word = line.word(at)
    if word in language.coordinators:
        return not _content_at(line, language, at + 1)
    return word in _MARKS or word in language.clause_words


def _names(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """Whether a word names something by itself, and not only as part of "health benefits"."""
    token = line.tokens[at]
    if not token.is_word or not language.is_topical(token.word) or token.word.isdecimal():
        return False
    return token.capital or line.word(at + 1) not in language.relational


def _content_at(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    return line.is_word(at) and language.is_content(line.word(at))
