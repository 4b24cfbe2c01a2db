"""What is held for one user, as the reader needs it: passages of past turns and their words, sessions by day, facts.

Every read goes through the index or by id; nothing scans all turns. Answers that the reader quoted from memory are no
source of their own, and neither are questions that it answered, but for what was stated beside them.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cache, cached_property, lru_cache, partial
from itertools import takewhile
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from ricordo.chat.question import (
    FIRST_PERSON,
    LAST_ANSWER,
    SMALL_TALK,
    STATED,
    MemoryQuestion,
    folded,
    forms,
    heard,
    memory_question,
    synonyms,
)
from ricordo.languages.registry import NOTHING, AnyLanguage, LazyPattern, all_words, escaped, language, languages
from ricordo.languages.text import as_told, guess_language, sentences
from ricordo.people.facts.clauses import ADVERB, third_form
from ricordo.people.facts.judge import describe
from ricordo.people.facts.merge import SINGLE, group_of
from ricordo.people.facts.statements import corrected_sentence
from ricordo.recall.evidence import tokens
from ricordo.recall.ranking import cosine_threshold
from ricordo.records.turns import Message, Owner, SessionInfo, Turn, turn_id_of

if TYPE_CHECKING:
    from ricordo.languages.base import Language
    from ricordo.languages.dates import Period
    from ricordo.memory import Memory
    from ricordo.records.derived import Fact

READER = "reader"
_NOT_TALK = (READER, "clarification", "safety")  # answerers whose answers are no source
_TOLD_TURNS = 40  # of a session that is told
_SEARCHED = 24
_NEAR_TURNS = 6  # looked at for what was said right before or after a message
_CORRECTED_WITHIN = 2  # messages after one in which it is corrected
_FORGOTTEN_FROM = 0.6  # share of the words of what is to be forgotten that one sentence holds
_SESSIONS = 40  # sessions looked at for the talk of a day
_PAGE = 200  # sessions
_RECENT = 8  # turns looked at for the last answer
_POINT = re.compile(r"^(?:(?:\d+\.|[-*])\s+)?(?P<said>\S.*?)\s*(?:\[[^\]\n]+\]\s*)+$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class MemoryPassage:
    """One message of the past: who said it, when, how well recall finds it, and the other messages around it.

    `cosine` is its similarity to the question, less what relevant messages usually reach with this embedder. Where a
    message corrects the one of the turn `corrects`, `text` is the whole sentence that it means and `words` what was
    said.
    """

    message_id: str
    session_id: str
    turn_number: int
    role: str
    text: str
    said_at: datetime
    score: float = 0.0
    around: str = ""
    cosine: float = 0.0
    words: str = ""
    corrects: int = 0


@dataclass(frozen=True, slots=True)
class Outdated:
    """Until when a message counted, and the messages that say otherwise since."""

    until: datetime
    replaced_by: frozenset[str]


class Past:
    """The past of a user as it was before the turn that is being answered."""

    def __init__(self, memory: "Memory", user_id: str, agent_id: str, turn_id: str) -> None:
        self._memory = memory
        self._user, self._agent = user_id, agent_id
        self._owner = Owner(memory.settings.tenant_id, user_id)
        self._turn_id = turn_id

    @property
    def now(self) -> datetime:
        """The present moment in the user's time zone."""
        return self._memory.clock.now().astimezone(self.zone)

    @property
    def zone(self) -> ZoneInfo:
        """The user's time zone."""
        return ZoneInfo(self._memory.settings.profile.time_zone)

    @cached_property
    def session_id(self) -> str:
        """The session that is answered in; empty outside of one."""
        turn = self._memory.store.turns.get(self._owner, self._turn_id) if self._turn_id else None
        return turn.session_id if turn else ""

    @cached_property
    def _project(self) -> str | None:
        """The project of the session that is answered in; None for that of the settings."""
        session = self._memory.store.sessions.get(self._owner, self.session_id) if self.session_id else None
        return session.project or None if session else None

    @cached_property
    def _every_fact(self) -> Sequence["Fact"]:
        return self._memory.facts(self._user, self._agent, superseded=True, project=self._project)

    @cached_property
    def facts(self) -> Sequence["Fact"]:
        """What is known of the user now."""
        now = self._memory.clock.now()
        return [fact for fact in self._every_fact if fact.known_at(now)]

    @cached_property
    def superseded(self) -> Sequence["Fact"]:
        """What was known of the user and is no longer true."""
        now = self._memory.clock.now()
        ended = [fact for fact in self._every_fact if fact.valid_to is not None and fact.valid_to <= now]
        return sorted(ended, key=lambda fact: fact.valid_to or now)

    @cached_property
    def outdated(self) -> dict[str, "Outdated"]:
        """The messages of which a fact is superseded: until when it counted, and the messages that replaced it."""
        by_id = {fact.id: fact for fact in self._every_fact}
        found: dict[str, Outdated] = {}
        for fact in self.superseded:
            newer = by_id.get(fact.superseded_by or "")
            replaced = frozenset(source.message_id for source in newer.sources) if newer else frozenset[str]()
            for source in fact.sources:
                if fact.valid_to is not None and source.message_id not in replaced:
                    found[source.message_id] = Outdated(fact.valid_to, replaced)
        return found

    @cached_property
    def replaced(self) -> dict[str, "Outdated"]:
        """The outdated messages from which no fact was learned that still counts."""
        current = {source.message_id for fact in self.facts for source in fact.sources}
        return {name: known for name, known in self.outdated.items() if name not in current}

    @cached_property
    def _quarantined(self) -> frozenset[str]:
        return frozenset(flag.subject_id for flag in self._memory.flags(self._user, state="quarantined", limit=100_000))

    def passages(self, question: str) -> tuple[MemoryPassage, ...]:
        """The messages that recall finds for a question, with the answers and questions that belong to them."""
        hits = self._memory.search(
            question, user_id=self._user, agent_id=self._agent, project=self._project, limit=_SEARCHED, patience=5.0
        )
        usual = cosine_threshold(hits.embedder)
        scores = {hit.message_id: (hit.score, (hit.cosine or 0.0) - usual) for hit in hits}
        ids = list(dict.fromkeys(turn_id_of(hit.message_id) for hit in hits))
        turns = {turn.id: turn for turn in self._memory.store.turns.by_ids(self._owner, ids)}
        return tuple(passage for turn_id in ids if turn_id in turns for passage in self._read(turns[turn_id], scores))

    def _read(self, turn: Turn, scores: dict[str, tuple[float, float]], *, asked: bool = False) -> list[MemoryPassage]:
        question = asked and turn.id != self._turn_id and turn.metadata.get("act") == "question"
        if turn.damage or not (question or self.is_talk(turn)):
            return []
        own = self._sources(turn, whole=asked)
        meant = corrected_sentence(turn.query, turn.metadata) if turn.metadata.get("standalone") else ""
        target = next((each["turn_number"] for each in turn.metadata.get("references", ()) if meant), 0)
        found = []
        for message in own:
            corrects = bool(meant) and message.role == "user"
            around = " ".join(other.content for other in own if other is not message)
            score, cosine = scores.get(message.id, (0.0, -0.2))
            found.append(
                MemoryPassage(
                    message.id, turn.session_id, turn.turn_number, message.role, meant if corrects else message.content,
                    message.created_at, score, around, cosine, message.content if corrects else "", target * corrects,
                )
            )  # fmt: skip
        return found

    def _sources(self, turn: Turn, *, whole: bool = False) -> list[Message]:
        """The messages of a turn; of a question that the reader answered only what was stated beside it.

        `whole`: all of the question, and what the answer quotes of the material.
        """
        quoted = turn.metadata.get("answerer") in _NOT_TALK
        messages = [turn.question] if turn.question else []
        if messages and not whole:
            messages = [replace(messages[0], content=as_told(messages[0].content))]
        if messages and not whole and (told := turn.metadata.get("told")):
            said = " … ".join(turn.query[start:end] for start, end in told)
            messages = [replace(messages[0], content=said)]
        if turn.answer and not quoted:
            messages.append(turn.answer)
        elif turn.answer and whole and turn.answer.chunk_ids:
            points = " ".join(point["said"] for point in _POINT.finditer(turn.answer.content))
            messages += [replace(turn.answer, content=points)] if points else []
        return [message for message in messages if message.id not in self._quarantined]

    def is_talk(self, turn: Turn) -> bool:
        """Whether a turn is part of the talk, and not a question that the reader answered."""
        if turn.id == self._turn_id or turn.damage:
            return False
        known = turn.metadata
        return known.get("answerer") not in _NOT_TALK or known.get("act") in STATED or bool(known.get("told"))

    def sessions(self, start: datetime | None = None, end: datetime | None = None) -> list[SessionInfo]:
        """The user's sessions with this agent that were active in a period, newest first."""
        every = self._memory.sessions(user_id=self._user, limit=_SESSIONS, project=self._project)
        return [
            each
            for each in every
            if each.agent_id == self._agent
            and (start is None or each.last_active_at >= start)
            and (end is None or each.created_at < end)
        ]

    def talk(self, session: SessionInfo, most: int = 12, *, asked: bool = False) -> list[MemoryPassage]:
        """The messages of a session, in order; with `asked`, also the questions that the reader answered."""
        turns = self._memory.store.turns.page(self._owner, session.id, last=most)
        return [passage for turn in turns for passage in self._read(turn, {}, asked=asked)]

    @cached_property
    def is_empty(self) -> bool:
        """Whether nothing was said before, as far as facts and the newest sessions tell."""
        return not self._every_fact and not any(self.talk(session, 3) for session in self.sessions())

    def sources(self, facts: Sequence["Fact"]) -> list[MemoryPassage]:
        """The messages that facts were learned from, oldest first."""
        wanted = {source.message_id for fact in facts for source in fact.sources} - self._quarantined
        turns = self._memory.store.turns.by_ids(self._owner, list(dict.fromkeys(map(turn_id_of, wanted))))
        found = [passage for turn in turns for passage in self._read(turn, {}) if passage.message_id in wanted]
        return sorted(found, key=lambda each: each.said_at)

    def holding(self, passage: MemoryPassage, *, ended: bool = False) -> MemoryPassage:
        """A message cut to what facts took from it that still holds, or that has ended; whole where it says no such."""
        if passage.message_id not in self.outdated:
            return passage
        facts = self.superseded if ended else self.facts
        own = (one for fact in facts for one in fact.sources if one.message_id == passage.message_id)
        said = dict.fromkeys(one.quote for one in own)
        return replace(passage, text=" … ".join(said)) if said else passage

    def talk_of(self, spans: Sequence["Period"], *, last: bool, most: int) -> list[MemoryPassage]:
        """The messages of some days, or of the last session; of the nearest session where there are none."""
        start = None if last else min((span.start for span in spans), default=None)
        end = None if last else max((span.end for span in spans), default=None)
        near = timedelta(days=2)
        sessions = self.sessions(start, end) or self.sessions(start and start - near, end and end + near)
        if last:  # not the present one, if there is another
            sessions = sorted(sessions, key=lambda each: each.id == self.session_id)
        told, nearest, asked = list[MemoryPassage](), list[MemoryPassage](), list[MemoryPassage]()
        for session in sessions:
            lines = self.talk(session, _TOLD_TURNS, asked=True)
            answered = any(each.role == "assistant" for each in lines)
            nearest = nearest or (lines if start or answered or self.talk(session, _TOLD_TURNS) else [])
            asked = asked or lines
            told = [each for each in lines if start and end and start <= each.said_at < end] + told
            if (nearest and not start) or len(told) >= most:
                break
        return told or nearest or asked

    def quoted(self) -> list[MemoryPassage]:
        """What answers of this session quoted of the material, sentence by sentence."""
        session = self._memory.store.sessions.get(self._owner, self.session_id) if self.session_id else None
        lines = self.talk(session, _TOLD_TURNS, asked=True) if session else []
        return [
            replace(each, text=each.text[start:end])
            for each in lines
            if each.role == "assistant"
            for start, end in sentences(each.text)
        ]

    @cached_property
    def answered(self) -> list[Turn]:
        """The last turns of this session that were answered, newest first."""
        turns = self._memory.store.turns.page(self._owner, self.session_id, last=_RECENT) if self.session_id else ()
        return [each for each in reversed(turns) if each.answer and each.id != self._turn_id and not each.damage]

    @property
    def last_turn(self) -> Turn | None:
        """The turn that was answered last, but for answers about an answer and small talk."""
        passed = LAST_ANSWER | SMALL_TALK
        return next((each for each in self.answered if each.metadata.get("act") not in passed), None)

    def sources_of(self, turn: Turn) -> tuple[tuple[str, ...], list[MemoryPassage]]:
        """The chunks that an answer quoted, or that the answers quoted which it quoted, and the messages."""
        wanted = {each["message_id"] for each in turn.metadata.get("memory_sources", ())} - self._quarantined
        turns = self._memory.store.turns.by_ids(self._owner, list(dict.fromkeys(map(turn_id_of, wanted))))
        quoted = [each for one in turns for each in self._read(one, {}) if each.message_id in wanted]
        answers = (turn.answer, *(one.answer for one in turns if one.answer and one.answer.id in wanted))
        return tuple(dict.fromkeys(cited for each in answers if each for cited in each.chunk_ids)), quoted

    def end_of_talk(self, *, last: bool, asked: bool = False) -> list[MemoryPassage]:
        """What the user said, or `asked`, last, or in the oldest session that is looked at first, with its answer."""
        for session in self.sessions() if last else reversed(self.sessions()):
            first = None if last else _TOLD_TURNS
            turns = self._memory.store.turns.page(self._owner, session.id, last=_TOLD_TURNS, before=first)
            read = (self._read(turn, {}, asked=asked) for turn in turns)
            told = [lines for lines in read if lines and len(lines[0].text.split()) > 2]
            if told:
                return told[-1 if last else 0]
        return []

    def after(self, passage: MemoryPassage) -> list[MemoryPassage]:
        """What the user said right after a message."""
        return self._near(passage, passage.turn_number, passage.turn_number + _NEAR_TURNS)[:_CORRECTED_WITHIN]

    def before(self, passage: MemoryPassage) -> str:
        """What the user said right before a message; empty for the first one."""
        said = self._near(passage, passage.turn_number - _NEAR_TURNS, passage.turn_number)
        return said[-1].text if said else ""

    def _near(self, passage: MemoryPassage, after: int, before: int) -> list[MemoryPassage]:
        turns = self._memory.store.turns.page(self._owner, passage.session_id, after=max(0, after), before=before)
        return [each for turn in turns for each in self._read(turn, {}) if each.role == "user"]

    def forget_about(self, content: str) -> tuple[list["Fact"], list[MemoryPassage]]:
        """Forget the messages that speak of something and the facts in them; these facts, and the other messages.

        Without anything named what the user said last in this session is forgotten.
        """
        if not content:
            return self._forget_last()
        commands = all_words("facts.command_words")
        subject = " ".join(word for word in content.split() if not commands.issuperset(tokens(word)))
        asked = replace(memory_question(subject), wanted=memory_question(content).wanted)
        every = [*self.facts, *self.superseded]
        said = {each.message_id: each for each in (*self.passages(subject), *self.sources(every))}
        own = {key: each for key, each in said.items() if _speaks_of(each.text, asked)}
        facts = [fact for fact in every if _speaks_of(fact.text, asked) or _is_told_there(fact, own, asked)]
        if not (own or facts) and subject == subject.lower():
            groups = SINGLE.intersection((describe(content)[1], *asked.fact_groups, *folded(content).split()))
            facts = [fact for fact in every if group_of(fact.about) in groups]
            facts = facts if len({fact.about for fact in facts}) == 1 else []
        facts += self._learned_from(own, facts)
        if own or facts:
            self._forget(own, facts)
        held = {source.message_id for fact in facts for source in fact.sources}
        return facts, [each for key, each in own.items() if key not in held]

    def _learned_from(self, messages: Iterable[str], known: Sequence["Fact"] = ()) -> list["Fact"]:
        """The facts beside the `known` ones that were learned from these messages alone."""
        gone = frozenset(messages)
        every = (fact for fact in (*self.facts, *self.superseded) if fact not in known and fact.sources)
        return [fact for fact in every if gone.issuperset(one.message_id for one in fact.sources)]

    def wishes_about(self, content: str) -> list["Fact"]:
        """The standing wishes that an order to stop something means."""
        asked = memory_question(content)
        return [fact for fact in self.facts if fact.is_instruction and asked.terms and _speaks_of(fact.text, asked)]

    def end_wishes(self, content: str) -> list["Fact"]:
        """Forget the standing wishes that an order to stop something means; these wishes."""
        ended = self.wishes_about(content)
        self._forget([source.message_id for fact in ended for source in fact.sources], ended)
        return ended

    def forget_everything(self) -> None:
        """Forget every fact, and keep every message until now out of answers and prompts."""
        page = partial(self._memory.sessions, user_id=self._user, agent_id=self._agent, limit=_PAGE)
        sessions = page()
        while sessions and (more := page(before=sessions[-1])):
            sessions += more
        turns = (turn for session in sessions for turn in self._memory.store.turns.page(self._owner, session.id))
        gone = [message.id for turn in turns if turn.id != self._turn_id for message in turn.messages]
        self._forget(gone, [fact for fact in self._every_fact if not fact.forgotten])

    def _forget_last(self) -> tuple[list["Fact"], list[MemoryPassage]]:
        session = self._memory.store.sessions.get(self._owner, self.session_id) if self.session_id else None
        last = [each for each in self.talk(session) if each.role == "user"][-1:] if session else []
        own = {each.message_id for each in last}
        facts = self._learned_from(own)
        if own:
            self._forget(own, facts)
        return facts, [] if facts else last

    def _forget(self, message_ids: Iterable[str], facts: Sequence["Fact"]) -> None:
        """Forget facts, and keep messages out of answers and prompts, with the command and its answer."""
        for fact in facts:
            self._memory.forget_fact(fact.id, user_id=self._user, agent_id=self._agent)
        own = [f"{self._turn_id}:{part}" for part in ("query", "response")] if self._turn_id else []
        for message_id in (*message_ids, *own):
            self._memory.forget_message(message_id, user_id=self._user)


