"""Assigning a message to a topic: it stays in the active one, returns to an older one, or opens a new one.

The message, the last messages of the active topic and the centres of the other topics go in; a decision with its
reason comes out. Besides similarity, features of the conversation count: an answer to a question stays, an unrelated
question leaves, a follow-up stays whatever its words.
"""

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ricordo.followups.reference import ReferenceCue, main_kind
from ricordo.languages.registry import AnyLanguage, all_words, language
from ricordo.languages.text import fold, guess_language
from ricordo.recall.evidence import snowball_stems
from ricordo.recall.quantization import dimensions_of, matrix_of, vector_of
from ricordo.records.derived import Topic
from ricordo.records.turns import Role
from ricordo.topics.thresholds import Scale, Vector

FollowUpKind = Literal["no", "talk", "past"]

_OPENING = AnyLanguage(r"\W*(?:<topics.openings>)\b")  # at the very beginning: use match
_CLOSING = AnyLanguage(r"\b(?:<topics.closings>)\b")
REFERRING = AnyLanguage(r"\b(?:<topics.referring>)\b")
# A conjunction at the very beginning, or a word that adds to what was said: use search.
_CONTINUING = AnyLanguage(r"\A\W*(?:<topics.joining>)\b(?!')|\b(?:<topics.adding>)\b")

# A pronoun carries a short question; in a longer message it mostly points inside the message itself.
_SHORT_WORDS = 8


def follow_up_kind(text: str, references: Sequence[ReferenceCue]) -> FollowUpKind:
    """Whether the message continues the talk, points into the past, or stands by itself."""
    kind = main_kind(tuple(references))
    if kind in ("back", "statement"):
        return "past"
    if kind is None or (kind == "pronoun" and len(text.split()) > _SHORT_WORDS):
        return "no"
    return "talk"


TITLE_CHARACTERS = 80
RECENT_MESSAGES = 4
_TYPICAL_WORDS = 8
_MOST_WORDS = 16
_TITLES_READ = 5
_CONTENT_CHARACTERS = 400  # the beginning says what a message is about, and a long answer must not cost more
_WORD = re.compile(r"\w+")
_TITLE_WORDS = 5
_CLAUSE = re.compile(r"[,;:.?!…]+(?:\s|$)|\s[-–—]+\s")
_ELISION = re.compile(r"\b(\w{1,5}['’])(?=\w{3})")
_SPLIT_ELISION = re.compile(r"(?<=\w)(['’]) (?=\w)")
_PLURAL_VERB = re.compile(r"\w{2,}[ao]no")
_APOSTROPHE = re.compile(r"['’]")
_EDGES = " \t.,;:!?…-–—'’\"()[]«»“”"

Reason = Literal["first", "follow-up", "close", "returns", "new", "small talk"]


@dataclass(frozen=True, slots=True)
class AssignWeights:
    """How much each feature counts against staying, in spreads of the embedder's cosines.

    Calibrated once on labelled dialogues, for all embedders together; docs/topics.md says how, and what each is worth.
    The cosine with the message just before and the highest one with the recent messages share one spread.
    """

    previous_share: float = 0.36
    asks: float = 1.93
    answers: float = -1.77
    length: float = 1.17
    closed: float = 0.96
    opens: float = 1.83
    leans: float = -0.32
    overlap: float = -0.85
    young: float = -1.37
    title: float = -1.0
    put_to_assistant: float = -0.75
    continues: float = -1.0


WEIGHTS = AssignWeights()


@dataclass(frozen=True, slots=True)
class TopicMessage:
    """A message to assign: its text, its unit vector, and its role."""

    text: str
    vector: Vector
    role: Role = "user"


@dataclass(frozen=True, slots=True)
class Closeness:
    """The mean cosine of consecutive messages of one session so far; changed by copy."""

    total: float = 0.0
    count: int = 0

    def after(self, before: Vector, message: Vector) -> "Closeness":
        """This closeness with one more pair of consecutive messages."""
        return Closeness(self.total + float(before @ message), self.count + 1)

    def shift(self, scale: Scale) -> float:
        """How far this session's cosines lie from the scale's mean; near 0 while the session is short."""
        return (self.total - self.count * scale.mean) / (scale.trust + self.count)


@dataclass(frozen=True, slots=True)
class TalkState:
    """The active topic, its last messages (oldest first), and the closeness of the session."""

    topic_id: str
    recent: tuple[TopicMessage, ...]
    message_count: int
    closeness: Closeness = Closeness()


