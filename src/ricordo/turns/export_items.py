"""Export and import of facts and adapter items: the second half of an export, after the sessions.

In: the facts that cannot be learned again from the turns (pinned or written by hand), and the adapter items of a user.
Out: one JSON document each, from which the same is imported again. An item that names a session or a turn, and a fact
that was said in one, is imported only if those exist. Importing again changes nothing.
"""

from base64 import b64decode, b64encode
from binascii import Error as NotBase64
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from ricordo.engine.core import Engine
from ricordo.errors import StoreUnavailable, ValidationError
from ricordo.limits import check_id, check_list, check_time
from ricordo.records.derived import FACT_KINDS, TRUST, Fact, FactChange, Source
from ricordo.records.service import StoredItem, as_json
from ricordo.records.turns import Owner, turn_id_of
from ricordo.stores.service_protocols import ItemTransaction

FORMAT, VERSION = "ricordo-item", 1
FACT_FORMAT = "ricordo-fact"
MOST_ATTEMPTS = 20
PAGE = 200
MOST_MINUTES = 100_000_000  # almost two hundred years

_TEXTS = ("place", "key", "tag")
_TIMES = ("created_at", "updated_at", "expires_at")
_HELD = ("session_id", "turn_id")


def export_items(engine: Engine, owner: Owner) -> Iterator[dict[str, Any]]:
    """The adapter items of a user that have not expired, one document at a time."""
    now, after = engine.clock.now(), ("", "", "")
    while page := engine.store.items.page(owner, now, after=after, limit=PAGE):
        for collection, item in page:
            yield _to_document(owner, collection, item)
            after = (collection, item.place, item.key)


def import_item(engine: Engine, document: Mapping[str, Any], user_id: str | None = None) -> bool:
    """Write an item for `user_id`, or for the user it names; True if it is new. An existing item is not changed.

    ValidationError if it names a session or a turn that does not exist.
    """
    collection, item = _from_document(document)
    owner = Owner(
        engine.settings.tenant_id, check_id("user_id", user_id if user_id is not None else document.get("user_id"))
    )
    if item.session_id is not None and engine.store.sessions.get(owner, item.session_id) is None:
        raise ValidationError("session_id", f"session {item.session_id!r} does not exist; import it before its items")
    if item.turn_id is not None and engine.store.turns.get(owner, item.turn_id) is None:
        raise ValidationError("turn_id", f"turn {item.turn_id!r} does not exist; import it before its items")

    def add(items: ItemTransaction) -> bool:
        if items.get(item.place, item.key) is not None:
            return False
        items.put(item)
        return True

    return engine.store.items.write(owner, collection, engine.clock.now(), add)


def export_facts(engine: Engine, owner: Owner) -> Iterator[dict[str, Any]]:
    """Every fact that is pinned or was written by hand, one document at a time."""
    for agent_id in engine.store.people.agents(owner):
        for fact in engine.store.people.facts(owner, agent_id).facts:
            if not fact.forgotten and (fact.pinned or fact.made_by == "user"):
                yield {"format": FACT_FORMAT, "version": VERSION, "user_id": owner.user_id, **as_json(fact)}


def import_fact(engine: Engine, document: Mapping[str, Any], user_id: str | None = None) -> bool:
    """Write a fact for `user_id`, or for the user it names; True if anything is new.

    A known fact is not written again; it is pinned if the document says so.
    """
    from ricordo.people.facts.claims import JUDGE, Claim, UserMessage, refusal_reason
    from ricordo.safety.pii import PII_KINDS, redact
    from ricordo.safety.screen import screen_of

    owner = Owner(
        engine.settings.tenant_id, check_id("user_id", user_id if user_id is not None else document.get("user_id"))
    )
    fact = _fact_from_document(document)
    line = fact.text.strip("«»“”")
    said = UserMessage(fact.id, "", line, fact.valid_from, "user_edit")
    if why := refusal_reason(Claim(fact.kind, fact.text, fact.about, line, fact.language, said, made_by=JUDGE)):
        raise ValidationError("text", f"cannot be kept as a fact: {why}")
    if redact(line, dict.fromkeys(PII_KINDS, engine.settings.safety.personal_data)).text != line:
        raise ValidationError("text", "holds personal data that the settings do not allow to be kept")
    if any(engine.store.turns.get(owner, turn_id_of(source.message_id)) is None for source in fact.sources):
        raise ValidationError("sources", "name a turn that does not exist; import its session before the fact")
    for _ in range(MOST_ATTEMPTS):
        people = engine.store.people.facts(owner, fact.agent_id)
        known = next((each for each in people.facts if fact.id == each.id or fact.digest == each.digest), None)
        put = fact if known is None else replace(known, pinned=known.pinned or (fact.pinned and not known.forgotten))
        if put == known:
            return False
        if engine.store.people.put_facts(owner, fact.agent_id, FactChange(people.revision, (put,))):
            screen_of(engine).facts(engine, owner, "", [put])
            return True
    raise StoreUnavailable(f"fact {fact.id!r} could not be stored because of concurrent writes; try again")


def _fact_from_document(document: Mapping[str, Any]) -> Fact:
    """The fact of a document; ValidationError names the wrong field."""
    if document.get("version") != VERSION:
        raise ValidationError("version", f"expected {VERSION}, got {document.get('version')!r}; upgrade Ricordo")
    for name, allowed in (("kind", FACT_KINDS), ("origin", TRUST), ("pinned", (True, False))):
        if document.get(name) not in allowed:
            raise ValidationError(name, f"expected one of {', '.join(map(str, allowed))}")
    recorded, since, until = (_time(document, name) for name in ("recorded_at", "valid_from", "valid_to"))
    if recorded is None or since is None:
        raise ValidationError("valid_from", "and recorded_at are needed")
    said = [each if isinstance(each, Mapping) else {} for each in check_list("sources", document.get("sources"))]
    sources = [Source(*(_text(each, name) for name in ("message_id", "session_id", "quote"))) for each in said]
    superseded, sure = document.get("superseded_by"), document.get("confidence", 1.0)
    if isinstance(sure, bool) or not isinstance(sure, int | float) or not 0 <= sure <= 1:
        raise ValidationError("confidence", "expected a number from 0 to 1")
    return Fact(
        check_id("id", document.get("id")), check_id("agent_id", document.get("agent_id")), document["kind"],
        _text(document, "text"), _text(document, "about"), check_id("digest", document.get("digest")),
        _text(document, "language"), tuple(sources), recorded, since, until,
        None if superseded is None else check_id("superseded_by", superseded),
        check_id("made_by", document.get("made_by")), document["origin"], pinned=document["pinned"],
        confidence=float(sure),
    )  # fmt: skip


def _to_document(owner: Owner, collection: str, item: StoredItem) -> dict[str, Any]:
    plain: dict[str, Any] = {"format": FORMAT, "version": VERSION, "user_id": owner.user_id, "shelf": collection}
    plain |= {name: getattr(item, name) for name in (*_TEXTS, "minutes", *_HELD)}
    plain |= {name: moment.isoformat() if (moment := getattr(item, name)) else None for name in _TIMES}
    plain["body"] = b64encode(item.body).decode()
    plain["vector"] = None if item.vector is None else b64encode(item.vector).decode()
    return plain


def _from_document(document: Mapping[str, Any]) -> tuple[str, StoredItem]:
    """The collection and item of a document; ValidationError names the wrong field."""
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