def _speaks_of(text: str, asked: MemoryQuestion) -> bool:
    """Whether a sentence of a text holds most of the words that name something."""
    terms = list(zip(asked.terms, asked.alike, strict=True))
    for start, end in sentences(text):
        words = MessageWords.of(text[start:end])
        said = frozenset[str]().union(*words.stems)
        named = sum(heard(*term, said) for term in terms)
        typed = asked.wanted not in UNTYPED and bool(words.fillers(asked))  # "my sister's age": "my sister turned 40"
        if named and typed + named >= _FORGOTTEN_FROM * len(terms):
            return True
    return False


def _is_told_there(fact: "Fact", own: Mapping[str, MemoryPassage], asked: MemoryQuestion) -> bool:
    """Whether a fact was learned from words that speak of something, or that lean on others of their sentence."""
    for source in fact.sources:
        text = own[source.message_id].text if source.message_id in own else ""
        leans = not FIRST_PERSON.search(folded(source.quote))
        around = (text[start:end] for start, end in sentences(text) if leans and source.quote in text[start:end])
        if text and any(_speaks_of(each, asked) for each in (source.quote, *around)):
            return True
    return False


_HELD = {
    "number": AnyLanguage(r"\d.*|(?:<dialogue.held:number>)", flags=0),
    "time": AnyLanguage(r"\d.*|(?:<dialogue.held:time>)", flags=0),
    "colour": AnyLanguage(r"(?:<dialogue.held:colour>)", flags=0),
    "code": AnyLanguage(r"\d{3,}.*", flags=0),
    "kin": AnyLanguage(r"(?:<dialogue.held:kin>)", flags=0),
}
_AFTER_AGE = AnyLanguage(r"(?:<dialogue.held:age>)", flags=0)  # the word behind a number that may be an age
AMOUNT = AnyLanguage(r"\d.*|(?:<dialogue.held:amount>)", flags=0)  # behind a number other nouns are what is counted
_BEFORE_TIME = AnyLanguage(r"(?:<dialogue.held:before_time>)", flags=0)
_LABELLED = AnyLanguage(r"(?:<dialogue.held:label>)", flags=0)
_DATED = re.compile(
    r"\d{1,2}(?:st|nd|rd|th|am|pm|:\d\d)|(?:1[5-9]|20)\d\ds?|\d{1,2}\.[0-5]\d|\d{1,2}/\d{1,2}(?:/\d{2,4})?"
)
_YEAR = re.compile(r"(?:19|20)\d\d")
_BORN = AnyLanguage(r"(?:<dialogue.held:born>)", flags=0)
_RELATIVE_CLAUSE = AnyLanguage(r"(?:<dialogue.held:relative_clause>)", flags=0)
_WHERE = AnyLanguage(r"(?:<dialogue.held:where>)", flags=0)  # the word before a place
_FITTING = frozenset(("age", "amount", "number", "time"))
_UNITS = {  # of a number, and in what is asked: "50 minutes" is no weight
    kind: (AnyLanguage(rf"<dialogue.held:{kind}>", flags=0), AnyLanguage(rf"\b(?:<dialogue.wanted:{kind}>)\b", flags=0))
    for kind in ("unit_time", "unit_money", "unit_length", "unit_mass", "unit_heat", "unit_rate")
}
_MEASURES = {"unit_length", "unit_mass"}
_RARELY_MEANT = ("unit_time", "unit_money")  # units that a question without a unit of its own does not want
_RELATIVE = AnyLanguage(r"(?:<dialogue.relatives>)", flags=0)
_CALENDAR = AnyLanguage(r"(?:<dialogue.held:calendar>)", flags=0)  # written with a capital letter, but no name
_SELF_NAMED = AnyLanguage(r"\b(?:<dialogue.self_named>)\s*$", flags=0)
_OWN_AGE = AnyLanguage(r"\b(?:<dialogue.first_person>)(?: \w{1,3})?$", flags=0)
_ARTICLE = AnyLanguage(r"(?:<dialogue.articles>)", flags=0)
_CALLED = AnyLanguage(r"(?:<dialogue.wanted:name>)", flags=0)
_BESIDE = AnyLanguage(r"(?:<dialogue.held:beside>)", flags=0)
_COMPANION = 3  # words after "with" among which the companion is named
_LINK = AnyLanguage(r"(?:<dialogue.links>)", flags=0)
_OBJECT = AnyLanguage(r"(?:<dialogue.held:self_object>)", flags=0)
_THEY = AnyLanguage(r"(?:<dialogue.held:they>)", flags=0)
_THEIRS = AnyLanguage(r"(?:<dialogue.held:theirs>)", flags=0)
_BEFORE_NOUN = AnyLanguage(r"(?:<dialogue.held:before_noun>)", flags=0)
_OF = AnyLanguage(r"(?:<dialogue.held:of>)", flags=0)
_WHO = AnyLanguage(r"(?:<facts.relatives>)", flags=0)
_PERSON = AnyLanguage(r"\b(?:<dialogue.held:kin>)\b", flags=0)
_ENDED = {kind: AnyLanguage(rf"<dialogue.held:ended_{kind}>", flags=0) for kind in ("it", "subject", "object", "verb")}
DENIED = AnyLanguage(r"(?:<statements.denied>)|\b(?:non|mai|senza)\b", flags=0)
_WISH = AnyLanguage(r"\b(?:<dialogue.held:wish>)", flags=0)
_INTENT = AnyLanguage(r"\b(?:<dialogue.held:intent>)", flags=0)
_CLAUSE = AnyLanguage(r"[,.;:!?()]+\s|\s+(?:<dialogue.clause_words>)\s+|\s[-–]\s")
_WORD = re.compile(r"[^\W_]+(?:[.,:/]\d+)*")
_SENTENCE_START = re.compile(r"[.!?…:\"“«(]\s*$")
NAMING = frozenset(("surname", "name", "person", "brand"))
UNTYPED = frozenset(("", "reason"))
NOWHERE = 99  # words between the question's words and an answer where one of them is missing
_FARTHEST_LINK = 4
_BARE_NAME = 2  # words of a name


