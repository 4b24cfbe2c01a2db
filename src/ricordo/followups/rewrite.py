"""Standalone questions by rules: words that are added, and the frame of a past question that a new part edits.

The rules add at most twenty words, each with the turn it comes from. English pronouns are replaced; everything else is
added in brackets before the final mark, which leaves the user's words unchanged. "And in Peru?" after "What is the
voting age in Austria?" replaces a part of the same kind (a place after "in"); "No, I meant fourteen" replaces a number.
The part is chosen by a few observations (preposition, kind, article, number, spelling).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal, Protocol

from ricordo.followups.phrases import nearest, runs
from ricordo.followups.reference import Addition, PastTurn, ReferenceCue
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import WordSpans, is_content, language_of, sentences, split_words, stem, stems

MOST_ADDED_WORDS = 20
_LONGEST_RATIO = 6
_LONGEST_SLACK = 200


class Rewriter(Protocol):
    """A model that writes standalone questions; the rules are used when it fails."""

    def rewrite(self, question: str, history: Sequence[PastTurn]) -> str:
        """The question with everything it needs from the conversation, in its own language."""
        ...


def fit_additions(question: str, offered: Sequence[Addition]) -> tuple[Addition, ...]:
    """The additions with new words, in order, up to the allowed number of words."""
    known = set(stems(split_words(question).words))
    kept: list[Addition] = []
    left = MOST_ADDED_WORDS
    for addition in offered:
        words = stems(split_words(addition.text).words)
        if words <= known or left <= 0:
            continue
        pieces = addition.text.split()[:left]
        left -= len(pieces)
        known.update(words)
        kept.append(replace(addition, text=" ".join(pieces)))
    return tuple(kept)


def write_standalone(
    question: str,
    additions: Sequence[Addition],
    references: Sequence[ReferenceCue],
    language: FollowUpWords,
    instead: Addition | None = None,
) -> str:
    """The question with its additions: one of them `instead` of an English pronoun, the others in brackets."""
    text = question
    pronoun = _replaceable(question, references, language) if instead is not None else None
    if instead is not None and pronoun is not None:
        phrase = f"{instead.article} {_unbracketed(instead.text)}".strip()
        if question[pronoun.start].isupper():
            phrase = phrase[0].upper() + phrase[1:]
        owned = question[pronoun.start : pronoun.end].lower() in language.owned
        ending = ("'" if phrase.endswith("s") else "'s") if owned else ""
        text = f"{question[: pronoun.start]}{phrase}{ending}{question[pronoun.end :]}"
    rest = [_unbracketed(each.text) for each in additions if pronoun is None or each is not instead]
    return bracketed(text, rest) if rest else text


def bracketed(text: str, added: Sequence[str]) -> str:
    """A text with phrases in one pair of brackets before its final mark, beside those that are there already."""
    body = text.rstrip()
    bare = body.rstrip("?!.… ")
    asked, _, inside = bare[:-1].rpartition("(") if bare.endswith(")") else (bare, "", "")
    said = ", ".join(each for each in (inside, *map(_unbracketed, added)) if each)
    return f"{asked.rstrip()} ({said}){body[len(bare) :].strip()}"


def _unbracketed(phrase: str) -> str:
    """A phrase with commas for its brackets: "the tower (300 m)" is "the tower, 300 m"."""
    pieces = (piece.strip(" ,") for piece in re.split(r"[()]", phrase))
    return ", ".join(piece for piece in pieces if piece).removesuffix("'s")


def traced(standalone: str, question: str, history: Sequence[PastTurn]) -> tuple[Addition, ...]:
    """The words that a standalone question gained, by the newest turns in which they are written."""
    known = set(split_words(question).words)
    found: dict[int, list[str]] = {}
    for token in split_words(standalone).tokens:
        word = standalone[token.start : token.end]
        if not token.is_word or token.word in known:
            continue
        for turn in reversed(history):
            if word in turn.query or word in turn.response:
                found.setdefault(turn.turn_number, []).append(word)
                break
    return tuple(Addition(" ".join(said), number, "question") for number, said in found.items())


def trusted_rewrite(question: str, rewritten: str, language: FollowUpWords) -> str | None:
    """What a model returned, or None when it is blank, in another language, or far longer than the question."""
    text = rewritten.strip()
    if not text or len(text) > _LONGEST_RATIO * len(question) + _LONGEST_SLACK:
        return None
    return text if language_of(text, default=language) == language else None


def _replaceable(question: str, references: Sequence[ReferenceCue], language: FollowUpWords) -> ReferenceCue | None:
    if not references:
        return None
    first = references[0]
    word = question[first.start : first.end].lower()
    if first.kind != "pronoun" or word not in language.replaceable | language.owned:
        return None
    # A possessive needs its noun: "her" at the end is the person. "Do it" names an action.
    line = split_words(question)
    at = line.token_at_offset(first.start)
    before, after = line.word(at - 1), line.word(at + 1)
    no_nouns = language.determiners | language.prepositions | language.clause_words | language.auxiliaries
    follows = line.is_word(at + 1) and after not in no_nouns
    acts = not (first.plural or first.person or word in language.owned) and before in language.deeds
    return first if not acts and (word not in language.owned or follows) else None


PartKind = Literal["name", "time", "noun", "unknown"]
LONGEST_FRAME = 20  # words
FITS = 1.2  # the least score with which a part is replaced
FITS_OLDER = 2.5  # the same in a question before the last
_REPLACES = 0.5  # likeness to a word of the question with which a thing is meant in its place
FITS_SENSE = 3.0  # the same where the new part may only explain the old one ("I meant the animal")
_ALIKE = 0.72
_CLEARLY = 0.2  # difference of likeness
_KINDRED = 0.35  # likeness of words that may take each other's place
_ALIKE_IN_MEANING = 4.0
_FIRST = 0.3  # what a question names first is its subject


@dataclass(frozen=True, slots=True)
class FramePart:
    """A noun phrase of a question: `start` with its article, `core` without, and what tells its kind."""

    start: int
    core: int
    end: int
    words: tuple[str, ...]
    preposition: str
    article: str
    kind: PartKind
    plural: bool
    waits: bool


def asked_sentence(query: str) -> str:
    """The sentence of a message that asks: the last with a question mark, or all of a short message."""
    asking = [piece for start, end in sentences(query, chat=True) if (piece := query[start:end]).endswith("?")]
    return asking[-1] if asking else query.strip()


def frame_words(query: str, language: FollowUpWords) -> str:
    """What a question asked, without its question words and politeness ("prune my hydrangea in autumn")."""
    sentence = asked_sentence(query)
    line = split_words(sentence)
    said = [at for at, token in enumerate(line.tokens) if token.is_word]
    empty = language.function_words | language.requests | language.asking_openers
    while said and line.word(said[0]) in empty:
        said.pop(0)
    while said and not is_content(language, line.word(said[-1])) and line.word(said[-1]) not in language.verbs:
        said.pop()
    if not said:
        return ""
    said = said[:LONGEST_FRAME]
    start, end = line.span(said[0], said[-1])
    return sentence[start:end]


def parts(line: WordSpans, language: FollowUpWords) -> tuple[FramePart, ...]:
    """The noun phrases of a line that another could replace; a name ends what stands before it ("nato Verdi")."""
    return tuple(_part(line, language, *_name_in(line, *run)) for run in runs(line, language) if run is not None)


def _name_in(line: WordSpans, first: int, last: int) -> tuple[int, int]:
    names = [at for at in range(max(first, 1), last + 1) if line.tokens[at].capital]
    return (names[0], last) if names and line.tokens[last].capital else (first, last)


def _part(line: WordSpans, language: FollowUpWords, first: int, last: int) -> FramePart:
    begin, article, preposition = first, "", ""
    while begin > 0 and line.word(begin - 1) in language.owners:
        begin -= 1
        article = "definite"
    before = line.word(begin - 1)
    if before in language.indefinite:
        begin, article = begin - 1, "indefinite"
    elif before in language.articles:
        begin, article = begin - 1, "definite"
        preposition = language.contracted.get(before, "")
    before = line.word(begin - 1)
    if not preposition and (before in language.prepositions or before in language.part_openers):
        preposition = language.contracted.get(before, before)
    words = tuple(line.word(at) for at in range(first, last + 1) if line.is_word(at))
    return FramePart(
        start=line.tokens[begin].start,
        core=line.tokens[first].start,
        end=line.tokens[last].end,
        words=words,
        preposition=preposition,
        article=article,
        kind=_kind(line, language, first, last),
        plural=words[-1].endswith("s") and not words[-1].endswith("ss"),
        waits=all(word in language.relational or word in language.modifiers for word in words),
    )


def _kind(line: WordSpans, language: FollowUpWords, first: int, last: int) -> PartKind:
    words = [line.word(at) for at in range(first, last + 1)]
    if words[-1] in language.time_names or (words[-1].isdecimal() and len(words[-1]) == 4):
        return "time"
    if any(line.tokens[at].capital and at > 0 for at in range(first, last + 1)):
        return "name"
    return "unknown" if first == 0 and line.tokens[0].capital else "noun"


def with_part(
    question: str, new: str, language: FollowUpWords, instead_of: str = "", least: float = FITS, *, opens: bool = True
) -> str:
    """The old question with the new part in place of the one that fits best; empty where none fits.

    `opens` says that the new part opens its message, so that a capital there tells nothing.
    """
    line, piece = split_words(question), split_words(new)
    if not piece.words:
        return ""
    named = _named_part(line, split_words(instead_of), language) if instead_of else None
    if named is not None:
        start, end, bare = named
        begins = (
            piece.tokens[1].start if bare and len(piece.tokens) > 1 and piece.word(0) in language.determiners else 0
        )
        return _spliced(question, start, end, new[begins:], language)
    token = _same_class(line, piece, language)
    if token is not None:
        return _spliced(question, *token, language)
    (incoming, offset) = _incoming(piece, new, language)
    if incoming is None:
        return ""
    if incoming.kind == "unknown" and not opens:
        incoming = replace(incoming, kind="name")
    scored = [(_score(part, incoming) + _FIRST * (at == 0), -at, part) for at, part in enumerate(parts(line, language))]
    best = max(scored, key=lambda each: each[:2], default=None)
    if best is None or best[0] < least:
        return ""
    part = best[2]
    before = line.word(line.token_at_offset(part.start) - 1)
    if before in language.do_support & language.verbs and part.plural != incoming.plural and incoming.kind != "name":
        return ""  # "What do plants need?" and "respiration" do not agree
    return _in_place(question, line, part, incoming, new, language, offset)


def explains(new: str, question: str, language: FollowUpWords) -> bool:
    """Whether a new part may only tell which sense of the old one is meant: "the animal"."""
    piece = split_words(new)
    if piece.word(0) not in language.articles or any(token.capital for token in piece.tokens[1:]):
        return False
    words = [word for word in split_words(question).words if is_content(language, word)]
    general = any(word in language.general_nouns for word in piece.words)
    return general or nearest(piece.words[-1:], words) < _REPLACES


def _in_place(
    question: str, line: WordSpans, part: FramePart, incoming: FramePart, new: str, language: FollowUpWords, offset: int
) -> str:
    """Replace with the preposition where both have it, with the article where both have one, else the noun alone."""
    if incoming.preposition:
        if part.preposition:
            begins = part.start
            at = line.token_at_offset(part.start)
            joined = line.word(at) in language.contracted
            if not joined:
                before = line.token_at_offset(part.start) - 1
                begins = line.tokens[before].start if before >= 0 else part.start
            return _spliced(question, begins, part.end, new[offset:], language)
        return ""
    at = line.token_at_offset(part.start)
    if incoming.article and any(map(language.is_number, (line.word(at - 1), line.word(at)))):
        return ""  # "in two days" has no place for "the next day"
    joined = line.word(at) in language.contracted
    word = _like_word(part, incoming)
    if word:
        found = next(token for token in line.tokens if token.start >= part.core and token.word == word)
        return _spliced(question, found.start, found.end, new[incoming.core :], language)
    if incoming.article and part.article and not joined:
        return _spliced(question, part.start, part.end, new[offset:], language)
    if joined or (incoming.kind == "name" and part.article and language.article_forms):
        return _spliced(question, part.start, part.end, _joined(line.word(at), new[offset:], language), language)
    called = incoming.article == "definite" and incoming.kind in ("name", "unknown")  # "The Kiss"
    return _spliced(question, part.core, part.end, new[offset if called else incoming.core :], language)


def _joined(article: str, new: str, language: FollowUpWords) -> str:
    """A new part after the preposition of an article: "alle" and "la torre" give "alla torre", "Cuba" "a Cuba"."""
    base, own = language.contracted.get(article, ""), split_words(new).word(0)
    if own not in language.articles or not base:
        return f"{base} {new}"
    ending = own[1:] or own
    forms = [word for word, of in language.contracted.items() if of == base and word.endswith(ending)]
    return f"{min(forms, key=len)}{new[len(own) :]}" if forms else f"{base} {new}"


def _like_word(part: FramePart, new: FramePart) -> str:
    """ "A girl puppy" and "a boy": the one word of a longer part that the new word takes the place of."""
    if len(part.words) < 2 or len(new.words) > 1:
        return ""
    near = sorted(((nearest((word,), new.words), word) for word in part.words), reverse=True)
    return near[0][1] if near[0][0] >= _REPLACES and near[0][0] - near[1][0] > _CLEARLY else ""


def _incoming(piece: WordSpans, new: str, language: FollowUpWords) -> tuple[FramePart | None, int]:
    found = parts(piece, language)
    if not found:
        return None, 0
    first = found[0]
    first_word = piece.tokens[0].start
    words = tuple(word for part in found for word in part.words)
    kind: PartKind = "time" if any(part.kind == "time" for part in found) else first.kind
    whole = replace(first, end=len(new), words=words, kind=kind)
    return whole, first_word


def _score(part: FramePart, new: FramePart) -> float:
    """How well a new part fits into the place of another."""
    score = 0.0
    if {stem(word) for word in part.words} & {stem(word) for word in new.words}:
        score += 3
    elif SequenceMatcher(None, " ".join(part.words), " ".join(new.words)).ratio() >= _ALIKE:
        score += 2.5
    if new.preposition:
        score += 2 if part.preposition == new.preposition else -2
    elif part.preposition:
        score -= 0.7
    if "unknown" in (part.kind, new.kind):
        score += 0.7 if "name" in (part.kind, new.kind) else 0.3
    elif part.kind == new.kind:
        score += 0.5 if part.kind == "noun" else 2
    else:
        score -= 4 if "time" in (part.kind, new.kind) else 1.5
    if part.article == new.article:
        score += 1
    elif part.article and new.article:
        score += 0.5
    score += 0.3 * (part.plural == new.plural)
    score += _ALIKE_IN_MEANING * max(0.0, nearest(part.words, new.words) - _KINDRED)
    return score - 1.5 * (part.waits and not new.waits)


def _same_class(line: WordSpans, piece: WordSpans, language: FollowUpWords) -> tuple[int, int, str] | None:
    """A number for a number, an ordinal for an ordinal, a quality for a quality: one word takes another's place."""
    content = [at for at, token in enumerate(piece.tokens) if token.is_word and not _grammar(token.word, language)]
    if len(content) != 1:
        return None
    word = piece.word(content[0])
    for same in (language.is_number, language.ordinals.__contains__, language.modifiers.__contains__):
        if not same(word):
            continue
        before = piece.word(content[0] - 1)
        places = [at for at, token in enumerate(line.tokens) if token.is_word and same(token.word)]
        alike = [at for at in places if before and line.word(at - 1) == before] or places
        if alike:
            start, end = piece.span(content[0], content[0])
            return line.tokens[alike[-1]].start, line.tokens[alike[-1]].end, piece.original[start:end]
    return None


