"""Presets: named sets of flat settings that override the defaults.

`settings_from` joins preset, environment and keywords; the later one wins.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ricordo.errors import SettingsError
from ricordo.languages.registry import language
from ricordo.settings import Settings, setting_names

PRESETS: dict[str, dict[str, Any]] = {
    # A course tutor: three short turns in an Italian prompt of 4,096 tokens; idle sessions are deleted after a day.
    "tutor": {
        "max_turns": 3,
        "max_tokens": 2_000,
        "compact_chars": 150,
        "chunks_first": 8,
        "chunks_later": 6,
        "model_limit": 4_096,
        "session_idle": "24h",
        "locale": "it",
        "speakers": "student",
        "organise": "off",
        "recall_messages": 0,
        "remember_person": "off",
    },
    # A document assistant: the whole talk in a very long window, condensed when nearly full; the rest is recalled.
    "assistant": {
        "max_turns": None,
        "max_tokens": 260_000,
        "model_limit": 262_144,
        "condense_tokens": 260_000,
        "condense_at": 0.95,
        "condense_keep": 5,
        "recent_sessions": 10,
        "session_idle": "30d",
        "organise": "off",
        "remember_person": "off",
    },
    # A chat that remembers for a day; long turns fit too.
    "chat24h": {
        "max_turns": 20,
        "most_turns": 50,
        "max_tokens": 110_000,
        "model_limit": 128_000,
        "turn_ttl": "24h",
        "cleanup_interval": "6h",
        "clarification_timeout": "5m",
        "organise": "off",
        "recall_messages": 0,
        "remember_person": "off",
    },
    # Topics that fade like human memory.
    "topics": {
        "max_topics": 20,
        "similarity_threshold": 0.7,
        "base_half_life": "1d",
        "max_half_life": "30d",
        "access_threshold": 5,
        "max_messages_per_topic": 12,
        "recent_message_keep": 4,
        "recall_messages": 0,
        "remember_person": "off",
    },
    # A teacher who knows the pupil from earlier sessions.
    "maestro": {
        "profile_sessions": 3,
        "profile_facts": 5,
        "profile_topics": 10,
        "profile_summary_tokens": 200,
        "profile_facts_tokens": 100,
        "profile_topics_tokens": 50,
        "locale": "it",
        "speakers": "student",
        "recall_messages": 0,
    },
    # All of it together; keeps everything without limit.
    "balanced": {},
}

WITH_RULES = frozenset({"maestro"})  # presets that bring safety rules for their role, in the language of the locale

# Variables of earlier deployments, each with its setting and the unit of its number.
INHERITED_VARIABLES = {
    "CONVERSATION_HISTORY_LIMIT": ("max_turns", ""),
    "CONVERSATION_TTL_HOURS": ("turn_ttl", "h"),
    "CLEANUP_INTERVAL_HOURS": ("cleanup_interval", "h"),
}


def settings_from(keywords: Mapping[str, Any], environment: Mapping[str, str]) -> Settings:
    """Preset, then inherited variables, then RICORDO_* variables, then keywords."""
    ours = {
        name: environment[f"RICORDO_{name.upper()}"]
        for name in setting_names()
        if f"RICORDO_{name.upper()}" in environment
    }
    over = {**ours, **keywords}
    inherited = {name: found for name, found in _inherited(environment).items() if name not in over}
    chosen = {"preset": "balanced", **{name: _hours_or_number(*found) for name, found in inherited.items()}, **over}
    preset = chosen["preset"]
    if not isinstance(preset, str) or preset not in PRESETS:
        raise SettingsError("preset", f"{preset!r} is unknown; use one of {', '.join(PRESETS)}")
    try:
        settings = Settings().with_values({**PRESETS[preset], **chosen})
        if preset in WITH_RULES and "safety_rules" not in chosen:
            settings = replace(settings, safety_rules=language(settings.locale.code).safety.default_rules)
        return settings
    except SettingsError as error:
        if error.key in inherited:  # by the name that the user wrote
            raise SettingsError(inherited[error.key][0], error.problem) from None
        raise


def _inherited(environment: Mapping[str, str]) -> dict[str, tuple[str, str, str]]:
    """Setting to (variable, text, unit), of the variables that say something."""
    return {
        name: (variable, environment[variable].strip(), unit)
        for variable, (name, unit) in INHERITED_VARIABLES.items()
        if environment.get(variable, "").strip()
    }


def _hours_or_number(variable: str, text: str, unit: str) -> str:
    if re.fullmatch(r"\d+(?:\.\d+)?" if unit else r"\d+", text) is None:
        expected = "a number of hours" if unit else "a whole number"
        raise SettingsError(variable, f"expected {expected}, got {text!r}")
    return text + unit
