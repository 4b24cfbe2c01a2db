"""Commands that store turns and messages: add, ask, answer, message.

`-` in place of a text reads standard input, so that another program's answer can be piped in.
"""

import argparse
import json
from datetime import datetime
from typing import Any

from rich.console import RenderableType

from ricordo.cli.arguments import (
    Options,
    add_agent,
    add_budget,
    add_chunks,
    add_session_choice,
    add_user,
    command,
    open_memory,
    read_chunks,
    read_text,
    user_of,
)
from ricordo.cli.output import Output, context_json, meaning_view, message_json, turn_json
from ricordo.cli.views import item_names, receipt_view
from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.records.turns import Owner, Turn
from ricordo.session import Session


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", help="what was asked; - reads it from standard input")
    parser.add_argument("response", help="what was answered; - reads it from standard input")
    _add_turn_options(parser)


@command(
    "store a turn: a question and its answer",
    _add_arguments,
    'ricordo add "What is a levain?" "A culture of flour and water." --user anna',
)
def add(options: Options, output: Output) -> None:
    with open_memory(options, create=True) as memory:
        turn = _session(memory, options).add_turn(
            read_text(options.query),
            read_text(options.response),
            chunk_ids=options.chunk,
            **_details(options),
            turn_id=options.turn_id,
            importance=options.importance,
        )
    output.document(turn_json(turn), _stored_line(turn))


def _ask_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("query", help="the question; - reads it from standard input")
    _add_turn_options(parser)
    parser.add_argument("--prompt", action="store_true", help="print only the prompt, for a pipe")
    add_chunks(parser)
    add_budget(parser)


@command(
    "store a question and print its context; the answer comes later",
    _ask_arguments,
    'ricordo ask "And how long does it keep?" --user anna --continue --prompt | your-model',
)
def ask(options: Options, output: Output) -> None:
    question = read_text(options.query)
    with open_memory(options, create=True) as memory:
        session = _session(memory, options)
        context = session.context(question, chunks=read_chunks(options), budget=options.budget)
        names = item_names(memory.store, Owner(memory.settings.tenant_id, session.user_id), context.receipt)
        turn = session.ask(
            question,
            **_details(options),
            turn_id=options.turn_id,
            importance=options.importance,
        ).turn
    meaning = meaning_view(context)
    understood: list[RenderableType] = [meaning, ""] if meaning else []
    if options.prompt and not output.as_json:
        output.raw(context.prompt)
        output.note(*understood, _stored_line(turn))
    else:
        plain = {"turn": turn_json(turn), "context": context_json(context)}
        receipt, next_step = receipt_view(context.receipt, names), f"answer it: ricordo answer {turn.id} TEXT"
        output.document(plain, *understood, receipt, "", _stored_line(turn), next_step)


def _answer_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("turn_id", help="the id that `ricordo ask` printed")
    parser.add_argument("response", help="the answer; - reads it from standard input")
    add_user(parser)
    _add_common(parser)


@command("answer an open turn", _answer_arguments, 'ricordo answer TURN_ID "A week in the fridge." --user anna')
def answer(options: Options, output: Output) -> None:
    with open_memory(options) as memory:
        owner = Owner(memory.settings.tenant_id, user_of(options))
        asked = memory.store.turns.get(owner, options.turn_id)
        if asked is None:
            raise NotFoundError(f"turn {options.turn_id!r} does not exist for user {owner.user_id!r}; ask first")
        turn = memory.session(asked.session_id, user_id=owner.user_id, agent_id=asked.agent_id).answer(
            asked,
            read_text(options.response),
            chunk_ids=options.chunk,
            **_details(options),
        )
    output.document(turn_json(turn), _stored_line(turn))


def _message_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("role", help="user, assistant, system, tool, or the name of a speaker")
    parser.add_argument("content", help="what was said; - reads it from standard input")
    _add_session_options(parser)


@command(
    "store one message that is not part of a question and answer",
    _message_arguments,
    'ricordo message Paolo "See you on Monday." --user anna --continue',
)
def message(options: Options, output: Output) -> None:
    with open_memory(options, create=True) as memory:
        session = _session(memory, options)
        kept = session.add_message(
            options.role,
            read_text(options.content),
            chunk_ids=options.chunk,
            **_details(options),
        )
    output.document({**message_json(kept), "session_id": session.id}, f"kept message {kept.id} in session {session.id}")


def _session(memory: Memory, options: Options) -> Session:
    """The session of --session, of a known turn id, or with --continue the newest one; else a new session."""
    user_id = user_of(options)
    session_id = options.session
    if session_id is None:
        session_id = _session_of_turn(memory, user_id, getattr(options, "turn_id", None))
    if options.continue_session and session_id is None:
        newest = memory.sessions(user_id=user_id, limit=1)
        if not newest:
            raise NotFoundError(f"user {user_id!r} has no session to continue; leave --continue out")
        session_id = newest[0].id
    return memory.session(session_id, user_id=user_id, agent_id=options.agent)


def _session_of_turn(memory: Memory, user_id: str, turn_id: str | None) -> str | None:
    """The session of a stored turn id: a repeated command must not create a second session."""
    if turn_id is None:
        return None
    owner = Owner(memory.settings.tenant_id, check_id("user_id", user_id))
    known = memory.store.turns.get(owner, check_id("turn_id", turn_id))
    return None if known is None else known.session_id


def _stored_line(turn: Turn) -> str:
    state = "open turn" if turn.is_open else "turn"
    return f"kept {state} {turn.turn_number} ({turn.tokens} tokens) in session {turn.session_id}"


def _details(options: Options) -> dict[str, Any]:
    """The metadata and the time of what is stored."""
    return {"metadata": _metadata(options), "created_at": _parse_at(options)}


def _metadata(options: Options) -> dict[str, Any] | None:
    if options.metadata is None:
        return None
    try:
        value = json.loads(options.metadata)
    except ValueError as error:
        raise ValidationError("metadata", f"is not JSON ({error})") from error
    if not isinstance(value, dict):
        raise ValidationError("metadata", "expected a JSON object")
    return value


def _parse_at(options: Options) -> datetime | None:
    if options.at is None:
        return None
    try:
        return datetime.fromisoformat(options.at)
    except ValueError as error:
        raise ValidationError("at", f"expected a time such as 2026-05-01T10:00:00+02:00, got {options.at!r}") from error


def _add_common(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--chunk", metavar="ID", action="append", default=[], help="a chunk that is cited; repeatable")
    parser.add_argument("--metadata", metavar="JSON", help="a JSON object to store with it")
    parser.add_argument("--at", metavar="TIME", help="its time, ISO with a zone; default: now")


def _add_session_options(parser: argparse.ArgumentParser) -> None:
    add_user(parser)
    add_session_choice(parser)
    add_agent(parser)
    _add_common(parser)


def _add_turn_options(parser: argparse.ArgumentParser) -> None:
    _add_session_options(parser)
    parser.add_argument("--turn-id", metavar="ID", help="a turn with the same id and content is stored once")
    parser.add_argument("--importance", metavar="NUMBER", type=float, help="importance of its topic, from 0 to 1")