@dataclass(frozen=True, slots=True)
class Decision:
    """The topic of a message; `topic_id` is None for a new topic.

    `similarity` is the adjusted similarity to the topic compared last; it is compared with `threshold`.
    """

    topic_id: str | None
    reason: Reason
    similarity: float = 0.0
    threshold: float = 0.0

    @property
    def margin(self) -> float:
        """Similarity minus threshold."""
        return self.similarity - self.threshold


def decide(
    message: TopicMessage,
    talk: TalkState | None,
    topics: Sequence[Topic],
    scale: Scale,
    *,
    follow_up: FollowUpKind = "no",
) -> Decision:
    """Stay in the active topic, return to one of `topics`, or open a new one.

    A follow-up of kind "talk" stays in the active topic whatever its words; one of kind "past" goes to the most similar
    topic and never opens one.

    `topics` may hold working and archived topics, and the active one; only centres as long as the message's vector are
    compared, so that topics of another embedder are ignored until they are embedded again.
    """
    active = talk if talk is not None and talk.recent else None
    if active is not None and follow_up == "talk":
        return Decision(active.topic_id, "follow-up")
    others = [topic for topic in topics if active is None or topic.id != active.topic_id]
    if active is not None and follow_up == "past":
        named = _named_topics(message, active, topics)
        if named and (back := _best_return(message, named, scale)):
            return back if back.margin >= 0 else replace(back, reason="follow-up")
    stay, back = _stay(message, active, scale), _best_return(message, others, scale)
    if active and active.recent[-1].role == "assistant" and stay and back and min(stay.margin, back.margin) >= 0:
        # Both pass. Conversation features were counted for staying only, so if the words name the other topic, both
        # are compared by the same measure.
        two = [topic for topic in topics if topic.id in (stay.topic_id, back.topic_id)]
        here = _best_return(message, [topic for topic in two if topic.id == stay.topic_id], scale)
        if here and back.similarity > here.similarity and _named_topics(message, active, two):
            return back
    choices = [choice for choice in (stay, back) if choice]
    best = max(choices, key=lambda choice: choice.margin, default=None)
    if best is None:
        return Decision(None, "first")
    if best.margin >= 0:
        return best
    if follow_up == "past":  # it refers to one of these topics: take the most similar
        return replace(best, reason="follow-up")
    if active and active.recent[-1].role == "assistant":
        # It leaves the active topic; a topic that its words name needs only the threshold for staying.
        back = _best_return(message, _named_topics(message, active, _within_reach(message, topics, scale)), scale)
        if back and back.similarity >= scale.threshold:
            return replace(back, threshold=scale.threshold)
    return replace(choices[0], topic_id=None, reason="new")


def _named_topics(message: TopicMessage, talk: TalkState, topics: Sequence[Topic]) -> list[Topic]:
    """The other topics that share more words with the message than the active one does."""
    content = _content(message.text)
    shared = {topic.id: len(content & _content(" ".join((topic.title, *topic.tags)))) for topic in topics}
    here = len(content & set().union(*(_content(said.text) for said in talk.recent)))
    least = max(here, shared.pop(talk.topic_id, 0))
    return [topic for topic in topics if shared.get(topic.id, 0) > least]


def _within_reach(message: TopicMessage, topics: Sequence[Topic], scale: Scale) -> list[Topic]:
    """The topics that could pass the threshold for staying with the help of their title; reading titles is slow."""
    least = scale.threshold + scale.spread * WEIGHTS.title
    comparable = _comparable(message, topics)
    return [topic for topic in comparable if vector_of(topic.centre) @ message.vector >= least]


def _comparable(message: TopicMessage, topics: Sequence[Topic]) -> list[Topic]:
    return [topic for topic in topics if dimensions_of(topic.centre) == message.vector.size]


def _stay(message: TopicMessage, talk: TalkState | None, scale: Scale) -> Decision | None:
    if talk is None:
        return None
    return Decision(talk.topic_id, "close", similarity(message, talk, scale), scale.threshold)