@dataclass(frozen=True, slots=True)
class MessageWords:
    """The words of a message in order, with the stems of each, and the number of its clause."""

    text: str
    spans: tuple[tuple[int, int], ...]
    plain: tuple[str, ...]
    stems: tuple[frozenset[str], ...]
    clauses: tuple[int, ...]

    @staticmethod
    @lru_cache(maxsize=2_048)
    def of(text: str) -> "MessageWords":
        """Read a message."""
        spans = tuple(each.span() for each in _WORD.finditer(text))
        plain = tuple(folded(text[start:end]) for start, end in spans)
        cuts = [each.end() for each in _CLAUSE.finditer(text)]
        clauses = tuple(sum(cut <= start for cut in cuts) for start, _ in spans)
        return MessageWords(text, spans, plain, tuple(map(forms, plain)), clauses)

    def clause_at(self, at: int) -> str:
        """The clause of a word."""
        own = [span for span, clause in zip(self.spans, self.clauses, strict=True) if clause == self.clauses[at]]
        return self.text[own[0][0] : own[-1][1]]

    def is_name(self, at: int) -> bool:
        """Whether a word is written like a name: a capital letter that no sentence start or calendar explains."""
        start, end = self.spans[at]
        if not self.text[start].isupper() or end - start < 2 or _CALENDAR.fullmatch(self.plain[at]):
            return False
        opens = start == 0 or _SENTENCE_START.search(self.text[:start]) is not None
        return not opens or self._next_is_capital(at) or self.text[end : end + 1] == ","

    @property
    def names(self) -> frozenset[str]:
        """The words that are written like names, folded."""
        return frozenset(word for at, word in enumerate(self.plain) if self.is_name(at))

    def _next_is_capital(self, at: int) -> bool:
        if at + 1 >= len(self.spans):
            return False
        start = self.spans[at + 1][0]
        return self.text[start].isupper() and start - self.spans[at][1] <= 1

    def fillers(self, asked: MemoryQuestion) -> list[int]:
        """The places of words that may be the answer, by its wanted type; words of the question are none."""
        found = [at for at in self._of_type(asked) if self.plain[at] not in asked.words]
        return [at for at in found if not self._owns(at, asked)] if asked.wanted in ("name", "surname") else found

    def _owns(self, at: int, asked: MemoryQuestion) -> bool:
        """Whether a name is that of the owner: in "Rhodri's nan" it does not tell hers."""
        return self.plain[at + 1 : at + 2] == ("s",) and not asked.words.isdisjoint(self.plain[at + 2 : at + 3])

    def _of_type(self, asked: MemoryQuestion) -> list[int]:
        kind = asked.wanted
        if kind in NAMING or kind == "place":
            found = [at for at in range(len(self.plain)) if self.is_name(at)]
            if kind == "surname":
                return [at for at in found if self._next_is_capital(at)]
            if kind in ("place", "brand"):
                return found
            own = [at for at in found if _SELF_NAMED.search(folded(self.text[: self.spans[at][0]]))]
            if asked.own_name:
                return own
            found = [at for at in found if not self._is_where(at)]
            people = [*self.matching("kin"), *self._companions(asked), *self._doers(asked)] if kind == "person" else []
            return list(dict.fromkeys([*(at for at in found if at not in own), *people]))
        if kind in _FITTING:
            fitting = [at for at in self.matching("time" if kind == "time" else "number") if self._fits(at, kind)]
            if kind == "age" and not FIRST_PERSON.search(asked.text):  # "I'm 61" is not the age of another
                return [at for at in fitting if not _OWN_AGE.search(folded(self.text[: self.spans[at][0]]))]
            return [at for at in fitting if kind != "number" or self._is_of_unit(at, asked)]
        if kind in UNTYPED:
            small = language(guess_language(self.text)).vocabulary.stop_words
            return [at for at, word in enumerate(self.plain) if word not in small and len(word) > 2]
        return self.matching(kind)

    def holds_in_clause(self, asked: MemoryQuestion) -> bool:
        """Whether one clause holds every word of a question and something of the wanted type."""
        heard_at = self.heard(asked)
        for clause in {self.clauses[at] for at in self.fillers(asked)}:
            here = (numbers for at, numbers in heard_at.items() if self.clauses[at] == clause)
            if len(frozenset[int]().union(*here)) == len(asked.terms):
                return True
        return False

    def also_fit(self, asked: MemoryQuestion) -> list[int]:
        """The places of words that a message calls by a name, or of numbers where anything is wanted."""
        if asked.wanted in UNTYPED:
            return self.matching("number")
        small = language(guess_language(self.text)).vocabulary.stop_words | asked.words
        called = (at for at in range(1, len(self.plain)) if _CALLED.fullmatch(self.plain[at - 1]))
        return [at for at in called if self.plain[at] not in small] if asked.wanted in ("name", "person") else []

    def _companions(self, asked: MemoryQuestion) -> list[int]:
        """The words soon after "with", where that is asked for: "with whom do I live", "I live with two flatmates"."""
        if not any(map(_BESIDE.fullmatch, asked.words)):
            return []
        small = language(guess_language(self.text)).vocabulary.stop_words | asked.words
        told = {self.clauses[at] for at in self.heard(asked)}
        after = [at for at, word in enumerate(self.plain) if _BESIDE.fullmatch(word) and self.clauses[at] in told]
        near = sorted({at for one in after for at in range(one + 1, min(one + 1 + _COMPANION, len(self.plain)))})
        return [at for at in near if self.plain[at] not in small and not self.plain[at].isdecimal()]

    def _doers(self, asked: MemoryQuestion) -> list[int]:
        """The words that open a clause which goes on with words of the question: "Tim plays", "who plays the cello"."""
        small, told = language(guess_language(self.text)).vocabulary.stop_words, self.heard(asked)
        opens = (at for at, own in enumerate(self.clauses) if not at or self.clauses[at - 1] != own)
        free = (at for at in opens if at not in told and self.plain[at] not in small and self.plain[at].isalpha())
        return [at for at in free if not FIRST_PERSON.fullmatch(self.plain[at])]

    def said_of(self, at: int) -> int:
        """The clause that a word is said of: for a relative clause the one before it."""
        own = self.clauses[at]
        first = self.clauses.index(own)
        return own - 1 if first and _RELATIVE_CLAUSE.fullmatch(self.plain[first]) else own

    def _is_where(self, at: int) -> bool:
        """Whether a word stands behind a preposition of place, or behind one and an article: "at the Derby depot"."""
        before = self.plain[max(0, at - 2) : at]
        if before and _WHERE.fullmatch(before[-1]):
            return True
        return len(before) > 1 and _ARTICLE.fullmatch(before[1]) is not None and _WHERE.fullmatch(before[0]) is not None

    def is_placed(self, at: int) -> bool:
        """Whether a word stands right behind a preposition of place, or an article and one."""
        return any(_WHERE.fullmatch(word) for word in self.plain[max(0, at - 2) : at])

    def leads_to(self, at: int, fillers: Sequence[int]) -> bool:
        """Whether a filler follows a word of its clause after small words only, a number also a preposition."""
        small = language(guess_language(self.text)).vocabulary.stop_words
        then = next((one for one in fillers if at < one <= at + _FARTHEST_LINK), at)
        joined = self.clauses[then] == self.clauses[at] or self.text[self.spans[at][1]] == ":"
        number = self.plain[then][0].isdigit()
        between = self.plain[at + 1 : then]
        return then > at and joined and all(w in small and (number or not _WHERE.fullmatch(w)) for w in between)

    def tells_which(self, noun: frozenset[str], alike: frozenset[str]) -> bool:
        """Whether a noun is said with a word right before or behind it, or a number, that may tell which one."""
        small, numbers = language(guess_language(self.text)).vocabulary.stop_words, self.matching("number")
        for at in (at for at, said in enumerate(self.stems) if heard(noun, alike, said)):
            if self.leads_to(at, numbers):
                return True
            for one in (at - 1, at + 1):
                near = 0 <= one < len(self.plain) and self.clauses[one] == self.clauses[at]
                if near and self.plain[one] not in small:
                    return True
        return False

    def subjects(self) -> list[str]:
        """The words that may name what a message speaks of: no names, numbers, amounts or times."""
        small = language(guess_language(self.text)).vocabulary.stop_words
        values = {*self.matching("number"), *self.matching("time")}
        plain = (word for at, word in enumerate(self.plain) if at not in values and not self.is_name(at))
        return [word for word in plain if word not in small and not AMOUNT.fullmatch(word)]

    def matching(self, kind: str) -> list[int]:
        """The places of numbers, times, colours, codes or words for people."""
        pattern = _HELD[kind]
        return [at for at, word in enumerate(self.plain) if pattern.fullmatch(word)]

    def _fits(self, at: int, kind: str) -> bool:
        """Whether a number may be an age, an amount, a count or a time, by its form and the words beside it."""
        word, (start, end) = self.plain[at], self.spans[at]
        dated = _DATED.fullmatch(word) is not None
        after = self.plain[at + 1] if at + 1 < len(self.spans) and self.spans[at + 1][0] - end <= 1 else ""
        lone = not after or after in language(guess_language(self.text)).vocabulary.stop_words
        before = self.plain[at - 1] if at and start - self.spans[at - 1][1] <= 1 else ""
        if kind != "number" and _LABELLED.fullmatch(before):  # "room 21" is no age
            return False
        if kind == "time":
            named = _HELD["time"].fullmatch(after) is not None and not after[:1].isdigit()
            return not word[0].isdigit() or dated or named or (lone and _BEFORE_TIME.fullmatch(before) is not None)
        if kind == "age":
            if len(word) > 2 and word.isdigit():
                return _YEAR.fullmatch(word) is not None and any(map(_BORN.fullmatch, self.plain[max(0, at - 3) : at]))
            if _BEFORE_TIME.fullmatch(before) and not _UNITS["unit_time"][0].fullmatch(after):
                return False  # "at 8, 12 and 4" tells no age
            return not after or _AFTER_AGE.fullmatch(after) is not None
        if self.text[max(0, start - 1)] in "£$€" or AMOUNT.fullmatch(after):
            return True
        counts = kind == "number" or (word[0].isdigit() and (lone or not word.isdigit()))
        return counts and not (dated or _CALENDAR.fullmatch(after))

    def _is_of_unit(self, at: int, asked: MemoryQuestion) -> bool:
        """Whether a number has a unit that the question wants, or none."""
        said = self.plain[at].lstrip("0123456789.,") or (self.plain[at + 1] if at + 1 < len(self.plain) else "")
        unit = next((kind for kind, (held, _) in _UNITS.items() if held.fullmatch(said)), "")
        wanted = [kind for kind, (_, pattern) in _UNITS.items() if pattern.search(asked.text)]
        if not unit:  # "plot 14" is no size
            return not (at and set(wanted) & _MEASURES and _LABELLED.fullmatch(self.plain[at - 1]))
        return unit in wanted if wanted else unit not in _RARELY_MEANT

    def owner(self, at: int, asked: MemoryQuestion, asker: "_Asker") -> str:
        """Whose a word is, by what stands before it in its clause: "self" beside "I", "mine" or a "thing" behind "my".

        "Other" for what another person is or has, "" where nothing tells. Only what a question asks of the user as its
        subject has one beyond the noun and its possessive.
        """
        known = language(guess_language(self.text))
        subject, possessive = _own_words(known)
        first, verb = self.clauses.index(self.clauses[at]), -1
        for one in range(at, first - 1, -1):
            word = self.plain[one]
            if (subject.fullmatch(word) and not _is_noun(self.plain, one, known)) or _OBJECT.fullmatch(word):
                return "self"
            if possessive.fullmatch(word):
                return "mine" if verb < 0 else "thing"
            if word in asked.words:
                continue
            person = one != at and (_HELD["kin"].fullmatch(word) or _is_genitive(self.text, self.spans[one]))
            if person or _THEIRS.fullmatch(word):
                return "other"
            if not asker.subject and word in known.vocabulary.stop_words:
                break
            if any(_THEY.fullmatch(said) for said in (word, " ".join(self.plain[one : one + 2]))):
                return "other"
            if word in asker.thirds:
                verb = one
                named = asked.words.intersection(self.plain[first:one]) - known.vocabulary.stop_words
                if word not in known.vocabulary.stop_words and asked.wanted != "time" and not named:
                    return "other"
        if verb < 0:
            return "other" if self._is_of(at + 1, asked) else ""
        return self._subject_before(verb, first, asked, known.vocabulary.stop_words)

    def _is_of(self, at: int, asked: MemoryQuestion) -> bool:
        """Whether "of" and another person follow: "il fratello di Lucia"."""
        after = range(at + 1, min(at + _FARTHEST_LINK, len(self.plain)))
        if not (at < len(self.plain) and _OF.fullmatch(self.plain[at])):
            return False
        kin = _HELD["kin"].fullmatch(self.plain[at - 1]) is not None
        others = [one for one in after if self.plain[one] not in asked.words and self.clauses[one] == self.clauses[at]]
        return any(_HELD["kin"].fullmatch(self.plain[one]) or (kin and self.is_name(one)) for one in others)

    def _subject_before(self, verb: int, first: int, asked: MemoryQuestion, small: frozenset[str]) -> str:
        """What a verb of the third person tells of: another, if nothing but a bare name is before it, or a thing."""
        before = self.plain[first:verb]
        if not before:
            return "other" if first and _WHO.fullmatch(self.plain[first - 1]) else ""
        if asked.words.intersection(before) - small:
            return ""
        return "thing" if len(before) > _BARE_NAME or not small.isdisjoint(before) else "other"

    def heard(self, asked: MemoryQuestion) -> dict[int, frozenset[int]]:
        """The places of words of the question, each with the numbers of the question's words that it holds."""
        terms = list(enumerate(zip(asked.terms, asked.alike, strict=True)))
        found = {
            at: frozenset(number for number, (term, like) in terms if heard(term, like, said))
            for at, said in enumerate(self.stems)
        }
        return {at: numbers for at, numbers in found.items() if numbers}

    def distance(self, asked: MemoryQuestion, fillers: Sequence[int], heard_at: Sequence[int]) -> int:
        """The words between a possible answer and the nearest word of the question, or of the user's self."""
        if not fillers:
            return NOWHERE
        if not heard_at:
            if not FIRST_PERSON.search(asked.text):
                return 20
            heard_at = [at for at, word in enumerate(self.plain) if FIRST_PERSON.fullmatch(word)]
        return min((abs(one - other) for one in fillers for other in heard_at), default=NOWHERE)

    def are_linked(self, fillers: Sequence[int], heard_at: Sequence[int]) -> bool:
        """Whether only linking words stand between a possible answer and a word of the question: "my vet, Dr Orr"."""
        for one in fillers:
            for other in heard_at:
                first, last = sorted((one, other))
                if first == one and self.plain[one + 1] == "s":  # "Rhodri's nan" does not tell her name
                    continue
                if last - first <= _FARTHEST_LINK and all(map(_LINK.fullmatch, self.plain[first + 1 : last])):
                    return True
        return False


