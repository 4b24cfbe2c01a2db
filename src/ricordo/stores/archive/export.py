"""The messages of a block for other programs: base64 of gzip of JSON, readable with common tools.

Messages go in, ASCII text comes out: `[{"role": …, "content": …, "timestamp": seconds}]`, and back. The other fields of
a message are not exported.
"""

import base64
import gzip
import io
import json
import zlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from ricordo.errors import ValidationError
from ricordo.records.turns import ROLES, Message, Role

MAX_EXPORT_BYTES = 256 * 1024 * 1024

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class ExportedMessage:
    """The fields of a message in an export."""

    role: Role
    content: str
    created_at: datetime


def export_messages(messages: Iterable[Message | ExportedMessage]) -> str:
    """The messages as base64 gzip JSON; the same messages always give the same text."""
    entries = [
        {"role": message.role, "content": message.content, "timestamp": (message.created_at - _EPOCH).total_seconds()}
        for message in messages
    ]
    raw = json.dumps(entries, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
    return base64.b64encode(gzip.compress(raw, mtime=0)).decode("ascii")


def import_messages(text: str) -> tuple[ExportedMessage, ...]:
    """The messages of an export by Ricordo or another program; ValidationError says what is wrong."""
    try:
        packed = base64.b64decode(text, validate=True)
        with gzip.GzipFile(fileobj=io.BytesIO(packed)) as stream:
            raw = stream.read(MAX_EXPORT_BYTES + 1)
    except (ValueError, EOFError, OSError, zlib.error) as cause:
        raise ValidationError("export", f"not base64 of gzip: {cause}") from cause
    if len(raw) > MAX_EXPORT_BYTES:
        raise ValidationError("export", f"more than {MAX_EXPORT_BYTES} bytes of JSON; split it")
    try:
        entries = json.loads(raw.decode("utf-8", "surrogatepass"))
    except ValueError as cause:
        raise ValidationError("export", f"not JSON inside: {cause}") from cause
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise ValidationError("export", "the JSON inside must be a list of messages")
    return tuple(_message(number, entry) for number, entry in enumerate(entries))


def _message(number: int, entry: object) -> ExportedMessage:
    if not isinstance(entry, dict):
        raise ValidationError(f"export[{number}]", "must be an object with role, content and timestamp")
    role, content, timestamp = entry.get("role"), entry.get("content"), entry.get("timestamp")
    if role not in ROLES:
        raise ValidationError(f"export[{number}].role", f"{role!r} is none of {', '.join(ROLES)}")
    if not isinstance(content, str):
        raise ValidationError(f"export[{number}].content", "must be text")
    if isinstance(timestamp, bool) or not isinstance(timestamp, int | float):
        raise ValidationError(f"export[{number}].timestamp", "must be seconds since 1970")
    try:
        created_at = _EPOCH + timedelta(microseconds=round(timestamp * 1_000_000))
    except (OverflowError, ValueError) as cause:
        raise ValidationError(f"export[{number}].timestamp", f"{timestamp} is no date") from cause
    return ExportedMessage(role, content, created_at)
