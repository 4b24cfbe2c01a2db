"""What is held for one user, as the reader needs it: passages of past turns with their scores, sessions, facts.

Every read goes through the index or by id; nothing scans all turns. Answers that the reader quoted from memory are no
source of their own, and neither are questions that it answered. Scores are pure: recall says what a message is about;
here its words, the type of answer that is wanted, its speaker and its date are weighed with it (docs/answering.md).
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from ricordo.chat.question import STATED, asks_for_answers, folded
from ricordo.languages.registry import AnyLanguage, all_words, codes, language, languages
from ricordo.languages.text import guess_language
from ricordo.recall.evidence import stem, stems, tokens
from ricordo.records.turns import Message, Owner, SessionInfo, Turn, turn_id_of

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.records.people import Fact

READER = "reader"
_NOT_TALK = (READER, "clarification", "safety")  # answerers whose answers are no source
_SEARCHED = 24
_SESSIONS = 40  # sessions looked at for the talk of a day


@dataclass(frozen=True, slots=True)
class MemoryPassage:
    """One message of the past: who said it, when, how well recall finds it, and the other messages around it."""

    message_id: str
    session_id: str
    turn_number: int
    role: str
    text: str
    said_at: datetime
    score: float = 0.0
    around: str = ""


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
        return self.local(self._memory.clock.now())

    def local(self, moment: datetime) -> datetime:
        """A moment in the user's time zone."""
        return moment.astimezone(ZoneInfo(self._memory.settings.profile.time_zone))

    @cached_property
    def facts(self) -> Sequence["Fact"]:
        """What is known of the user now."""
        return self._memory.facts(self._user, self._agent)

    @cached_property
    def _away(self) -> frozenset[str]:
        return frozenset(flag.subject_id for flag in self._memory.flags(self._user, state="quarantined", limit=100_000))

    def passages(self, question: str) -> tuple[MemoryPassage, ...]:
        """The messages that recall finds for a question, with the answers and questions that belong to them."""
        hits = self._memory.search(question, user_id=self._user, agent_id=self._agent, limit=_SEARCHED, patience=5.0)
        scores = {hit.message_id: hit.score for hit in hits}
        ids = list(dict.fromkeys(turn_id_of(hit.message_id) for hit in hits))
        turns = {turn.id: turn for turn in self._memory.store.turns.by_ids(self._owner, ids)}
        return tuple(passage for turn_id in ids if turn_id in turns for passage in self._read(turns[turn_id], scores))

    def _read(self, turn: Turn, scores: dict[str, float]) -> list[MemoryPassage]:
        if not self.is_talk(turn):
            return []
        own = self._sources(turn)
        found = []
        for message in own:
            around = " ".join(other.content for other in own if other is not message)
            score = scores.get(message.id, 0.0)
            found.append(
                MemoryPassage(
                    message.id, turn.session_id, turn.turn_number, message.role, message.content,
                    message.created_at, score, around,
                )
            )  # fmt: skip
        return found

    def _sources(self, turn: Turn) -> list[Message]:
        quoted = turn.metadata.get("answerer") in _NOT_TALK
        messages = [turn.question] if turn.question else []
        if turn.answer and not quoted:
            messages.append(turn.answer)
        return [message for message in messages if message.id not in self._away]

    def is_talk(self, turn: Turn) -> bool:
        """Whether a turn is part of the talk, and not a question that the reader answered."""
        if turn.id == self._turn_id or turn.damage:
            return False
        return turn.metadata.get("answerer") not in _NOT_TALK or turn.metadata.get("act") in STATED

    def sessions(self, start: datetime | None = None, end: datetime | None = None) -> list[SessionInfo]:
        """The user's sessions with this agent that were active in a period, newest first."""
        every = self._memory.sessions(user_id=self._user, limit=_SESSIONS)
        return [
            each
            for each in every
            if each.agent_id == self._agent
            and (start is None or each.last_active_at >= start)
            and (end is None or each.created_at < end)
        ]

    def talk(self, session: SessionInfo, most: int = 12) -> list[MemoryPassage]:
        """The messages of a session, in order."""
        turns = self._memory.store.turns.page(self._owner, session.id, last=most)
        return [passage for turn in turns for passage in self._read(turn, {})]

    @cached_property
    def is_empty(self) -> bool:
        """Whether nothing was said before."""
        return not any(self.talk(session, 3) for session in self.sessions()[:3])

    def forget(self, passages: Sequence[MemoryPassage], facts: Sequence["Fact"]) -> None:
        """Forget facts, and keep messages out of answers and prompts."""
        for fact in facts:
            self._memory.forget_fact(fact.id, user_id=self._user, agent_id=self._agent)
        for passage in passages:
            self._memory.forget_message(passage.message_id, user_id=self._user)


_WANTED = {
    kind: AnyLanguage(rf"\b(?:<dialogue.wanted:{kind}>)\b", flags=0)
    for kind in ("number", "time", "place", "person", "name", "reason")
}
_HELD = {
    "number": AnyLanguage(r"\d|\b(?:<dialogue.held:number>)\b", flags=0),
    "time": AnyLanguage(r"\d|\b(?:<dialogue.held:time>)\b", flags=0),
    "reason": AnyLanguage(r"\b(?:<dialogue.held:reason>)\b|[:;]", flags=0),
}
_CHANGED = AnyLanguage(r"\b(?:<dialogue.changed>)\b", flags=0)
_NAME = re.compile(r"(?<![.!?…:\"“«]\s)(?<!^)\b[A-Z][\w'&-]*[a-z]\w*|\b[A-Z]{2,}\b")
_SHORTEST_BEGINNING = 4
_SYNONYM = 0.7
_ALIKE = 0.75
_AROUND = 0.6
_SMOOTHING = 6


