"""The profile of a user, made of their last sessions within exact token limits.

Summaries, facts and topics go in with the limits and a counter; a `Profile` comes out. Facts and topics are taken whole
or not at all; only a summary may be cut, at the end of a sentence, or of a word where even one sentence is too long.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from itertools import groupby

from ricordo.engine.core import Engine, local_time, quarantined
from ricordo.engine.protocols import TokenCounter
from ricordo.languages.summaries import ENGLISH_WORDING, ITALIAN_WORDING, wording_of
from ricordo.people.facts.claims import is_negative
from ricordo.people.facts.dates import day_named
from ricordo.people.summaries.layout import divided, read
from ricordo.recall.terms import fold
from ricordo.records.people import Fact, FactKind, Profile, Summary
from ricordo.records.turns import Owner
from ricordo.settings import ProfileSettings

# A summary as a profile tells it: sentences of who said what, without the labels that a transcript has.

_SENTENCE = re.compile(r"\S.*?(?:[.!?…]+(?=\s|\Z)|\Z|(?=\n))", re.DOTALL)
# Names and dates are told; bare numbers, ids, paths and code say nothing to who did not see them.
_TELLING = re.compile(r"(?=.*[^\W\d_]{2})(?:(?:[^\W\d_]|['’-])+\.?|\d+)(?: (?:(?:[^\W\d_]|['’-])+\.?|\d+))*")


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands before, between and after the pieces that are told together."""

    opening: str = ""
    between: str = " "
    closing: str = ""


@dataclass(frozen=True, slots=True)
class SummaryPiece:
    """Some words of a summary, which is told apart from others by a number."""

    summary: int
    frame: Frame
    text: str


_PLAIN = Frame()
_FRAMES = {
    ITALIAN_WORDING.user: Frame("Ha detto: «", closing="»"),
    ITALIAN_WORDING.assistant: Frame("In risposta: «", closing="»"),
    ENGLISH_WORDING.user: Frame("They said: “", closing="”"),
    ENGLISH_WORDING.assistant: Frame("In reply: “", closing="”"),
}


def pieces(text: str, summary: int = 0) -> Iterator[SummaryPiece]:
    """The pieces of a summary in order: its sentences, then what else was named that tells something."""
    sheet = read(text)
    for line in sheet.lines:
        speaker, words = divided(line)
        frame = _FRAMES.get(speaker, _PLAIN)
        for match in _SENTENCE.finditer(words):
            yield SummaryPiece(summary, frame, " ".join(match[0].split()))
    label = wording_of(text).mentioned
    for item in sheet.mentioned:
        if _TELLING.fullmatch(item):
            yield SummaryPiece(summary, Frame(f"{label}: ", ", ", "."), item)


def told(chosen: Iterable[SummaryPiece]) -> str:
    """Pieces as one line."""
    return " ".join(
        frame.opening + frame.between.join(piece.text for piece in together) + frame.closing
        for (_, frame), together in groupby(chosen, key=lambda piece: (piece.summary, piece.frame))
    )


def build(
    summaries: Sequence[Summary],
    facts: Iterable[Fact],
    topics: Sequence[str],
    settings: ProfileSettings,
    counter: TokenCounter,
    now: datetime,
) -> Profile:
    """What is told of a user.

    `summaries` are of ended sessions, in any order; `topics` are labels, the most telling first, and come before those
    that the summaries name. The date is that of the newest session.
    """
    recent = _recent(summaries, settings.profile_sessions, now)
    named = [*topics, *(topic for summary in recent for topic in summary.topics)]
    return Profile(
        recent_summary=_summary(recent, settings.profile_summary_tokens, counter),
        key_facts=_whole(
            _distinct(fact.text for fact in by_weight(facts, now)),
            settings.profile_facts,
            lambda kept: counter.count(as_bullets(kept)) <= settings.profile_facts_tokens,
        ),
        topics=_whole(
            _distinct(named),
            settings.profile_topics,
            lambda kept: counter.count(as_list(kept)) <= settings.profile_topics_tokens,
        ),
        last_session_date=recent[0].created_at if recent else None,
    )


def as_bullets(texts: Sequence[str]) -> str:
    """Facts as a prompt has them, and as they are counted."""
    return "\n".join(f"- {text}" for text in texts)


def as_list(topics: Sequence[str]) -> str:
    """Topics as a prompt has them, and as they are counted."""
    return ", ".join(topics)


def as_document(profile: Profile) -> dict[str, object]:
    """The profile as the endpoint gives it: null where there is nothing, times in ISO 8601 with a Z."""
    date = profile.last_session_date
    return {
        "recentSummary": profile.recent_summary or None,
        "keyFacts": list(profile.key_facts),
        "topics": list(profile.topics),
        "lastSessionDate": date.isoformat().replace("+00:00", "Z") if date else None,
    }


def _recent(summaries: Sequence[Summary], sessions: int, now: datetime) -> list[Summary]:
    """The newest summary of each of the last sessions, the newest session first."""
    newest: dict[str, Summary] = {}
    for summary in sorted(summaries, key=lambda each: (each.created_at, each.last_turn, each.id), reverse=True):
        if summary.created_at <= now:
            newest.setdefault(summary.session_id, summary)
    return list(newest.values())[:sessions]


def _summary(recent: Sequence[Summary], limit: int, counter: TokenCounter) -> str:
    """The newest session told first, older ones after it as far as whole sentences fit."""
    chosen: list[SummaryPiece] = []
    for position, summary in enumerate(recent):
        for piece in pieces(summary.text, position):
            if counter.count(told([*chosen, piece])) > limit:
                return told(chosen) or _cut(piece, limit, counter)
            chosen.append(piece)
    return told(chosen)


