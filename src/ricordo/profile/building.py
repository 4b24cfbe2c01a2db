"""The profile of a user, made of their last sessions within exact token limits.

Summaries, facts and topics go in with the limits and a counter; a `Profile` comes out. Facts and topics are taken whole
or not at all; only a summary may be cut, at the end of a sentence, or of a word where even one sentence is too long.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from ricordo.facts.knowing import by_weight
from ricordo.model_ports import TokenCounter
from ricordo.person import Fact, Profile, Summary
from ricordo.profile.telling import Piece, pieces, told
from ricordo.recall.words import fold
from ricordo.settings import ProfileSettings


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
    chosen: list[Piece] = []
    for position, summary in enumerate(recent):
        for piece in pieces(summary.text, position):
            if counter.count(told([*chosen, piece])) > limit:
                return told(chosen) or _cut(piece, limit, counter)
            chosen.append(piece)
    return told(chosen)


def _cut(piece: Piece, limit: int, counter: TokenCounter) -> str:
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