@cache
def _own_words(known: "Language") -> tuple[LazyPattern, LazyPattern]:
    """The words by which a language shows that the user is the subject, pronouns and verbs, and its words for "my"."""
    held, verbs = known.dialogue.held, {folded(verb) for verb in known.facts.second_verbs}
    subjects = "|".join([held.get("self", NOTHING), *escaped(verbs)])
    return LazyPattern(f"(?:{subjects})", flags=0), LazyPattern(f"(?:{held.get('mine', NOTHING)})", flags=0)


def _is_genitive(text: str, span: tuple[int, int]) -> bool:
    """Whether a word is the s of "Tom's boss"."""
    start, end = span
    return (
        text[start:end] == "s" and text[max(0, start - 1) : start] in ("'", "’") and text[max(0, start - 2)].islower()
    )


def _is_noun(plain: Sequence[str], at: int, known: "Language") -> bool:
    """Whether a word that may be a verb of the first person is a noun, as the word before it tells: «il mio lavoro»."""
    before = plain[at - 1] if at else ""
    return plain[at] in known.facts.verbs_and_nouns and _BEFORE_NOUN.fullmatch(before) is not None


@dataclass(frozen=True, slots=True)
class _Asker:
    """How a question speaks of the user: as its subject or not, what it calls theirs, and its verbs as said of others.

    "Do I live" is "lives" of others.
    """

    subject: bool
    owned: frozenset[str]
    thirds: frozenset[str]

    @staticmethod
    @lru_cache(maxsize=256)
    def of(question: str) -> "_Asker":
        """Read a folded question."""
        known, words = language(guess_language(question)), MessageWords.of(question).plain
        subject, possessive = _own_words(known)
        own = [at for at, word in enumerate(words) if subject.fullmatch(word) and not _is_noun(words, at, known)]
        if known.facts.second_verbs:
            verbs = [words[at] for at in own]
        else:  # "do I usually live"
            after = (next((word for word in words[at + 1 :] if not ADVERB.fullmatch(word)), "") for at in own)
            verbs = [*after, *(words[at - 1] for at in own if at)]
        small, owned = known.vocabulary.stop_words, set[str]()
        for at in (at for at, word in enumerate(words) if possessive.fullmatch(word)):
            owned.update(takewhile(lambda word: word not in small and word != "s", words[at + 1 :]))
        thirds = (folded(third_form(verb, known.facts)) for verb in verbs)
        return _Asker(bool(own), frozenset(owned), frozenset(thirds))


