"""Resolving a question: its cues are bound to past turns; candidates if ambiguous, and a standalone question.

Pure: the turns come in as records, a search over all answers as a function, a model as a `Rewriter`. The same inputs
give the same resolution; no text raises an error.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from ricordo.followups.anaphora import complement, ellipsis
from ricordo.followups.antecedents import (
    ACTS,
    ACTS_LATE,
    ACTS_ON_CUE,
    ASKS,
    SHORT_TALK,
    namesakes,
    needed,
    scored,
    shipped_scorer,
    told_side_by_side,
    two_sides,
)
from ricordo.followups.candidates import (
    LONG_ANSWER,
    RECENT_TURNS,
    ListChoice,
    Mention,
    antecedents,
    best_item,
    candidate_of,
    choices,
    competing,
    described_items,
    find_in,
    follow,
    full_name,
    is_day,
    items_of,
    list_labels,
    list_nouns,
    named_choice,
    next_choice,
    with_items,
)
from ricordo.followups.items import headline
from ricordo.followups.parse import (
    FORGET_LAST,
    LONGEST_ABOUT,
    asks,
    asks_of_speaker,
    misspelt,
    parse,
    refers_back,
    small_talk,
    words_of,
)
from ricordo.followups.phrases import clause_saying, content_words, has_meaning, in_answer, name_in, phrases
from ricordo.followups.reference import (
    LONGEST_FOLLOW_UP,
    MOST_CANDIDATES,
    Addition,
    Candidate,
    FindAnswer,
    PastTurn,
    Pick,
    ReferenceCue,
    Resolution,
    Resolved,
    Talk,
)
from ricordo.followups.rewrite import (
    FITS,
    FITS_OLDER,
    FITS_SENSE,
    LONGEST_FRAME,
    Rewriter,
    alternatives,
    asked_sentence,
    bracketed,
    explains,
    fit_additions,
    frame_words,
    traced,
    trusted_rewrite,
    with_part,
    write_standalone,
)
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import fold, is_topical, language_of, root, split_words, stems, words_in

_DISTANT = 0.9  # Factor per turn: an older list is less likely to be meant.
_MOST_ITEMS = 9
_GENERAL = 0.6  # confidence of "the exam" as opposed to "that exam"
_READ = 1_500  # characters of the last answer
_ADVICE = 60  # characters of an answer to a remark that can itself be asked about
_LONGEST_INCOMPLETE = 16  # words of a question that may leave something out without a cue
_SAYS = 0.45  # the least share of a description that the clause which is meant says
_RAREST = 0.2  # what it counts that a turn shares the rarest words
_TELLS = 0.6  # the same where nothing but the description says that something is meant
_FRAMES = 3  # questions back whose frame may be taken over


@dataclass(frozen=True, slots=True)
class _Bound:
    resolved: tuple[Resolved, ...] = ()
    candidates: tuple[Candidate, ...] = ()
    offered: tuple[Addition, ...] = ()
    standalone: str = ""


def resolve(
    question: str,
    history: Sequence[PastTurn],
    *,
    find_answer: FindAnswer | None = None,
    rewriter: Rewriter | None = None,
    trained: bool = True,
) -> Resolution:
    """Bind the references of a question to the past turns (oldest first) and write it so that it stands alone.

    `trained` lets the scorer choose where no strong cue decides; without it the rules do.
    """
    history = (*history[:-RECENT_TURNS], *map(with_items, history[-RECENT_TURNS:]))
    last_query = history[-1].query if history else ""
    language = language_of(question, default=language_of(last_query) if last_query else None)
    if history and _is_small_talk(question, history[-1]):
        return Resolution(question, language.code, (), (), (), question, (), "rules")
    talk = Talk(history, language, find_answer, question, mended_words(question, history, language))
    references = (
        parse(
            question,
            nouns=list_nouns(history, language),
            labels=list_labels(history),
            said=_said(history[-1].response, language)
            if len(split_words(question).words) <= LONGEST_ABOUT and len(history[-1].response) < LONG_ANSWER
            else frozenset(),
            language=language,
            line=words_of(talk),
        )
        if history
        else ()
    )
    brief = trained and bool(history) and len(question) <= LONGEST_FOLLOW_UP
    stands_alone = not references and not talk.mended and not (brief and _incomplete(talk))  # nearly every long one
    if stands_alone or (history and (not references or references[0].about) and _names_topic(talk)):
        title = _title(talk, ()) if brief else ()
        named = bracketed(question, [each.text for each in title]) if title else question
        return Resolution(question, language.code, _whole_question(question, title), (), (), named, title, "rules")
    if references and references[0].noun and references[0].noun == complement(words_of(talk), language):
        said = (word for turn in history for word in words_in(f"{turn.query} {turn.response[:_READ]}"))
        general = not _overt(references[0]) and root(references[0].noun) not in map(root, said)
        references = () if general else references  # "the risks of the war"
    bound = _bind(references, talk)
    if references and references[0].kind == "ordinal" and not bound.resolved and not bound.candidates:
        left_out = ellipsis(words_of(talk), language)  # "and for the fourth?" without a list replaces the third
        if left_out is not None and left_out.part:
            references, bound = (left_out,), _bind((left_out,), talk)
    if not bound.resolved and not bound.candidates and references and references[0].must_match:
        references = ()  # No answer said it: "You said hello to my dog" is not about an answer.
    remark = history and not asks(last_query[:LONGEST_FOLLOW_UP], language_of(last_query, default=language))
    idle = history and len(history[-1].response) < _ADVICE and (remark or history[-1].told)
    if idle and not any(_overt(each) or (each.zero and not remark) for each in references):
        references, bound = (), _bind((), talk)  # after a greeting or a remark nothing is left out
    elif brief and (references or _incomplete(talk)):
        references, bound = _completed(references, bound, talk)
    if _names_one(question, bound.candidates):
        references, bound = (), _Bound()
    offered = traced(bound.standalone, question, history) if bound.standalone else bound.offered
    if talk.mended and not bound.candidates and not bound.standalone:
        references = references or tuple(_misspelt_cues(talk))
        offered = (*(Addition(word, history[-1].turn_number, "answer") for word in talk.mended.values()), *offered)
    if references and references[0].person and offered and name_in(offered[0].text):
        name = full_name(name_in(offered[0].text), follow(history, language, refers_back))
        offered = (replace(offered[0], text=name, article=""), *offered[1:])
    if brief and not bound.candidates and not bound.standalone:
        title = _title(talk, fit_additions(question, offered))
        references, offered = references or _whole_question(question, title), (*offered, *title)
    additions = fit_additions(question, offered) if offered else ()
    # After a list "it" may be an item as well as the topic, so the topic is added and nothing is replaced.
    in_place = not (history and items_of(history[-1]))
    standalone = write_standalone(question, additions, references, language, in_place) if additions else question
    standalone = bound.standalone or standalone
    rewritten_by = "rules"
    if rewriter is not None and references and not bound.candidates:
        rewritten = _ask(rewriter, question, talk)
        if rewritten is not None:
            standalone, rewritten_by = rewritten, "model"
    return Resolution(
        question, language.code, references, bound.resolved, bound.candidates, standalone, additions, rewritten_by
    )


def _names_one(question: str, candidates: Sequence[Candidate]) -> bool:
    """Whether a question says a word that only one of the candidates has: "quanti anni ha sara?"."""
    told = Counter(word for each in candidates for word in set(split_words(each.name).words))
    asked = {word for word in split_words(question).words if told[word] == 1}
    return sum(not asked.isdisjoint(split_words(each.name).words) for each in candidates) == 1


def _title(talk: Talk, offered: Sequence[Addition]) -> tuple[Addition, ...]:
    """The name that opened a talk and was nothing but a name, unless the question brings a subject of its own."""
    focus = follow(talk.history[-RECENT_TURNS:][:1], talk.language, refers_back)
    if not focus.titled or focus.opening is None:
        return ()
    line = words_of(talk)
    known = stems((*line.words, *(word for each in offered for word in split_words(each.text).words)))
    heard = stems(w for turn in talk.history for w in words_in(f"{turn.query} {turn.response[:_READ]}"))
    own = [each for each in phrases(line, talk.language) if each.topical]
    generic = bool(talk.language.article_forms)  # there the article tells nothing
    new = any(each.proper or ((generic or not each.definite) and each.stems.isdisjoint(heard)) for each in own)
    needed_here = known.isdisjoint(focus.opening.phrase.stems) and (offered or not new)
    return (_addition(focus.opening),) if needed_here else ()


def _whole_question(question: str, added: Sequence[Addition]) -> tuple[ReferenceCue, ...]:
    return (ReferenceCue("ellipsis", _GENERAL, 0, len(question), question),) if added else ()


def _is_small_talk(question: str, last: PastTurn) -> bool:
    """Whether a message only greets, thanks, agrees, takes leave or has the last thing forgotten.

    "Ok" after an answer that asks takes its offer.
    """
    plain = fold(question.replace("’", "'")).strip() if len(question) <= LONGEST_FOLLOW_UP else ""
    if FORGET_LAST.fullmatch(plain):
        return True
    act = small_talk(plain) if plain else None
    return act is not None and not (act == "okay" and last.response.rstrip().endswith("?"))


def mended_words(question: str, history: Sequence[PastTurn], language: FollowUpWords) -> dict[str, str]:
    """Words of a question that the last turns write otherwise: "capputo" after an answer that named Caputo."""
    if not history or len(question) > LONGEST_FOLLOW_UP:
        return {}
    said = f"{history[-1].response[:_READ]} {history[-1].query[:_READ]}"
    return misspelt(split_words(question), said, language, has_meaning)


def _misspelt_cues(talk: Talk) -> Iterator[ReferenceCue]:
    line = split_words(talk.question)
    for token in line.tokens:
        if token.word in talk.mended:
            yield ReferenceCue.at((token.start, token.end), line, "ellipsis", _GENERAL)


def _overt(cue: ReferenceCue) -> bool:
    """Whether words of the question point back ("it", "there", "the second"); an article before a noun may not."""
    if cue.corrects or cue.part or cue.whole:
        return True
    general = cue.kind == "pronoun" and cue.noun and cue.confidence <= _GENERAL
    return cue.kind != "ellipsis" and not cue.zero and not general


def _names_topic(talk: Talk) -> bool:
    """Whether a question says itself what the talk is about, so that nothing is left out."""
    centre = follow(talk.history, talk.language, refers_back).centre[:1]
    return bool(centre) and stems(centre[0].phrase.words) <= stems(words_of(talk).words)


def _incomplete(talk: Talk) -> bool:
    """Whether a question without a cue may need the talk: not a long one, nor one that asks what a new thing is."""
    last, language = talk.history[-1], talk.language
    line = words_of(talk)
    if not last.response or len(line.words) > _LONGEST_INCOMPLETE or asks_of_speaker(line, language):
        return False
    asked = [root(word) for word in line.words if is_topical(language, word)]
    known = _known(last.query[:LONGEST_FOLLOW_UP], last.response, language)
    of = complement(line, language)
    if of and root(of) not in known:
        return False
    if not asked or language.copulas.isdisjoint(line.words[:3]) or line.word(0) not in language.question_words:
        return True
    return any(word in known for word in asked)


def open_to_scorer(references: Sequence[ReferenceCue], resolution: "_Bound | Resolution") -> bool:
    """Whether no strong cue decides: nothing was found, or a pronoun or an ellipsis that names no part and no item."""
    if resolution.candidates or any(each.item is not None for each in resolution.resolved):
        return False
    if not references:
        return True
    first = references[0]
    return first.kind in ("pronoun", "ellipsis") and not (first.part or first.whole or first.corrects)


def _completed(
    references: tuple[ReferenceCue, ...], bound: _Bound, talk: Talk
) -> tuple[tuple[ReferenceCue, ...], _Bound]:
    """The phrases that the scorer finds needed, in place of those that the rules offer."""
    scorer = shipped_scorer() if not bound.standalone and open_to_scorer(references, bound) else None
    if scorer is None:
        return references, bound
    if references and len(talk.history) > SHORT_TALK:
        # The scorer was trained on short talks: in longer ones the focus decides, unless the answer named two sides.
        rivals = () if _told(references[0]) else two_sides(talk)
        return (references, _Bound(candidates=rivals)) if rivals else (references, bound)
    focus = follow(talk.history, talk.language, refers_back)
    offered = fit_additions(talk.question, bound.offered) if bound.offered else ()
    if references and references[0].person and (focus.answers_who or len(talk.history) > 2):
        return references, bound
    scores = scored(talk, references, offered, focus, scorer)
    if references and references[0].person:
        scores = tuple(each for each in scores if name_in(each[0].text) and not is_day(split_words(each[0].text).words))
    if not scores:
        return references, bound
    whole_question = ReferenceCue("ellipsis", round(scores[0][1], 3), 0, len(talk.question), talk.question)
    left_out = references or (whole_question,)
    first = left_out[0]
    rivals = two_sides(talk) if not _told(first) and (references or scores[0][1] >= ASKS) else ()
    rivals = rivals or namesakes(talk) or (told_side_by_side(talk) if _one_thing(references, talk.language) else ())
    if rivals:
        return left_out, _Bound(candidates=rivals)
    least = ACTS_ON_CUE if references else ACTS if len(talk.history) <= SHORT_TALK else ACTS_LATE
    points = any(_points(each, talk.language) for each in references)
    found = needed(scores, offered, least, points=points, one=bool(references) and references[0].person)
    if not found:
        return references, bound
    turn = next(turn for turn in talk.history if turn.turn_number == found[0].turn_number)
    return left_out, _Bound(bound.resolved or (_whole(first, turn),), (), found)


def _points(cue: ReferenceCue, language: FollowUpWords) -> bool:
    """Whether a pronoun tells more than "it" of what it stands for, so that it may be in the answer."""
    told = cue.noun or cue.plural or cue.person or cue.gender or cue.text.lower() in language.demonstrative
    return (cue.kind == "pronoun" or cue.zero) and bool(told)


def _one_thing(references: Sequence[ReferenceCue], language: FollowUpWords) -> bool:
    """Whether the question means one thing without saying which: "it", or a verb without its subject."""
    first = references[0] if references else None
    if first is None or first.person or _told(first) or first.content:
        return False
    return first.zero or (first.kind == "pronoun" and first.text.lower() not in language.demonstrative | language.place)


def _told(cue: ReferenceCue) -> bool:
    """Whether the cue itself says which of two is meant."""
    return bool(cue.plural or cue.noun or (cue.gender and not cue.zero))


def _ask(rewriter: Rewriter, question: str, talk: Talk) -> str | None:
    try:
        rewritten = rewriter.rewrite(question, talk.history)
    except Exception:
        return None
    return trusted_rewrite(question, rewritten, talk.language)


def _bind(references: Sequence[ReferenceCue], talk: Talk) -> _Bound:
    if not references:
        return _Bound()
    first = references[0]
    if first.kind in ("ordinal", "comparison"):
        return _bind_places(references, talk)
    if first.kind == "back" and first.one:
        return _bind_described(first, talk)
    if first.kind in ("statement", "back"):
        return _bind_said(first, talk)
    if first.kind == "continuation":
        return _bind_last_answer(first, talk)
    rivals = (competing(first, talk) or told_side_by_side(talk)) if first.zero and not first.plural else ()
    if rivals:
        return _Bound(candidates=rivals)
    if first.part or first.whole:
        return _bind_frame(first, talk) or _bind_topic(references, talk)
    return _bind_topic(references, talk)


def _bind_frame(reference: ReferenceCue, talk: Talk) -> _Bound | None:
    """The last question with a part of it replaced, with something added, or as it was."""
    frames: list[tuple[int, str]] = []
    opens = talk.question.lstrip().startswith(reference.part)
    for back in range(min(len(talk.history), _FRAMES)):
        asked = _frame(talk, back)
        frames += [(back, asked)] if asked else []
        if not asked or (reference.whole and not reference.corrects):
            continue
        unsure = reference.whole or explains(reference.part, asked, talk.language)
        least = FITS_SENSE if reference.corrects and unsure else FITS_OLDER if back else FITS
        written = with_part(asked, reference.part, talk.language, reference.instead_of, least, opens=opens)
        if written:
            return _Bound((_whole(reference, talk.history[-1 - back]),), standalone=written)
    for back, asked in frames if not reference.part or (frames and not frames[0][0]) else ():
        words = frame_words(asked, talk.language)
        written = bracketed(asked, [reference.part]) if reference.corrects else ""
        written = written or (bracketed(talk.question, [words]) if words else "")
        if written:
            return _Bound((_whole(reference, talk.history[-1 - back]),), standalone=written)
    return None


def _frame(talk: Talk, back: int) -> str:
    """A past question that can be taken over; what was told before the last turn asks nothing."""
    asked = asked_sentence(_complete(talk, back))
    fits = len(asked.split()) <= LONGEST_FRAME and (not back or asks(asked, language_of(asked)))
    return asked if fits else ""


def _complete(talk: Talk, back: int) -> str:
    """A past question as it was understood, so that a follow-up to a follow-up still has a frame."""
    turn = talk.history[-1 - back]
    before = talk.history[: len(talk.history) - 1 - back]
    if (
        len(before) == 0
        or len(turn.query) > LONGEST_FOLLOW_UP
        or not refers_back(split_words(turn.query), talk.language)
    ):
        return turn.query
    found = resolve(turn.query, before[-_FRAMES:])
    # "Explain point 2" asks nothing of the point that a follow-up could take over.
    bare = found.kind == "ordinal" and talk.language.question_words.isdisjoint(split_words(turn.query).words)
    return ", ".join(each.text for each in found.additions) if bare and found.additions else found.standalone


def _bind_places(references: Sequence[ReferenceCue], talk: Talk) -> _Bound:
    resolved: list[Resolved] = []
    offered: list[Addition] = []
    side = _one_side(references[0], talk)
    if side is not None:
        return side
    # "Which is faster?" after "Compare A and B" means A and B, not the rows of the table that compared them.
    compares_all = references[0].kind == "comparison" and references[0].pick == Pick(every=True)
    if compares_all and alternatives(split_words(talk.history[-1].query), talk.language):
        return _bind_sides(references[0], talk)
    for reference in references:
        pick = reference.pick or Pick(every=True)
        found = _choices(pick, reference.noun, talk, prose=_stands_free(reference, talk))
        if len(found) > 1:
            names = [candidate_of(choice.turn, item) for choice in found for item in choice.items]
            return _Bound(candidates=tuple(names[:MOST_CANDIDATES]))
        if not found:
            continue
        resolved.extend(_resolved_choice(reference, pick, found[0], talk))
        chosen = () if pick.negated else found[0].items
        offered.extend(Addition(headline(i.text), found[0].turn.turn_number, "item") for i in chosen[:4])
        offered.extend(_topic_of(found[0].turn, talk))
    if not resolved and references[0].pick is not None and references[0].pick.step > 0:
        # "What's the next step?" without an item to count from asks to go on.
        return _bind_last_answer(references[0], talk, certainty=0.6)
    if not resolved and references[0].pick is not None and references[0].pick.rest:
        return _bind_topic(references, talk)
    if resolved or references[0].pick is None:
        return _Bound(tuple(dict.fromkeys(resolved)), (), tuple(offered))
    return _bind_sides(references[0], talk)


def _stands_free(reference: ReferenceCue, talk: Talk) -> bool:
    """Whether no noun of its own follows a place: "the first amendment" is no member of a series in prose."""
    line = split_words(talk.question)
    at = line.token_at_offset(reference.end - 1) + 1
    return reference.noun != "" or not line.is_word(at) or not is_topical(talk.language, line.word(at))


def _choices(pick: Pick, noun: str, talk: Talk, *, prose: bool) -> tuple[ListChoice, ...]:
    if not pick.step and (pick.positions or not pick.rest):
        series = _series(pick, noun, talk)
        return (series,) if series is not None else choices(pick, noun, talk.history, talk.language, prose=prose)
    last = _last_choice(talk)
    if pick.rest:
        others = tuple(item for item in last.listed if item not in last.items) if last is not None else ()
        fits = last is not None and others and pick.count in (0, len(others))
        return (ListChoice(last.turn, others, last.listed),) if last is not None and fits else ()
    following = next_choice(last, pick.step) if last is not None else None
    return (following,) if following is not None else ()


def _series(pick: Pick, noun: str, talk: Talk) -> ListChoice | None:
    """ "And the third?" after a point of a list goes on in that list, though the answer has points of its own."""
    last = _last_choice(talk, turns=1) if pick.positions and len(talk.history) > 1 else None
    if last is None or (noun and noun not in talk.language.list_nouns):
        return None
    place, said = last.listed.index(last.items[-1]) + 2, split_words(talk.question).words
    goes_on = pick.positions == (place,) or any(word in talk.language.coordinators for word in said[:2])
    found = choices(pick, noun, (last.turn,), talk.language, prose=True) if goes_on else ()
    fits = len(found) == 1 and found[0].listed == last.listed and found[0].items != last.items
    return found[0] if fits else None


def _last_choice(talk: Talk, turns: int = RECENT_TURNS) -> ListChoice | None:
    """The item that the latest question pointed at, following "the next one" back to where it started."""
    steps = 0
    for at in range(len(talk.history) - 1, max(0, len(talk.history) - 1 - turns), -1):
        before = talk.history[:at]
        nouns = list_nouns(before, talk.language)
        for reference in parse(talk.history[at].query, nouns=nouns, language=talk.language):
            if reference.pick is None:
                continue
            if reference.pick.step:
                steps += reference.pick.step
                break
            asked = Talk(before, talk.language, question=talk.history[at].query)
            found = _choices(reference.pick, reference.noun, asked, prose=True)
            if len(found) != 1:
                return None
            return next_choice(found[0], steps) if steps else found[0]
        named = named_choice(talk.history[at].query, before, talk.language)
        if named is not None:
            return named
    return None


def _resolved_choice(reference: ReferenceCue, pick: Pick, choice: ListChoice, talk: Talk) -> list[Resolved]:
    turn = choice.turn
    distance = sum(other.turn_number > turn.turn_number for other in talk.history)
    confidence = round(reference.confidence * _DISTANT**distance, 3)
    if pick.negated:
        return [Resolved(reference.kind, turn.turn_number, None, turn.response, turn.chunk_ids, confidence)]
    return [
        Resolved(reference.kind, turn.turn_number, item, item.text, item.chunk_ids or turn.chunk_ids, confidence)
        for item in choice.items
    ]


def _bind_sides(reference: ReferenceCue, talk: Talk) -> _Bound:
    """ "The two" without a list: the two sides of the last choice that was asked about."""
    if reference.pick is not None and not reference.pick.every and reference.kind != "comparison":
        return _Bound()
    for turn in reversed(talk.history[-3:]):
        sides = alternatives(split_words(turn.query), talk.language)
        if sides:
            return _Bound(
                (_whole(reference, turn),), (), tuple(Addition(side, turn.turn_number, "question") for side in sides)
            )
    return _bind_topic((reference,), talk) if reference.kind == "comparison" else _Bound()


def _one_side(reference: ReferenceCue, talk: Talk) -> _Bound | None:
    """ "The latter", "the second" after a question that put two things side by side."""
    last, of_two = talk.history[-1], reference.text.split()[-1].lower() in talk.language.of_two
    if reference.pick is None or reference.pick.positions not in ((1,), (2,), (-1,)):
        return None
    if not of_two and (items_of(last) or (reference.noun and reference.noun not in talk.language.list_nouns)):
        return None
    sides = alternatives(split_words(last.query), talk.language)
    if len(sides) != 2:
        return None
    name = sides[0] if reference.pick.positions == (1,) else sides[1]
    return _Bound((_whole(reference, last),), (), (Addition(name, last.turn_number, "question"),))


def _bind_said(reference: ReferenceCue, talk: Talk) -> _Bound:
    """The answer that said it: the caller's search over all answers first, then the recent turns."""
    language, described = talk.language, content_words(split_words(reference.content), talk.language)
    elsewhere = tuple(talk.find_answer(reference.content)) if talk.find_answer and reference.content else ()
    at_hand = {turn.turn_number for turn in talk.history}
    pool = (*(turn for turn in elsewhere if turn.turn_number not in at_hand), *talk.history)
    found = find_in(reference.content, pool, language)
    beside = [w for w in content_words(split_words(talk.question), language) if w not in described]
    told = {turn.turn_number: clause_saying(described, turn.response, language, beside) for turn in pool}
    first = found[:1]  # shares the rarest words
    likeliest = max((*first, *pool), key=lambda turn: round(told[turn.turn_number][0] + _RAREST * (turn in first), 2))
    _, share, said = told[likeliest.turn_number]
    says = share >= (_TELLS if reference.must_match and not found else _SAYS)
    turn = likeliest if says else found[0] if found else None
    if turn is None:
        if described and reference.must_match:
            return _Bound()
        if described and len(talk.history) > 1:
            return _bind_turn(reference, talk.history[0], talk, certainty=0.4)  # a return is not to the last turn
        return _bind_last_answer(reference, talk, certainty=0.4 if described else 1.0)
    item = best_item(reference.content, turn, language)
    text = item.text if item is not None else turn.response or turn.query
    ids = item.chunk_ids if item is not None and item.chunk_ids else turn.chunk_ids
    resolved = Resolved(reference.kind, turn.turn_number, item, text, ids, reference.confidence)
    if turn.told and reference.kind == "statement":
        return _Bound((resolved,))  # "Mi hai detto che mia figlia si chiama Rosa": the clause says all of it
    said = headline(item.text) if item is not None else said if says else ""
    offered = [Addition(said, turn.turn_number, "answer" if item is None else "item")] if said else []
    opening = follow(talk.history, language, refers_back).lasting  # a return stays within what the talk is about
    kept = (_addition(opening),) if opening is not None else ()
    return _Bound((resolved,), (), (*offered, *_topic_of(turn, talk), *kept))


