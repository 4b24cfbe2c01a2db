"""Safety: what is stored stays data, a crisis is noticed, personal data and suspicious text are seen.

Everything here is pure, needs no model and no network. The guarantee is `fence`: what is stored stands between two
lines and cannot leave them. Detection (`signals`) only informs flags and is no defence by itself.
"""

from ricordo.safety.crisis import Crisis, SafeReply, crisis, reply
from ricordo.safety.fence import close_fence, defuse, marker, open_fence
from ricordo.safety.hidden import normalise, reveal
from ricordo.safety.phrases import CrisisPhrases, load_phrases, shipped_phrases
from ricordo.safety.pii import PII_KINDS, PiiAction, PiiKind, PiiSpan, Redacted, pii, redact
from ricordo.safety.rules import default_rules
from ricordo.safety.signals import is_strong, signal_names, signals
from ricordo.safety.trust import POLICIES, Decision, Policy, decide, lowest, origin_of

__all__ = [
    "PII_KINDS",
    "POLICIES",
    "Crisis",
    "CrisisPhrases",
    "Decision",
    "PiiAction",
    "PiiKind",
    "PiiSpan",
    "Policy",
    "Redacted",
    "SafeReply",
    "close_fence",
    "crisis",
    "decide",
    "default_rules",
    "defuse",
    "is_strong",
    "load_phrases",
    "lowest",
    "marker",
    "normalise",
    "open_fence",
    "origin_of",
    "pii",
    "redact",
    "reply",
    "reveal",
    "shipped_phrases",
    "signal_names",
    "signals",
]
