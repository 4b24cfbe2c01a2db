"""A question about the last answer that has no pronoun: "Why so little paste?", "La cascata gela d'inverno?".

Its words are those of the answer. It counts when the question is short, shares a word with the answer, and names
little else: a question with a subject of its own is complete.
"""

from ricordo.followups.discourse import root
from ricordo.followups.reference import ReferenceCue
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import Words
from ricordo.languages.text import WordSpans

_LONGEST = 14  # words
_BRIEF = 7


def about_answer(line: WordSpans, language: FollowUpWords, said: Words) -> ReferenceCue | None:
    """The cue of a question made of words of the last answer, if it is one."""
    if not said or len(line.words) > _LONGEST:
        return None
    topical = [at for at, token in enumerate(line.tokens) if token.is_word and language.is_topical(token.word)]
    shared = [at for at in topical if root(line.word(at)) in said and len(line.word(at)) > 2]
    if not shared:
        return None
    others = [at for at in topical if at not in shared]
    if any(at > 0 and _is_name(line, language, at) for at in topical):
        return None
    if any(line.word(at - 1) in language.articles or line.word(at - 1) in language.indefinite for at in others):
        return None  # It names a subject of its own.
    # The subject comes first: a topical word before it would be what the question is about.
    definite = [at for at in topical[:1] if at in shared and _definite(line, language, at)]
    if not definite and (others or not _asks_briefly(line, language)):
        return None
    noun = line.word(definite[0] if definite else shared[-1])
    start, end = line.span(shared[0], shared[-1])
    return ReferenceCue("ellipsis", 0.55, start, end, line.original[start:end], noun=noun, about=True)


def _is_name(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    return line.tokens[at].capital and line.word(at) not in language.time_names


def _asks_briefly(line: WordSpans, language: FollowUpWords) -> bool:
    return len(line.words) <= _BRIEF and not any(word in language.indefinite for word in line.words[:-1])


def _definite(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """ "the therapy", "la cascata": known from the talk, unless what follows tells which."""
    following = line.word(at + 1)
    told = following in language.prepositions or following in language.relatives or following in language.comparatives
    # "What is the boiling point?" asks for a definition and is complete.
    defined = line.word(at - 2) in language.copulas and line.word(at - 3) in language.question_words
    return line.word(at - 1) in language.articles and not told and not defined