def _bind_described(reference: ReferenceCue, talk: Talk) -> _Bound:
    """ "The one about windows": the item that says so, or the choice between those that do."""
    choice = described_items(reference.content, talk.history, talk.language)
    if choice is None:
        described = content_words(split_words(reference.content), talk.language)
        _, share, said = clause_saying(described, talk.history[-1].response, talk.language)
        told = (Addition(said, talk.history[-1].turn_number, "answer"), *_topic_of(talk.history[-1], talk))
        return _bind_last_answer(reference, talk, offered=told) if share >= _TELLS else _Bound()
    if len(choice.items) > 1:
        return _Bound(candidates=tuple(candidate_of(choice.turn, item) for item in choice.items[:MOST_CANDIDATES]))
    return _bind_choice(reference, Pick(), choice, talk)


def _bind_choice(reference: ReferenceCue, pick: Pick, choice: ListChoice, talk: Talk) -> _Bound:
    named = [Addition(headline(item.text), choice.turn.turn_number, "item") for item in choice.items[:4]]
    resolved = _resolved_choice(reference, pick, choice, talk)
    return _Bound(tuple(resolved), (), (*named, *_topic_of(choice.turn, talk)))


@lru_cache(maxsize=256)
def _said(answer: str, language: FollowUpWords) -> frozenset[str]:
    """Roots of the words that an answer said."""
    return frozenset(root(word) for word in words_in(answer[:_READ]) if is_topical(language, word))


