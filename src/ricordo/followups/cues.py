"""Cues of a follow-up: the records, and the rules for cues that are plain phrases (go on, go back, quote, compare).

A `ReferenceCue` is found in the question alone: its kind, a confidence, and the span of the words. A `Pick` says which
items of a list are meant. `resolve` binds both to a turn.
"""

import re

from ricordo.followups.reference import Pick, ReferenceCue
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import Words
from ricordo.languages.text import WordSpans, stem

_MARKS = frozenset(",.;:!?…")
_LONGEST_REQUEST = 12
_EXCLAMATION = 4
_SENTENCE_END = re.compile(r"[.!?;:…]")


def continuation(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """A message that only asks to go on ("continua", "Interesting, tell me more please")."""
    clauses = _clauses(line)
    while len(clauses) > 1 and all(line.word(at) in language.polite_endings for at in clauses[-1]):
        clauses.pop()
    for clause in (clauses[-1:] + clauses[:1])[: len(clauses)]:
        # What stands beside the request is at most a short exclamation ("Interesting, …", "…, this is useful").
        if any(len(other) > _EXCLAMATION for other in clauses if other is not clause):
            continue
        request = _request(line, language, clause)
        if request:
            start, end = line.span(request[0], request[-1])
            return ReferenceCue("continuation", 0.9, start, end, line.original[start:end])
    return None


def _request(line: WordSpans, language: FollowUpWords, clause: list[int]) -> list[int]:
    """The words that ask to go on, after peeling politeness one word at a time from both ends; empty if they do not."""
    while len(clause) <= _LONGEST_REQUEST:
        if language.patterns["continuation"].fullmatch(" ".join(line.word(at) for at in clause)):
            return clause
        if len(clause) > 1 and line.word(clause[-1]) in language.polite_endings:
            clause = clause[:-1]
        elif len(clause) > 1 and line.word(clause[0]) in language.fillers:
            clause = clause[1:]
        else:
            break
    return []


def _clauses(line: WordSpans) -> list[list[int]]:
    """The indexes of the words, clause by clause."""
    clauses: list[list[int]] = [[]]
    for at, token in enumerate(line.tokens):
        if token.is_word:
            clauses[-1].append(at)
        elif token.word in _MARKS:
            clauses.append([])
    return [clause for clause in clauses if clause]


def statement(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """Something attributed to an earlier answer ("hai detto che…", "you said that…")."""
    match = language.patterns["statement"].search(line.text)
    if match is None:
        return None
    content = _sentence_after(line, match.end())
    if not content:
        return None
    start, end = line.match_span(match)
    return ReferenceCue("statement", 0.9, start, end, line.original[start:end], content=content, must_match=True)


def back(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """A return to something said before, with the words that tell what."""
    previous = language.patterns["last_answer"].search(line.text)
    match = language.patterns["back"].search(line.text) or previous
    recalled = language.patterns["recalled"].search(line.text) if match is None else None
    match = match or recalled
    if match is None:
        return None
    start, end = line.match_span(match)
    rest = line.text[: match.start()] + " " + line.text[match.end() :]
    content = "" if previous is not None else " ".join(re.findall(r"\w+", rest))
    must_match = recalled is not None
    return ReferenceCue("back", 0.85, start, end, line.original[start:end], content=content, must_match=must_match)


def described(line: WordSpans, language: FollowUpWords, nouns: Words) -> ReferenceCue | None:
    """ "The one about windows", "quella manuale": an item called by words that a list of the talk is made of."""
    for match in language.patterns["the_one"].finditer(line.text) if nouns else ():
        said = next(filter(None, match.groups()), "").split()
        content = _description(said, language)
        if content and all(stem(word) in nouns for word in content):
            start, end = line.match_span(match)
            text = line.original[start:end]
            return ReferenceCue("back", 0.8, start, end, text, content=" ".join(content), must_match=True, one=True)
    return None


def _description(said: list[str], language: FollowUpWords) -> list[str]:
    """The words that describe, up to the verb or pronoun with which the rest of the question begins."""
    content: list[str] = []
    for word in said:
        if language.is_content(word):
            content.append(word)
        elif content and word not in language.articles and word not in language.prepositions:
            break
    return content


def comparison(line: WordSpans, language: FollowUpWords, places: tuple[ReferenceCue, ...]) -> ReferenceCue | None:
    """A comparison whose terms are in the talk: with a place ("than the first") or with all of them ("which one…")."""
    bare = language.patterns["bare_comparison"].search(_clause(line))
    if bare is not None:
        start, end = line.match_span(bare)
        if any(token.capital and token.start == end + 1 for token in line.tokens):
            return None  # "Which of the two World Wars…": they have a name of their own.
        count = max((p.pick.count for p in places if p.pick is not None), default=0)
        return ReferenceCue("comparison", 0.8, start, end, line.original[start:end], pick=Pick(every=True, count=count))
    picks = [place.pick for place in places if place.pick is not None]
    cue = language.patterns["comparison"].search(line.text) if picks else None
    if cue is None:
        return None
    start, end = line.match_span(cue)
    everything = next((pick for pick in picks if pick.every), None)
    pick = everything or Pick(positions=tuple(dict.fromkeys(p for pick in picks for p in pick.positions)))
    noun = next((place.noun for place in places if place.noun), "")
    return ReferenceCue("comparison", 0.85, start, end, line.original[start:end], pick=pick, noun=noun)


def _clause(line: WordSpans) -> str:
    """The line without its final marks, so that a pattern may end with the sentence."""
    return line.text.rstrip(" ?!.…")


def _sentence_after(line: WordSpans, position: int) -> str:
    rest = line.text[position:]
    return _SENTENCE_END.split(rest, maxsplit=1)[0].strip() or rest.strip()
