"""Dependencies of the routes: the service, the caller, and the user whose data the request is about."""

from collections.abc import Callable, Generator
from dataclasses import replace
from typing import Annotated

from fastapi import Depends, Header, HTTPException, Query, Request

from ricordo.chat.answerers import MODEL_FAILED
from ricordo.chat.events import ChatRequest, Done, Event
from ricordo.chat.pipeline import Chat
from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_id
from ricordo.memory import Memory
from ricordo.records.turns import Owner, SessionInfo
from ricordo.server.credentials import Caller, bearer_token, required_scope
from ricordo.server.service import Service
from ricordo.server.streams import AnswerStream
from ricordo.session import Session


def get_service(request: Request) -> Service:
    """The service of the application."""
    service: Service = request.app.state.service
    return service


def get_caller(
    request: Request,
    service: Annotated[Service, Depends(get_service)],
    authorization: Annotated[str | None, Header(include_in_schema=False)] = None,
) -> Caller:
    """The caller that the credential stands for."""
    caller = service.caller(bearer_token(authorization))
    request.scope["state"]["caller"] = caller
    return caller


def path_id(what: str, given: str) -> str:
    """An id from the URL; one that cannot exist raises NotFoundError."""
    try:
        return check_id(what, given)
    except ValidationError as error:
        raise NotFoundError(f"there is no such {what} for this user") from error


def utf8_header(name: str, value: str | None) -> str | None:
    """The value of a header that holds a name, read as UTF-8; the framework reads headers as Latin-1."""
    try:
        return None if value is None else value.encode("latin-1").decode()
    except UnicodeError as error:
        raise HTTPException(400, f"{name}: send it as UTF-8") from error


CallerDep = Annotated[Caller, Depends(get_caller)]
ServiceDep = Annotated[Service, Depends(get_service)]


class RequestUser:
    """The user of a request, with the tenant's memory and chat."""

    def __init__(
        self,
        request: Request,
        service: ServiceDep,
        caller: CallerDep,
        user_id: Annotated[
            str | None,
            Query(min_length=1, max_length=255, description="The user, where the credential is not bound to one"),
        ] = None,
        x_ricordo_user: Annotated[str | None, Header(include_in_schema=False)] = None,
    ) -> None:
        caller.require_scope(
            required_scope(request.method, request.scope["path"])
        )  # not request.url: it holds the Host header
        self._state = request.scope["state"]
        self.caller = caller
        self.service = service
        self._user_id = user_id if user_id is not None else utf8_header("X-Ricordo-User", x_ricordo_user)

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
        return self.caller.resolve_user(self._user_id)

    @property
    def owner(self) -> Owner:
        """Tenant and user together."""
        owner = Owner(self.caller.tenant_id, self.id)
        self._state["owner"] = owner
        return owner

    @property
    def explicit_id(self) -> str | None:
        """The user that the credential or the request names; None if neither does."""
        return self.id if self.caller.user_id is not None or self._user_id is not None else None

    def override(self, user_id: str | None) -> "RequestUser":
        """The same request for the user that its body or path names, if any."""
        if user_id is not None:
            self._user_id = user_id
        return self

    def session_info(self, session_id: str) -> SessionInfo:
        """The record of a session of this user, or NotFoundError."""
        found = self.memory.store.sessions.get(self.owner, path_id("session", session_id))
        if found is None:
            raise NotFoundError("there is no such session for this user")
        return found

    def session(self, session_id: str) -> Session:
        """A session of this user, or NotFoundError."""
        info = self.session_info(session_id)
        return self.memory.session(info.id, user_id=self.id, agent_id=info.agent_id)


UserDep = Annotated[RequestUser, Depends()]
Limit = Annotated[int, Query(ge=1, le=200)]


def begin(user: RequestUser, chat_request: ChatRequest, digest: str) -> AnswerStream:
    """Start the answer to a question, or join the running one."""
    chat = user.chat

    def work(stop: Callable[[], bool]) -> Generator[Event, None, None]:
        for event in chat.respond(replace(chat_request, stop=stop)):
            if isinstance(event, Done):
                _count(user, event)
                event = _without_causes(event)
            yield event

    return user.service.answers.begin(user.owner, chat_request.turn_id or "", work, digest)


def _count(user: RequestUser, done: Done) -> None:
    known = done.response.metadata
    user.service.jobs.note(user.owner, done.response.session_id)
    if "timings_ms" in known:
        stored = known.get("turn_number") is not None
        user.service.metrics.record_answer(known["timings_ms"], known["tokens"]["prompt"], stored=stored)


def _without_causes(done: Done) -> Done:
    """The end of an answer without the cause of a model's failure, which may name hosts and belongs in the log."""
    known = done.response.metadata
    notes = [
        f"{MODEL_FAILED}; the log has the cause" if note.startswith(MODEL_FAILED) else note
        for note in known.get("degraded", ())
    ]
    return replace(done, response=replace(done.response, metadata={**known, "degraded": notes}))
