"""Settings and presets: one flat name per setting, from keyword or environment, with errors that name the key."""

from dataclasses import fields, is_dataclass
from datetime import timedelta
from typing import Any, Literal, get_args, get_origin

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ricordo.errors import SettingsError
from ricordo.languages.english import LABELS as ENGLISH
from ricordo.languages.italian import LABELS as ITALIAN
from ricordo.languages.registry import Locale
from ricordo.limits import Limits
from ricordo.presets import INHERITED_VARIABLES, PRESETS, settings_from
from ricordo.settings import (
    BudgetSettings,
    CondensationSettings,
    ProfileSettings,
    RecallSettings,
    Retention,
    SafetySettings,
    Settings,
    TopicSettings,
    WindowSettings,
    setting_names,
)

NAMES = setting_names()
FRACTIONS = ("condense_at", "similarity_threshold")


def values_of(kind: Any, name: str) -> st.SearchStrategy[Any]:
    """Good values of a setting's type."""
    if name == "preset":
        return st.sampled_from(sorted(PRESETS))
    if name == "time_zone":
        return st.sampled_from(["UTC", "Europe/Rome", "America/New_York", "Asia/Kolkata"])
    if name == "most_turns":
        return st.none() | st.integers(10, 1000)
    if name == "max_turns":
        return st.integers(0, 10)
    if kind is Locale:
        return st.sampled_from([ITALIAN, ENGLISH])
    if get_origin(kind) is Literal:
        return st.sampled_from(get_args(kind))
    if type(None) in get_args(kind):
        inner = next(option for option in get_args(kind) if option is not type(None))
        return st.none() | values_of(inner, name)
    if kind is timedelta:
        return st.integers(1, 10**9).map(lambda seconds: timedelta(seconds=seconds))
    if kind is float:
        return st.floats(0, 1)
    if kind is int:
        return st.integers(2, 2**20 if name.endswith("_bytes") else 10**9)
    return st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=20)


def as_text(value: Any) -> str:
    """A value as somebody writes it into a variable."""
    if isinstance(value, timedelta):
        return f"{int(value.total_seconds())}s"
    return value.code if isinstance(value, Locale) else str(value)


def setting(settings: Settings, name: str) -> Any:
    """A setting by its flat name."""
    group, _ = NAMES[name]
    return getattr(settings if group is None else getattr(settings, group), name)


CHOICES = st.sampled_from(sorted(NAMES)).flatmap(lambda name: st.tuples(st.just(name), values_of(NAMES[name][1], name)))


def test_every_field_of_every_group_has_one_flat_name() -> None:
    """No two groups share a name, and no field is out of reach."""
    groups = (
        WindowSettings,
        BudgetSettings,
        Retention,
        CondensationSettings,
        TopicSettings,
        RecallSettings,
        ProfileSettings,
        SafetySettings,
        Limits,
    )
    grouped = [each.name for group in groups for each in fields(group)]
    alone = [each.name for each in fields(Settings) if not is_dataclass(each.type) or each.type is Locale]
    assert sorted(NAMES) == sorted(grouped + alone)


@given(CHOICES)
def test_a_setting_is_the_same_by_keyword_and_by_variable(choice: tuple[str, Any]) -> None:
    """Every setting takes its value as a keyword, as a keyword's text, and as RICORDO_NAME in the environment."""
    name, value = choice
    by_keyword = settings_from({name: value}, {})
    by_variable = settings_from({}, {f"RICORDO_{name.upper()}": as_text(value)})
    assert setting(by_keyword, name) == setting(by_variable, name) == value
    if NAMES[name][1] is not str:
        assert setting(settings_from({name: as_text(value)}, {}), name) == value


@given(st.lists(CHOICES, unique_by=lambda choice: choice[0]))
def test_settings_do_not_depend_on_their_order(choices: list[tuple[str, Any]]) -> None:
    """Several settings at once give the same result in any order, each with its value and nothing else changed."""
    chosen = dict(choices)
    bound, most = (
        settings_from({"preset": chosen.get("preset", "balanced")}, {}).window.max_turns,
        chosen.get("most_turns"),
    )
    assume(most is None or "max_turns" in chosen or (bound is not None and bound <= most))  # else they contradict
    settings = settings_from(chosen, {})
    assert settings == settings_from(dict(reversed(choices)), {})
    assert {name: setting(settings, name) for name, _ in choices} == dict(choices)
    if "preset" not in dict(choices):
        assert {name for name in NAMES if setting(settings, name) != setting(Settings(), name)} <= dict(choices).keys()


EXPECTED = {int: "a whole number", float: "a number", timedelta: "a duration such as", str: "text"}


