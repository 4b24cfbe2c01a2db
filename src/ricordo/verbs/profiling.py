"""What is known of a person before a question is read: the profile across sessions, and the condensed turns.

Reads a handful of rows, so that it can stand in the way of every context; what is in quarantine stays out.
"""

from datetime import datetime
from zoneinfo import ZoneInfo

from ricordo.person import Profile
from ricordo.profile.building import build
from ricordo.profile.relative import relative_day
from ricordo.prompt.block import content_lines
from ricordo.prompt.enhance import enhance_prompt
from ricordo.prompt.shares import MemoryShares
from ricordo.prompt.words import memory_words
from ricordo.records import Owner
from ricordo.verbs.condensing import newest_summary
from ricordo.verbs.tools import Known, Scope, Tools, on_their_calendar, quarantined

SUMMARIES = 24  # looked at: several may be of one session


def profile_of(tools: Tools, owner: Owner, agent_id: str, *, without: str | None = None) -> Profile:
    """What an agent knows of a user, from the sessions that ended, but for one of them."""
    away = quarantined(tools, owner)
    summaries = [
        each
        for each in tools.store.summaries(owner, agent_id=agent_id, kind="session", limit=SUMMARIES)
        if each.session_id != without and each.id not in away
    ]
    facts = [fact for fact in tools.store.people(owner, agent_id).facts if fact.id not in away]
    return build(summaries, facts, (), tools.settings.profile, tools.counter, _local_now(tools))


def known_to(tools: Tools, scope: Scope) -> Known:
    """What goes into a context before its question is read."""
    condensed = newest_summary(tools, scope.owner, scope.session_id)
    away = quarantined(tools, scope.owner) if condensed else frozenset()
    profile = ""
    if tools.settings.profile.remember_person == "on":
        profile = profile_text(tools, profile_of(tools, scope.owner, scope.agent_id, without=scope.session_id))
    if condensed is None or condensed.id in away:
        return Known(profile)
    return Known(profile, condensed.text, condensed.last_turn)


def profile_text(tools: Tools, profile: Profile) -> str:
    """A profile as the lines of the memory block, defused and within its shares."""
    if profile.is_empty:
        return ""
    words, shares = memory_words(tools.settings.locale), shares_of(tools)
    most = (shares.most_facts, shares.most_topics)
    amounts = (shares.summary, shares.facts, shares.topics)
    return "\n".join(content_lines(profile, when(tools, profile), words, amounts, most, tools.counter.count))


def enhanced(tools: Tools, base: str, profile: Profile, safety_rules: str) -> str:
    """A system prompt with safety rules first and the profile last."""
    return enhance_prompt(
        base,
        profile,
        count=tools.counter.count,
        safety_rules=safety_rules,
        locale=tools.settings.locale,
        when=when(tools, profile),
        shares=shares_of(tools),
    )


def when(tools: Tools, profile: Profile) -> str:
    """The day of the last session, as the user would say it."""
    now = _local_now(tools)
    zone = ZoneInfo(tools.settings.profile.time_zone)
    return relative_day(profile.last_session_date, now, zone, tools.settings.locale.code)


def _local_now(tools: Tools) -> datetime:
    """Now, on the user's calendar: whether an exam is over is decided by their day."""
    return on_their_calendar(tools, tools.clock.now())


def shares_of(tools: Tools) -> MemoryShares:
    """How many tokens each part may take, by the settings."""
    chosen = tools.settings.profile
    return MemoryShares(
        summary=chosen.profile_summary_tokens,
        facts=chosen.profile_facts_tokens,
        topics=chosen.profile_topics_tokens,
        most_facts=chosen.profile_facts,
        most_topics=chosen.profile_topics,
    )