def is_of_another(text: str, asked: MemoryQuestion) -> bool:
    """Whether a message tells of another person, or only wishes or supposes, what a question asks of the user.

    "My brother lives in Rome" does not tell where I live, nor "his colour" mine. What the user says of themselves
    answers no question about another person.
    """
    asker, words = _Asker.of(asked.text), MessageWords.of(text)
    person = _PERSON.search(asked.text) is not None
    if not (asker.subject or asker.owned or person):
        return False
    heard_at = words.heard(asked)
    fillers = [] if asked.terms or asked.wanted in UNTYPED else words.fillers(asked)
    places = [*(heard_at or fillers), *(at for at, word in enumerate(words.plain) if word in asker.thirds)]
    whose = {at: words.owner(at, asked, asker) for at in places}
    own = {
        at for at, term in enumerate(asked.terms) if asker.subject or any(forms(word) == term for word in asker.owned)
    }
    said = [{whose[at] for at, numbers in heard_at.items() if number in numbers} for number in own]
    if not asker.subject and person:
        others = any(_HELD["kin"].fullmatch(word) or _THEIRS.fullmatch(word) for word in words.plain)
        return {"other"} in said or (not others and set(whose.values()) == {"self"})
    if _is_wished(text, asked):
        return True
    if asked.wanted not in UNTYPED and any(words.owner(at, asked, asker) == "self" for at in words.fillers(asked)):
        return False  # "she took two hives, I've kept two"
    other = {"other", "thing"} if asked.is_yes_no else {"other"}
    if not heard_at:
        return asker.subject and bool(whose) and other.issuperset(whose.values())
    return any(owners and owners <= other for owners in said)