@dataclass(frozen=True, slots=True)
class MemoryQuestion:
    """A question as it is compared with passages: stems of its content words, wanted type, wanted speaker."""

    terms: tuple[frozenset[str], ...]
    alike: tuple[frozenset[str], ...]
    wanted: str
    speaker: str
    text: str


@dataclass(frozen=True, slots=True)
class ScoredMemory:
    """A passage with the probability that it holds the answer, and the share of the question that it covers."""

    passage: "MemoryPassage"
    probability: float
    coverage: float


def memory_question(question: str) -> MemoryQuestion:
    """Read a question."""
    plain = folded(question)
    skipped = all_words("dialogue.past_words") | all_words("questions.asking_words")
    small = language(guess_language(question)).vocabulary.stop_words
    terms, alike = [], []
    for word in dict.fromkeys(tokens(question)):
        if word in small or word in skipped:
            continue
        terms.append(frozenset(stem(word, code) for code in codes()))
        alike.append(_synonyms(word))
    wanted = next((kind for kind, pattern in _WANTED.items() if pattern.search(plain)), "")
    speaker = "assistant" if asks_for_answers(question) else "user"
    return MemoryQuestion(tuple(terms), tuple(alike), wanted, speaker, plain)


@lru_cache(maxsize=4_096)
def _synonyms(word: str) -> frozenset[str]:
    return frozenset(
        stem(other, each.code)
        for each in languages()
        for group in each.dialogue.synonyms
        if word in group
        for other in group
        if other != word
    )


def holds(wanted: str, text: str, asked: str) -> bool:
    """Whether a text holds something of the wanted type that the question does not hold itself."""
    if wanted in ("person", "name", "place"):
        named = {folded(name) for name in _NAME.findall(text)}
        return any(name not in asked for name in named)
    return wanted not in _HELD or _HELD[wanted].search(folded(text)) is not None


def features(asked: MemoryQuestion, passages: Sequence["MemoryPassage"]) -> list[tuple[float, ...]]:
    """What is known of each passage, as numbers; `_WEIGHTS` weighs them."""
    own = [frozenset(stems(each.text, guess_language(each.text))) for each in passages]
    around = [frozenset(stems(each.around, guess_language(each.around))) for each in passages]
    worths = _worths(asked, own)
    total = sum(worths) or 1.0
    best = max((each.score for each in passages), default=0.0) or 1.0
    order = sorted({each.said_at for each in passages})
    rank = {moment: at / max(1, len(order) - 1) for at, moment in enumerate(order)}
    rows: list[tuple[float, ...]] = []
    for at, passage in enumerate(passages):
        heard = [_heard(term, like, own[at]) for term, like in zip(asked.terms, asked.alike, strict=True)]
        near = [
            max(said, _AROUND * _heard(term, like, around[at]))
            for said, term, like in zip(heard, asked.terms, asked.alike, strict=True)
        ]
        cov = sum(w * h for w, h in zip(worths, heard, strict=True)) / total
        wide = sum(w * h for w, h in zip(worths, near, strict=True)) / total
        held = holds(asked.wanted, passage.text, asked.text) if asked.wanted else False
        rows.append(
            (
                1.0,
                passage.score,
                passage.score / best,
                float(passage.score == best),
                cov,
                wide,
                float(bool(asked.wanted) and held),
                float(bool(asked.wanted) and not held),
                float(passage.role == asked.speaker),
                float(asked.speaker == "assistant" and passage.role == "assistant"),
                float(passage.text.rstrip().endswith("?")),
                float(len(own[at]) < 3),
                rank[passage.said_at],
                float(_CHANGED.search(folded(passage.text)) is not None),
                float(not asked.terms),
                min(1.0, len(own[at]) / 20),
                float(asked.wanted in ("person", "name") and not held),
            )
        )
    return rows


def _worths(asked: MemoryQuestion, own: Sequence[Collection[str]]) -> list[float]:
    count = len(own) + _SMOOTHING
    worths = []
    for term, like in zip(asked.terms, asked.alike, strict=True):
        saying = sum(1 for said in own if _heard(term, like, said) > 0)
        worths.append(math.log(1 + (count - saying + 0.5) / (saying + 0.5)))
    return worths


def _heard(term: frozenset[str], like: frozenset[str], said: Collection[str]) -> float:
    if not term.isdisjoint(said):
        return 1.0
    if any(_alike(one, other) for one in term for other in said):
        return _ALIKE
    return _SYNONYM if not like.isdisjoint(said) else 0.0


def _alike(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    return len(short) >= _SHORTEST_BEGINNING and len(long) - len(short) <= 4 and long.startswith(short)


def score_memory(asked: MemoryQuestion, passages: Sequence["MemoryPassage"]) -> list[ScoredMemory]:
    """Every passage with its probability, best first."""
    rows = features(asked, passages)
    found = [
        ScoredMemory(passage, 1 / (1 + math.exp(-sum(w * x for w, x in zip(_WEIGHTS, row, strict=True)))), row[5])
        for passage, row in zip(passages, rows, strict=True)
    ]
    return sorted(found, key=lambda each: -each.probability)


_WEIGHTS = (
    -6.06, 0.16, 3.97, 1.06, -0.54, 1.38, 0.2, -1.64, 0.02, 0.78, -1.64, -1.28, 0.88, 0.25, 0.94, -0.21, -0.51,
)  # fmt: skip