def _grammar(word: str, language: FollowUpWords) -> bool:
    return not language.is_number(word) and word in language.function_words


def _named_part(line: WordSpans, old: WordSpans, language: FollowUpWords) -> tuple[int, int, bool] | None:
    """Where the words that a correction takes back stand in the question; whether in the middle of a noun phrase."""
    wanted = {stem(word) for word in old.words if not _grammar(word, language)}
    said = [at for at, token in enumerate(line.tokens) if token.is_word and stem(token.word) in wanted]
    if not wanted or not said or not wanted <= {stem(line.word(at)) for at in said}:
        return None
    first = said[0]
    if old.word(0) in language.determiners and line.word(first - 1) == old.word(0):
        first -= 1
    inside = any(each is not None and each[0] < first <= each[1] for each in runs(line, language))
    return line.tokens[first].start, line.tokens[said[-1]].end, inside


def _spliced(question: str, start: int, end: int, new: str, language: FollowUpWords) -> str:
    """The question with a new part in an old one's place: what meets at the seams stands once, and agrees."""
    before, new, after = split_words(question[:start].rstrip()), new.strip(), split_words(question[end:])
    piece, at = split_words(new), 0
    last = before.words[-1] if before.tokens and before.tokens[-1].is_word else ""
    first = piece.word(0)
    places = language.prepositions | language.contracted.keys()
    if first in places and last != first and (last in places or last in language.indefinite):
        at, first = (1, piece.word(1)) if language.contracted.get(first, first) != last else (0, first)
    counted = language.is_number(first) or first in language.determiners
    same = last == first or (first in places and language.contracted.get(first) == last)
    if same or (counted and last in language.indefinite | language.articles - language.contracted.keys()):
        start = before.tokens[-1].start
    if piece.words and after.tokens and after.tokens[0].is_word and stem(after.word(0)) == stem(piece.words[-1]):
        end += after.tokens[0].end
    text = new[piece.tokens[at].start :] if at < len(piece.tokens) else new
    opened = first in language.function_words or first in language.modifiers or language.is_number(first)
    text = text[:1].lower() + text[1:] if opened and question[:start].strip() else text
    return f"{question[:start]}{text}{question[end:]}"


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
    while first <= last and not is_content(language, line.word(first)):
        first += 1
    while last >= first and not is_content(language, line.word(last)):
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
    graded = language.graded != "" and len(token.word) > 5 and token.word.endswith(language.graded)
    return ends and not token.capital and (token.word in language.modifiers or graded)


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
        or (word in language.prepositions and word not in language.links and word not in language.articles)
    )
