"""The title of a topic, and the handle on one topic of a session: read, tag, set its importance, merge, export it.

A title is made from the message that opens the topic, by grammar alone. Nothing is merged automatically: a proposal
says how similar two topics are, and the caller decides.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ricordo.engine.core import Engine, Scope, turns_by_number
from ricordo.errors import DamageError, NotFoundError, StoreUnavailable, ValidationError
from ricordo.languages.registry import all_words, language
from ricordo.languages.text import fold, guess_language
from ricordo.limits import check_id, check_ids, check_within
from ricordo.recall.quantization import bytes_of, vector_of
from ricordo.records.derived import Topic, TopicChange, TopicShelf, TopicStats
from ricordo.records.turns import Turn
from ricordo.stores.archive.export import export_messages
from ricordo.topics.archive import attempts, change_topic
from ricordo.topics.decay import fading_of
from ricordo.topics.thresholds import Scale, scale_for, unit

_FEEDBACK_STEP = 0.2
TITLE_CHARACTERS = 80
_TITLE_WORDS = 5
_CLAUSE = re.compile(r"[,;:.?!…]+(?:\s|$)|\s[-–—]+\s")
_ELISION = re.compile(r"\b(\w{1,5}['’])(?=\w{3})")
_SPLIT_ELISION = re.compile(r"(?<=\w)(['’]) (?=\w)")
_PLURAL_VERB = re.compile(r"\w{2,}[ao]no")
_APOSTROPHE = re.compile(r"['’]")
_EDGES = " \t.,;:!?…-–—'’\"()[]«»“”"


def title_of(text: str) -> str:
    """A topic's title: the two to five words that name its subject, from the message that opened it.

    A message without such words gives its first 80 characters, on one line.
    """
    # Without control and direction characters; the joiners inside emoji are not such.
    unseen = {each for each in set(text) if unicodedata.category(each) in ("Cc", "Cf", "Cs", "Zl", "Zp")} - {
        "\u200c",
        "\u200d",
    }
    visible = "".join(" " if character in unseen else character for character in text)
    line = " ".join(visible.split())
    empty = all_words("vocabulary.stop_words").union(
        *map(all_words, ("vocabulary.small_talk", "followups.function_words", "followups.verbs", "topics.polite_words"))
    )
    best: list[str] = []
    polite = all_words("topics.polite_words") - all_words("vocabulary.small_talk")
    for clause in _CLAUSE.split(line):
        words = _ELISION.sub(r"\1 ", clause).split()
        full: list[bool] = []
        for word in (each.strip(_EDGES) for each in words):
            goes_on = full[-1:] == [True] and (word.isdecimal() or fold(word) in polite)  # "Wi-Fi 6", not "i'm 41"
            full.append(goes_on or _names(word, empty, opening=not full))
        _mark_grammar(words, full, clause)
        if phrase := _verb_as_noun(words, clause):
            best = phrase if len(phrase) > len(best) else best
            continue
        first = full.index(True) if any(full) else len(words)
        here = _articles(clause)
        if first > 0 and fold(words[0].strip(_EDGES)) not in all_words("topics.definite"):
            # A verb stands between the question word and the article of what is asked: "quanto dista la Luna".
            article = next((at for at in range(first + 1, min(first + 3, len(words))) if words[at] in here), 0)
            if article and all(full[first:article]) and any(full[article + 1 : article + 2]):
                first = article + 1
        verb = language(guess_language(clause)).followups.infinitive
        for at in range(first, min(first + 4, len(words) - 2)) if verb else ():
            if re.fullmatch(verb, fold(words[at])) and words[at + 1] in here and full[at + 2]:
                first = at + 2  # what is to be done, to what: "organizzare un viaggio"
                break
        if full[first + _TITLE_WORDS - 1 : first + _TITLE_WORDS + 1] == [True, True]:  # a name would be cut
            kept = [at for at in range(len(words)) if at <= first or words[at] not in here]
            words, full = [words[at] for at in kept], [full[at] for at in kept]
        size = max((end for end in range(1, _TITLE_WORDS + 1) if any(full[first + end - 1 : first + end])), default=0)
        if sum(full[first : first + size]) > sum(fold(word) not in empty for word in best):
            best = _without_clause(words[:first], words[first : first + size], clause)
    named = _SPLIT_ELISION.sub(r"\1", " ".join(best)).strip(_EDGES)
    return (named or line)[:TITLE_CHARACTERS].rstrip() or "…"


def _mark_grammar(words: list[str], full: list[bool], clause: str) -> None:
    """Set what the place of a word tells: after "of" a verb is a noun, and a time that only dates names nothing.

    In "how far ahead should I book the Colosseum" and "come capisco se il pesce è fresco" a verb stands behind the
    pronoun or the question word; where more follows, that is what the question is about.
    """
    tables = language(guess_language(clause))
    grammar, bare = tables.followups, [_APOSTROPHE.sub("", fold(word.strip(_EDGES))) for word in words]
    articles = frozenset() if grammar.verb_particles else tables.vocabulary.articles  # not "la compro"
    times = grammar.time_nouns.union(fold(day) for day in tables.calendar.weekday_names)
    others = grammar.prepositions.union(grammar.articles, tables.vocabulary.articles, tables.topics.definite)
    for at, word in enumerate(bare[:-2]):
        if word in grammar.support_verbs and bare[at + 1] in grammar.function_words - others and full[at + 2]:
            full[at + 2] = False
            full[:at] = [False] * at if any(full[at + 3 :]) else full[:at]
        elif word in grammar.manner_words and re.fullmatch(grammar.first_person, bare[at + 1]):
            full[at + 1] = False
    for at, word in enumerate(bare):
        before = [each for each in bare[max(at - 2, 0) : at] if each not in grammar.articles | grammar.modifiers]
        if word in grammar.verbs and bare[at - 1 : at] and bare[at - 1] in grammar.links | articles:
            full[at] = True
        elif word in times and not (before and before[-1] in grammar.prepositions | grammar.links):
            full[at] = False
            for near in (at - 1, at + 1):
                if 0 <= near < len(bare) and re.fullmatch(tables.calendar.past, bare[near]):
                    full[near] = False


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
    while start < len(bare) and bare[start] in tables.vocabulary.articles.union(tables.topics.definite):
        start += 1
    stop = next((at for at in range(start, len(bare)) if bare[at] in grammar.function_words), len(bare))
    run = range(start + 1, stop)
    if not run:
        return []
    known = grammar.verbs | set(tables.vocabulary.irregular_forms.values())
    guess = stop - (1 if stop < len(bare) or len(run) == 1 or support > 1 else 2)  # an object of one word may follow
    if words[guess][:1].isupper() or re.search("[^s]s$", bare[guess]):  # a name or a plural: "vinyl records crackle"
        guess = stop - 1
    verb = next((at for at in run if bare[at] in known), guess)
    doing = [] if bare[verb + 1 : verb + 2] and bare[verb + 1].endswith(grammar.gerund) else [_gerund(words[verb])]
    if bare[verb] in grammar.verbs and verb + 1 == stop and (stop == len(bare) or bare[stop] in grammar.prepositions):
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
        asked = bool(before) and fold(before[-1]) in grammar.question_words  # "che prodotto uso contro la muffa"
        if (word in grammar.auxiliaries or (asked and word in grammar.verbs)) and {*following} & grammar.prepositions:
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


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two topics that may be merged. `keep` is the one with more uses, then the older one."""

    keep: str
    absorb: str
    similarity: float


