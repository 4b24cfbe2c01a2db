"""All settings, in small groups that are checked when they are made.

In: a preset's name, keyword arguments, environment variables. Out: one immutable `Settings`. Every setting has one flat
name (`max_turns`, `turn_ttl`, …), which is also a keyword, the variable `RICORDO_MAX_TURNS`, and a name for `--set` on
the command line. Errors name the key and the expected type.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import field, fields, is_dataclass, replace
from datetime import timedelta
from difflib import get_close_matches
from types import UnionType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

from ricordo.errors import SettingsError
from ricordo.languages.registry import Locale, for_students, locale_for
from ricordo.limits import LARGEST, MOST_METADATA_BYTES, MOST_TEXT_BYTES, Limits
from ricordo.records.values import record

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

DAY = timedelta(days=1)


@record
class WindowSettings:
    """The recent turns of a prompt: how many, in how many tokens, in how many characters each. None is no limit.

    `history_sources`: whether compact lines name the chunks that an answer cites.
    """

    max_turns: int | None = 3
    max_tokens: int = 2_000
    compact_chars: int = 150
    history_sources: Literal["on", "off"] = "on"
    most_turns: int | None = None

    def __post_init__(self) -> None:
        _check_types(self)
        _at_least("max_tokens", self.max_tokens, 0)
        _at_least("compact_chars", self.compact_chars, 1)
        _at_least("max_turns", self.max_turns, 0)
        if self.most_turns is not None and (self.max_turns is None or self.max_turns > self.most_turns):
            raise SettingsError("max_turns", f"most_turns allows at most {self.most_turns}, got {self.max_turns}")


@record
class BudgetSettings:
    """The tokens of a whole prompt. Shares are weights among the sections that have content.

    With `cache_stable` on, the beginning of a prompt stays the same from turn to turn, and may take `stable_share` of
    the limit; what changes with each question comes after it. None is all but 22 %, or all but 7,500 tokens.
    """

    model_limit: int = 4_096
    answer_reserve: int = 0
    system_share: int = 800
    question_share: int = 200
    format_share: int = 100
    profile_share: int = 350
    summary_share: int = 400
    topic_share: int = 500
    history_share: int = 1_500
    recalled_share: int = 500
    chunks_share: int = 1_500
    chunks_first: int = 8
    chunks_later: int = 6
    cache_stable: Literal["on", "off"] = "off"
    stable_share: float | None = None

    def __post_init__(self) -> None:
        _check_types(self)
        if self.stable_share is not None:
            _within("stable_share", self.stable_share, 0, 1)
        for each in fields(self):
            if each.type is int:
                _at_least(each.name, getattr(self, each.name), 1 if each.name.endswith("_share") else 0)


@record
class Retention:
    """How long turns and idle sessions are kept. None is without limit."""

    turn_ttl: timedelta | None = None
    session_idle: timedelta | None = None
    cleanup_interval: timedelta = timedelta(hours=6)

    def __post_init__(self) -> None:
        _check_types(self)
        for each in fields(self):
            _above_zero(each.name, getattr(self, each.name))


@record
class CondensationSettings:
    """When a long session is summarised and what stays verbatim."""

    titles: Literal["on", "off"] = "on"
    condense: Literal["on", "off"] = "on"
    condense_tokens: int = 260_000
    condense_at: float = 0.95
    condense_keep: int = 5
    condense_least: int = 4

    def __post_init__(self) -> None:
        _check_types(self)
        for name in ("condense_tokens", "condense_keep", "condense_least"):
            _at_least(name, getattr(self, name), 1)
        _within("condense_at", self.condense_at, 0, 1)


@record
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

    def __post_init__(self) -> None:
        _check_types(self)
        for name in ("max_topics", "access_threshold", "max_messages_per_topic", "recent_message_keep"):
            _at_least(name, getattr(self, name), 1)
        _within("similarity_threshold", self.similarity_threshold, -1, 1)
        _above_zero("base_half_life", self.base_half_life)
        _above_zero("max_half_life", self.max_half_life)


@record
class ProfileSettings:
    """What is remembered of a user across sessions, and how many tokens each part may take."""

    remember_person: Literal["on", "off"] = "on"
    time_zone: str = "UTC"
    profile_sessions: int = 3
    profile_facts: int = 5
    profile_topics: int = 10
    profile_summary_tokens: int = 200
    profile_facts_tokens: int = 100
    profile_topics_tokens: int = 50
    session_end_idle: timedelta = timedelta(minutes=30)

    def __post_init__(self) -> None:
        _check_types(self)
        for each in fields(self):
            if each.type is int:
                _at_least(each.name, getattr(self, each.name), 0)
        _known_zone(self.time_zone)
        _above_zero("session_end_idle", self.session_end_idle)


@record
class RecallSettings:
    """What a context has beyond the window: understood follow-ups, recalled messages, topics.

    `embedder` is auto, bilingual, arctic, multilingual, light, deterministic, or URL#MODEL. `recall_messages` is how
    many past messages a context may recall; 0 is none, and none is as many as fit. `clarifications` says which
    processes can read the reply to a clarification: this one, or all on this machine (shared). With `rewriter` llm the
    model writes standalone questions; if it fails, the rules do.
    """

    follow_ups: Literal["on", "off"] = "on"
    rewriter: Literal["rules", "llm"] = "rules"
    organise: Literal["on", "off"] = "on"
    recall_messages: int | None = None
    embedder: str = "auto"
    clarifications: Literal["process", "shared"] = "process"

    def __post_init__(self) -> None:
        _check_types(self)
        _at_least("recall_messages", self.recall_messages, 0)


@record
class SafetySettings:
    """How signs of an attack, signs of a crisis, and personal data are handled.

    `suspicious`: what memories with signs of an attack get: nothing, a flag, or quarantine. `crisis_file`: your own
    crisis phrases and replies. `personal_data`: how e-mail addresses, phone and card numbers are handled in what is
    derived from messages; the messages themselves are not changed.
    """

    suspicious: Literal["off", "flag", "quarantine"] = "quarantine"
    crisis: Literal["on", "off"] = "on"
    crisis_file: str = ""
    personal_data: Literal["allow", "mask", "hash", "block"] = "mask"

    def __post_init__(self) -> None:
        _check_types(self)


@record
class Settings:
    """All settings.

    With `model_fallback` reader the built-in reader answers if the model fails before its first word, and says so.
    `speakers`: the names of the roles in prompts, user and assistant, or student and tutor. `project`: the project of
    new sessions, and the only one that is listed, searched and recalled; empty is no project.
    """

    preset: str = "balanced"
    tenant_id: str = "default"
    project: str = ""
    spool: str = "off"
    read_url: str = field(default="", repr=False)  # it may contain a password
    locale: Locale = field(default_factory=lambda: locale_for("en"))
    speakers: Literal["user", "student"] = "user"
    model: str = "o200k"
    llm: str = "none"
    model_fallback: Literal["off", "reader"] = "off"
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
    recall: RecallSettings = field(default_factory=RecallSettings)
    profile: ProfileSettings = field(default_factory=ProfileSettings)
    safety: SafetySettings = field(default_factory=SafetySettings)
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        _check_types(self)
        _at_least("recent_sessions", self.recent_sessions, 1)
        _above_zero("clarification_timeout", self.clarification_timeout)
        _at_least("text_bytes", self.limits.text_bytes, 1, MOST_TEXT_BYTES)
        _at_least("metadata_bytes", self.limits.metadata_bytes, 2, MOST_METADATA_BYTES)

    @property
    def labels(self) -> Locale:
        """The labels and headings of prompts: those of the locale, for these speakers."""
        return for_students(self.locale) if self.speakers == "student" else self.locale

    def with_values(self, values: Mapping[str, Any]) -> "Settings":
        """A copy with flat settings changed, all at once; text is parsed to the type that the setting has."""
        names = setting_names()
        alone: dict[str, Any] = {}
        grouped: dict[str, dict[str, Any]] = {}
        for key, raw in values.items():
            group, kind = _known(key, names)
            (alone if group is None else grouped.setdefault(group, {}))[key] = _parse(key, kind, raw)
        changed = {group: replace(getattr(self, group), **inner) for group, inner in grouped.items()}
        return replace(self, **alone, **changed)


def setting_names() -> dict[str, tuple[str | None, Any]]:
    """Flat name to (group, type), in the order of the groups."""
    names: dict[str, tuple[str | None, Any]] = {}
    for key, kind in get_type_hints(Settings).items():
        if is_dataclass(kind) and kind is not Locale:
            names.update({inner: (key, hint) for inner, hint in get_type_hints(kind).items()})
        else:
            names[key] = (None, kind)
    return names


def _known(key: str, names: Mapping[str, tuple[str | None, Any]]) -> tuple[str | None, Any]:
    if key not in names:
        near = get_close_matches(key, names, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else f"; the known ones are {', '.join(sorted(names))}"
        raise SettingsError(key, f"is unknown{hint}")
    return names[key]


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
    if isinstance(raw, bool) or not isinstance(raw, (int, float) if kind is float else kind):
        raise SettingsError(key, f"expected {_noun(kind)}, got {type(raw).__name__}")
    return float(raw) if kind is float else raw


_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days"}


def _duration(key: str, raw: Any) -> timedelta:
    if isinstance(raw, timedelta):
        return raw
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([smhd])", raw.strip().lower()) if isinstance(raw, str) else None
    if match is None:
        raise SettingsError(key, f"expected a duration such as '30m', '24h' or '30d', got {raw!r}")
    try:
        return timedelta(**{_UNITS[match[2]]: float(match[1])})
    except OverflowError:
        raise SettingsError(key, f"expected a duration of at most {timedelta.max.days} days, got {raw!r}") from None


def _noun(kind: type) -> str:
    return {int: "a whole number", float: "a number", str: "text"}.get(kind, kind.__name__)


def _check_types(group: "DataclassInstance") -> None:
    """Check the types of a group that was made by keywords, where text is not parsed."""
    for each in fields(group):
        value = getattr(group, each.name)
        parsed = value if type(value) is each.type else _parse(each.name, each.type, value)
        if isinstance(value, str) and not isinstance(parsed, str):
            raise SettingsError(each.name, f"expected {_noun(type(parsed))}, got {value!r}")


def _at_least(key: str, value: int | None, least: int, most: int = LARGEST) -> None:
    if value is not None and value < least:
        raise SettingsError(key, f"expected {least} or more, got {value}")
    if value is not None and value > most:
        raise SettingsError(key, f"expected at most {most}")


def _within(key: str, value: float, least: float, most: float) -> None:
    if not (math.isfinite(value) and least <= value <= most):
        raise SettingsError(key, f"expected a number from {least} to {most}, got {value}")


def _known_zone(name: str) -> None:
    if name == "UTC":
        return
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (LookupError, ValueError, OSError):
        raise SettingsError("time_zone", f"{name!r} is unknown; write it as in 'Europe/Rome'") from None


def _above_zero(key: str, value: timedelta | None) -> None:
    if value is not None and value <= timedelta(0):
        raise SettingsError(key, f"expected a duration above zero, got {value}")


EMBEDDERS = ("auto", "bilingual", "arctic", "multilingual", "light", "deterministic")


def check_embedder(setting: str) -> str:
    """The setting, if it names an embedder; whether that embedder works is known at its first use."""
    url, _, model = setting.partition("#")
    if url.startswith(("http://", "https://")):
        if not model.strip():
            raise SettingsError("embedder", f"{url!r} needs a model name: write URL#MODEL")
    elif setting not in EMBEDDERS:
        raise SettingsError("embedder", f"expected one of {', '.join(EMBEDDERS)}, or URL#MODEL, got {setting!r}")
    return setting