def ends(new: str, old: str, asked: MemoryQuestion, *, next_to: bool) -> bool:
    """Whether a later message tells the end of what an older one tells: sold, cancelled, died, no more.

    The thing that ended has to be named in both, before or behind the word for its end, and not be another's; right
    after the older message a pronoun is enough.
    """
    words, plain = MessageWords.of(new), folded(new)
    if len(plain) != len(new) or plain.endswith("?") or _is_wished(new, asked):
        return False
    if is_opposed(old, new) and DENIED.search(plain) is None:
        return True
    if next_to and _ENDED["it"].search(plain):
        return True
    asker, before = _Asker.of(asked.text), MessageWords.of(old)
    told = frozenset[str]().union(*before.stems)
    small = language(guess_language(new)).vocabulary.stop_words
    shared = [
        at
        for at, word in enumerate(words.plain)
        if word not in small and not told.isdisjoint(words.stems[at]) and not AMOUNT.fullmatch(word)
    ]
    shared = [at for at in shared if words.owner(at, asked, asker) != "other"]
    for kind, pattern in _ENDED.items():
        for end in pattern.finditer(plain) if kind != "it" else ():
            inside = [
                at for at in shared if not _CLAUSE_END.search(plain[slice(*sorted((words.spans[at][0], end.start())))])
            ]
            ahead = [at for at in inside if words.spans[at][1] <= end.start()]
            behind = [at for at in inside if words.spans[at][0] >= end.end()]
            if kind == "verb" and inside:
                heard_at = words.heard(asked)
                if before.heard(asked) and set().union(*before.heard(asked).values()) <= set().union(
                    *heard_at.values()
                ):
                    return True
            elif (kind == "subject" and ahead) or (kind == "object" and behind):
                return True
    return False


