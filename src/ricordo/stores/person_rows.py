"""Facts, summaries and flags as database rows and back: what both SQL stores share.

JSON columns hold lists: the sources of a fact as (message, session, quote), the topics of a summary, the rules of a
flag. A row that cannot be read back is damage and says which one it is.
"""

import json
from functools import lru_cache
from typing import Any

from ricordo.errors import DamageError
from ricordo.person import Fact, Flag, Source, Summary
from ricordo.records import canonical
from ricordo.stores.rows import micros, moment

FACT_COLUMNS = (
    "agent_id, fact_id, kind, text, about, digest, language, sources, recorded_at, valid_from, valid_to, "
    "superseded_by, made_by, origin, forgotten"
)
SUMMARY_COLUMNS = (
    "session_id, summary_id, agent_id, kind, text, first_turn, last_turn, topics, created_at, tokens, counter, "
    "made_by, origin"
)
FLAG_COLUMNS = "flag_id, subject, subject_id, session_id, rules, origin, state, created_at"


def fact_to_row(fact: Fact) -> tuple[Any, ...]:
    """Values for FACT_COLUMNS."""
    return (
        fact.agent_id,
        fact.id,
        fact.kind,
        fact.text,
        fact.about,
        fact.digest,
        fact.language,
        canonical([(source.message_id, source.session_id, source.quote) for source in fact.sources]),
        micros(fact.recorded_at),
        micros(fact.valid_from),
        None if fact.valid_to is None else micros(fact.valid_to),
        fact.superseded_by,
        fact.made_by,
        fact.origin,
        fact.forgotten,
    )


@lru_cache(maxsize=4_096)
def row_to_fact(row: tuple[Any, ...]) -> Fact:
    """The fact behind one row of FACT_COLUMNS.

    All of a person's facts are read with every question, so the last ones stay at hand; erasing clears them.
    """
    (
        agent_id, fact_id, kind, text, about, digest, language, sources, recorded, valid_from, valid_to,
        superseded_by, made_by, origin, forgotten,
    ) = row  # fmt: skip
    try:
        return Fact(
            fact_id, agent_id, kind, text, about, digest, language,
            tuple(Source(*source) for source in json.loads(sources)),
            moment(recorded), moment(valid_from), None if valid_to is None else moment(valid_to),
            superseded_by, made_by, origin, bool(forgotten),
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"fact {fact_id!r} cannot be read back ({error}); run verify") from error


def summary_to_row(summary: Summary) -> tuple[Any, ...]:
    """Values for SUMMARY_COLUMNS."""
    return (
        summary.session_id,
        summary.id,
        summary.agent_id,
        summary.kind,
        summary.text,
        summary.first_turn,
        summary.last_turn,
        canonical(summary.topics),
        micros(summary.created_at),
        summary.tokens,
        summary.counter,
        summary.made_by,
        summary.origin,
    )


def row_to_summary(row: Any) -> Summary:
    """The summary behind one row of SUMMARY_COLUMNS."""
    session_id, summary_id, agent_id, kind, text, first, last, topics, created, tokens, counter, made_by, origin = row
    try:
        return Summary(
            summary_id, session_id, agent_id, kind, text, first, last, tuple(json.loads(topics)), moment(created),
            tokens, counter, made_by, origin,
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"summary {summary_id!r} cannot be read back ({error}); run verify") from error


def flag_to_row(flag: Flag) -> tuple[Any, ...]:
    """Values for FLAG_COLUMNS."""
    return (
        flag.id,
        flag.subject,
        flag.subject_id,
        flag.session_id,
        canonical(flag.rules),
        flag.origin,
        flag.state,
        micros(flag.created_at),
    )


def row_to_flag(row: Any) -> Flag:
    """The flag behind one row of FLAG_COLUMNS."""
    flag_id, subject, subject_id, session_id, rules, origin, state, created = row
    try:
        return Flag(
            flag_id, subject, subject_id, session_id, tuple(json.loads(rules)), origin, state, moment(created)
        )  # fmt: skip
    except (ValueError, TypeError, OverflowError) as error:
        raise DamageError(f"flag {flag_id!r} cannot be read back ({error}); run verify") from error
