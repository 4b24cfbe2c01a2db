"""The log as JSON lines: what every logger of ours says, with where it happened and never with what was said.

In: the records of the standard library's loggers, with their `extra` fields. Out: one JSON object a line with `event`,
`level`, `timestamp`, `logger`, and those of the known fields that were given. Only fields of a fixed list go out, and
of a failure only its kind and the lines of code it passed, because the words of an error may be a user's.
"""

import logging
import sys
import traceback
from collections.abc import MutableMapping
from typing import Any, TextIO

import structlog

FIELDS = (
    "operation",
    "tenant_id",
    "user_id",
    "session_id",
    "turn_id",
    "request_id",
    "status",
    "milliseconds",
    "cause",
    "kind",
    "depth",
    "count",
    "failure",
    "passed",
)
LOGGERS = ("ricordo", "uvicorn.error")
_FRAMES = 8


def configure(level: str = "info", stream: TextIO | None = None) -> logging.Handler:
    """Have our loggers write JSON lines to a stream; the handler comes back, for `release`."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.contextvars.merge_contextvars,
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.stdlib.ExtraAdder(FIELDS),
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                _where_it_failed,
            ],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                _without_nothing,
                structlog.processors.JSONRenderer(ensure_ascii=False),
            ],
            keep_exc_info=True,
        )
    )
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        logger.setLevel(level.upper())
        logger.propagate = False
    return handler


def release(handler: logging.Handler) -> None:
    """Take a handler away again."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.removeHandler(handler)
        logger.propagate = True


def failure_of(error: BaseException) -> dict[str, Any]:
    """What may be logged of a failure: its kind, and the lines of code it passed."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    passed = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    return {"failure": type(error).__name__, "passed": passed}


def _where_it_failed(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """The kind of a failure and the lines it passed, in place of its words."""
    failure = event.pop("exc_info", None)
    record = event.get("_record")
    failure = failure or (record.exc_info if record else None)
    if isinstance(failure, tuple) and failure[1] is not None:
        event.update(failure_of(failure[1]))
    if record is not None:
        record.exc_info = record.exc_text = None
    return event


def _without_nothing(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    return {name: value for name, value in event.items() if value is not None}
