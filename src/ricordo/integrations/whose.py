"""Whose memory a call is about: an id, or a function that reads it from what the library passes along.

In: what the adapter was made with, and the config or namespace of one call. Out: an owner. There is no default and no
shared bucket: where nobody is named the call is refused.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import TypeVar

from ricordo.errors import ValidationError
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.records import Owner

G = TypeVar("G")

Whose = str | Callable[[G], str]


def check_whose(whose: object) -> None:
    """Refuse what can name nobody, before anything is opened."""
    if not callable(whose):
        check_id("user_id", whose)


def user_of(whose: Whose[G], given: G) -> str:
    """The id of the user that a call is for."""
    if not callable(whose):
        return whose
    try:
        found = whose(given)
    except (KeyError, IndexError, TypeError) as error:
        raise ValidationError("user_id", f"this call does not say whose memory it is about ({error!r})") from error
    return check_id("user_id", found)


def owner_of(memory: Memory, user_id: str) -> Owner:
    """The owner of that id in a memory's tenant."""
    return _owner(memory.settings.tenant_id, check_id("user_id", user_id))


@lru_cache(maxsize=1_024)
def _owner(tenant_id: str, user_id: str) -> Owner:
    """Kept for a while, because its key is derived at some cost."""
    owner = Owner(tenant_id, user_id)
    if owner.is_reserved:
        raise ValidationError("user_id", f"{user_id!r} begins like a name that is not for users; choose another")
    return owner
