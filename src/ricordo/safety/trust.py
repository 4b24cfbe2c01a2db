"""The trust level of a text by its origin, and what to do with a text that has signals.

A role, an origin, signals and a policy go in; a trust level and a decision come out. A text derived from several has
the lowest trust among them: nothing becomes more trusted by being summarised or repeated.
"""

from collections.abc import Iterable
from typing import Literal

from ricordo.errors import SettingsError
from ricordo.languages.registry import language
from ricordo.records.people import TRUST, Subject, Trust
from ricordo.safety.signals import is_strong

Policy = Literal["off", "flag", "quarantine"]
Decision = Literal["store", "flag", "quarantine", "drop"]
POLICIES: tuple[Policy, ...] = ("off", "flag", "quarantine")

_ROLES: dict[str, Trust] = {
    "system": "operator",
    "user": "user_said",
    "assistant": "assistant_said",
    "tool": "tool",
}

Group = Literal["operator", "own", "foreign"]
_GROUPS: dict[Trust, Group] = {
    "operator": "operator",
    "user_said": "own",
    "user_edit": "own",
    "assistant_said": "foreign",
    "import": "foreign",
    "tool": "foreign",
    "document": "foreign",
}
# What was said is always stored; what is derived from it may be dropped.
_SAID: frozenset[Subject] = frozenset({"message", "chunk"})

Kind = Literal["said", "derived"]
Strength = Literal["weak", "strong"]
# The decision table: origin, kind, strength of the signals, policy. Without signals everything is stored.
DECISIONS: dict[tuple[Group, Kind, Strength], dict[Policy, Decision]] = {
    ("operator", "said", "weak"): {"off": "store", "flag": "store", "quarantine": "store"},
    ("operator", "said", "strong"): {"off": "store", "flag": "store", "quarantine": "store"},
    ("operator", "derived", "weak"): {"off": "store", "flag": "store", "quarantine": "store"},
    ("operator", "derived", "strong"): {"off": "store", "flag": "store", "quarantine": "store"},
    ("own", "said", "weak"): {"off": "store", "flag": "flag", "quarantine": "flag"},
    ("own", "said", "strong"): {"off": "store", "flag": "flag", "quarantine": "quarantine"},
    ("own", "derived", "weak"): {"off": "store", "flag": "flag", "quarantine": "flag"},
    ("own", "derived", "strong"): {"off": "store", "flag": "flag", "quarantine": "quarantine"},
    ("foreign", "said", "weak"): {"off": "store", "flag": "flag", "quarantine": "flag"},
    ("foreign", "said", "strong"): {"off": "store", "flag": "flag", "quarantine": "quarantine"},
    ("foreign", "derived", "weak"): {"off": "store", "flag": "flag", "quarantine": "quarantine"},
    ("foreign", "derived", "strong"): {"off": "store", "flag": "flag", "quarantine": "drop"},
}


def origin_of(role: str, turn_origin: str = "chat") -> Trust:
    """The trust level of a message by its role; an imported turn has at most the trust of an import."""
    spoken = _ROLES.get(role, "tool")
    return least_trusted((spoken, "import")) if turn_origin == "import" else spoken


def least_trusted(origins: Iterable[Trust]) -> Trust:
    """The least trusted of some origins; the lowest level if there are none."""
    known = list(origins)
    return max(known, key=TRUST.index) if known else TRUST[-1]


def decide(origin: Trust, subject: Subject, signals: tuple[str, ...], policy: Policy) -> Decision:
    """What to do with a text, by the table. A text without signals is always stored."""
    if policy not in POLICIES:
        raise SettingsError("injection_policy", f"{policy!r} is unknown; use one of {list(POLICIES)}")
    if not signals:
        return "store"
    kind: Kind = "said" if subject in _SAID else "derived"
    strength: Strength = "strong" if is_strong(signals) else "weak"
    return DECISIONS[_GROUPS[origin], kind, strength][policy]


def default_rules(locale_code: str) -> str:
    """The default safety rules in the language of a locale; else in English."""
    return language(locale_code).safety.default_rules
