"""Pronouns, and questions that leave out what they are about: "Who wrote it?", "E nei bambini?", "Why?".

A pronoun is left alone when the question itself holds what it stands for ("why do cats purr when they are happy?")
or when it stands for nothing ("is it safe to…", "che ne pensi"); the others refer to the conversation. Something is
left out when all the words that carry meaning only make sense *of something* (cause, price, symptom) or there are
none: the something must come from the conversation. The tests are the same in every language.
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from ricordo.followups.reference import ReferenceCue
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import WordSpans, is_content, is_topical

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
        yield ReferenceCue.at(
            line.span(index, last),
            line,
            "pronoun",
            0.8 if noun_at == index else 0.75,
            noun=line.word(noun_at) if noun_at > index and line.word(noun_at) not in language.talk_nouns else "",
            content=line.word(index - 1) if word in language.ones else "",
            plural=word in language.plural_pronouns
            or (word.endswith(("li", "le")) and language.patterns["enclitic"].fullmatch(word) is not None),
            person=word in language.person_pronouns,
            gender=_gender(line, language, index),
        )


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
        acts = line.word(index - 2) in language.do_support  # "did the band split"
        if line.tokens[index].capital or (_described(line, language, index + 1) and not acts):
            continue
        if _answered_within(line, language, index) or any(_names(line, language, at) for at in range(index - 1)):
            continue
        yield ReferenceCue.at(line.span(index - 1, index), line, "pronoun", 0.6, noun=word)


def _described(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """Whether the noun is told apart by what follows ("the city with the most bridges")."""
    word = line.word(at)
    return line.is_word(at) and (
        is_content(language, word) or word in language.prepositions or word in language.clause_words
    )


@lru_cache(maxsize=4096)
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
    if word in language.ones:
        return index if _stands_for_noun(line, language, index) else None
    if word in language.clitics:
        return index if _is_clitic(line, language, index) else None
    return index if language.patterns["enclitic"].fullmatch(word) else None


def _stands_for_noun(line: WordSpans, language: FollowUpWords, index: int) -> bool:
    """ "buy one", "a decent one", "the frozen one"; not "one of", "the one that"."""
    before, following = line.word(index - 1), line.word(index + 1)
    if not line.is_word(index + 1) and before in language.verbs:
        return True
    article = line.word(index - 2)
    told = following in language.relatives or following in language.links or following in language.prepositions
    described = line.is_word(index - 1) and before not in language.function_words and before not in language.ordinals
    others = [at for at in range(len(line.tokens)) if line.is_word(at) and at not in (index - 1, index)]
    named = any(is_topical(language, line.word(at)) for at in others)
    beside = line.word(index - 3)  # "an episode of the funny one", but not "decaf rather than the regular one"
    definite = article in language.articles and beside not in language.comparatives | language.coordinators
    definite = definite and not any(  # "Is the London one the oldest underground?"
        is_topical(language, line.word(at)) and line.word(at) not in language.time_nouns for at in others if at > index
    )
    return described and not told and (definite or (not named and article in language.indefinite))


def _goes_somewhere(line: WordSpans, language: FollowUpWords, index: int) -> bool:
    """ "drive there", "from there"; neither "is there" nor "hello there"."""
    before = line.word(index - 1)
    acts = is_content(language, before) or before in language.verbs
    moves = index >= 2 and acts and before not in language.auxiliaries
    return (moves or before in language.prepositions) and not _content_at(line, language, index + 1)


def _demonstrative(line: WordSpans, language: FollowUpWords, index: int) -> int | None:
    word, following = line.word(index), line.word(index + 1)
    if following in language.time_nouns or following in language.relatives:
        return None
    before = line.word(index - 1)
    told = before in language.auxiliaries and language.patterns["past"].fullmatch(following) is not None
    if _content_at(line, language, index + 1) and not told:  # not "when was that released"
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
    onset, after = language.onset_article.get(word), line.word(index + 2)
    article = word != "li" if onset is None else re.match(onset, following) is not None
    gender, number = language.article_forms.get(word, ("", ""))
    asks = "?" in line.text or not language.question_words.isdisjoint(line.words)  # else it may only tell something
    verbal = {"fs": "oòì", "fp": "oòì", "mp": "oaeòì"}.get(gender + number, "") if asks and onset is None else ""
    article = article and (following[-1:] not in verbal or not verbal or following in language.feminines)
    if following in language.clitic_hosts:
        return not (article and after in language.links and after in language.contracted)  # "gli usi del mirto"
    return not article


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
        governed = article in language.prepositions or line.word(at - 1) in language.prepositions
        if governed or not (apart or article in announced):
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
    if not token.is_word or not is_topical(language, token.word) or token.word.isdecimal():
        return False
    return token.capital or line.word(at + 1) not in language.relational


def _content_at(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    return line.is_word(at) and is_content(language, line.word(at))


_FRAGMENT_WORDS = 6
_CONDITION_WORDS = 9
_QUESTION_WORDS = 9
_HEADLESS_WORDS = 14


@lru_cache(maxsize=64)
def ellipsis(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """The cue that something was left out, if there is one."""
    found = _left_out(line, language)
    subjectless = _without_subject(line, language)
    if found is not None and found.whole:
        return replace(found, zero=subjectless is not None)
    if subjectless is None or (found is not None and found.part and line.word(0) in language.coordinators):
        return found
    return replace(subjectless, confidence=found.confidence if found is not None else subjectless.confidence)


_LONGEST_PREDICATE = 10  # words


def _without_subject(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """ "Su che porta ascolta?", "Ha la fotocamera?": a verb in the third person without its subject."""
    if len(line.words) > _LONGEST_PREDICATE or any(word in language.second_person for word in line.words):
        return None
    spoken = language.patterns["third_person"].fullmatch
    several = language.patterns["plural_verb"].fullmatch
    forms = [
        spoken(t.word) or (line.word(at - 1) in language.verb_markers and several(t.word))
        for at, t in enumerate(line.tokens)
    ]
    verb = next((at for at, t in enumerate(line.tokens) if forms[at] and not (t.capital and at)), None)
    asks = "?" in line.text or any(_asks_with(line, language, at) for at in range(4))
    if verb is None or not asks or not language.person_words.isdisjoint(line.words):
        return None
    word, following, before = line.word(verb), line.word(verb + 1), line.word(verb - 1)
    if before in language.existential:
        return None  # "Ci sono…?"
    if verb == 1 and word in language.copulas and is_topical(language, before):
        return None  # "Siena è vicina?"
    if before in language.verb_markers and not language.sorting_words.isdisjoint(line.words):
        return None  # "Cosa si beve…?"
    nouns = [at for at in range(len(line.tokens)) if at != verb and _bare_noun(line, language, at)]
    named = any(line.tokens[at].capital and at > verb for at in nouns)
    wanted = any(
        _asked_for(line, language, at) and _content_at(line, language, at) for at in range(verb)
    )  # "Quante corde ha…"
    takes = word in language.objects_follow and before not in language.verb_particles - {"non"} and not wanted
    if wanted and word not in language.objects_follow and language.patterns["past_form"].fullmatch(word) is None:
        return None  # "Quali frasi mi servono?"
    if (
        named
        or language.happens & set(line.words)
        or any(not takes if at > verb else not _asked_for(line, language, at) for at in nouns)
    ):
        return None
    tail = [line.word(at) for at in range(verb + 1, len(line.tokens))]
    if word in language.copulas and any(
        language.patterns["infinitive"].fullmatch(w) and tail[at] not in language.prepositions
        for at, w in enumerate(tail[1:])
    ):
        return None  # "È difficile imparare…?"
    if word in language.copulas and not set(tail).isdisjoint(language.relatives):
        return None  # "È vero che…?"
    agrees = following if following not in language.auxiliaries else line.word(verb + 2)
    told = word in language.copulas or word in language.subject_follows
    gender = {"a": "f", "o": "m", "e": "f", "i": "m"}.get(agrees[-1:], "") if told and len(agrees) > 3 else ""
    return replace(_whole(line, 0.6), zero=True, plural=several(word) is not None, gender=gender)


def _asks_with(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """Whether a question word stands here; "ricordati che…" opens a clause with one."""
    word, before = line.word(at), line.word(at - 1)
    opens = word in language.relatives and at > 0 and before not in language.prepositions | language.coordinators
    return word in language.question_words and not opens


def _bare_noun(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """Whether a noun with an article, or a name, stands here without a preposition."""
    token, before = line.tokens[at], line.word(at - 1)
    if not token.is_word or before in language.contracted or before in language.prepositions:
        return False
    if token.capital and at > 0:
        return True
    article = before in language.articles or before in language.indefinite or before in language.owners
    return article and line.word(at - 2) not in language.prepositions


def _asked_for(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    return line.word(at - 1) in language.question_words


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
        return ReferenceCue.at(line.match_span(headless), line, "ellipsis", 0.65)
    plural = language.patterns["plural_of"].match(line.text)
    # "What were the diplomatic objectives?", "Quali sono gli obiettivi diplomatici?": objectives of whom?
    other = plural.group("other").split() if plural is not None and plural.group("head") in language.relational else ()
    if other and all(is_content(language, word) and _lower_case(line, word) for word in other):
        return _whole(line, 0.6)
    if sum(is_topical(language, word) for word in line.words) <= 1 and not _names_someone(line):
        presupposing = language.patterns["presupposing"].search(clause)
        if presupposing is not None:
            return ReferenceCue.at(line.match_span(presupposing), line, "ellipsis", 0.6)
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
    complete = any(word in language.verbs or word in language.auxiliaries for word in words) or _acts(line, language)
    if len(words) > _FRAGMENT_WORDS or complete or _asks_after_subject(words, language):
        return None
    return replace(_whole(line, 0.8), part=_part(line, language, len(words)))


def _asks_after_subject(words: list[str], language: FollowUpWords) -> bool:
    """ "(E) il gatto come sta": the question word follows what is asked about."""
    at = next((at for at, word in enumerate(words) if word in language.question_words - language.relatives), 0)
    return at > 0 and words[at - 1] not in language.prepositions and is_content(language, words[at - 1])


def _part(line: WordSpans, language: FollowUpWords, count: int) -> str:
    """The last `count` words as they are written, without what only introduces or ends them ("too", "invece")."""
    at = [index for index in range(len(line.tokens)) if line.is_word(index)][-count:]
    while at and (line.word(at[-1]) in language.part_fillers):
        at.pop()
    stands = language.demonstrative if len(at) > 2 and line.word(at[-2]) in language.links else frozenset()
    empty = language.part_fillers | language.coordinators | stands  # "quella del Perù"
    while at and line.word(at[0]) in empty:
        at.pop(0)
    if not at or not any(
        is_content(language, line.word(index)) or line.word(index) in language.ordinals for index in at
    ):
        return ""
    start, end = line.span(at[0], at[-1])
    return line.original[start:end]


def _fragment(line: WordSpans, language: FollowUpWords, clause: str) -> bool:
    """A short question without a verb ("In children?", "Nei bambini?", "Malta?")."""
    words = clause.split()
    if not line.text.endswith("?") or len(words) > 5 or any(_completes(word, language) for word in words):
        return False
    if _acts(line, language):
        return False
    governed = language.articles - language.contracted.keys() if language.article_forms else frozenset[str]()
    if any(line.word(at + 1) in governed and _content_at(line, language, at) for at in range(len(line.tokens) - 2)):
        return False  # "l'acido rovina il silicone"
    if words[0] in language.prepositions or words[0] in language.part_openers:
        return True
    named = [word for word in words if is_content(language, word) or word in language.ordinals]
    waits = all(word in language.relational for word in named)
    return (
        bool(named)
        and len(named) <= 3
        and (not waits or len(words) == 1)
        and language.clause_words.isdisjoint(words[:-1])
    )


def _acts(line: WordSpans, language: FollowUpWords) -> bool:
    """Whether a word that no table knows is a verb by its form: "gli operai finirono", "l'apparecchio consuma"."""
    if not language.article_forms or not language.question_words.isdisjoint(line.words):
        return False
    for at, token in enumerate(line.tokens):
        if not token.is_word or (token.capital and at) or not is_content(language, token.word):
            continue
        before = line.word(at - 1)
        noun = before in language.determiners or before in language.demonstrative or before in language.prepositions
        spoken = language.patterns["third_person"].fullmatch(token.word) is not None
        if not noun and (spoken or before in language.verb_markers or _disagrees(line, language, at)):
            return True
    return False


def _disagrees(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """Whether a word after an article and a noun cannot be its adjective: "il secondo ferma"."""
    article, word = line.word(at - 2), line.word(at)
    told = article if article in language.demonstrative else line.word(at - 1)  # "quello marrone puzza"
    gender, number = language.article_forms.get(article, ({"o": "m", "a": "f"}.get(told[-1:], ""), "s"))
    named = article in language.articles | language.indefinite | language.demonstrative and gender != ""
    endings = {"ms": "oe", "fs": "ae", "mp": "i", "fp": "ei"}.get(gender + number, "aeio")
    return named and word[-1] in "aeio" and word[-1] not in endings and word not in language.modifiers


def _completes(word: str, language: FollowUpWords) -> bool:
    """Whether a word belongs to a question that is complete: a verb, a question word, "you"."""
    return (
        word in language.verbs
        or word in language.auxiliaries
        or word in language.question_words
        or word in language.second_person
    )


def _waits_for_topic(line: WordSpans, language: FollowUpWords) -> bool:
    """Whether nothing in the question names a topic, and something in it asks for one."""
    words = line.words
    if len(words) > _QUESTION_WORDS or any(word in language.second_person for word in words):
        return False
    timeless = [word for word in words if not (word.isdecimal() and len(word) == 4) and word not in language.time_names]
    if any(is_topical(language, word) for word in timeless):  # "What happened in 1991?" still waits
        return False
    if _names_someone(line) or complement(line, language):
        return False
    relational = [i for i, token in enumerate(line.tokens) if token.word in language.relational]
    if not relational:
        return line.text.endswith("?") and any(word in language.verbs for word in words) and len(words) >= 2
    if any(_is_complement(line, language, i) for i in relational[1:]):
        return False
    # "What is a symptom?" asks for a definition and is complete.
    return not any(line.word(i - 1) in language.indefinite for i in relational)


def complement(line: WordSpans, language: FollowUpWords) -> str:
    """What a noun that waits is told to be of ("the stages of sleep", "which stages does sleep have"), if it is."""
    for at in range(2, len(line.tokens)):
        word, before = line.word(at), line.word(at - 1)
        compound = not language.article_forms and line.word(at + 1) in language.relational  # "climate change"
        joined = at - 2 if before in language.articles and before not in language.links else at - 1
        half = word in language.relational and word not in language.general_nouns and not compound
        half = half or word in language.modifiers or word in language.articles
        aids = word in language.auxiliaries or word in language.question_words
        if half or aids or not line.is_word(at) or line.word(joined - 1) not in language.relational:
            continue
        content = word not in language.function_words
        noun = (
            word not in language.verbs
            or before in language.articles
            or not language.verbs.isdisjoint(line.words[at + 1 :])
        )
        asked = line.word(joined) in language.auxiliaries and content and noun
        if asked or (line.word(joined) in language.links and (content or before in language.contracted)):
            return word
    return ""


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


def _names_someone(line: WordSpans) -> bool:
    return any(token.capital and len(token.word) > 1 for token in line.tokens[1:])


def _lower_case(line: WordSpans, word: str) -> bool:
    return any(token.word == word and not token.capital for token in line.tokens)


def _whole(line: WordSpans, confidence: float) -> ReferenceCue:
    words = [i for i, token in enumerate(line.tokens) if token.is_word]
    return ReferenceCue.at(line.span(words[0], words[-1]), line, "ellipsis", confidence)