def is_opposed(one: str, other: str) -> bool:
    """Whether a text has a word that excludes one of another text, and none of its own side: "open" and "closes".

    Behind a preposition a word is a noun: «da parte» says nothing of leaving.
    """
    words, second = MessageWords.of(one), frozenset[str]().union(*MessageWords.of(other).stems)
    verbs = (at for at in range(len(words.plain)) if not (at and _WHERE.fullmatch(words.plain[at - 1])))
    first = frozenset[str]().union(*(words.stems[at] for at in verbs))
    pairs = [pair for sides in _opposites() for pair in (sides, sides[::-1])]
    return any(
        not (first.isdisjoint(own) or second.isdisjoint(rival)) and second.isdisjoint(own) for own, rival in pairs
    )


@cache
def _opposites() -> list[tuple[frozenset[str], frozenset[str]]]:
    """The stems of both sides of each pair of opposites, in every language."""
    pairs = (pair.split("/") for each in languages() for pair in each.dialogue.opposites.split(";") if "/" in pair)
    return [
        (frozenset[str]().union(*map(forms, one.split())), frozenset[str]().union(*map(forms, other.split())))
        for one, other in pairs
    ]


def _is_wished(text: str, asked: MemoryQuestion) -> bool:
    """Whether a message only wishes or supposes what is asked as it is; an intention is no home, work or "do I"."""
    if _WISH.search(asked.text) or _INTENT.search(asked.text):
        return False
    unreal = [_WISH, _INTENT] if asked.is_yes_no or asked.fact_groups else [_WISH]
    told = [folded(text[start:end]) for start, end in sentences(text)]
    return bool(told) and all(any(each.search(one) for each in unreal) for one in told)


