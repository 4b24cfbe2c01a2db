"""Where a single message goes in a session that is not strictly question and answer.

In: the message and the newest turn. Out: the verb to apply. A user message opens a turn; an assistant's
words answer the newest turn when it has no answer yet; tool traffic and system notes are steps of an
unanswered turn. Whatever fits nowhere opens a turn of its own, so order is always kept and nothing is lost.
"""

from dataclasses import replace
from typing import Literal

from ricordo.records import Message, Turn, message_id

Place = Literal["new", "answer", "step"]


def place(message: Message, newest: Turn | None) -> Place:
    """Decide between a new turn, the newest turn's answer, and a step of it."""
    if message.role == "user" or newest is None or newest.answer is not None:
        return "new"
    if message.role == "assistant" and not message.tool_calls:
        return "answer"
    return "step"


def open_turn(turn: Turn, message: Message) -> Turn:
    """`turn` with the message as its question, its answer, or its first step, addressed accordingly."""
    if message.role == "user":
        return replace(turn, question=replace(message, id=message_id(turn.id, "query")))
    if message.role == "assistant" and not message.tool_calls:
        return replace(turn, answer=replace(message, id=message_id(turn.id, "response")))
    return add_step(turn, message)


def add_step(turn: Turn, message: Message) -> Turn:
    """`turn` with one more step, numbered from 1."""
    step = replace(message, id=message_id(turn.id, len(turn.steps) + 1))
    return replace(turn, steps=(*turn.steps, step))


def the_message(turn: Turn) -> Message:
    """The one message of a turn that was made to carry a single message."""
    (message,) = turn.messages
    return message
