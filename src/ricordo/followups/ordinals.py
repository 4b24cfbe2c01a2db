"""Positions in a list: "il punto 2", "the first two", "l'ultimo", "entrambi", "none of them", "2", "1 e 3".

A position counts only when no noun of its own follows: "the second" and "the second point" refer to a list,
"the second law of thermodynamics" does not. Nouns of recent lists ("il secondo esercizio" after a list
of exercises) are passed in as stems; so are the labels that a message may name on their own.
"""

from collections.abc import Iterator

from ricordo.followups.reference import Pick, ReferenceCue
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import Words
from ricordo.languages.text import Token, WordSpans, is_content, stem

_ROMAN = {"i": 1, "ii": 2, "iii": 3, "iv": 4, "v": 5, "vi": 6, "vii": 7, "viii": 8, "ix": 9, "x": 10}
_LETTERS = "abcdefgh"
# Letters that are also words ("a", "e", "i", "o") are labels only before a mark or at the end.
_WORDLIKE = frozenset("aeio")
_NUMBER_SIGNS = frozenset("#.(°")
_ALSO = frozenset(",&")
_LARGEST = 99


def places(line: WordSpans, language: FollowUpWords, nouns: Words = frozenset()) -> Iterator[ReferenceCue]:
    """Every place of a list that the line names, in the order of the words; "the rest" is all but the others."""
    found = tuple(_named(line, language, nouns))
    rests = (at for at, token in enumerate(line.tokens) if token.word in language.rests)
    rest = next(filter(None, (_rest(line, language, at) for at in rests)), None)
    if rest is None:
        yield from found
        return
    first, last, count = rest
    known = tuple(place for each in found if each.pick is not None for place in each.pick.positions)
    pick = Pick(positions=known, rest=True, count=count)
    yield ReferenceCue.at(line.span(first, last), line, "ordinal", 0.75, pick=pick)


def _rest(line: WordSpans, language: FollowUpWords, index: int) -> tuple[int, int, int] | None:
    """ "the rest", "gli altri due": where it stands, and how many when that is said."""
    if line.word(index - 1) not in language.articles:
        return None
    at = index + 1
    count = language.cardinals.get(line.word(at)) or _digits(line.word(at)) or 0
    at += bool(count)
    if line.word(at) in language.ones and not count:
        return None
    ends = not line.is_word(at) or (line.word(at) in language.links and _points_back(line, language, at + 1))
    return (index - 1, at - 1, count) if ends else None


def _named(line: WordSpans, language: FollowUpWords, nouns: Words) -> Iterator[ReferenceCue]:
    taken = -1
    for index, token in enumerate(line.tokens):
        if index <= taken or not _may_begin(token, language, nouns):
            continue
        found = (
            _labelled(line, language, nouns, index)
            or _bracketed(line, index)
            or _lettered_pair(line, language, index)
            or _ordinal(line, language, nouns, index)
            or _neighbour(line, language, index)
            or _group(line, language, nouns, index)
        )
        if found is not None:
            first, last, pick, noun, confidence = found
            taken = last
            yield ReferenceCue.at(line.span(first, last), line, "ordinal", confidence, pick=pick, noun=noun)


def _may_begin(token: Token, language: FollowUpWords, nouns: Words) -> bool:
    """Whether a position can begin here; a fast test that excludes most tokens."""
    word = token.word
    if not token.is_word:
        return word == "("
    return (
        len(word) == 1
        or word in language.place_words
        or word in language.number_words
        or word.isdecimal()
        or (bool(nouns) and stem(word) in nouns)
    )