def similarity(message: TopicMessage, talk: TalkState, scale: Scale, weights: AssignWeights = WEIGHTS) -> float:
    """Similarity of the message to the active topic: its cosines with the recent messages, adjusted by the features.

    Compare it with `scale.threshold`: a question of typical length without other features is judged by cosine alone.
    """
    recent = talk.recent[-RECENT_MESSAGES:]
    cosines = np.stack([said.vector for said in recent]) @ message.vector
    closest = float(cosines.max())
    cosine = weights.previous_share * float(cosines[-1]) + (1 - weights.previous_share) * closest
    before = recent[-1].text
    shift = talk.closeness.shift(scale)
    if recent[-1].role == "assistant":
        # Every message to an assistant is a request, so a question mark means nothing. And many changes of topic must
        # not lower the threshold of the session: it only rises.
        asks = weights.put_to_assistant + weights.continues * bool(_CONTINUING.search(message.text))
        shift = max(shift, -scale.give * scale.spread)
    else:
        asks = weights.asks * (("?" in message.text) - 1)
    content = _content(message.text)
    known: set[str] = set().union(*(_content(said.text) for said in recent))
    words = min(sum(1 for _ in _WORD.finditer(message.text)), _MOST_WORDS)
    leaving = (
        asks
        + weights.answers * before.rstrip().endswith("?")
        + weights.length * (math.log1p(words) - math.log1p(_TYPICAL_WORDS))
        + weights.closed * bool(_CLOSING.search(before))
        + weights.opens * bool(_OPENING.match(message.text))
        + weights.leans * bool(REFERRING.search(message.text))
        + weights.overlap * (len(content & known) / max(len(content), 1))
        + weights.young * (talk.message_count == 1)
    )
    # The shift of the session is subtracted here, so that the threshold stays one number.
    return cosine - shift - scale.spread * leaving


def _best_return(message: TopicMessage, topics: Sequence[Topic], scale: Scale) -> Decision | None:
    """The most similar of the other topics: cosine with its centre, raised by words shared with its title."""
    comparable = _comparable(message, topics)
    if not comparable:
        return None
    scores = matrix_of(tuple(topic.centre for topic in comparable)) @ message.vector
    content = _content(message.text)
    helped = -scale.spread * WEIGHTS.title
    reachable = np.flatnonzero(scores + helped >= scale.return_threshold)
    # Reading titles is slow: only those of the nearest topics are read.
    for row in reachable[np.argsort(-scores[reachable], kind="stable")[:_TITLES_READ]] if content else ():
        named = _content(" ".join((comparable[row].title, *comparable[row].tags)))
        scores[row] += helped * len(content & named) / max(min(len(content), len(named)), 1)
    best = int(scores.argmax())
    return Decision(comparable[best].id, "returns", float(scores[best]), scale.return_threshold)


def title_of(text: str) -> str:
    """A topic's title: the two to five words that name its subject, from the message that opened it.

    A message without such words gives its first 80 characters, on one line.
    """
    visible = "".join(" " if _hidden(character) else character for character in text)
    line = " ".join(visible.split())
    empty = all_words("vocabulary.stop_words").union(
        *map(all_words, ("vocabulary.small_talk", "followups.function_words", "followups.verbs", "topics.polite_words"))
    )
    best: list[str] = []
    for clause in _CLAUSE.split(line):
        words = _ELISION.sub(r"\1 ", clause).split()
        full: list[bool] = []
        for word in (each.strip(_EDGES) for each in words):
            number = word.isdecimal() and full[-1:] == [True]  # "Wi-Fi 6", but not "i'm 41"
            full.append(number or _names(word, empty, opening=not full))
        if phrase := _verb_as_noun(words, clause):
            best = phrase if len(phrase) > len(best) else best
            continue
        first = full.index(True) if any(full) else len(words)
        if first > 0 and fold(words[0].strip(_EDGES)) not in all_words("topics.definite"):
            # A verb stands between the question word and the article of what is asked: "quanto dista la Luna".
            here = _articles(clause)
            article = next((at for at in range(first + 1, min(first + 3, len(words))) if words[at] in here), 0)
            if article and all(full[first:article]) and any(full[article + 1 : article + 2]):
                first = article + 1
        verb = language(guess_language(clause)).followups.infinitive
        for at in range(first, min(first + 4, len(words) - 2)) if verb else ():
            if re.fullmatch(verb, fold(words[at])) and words[at + 1] in _articles(clause) and full[at + 2]:
                first = at + 2  # what is to be done, to what: "organizzare un viaggio"
                break
        size = max((end for end in range(1, _TITLE_WORDS + 1) if any(full[first + end - 1 : first + end])), default=0)
        if sum(full[first : first + size]) > sum(fold(word) not in empty for word in best):
            best = _without_clause(words[:first], words[first : first + size], clause)
    named = _SPLIT_ELISION.sub(r"\1", " ".join(best)).strip(_EDGES)
    return (named or line)[:TITLE_CHARACTERS].rstrip() or "…"


