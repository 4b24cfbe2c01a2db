"""Parsing a question for cues that it refers to the conversation: text in, cues out.

Strong cues (a correction, a quoted statement, a position in a list, a return, "go on") are tried first; pronouns,
ellipsis and words of the last answer count only without them. A complete question gives the empty tuple: a false cue
costs more than a missed one, because it brings an old topic into a new question.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from ricordo.followups.anaphora import ellipsis, general_nouns, pronouns
from ricordo.followups.ordinals import label_sequence, places, whole_message
from ricordo.followups.reference import LONGEST_FOLLOW_UP, Pick, ReferenceCue, Talk
from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.registry import AnyLanguage, Words, all_words, languages
from ricordo.languages.text import (
    Token,
    WordSpans,
    is_content,
    is_topical,
    language_of,
    respelled,
    root,
    sentences,
    split_words,
    stem,
    written_out,
)

if TYPE_CHECKING:
    from ricordo.languages.base import DialogueWords

_MARKS = frozenset(",.;:!?…")
_LONGEST_REQUEST = 12
_EXCLAMATION = 4
_SENTENCE_END = re.compile(r"[.!?;:…]")
_LONGEST_CORRECTION = 18
_LONGEST_BARE = 7
_LONGEST_SLIP = 6
_MOST_SLIPS = 4  # "oh no wait, sorry"
_FINAL_MARKS = " ?!.…,;"
LONGEST_ABOUT = 14  # words
_BRIEF = 7
_LONGEST_OF_TALK = 9  # words of a question about the whole talk
FORGET_LAST = AnyLanguage(r"\W*(?:<dialogue.forget_last>)\W*", flags=0)  # an order that names nothing
_TALK = AnyLanguage(r"(?:<dialogue.talk>)\b", flags=0)
_SHORT_WORD = 4  # letters: shorter words differ from too many others by one
_WORD = re.compile(r"\w+")
_NAME = re.compile(r"(?<=[\w,'’] )\w*[a-z]\w*")
_QUOTED = re.compile(r"(?<!\w)['\"“«‘][^'\"”»’\n]{3,200}['\"”»’](?!\w)")


SmallTalk = Literal["greeting", "thanks", "okay", "farewell"]
_LONGEST_SMALL_TALK, _MISSPELT = 14, 3  # words
_CLAUSE = re.compile(r"[,.!?;:()…\-]+(?:\s|$)|\n| (?:and|e) ")  # of lines with single blanks
_EDGES, _DOUBLED = re.compile(r"^\W+|\W+$"), re.compile(r"(\w)\1+")
_LEAVING = AnyLanguage(r"(?:<dialogue.leaving>)", flags=0)
_OKAYS, _TAIL = r"(?:(?:<dialogue.okays>)\s+)*", r"(?:\s+[^\W\d]+){0,2}"  # "ok bye", "thanks a lot"
_SMALL_TALK: dict[SmallTalk, AnyLanguage] = {
    "farewell": AnyLanguage(rf"{_OKAYS}(?:<dialogue.farewells>){_TAIL}", flags=0),
    "greeting": AnyLanguage(rf"{_OKAYS}(?:<dialogue.greetings>){_TAIL}", flags=0),
    "thanks": AnyLanguage(rf"{_OKAYS}(?:<dialogue.thanks>){_TAIL}", flags=0),
    "okay": AnyLanguage(rf"{_OKAYS}(?:<dialogue.okays>)", flags=0),
}
_MOST_TELLING: tuple[SmallTalk, ...] = ("farewell", "thanks", "greeting", "okay")  # of the clauses of a message


def words_of(talk: Talk) -> WordSpans:
    """The words of the question with abbreviations and misspelt words written out."""
    told = tuple([turn.query[:LONGEST_FOLLOW_UP] for turn in talk.history])
    return _words_of(talk.question, talk.language, tuple(talk.mended.items()), told)


@lru_cache(maxsize=64)  # every rule reads the question
def _words_of(
    question: str, language: FollowUpWords, mended: tuple[tuple[str, str], ...], told: tuple[str, ...]
) -> WordSpans:
    line = written_out(question, language)
    line = respelled(line, {old: new.lower() for old, new in mended}) if mended else line
    written = list(map(_inner_words, told))
    named = {word for names, _ in written for word in names.intersection(line.words)}
    named = {word for word in named if not any(word in words for _, words in written)}
    if not named:
        return line
    return replace(
        line, tokens=tuple(each._replace(capital=True) if each.word in named else each for each in line.tokens)
    )


@lru_cache(maxsize=2048)
def _inner_words(told: str) -> tuple[Words, Words]:
    """Of the words inside the sentences of a message those with a capital, in lower case, and all as written."""
    written = frozenset(_NAME.findall(told))
    return frozenset(word.lower() for word in written if word[0].isupper()), written


def parse(
    question: str,
    *,
    nouns: Words = frozenset(),
    labels: Words = frozenset(),
    said: Words = frozenset(),
    language: FollowUpWords | None = None,
    line: WordSpans | None = None,
) -> tuple[ReferenceCue, ...]:
    """The cues of a question; `nouns` are stems of what recent lists are about, `labels` theirs.

    `said` are the roots of the words of the last answer, `line` the question with its spelling mended.
    """
    if len(question) > LONGEST_FOLLOW_UP:
        return ()
    spoken = language or language_of(question)
    line = line or written_out(question, spoken)
    if not line.words:
        return ()
    found = cues_in_line(line, spoken, nouns, labels, said)
    quoted = _quoted(question, line, spoken)
    asking = _asking(question, spoken) if found and found[0].kind == "pronoun" else 0
    return tuple(
        cue
        for cue in found
        if cue.start >= asking and not any(start <= cue.start and cue.end <= end for start, end in quoted)
    )


def _asking(question: str, language: FollowUpWords) -> int:
    """Where the part of a message begins that asks: "Thanks for that. How long does it take?"; its end if none does."""
    if question[:1].islower() and question[-1:].isalnum():
        return 0  # Without capitals and marks a question looks like a remark.
    spans = sentences(question, chat=True)
    asking = [start for start, end in spans if asks(question[start:end], language)]
    return asking[0] if asking else len(question)


def asks(text: str, language: FollowUpWords) -> bool:
    """Whether a text asks: a question mark or word, a verb in front, a request, or nothing but a name."""
    line = split_words(text)
    first = (line.word(0), next((word for word in line.words if word not in language.fillers), ""))
    requested = any(w in language.auxiliaries or (w in language.requests and len(w) > 2) for w in first)  # not "mi"
    if requested or "?" in text or not language.question_words.isdisjoint(line.words):
        return True
    orders = line.word(0) in language.verbs and (line.word(1) in language.requests or _object(line, language, 2))
    tells = any(
        line.word(at) in language.auxiliaries | language.subject_pronouns | language.demonstrative
        or (line.word(at) in language.verbs and line.word(at - 1) not in language.verb_markers)
        for at in range(len(line.tokens))
    )
    topical = any(is_topical(language, word) for word in line.words)
    return orders or (not tells and topical and language.thanks.isdisjoint(line.words))


def misspelt(line: WordSpans, talk: str, language: FollowUpWords, is_common: Callable[[str], bool]) -> dict[str, str]:
    """Uncommon words that differ by a letter or two from a word of the talk, with that word as it is written there."""
    doubtful = [token.word for token in line.tokens if _may_be_misspelt(token, language, is_common)]
    if not doubtful:
        return {}  # nearly always; the talk is long
    said = _spellings(talk)
    found: dict[str, str] = {}
    for word in doubtful:
        if word in said:
            continue
        most, letters = 2 if len(word) > 6 else 1, set(word)
        shortest, longest = max(len(word) - most, _SHORT_WORD + 1), len(word) + most
        for other, written in said.items():
            if not shortest <= len(other) <= longest or not (other[0] == word[0] or other[1:3] == word[:2]):
                continue
            if len(letters.symmetric_difference(other)) > 2 * most or stem(other) == stem(word):
                continue
            if _edits(word, other) <= most:
                found[word] = written
                break
    return found


@lru_cache(maxsize=64)
def _spellings(talk: str) -> dict[str, str]:
    """The words of a talk in lower case, with the way each is written first; not to be changed."""
    said: dict[str, str] = {}
    for written in _WORD.findall(talk):
        said.setdefault(written.lower(), written)
    return said


def _may_be_misspelt(token: Token, language: FollowUpWords, is_common: Callable[[str], bool]) -> bool:
    """Whether a word is long, uncommon, and neither a name nor an abbreviation."""
    word = token.word
    if len(word) <= _SHORT_WORD or is_common(word) or not word.isalpha() or not is_topical(language, word):
        return False
    return not (token.capital and token.start) and word not in language.spellings


def _edits(first: str, second: str) -> int:
    """How many letters must be added, dropped or changed to turn one word into another."""
    row = list(range(len(second) + 1))
    for at, letter in enumerate(first, start=1):
        before, row[0] = row[0], at
        for k, other in enumerate(second, start=1):
            before, row[k] = row[k], min(row[k] + 1, row[k - 1] + 1, before + (letter != other))
    return row[-1]


def _quoted(question: str, line: WordSpans, language: FollowUpWords) -> list[tuple[int, int]]:
    """Where a question quotes a text of its own: between quotation marks, or after "translate:"."""
    spans = [match.span() for match in _QUOTED.finditer(question)]
    colon = question.find(":")
    if colon > 0 and line.word(0) in language.text_requests:
        spans.append((colon, len(question)))
    return spans


@lru_cache(maxsize=512)  # a question is read once more for its topic, and again when it is a past one
def cues_in_line(
    line: WordSpans,
    language: FollowUpWords,
    nouns: Words = frozenset(),
    labels: Words = frozenset(),
    said: Words = frozenset(),
) -> tuple[ReferenceCue, ...]:
    """The cues of a tokenized question in a known language."""
    if closes(line, language) or language.patterns["about_self"].fullmatch(line.text):
        return ()
    named = label_sequence(line, language, labels)
    alone = whole_message(line, language)
    mended = slip(line, language) if alone is not None and not labels else None
    if mended is not None:
        return (mended,)  # "sorry, 13" without a list
    if alone is not None:
        # "la a e la d" is two places, though all its other words are fillers.
        several = named is not None and named.pick is not None and len(named.pick.positions) > 1
        return (named,) if named is not None and several else (alone,)
    corrected = correction(line, language)
    if corrected is not None:
        return (corrected,)
    stated = statement(line, language)
    if stated is not None:
        return (stated,)
    going_on = continuation(line, language)
    if going_on is not None:
        return (going_on,)
    found = tuple(places(line, language, nouns))
    if named is not None and not found:
        found = (named,)
    admitted = slip(line, language) if not found else None
    if admitted is not None:
        return (admitted,)
    compared = comparison(line, language, found)
    if compared is not None:
        return (compared,)
    if found:
        return found
    listed = described(line, language, nouns, frozenset()) if nouns else None
    returned = listed or back(line, language) or described(line, language, frozenset(), said)
    if returned is not None and not asks_of_talk(line, language):
        return (returned,)
    if asks_of_speaker(line, language):
        return ()
    standing_for = _standing_for(line, language)
    if standing_for:
        return standing_for
    left_out = ellipsis(line, language) or about_answer(line, language, said)
    return (left_out,) if left_out is not None else ()


@lru_cache(maxsize=64)
def _standing_for(line: WordSpans, language: FollowUpWords) -> tuple[ReferenceCue, ...]:
    """The pronouns and general nouns whose antecedents are in the conversation."""
    return tuple(pronouns(line, language)) or tuple(general_nouns(line, language))


def small_talk(plain: str) -> SmallTalk | None:
    """What a folded message does if it only greets, thanks, agrees or takes leave; else None."""
    if len(plain.split()) > _LONGEST_SMALL_TALK:
        return None
    lines = "\n".join(" ".join(line.split()) for line in plain.splitlines())
    clauses = [clause for part in _CLAUSE.split(lines) if (clause := _EDGES.sub("", part))]
    acts = [next((act for act, form in _SMALL_TALK.items() if form.fullmatch(each)), None) for each in clauses]
    leaving = next((at for at, each in enumerate(clauses) if _LEAVING.match(each)), len(clauses))
    others = [act for at, act in enumerate(acts) if at != leaving]
    if None not in acts[:leaving] and leaving < len(clauses) and "farewell" in others:
        return "farewell"  # "goodbye, I must go and put the kettle on"
    if None in acts:
        mended = _greeted(plain) if len(plain.split()) <= _MISSPELT else plain
        return small_talk(mended) if mended != plain else None
    return next((act for act in _MOST_TELLING if act in acts), None)


def small_talk_languages(plain: str) -> tuple[str, ...]:
    """The codes of the languages whose greetings, thanks or farewells a message holds, or which it agrees in.

    Empty for a message that does more.
    """
    if small_talk(plain) is None:
        return ()
    mended = _greeted(plain)
    known = [(each.code, each.dialogue) for each in languages()]
    greets = tuple(code for code, words in known if _greeting_of(words).search(mended))
    return greets or tuple(code for code, words in known if re.match(rf"\W*(?:{words.okays})\b", mended))


@cache
def _greeting_of(words: "DialogueWords") -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words.greetings}|{words.thanks}|{words.farewells})\b")


def _greeted(plain: str) -> str:
    """A short message with words put right that are those of a greeting, with letters swapped, doubled or missing."""
    known = [(_DOUBLED.sub(r"\1", word), word) for word in all_words("dialogue.greeting_words")]

    def right(found: re.Match[str]) -> str:
        said = _DOUBLED.sub(r"\1", found[0])
        swaps = {said, *(said[:at] + said[at + 1] + said[at] + said[at + 2 :] for at in range(1, len(said) - 1))}
        return next((word for single, word in known if single in swaps), found[0])

    return _WORD.sub(right, plain)


def closes(line: WordSpans, language: FollowUpWords) -> bool:
    """A message that thanks or agrees and asks for nothing ("ok, got it", "no, grazie, è tutto")."""
    if line.text.endswith("?") or not line.words:
        return False
    thanks = any(word in language.thanks for word in line.words)
    declines = thanks and line.words[0] in language.refusals
    return declines or (len(line.words) > 1 and all(word in language.acknowledgements for word in line.words))


def asks_of_speaker(line: WordSpans, language: FollowUpWords) -> bool:
    """ "Where do I live?" is complete, whatever was talked about; so it is not if a word points back."""
    if asks_of_talk(line, language):
        return True
    if language.patterns["about_self"].match(line.text) is None:
        return False
    return not any(cue.text.lower() in language.pointing_words for cue in pronouns(line, language))


def asks_of_talk(line: WordSpans, language: FollowUpWords) -> bool:
    """ "What did we talk about?" asks for the whole talk, not for what was said last."""
    words = [word for word in line.words if word not in language.fillers and word not in language.coordinators]
    asks = any(word in language.question_words for word in words[:2]) and len(words) <= _LONGEST_OF_TALK
    return asks and _TALK.match(" ".join(words)) is not None


def refers_back(line: WordSpans, language: FollowUpWords) -> bool:
    """Whether a question refers to the conversation."""
    return bool(cues_in_line(line, language))


def continuation(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """A message that only asks to go on ("continua", "Interesting, tell me more please")."""
    clauses = _clauses(line)
    while len(clauses) > 1 and all(line.word(at) in language.polite_endings for at in clauses[-1]):
        clauses.pop()
    for clause in (clauses[-1:] + clauses[:1])[: len(clauses)]:
        # Beside the request stands a short exclamation ("Interesting, …"), or the reason for it after it.
        reason = clause is clauses[0] and not line.text.endswith("?")
        if not reason and any(len(other) > _EXCLAMATION for other in clauses if other is not clause):
            continue
        request = _request(line, language, clause)
        if request:
            return ReferenceCue.at(line.span(request[0], request[-1]), line, "continuation", 0.9)
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
    rest = line.text[match.end() :]
    content = _SENTENCE_END.split(rest, maxsplit=1)[0].strip() or rest.strip()
    if not content:
        return None
    return ReferenceCue.at(line.match_span(match), line, "statement", 0.9, content=content, must_match=True)


@lru_cache(maxsize=64)  # like what else is found by the words alone: it is read once more for the topic
def back(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """A return to something said before, with the words that tell what."""
    previous = language.patterns["last_answer"].search(line.text)
    match = language.patterns["back"].search(line.text) or previous
    recalled = language.patterns["recalled"].search(line.text) if match is None else None
    match = match or recalled
    if match is None:
        return None
    content = "" if previous is not None else _told_of(line, language, match, keep=recalled is not None)
    must_match = recalled is not None
    return ReferenceCue.at(line.match_span(match), line, "back", 0.85, content=content, must_match=must_match)


def _told_of(line: WordSpans, language: FollowUpWords, match: re.Match[str], *, keep: bool) -> str:
    """The words that tell what is meant: those of the same clause, or else all but the words of the return itself."""
    begin = max(line.text.rfind(mark, 0, match.start()) for mark in _MARKS) + 1
    ends = [at for mark in _MARKS if (at := line.text.find(mark, match.end())) >= 0]
    for start, end in ((begin, min(ends, default=len(line.text))), (0, len(line.text))):
        before, after = line.text[start : match.end() if keep else match.start()], line.text[match.end() : end]
        words = re.findall(r"\w+", f"{before} {after}")
        if any(is_content(language, word) for word in words):
            break
    return " ".join(words)


def described(line: WordSpans, language: FollowUpWords, nouns: Words, said: Words) -> ReferenceCue | None:
    """ "The one about windows", "quella manuale": what a list or the last answer tells of, called by words of it."""
    for match in language.patterns["the_one"].finditer(line.text) if nouns or said else ():
        content = _description(next(filter(None, match.groups()), "").split(), language)
        listed = nouns and all(stem(word) in nouns for word in content)
        told = any(root(word) in said for word in content) and line.text[match.end() :].strip(_FINAL_MARKS)
        if content and (listed or told):
            span, said_of = line.match_span(match), " ".join(content)
            return ReferenceCue.at(span, line, "back", 0.8, content=said_of, must_match=True, one=True)
    return None


def _description(said: list[str], language: FollowUpWords) -> list[str]:
    """The words that describe, up to the verb or pronoun with which the rest of the question begins."""
    content: list[str] = []
    for word in said:
        if is_content(language, word):
            content.append(word)
        elif content and word not in language.articles and word not in language.prepositions:
            break
    return content


def comparison(line: WordSpans, language: FollowUpWords, places: tuple[ReferenceCue, ...]) -> ReferenceCue | None:
    """A comparison whose terms are in the talk: with a place ("than the first") or with all of them ("which one…")."""
    bare = language.patterns["bare_comparison"].search(line.text.rstrip(" ?!.…"))
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
    everything = next((pick for pick in picks if pick.every), None)
    pick = everything or Pick(positions=tuple(dict.fromkeys(p for pick in picks for p in pick.positions)))
    noun = next((place.noun for place in places if place.noun), "")
    return ReferenceCue.at(line.match_span(cue), line, "comparison", 0.85, pick=pick, noun=noun)


def correction(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """The cue of a message that corrects the last question, if it does."""
    if not line.words or len(line.words) > _LONGEST_CORRECTION:
        return None
    clause = line.text.rstrip(_FINAL_MARKS)
    for pattern in language.correction_patterns:
        if line.text.endswith("?") and "[?" not in pattern.pattern:
            continue
        match = pattern.fullmatch(clause)
        found = _correction_cue(line, language, match) if match is not None else None
        if found is not None:
            return found
    return None


def slip(line: WordSpans, language: FollowUpWords) -> ReferenceCue | None:
    """The part that is left of a message without the words that admit a slip ("sorry", "I misread it")."""
    if line.text.endswith("?") or len(line.words) > _LONGEST_CORRECTION:
        return None
    begin, end = 0, len(line.text.rstrip(_FINAL_MARKS))
    admits = line.original.lstrip().startswith("*")
    for _ in range(_MOST_SLIPS):
        opens = language.patterns["slip_opens"].match(line.text, begin, end)
        ends = language.patterns["slip_ends"].search(line.text, opens.end() if opens else begin, end)
        if opens is None and ends is None:
            break
        admits = True
        begin, end = opens.end() if opens else begin, ends.start() if ends else end
    leads = language.patterns["slip_leads"].match(line.text, begin, end)
    begin = leads.end() if leads else begin
    new = line.text[begin:end].strip(_FINAL_MARKS + "*").split()
    if not admits or not new or len(new) > _LONGEST_SLIP or any(_completes(word, language) for word in new):
        return None
    if _tells(new, language):
        return None
    if not any(is_content(language, word) or language.is_number(word) for word in new):
        return None
    first, last = line.token_at(begin + line.text[begin:end].index(new[0])), line.token_at(end - 1)
    while last > first and (not line.is_word(last) or line.word(last) in language.part_fillers):
        last -= 1
    start, stop = line.span(first, last)
    part = _bare_part(line, language, start, stop)
    return ReferenceCue("ellipsis", 0.8, start, stop, line.original[start:stop], part=part, corrects=True)


def _completes(word: str, language: FollowUpWords) -> bool:
    return word in language.auxiliaries or word in language.question_words or word in language.second_person


def _tells(new: Sequence[str], language: FollowUpWords) -> bool:
    """Whether the words after "actually" state something new ("we moved to Genoa") instead of naming a part."""
    return (
        len(new) > 1
        and new[0] in language.subject_pronouns
        and not language.patterns["slip_leads"].match(" ".join(new))
    )


def _correction_cue(line: WordSpans, language: FollowUpWords, match: re.Match[str]) -> ReferenceCue | None:
    groups = match.groupdict()
    if groups.get("bare") is not None:
        words = match.group("bare").split()
        acts = not (language.verbs | language.auxiliaries | language.requests).isdisjoint(words)
        if acts or len(words) > _LONGEST_BARE or line.text.endswith("?") or _tells(words, language):
            return None
    name = next(each for each in ("new", "add", "bare") if groups.get(each) is not None)
    said = (groups.get("old") or "").split()
    if said[2:] and not (language.auxiliaries | language.verbs).isdisjoint(said[:2]):
        return None  # "Non posso prendere l'aspirina, sono allergica", "Rossi ha pagato, non mi deve più niente"
    start, end = _group_span(line, match, name)
    if next(places(split_words(line.original[start:end]), language), None) is not None:
        return None  # "Not the first, the other three": items of a list.
    new = _bare_part(line, language, start, end)
    if not new or not any(is_content(language, word) or language.is_number(word) for word in match.group(name).split()):
        return None
    old = line.original[slice(*_group_span(line, match, "old"))] if groups.get("old") else ""
    add = name == "add"
    return ReferenceCue.at((start, end), line, "ellipsis", 0.8, part=new, instead_of=old, corrects=True, whole=add)


def _bare_part(line: WordSpans, language: FollowUpWords, start: int, end: int) -> str:
    """The new part without "the one" and "quella", which stand for the part that is already there."""
    first, last = line.token_at_offset(start), line.token_at_offset(end - 1)
    stands = line.word(first) in language.demonstrative and not is_content(language, line.word(first + 1))
    one = line.word(first) in language.articles and line.word(first + 1) in language.ones
    if (stands or one) and first + 1 + one <= last:
        start = line.tokens[first + 1 + one].start
    return line.original[start:end].strip()


def _group_span(line: WordSpans, match: re.Match[str], name: str) -> tuple[int, int]:
    begin, end = match.span(name)
    return line.span(line.token_at(begin), line.token_at(max(begin, end - 1)))


def about_answer(line: WordSpans, language: FollowUpWords, said: Words) -> ReferenceCue | None:
    """The cue of a question made of words of the last answer, if it is one."""
    if not said or len(line.words) > LONGEST_ABOUT:
        return None
    topical = [at for at, token in enumerate(line.tokens) if token.is_word and is_topical(language, token.word)]
    shared = [at for at in topical if root(line.word(at)) in said and len(line.word(at)) > 2]
    if not shared:
        return None
    others = [at for at in topical if at not in shared]
    if any(at > 0 and line.tokens[at].capital and line.word(at) not in language.time_names for at in topical):
        return None
    # Where general nouns take the article too, the subject comes first: a word before it would be the topic.
    first = topical[:1] if language.article_forms else topical
    definite = [at for at in shared if at in first and _definite(line, language, at)]
    if not definite and any(_object(line, language, at) for at in others):
        return None  # It names a subject of its own.
    named = any(token.capital and len(token.word) > 1 for token in line.tokens[1:])
    opens = topical[0] == shared[0] and len(others) <= len(shared) and not named
    briefly = len(line.words) <= _BRIEF and language.indefinite.isdisjoint(line.words[:-1])
    if not definite and not (opens and briefly):
        return None
    noun = line.word(definite[0] if definite else shared[-1])
    return ReferenceCue.at(line.span(shared[0], shared[-1]), line, "ellipsis", 0.55, noun=noun, about=True)


def _object(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    return line.word(at - 1) in language.articles or line.word(at - 1) in language.indefinite


def _definite(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """ "the therapy", "la cascata": known from the talk, unless what follows tells which."""
    following = line.word(at + 1)
    told = following in language.prepositions or following in language.relatives or following in language.comparatives
    # "What is the boiling point?" asks for a definition and is complete.
    defined = line.word(at - 2) in language.copulas and line.word(at - 3) in language.question_words
    article = line.word(at - 1) in language.articles and line.word(at - 1) not in language.contracted
    return article and not told and not defined
