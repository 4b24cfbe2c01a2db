"""All settings, grouped in small value objects that check themselves once.

In: a preset's name, keyword arguments, environment variables. Out: one frozen `Settings`. Every setting has
one flat name (`max_turns`, `turn_ttl`, …) that works as keyword, as `RICORDO_MAX_TURNS` and on the command line.
Errors name the key and the type that was expected.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from datetime import timedelta
from difflib import get_close_matches
from types import UnionType
from typing import Any, Literal, get_args, get_origin, get_type_hints

from ricordo.errors import SettingsError
from ricordo.limits import Limits
from ricordo.locales import Locale, locale_for

DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class WindowSettings:
    """The recent turns: how many, within how many tokens, how short in a prompt. None: no bound."""

    max_turns: int | None = 3
    max_tokens: int = 2_000
    compact_chars: int = 150
    most_turns: int | None = None

    def __post_init__(self) -> None:
        _at_least("max_tokens", self.max_tokens, 0)
        _at_least("compact_chars", self.compact_chars, 1)
        if self.max_turns is not None:
            _at_least("max_turns", self.max_turns, 0)
            if self.most_turns is not None and self.max_turns > self.most_turns:
                raise SettingsError("max_turns", f"this preset allows at most {self.most_turns}")


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """The tokens of a whole prompt. Shares are weights: only sections with something to say compete."""

    model_limit: int = 4_096
    answer_reserve: int = 0
    system_share: int = 800
    question_share: int = 200
    format_share: int = 100
    profile_share: int = 350
    summary_share: int = 400
    history_share: int = 1_500
    recalled_share: int = 500
    chunks_share: int = 1_500
    chunks_first: int = 8
    chunks_later: int = 6

    def __post_init__(self) -> None:
        for each in fields(self):
            _at_least(each.name, getattr(self, each.name), 1 if each.name.endswith("_share") else 0)


@dataclass(frozen=True, slots=True)
class Retention:
    """How long things live. None: until told otherwise."""

    turn_ttl: timedelta | None = None
    session_idle: timedelta | None = None
    cleanup_interval: timedelta = timedelta(hours=6)

    def __post_init__(self) -> None:
        for each in fields(self):
            value = getattr(self, each.name)
            if value is not None and value <= timedelta(0):
                raise SettingsError(each.name, f"expected a duration above zero, got {value}")


@dataclass(frozen=True, slots=True)
class CondensationSettings:
    """When a long session is summarised and what stays verbatim."""

    condense_tokens: int = 260_000
    condense_at: float = 0.95
    condense_keep: int = 5
    condense_least: int = 4


@dataclass(frozen=True, slots=True)
class TopicSettings:
    """How topics are joined, fade and are compacted."""

    max_topics: int = 20
    similarity_threshold: float = 0.7
    base_half_life: timedelta = DAY
    max_half_life: timedelta = 30 * DAY
    access_threshold: int = 5
    max_messages_per_topic: int = 12
    recent_message_keep: int = 4
    forget: Literal["archive", "delete"] = "archive"


@dataclass(frozen=True, slots=True)
class ProfileSettings:
    """What of a person travels across sessions, and how many tokens each part may take."""

    profile_sessions: int = 3
    profile_facts: int = 5
    profile_topics: int = 10
    profile_summary_tokens: int = 200
    profile_facts_tokens: int = 100
    profile_topics_tokens: int = 50
    session_end_idle: timedelta = timedelta(minutes=30)


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be chosen."""

    preset: str = "balanced"
    tenant_id: str = "default"
    locale: Locale = field(default_factory=lambda: locale_for("en"))
    model: str = "o200k"
    system_prompt: str = ""
    safety_rules: str = ""
    format_instructions: str = ""
    recent_sessions: int = 10
    clarification_timeout: timedelta = timedelta(minutes=5)
    window: WindowSettings = field(default_factory=WindowSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    retention: Retention = field(default_factory=Retention)
    condensation: CondensationSettings = field(default_factory=CondensationSettings)
    topics: TopicSettings = field(default_factory=TopicSettings)
    profile: ProfileSettings = field(default_factory=ProfileSettings)
    limits: Limits = field(default_factory=Limits)

    def with_values(self, values: Mapping[str, Any]) -> "Settings":
        """A copy with flat settings changed; text is parsed to the type that the setting has."""
        result = self
        for key, raw in values.items():
            result = _set(result, key, raw)
        return result


def setting_names() -> dict[str, tuple[str | None, Any]]:
    """Flat name to (group, type), in the order of the groups."""
    names: dict[str, tuple[str | None, Any]] = {}
    for key, kind in get_type_hints(Settings).items():
        if is_dataclass(kind) and kind is not Locale:
            names.update({inner: (key, hint) for inner, hint in get_type_hints(kind).items()})
        else:
            names[key] = (None, kind)
    return names


def _set(settings: Settings, key: str, raw: Any) -> Settings:
    names = setting_names()
    if key not in names:
        near = get_close_matches(key, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; the known ones are {', '.join(sorted(names))}"
        raise SettingsError(key, f"is unknown{hint}")
    group, kind = names[key]
    value = _parse(key, kind, raw)
    if group is None:
        return replace(settings, **{key: value})
    return replace(settings, **{group: replace(getattr(settings, group), **{key: value})})


def _parse(key: str, kind: Any, raw: Any) -> Any:
    """`raw` as the type of the setting; text (from the environment or a command line) is understood."""
    if kind is Locale:
        return locale_for(raw)
    if isinstance(kind, UnionType):
        if raw is None or (isinstance(raw, str) and raw.lower() in ("none", "")):
            return None
        kind = next(option for option in get_args(kind) if option is not type(None))
    if get_origin(kind) is Literal:
        if raw in get_args(kind):
            return raw
        raise SettingsError(key, f"expected one of {', '.join(get_args(kind))}, got {raw!r}")
    if kind is timedelta:
        return _duration(key, raw)
    if kind in (int, float) and isinstance(raw, str):
        try:
            return kind(raw.replace("_", ""))
        except ValueError:
            raise SettingsError(key, f"expected {_noun(kind)}, got {raw!r}") from None
    if kind is float and isinstance(raw, int) and not isinstance(raw, bool):
        return float(raw)
    if isinstance(raw, bool) or not isinstance(raw, kind):
        raise SettingsError(key, f"expected {_noun(kind)}, got {type(raw).__name__}")
    return raw


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _duration(key: str, raw: Any) -> timedelta:
    if isinstance(raw, timedelta):
        return raw
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", raw.strip().lower()) if isinstance(raw, str) else None
    if match is None:
        raise SettingsError(key, f"expected a duration such as '30m', '24h' or '30d', got {raw!r}")
    return timedelta(**{_UNITS[match[2]]: float(match[1])})


def _noun(kind: type) -> str:
    return {int: "a whole number", float: "a number", str: "text"}.get(kind, kind.__name__)


def _at_least(key: str, value: int, least: int) -> None:
    if value < least:
        raise SettingsError(key, f"expected {least} or more, got {value}")