def _verb_as_noun(words: list[str], clause: str) -> list[str]:
    """The subject of a question such as "why does bread go stale" and what it does, as a name: "bread going stale".

    Empty where no such verb stands before a noun. A verb that says little ("work", "happen") is left out.
    """
    tables = language(guess_language(clause))
    grammar, bare = tables.followups, [fold(word.strip(_EDGES)) for word in words]
    support = next((at for at, word in enumerate(bare[:4]) if word in grammar.support_verbs), None)
    if support is None:
        return []
    start = support + 1
    while start < len(bare) and bare[start] in grammar.articles.union(tables.topics.definite):
        start += 1
    stop = next((at for at in range(start, len(bare)) if bare[at] in grammar.function_words), len(bare))
    run = range(start + 1, stop)
    if not run:
        return []
    known = grammar.verbs | set(tables.vocabulary.irregular_forms.values())
    guess = stop - 1 if stop < len(bare) or len(run) == 1 else stop - 2  # an object of one word stands at the end
    verb = next((at for at in run if bare[at] in known), guess)
    doing = [] if bare[verb + 1 : verb + 2] and bare[verb + 1].endswith(grammar.gerund) else [_gerund(words[verb])]
    if bare[verb] in grammar.verbs and verb + 1 == stop:
        doing = []
    return _ended([*words[start:verb], *doing, *words[verb + 1 :]][:_TITLE_WORDS], grammar.function_words)


def _gerund(verb: str) -> str:
    """An English verb with the ending -ing."""
    if re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", verb):
        return f"{verb}{verb[-1]}ing"  # "running"
    return re.sub(r"(?<=[^eoy])e$", "", re.sub(r"ie$", "y", verb)) + "ing"  # "dying", "making"


def _without_clause(before: list[str], phrase: list[str], clause: str) -> list[str]:
    """A phrase without what would make it a sentence: "pane (diventa) raffermo", "foglie che cambiano colore"."""
    grammar = language(guess_language(clause)).followups
    bare = [fold(word.strip(_EDGES)) for word in phrase]
    several = bool(before) and fold(before[-1]) in grammar.plural_articles
    for at in range(1, len(phrase)):
        word, following = bare[at], bare[at + 1 : at + 2]
        reflexive = at == 1 and bool(before) and fold(before[-1]) in grammar.verb_particles  # "mi chiamo Anna"
        if phrase[at][:1].isupper() and (bare[at - 1] in grammar.copulas or reflexive):
            end = next((stop for stop in range(at, len(bare)) if bare[stop] in grammar.coordinators), len(bare))
            return phrase[at:end]
        if phrase[at].lower() in grammar.linking_verbs:
            return phrase[:at] + phrase[at + 1 :]
        if not grammar.relative or bare[at - 1] in grammar.function_words:
            continue
        if word in grammar.auxiliaries and following and following[0] in grammar.prepositions:
            return phrase[:at] + phrase[at + 1 :]
        if word in grammar.verbs | grammar.verb_particles or (several and _PLURAL_VERB.fullmatch(word)):
            told = _ended([*phrase[:at], grammar.relative, *phrase[at:]][:_TITLE_WORDS], grammar.function_words)
            return phrase[:at] if fold(told[-1]) in grammar.verbs else told  # such a verb alone says nothing
        if word in grammar.auxiliaries:
            return phrase[:at]
    return phrase


def _ended(phrase: list[str], function_words: frozenset[str]) -> list[str]:
    """A phrase that does not end in grammar."""
    while phrase and fold(phrase[-1].strip(_EDGES)) in function_words:
        phrase.pop()
    return phrase


def _names(word: str, empty: frozenset[str], *, opening: bool) -> bool:
    """Whether a word of a title can name something: not grammar, not "what's" or "I'm", not a number alone."""
    if not any(map(str.isalpha, word)):
        return False
    if len(word) > 1 and word[0].isupper() and not opening:
        return not _only_grammar(word, empty)
    return fold(word) not in empty and not _only_grammar(word, empty)


def _only_grammar(word: str, empty: frozenset[str]) -> bool:
    parts = _APOSTROPHE.split(fold(word))
    return len(parts) > 1 and all(len(part) < 3 or part in empty for part in parts)


def _articles(clause: str) -> frozenset[str]:
    """The articles of the language of a clause, with an apostrophe where they are joined to the noun."""
    words = language(guess_language(clause)).vocabulary
    return words.articles | {f"{each}{mark}" for each in words.elided_articles for mark in "'’"}


def _hidden(character: str) -> bool:
    """Whether a character is a control or direction character; the joiners inside emoji are not."""
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp") and character not in "\u200c\u200d"


def _content(text: str) -> set[str]:
    return set(snowball_stems(text[:_CONTENT_CHARACTERS]))