@given(st.sampled_from(sorted(NAMES)), st.sampled_from([["list"], {"a": 1}, object(), True, b"bytes", 3 + 1j]))
def test_a_wrong_type_is_refused_by_key_and_expectation(name: str, wrong: object) -> None:
    """The error names the setting and what it should have been."""
    with pytest.raises(SettingsError) as caught:
        settings_from({name: wrong}, {})
    assert caught.value.key == name
    kinds = [kind for kind in (NAMES[name][1], *get_args(NAMES[name][1])) if kind in EXPECTED]
    if name != "preset" and kinds:
        assert EXPECTED[kinds[0]] in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("max_turns", "three", "a whole number"),
        ("max_turns", "3.5", "a whole number"),
        ("max_turns", "-1", "0 or more"),
        ("max_tokens", "", "a whole number"),
        ("model_limit", "99999999999999999999", "at most"),
        ("chunks_share", "0", "1 or more"),
        ("compact_chars", "0", "1 or more"),
        ("turn_ttl", "24", "a duration such as"),
        ("turn_ttl", "0h", "above zero"),
        ("turn_ttl", "-3h", "a duration such as"),
        ("turn_ttl", "9" * 400 + "d", "at most"),
        ("session_idle", "1 week", "a duration such as"),
        ("condense_at", "nan", "from 0 to 1"),
        ("condense_at", "1.5", "from 0 to 1"),
        ("similarity_threshold", "inf", "from -1 to 1"),
        ("forget", "burn", "archive, delete"),
        ("locale", "fr", "en"),
        ("preset", "turbo", "tutor"),
        ("max_topics", "0", "1 or more"),
        ("recent_sessions", "0", "1 or more"),
        ("text_bytes", "0", "1 or more"),
        ("text_bytes", "16777217", "at most 16777216"),
        ("metadata_bytes", "1048577", "at most 1048576"),
    ],
)
def test_a_bad_value_is_refused_with_what_was_expected(name: str, text: str, expected: str) -> None:
    """Text that cannot be the setting is refused from the environment as from a keyword."""
    for keywords, environment in (({name: text}, {}), ({}, {f"RICORDO_{name.upper()}": text})):
        with pytest.raises(SettingsError, match=expected) as caught:
            settings_from(keywords, environment)
        assert caught.value.key == name


@pytest.mark.parametrize(
    ("group", "values", "key"),
    [
        (WindowSettings, {"max_turns": "3"}, "max_turns"),
        (WindowSettings, {"max_tokens": None}, "max_tokens"),
        (WindowSettings, {"max_turns": 60, "most_turns": 50}, "max_turns"),
        (WindowSettings, {"max_turns": None, "most_turns": 50}, "max_turns"),
        (BudgetSettings, {"model_limit": "4096"}, "model_limit"),
        (BudgetSettings, {"model_limit": True}, "model_limit"),
        (BudgetSettings, {"answer_reserve": -1}, "answer_reserve"),
        (Retention, {"turn_ttl": "24h"}, "turn_ttl"),
        (Retention, {"turn_ttl": 24}, "turn_ttl"),
        (Retention, {"session_idle": timedelta(0)}, "session_idle"),
        (TopicSettings, {"similarity_threshold": float("nan")}, "similarity_threshold"),
        (ProfileSettings, {"profile_facts": -1}, "profile_facts"),
        (Settings, {"window": {"max_turns": 3}}, "window"),
        (Settings, {"locale": "it"}, "locale"),
    ],
)
def test_a_group_made_by_hand_checks_itself(group: type, values: dict[str, Any], key: str) -> None:
    """The value objects refuse wrong types and ranges when they are made, by key."""
    with pytest.raises(SettingsError) as caught:
        group(**values)
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("wrong", "near"),
    [("max_turn", "max_turns"), ("turn_tt", "turn_ttl"), ("modell_limit", "model_limit"), ("local", "locale")],
)
def test_an_unknown_key_gets_a_suggestion(wrong: str, near: str) -> None:
    """A misspelt setting is refused and the nearest name offered."""
    with pytest.raises(SettingsError, match=f"{wrong}.*did you mean '{near}'"):
        settings_from({wrong: 1}, {})


def test_a_key_like_no_other_gets_the_list() -> None:
    """Where nothing is near, the error lists what exists."""
    with pytest.raises(SettingsError, match=r"is unknown; the known ones are .*max_turns"):
        settings_from({"zzzz": 1}, {})


# Presets

HOUR, DAY = timedelta(hours=1), timedelta(days=1)


