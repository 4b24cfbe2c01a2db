"""The noun phrases of a question, found without a tagger.

A phrase is a run of words that are neither grammar nor common verbs; "of" joins two runs, and a noun that only makes
sense of something ("types of sharks") gives way to that something. Good enough to name a topic, and cheap.
"""

from dataclasses import dataclass

from ricordo.languages.followup_words import FollowUpWords
from ricordo.languages.text import WordSpans, stem


@dataclass(frozen=True, slots=True)
class Phrase:
    """A run of words in a text; `topical` when it can stand as a topic, else it waits for one ("the symptoms")."""

    text: str
    words: tuple[str, ...]
    start: int
    end: int
    topical: bool
    proper: bool
    definite: bool
    plural: bool
    determiner: str = ""

    @property
    def stems(self) -> frozenset[str]:
        """The words of the phrase without number."""
        return frozenset(stem(word) for word in self.words)


def phrases(line: WordSpans, language: FollowUpWords) -> tuple[Phrase, ...]:
    """The noun phrases of a line in the order of the words."""
    found_runs = [run for run in runs(line, language) if run]
    found: list[Phrase] = []
    at = 0
    while at < len(found_runs):
        first, last = found_runs[at]
        waits = not _topical(line, language, first, last)
        while at + 1 < len(found_runs) and _linked(line, language, last, found_runs[at + 1][0]):
            at += 1
            if waits:
                # "types of sharks": the first part is kept as what is asked, the second is the topic.
                found.append(_phrase(line, language, first, last))
                first = found_runs[at][0]
            last = found_runs[at][1]
            waits = not _topical(line, language, first, last)
        found.append(_phrase(line, language, first, last))
        at += 1
    return tuple(found)


def content_words(line: WordSpans, language: FollowUpWords) -> tuple[str, ...]:
    """The words of a line that carry meaning, in order, each once."""
    return tuple(dict.fromkeys(word for word in line.words if language.is_content(word) and len(word) > 1))


def runs(line: WordSpans, language: FollowUpWords) -> list[tuple[int, int] | None]:
    """The runs of content words, as first and last token; None where nothing of a run is left."""
    found: list[tuple[int, int] | None] = []
    begin: int | None = None
    for at in range(len(line.tokens) + 1):
        if at < len(line.tokens) and _belongs(line, language, at, begin is not None):
            begin = at if begin is None else begin
            continue
        if begin is not None:
            found.append(_trim(line, language, begin, at - 1))
            begin = None
    return found


def _belongs(line: WordSpans, language: FollowUpWords, at: int, inside: bool) -> bool:
    token = line.tokens[at]
    if not token.is_word:
        glued = line.is_word(at + 1) and line.tokens[at + 1].start == token.end
        return inside and glued and token.word in "-/+.&" and line.tokens[at - 1].end == token.start
    if not token.capital and line.word(at - 1) in language.manner_words and line.word(at + 1) in language.copulas:
        return False  # "How reliable is…": a measure, not a topic.
    if language.gerund and token.word.endswith(language.gerund) and _object_at(line, language, at + 1):
        return False  # "signing a mortgage": a verb, its object is the topic.
    if not token.capital and _acts(line, language, at):
        return False
    if token.word == "s" and inside:
        # "Darwin's theory" is one phrase.
        owned = at > 0 and token.start == line.tokens[at - 1].end + 1
        return owned and line.is_word(at + 1) and language.is_content(line.word(at + 1))
    if token.capital and at > 0 and token.word not in language.function_words:
        return True
    if token.capital and inside and len(token.word) > 1 and token.word not in language.auxiliaries:
        return True
    return language.is_content(token.word)


def _acts(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    """ "devo portare", "dove compro": a word in the place of a verb names no topic."""
    before, word = line.word(at - 1), line.word(at)
    if before in language.verb_markers and (_object_at(line, language, at + 1) or language.verb_markers_alone):
        return True
    if before in language.auxiliaries and language.patterns["participle"].fullmatch(word):
        return True
    if before in language.auxiliaries:
        return language.patterns["infinitive"].fullmatch(word) is not None
    if (before in language.question_words) and _object_at(line, language, at + 1) and language.verb_markers_alone:
        return True
    asks = before in language.manner_words or before in language.action_askers
    return asks and language.patterns["first_person"].fullmatch(word) is not None


def _object_at(line: WordSpans, language: FollowUpWords, at: int) -> bool:
    word = line.word(at)
    return word in language.articles or word in language.indefinite or word in language.owners


def _trim(line: WordSpans, language: FollowUpWords, first: int, last: int) -> tuple[int, int] | None:
    """Drop the verb that do-support leaves at an edge, then adjectives that say nothing of the topic."""
    before = [line.word(at) for at in range(max(0, first - 3), first)]
    if first < last and language.do_support and any(word in language.do_support for word in before):
        subject_is_pronoun = bool(before) and before[-1] in language.subject_pronouns
        if subject_is_pronoun:
            first += 1
        elif not line.tokens[last].capital and _verb_missing(line, language, last):
            last -= 1
    if first < last and _predicated(line, language, first, last):
        last -= 1
    while first < last and line.word(first) in language.empty_adjectives and not _proper_at(line, first):
        first += 1
    while first < last and line.word(last) in language.empty_adjectives and not _proper_at(line, last):
        last -= 1
    while first < last and not line.is_word(first):
        first += 1
    return (first, last) if line.is_word(first) else None


def _predicated(line: WordSpans, language: FollowUpWords, first: int, last: int) -> bool:
    """ "Why was the system chosen?": after how, why, when and a form of be, the last word is said of the topic."""
    if line.tokens[last].capital or (line.is_word(last + 1) and line.word(last + 1) in language.links):
        return False
    before = [line.word(at) for at in range(max(0, first - 3), first)]
    asks = [word for word in before if word in language.manner_words]
    return bool(asks) and any(word in language.copulas for word in before)


def _verb_missing(line: WordSpans, language: FollowUpWords, last: int) -> bool:
    return not any(token.word in language.verbs for token in line.tokens[last + 1 :])


def _linked(line: WordSpans, language: FollowUpWords, last: int, following: int) -> bool:
    between = [line.word(at) for at in range(last + 1, following)]
    if len(between) == 1 and between[0] in language.coordinators:
        return _proper_at(line, last) and _proper_at(line, following)
    if not 1 <= len(between) <= 2 or between[0] not in language.links:
        return False
    return len(between) == 1 or between[1] in language.articles or between[1] in language.indefinite


def _topical(line: WordSpans, language: FollowUpWords, first: int, last: int) -> bool:
    return any(
        language.is_topical(line.word(at)) or _proper_at(line, at) for at in range(first, last + 1) if line.is_word(at)
    )


def _proper_at(line: WordSpans, at: int) -> bool:
    return at > 0 and line.tokens[at].capital


def _phrase(line: WordSpans, language: FollowUpWords, first: int, last: int) -> Phrase:
    start, end = line.span(first, last)
    words = tuple(line.word(at) for at in range(first, last + 1) if line.is_word(at))
    before = line.word(first - 1)
    head = words[-1]
    return Phrase(
        text=line.original[start:end],
        words=words,
        start=start,
        end=end,
        topical=_topical(line, language, first, last),
        proper=any(_proper_at(line, at) for at in range(first, last + 1)),
        definite=before in language.articles or before in language.demonstrative,
        plural=head.endswith("s") and not head.endswith("ss"),
        determiner=before if before in language.articles or before in language.indefinite else "",
    )