def whole_message(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """A message that is nothing but a place ("2", "the second", "la b, grazie")."""
    lone = len(line.words) == 1
    indexes = [
        i for i, token in enumerate(line.tokens) if token.is_word and (lone or token.word not in language.fillers)
    ]
    if len(indexes) != 1 or len(line.tokens) > 8:
        return None
    index = indexes[0]
    word = line.word(index)
    named = language.ordinals.get(word) or language.cardinals.get(word)
    label = label_number(word)
    if (named is None and label is None) or word in language.ambiguous_ordinals:
        return None
    place = named if named is not None else label
    pick = Pick(positions=(place or 0,), label="" if named else word)
    return ReferenceCue.at(line.span(index, index), line, "ordinal", 0.9, pick=pick)


def label_number(word: str) -> int | None:
    """The place that a printed label stands for: "2", "b", "iv"."""
    if word.isdecimal() and word.isascii() and len(word) <= 2:
        return int(word) or None
    if word in _ROMAN and word != "i":
        return _ROMAN[word]
    if len(word) == 1 and word in _LETTERS:
        return _LETTERS.index(word) + 1
    return _ROMAN.get(word)


_Found = tuple[int, int, Pick, str, float]


def _labelled(line: WordSpans, language: FollowUpWords, nouns: Words, index: int) -> _Found | None:
    """ "point 2", "steps 2 and 3", "opzione b", "punto tre"."""
    noun = line.word(index)
    of_the_talk = stem(noun) in nouns and not line.tokens[index].capital and _stage(line, language, index)
    numbered = noun in language.number_words and line.word(index + 1) in _NUMBER_SIGNS
    known = noun in language.list_nouns or of_the_talk or numbered
    if not known or line.word(index - 1) in language.partitives:
        return None
    at = index + 1
    while line.word(at) in _NUMBER_SIGNS or line.word(at) in language.number_words:
        at += 1
    positions: list[int] = []
    labels: list[str] = []
    last = index
    while (place := _label_at(line, language, at)) is not None:
        positions.append(place)
        labels.append(line.word(at))
        last = at
        if line.word(at + 1) not in _ALSO and line.word(at + 1) not in language.coordinators:
            break
        at += 2
        if line.word(at) in language.list_nouns:
            at += 1
    if not positions or not _free(line, language, last + 1):
        return None
    label = labels[0] if len(labels) == 1 and labels[0] not in language.cardinals else ""
    return index, last, Pick(positions=tuple(positions), label=label), "" if numbered else noun, 0.95


def _stage(line: WordSpans, language: FollowUpWords, index: int) -> bool:
    """ "the hike 2", "stage three": a noun of the talk with its number."""
    number = line.word(index + 1)
    return bool(_digits(number)) if line.word(index - 1) in language.articles else number in language.cardinals


def _label_at(line: WordSpans, language: FollowUpWords, at: int) -> int | None:
    word = line.word(at)
    if word in language.cardinals:
        return language.cardinals[word]
    if word in _WORDLIKE and line.is_word(at + 1):
        paired = line.word(at + 1) in language.coordinators and label_number(line.word(at + 2)) is not None
        return label_number(word) if paired else None
    return label_number(word)


def _bracketed(line: WordSpans, index: int) -> _Found | None:
    """ "(b)" on its own."""
    if line.word(index) != "(" or line.word(index + 2) != ")":
        return None
    place = label_number(line.word(index + 1))
    if place is None:
        return None
    return index, index + 2, Pick(positions=(place,), label=line.word(index + 1)), "", 0.85


def _lettered_pair(line: WordSpans, language: FollowUpWords, index: int) -> _Found | None:
    """ "b and c" on their own."""
    first, second = line.word(index), line.word(index + 2)
    if line.word(index + 1) not in language.coordinators or first in _WORDLIKE:
        return None
    if len(first) != 1 or len(second) != 1 or first not in _LETTERS or second not in _LETTERS:
        return None
    positions = (_LETTERS.index(first) + 1, _LETTERS.index(second) + 1)
    return index, index + 2, Pick(positions=positions), "", 0.75


def _ordinal(line: WordSpans, language: FollowUpWords, nouns: Words, index: int) -> _Found | None:
    """ "the second", "the last two steps", "il terzo esercizio", "gli ultimi due"."""
    place = language.ordinals.get(line.word(index))
    if place is None:
        return None
    between = not place and line.word(index - 1) in language.links  # "quello di mezzo"
    article = line.word(index - 1 - between)
    has_article = article in language.articles or _after_another(line, language, index)
    has_article = has_article or (between and article in language.demonstrative)
    first = index - 1 - between if has_article else index
    at = index + 1
    count = language.cardinals.get(line.word(at)) or _digits(line.word(at))
    if count is not None and line.word(at) not in language.ones:
        at += 1
    else:
        count = None
    noun = line.word(at)
    named = noun in language.list_nouns
    if named or (has_article and stem(noun) in nouns and is_content(language, noun)) or noun in language.ones:
        at += 1
    else:
        noun = ""
    if (not noun and not has_article) or not (place or between or noun in language.ones):
        return None  # "quel mezzo" is a thing, "the middle" no item
    of_two = line.word(index) in language.of_two and not is_content(language, line.word(at))
    bare = not (named or noun in language.ones or of_two)
    if not _free(line, language, at, bare=bare) and not _predicate(line, language, first, at):
        return None
    if noun in language.ones and line.word(at) in language.ordinal_stoppers:
        return None
    if named and _defined(line, language, first, at):
        return None
    if not noun and language.patterns["measures"].search(line.text):
        return None
    last = _group_end(line, language, at) if line.word(at) in language.links else at - 1
    return first, last, Pick(positions=_run(place, count)), _specific(noun, language), 0.9 if noun else 0.8


def _defined(line: WordSpans, language: FollowUpWords, first: int, at: int) -> bool:
    """ "What is the first step in making cheese?": asked for and described in the same breath."""
    asks_what = line.word(0) in language.sorting_words or line.word(0) in language.person_words
    if not asks_what or line.word(first - 1) not in language.copulas or not line.is_word(at + 1):
        return False
    word = line.word(at)
    return word in language.prepositions or word in language.verbs or is_content(language, word)


def _after_another(line: WordSpans, language: FollowUpWords, index: int) -> bool:
    """ "the first and third": the article of one place serves the next."""
    before = line.word(index - 2)
    return line.word(index - 1) in language.coordinators and (before in language.ordinals or before in language.ones)


def _group_end(line: WordSpans, language: FollowUpWords, at: int) -> int:
    """The last word of "of the three", so that it is not read as a place of its own."""
    end = at + 1
    while line.word(end) in language.articles:
        end += 1
    return min(end, len(line.tokens) - 1)


def _neighbour(line: WordSpans, language: FollowUpWords, index: int) -> _Found | None:
    """ "the next one", "il successivo": counted from the item last talked about."""
    step = language.neighbours.get(line.word(index))
    if step is None or line.word(index - 1) not in language.articles:
        return None
    at = index + 1
    noun = line.word(at)
    if noun in language.ones or noun in language.list_nouns:
        at += 1
    elif language.ones:
        return None
    if not _free(line, language, at, bare=True):
        return None
    return index - 1, at - 1, Pick(step=step), "", 0.7


def _group(line: WordSpans, language: FollowUpWords, nouns: Words, index: int) -> _Found | None:
    """ "both", "all three", "tutti e tre", "none of them", "i due"."""
    word = line.word(index)
    at = index + 1
    if word in language.none or word in language.both or word in language.every:
        pick = Pick(every=True, count=2 if word in language.both else 0, negated=word in language.none)
        if line.word(at) in language.coordinators or line.word(at) in language.set_articles:
            at += 1
        count = language.cardinals.get(line.word(at))
        if count is not None:
            at += 1
            pick = Pick(every=True, count=count, negated=pick.negated)
        of_group = line.word(at) in language.links and _points_back(line, language, at + 1)
        if of_group:
            return index, min(at + 1, len(line.tokens) - 1), pick, "", 0.85
        alone = word in language.both or count is not None or word in language.none_alone
        alone = alone and line.word(at) not in language.articles
        stands = _standing(line, language, at) or (count is not None and _predicate(line, language, index, at))
        return (index, at - 1, pick, "", 0.8) if alone and stands else None
    count = language.cardinals.get(word) or _digits(word)
    if count is None or not 2 <= count <= 9 or word in language.ones:
        return None
    before = line.word(index - 1)
    sided = before in language.articles and line.word(index - 2) in language.between_words
    if not sided and before not in language.set_articles:
        return None
    if stem(line.word(at)) in nouns and is_content(language, line.word(at)):
        at += 1
    return (index - 1, at - 1, Pick(every=True, count=count), "", 0.7) if _standing(line, language, at) else None


def _free(line: WordSpans, language: FollowUpWords, at: int, bare: bool = False) -> bool:
    """Whether no noun or complement of its own follows, so that the place can only be one of the talk."""
    if not line.is_word(at):
        return line.word(at) not in {"-", "/"}
    word = line.word(at)
    if word in language.links:
        return _points_back(line, language, at + 1)
    if bare and word in language.ordinal_stoppers:
        # "L'ultimo a cosa serve?": the question itself begins here.
        asked = line.word(at + 1)
        return asked in language.sorting_words or asked in language.person_words
    return not bare or not is_content(language, word)


def _standing(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """Whether a group stands without a noun ("all three with…", not "all three laws")."""
    return _free(line, language, at) and not _has_noun(line, language, at)


def _predicate(line: WordSpans, language: FollowUpWords, first: int, at: int) -> bool:
    """Whether the place is the subject of a yes-or-no question ("Are the last two suitable…?")."""
    if line.word(first - 1) in language.links:
        first -= 2  # "Are both of the last two cheap?"
    if first <= 0 or line.word(first - 1) not in language.auxiliaries or not line.is_word(at):
        return False
    word, ends = line.word(at), not line.is_word(at + 1)
    said = word in language.modifiers or language.patterns["past"].fullmatch(word) is not None
    return ends or (said and not _has_noun(line, language, at + 1))


def _has_noun(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    return line.is_word(at) and is_content(language, line.word(at))


def _points_back(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """After "of": the list, your answer, them, these two."""
    while line.word(at) in language.articles:
        at += 1
    word = line.word(at)
    return word in language.list_owners or word in language.group_pronouns or word in language.cardinals


def _run(place: int, count: int | None) -> tuple[int, ...]:
    if count is None or not 1 < count <= _LARGEST:
        return (place,)
    return tuple(range(place, place + count)) if place > 0 else tuple(range(-count, 0))


def _digits(word: str) -> int | None:
    return int(word) if word.isdecimal() and word.isascii() and len(word) <= 2 else None


def _specific(noun: str, language: FollowUpWords) -> str:
    """The noun when it says which list is meant ("exercise"), not when any list would do ("one")."""
    return "" if noun in language.ones else noun


_JOINERS = frozenset(",&+")
_ALPHABET = frozenset("abcdefghijklmnopqrstuvwxyz")


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
        positions = tuple(dict.fromkeys(label_number(label) or 0 for label in named))
        pick = Pick(positions=positions, label=named[0] if len(named) == 1 else "")
        return ReferenceCue.at(line.span(index, ends), line, "ordinal", 0.85 if len(named) > 1 else 0.75, pick=pick)
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
            lone_letter = word in _ALPHABET and word not in language.function_words
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
    return line.is_word(at - 1) and (is_content(language, before) or before not in language.function_words)


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
    return not is_content(language, following)


def _only_requested(line: WordSpans, language: FollowUpWords, first: int, last: int, count: int) -> bool:
    """Whether all other words only ask for them; an unknown first word is taken for the verb before two labels."""
    others = [at for at, token in enumerate(line.tokens) if token.is_word and not first <= at <= last]
    unknown = [
        at for at in others if line.word(at) not in language.requests and line.word(at) not in language.polite_endings
    ]
    return not unknown or (count > 1 and unknown == [0] and first == 1 and is_content(language, line.word(0)))
