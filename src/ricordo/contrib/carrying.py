"""Taking along what lies on a user's shelf, and bringing it in elsewhere: the other half of an export.

In: a memory and a user. Out: one JSON document an item, in one order; and from such documents the same items again.
Sessions come first: what hangs on a session or a turn is brought in where those are. Repeating changes nothing.
"""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from functools import partial
from typing import Any

from ricordo.contrib.shelf import Desk, Shelf, StoredItem
from ricordo.contrib.tool_calls import owner_of
from ricordo.errors import ValidationError
from ricordo.limits import check_time
from ricordo.memory import Memory

FORMAT, VERSION = "ricordo-item", 1
PAGE = 200
MOST_MINUTES = 100_000_000  # almost two hundred years

_TEXTS = ("place", "key", "tag")
_TIMES = ("created_at", "updated_at", "expires_at")
_HELD = ("session_id", "turn_id")


def export_items(memory: Memory, user_id: str, *, shelf: Shelf | None = None) -> Iterator[dict[str, Any]]:
    """Every item of a user, one document at a time."""
    stands, owner = shelf or Shelf.beside(memory), owner_of(memory, user_id)
    after = ("", "", "")
    while page := stands.read(owner, "", partial(_page, after)):
        for name, item in page:
            yield _to_document(name, item)
            after = (name, item.place, item.key)


def import_items(
    memory: Memory, documents: Iterable[Mapping[str, Any]], *, user_id: str, shelf: Shelf | None = None
) -> int:
    """Keep items for a user; how many are new. One whose session or turn is not there is left out.

    An item that is there already stays as it is.
    """
    stands, owner = shelf or Shelf.beside(memory), owner_of(memory, user_id)
    added = 0
    for document in documents:
        name, item = _from_document(document)
        if item.session_id is not None and memory.store.sessions.get(owner, item.session_id) is None:
            continue
        if item.turn_id is not None and memory.store.turns.get(owner, item.turn_id) is None:
            continue
        added += stands.write(owner, name, partial(_keep, item))
    return added


def _page(after: tuple[str, str, str], desk: Desk) -> list[tuple[str, StoredItem]]:
    return desk.every(after, limit=PAGE)


def _keep(item: StoredItem, desk: Desk) -> bool:
    if desk.get(item.place, item.key) is not None:
        return False
    desk.put(item)
    return True


def _to_document(shelf: str, item: StoredItem) -> dict[str, Any]:
    plain: dict[str, Any] = {"format": FORMAT, "version": VERSION, "shelf": shelf}
    plain |= {name: getattr(item, name) for name in (*_TEXTS, "minutes", *_HELD)}
    plain |= {name: moment.isoformat() if (moment := getattr(item, name)) else None for name in _TIMES}
    plain["body"] = b64encode(item.body).decode()
    plain["vector"] = None if item.vector is None else b64encode(item.vector).decode()
    return plain


def _from_document(document: Mapping[str, Any]) -> tuple[str, StoredItem]:
    """The item behind a document, refused by the name of its field."""
    if not isinstance(document, Mapping) or document.get("format") != FORMAT or document.get("version") != VERSION:
        raise ValidationError("format", f"expected a document of format {FORMAT!r}, version {VERSION}")
    minutes = document.get("minutes")
    if minutes is not None and (isinstance(minutes, bool) or not isinstance(minutes, int | float)):
        raise ValidationError("minutes", f"expected a number, got {type(minutes).__name__}")
    if minutes is not None and not abs(minutes) <= MOST_MINUTES:
        raise ValidationError("minutes", f"expected at most {MOST_MINUTES}, got {minutes}")
    place, key, tag = (_text(document, name) for name in _TEXTS)
    created, updated, expires = (_time(document, name) for name in _TIMES)
    session_id, turn_id = (None if document.get(name) is None else _text(document, name) for name in _HELD)
    body, vector = _bytes(document, "body"), _bytes(document, "vector")
    if body is None:
        raise ValidationError("body", "is missing")
    item = StoredItem(place, key, body, tag, vector, created, updated, expires, minutes, session_id, turn_id)
    return _text(document, "shelf"), item


def _text(document: Mapping[str, Any], name: str) -> str:
    value = document.get(name)
    if not isinstance(value, str) or "\x00" in value:
        raise ValidationError(name, f"expected text without NUL, got {type(value).__name__}")
    if any("\ud800" <= each <= "\udfff" for each in value):
        raise ValidationError(name, "contains a lone surrogate; give valid Unicode text")
    return value


def _time(document: Mapping[str, Any], name: str) -> datetime | None:
    value = document.get(name)
    if value is None:
        return None
    try:
        return check_time(name, datetime.fromisoformat(value))
    except (TypeError, ValueError) as error:
        raise ValidationError(name, f"expected a moment in ISO 8601 ({error})") from error


def _bytes(document: Mapping[str, Any], name: str) -> bytes | None:
    value = document.get(name)
    try:
        return None if value is None else b64decode(value, validate=True)
    except (TypeError, NotBase64) as error:
        raise ValidationError(name, f"expected Base64 ({error})") from error