@lru_cache(maxsize=256)
def _known(query: str, answer: str, language: FollowUpWords) -> frozenset[str]:
    """Roots of the words of a turn."""
    return _said(answer, language) | {root(word) for word in words_in(query)}


def _bind_last_answer(
    reference: ReferenceCue, talk: Talk, certainty: float = 1.0, offered: tuple[Addition, ...] = ()
) -> _Bound:
    turn = next((t for t in reversed(talk.history) if t.response), talk.history[-1])
    return _bind_turn(reference, turn, talk, certainty, offered)


def _bind_turn(
    reference: ReferenceCue, turn: PastTurn, talk: Talk, certainty: float, offered: tuple[Addition, ...] = ()
) -> _Bound:
    return _Bound((_whole(reference, turn, certainty),), (), offered or _asked_of(turn, talk))


def _whole(reference: ReferenceCue, turn: PastTurn, certainty: float = 1.0) -> Resolved:
    """A reference bound to a whole turn."""
    confidence = round(reference.confidence * certainty, 3)
    return Resolved(reference.kind, turn.turn_number, None, turn.response or turn.query, turn.chunk_ids, confidence)


def _asked_of(turn: PastTurn, talk: Talk) -> tuple[Addition, ...]:
    """What the question of a turn asked, and what it was about where it did not say."""
    topic = _topic_of(turn, talk, asked=True)
    words = frame_words(turn.query, talk.language) if len(turn.query) <= LONGEST_FOLLOW_UP else ""
    if not words or refers_back(split_words(turn.query), talk.language):
        return topic
    return (Addition(words, turn.turn_number, "question"),)


