"""Who calls: a tenant, perhaps one user of it, and what the credential allows; and so whose data it is about."""

from dataclasses import dataclass

from ricordo.errors import RicordoError
from ricordo.limits import check_id

ANONYMOUS = "anonymous"
SCOPES = ("chat", "read", "write", "admin")


class NotAllowed(RicordoError):  # noqa: N818 - a refusal
    """The credential does not reach this far; `status` is 401 without a valid one and 403 with one."""

    def __init__(self, detail: str, status: int = 403) -> None:
        super().__init__(detail)
        self.status = status


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
        return ANONYMOUS if named is None else check_id("user_id", named)

    def must(self, scope: str) -> None:
        """Refuse what the credential was not made for."""
        if scope not in self.scopes and "admin" not in self.scopes:
            raise NotAllowed(f"this credential lacks the scope {scope!r}")
