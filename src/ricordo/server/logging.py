"""The log as JSON lines, without any words of users.

In: the records of the standard library's loggers, with their `extra` fields. Out: one JSON object a line with `event`,
`level`, `timestamp`, `logger`, and the fields of a fixed list. An exception is written as its class name and the code
lines it passed, because its message may quote a user.
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


def configure_logging(level: str = "info", stream: TextIO | None = None) -> logging.Handler:
    """Write our loggers to a stream as JSON lines; returns the handler, for `remove_handler`."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[
                structlog.contextvars.merge_contextvars,
                structlog.stdlib.add_log_level,
                structlog.stdlib.add_logger_name,
                structlog.stdlib.ExtraAdder(FIELDS),
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                _replace_exception,
            ],
            processors=[
                structlog.stdlib.ProcessorFormatter.remove_processors_meta,
                lambda _, __, event: {name: value for name, value in event.items() if value is not None},
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


def remove_handler(handler: logging.Handler) -> None:
    """Undo `configure_logging`."""
    for name in LOGGERS:
        logger = logging.getLogger(name)
        logger.removeHandler(handler)
        logger.propagate = True


def failure_fields(error: BaseException) -> dict[str, Any]:
    """The loggable part of an exception: its class name and the code lines it passed."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    passed = [f"{frame.filename.rpartition('/')[2]}:{frame.lineno} {frame.name}" for frame in frames]
    return {"failure": type(error).__name__, "passed": passed}


def _replace_exception(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    """Replace an exception by its class name and the code lines it passed."""
    failure = event.pop("exc_info", None)
    record = event.get("_record")
    failure = failure or (record.exc_info if record else None)
    if isinstance(failure, tuple) and failure[1] is not None:
        event.update(failure_fields(failure[1]))
    if record is not None:
        record.exc_info = record.exc_text = None
    return event
