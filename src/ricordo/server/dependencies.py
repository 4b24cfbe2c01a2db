"""What routes ask for: the service, the caller, and whose data the request is about."""

from typing import Annotated

from fastapi import Depends, Header, Query, Request

from ricordo.chat.pipeline import Chat
from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.records.turns import Owner, SessionInfo
from ricordo.server.caller import Caller, needed
from ricordo.server.service import Service
from ricordo.session import Session


def service_of(request: Request) -> Service:
    """The service behind the application."""
    service: Service = request.app.state.service
    return service


def credential_of(authorization: str | None) -> str | None:
    """The credential in a header `Authorization: Bearer …`."""
    scheme, _, credential = (authorization or "").partition(" ")
    return (credential.strip() or None) if scheme.lower() == "bearer" else None


def caller_of(
    request: Request,
    service: Annotated[Service, Depends(service_of)],
    authorization: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Caller:
    """Who calls."""
    caller = service.caller(credential_of(authorization))
    request.scope["state"]["caller"] = caller
    return caller


def known_id(what: str, given: str) -> str:
    """An id out of an address; one that nothing can have is not found."""
    try:
        return check_id(what, given)
    except ValidationError as error:
        raise NotFoundError(f"there is no such {what} for this user") from error


Calling = Annotated[Caller, Depends(caller_of)]
Serving = Annotated[Service, Depends(service_of)]


class RequestUser:
    """One user of one tenant, as a request names them; with the memory that is theirs."""

    def __init__(
        self,
        request: Request,
        service: Serving,
        caller: Calling,
        user_id: Annotated[
            str | None,
            Query(min_length=1, max_length=255, description="The user, where the credential is not bound to one"),
        ] = None,
        x_ricordo_user: Annotated[str | None, Header(include_in_schema=False)] = None,
    ) -> None:
        caller.must(needed(request.method, request.scope["path"]))  # the URL holds the Host, which callers choose
        self._state = request.scope["state"]
        self.caller = caller
        self.service = service
        self._named = user_id if user_id is not None else x_ricordo_user

    @property
    def memory(self) -> Memory:
        """The tenant's memory."""
        return self.service.memory(self.caller.tenant_id)

    @property
    def chat(self) -> Chat:
        """The tenant's chat."""
        return self.service.chat(self.caller.tenant_id)

    @property
    def id(self) -> str:
        """The user's id."""
        return self.caller.user(self._named)

    @property
    def owner(self) -> Owner:
        """Whose data it is."""
        owner = Owner(self.caller.tenant_id, self.id)
        self._state["owner"] = owner
        return owner

    @property
    def named_user(self) -> str | None:
        """The user that the credential or the request names; None where neither does."""
        return self.id if self.caller.user_id is not None or self._named is not None else None

    def named(self, user_id: str | None) -> "RequestUser":
        """The same request for the user that its body names, if it names one."""
        if user_id is not None:
            self._named = user_id
        return self

    def info(self, session_id: str) -> SessionInfo:
        """A session of this user, or NotFoundError."""
        found = self.memory.store.sessions.get(self.owner, known_id("session", session_id))
        if found is None:
            raise NotFoundError("there is no such session for this user")
        return found

    def session(self, session_id: str) -> Session:
        """A session of this user to work with, or NotFoundError."""
        info = self.info(session_id)
        return self.memory.session(info.id, user_id=self.id, agent_id=info.agent_id)


Asking = Annotated[RequestUser, Depends()]
Limit = Annotated[int, Query(ge=1, le=200)]