@pytest.mark.parametrize(
    ("preset", "figures"),
    [
        (
            "tutor",
            {
                "max_turns": 3,
                "max_tokens": 2_000,
                "compact_chars": 150,
                "chunks_later": 6,
                "chunks_first": 8,
                "model_limit": 4_096,
                "session_idle": 24 * HOUR,
                "turn_ttl": None,
                "locale": ITALIAN,
                "speakers": "student",
            },
        ),
        (
            "assistant",
            {
                "max_tokens": 260_000,
                "condense_tokens": 260_000,
                "condense_at": 0.95,
                "condense_keep": 5,
                "recent_sessions": 10,
                "session_idle": 30 * DAY,
            },
        ),
        (
            "chat24h",
            {
                "max_turns": 20,
                "most_turns": 50,
                "turn_ttl": 24 * HOUR,
                "cleanup_interval": 6 * HOUR,
                "clarification_timeout": timedelta(minutes=5),
            },
        ),
        (
            "topics",
            {
                "max_topics": 20,
                "similarity_threshold": 0.7,
                "base_half_life": DAY,
                "max_half_life": 30 * DAY,
                "access_threshold": 5,
                "max_messages_per_topic": 12,
                "recent_message_keep": 4,
            },
        ),
        (
            "maestro",
            {
                "profile_sessions": 3,
                "profile_facts": 5,
                "profile_topics": 10,
                "profile_summary_tokens": 200,
                "profile_facts_tokens": 100,
                "profile_topics_tokens": 50,
            },
        ),
        ("balanced", {"turn_ttl": None, "session_idle": None, "max_turns": 3, "max_tokens": 2_000, "locale": ENGLISH}),
    ],
)
def test_each_preset_sets_its_figures(preset: str, figures: dict[str, Any]) -> None:
    """A preset is its published figures, by keyword and by RICORDO_PRESET."""
    for settings in (settings_from({"preset": preset}, {}), settings_from({}, {"RICORDO_PRESET": preset})):
        assert settings.preset == preset
        assert {name: setting(settings, name) for name in figures} == figures


def test_the_default_is_balanced_and_changes_nothing() -> None:
    """Without a choice the settings are the defaults."""
    assert settings_from({}, {}) == Settings() == settings_from({"preset": "balanced"}, {})


def test_the_later_source_wins() -> None:
    """Keyword over RICORDO_ variable over inherited variable over preset."""
    inherited = {"CONVERSATION_HISTORY_LIMIT": "7"}
    ours = {"RICORDO_MAX_TURNS": "9"}
    chat = {"preset": "chat24h"}
    assert settings_from(chat, {}).window.max_turns == 20
    assert settings_from(chat, inherited).window.max_turns == 7
    assert settings_from(chat, inherited | ours).window.max_turns == 9
    assert settings_from({**chat, "max_turns": 11}, inherited | ours).window.max_turns == 11
    assert settings_from({"preset": "tutor"}, {"RICORDO_PRESET": "chat24h"}).preset == "tutor"


def test_a_source_that_is_overruled_cannot_spoil_the_rest() -> None:
    """Only the values that win are checked: a bad variable under a good keyword does no harm."""
    assert settings_from({"max_turns": 4}, {"RICORDO_MAX_TURNS": "many"}).window.max_turns == 4


def test_a_preset_bound_can_be_raised_together_with_its_value() -> None:
    """chat24h allows at most 50 turns; more need the bound raised too, in whatever order they are given."""
    with pytest.raises(SettingsError, match=r"max_turns.*50"):
        settings_from({"preset": "chat24h", "max_turns": 60}, {})
    for keywords in ({"max_turns": 60, "most_turns": 100}, {"most_turns": 100, "max_turns": 60}):
        assert settings_from({"preset": "chat24h", **keywords}, {}).window.max_turns == 60


@pytest.mark.parametrize(
    ("variable", "text", "name", "value"),
    [
        ("CONVERSATION_HISTORY_LIMIT", "12", "max_turns", 12),
        ("CONVERSATION_TTL_HOURS", "48", "turn_ttl", 48 * HOUR),
        ("CONVERSATION_TTL_HOURS", " 1.5 ", "turn_ttl", 1.5 * HOUR),
        ("CLEANUP_INTERVAL_HOURS", "2", "cleanup_interval", 2 * HOUR),
    ],
)
def test_inherited_variables_work(variable: str, text: str, name: str, value: object) -> None:
    """The variables of earlier deployments set what they used to set."""
    assert variable in INHERITED_VARIABLES
    assert setting(settings_from({}, {variable: text}), name) == value


@pytest.mark.parametrize("variable", sorted(INHERITED_VARIABLES))
def test_a_blank_inherited_variable_is_no_choice(variable: str) -> None:
    """An empty variable leaves the setting as it is; a bad one is refused by its own name."""
    assert settings_from({}, {variable: "  "}) == Settings()
    with pytest.raises(SettingsError) as caught:
        settings_from({}, {variable: "soon"})
    assert caught.value.key == variable
