"""The profile of a user, built from their last sessions within exact token limits.

Summaries, facts and topics go in with the limits and a token counter; a `Profile` comes out. Facts and topics are kept
whole or dropped. Only a summary may be cut: at a sentence, or at a word if one sentence is too long.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby, islice

from ricordo.engine import TokenCounter
from ricordo.engine.core import Engine, ProjectsOfSessions, in_project, local_time, quarantined
from ricordo.languages.dates import last_day_in
from ricordo.languages.registry import AnyLanguage, all_words, languages
from ricordo.languages.text import fold, sentences
from ricordo.people.facts.claims import is_negative
from ricordo.people.facts.merge import group_of
from ricordo.people.summaries.layout import parse_summary, split_speaker, wording_of
from ricordo.records.derived import Fact, FactKind, Profile, Summary
from ricordo.records.turns import Owner
from ricordo.settings import ProfileSettings

SUMMARIES = 24  # read; several may belong to one session
PROJECT_SUMMARIES = 500  # read to find those of one project
_GIVEN_UP = re.compile(r"non vuole più\b|no longer wants\b", re.IGNORECASE)
_FADES = timedelta(days=30)
SAID = "said:"  # prefix of the `about` of a judged clause
LEARNING = "learning:"  # prefix of the `about` of a way of learning
_WORD = re.compile(r"[^\W\d_]+")
_LEANS = AnyLanguage(r"[“«]|\d+,|(?:<facts.other_pronouns>|<facts.joins>)\b", flags=re.IGNORECASE)
_OWN = AnyLanguage(r"[“«](?:<facts.self_words>)\b", flags=re.IGNORECASE)  # "we are getting married" is clear by itself
_WHOLE = 3  # least words of a clause that is clear by itself
# Ranks of facts by kind, and of judged clauses by the group of their subject; the lowest comes first.
_TIERS: dict[FactKind, int] = {
    "name": 0, "difficulty": 1, "goal": 1, "date": 2, "preference": 2, "other": 3, "relation": 3, "place": 3,
}  # fmt: skip
_GROUP_TIERS = {
    "name": 0, "health": 1, "diet": 1, "goal": 1, "age": 2, "home": 2, "work": 2, "study": 2, "family": 2, "partner": 2,
    "origin": 2, "pet": 2, "skill": 2, "taste": 2, "habit": 2, "event": 3, "thing": 3, "other": 4,
}  # fmt: skip
# Names and dates; other details mean nothing without their context.
_READABLE = re.compile(r"(?=.*[^\W\d_]{2})(?:(?:[^\W\d_]|['’-])+\.?|\d+)(?: (?:(?:[^\W\d_]|['’-])+\.?|\d+))*")


@dataclass(frozen=True, slots=True)
class QuoteFrame:
    """The text before, between and after the sentences of one speaker."""

    opening: str = ""
    between: str = " "
    closing: str = ""


@dataclass(frozen=True, slots=True)
class SummaryPiece:
    """A sentence of a summary; `summary` is the number of the summary it belongs to."""

    summary: int
    frame: QuoteFrame
    text: str


_PLAIN = QuoteFrame()


def summary_pieces(text: str, summary: int = 0) -> Iterator[SummaryPiece]:
    """The pieces of a summary in order: its sentences, then the readable key details."""
    sheet = parse_summary(text)
    for line in sheet.lines:
        speaker, words = split_speaker(line)
        frame = _frame_of(speaker)
        for start, end in sentences(words, chat=True):
            yield SummaryPiece(summary, frame, " ".join(words[start:end].split()))
    label = wording_of(text).mentioned
    for item in sheet.mentioned:
        if _READABLE.fullmatch(item):
            yield SummaryPiece(summary, QuoteFrame(f"{label}: ", ", ", "."), item)


def _frame_of(speaker: str) -> QuoteFrame:
    for each in languages():
        wording = each.summaries
        if speaker in (wording.user, wording.assistant):
            opening, closing = wording.user_quoted if speaker == wording.user else wording.assistant_quoted
            return QuoteFrame(opening, closing=closing)
    return _PLAIN


def join_pieces(chosen: Iterable[SummaryPiece]) -> str:
    return " ".join(
        frame.opening + frame.between.join(piece.text for piece in together) + frame.closing
        for (_, frame), together in groupby(chosen, key=lambda piece: (piece.summary, piece.frame))
    )


def build_profile(
    summaries: Sequence[Summary],
    facts: Iterable[Fact],
    topics: Sequence[str],
    settings: ProfileSettings,
    counter: TokenCounter,
    now: datetime,
) -> Profile:
    """Build the profile.

    `summaries` are of ended sessions, in any order. `topics` are labels, the most important first, and come before
    those of the summaries. The date is that of the newest session.
    """
    recent = _recent(summaries, settings.profile_sessions, now)
    named = [*topics, *(topic for summary in recent for topic in summary.topics)]
    return Profile(
        recent_summary=_summary(recent, settings.profile_summary_tokens, counter),
        key_facts=_take_fitting(
            _distinct(fact.text for fact in ranked_facts(facts, now)),
            settings.profile_facts,
            lambda kept: counter.count(as_bullets(kept)) <= settings.profile_facts_tokens,
        ),
        topics=_take_fitting(
            _distinct(named),
            settings.profile_topics,
            lambda kept: counter.count(as_list(kept)) <= settings.profile_topics_tokens,
        ),
        last_session_date=recent[0].created_at if recent else None,
        last_summary=_summary(recent[:1], settings.profile_summary_tokens, counter),
    )


def as_bullets(texts: Sequence[str]) -> str:
    """Facts as the prompt shows and counts them."""
    return "\n".join(f"- {text}" for text in texts)


def as_list(topics: Sequence[str]) -> str:
    """Topics as the prompt shows and counts them."""
    return ", ".join(topics)


def profile_json(profile: Profile) -> dict[str, object]:
    """The profile as the endpoint returns it: null for missing values, times in ISO 8601 with a Z."""
    date = profile.last_session_date
    return {
        "recentSummary": profile.recent_summary or None,
        "keyFacts": list(profile.key_facts),
        "topics": list(profile.topics),
        "lastSessionDate": date.isoformat().replace("+00:00", "Z") if date else None,
    }


def _recent(summaries: Sequence[Summary], sessions: int, now: datetime) -> list[Summary]:
    """The newest summary of each of the last sessions, newest session first."""
    newest: dict[str, Summary] = {}
    for summary in sorted(summaries, key=lambda each: (each.created_at, each.last_turn, each.id), reverse=True):
        if summary.created_at <= now:
            newest.setdefault(summary.session_id, summary)
    return list(newest.values())[:sessions]


def _summary(recent: Sequence[Summary], limit: int, counter: TokenCounter) -> str:
    """The newest session first, then older ones as far as whole sentences fit."""
    chosen: list[SummaryPiece] = []
    for position, summary in enumerate(recent):
        for piece in summary_pieces(summary.text, position):
            if counter.count(join_pieces([*chosen, piece])) > limit:
                return join_pieces(chosen) or _cut(piece, limit, counter)
            chosen.append(piece)
    return join_pieces(chosen)


def _cut(piece: SummaryPiece, limit: int, counter: TokenCounter) -> str:
    """As many words of a sentence as fit, with an ellipsis."""
    words = piece.text.split(" ")
    for end in range(len(words) - 1, 0, -1):
        shorter = join_pieces([replace(piece, text=" ".join(words[:end]) + "…")])
        if counter.count(shorter) <= limit:
            return shorter
    return ""


def _take_fitting(texts: Iterable[str], most: int, fits: Callable[[Sequence[str]], bool]) -> tuple[str, ...]:
    """The first texts that fit together; one that is too long is skipped."""
    kept: list[str] = []
    for text in texts:
        if len(kept) >= most:
            break
        if fits([*kept, text]):
            kept.append(text)
    return tuple(kept)


def _distinct(texts: Iterable[str]) -> Iterator[str]:
    """Each text once, lazily."""
    seen: set[str] = set()
    for text in texts:
        line = " ".join(text.split())
        if line and (folded := fold(line)) not in seen:
            seen.add(folded)
            yield line


def profile_of(
    engine: Engine, owner: Owner, agent_id: str, *, without: str | None = None, project: str = ""
) -> Profile:
    """What an agent knows about a user from ended sessions, except the session `without`.

    With a project, summaries are those of its sessions, and facts those that `in_project` keeps.
    """
    away = quarantined(engine, owner)
    most = PROJECT_SUMMARIES if project else SUMMARIES
    summaries = [
        each
        for each in engine.store.people.summaries(owner, agent_id=agent_id, kind="session", limit=most)
        if each.session_id != without and each.id not in away
    ]
    facts = [fact for fact in engine.store.people.facts(owner, agent_id).facts if fact.id not in away]
    if project:
        projects = ProjectsOfSessions(engine, owner)
        summaries = list(islice((each for each in summaries if projects[each.session_id] == project), SUMMARIES))
        facts = in_project(engine, owner, facts, project)
    now = local_time(engine, engine.clock.now())  # in the user's time zone, which decides whether a date is past
    return build_profile(summaries, facts, (), engine.settings.profile, engine.counter, now)


def key_facts(facts: Iterable[Fact], now: datetime) -> tuple[Fact, ...]:
    """The current facts by importance: pinned, instructions, name, ways of learning, what answers must heed, the rest.

    Among equals, recent and repeated facts come first. Past dates and overcome difficulties are left out unless pinned.
    """
    return tuple(ranked_facts(facts, now))


def ranked_facts(facts: Iterable[Fact], now: datetime) -> Iterator[Fact]:
    """The key facts, lazily: a profile takes the first few."""
    known = [fact for fact in facts if fact.known_at(now)]
    known.sort(key=lambda fact: (fact.text, fact.id))  # ids differ from run to run
    known.sort(key=lambda fact: (not fact.pinned, not fact.is_instruction, _tier(fact), -_weight(fact, now)))
    return (fact for fact in known if fact.pinned or not is_outdated(fact, now))


def _tier(fact: Fact) -> int:
    """The rank of a fact by its kind or the group of its subject; fragments and unclear quotes come last."""
    words = _WORD.findall(fold(fact.text))
    learning = fact.about.startswith(LEARNING) or not all_words("facts.learning").isdisjoint(words)
    if fact.kind == "preference" and learning:
        return _TIERS["difficulty"]
    if not fact.about.startswith(SAID):
        return _TIERS[fact.kind]
    own = _OWN.match(fact.text) and all_words("followups.replaceable").isdisjoint(words)
    leans = len(words) < _WHOLE or (_LEANS.match(fact.text) is not None and not own)
    return _GROUP_TIERS.get(group_of(fact.about), _TIERS[fact.kind]) + 5 * leans


def is_outdated(fact: Fact, now: datetime) -> bool:
    """Whether a fact no longer matters: date past, difficulty overcome, goal missed or given up.

    `now` is in the user's time zone.
    """
    if fact.kind == "difficulty":
        return is_negative(fact.kind, fact.text)
    if fact.kind == "goal" and _GIVEN_UP.match(fact.text):
        return True
    if fact.kind not in ("date", "goal") or fact.about == "date:birthday":
        return False
    day = last_day_in(fact.text)
    return day is not None and day < now.date()


def _weight(fact: Fact, now: datetime) -> float:
    age = max(now - fact.valid_from, timedelta(0))
    return math.log2(1 + len(fact.sources)) + float(0.5 ** (age / _FADES))