def near_topics(topics: Sequence[Topic], scale: Scale) -> tuple[Proposal, ...]:
    """Pairs of topics with similar centres, the most similar first.

    Centres are means, so two topics of one field are more similar than two messages: the threshold lies halfway between
    the return threshold and 1.
    """
    threshold = scale.return_threshold + (1.0 - scale.return_threshold) / 2
    found: list[Proposal] = []
    for index, first in enumerate(topics):
        for second in topics[index + 1 :]:
            if len(first.centre) != len(second.centre) or first.embedder != second.embedder:
                continue
            similarity = float(np.dot(vector_of(first.centre), vector_of(second.centre)))
            if similarity >= threshold:
                keep, absorb = sorted(
                    (first, second), key=lambda topic: (-topic.access_count, topic.created_at, topic.id)
                )
                found.append(Proposal(keep.id, absorb.id, similarity))
    return tuple(sorted(found, key=lambda proposal: (-proposal.similarity, proposal.keep, proposal.absorb)))


def merged(keep: Topic, absorb: Topic) -> Topic:
    """`keep` with the messages, uses and tags of `absorb`; the centre is the mean weighted by messages.

    The higher importance and the later activity count, so that merging never makes a topic fade faster. Summaries are
    joined in the order in which the topics began.
    """
    if len(keep.centre) != len(absorb.centre) or keep.embedder != absorb.embedder:
        raise ValueError(f"topics {keep.id} and {absorb.id} have different embedders: embed them again first")
    older, younger = sorted((keep, absorb), key=lambda topic: (topic.created_at, topic.id))
    shares = [vector_of(topic.centre) * max(topic.message_count, 1) for topic in (keep, absorb)]
    return replace(
        keep,
        centre=bytes_of(unit(np.asarray(sum(shares), dtype=np.float32))),
        created_at=older.created_at,
        last_active_at=max(keep.last_active_at, absorb.last_active_at),
        importance=max(keep.importance, absorb.importance),
        access_count=keep.access_count + absorb.access_count,
        message_count=keep.message_count + absorb.message_count,
        archived_count=keep.archived_count + absorb.archived_count,
        restored_count=keep.restored_count + absorb.restored_count,
        hot=tuple(sorted({*keep.hot, *absorb.hot})),
        tags=tuple(dict.fromkeys(keep.tags + absorb.tags)),
        summary="\n".join(topic.summary for topic in (older, younger) if topic.summary) or None,
        state="working" if "working" in (keep.state, absorb.state) else "archived",
    )


