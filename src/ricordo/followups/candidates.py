"""Candidates for a reference: items of lists, past answers, and phrases of the conversation.

For a position, lists of past answers are tried from the newest backwards; the first turn with a list that is long
enough decides, and a noun ("the second exercise") prefers lists about it. For pronouns and ellipsis the focus of the
conversation is a fold over the past turns: each question opens a topic or continues the one before, answers name
people that were asked for. Candidates that fit equally well are an ambiguity.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import compress, pairwise
from operator import not_

from ricordo.followups.anaphora import complement
from ricordo.followups.items import derive_items, enumeration, headline, lists_of, prose_item
from ricordo.followups.phrases import Phrase, content_words, name_in, phrases
from ricordo.followups.reference import (
    LONGEST_FOLLOW_UP,
    MOST_CANDIDATES,
    Candidate,
    Item,
    Origin,
    PastTurn,
    Pick,
    ReferenceCue,
    Talk,
)
from ricordo.followups.rewrite import alternatives, asked_sentence
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import AnyLanguage, Words, all_values, all_words
from ricordo.languages.text import WordSpans, is_content, language_of, sentences, split_words, stem, stems, words_in

_HEAD_CHARACTERS = 60
_OPENING_CHARACTERS = 300
# Turns: a position refers to a list that the user has just seen.
RECENT_TURNS = 12
_CACHED = 2_048  # messages
_PROSE_TURNS = 2  # an enumeration in prose is soon forgotten
LONG_ANSWER = 250  # characters of one that names what it is about, so that nothing older is meant


@dataclass(frozen=True, slots=True)
class ListChoice:
    """Items of one list of one turn that a reference may mean; `listed` is the whole list."""

    turn: PastTurn
    items: tuple[Item, ...]
    listed: tuple[Item, ...]


def items_of(turn: PastTurn) -> tuple[Item, ...]:
    """The items of a past answer, derived unless the turn has them."""
    return turn.items if turn.items is not None else derive_items(turn.response, turn.chunk_ids)


def with_items(turn: PastTurn) -> PastTurn:
    """The same turn with its items derived, so that they are derived once."""
    return turn if turn.items is not None else replace(turn, items=items_of(turn))


def list_nouns(history: Sequence[PastTurn], language: FollowUpWords) -> Words:
    """Stems of the nouns that recent lists are about."""
    found: set[str] = set()
    for turn in history[-RECENT_TURNS:]:
        items = items_of(turn)
        if items:
            found |= _about(turn, items, language)
    return frozenset(found)


def list_labels(history: Sequence[PastTurn]) -> Words:
    """Labels and positions of the items of the newest list."""
    newest = next((turn for turn in reversed(history[-RECENT_TURNS:]) if len(items_of(turn)) > 1), None)
    items = items_of(newest) if newest is not None else ()
    return frozenset(name for item in items for name in (item.label, str(item.position)) if name)


def choices(
    pick: Pick, noun: str, history: Sequence[PastTurn], language: FollowUpWords, *, prose: bool = True
) -> tuple[ListChoice, ...]:
    """The choices that fit a position: none, one, or several when it is ambiguous; `prose` reads enumerations too."""
    # Try lists about the noun first; only a general noun ("point") falls back to the newest list.
    passes = (True, False) if noun in language.list_nouns else (bool(noun),)
    told = history[-1:] if history and len(history[-1].response) >= LONG_ANSWER else history[-_PROSE_TURNS:]
    for about_noun in passes:
        for turn in reversed(history[-RECENT_TURNS:]):
            prosaic = prose and turn in told
            prosaic_lists = _prose_lists(turn.response, language, last=turn is history[-1]) if prosaic else ()
            for items in (items_of(turn), *prosaic_lists):
                if not items or (about_noun and stem(noun) not in _about(turn, items, language)):
                    continue
                fitting = tuple(_fitting(turn, items, pick))
                if fitting:
                    return _preferred(fitting, pick)
    return ()


def _prose_lists(answer: str, language: FollowUpWords, *, last: bool) -> tuple[tuple[Item, ...], ...]:
    """A series in prose, and what the last answer tells of one after the other, the likelier list first."""
    series, told = enumeration(answer, language), told_apart(answer, language) if last else ()
    if len(told) < 2 or not series:
        return told, series
    mixed = len({item.text[0].isupper() for item in series[1:]}) > 1
    shared = any(one.start <= each.start < one.end for one in series for each in told)
    likelier = told[0].start < series[0].start if shared and len(series) < _ANNOUNCED else len(told) > len(series)
    return (told, series) if mixed or likelier else (series, told)


@lru_cache(maxsize=256)
def told_apart(answer: str, language: FollowUpWords) -> tuple[Item, ...]:
    """What an answer tells of one after the other: "Gin rummy is quick, cribbage has a board, and bezique is older"."""
    line = split_words(answer[:_READ_PROSE])
    found: dict[str, tuple[int, int]] = {}
    named = {phrase.start: phrase for phrase in phrases(line, language) if phrase.topical}
    for first, last, mark in _segments(line, language):
        phrase = _told_first(line, language, first, last, mark, named)
        if phrase is not None:
            ends = line.token_at_offset(phrase.end - 1)
            found.setdefault(stem(phrase.words[-1]), (line.token_at_offset(phrase.start), ends))
    return tuple(prose_item(line, place, *span) for place, span in enumerate(found.values(), start=1))


_READ_PROSE = 1_500  # characters
_ANNOUNCED = 4  # members from which on a series is what the answer lists
_SENTENCE_ENDS = frozenset(".!?;\n")


def _segments(line: WordSpans, language: FollowUpWords) -> Iterator[tuple[int, int, str]]:
    """The stretches between marks and words that join, each with what stands before it: "", "," or the word.

    In a sentence that offers a choice, a comma stands for the word that offers it.
    """
    ends = [
        at for at in range(len(line.tokens)) if line.word(at) in _SENTENCE_ENDS and not line.word(at + 1).isdecimal()
    ]
    for begin, end in pairwise((-1, *ends, len(line.tokens))):
        said = [line.word(at) for at in range(begin + 1, end)]
        offers = next((word for word in said if word in language.choice_words), "")
        first, mark = begin + 1, ""
        for at in range(begin + 1, end + 1):
            word = line.word(at) if at < end else ""
            joins = word in language.coordinators or word in language.choice_words
            if at < end and not joins and word != ",":
                continue
            if first < at:
                yield first, at, mark
            comma = word == "," or line.word(at - 1) == ","
            mark = offers or "," if comma else word
            first = at + 1


def _told_first(
    line: WordSpans, language: FollowUpWords, first: int, last: int, mark: str, named: Mapping[int, Phrase]
) -> Phrase | None:
    """What a stretch of an answer opens with, if it tells something of it, or puts it forward as a choice."""
    opening, choice = line.word(first), mark in language.choice_words
    objects = language.articles | language.indefinite | language.links
    if opening in language.relatives or opening in language.clause_words or opening in language.auxiliaries:
        return None
    for phrase in (named[token.start] for token in line.tokens[first:last] if token.start in named):
        at, end = line.token_at_offset(phrase.start), line.token_at_offset(phrase.end - 1)
        before = [line.word(k) for k in range(first, at) if line.word(k) not in language.choice_words]
        after = line.word(end + 1) if end + 1 < last else ""
        orders = not before and at == end and not mark and line.word(end + 1) in objects
        times = any(word in language.time_names or word in language.time_nouns for word in phrase.words)
        if orders or times or language.is_number(phrase.words[0]):
            continue  # "Try the rowing machine", "In summer…"
        acts = after in language.verbs or after in language.auxiliaries
        bare = all(word in language.articles or word in language.indefinite for word in before)
        if mark and not choice and not (bare and (acts or line.tokens[at].capital or before)):
            return None
        if mark in language.coordinators and not choice and after in language.prepositions:
            return None  # "…and the risk with the dealer"
        there = not mark and bool(before) and before[0] in language.existential  # "There is the night train, and…"
        leads = there or (not mark and any(_says(word, language) for word in before))
        aided = not there and any(word in language.auxiliaries or word in language.copulas for word in before)
        if not choice and (aided or not (bare or leads)):
            return None
        name = name_in(phrase.text) if len(phrase.words) > 2 and line.tokens[at].capital else ""
        if name and name != phrase.text and phrase.text.startswith(name):  # "Matera merita due giorni"
            return phrase._replace(text=name, end=phrase.start + len(name), words=split_words(name).words)
        return phrase if choice or leads or (end + 1 < last and line.is_word(end + 1)) else None
    return None


def _says(word: str, language: FollowUpWords) -> bool:
    return word in language.verbs or word in language.prepositions or is_content(language, word)


def next_choice(choice: ListChoice, step: int) -> ListChoice | None:
    """The item `step` places after the last one referred to; None beyond the ends of its list."""
    place = choice.listed.index(choice.items[-1]) + step
    if not 0 <= place < len(choice.listed):
        return None
    return ListChoice(choice.turn, (choice.listed[place],), choice.listed)


def _fitting(turn: PastTurn, items: Sequence[Item], pick: Pick) -> Iterator[ListChoice]:
    for listed in lists_of(items):
        chosen = _chosen(listed, pick)
        if chosen:
            yield ListChoice(turn, chosen, listed)


def _chosen(listed: Sequence[Item], pick: Pick) -> tuple[Item, ...]:
    if pick.every:
        return tuple(listed) if len(listed) >= 2 and pick.count in (0, len(listed)) else ()
    if pick.rest:
        known = {place - 1 if place > 0 else len(listed) + place for place in pick.positions}
        others = tuple(item for at, item in enumerate(listed) if at not in known)
        return others if known and len(others) < len(listed) and pick.count in (0, len(others)) else ()
    if pick.label:
        labelled = [item for item in listed if item.label == pick.label]
        if labelled:
            return (labelled[0],)
    middle = len(listed) // 2 if len(listed) % 2 else len(listed)
    places = [(place - 1 if place > 0 else len(listed) + place) if place else middle for place in pick.positions]
    if not places or len(listed) < 2 or not all(0 <= place < len(listed) for place in places):
        return ()
    return tuple(listed[place] for place in places)


def _preferred(fitting: tuple[ListChoice, ...], pick: Pick) -> tuple[ListChoice, ...]:
    """Prefer a printed label, then the outermost list; the rest stays ambiguous."""
    if len(fitting) == 1:
        return fitting
    if pick.label:
        labelled = tuple(choice for choice in fitting if choice.items[0].label == pick.label)
        fitting = labelled or fitting
    outermost = min(choice.listed[0].level for choice in fitting)
    return tuple(choice for choice in fitting if choice.listed[0].level == outermost)


def _about(turn: PastTurn, items: Sequence[Item], language: FollowUpWords) -> Words:
    """Stems of what a list is about: its question, what stands before it, and how its items begin."""
    heads = " ".join(item.text[:_HEAD_CHARACTERS].split("\n", 1)[0] for item in items[:20])
    text = " ".join((turn.query[:_OPENING_CHARACTERS], turn.response[: items[0].start][:_OPENING_CHARACTERS], heads))
    return _about_words(text, language)


@lru_cache(maxsize=_CACHED)
def _about_words(text: str, language: FollowUpWords) -> Words:
    return stems(word for word in words_in(text) if is_content(language, word) or word in language.list_nouns)


# Only the beginning of a longer answer is searched.
_READ_CHARACTERS = 20_000


def find_in(content: str, history: Sequence[PastTurn], language: FollowUpWords) -> tuple[PastTurn, ...]:
    """The turns that share words with `content`, best first; empty when none does."""
    wanted = {stem(word) for word in content_words(split_words(content), language)}
    said = [
        _stems(turn.query[:_READ_CHARACTERS], language)
        | _stems(turn.response[: max(0, _READ_CHARACTERS - len(turn.query) - 1)], language)
        for turn in (history if wanted else ())
    ]
    weights = {
        word: math.log(1 + len(said) / hits) for word in sorted(wanted) if (hits := sum(word in s for s in said))
    }
    scored = [
        (sum(weights[word] for word in sorted(wanted & words)), at) for at, words in enumerate(said) if wanted & words
    ]
    return tuple(history[at] for _, at in sorted(scored, reverse=True))


def best_item(content: str, turn: PastTurn, language: FollowUpWords) -> Item | None:
    """The item of an answer that holds most of the words, if one holds more than the prose around the items."""
    wanted = {stem(word) for word in content_words(split_words(content), language)}
    items = items_of(turn)
    if not wanted or not items:
        return None
    best = max(items, key=lambda item: (len(wanted & _stems(item.text, language)), item.level))
    found = len(wanted & _stems(best.text, language))
    around = len(wanted & _stems(turn.response[: items[0].start][:_READ_CHARACTERS], language))
    return best if found and found >= around else None


@lru_cache(maxsize=256)
def _stems(text: str, language: FollowUpWords) -> Words:
    return stems(word for word in words_in(text) if len(word) > 1 and is_content(language, word))


def named_choice(query: str, history: Sequence[PastTurn], language: FollowUpWords) -> ListChoice | None:
    """The one item of the newest list that a question called by its whole name ("Con cosa abbino il Barolo?")."""
    said = stems(content_words(split_words(query), language))
    turn = _newest_list(history)
    for listed in lists_of(items_of(turn)) if turn is not None else ():
        names = [stems(content_words(split_words(headline(item.text)), language)) for item in listed]
        named = tuple(item for item, name in zip(listed, names, strict=True) if name and name <= said)
        if turn is not None and len(named) == 1 and len(listed) > 1:
            return ListChoice(turn, named, listed)
    return None


def described_items(content: str, history: Sequence[PastTurn], language: FollowUpWords) -> ListChoice | None:
    """The items of the newest list that hold all the words of a description; None when no item does."""
    wanted = stems(content_words(split_words(content), language))
    turn = _newest_list(history)
    if turn is None or not wanted:
        return None
    for listed in lists_of(items_of(turn)):
        holding = tuple(i for i in listed if wanted <= stems(content_words(split_words(i.text), language)))
        if holding:
            return ListChoice(turn, holding, listed)
    return None


def _newest_list(history: Sequence[PastTurn]) -> PastTurn | None:
    return next((turn for turn in reversed(history[-RECENT_TURNS:]) if items_of(turn)), None)


Refers = Callable[[WordSpans, FollowUpWords], bool]
_RECENT = 12
_LONGEST_TITLE = 8  # words
_ASIDE = re.compile(r"\s*\([^()]*\)")
_OWN_NAME = AnyLanguage(r"\b(?:<dialogue.own_name>)(?: \w{1,2})? ?$", flags=0)  # "my name is …"
_COMMENT = 8  # words
_FRAGMENT = 5  # words of a question that only names another thing ("No, I mean HIIT")


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
    titled: bool = False  # The first message was nothing but a name.

    @property
    def answers_who(self) -> bool:
        """Whether the last answer named the person that was asked for."""
        return (
            self.person is not None and self.person.origin == "answer" and self.person.turn_number == self.turn_number
        )

    @property
    def recalls_person(self) -> bool:
        """Whether the person is still spoken of: one whom an answer named is, until the next question."""
        named = self.opening is not None and self.opening.phrase.proper
        return (
            self.person is None
            or self.person.origin == "question"
            or self.person.turn_number == self.turn_number
            or not named
        )

    @property
    def lasting(self) -> Mention | None:
        """What the talk opened with, unless it was a nameless topic that the very next question replaced."""
        if self.opening is None or not self.centre:
            return self.opening
        passing = self.centre[0].turn_number - self.opening.turn_number == 1
        return None if passing and not self.opening.phrase.proper else self.opening


def follow(history: Sequence[PastTurn], language: FollowUpWords, refers: Refers) -> Focus:
    """The focus after the last of the past turns; `refers` tells whether a question refers back."""
    return _folded(tuple((t.turn_number, t.query, t.response) for t in history[-_RECENT:]), language, refers)


@lru_cache(maxsize=_CACHED)  # the next question has the same turns before it, and one more
def _folded(turns: tuple[tuple[int, str, str], ...], language: FollowUpWords, refers: Refers) -> Focus:
    if not turns:
        return Focus()
    turn, focus = PastTurn(*turns[-1]), _folded(turns[:-1], language, refers)
    spoken = language_of(turn.query[:LONGEST_FOLLOW_UP], default=language)
    return _after_answer(_after_question(focus, turn, spoken, refers), turn, spoken, refers)


@dataclass(frozen=True, slots=True)
class _Asked:
    """What one question says by itself: topics (names first), what it asks, whether it refers back, who it asks for."""

    topical: tuple[Phrase, ...]
    asked: tuple[Phrase, ...]
    refers: bool
    introduces: bool
    asks_who: bool
    fragment: bool


# Cached, because the same turns are read for every question of a conversation.
@lru_cache(maxsize=_CACHED)
def _asked(query: str, language: FollowUpWords, refers: Refers) -> _Asked:
    line = split_words(query)
    # What introduces a topic ("let's talk about") is no part of it.
    introduction = language.patterns["introduction"].match(line.text)
    begins = line.match_span(introduction)[1] if introduction is not None else 0
    found = [p for p in phrases(line, language) if p.end > begins and not _OWN_NAME.search(line.text[: p.start])]
    topical = sorted((phrase for phrase in found if phrase.topical), key=lambda phrase: not phrase.proper)
    asked = tuple(phrase for phrase in found if not phrase.topical)
    of = complement(line, language) if not topical else ""
    for token in [token for token in line.tokens if token.word == of][-1:]:  # "the stages of sleep"
        text = line.original[token.start : token.end]
        topical = [
            Phrase(text, (of,), token.start, token.end, topical=True, proper=False, definite=False, plural=False)
        ]
    asks_who = not language.person_words.isdisjoint(line.words)
    fragment = len(line.words) <= _FRAGMENT and not any(
        word in language.pointing_words or word in language.auxiliaries or word in language.verbs for word in line.words
    )
    refers_back = bool(line.words) and refers(line, language)
    return _Asked(tuple(topical), asked, refers_back, introduction is not None, asks_who, fragment)


@lru_cache(maxsize=_CACHED)
def _without_comments(query: str, language: FollowUpWords) -> str:
    """A message without its sentences that only comment on the answer before a question: "That makes sense!"."""
    said = [query[start:end] for start, end in sentences(query, chat=True)]
    idle = language.demonstrative | language.personal | all_words("topics.polite_words")
    comments = [
        not each.endswith("?") and len(words := words_in(each)) <= _COMMENT and not idle.isdisjoint(words)
        for each in said
    ]
    return " ".join(compress(said, map(not_, comments))) if not all(comments) else query


def _title(query: str, language: FollowUpWords) -> Phrase | None:
    """A message that is nothing but a name ("Bullet for My Valentine"), as one phrase."""
    text = _ASIDE.sub("", query).strip()
    line = split_words(text)
    small = [token for token in line.tokens if token.is_word and not token.capital]
    named = bool(line.words) and line.tokens[0].capital and len(line.words) <= _LONGEST_TITLE
    if not named or text[-1] in "?!.:" or any(is_content(language, token.word) for token in small):
        return None
    return Phrase(text, line.words, 0, len(text), topical=True, proper=True, definite=False, plural=False)


@lru_cache(maxsize=_CACHED)
def _names(response: str, language: FollowUpWords) -> tuple[Phrase, ...]:
    if response[1:].islower():  # nothing after the first word has a capital
        return ()
    line = split_words(response)
    return tuple(phrase for phrase in phrases(line, language) if phrase.proper)


def _after_question(focus: Focus, turn: PastTurn, language: FollowUpWords, refers: Refers) -> Focus:
    query = turn.query[:LONGEST_FOLLOW_UP]
    said = _asked(_without_comments(query, language) if focus.turn_number else query, language, refers)
    title = _title(turn.query[:LONGEST_FOLLOW_UP], language) if not focus.turn_number else None
    topical = [Mention(p, turn.turn_number, "question") for p in ((title,) if title is not None else said.topical)]
    if not topical:
        centre = focus.centre
    elif not focus.centre or (not said.refers and _opens_topic(topical, said.introduces, language)):
        centre = tuple(topical)
    elif said.fragment:
        centre = (*topical, *focus.centre[:1])
    else:
        centre = (*focus.centre[:1], *topical)
    person = focus.person if said.refers else next(filter(_may_be_person, topical), focus.person)
    return Focus(
        centre=centre,
        asked=tuple(Mention(phrase, turn.turn_number, "question") for phrase in said.asked),
        person=person,
        opening=focus.opening or (topical[0] if topical else None),
        seen=(*focus.seen, *topical),
        turn_number=turn.turn_number,
        titled=focus.titled or title is not None,
    )


def _may_be_person(mention: Mention) -> bool:
    return mention.phrase.proper and not is_day(mention.phrase.words)


def is_day(words: Iterable[str]) -> bool:
    """Whether words only name a weekday or a month ("Friday"): no person is called so."""
    own = set(words)
    return any(all_values(f"calendar.{days}").keys() >= own for days in ("weekdays", "months"))


def _opens_topic(topical: Sequence[Mention], introduced: bool, language: FollowUpWords) -> bool:
    """Whether a question brings its own topic: it introduces one, or names it other than by "the …".

    Where general nouns take the article too ("la metformina") the article tells nothing.
    """
    generic = bool(language.article_forms)
    return introduced or generic or any(mention.phrase.proper or not mention.phrase.definite for mention in topical)


def _after_answer(focus: Focus, turn: PastTurn, language: FollowUpWords, refers: Refers) -> Focus:
    """A question that asks who makes the name in its answer the person in question."""
    found = _names(turn.response[:LONGEST_FOLLOW_UP], language)
    asks_who = _asked(turn.query[:LONGEST_FOLLOW_UP], language, refers).asks_who
    if asks_who and name_in(turn.response[:1]):
        # "Who painted it?" "Michelangelo, …": the answer opens with the name.
        opening = next(
            (p for p in phrases(split_words(turn.response[:LONGEST_FOLLOW_UP]), language) if not p.start), None
        )
        found = (opening, *found) if opening is not None and opening not in found else found
    if not found:
        return focus
    known = {word for mention in focus.seen for word in mention.phrase.words}
    new = [Mention(phrase, turn.turn_number, "answer") for phrase in found if known.isdisjoint(phrase.words)]
    named = new and (len(new[0].phrase.words) > 1 or not new[0].phrase.start)
    person = new[0] if asks_who and named else focus.person
    return replace(focus, person=person, seen=(*focus.seen, *new[:5]))


def antecedents(references: Sequence[ReferenceCue], focus: Focus, language: FollowUpWords) -> list[Mention]:
    """The phrases that pronouns and ellipses stand for, the most likely first."""
    found: list[Mention] = []
    for reference in references:
        if reference.person and focus.person is not None:
            found.append(focus.person if focus.recalls_person else focus.opening or focus.person)
        elif reference.noun:
            noun = stem(reference.noun)
            same = next(((m,) for m in reversed(focus.seen) if noun in m.phrase.stems), focus.centre[:1])
            found.extend(same)
        elif not reference.plural or not focus.centre or focus.lasting is None or focus.centre[0].phrase.several:
            named = _of_number(reference, focus.centre)
            found.extend(named if not focus.titled or any(each.phrase.proper for each in named) else ())
    # A later topic still belongs to what the conversation opened with.
    single = all(reference.kind == "pronoun" and not reference.plural for reference in references)
    if focus.lasting is not None and (focus.lasting.phrase.proper or not single):
        found.append(focus.lasting)
    of_person = any(reference.person for reference in references)
    return [each for each in dict.fromkeys(found) if not (of_person and is_day(each.phrase.words))]


def full_name(name: str, focus: Focus) -> str:
    """The fullest form of a name in the talk: "Ben Hecht" for "Hecht"."""
    own = stems(split_words(name).words)
    names = [name_in(each.phrase.text) for each in focus.seen if each.phrase.proper and own < each.phrase.stems]
    return next((each for each in names if own < stems(split_words(each).words)), name)


def _of_number(reference: ReferenceCue, centre: Sequence[Mention]) -> Sequence[Mention]:
    """The topic, or what was named beside it where "it" cannot stand for the topic ("workout routines")."""
    one = reference.kind == "pronoun" and not reference.plural and not reference.gender
    return [m for m in centre if not (m.phrase.plural and not m.phrase.proper)][:1] if one else centre[:1]


def competing(reference: ReferenceCue, talk: Talk) -> tuple[Candidate, ...]:
    """Two things named side by side that a singular reference may mean."""
    waits = reference.kind == "ellipsis" and reference.zero
    if (reference.kind != "pronoun" and not waits and not reference.about) or reference.plural or not talk.history:
        return ()
    last = talk.history[-1]
    if reference.noun:
        return _competing_items(reference.noun, last, talk)
    own = _own_people(last.query, reference, talk) if reference.person else ()
    if len(own) > 1:
        return tuple(Candidate(each, last.turn_number) for each in own)
    sides = alternatives(split_words(last.query), talk.language) if not reference.person else ()
    paired = [item.text for item in enumeration(asked_sentence(last.query), talk.language)]
    names = [text for text in paired if text[:1].isupper()]
    paired = names if len(names) > 1 else paired
    if not sides and not paired and reference.person:
        paired = [item.text for item in enumeration(last.response, talk.language)]
    named = sides or (paired if len(paired) == 2 else ())
    return tuple(Candidate(side, last.turn_number) for side in named)


def _own_people(query: str, reference: ReferenceCue, talk: Talk) -> tuple[str, ...]:
    """The people of the speaker that a question names ("my aunt and my niece") and that the pronoun may mean."""
    line, language = split_words(query), talk.language
    at = [k for k in range(len(line.tokens) - 1) if line.word(k) in language.own_people and line.is_word(k + 1)]
    genders = language.person_genders
    gender = reference.gender or genders.get(reference.text.lower(), "")
    fits = [k for k in at if not gender or genders.get(line.word(k), gender) == gender]
    named = {line.word(k + 1): " ".join((line.word(k), line.word(k + 1))) for k in fits}
    return tuple(named.values()) if named.keys().isdisjoint(split_words(talk.question).words) else ()


def _competing_items(noun: str, last: PastTurn, talk: Talk) -> tuple[Candidate, ...]:
    """ "That exercise" after a list of exercises: one of them, but which?"""
    if stem(noun) not in list_nouns((last,), talk.language):
        return ()
    top = [item for item in items_of(last) if item.level == 0]
    if not 2 <= len(top) <= MOST_CANDIDATES or stem(noun) not in {stem(w) for w in split_words(last.query).words}:
        return ()
    return tuple(candidate_of(last, item) for item in top)


def candidate_of(turn: PastTurn, item: Item) -> Candidate:
    return Candidate(headline(item.text), turn.turn_number, item)