_SEVERAL = AnyLanguage(r"\b(?:<dialogue.several>)\s+(?P<noun>\w+)(?:\s+(?P<next>\w+))?", flags=0)
_SEVERAL_OF = AnyLanguage(r"\b(?:<dialogue.held:plural_of>)\s+(?P<noun>\w{3,})(?P<next>)", flags=0)
_WHICH = AnyLanguage(r"\W*(?:<dialogue.wanted:which>)\b", flags=0)
_BOTH = AnyLanguage(r"(?:,| (?:<dialogue.conjunctions>)) (?:[a-z']+ ){0,3}")
_ITEM_END = AnyLanguage(r"\s+(?:<dialogue.item_ends>)\b.*|\s*[(:].*", flags=re.DOTALL)
_JOINED = AnyLanguage(r"\s*,\s*(?:(?:<dialogue.conjunctions>)\s+)?|\s+(?:<dialogue.conjunctions>)\s+", flags=0)
_ENUMERATED = AnyLanguage(
    r"\w+(?: [\w'’]+){0,3}, (?:[\w'’]+ ){0,3}\w+,? (?:<dialogue.conjunctions>) \w+"
    r"|\b(?:<dialogue.articles>)(?: [\w'’]+){1,4} (?:<dialogue.conjunctions>) (?:<dialogue.articles>)\b"
)
_CLAUSE_END = re.compile(r"[.;!?](?:\s|$)")


def speaks_of_person(passage: MemoryPassage, asked: MemoryQuestion, before: str) -> bool:
    """Whether a message, its turn or what was said `before` speaks of the relative whose name or age is asked for.

    True for any other question, and for a message in another language, whose words cannot be compared.
    """
    people = [word for word in MessageWords.of(asked.text).plain if _RELATIVE.fullmatch(word)]
    if not people or asked.wanted not in (*NAMING, "age") or guess_language(passage.text) != guess_language(asked.text):
        return True
    said = MessageWords.of(f"{passage.text} {passage.around} {before}").stems
    return any(heard(forms(each), synonyms(each), stems) for each in people for stems in said)


def alternatives(text: str, asked: MemoryQuestion) -> list[str]:
    """The names of the things that fit a question for one of them: two exams, three brothers."""
    if _WHICH.match(asked.text):
        return []
    plain = folded(text)
    if len(plain) != len(text):
        plain = text.lower()
    said = set(MessageWords.of(asked.text).plain)
    for found in (*_SEVERAL.finditer(plain), *_SEVERAL_OF.finditer(plain)):
        nouns = [word for word in (found["noun"], found["next"]) if word]
        if not said.isdisjoint(nouns) or not any(
            heard(term, frozenset(), forms(n)) for term in asked.terms for n in nouns
        ):
            continue
        rest = text[found.end("noun") :]
        end = _CLAUSE_END.search(rest)
        rest = rest[: end.start()] if end else rest
        names = _names_in(rest.partition(":")[0])
        if found["next"] == "" and not (
            len(names) > 1 and _BOTH.fullmatch(rest.partition(names[0])[2].partition(names[1])[0])
        ):
            continue  # without a number the names have to stand together: "my brothers Carlo and Michele"
        if len(names) < 2:
            listed = rest.partition(":")[2] or rest.lstrip(" ,")
            parts = _JOINED.sub("\n", listed).split("\n")
            names = [name for part in parts if (name := _ITEM_END.sub("", part).strip(" ,"))]
            called = [name for name in names if name[0].isupper()]
            names = called if len(called) > 1 else names
        if 2 <= len(names) <= 6 and not any(FIRST_PERSON.search(folded(name)) for name in names):
            return names
    return []


def _names_in(text: str) -> list[str]:
    """The names in a text, once each; days and months are none."""
    found: dict[str, None] = {}
    words = MessageWords.of(text)
    for at, (start, end) in enumerate(words.spans):
        placed = at > 0 and _WHERE.fullmatch(words.plain[at - 1])  # "two dogs from Romania"
        if text[start].isupper() and end - start > 1 and not (placed or _CALENDAR.fullmatch(words.plain[at])):
            before = next(reversed(found), "")
            if before and text[:start].endswith(f"{before} "):
                del found[before]
                found[f"{before} {text[start:end]}"] = None
            else:
                found[text[start:end]] = None
    return list(found)


def enumerates(text: str) -> bool:
    """Whether a message lists several things."""
    return _ENUMERATED.search(text) is not None