def importance_after(importance: float, feedback: float) -> float:
    """Importance after feedback from -1 (useless) to 1 (valuable): at most a fifth of the way to 0 or 1.

    Never leaves [0, 1]; better feedback never gives less, and a more important topic never ends up below a less
    important one that got the same feedback.
    """
    if not -1 <= feedback <= 1:
        raise ValueError(f"feedback is {feedback}, but it must be between -1 and 1")
    room = 1.0 - importance if feedback >= 0 else importance
    return min(max(importance + _FEEDBACK_STEP * feedback * room, 0.0), 1.0)


class Topics(list[Topic]):
    """The topics of a session; `degraded` says why they may not be up to date."""

    def __init__(self, topics: Iterable[Topic] = (), *, degraded: tuple[str, ...] = ()) -> None:
        super().__init__(topics)
        self.degraded = degraded


def active_topic_id(topics: Iterable[Topic], session_id: str) -> str:
    """The topic that holds the newest turn; small talk after it does not count. NotFoundError if there is none."""
    newest = TopicShelf(tuple(topics)).active
    if newest is None:
        raise NotFoundError(f"session {session_id!r} has no topic yet; add a turn that is about something")
    return newest.id


class SessionTopic:
    """A handle on a topic; every call reads it from the store."""

    def __init__(self, engine: Engine, scope: Scope, topic_id: str) -> None:
        self._engine = engine
        self._scope = scope
        self.id = topic_id
        self.read()

    def read(self) -> Topic:
        """The topic as it is now; NotFoundError if it is gone."""
        return self._on(self._engine.store.topics.load(self._scope.owner, self._scope.session_id), self.id)

    def stats(self) -> TopicStats:
        """The topic in figures."""
        return self.read().stats(self._engine.clock.now(), fading_of(self._engine.settings.topics))

    def priority(self) -> float:
        """Its priority now: importance, faded by the time since it was used."""
        return self.read().priority(self._engine.clock.now(), fading_of(self._engine.settings.topics))

    def history(self) -> list[Turn]:
        """All of its turns in order, archived ones included."""
        owner, session_id = self._scope.owner, self._scope.session_id
        numbers = self._engine.store.topics.turns_of(owner, session_id, self.id)
        return turns_by_number(self._engine, owner, session_id, numbers)

    def tag(self, *tags: str) -> Topic:
        """Set its tags."""
        wanted = check_ids("tags", tags)
        return self._change(lambda topic: topic.tagged(wanted))

    def weigh(self, importance: float) -> Topic:
        """Set its importance by hand, from 0 to 1."""
        wanted = check_within("importance", importance, 0, 1)
        return self._change(lambda topic: topic.weighed(wanted))

    def feedback(self, value: float) -> Topic:
        """Learn its importance from feedback, from -1 (useless) to 1 (valuable)."""
        given = check_within("feedback", value, -1, 1)
        return self._change(lambda topic: topic.weighed(importance_after(topic.importance, given)))

    def near(self) -> list[tuple[str, float]]:
        """Similar topics of this session, with their similarity."""
        shelf = self._engine.store.topics.load(self._scope.owner, self._scope.session_id)
        scale = scale_for(self.read().embedder)
        found = near_topics(shelf.topics, scale)
        pairs = [(each.keep if each.absorb == self.id else each.absorb, each.similarity, each) for each in found]
        return [(other, similarity) for other, similarity, each in pairs if self.id in (each.keep, each.absorb)]

    def merge(self, other_id: str) -> Topic:
        """Make another topic of this session part of this one."""
        owner, session_id = self._scope.owner, self._scope.session_id
        if check_id("other_id", other_id) == self.id:
            raise ValidationError("other_id", "a topic cannot be merged with itself")
        for _ in attempts():
            shelf = self._engine.store.topics.load(owner, session_id)
            keep, other = (self._on(shelf, topic_id) for topic_id in (self.id, other_id))
            try:
                joined = merged(keep, other)
            except ValueError as error:
                raise ValidationError("other_id", str(error)) from error
            moving = dict.fromkeys(self._engine.store.topics.turns_of(owner, session_id, other_id), self.id)
            change = TopicChange(shelf.revision, put=(joined,), removed=(other_id,), assigned=moving)
            if self._engine.store.topics.put(owner, session_id, change):
                return joined
        raise StoreUnavailable(f"topic {self.id!r} keeps being changed by others; try again")

    def export(self) -> str:
        """Its messages as base64 of gzip of JSON: role, content, timestamp; DamageError if any of them is lost."""
        turns = self.history()
        damages = dict.fromkeys(turn.damage for turn in turns if turn.damage)
        if damages:  # the format cannot mark what is missing
            raise DamageError(f"topic {self.id!r} cannot be exported whole: {'; '.join(damages)}")
        return export_messages([message for turn in turns for message in turn.messages])

    def _on(self, shelf: TopicShelf, topic_id: str) -> Topic:
        topic = shelf.topic(topic_id)
        if topic is None:
            session_id = self._scope.session_id
            raise NotFoundError(f"topic {topic_id!r} does not exist in session {session_id!r}; list the topics")
        return topic

    def _change(self, change: Callable[[Topic], Topic]) -> Topic:
        changed = change_topic(self._engine, self._scope.owner, self._scope.session_id, self.id, change)
        return changed or self.read()
