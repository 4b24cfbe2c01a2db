"""Objects in OpenAI's format: their schemas, and those that a client can ask for again.

Responses and stored chat completions are stored as adapter items of their user. An object is deleted with its session
and with its turn, because it contains their text.
"""

import json
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Query
from pydantic import BaseModel, ConfigDict

from ricordo.contrib.shared import ItemCollection
from ricordo.engine.core import new_id
from ricordo.errors import StoreError, ValidationError
from ricordo.limits import is_id
from ricordo.records.service import StoredItem
from ricordo.records.turns import Owner
from ricordo.server.problems import ObjectNotFound
from ricordo.stores.items import PART_END

if TYPE_CHECKING:
    from ricordo.memory import Memory
    from ricordo.stores.service_protocols import ItemTransaction

log = logging.getLogger("ricordo.server")

METADATA_PAIRS, METADATA_KEY, METADATA_VALUE = 16, 64, 512  # OpenAI's limits
COMPLETIONS = "openai.completions"  # a collection of items
RESPONSES = "openai.responses"
_PLACE = f"objects{PART_END}"
_LISTED = 10_000  # objects that a list looks at

Json = Mapping[str, Any]
ListLimit = Annotated[int, Query(ge=0, le=100)]
ListOrder = Literal["asc", "desc"]


class OpenAIBody(BaseModel):
    """A JSON body in OpenAI's format, which may have fields that are not known here."""

    model_config = ConfigDict(extra="allow")


class MetadataIn(BaseModel):
    """The metadata of an object, which replaces the old."""

    metadata: dict[str, Any] | None = None


class ModelOut(BaseModel):
    """A model in OpenAI's format."""

    id: str
    object: str
    created: int
    owned_by: str


class ModelsOut(BaseModel):
    """The models that answer here."""

    object: str
    data: list[ModelOut]


class CompletionOut(BaseModel):
    """A completion in OpenAI's format."""

    id: str
    object: str
    created: int
    model: str
    choices: list[dict[str, Any]]
    usage: dict[str, Any]
    metadata: dict[str, Any]


class ResponseOut(OpenAIBody):
    """A response in OpenAI's format."""

    id: str
    object: str
    created_at: int
    status: str
    model: str
    output: list[dict[str, Any]]


class CompactionOut(BaseModel):
    """A condensed talk in OpenAI's format."""

    id: str
    object: str
    created_at: int
    output: list[dict[str, Any]]
    usage: dict[str, Any]


class ConversationOut(BaseModel):
    """A conversation in OpenAI's format."""

    id: str
    object: str
    created_at: int
    metadata: dict[str, Any]


class InputTokensOut(BaseModel):
    """How many tokens a request has."""

    object: str
    input_tokens: int


class ObjectList(BaseModel):
    """A page of a list in OpenAI's format."""

    object: str
    data: list[dict[str, Any]]
    first_id: str
    last_id: str
    has_more: bool


class DeletedObject(BaseModel):
    """What was deleted."""

    id: str
    object: str
    deleted: bool


class EmbeddingsOut(BaseModel):
    """Vectors in OpenAI's format."""

    object: str
    data: list[dict[str, Any]]
    model: str
    usage: dict[str, Any]


class OpenAIError(BaseModel):
    """An error in OpenAI's format."""

    error: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoredObject:
    """An object, what its client sent for it, its session and turn, and the name of its running answer.

    Without a turn it is deleted with its session; without a session it stays until it is deleted itself.
    """

    value: Json
    sent: Sequence[Json] = ()
    session_id: str | None = None
    turn_id: str | None = None
    answer_name: str = ""


