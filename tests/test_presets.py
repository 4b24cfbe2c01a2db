"""Choosing by environment: a refusal names what the user wrote, and never only what it stands for."""

import pytest

from ricordo.errors import SettingsError
from ricordo.presets import settings_from


@pytest.mark.parametrize(
    ("variable", "text", "expected"),
    [
        ("CONVERSATION_TTL_HOURS", "0", "above zero"),
        ("CONVERSATION_TTL_HOURS", "9" * 30, "at most"),
        ("CLEANUP_INTERVAL_HOURS", "0", "above zero"),
        ("CONVERSATION_HISTORY_LIMIT", "9" * 30, "at most"),
    ],
)
def test_an_inherited_variable_out_of_bounds_is_named_itself(variable: str, text: str, expected: str) -> None:
    """A number that the setting behind it cannot take is refused by the name of the variable."""
    with pytest.raises(SettingsError, match=expected) as refused:
        settings_from({}, {variable: text})
    assert refused.value.key == variable


@pytest.mark.parametrize("text", ["many", "9" * 30])
def test_an_inherited_variable_that_is_overruled_spoils_nothing(text: str) -> None:
    """What a later source decides is not judged by what an earlier one says."""
    assert settings_from({"max_turns": 4}, {"CONVERSATION_HISTORY_LIMIT": text}).window.max_turns == 4
