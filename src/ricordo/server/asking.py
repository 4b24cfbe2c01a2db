"""What routes ask for: the service, the caller, and whose data the request is about."""

from typing import Annotated

from fastapi import Depends, Header, Query, Request

from ricordo.chat.pipeline import Chat
from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.records import Owner, SessionInfo
from ricordo.server.caller import Caller
from ricordo.server.service import Service
from ricordo.session import Session


def service_of(request: Request) -> Service:
    """The service behind the application."""
    service: Service = request.app.state.service
    return service


def caller_of(
    request: Request,
    service: Annotated[Service, Depends(service_of)],
    authorization: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Caller:
    """Who calls."""
    scheme, _, credential = (authorization or "").partition(" ")
    if authorization and scheme.lower() != "bearer":
        credential = ""
    caller = service.caller(credential.strip() or None)
    request.scope["state"]["caller"] = caller
    return caller


Calling = Annotated[Caller, Depends(caller_of)]
Serving = Annotated[Service, Depends(service_of)]


class Person:
    """One user of one tenant, as a request names them; with the memory that is theirs."""

    def __init__(
        self,
        service: Serving,
        caller: Calling,
        user_id: Annotated[str | None, Query(description="The user, where the credential is not bound to one")] = None,
        x_ricordo_user: Annotated[str | None, Header(include_in_schema=False)] = None,
    ) -> None:
        caller.must("read")
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
        return Owner(self.caller.tenant_id, self.id)

    def named(self, user_id: str | None) -> "Person":
        """The same request for the user that its body names, if it names one."""
        if user_id is not None:
            self._named = user_id
        return self

    def info(self, session_id: str) -> SessionInfo:
        """A session of this user, or NotFoundError."""
        missing = NotFoundError("there is no such session for this user")
        try:
            found = self.memory.store.session(self.owner, check_id("session_id", session_id))
        except ValidationError as error:
            raise missing from error
        if found is None:
            raise missing
        return found

    def session(self, session_id: str) -> Session:
        """A session of this user to work with, or NotFoundError."""
        info = self.info(session_id)
        return self.memory.session(info.id, user_id=self.id, agent_id=info.agent_id)


Asking = Annotated[Person, Depends()]
