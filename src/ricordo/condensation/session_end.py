"""What a session was about, once it is over: a short summary of all of its turns."""

from collections.abc import Sequence

from ricordo.condensation.ask import Writer, condense
from ricordo.condensation.condensed import Condensed
from ricordo.condensation.terms import language_of
from ricordo.model_ports import TokenCounter
from ricordo.records import Turn

SESSION_TOKENS = 200


def summarise_session(
    turns: Sequence[Turn],
    counter: TokenCounter,
    *,
    limit_tokens: int = SESSION_TOKENS,
    language: str | None = None,
    writer: Writer | None = None,
    leave_out: frozenset[str] = frozenset(),
) -> Condensed | None:
    """A summary of a whole session in its own language, the same however often it is asked for; None if it is empty."""
    spoken = language or talk_language(turns)
    return condense(turns, None, limit_tokens, counter, spoken, writer=writer, leave_out=leave_out)


def talk_language(turns: Sequence[Turn], default: str = "en") -> str:
    """The language of a talk, by what the user says first of all."""
    questions = [turn.query for turn in turns if turn.query]
    return language_of(questions or [turn.response or "" for turn in turns], default)