def _cut(piece: SummaryPiece, limit: int, counter: TokenCounter) -> str:
    """As many words of a sentence as fit, with a mark that there were more."""
    words = piece.text.split(" ")
    for end in range(len(words) - 1, 0, -1):
        shorter = told([replace(piece, text=" ".join(words[:end]) + "…")])
        if counter.count(shorter) <= limit:
            return shorter
    return ""


def _whole(texts: Iterable[str], most: int, fits: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """The first texts that fit together; one that is too long makes room for the next."""
    kept: list[str] = []
    for text in texts:
        if len(kept) >= most:
            break
        if fits([*kept, text]):
            kept.append(text)
    return tuple(kept)


def _distinct(texts: Iterable[str]) -> Iterator[str]:
    """Each text once, one at a time: who needs five of a thousand does not pay for the rest."""
    seen: set[str] = set()
    for text in texts:
        line = " ".join(text.split())
        if line and (folded := fold(line)) not in seen:
            seen.add(folded)
            yield line


# How long ago a day was, as people say it: oggi, ieri, 3 giorni fa; today, yesterday, 3 days ago.


@dataclass(frozen=True, slots=True)
class _Words:
    today: str
    yesterday: str
    ago: str
    tomorrow: str
    ahead: str


_WORDS: Mapping[str, _Words] = {
    "it": _Words("oggi", "ieri", "{n} giorni fa", "domani", "tra {n} giorni"),
    "en": _Words("today", "yesterday", "{n} days ago", "tomorrow", "in {n} days"),
}


def relative_day(moment: datetime | None, now: datetime, zone: tzinfo, locale: str = "en") -> str:
    """The day of a moment, seen from now; empty where there is none.

    A clock that runs ahead makes no future: later on the same day is still today. A day that is really to come is
    "domani" or "tra N giorni". Locales without words of their own ("it-IT" has those of "it") are told in English.
    """
    if moment is None:
        return ""
    words = _WORDS.get(locale.lower().replace("_", "-").partition("-")[0], _WORDS["en"])
    days = (now.astimezone(zone).date() - moment.astimezone(zone).date()).days
    match days:
        case 0:
            return words.today
        case 1:
            return words.yesterday
        case -1:
            return words.tomorrow
    return words.ago.format(n=days) if days > 0 else words.ahead.format(n=-days)


# What is known of a person before a question is read: the profile across sessions, and the condensed turns.

SUMMARIES = 24  # looked at: several may be of one session


def profile_of(engine: Engine, owner: Owner, agent_id: str, *, without: str | None = None) -> Profile:
    """What an agent knows of a user, from the sessions that ended, but for one of them."""
    away = quarantined(engine, owner)
    summaries = [
        each
        for each in engine.store.people.summaries(owner, agent_id=agent_id, kind="session", limit=SUMMARIES)
        if each.session_id != without and each.id not in away
    ]
    facts = [fact for fact in engine.store.people.facts(owner, agent_id).facts if fact.id not in away]
    return build(summaries, facts, (), engine.settings.profile, engine.counter, _local_now(engine))


def _local_now(engine: Engine) -> datetime:
    """Now, on the user's calendar: whether an exam is over is decided by their day."""
    return local_time(engine, engine.clock.now())


# Profile: what an agent knows of a user across sessions, short enough for every prompt; and how long ago that was.


_GIVEN_UP = re.compile(r"non vuole più\b|no longer wants\b", re.IGNORECASE)


_FADES = timedelta(days=30)


# What a tutor must not get wrong first, then what they work on, then the rest.
_TIERS: dict[FactKind, int] = {
    "name": 0, "difficulty": 1, "goal": 1, "date": 2, "preference": 2, "other": 3, "relation": 3, "place": 3,
}  # fmt: skip


def known_at(facts: Iterable[Fact], moment: datetime) -> tuple[Fact, ...]:
    """What was known at that moment, in the order it began to be known."""
    return tuple(sorted((fact for fact in facts if fact.known_at(moment)), key=lambda fact: (fact.valid_from, fact.id)))


def key_facts(facts: Iterable[Fact], now: datetime) -> tuple[Fact, ...]:
    """What is known now, the most telling first: name, then difficulties and goals, then the rest.

    Of equals the recent and repeated come first. Days that are over and difficulties that were
    overcome tell nothing any more and are left out.
    """
    return tuple(by_weight(facts, now))


def by_weight(facts: Iterable[Fact], now: datetime) -> Iterator[Fact]:
    """The key facts one at a time: a profile takes the first few of many."""
    known = [fact for fact in facts if fact.known_at(now)]
    known.sort(key=lambda fact: (_TIERS[fact.kind], -_weight(fact, now), fact.id))
    return (fact for fact in known if not is_over(fact, now))


def is_over(fact: Fact, now: datetime) -> bool:
    """Whether a fact no longer matters: the exam is past, the difficulty overcome, the goal missed or given up.

    `now` is told in the user's time zone: the day of an exam is over when it is over for them.
    """
    if fact.kind == "difficulty":
        return is_negative(fact.kind, fact.text)
    if fact.kind == "goal" and _GIVEN_UP.match(fact.text):
        return True
    if fact.kind not in ("date", "goal") or fact.about == "date:birthday":
        return False
    day = day_named(fact.text)
    return day is not None and day < now.date()


def _weight(fact: Fact, now: datetime) -> float:
    age = max(now - fact.valid_from, timedelta(0))
    return math.log2(1 + len(fact.sources)) + float(0.5 ** (age / _FADES))
