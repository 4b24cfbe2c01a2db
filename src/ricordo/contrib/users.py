"""The user of an adapter's call, an id or a function that reads it from what the library passes; and their sessions."""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from ricordo.errors import ValidationError
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.records.turns import Owner, SessionInfo

PAGE = 100  # sessions listed at once

G = TypeVar("G")

UserSource = str | Callable[[G], str]


def check_user_source(source: object) -> None:
    """Raise ValidationError for an id that is not valid; a function is checked when it is called."""
    if not callable(source):
        check_id("user_id", source)


def user_of(source: UserSource[G], given: G) -> str:
    """The id of the user of a call; `given` is what the library passes along."""
    if not callable(source):
        return source
    try:
        found = source(given)
    except (KeyError, IndexError, TypeError) as error:
        raise ValidationError("user_id", f"this call does not name its user ({error!r})") from error
    return check_id("user_id", found)


def owner_of(memory: Memory, user_id: str) -> Owner:
    """The owner with this user id in a memory's tenant."""
    return _owner(memory.settings.tenant_id, check_id("user_id", user_id))


@lru_cache(maxsize=1_024)
def _owner(tenant_id: str, user_id: str) -> Owner:
    """Cached, because deriving the owner's key takes time."""
    owner = Owner(tenant_id, user_id)
    if owner.is_reserved:
        raise ValidationError("user_id", f"{user_id!r} has a reserved prefix; choose another")
    return owner


def sessions_of(memory: Memory, user_id: str, agent_id: str | None = None) -> list[SessionInfo]:
    """All sessions of a user, most recent first."""
    found = memory.sessions(user_id=user_id, agent_id=agent_id, limit=PAGE)
    page: list[SessionInfo] = found
    while len(page) == PAGE:
        page = memory.sessions(user_id=user_id, agent_id=agent_id, limit=PAGE, before=page[-1])
        found += page
    return found