def _bind_topic(references: Sequence[ReferenceCue], talk: Talk) -> _Bound:
    """Pronouns and what was left out: the topic of the talk, unless two topics or several items compete."""
    reference = references[0]
    rivals = competing(reference, talk)
    if rivals:
        return _Bound(candidates=rivals)
    beside = alternatives(split_words(talk.history[-1].query), talk.language)
    if reference.kind == "pronoun" and reference.plural and not reference.noun and not beside:
        listed = choices(Pick(every=True), "", talk.history[-1:], talk.language, prose=False)
        if len(listed) == 1 and len(listed[0].items) <= _MOST_ITEMS:
            return _bind_choice(reference, Pick(every=True), listed[0], talk)
    focus = follow(talk.history, talk.language, refers_back)
    if talk.history[-1].told:
        focus = replace(focus, opening=None)  # what the user tells of is no talk about one subject
    mentions = antecedents(references, focus, talk.language)
    if reference.about:
        mentions = list(focus.centre[: 2 if len(talk.history) <= SHORT_TALK else 1])
    mentions = _still_spoken_of(mentions, talk)
    answered = in_answer(reference, talk)
    if len(answered) > 1:
        last = talk.history[-1].turn_number
        return _Bound(candidates=tuple(Candidate(each.text, last) for each in answered[:MOST_CANDIDATES]))
    if not mentions and not answered:
        return _Bound()
    offered = (*answered, *(_addition(mention) for mention in mentions))
    if not mentions:
        return _bind_last_answer(reference, talk, offered=offered)
    turn = next(t for t in talk.history if t.turn_number == mentions[0].turn_number)
    return _Bound((_whole(reference, turn),), (), offered)


def _still_spoken_of(mentions: list[Mention], talk: Talk) -> list[Mention]:
    """The mentions without older ones that a long last answer does not name: it went on to something else."""
    last = talk.history[-1]
    if len(last.response) < LONG_ANSWER:
        return mentions
    said = stems(words_in(last.response[:_READ]))
    return [m for m in mentions if m.turn_number == last.turn_number or not m.phrase.stems.isdisjoint(said)]


def _topic_of(turn: PastTurn, talk: Talk, asked: bool = False) -> tuple[Addition, ...]:
    """What a turn was about, carried from the turns before it when its own question did not say."""
    focus = follow(talk.until(turn.turn_number).history or (turn,), talk.language, refers_back)
    mentions = [*(focus.asked[:1] if asked else ()), *focus.centre[:1]]
    return tuple(_addition(mention) for mention in mentions)


def _addition(mention: Mention) -> Addition:
    article = mention.phrase.determiner if mention.phrase.definite else ""
    return Addition(mention.phrase.text, mention.turn_number, mention.origin, article)
