"""Who calls: a tenant, perhaps one user of it, and what the credential allows; and so whose data it is about."""

from dataclasses import dataclass

from ricordo.errors import RicordoError, ValidationError
from ricordo.limits import check_id
from ricordo.records.turns import RESERVED

ANONYMOUS = "anonymous"
SCOPES = ("chat", "read", "write", "admin")


def check_user(field: str, value: object) -> str:
    """The id of a user, and not one of the names that a tenant's own things go by."""
    user_id = check_id(field, value)
    if user_id.startswith(RESERVED):
        raise ValidationError(field, f"{user_id!r} begins like a name that is not for users; choose another")
    return user_id


class NotAllowed(RicordoError):  # noqa: N818 - a refusal
    """The credential does not reach this far; `status` is 401 without a valid one and 403 with one."""

    def __init__(self, detail: str, status: int = 403) -> None:
        super().__init__(detail)
        self.status = status


def needed(method: str, path: str) -> str:
    """The scope that a request needs: to chat, to read, or to change something."""
    if path.startswith(("/chat", "/v1/", "/ai/")):
        return "chat"
    return "read" if method in ("GET", "HEAD") else "write"


@dataclass(frozen=True, slots=True)
class Caller:
    """The one behind a request. Without a `user_id` it speaks for any user of its tenant."""

    tenant_id: str
    user_id: str | None = None
    scopes: frozenset[str] = frozenset(SCOPES)
    credential: str = "none"

    @property
    def authenticated(self) -> bool:
        """Whether it showed a credential."""
        return self.credential != "none"

    def user(self, named: str | None) -> str:
        """Whose data the request is about: the credential's user, or the one that is named."""
        if self.user_id is not None:
            if named is not None and named != self.user_id:
                raise NotAllowed("this credential belongs to another user")
            return self.user_id
        return ANONYMOUS if named is None else check_user("user_id", named)

    def must(self, scope: str) -> None:
        """Refuse what the credential was not made for."""
        if scope not in self.scopes and "admin" not in self.scopes:
            raise NotAllowed(f"this credential lacks the scope {scope!r}")

    def must_rule(self) -> None:
        """Refuse whoever may not care for the tenant as a whole."""
        self.must("admin")
        if self.user_id is not None:
            raise NotAllowed("this credential is bound to one user; use one of the whole tenant")
