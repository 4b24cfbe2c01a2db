"""The default safety rules of a tutor: a short text for each language, kept as data so that it can be replaced."""

import tomllib
from functools import cache
from importlib.resources import files


def default_rules(locale_code: str) -> str:
    """The rules in the language of a locale; English where there are none in its own."""
    rules = _rules()
    return rules.get(locale_code.lower()[:2], rules["en"])


@cache
def _rules() -> dict[str, str]:
    text = files("ricordo.safety").joinpath("data", "rules.toml").read_text(encoding="utf-8")
    return {code: rules.strip() for code, rules in tomllib.loads(text).items()}
