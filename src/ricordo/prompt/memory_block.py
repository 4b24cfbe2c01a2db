"""The memory block of a system prompt: the last session, the key facts, the topics, each within its share of tokens.

In: a profile, words, shares and a way to count. Out: the lines between the two fences, the prompt with the block in it,
and the base prompt back, whatever it contains. Every stored text is put on one line and defused before it is counted,
so what is counted is what stands in the prompt. `known_for_context` gives the same for a context.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from zoneinfo import ZoneInfo

from ricordo.engine.core import Engine, Scope, local_time, newest_summary, quarantined
from ricordo.errors import SettingsError, ValidationError
from ricordo.languages.base import MemoryWords
from ricordo.languages.dates import relative_day
from ricordo.languages.registry import Locale, languages, memory_words
from ricordo.records.derived import Profile
from ricordo.records.turns import KnownContext, SessionInfo
from ricordo.safety.fence import close_fence, defuse, marker, open_fence

Count = Callable[[str], int]

CUT_MARK = "..."
_HEADING = re.compile(r"^[#\s]*#\s+")  # "#1" is a rank, "# x" a heading
MOST_FACT_CHARACTERS = 200
MOST_CHARACTERS_PER_TOKEN = 16  # no more of a long text is counted than could fit


def content_lines(
    profile: Profile, when: str, words: MemoryWords, shares: tuple[int, int, int], most: tuple[int, int], count: Count
) -> list[str]:
    """The sections that have something to say and room to say it; a section is its heading and its text."""
    summary, facts, topics = shares
    most_facts, most_topics = most
    named = [one_line(each).replace(",", ";") for each in profile.topics[:most_topics]]
    day = one_line(when, 60)
    met = profile.last_summary or profile.recent_summary
    points = [f"- {one_line(each, MOST_FACT_CHARACTERS)}" for each in profile.key_facts[:most_facts] if one_line(each)]
    return [
        *_text(f"{words.last_session} ({day})" if day else words.last_session, one_line(met), summary, count),
        *_points(words.facts, points, facts, count),
        *_list(words.topics, [name for name in named if name], topics, count),
    ]


def one_line(text: str, most: int | None = None) -> str:
    """A stored text as one harmless line of at most `most` characters: no heading, role or fence, nothing hidden."""
    line = defuse(_HEADING.sub("", " ".join(defuse(text).split())))
    return line if most is None or len(line) <= most else _shortened(line, most)


def _shortened(line: str, characters: int) -> str:
    """The beginning of a line, marked; defused again, for a cut may bare what stood whole."""
    return defuse(line[:characters].rstrip()) + CUT_MARK


def _text(heading: str, text: str, share: int, count: Count) -> list[str]:
    """A heading and one line, the line cut to what fits."""
    if not text:
        return []
    most = share * MOST_CHARACTERS_PER_TOKEN
    if len(text) <= most and _cost([heading, text], count) <= share:
        return [heading, text]
    low, high = 0, min(len(text), most)
    while low < high:
        middle = (low + high + 1) // 2
        if _cost([heading, _shortened(text, middle)], count) <= share:
            low = middle
        else:
            high = middle - 1
    lines = [heading, _shortened(text, low)]
    return lines if low and _cost(lines, count) <= share else []


def _points(heading: str, points: Sequence[str], share: int, count: Count) -> list[str]:
    """A heading and as many points as fit, first ones first; the first is cut where not even that fits."""
    kept = [heading]
    for point in points:
        if _cost([*kept, point], count) > share:
            break
        kept.append(point)
    if len(kept) > 1 or not points:
        return kept if len(kept) > 1 else []
    short = _text(heading, points[0], share, count)
    return short if short and short[1] != f"-{CUT_MARK}" else []


def _list(heading: str, names: Sequence[str], share: int, count: Count) -> list[str]:
    """A heading and as many names as fit, on one line with commas; the first is cut where not even that fits."""
    lines: list[str] = []
    for taken in range(1, len(names) + 1):
        longer = [heading, defuse(", ".join(names[:taken]))]
        if _cost(longer, count) > share:
            break
        lines = longer
    return lines or _text(heading, names[0] if names else "", share, count)


def _cost(lines: Sequence[str], count: Count) -> int:
    """Tokens of a section with the end of its last line."""
    return count("\n".join([*lines, ""]))


@dataclass(frozen=True, slots=True)
class MemoryShares:
    """Tokens for each section, its heading included, and for the whole enhanced prompt; how many facts and topics.

    The whole includes the safety rules and the base prompt. They are never cut: where they leave little room the
    memory shrinks, and where they leave none it is left out.
    """

    summary: int = 200
    facts: int = 100
    topics: int = 50
    total: int = 1150
    most_facts: int = 5
    most_topics: int = 10

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise SettingsError(f"memory_shares.{each.name}", f"{value!r} is not a count; give 0 or more")

    @property
    def memory(self) -> int:
        """What the three sections may take together."""
        return self.summary + self.facts + self.topics

    def within(self, room: int) -> tuple[int, int, int]:
        """Summary, facts and topics scaled down to `room` tokens, in proportion; never above their shares."""
        if room >= self.memory:
            return self.summary, self.facts, self.topics
        return (self.summary * room // self.memory, self.facts * room // self.memory, self.topics * room // self.memory)


BREAK = "\n\n"


@dataclass(frozen=True, slots=True)
class _Sealed:
    """An enhanced prompt taken apart."""

    safety: str
    base: str
    memory: str


def enhance_prompt(
    base: str,
    profile: Profile,
    *,
    count: Count,
    safety_rules: str = "",
    locale: Locale | str = "it",
    when: str = "",
    shares: MemoryShares | None = None,
) -> str:
    """The base prompt between the safety rules and what is known of the person.

    `count` gives the tokens of a text; `when` says in words when the last session was. A base that was already
    enhanced is taken apart first, so its old memory and old rules are replaced. Without memory, or without room for
    any, only the rules are added; without rules either, the base is returned as it is.
    """
    if not isinstance(base, str):
        raise ValidationError("base", "expected text; pass the system prompt of the agent")
    base = extract_base_prompt(base)
    words = memory_words(locale)
    shares = shares or MemoryShares()
    if not profile.is_empty and (enhanced := _with_memory(base, safety_rules, profile, when, words, shares, count)):
        return enhanced
    return _with_rules(base, safety_rules, words)


def has_memory_context(prompt: str) -> bool:
    """Whether a prompt carries the memory of a person, put there by `enhance_prompt` and not touched since."""
    sealed = _open(prompt)
    return sealed is not None and bool(sealed.memory)


def extract_base_prompt(prompt: str) -> str:
    """The base of an enhanced prompt, byte for byte; any other text is its own base."""
    sealed = _open(prompt)
    return prompt if sealed is None else sealed.base


def _with_memory(
    base: str, safety: str, profile: Profile, when: str, words: MemoryWords, shares: MemoryShares, count: Count
) -> str:
    """The enhanced prompt with as much memory as the whole has room for; empty where it has none."""
    most = (shares.most_facts, shares.most_topics)
    room = shares.memory
    while room > 0:
        lines = content_lines(profile, when, words, shares.within(room), most, count)
        if not lines:
            return ""
        enhanced = _sealed(safety, base, "\n".join(lines), words)
        excess = count(enhanced) - shares.total
        if excess <= 0:
            return enhanced
        room -= excess
    return ""


def _with_rules(base: str, safety: str, words: MemoryWords) -> str:
    """The rules, the line that ends them, and the base."""
    if not safety:
        return base
    return BREAK.join((safety, words.rules_end.format(seal=_seal(safety, base, "", words)), base))


def _sealed(safety: str, base: str, memory: str, words: MemoryWords) -> str:
    """Rules, base and memory; the seal is the marker of the fence."""
    seal = _seal(safety, base, memory, words)
    block = "\n".join(
        (words.title, open_fence(seal, words.code), memory, close_fence(seal, words.code), words.instructions)
    )
    return f"{safety}{BREAK if safety else ''}{base}{BREAK}{block}"


def _seal(safety: str, base: str, memory: str, words: MemoryWords) -> str:
    """How long the rules are, and a digest of everything that none of the texts contains."""
    return f"{len(safety):x}.{marker((safety, base, memory), words.code)}"


def _open(prompt: str) -> _Sealed | None:
    """The parts of an enhanced prompt, or None for any other text."""
    for words in [each.memory for each in languages()]:
        if sealed := _open_memory(prompt, words) or _open_rules(prompt, words):
            return sealed
    return None


def _open_memory(prompt: str, words: MemoryWords) -> _Sealed | None:
    """The parts where the text ends with the close of our fence; its opening is found by the same seal."""
    before, close, after = prompt.rpartition(f"\n{close_fence('', words.code).partition('>>')[0]}")
    found = re.match(r"([0-9a-f]{1,12})\.[0-9a-f]+(?=>>)", after)
    if not close or not found:
        return None
    seal = found[0]
    head, opening, memory = before.rpartition(f"{BREAK}{words.title}\n{open_fence(seal, words.code)}\n")
    length = int(found[1], 16)
    start = length + len(BREAK) if length else 0
    parts = _Sealed(head[:length], head[start:], memory)
    if not opening or not memory or _sealed(parts.safety, parts.base, parts.memory, words) != prompt:
        return None
    return parts


def _open_rules(prompt: str, words: MemoryWords) -> _Sealed | None:
    """The parts where only rules were added: their end stands where its own seal says that it does."""
    before, after = (re.escape(part) for part in words.rules_end.split("{seal}"))
    for found in re.finditer(rf"{BREAK}{before}([0-9a-f]{{1,12}})\.[0-9a-f]+{after}(?={BREAK})", prompt):
        if int(found[1], 16) != found.start() or not found.start():
            continue
        parts = _Sealed(prompt[: found.start()], prompt[found.end() + len(BREAK) :], "")
        if _with_rules(parts.base, parts.safety, words) == prompt:
            return parts
    return None


def profile_text(engine: Engine, profile: Profile) -> str:
    """A profile as the lines of the memory block, defused and within its shares."""
    if profile.is_empty:
        return ""
    words, shares = memory_words(engine.labels), shares_of(engine)
    most = (shares.most_facts, shares.most_topics)
    amounts = (shares.summary, shares.facts, shares.topics)
    return "\n".join(content_lines(profile, when(engine, profile), words, amounts, most, engine.counter.count))


def enhanced(engine: Engine, base: str, profile: Profile, safety_rules: str) -> str:
    """A system prompt with safety rules first and the profile last."""
    return enhance_prompt(
        base,
        profile,
        count=engine.counter.count,
        safety_rules=safety_rules,
        locale=engine.labels,
        when=when(engine, profile),
        shares=shares_of(engine),
    )


def when(engine: Engine, profile: Profile) -> str:
    """The day of the last session, as the user would say it."""
    now = local_time(engine, engine.clock.now())
    zone = ZoneInfo(engine.settings.profile.time_zone)
    return relative_day(profile.last_session_date, now, zone, engine.settings.locale.code)


def shares_of(engine: Engine) -> MemoryShares:
    """How many tokens each part may take, by the settings."""
    chosen = engine.settings.profile
    return MemoryShares(
        summary=chosen.profile_summary_tokens,
        facts=chosen.profile_facts_tokens,
        topics=chosen.profile_topics_tokens,
        most_facts=chosen.profile_facts,
        most_topics=chosen.profile_topics,
    )


EndIdle = Callable[[Engine, Scope], list[str]]  # returns notes on what could not be ended


def known_for_context(
    engine: Engine, scope: Scope, session: SessionInfo | None, end_idle: EndIdle | None = None
) -> KnownContext:
    """What goes into a context before its question is read; `end_idle` ends idle sessions before the first context."""
    notes: list[str] = []
    if end_idle and engine.settings.profile.remember_person == "on" and not _has_answers(engine, scope, session):
        notes = end_idle(engine, scope)
    condensed = newest_summary(engine, scope.owner, scope.session_id)
    hidden = quarantined(engine, scope.owner) if condensed else frozenset()
    profile = ""
    if engine.settings.profile.remember_person == "on":
        from ricordo.people.profile import (
            profile_of,
        )  # loads the rules for facts, which a memory without facts never needs

        known = profile_of(engine, scope.owner, scope.agent_id, without=scope.session_id, project=scope.project)
        profile = profile_text(engine, known)
    if condensed is None or condensed.id in hidden:
        return KnownContext(profile, degraded=tuple(notes))
    return KnownContext(profile, condensed.text, tuple(notes))


def _has_answers(engine: Engine, scope: Scope, session: SessionInfo | None) -> bool:
    """Whether anything was answered in the session before."""
    if session is None or session.turn_count > 1:
        return session is not None
    return any(not turn.is_open for turn in engine.store.turns.page(scope.owner, scope.session_id, last=2))