class StoredObjects:
    """The objects of one user in one collection, found by id and listed by age."""

    def __init__(self, memory: "Memory", owner: Owner, collection: str) -> None:
        self._memory = memory
        self._owner = owner
        self._items = ItemCollection(memory, collection)

    def put(self, given: StoredObject) -> bool:
        """Store an object, or replace the one with its id. False if the store fails; the response is sent anyway."""
        kept = {"object": given.value, "sent": list(given.sent), "answer": given.answer_name}
        body, tag = json.dumps(kept).encode(), given.value["id"]

        def work(items: "ItemTransaction") -> None:
            known = items.find(_PLACE, tag=tag, limit=1)
            key = known[0].key if known else new_id(self._memory.clock.now())
            created_at = known[0].created_at if known else None
            item = StoredItem(_PLACE, key, body, tag, created_at=created_at)
            items.put(replace(item, session_id=given.session_id, turn_id=given.turn_id))

        try:
            self._items.write(self._owner, work)
        except StoreError as error:  # it is away, or the session was deleted meanwhile
            about = {"operation": "keep", "tenant_id": self._owner.tenant_id, "user_id": self._owner.user_id}
            log.warning("an object could not be stored: %s", type(error).__name__, extra=about)
            return False
        return True

    def get(self, object_id: str, field: str = "id") -> StoredObject:
        """The object of an id; ObjectNotFound names `field`."""
        found = self._find(object_id, field)
        kept = json.loads(found.body)
        return StoredObject(kept["object"], kept["sent"], found.session_id, found.turn_id, kept["answer"])

    def delete(self, object_id: str) -> None:
        """Delete an object; the turn that it came from stays."""
        key = self._find(object_id).key
        self._items.write(self._owner, lambda items: items.remove(_PLACE, key))

    def listed(self) -> list[dict[str, Any]]:
        """The newest objects, oldest first."""
        found = self._items.read(self._owner, lambda items: items.find(_PLACE, newest_first=True, limit=_LISTED))
        return [json.loads(item.body)["object"] for item in reversed(found)]

    def _find(self, object_id: str, field: str = "id") -> StoredItem:
        if not is_id(object_id):
            raise ObjectNotFound(field, "nothing with this id exists for this user")
        found = self._items.read(self._owner, lambda items: items.find(_PLACE, tag=object_id, limit=1))
        if not found:
            raise ObjectNotFound(field, f"nothing with the id {object_id!r} exists for this user")
        return found[0]


def page_of(values: Sequence[Json], *, after: str | None, limit: int, order: str) -> dict[str, Any]:
    """A page of a list that is given oldest first; an unknown `after` is refused."""
    ordered = list(values) if order == "asc" else list(reversed(values))
    if after is not None:
        at = next((at for at, each in enumerate(ordered) if each["id"] == after), None)
        if at is None:
            raise ValidationError("after", f"nothing here has the id {after!r}")
        ordered = ordered[at + 1 :]
    return as_list(ordered[:limit], has_more=len(ordered) > limit)


def as_list(values: Sequence[Json], *, has_more: bool) -> dict[str, Any]:
    """Values as a list in OpenAI's format."""
    first, last = (values[0]["id"], values[-1]["id"]) if values else ("", "")
    return {"object": "list", "data": list(values), "first_id": first, "last_id": last, "has_more": has_more}


def check_pairs(given: Json | None) -> dict[str, str]:
    """Metadata as OpenAI allows it: a few short texts under short names."""
    pairs = dict(given or {})
    if len(pairs) > METADATA_PAIRS:
        raise ValidationError("metadata", f"has {len(pairs)} pairs; at most {METADATA_PAIRS} are kept")
    for key, value in pairs.items():
        if len(key) > METADATA_KEY or "\x00" in key:
            raise ValidationError("metadata", f"a name has at most {METADATA_KEY} characters")
        if not isinstance(value, str) or len(value) > METADATA_VALUE or "\x00" in value:
            raise ValidationError(f"metadata.{key}", f"must be a text of at most {METADATA_VALUE} characters")
    return pairs


def conversation_id(given: object) -> str | None:
    """The conversation that a request names, by id or as an object with an id."""
    named = given.get("id") if isinstance(given, Mapping) else given
    if named is not None and not (isinstance(named, str) and named):
        raise ValidationError("conversation", "must be an id, or an object with an id")
    return named


def session_header(session_id: str) -> str:
    """A session's id as a header value; empty if a header cannot hold it."""
    return session_id if session_id.isascii() and session_id.isprintable() else ""
