"""Errors as `application/problem+json`: one table from the error tree to statuses, and one way to write them."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount

from ricordo.errors import (
    BudgetError,
    ConflictError,
    LLMError,
    NotFoundError,
    ReceiptError,
    RicordoError,
    SettingsError,
    StoreError,
    StoreUnavailable,
    ValidationError,
)
from ricordo.server.caller import NotAllowed
from ricordo.server.streams import Crowded

MEDIA_TYPE = "application/problem+json"
_ROUTED = {  # what is said of requests that reach no route
    400: "the body cannot be read; send JSON as UTF-8 text, not too deeply nested",
    404: "there is nothing at this address",
    405: "this address takes other methods",
}

# The first class that fits decides.
STATUSES: tuple[tuple[type[RicordoError], int, str], ...] = (
    (ValidationError, 422, "The input was refused"),
    (NotFoundError, 404, "There is no such thing"),
    (ConflictError, 409, "The id already holds other content"),
    (ReceiptError, 409, "The context cannot be rebuilt"),
    (BudgetError, 422, "The budget is too small"),
    (SettingsError, 422, "A setting was refused"),
    (Crowded, 503, "Too many at once"),
    (LLMError, 502, "The model did not answer"),
    (StoreUnavailable, 503, "The database is away"),
    (StoreError, 500, "The database failed"),
    (RicordoError, 500, "Something failed"),
)


def status_of(error: RicordoError) -> tuple[int, str]:
    """The status and title of an error of ours."""
    if isinstance(error, NotAllowed):
        return error.status, "Not allowed" if error.status == 403 else "Who are you?"
    return next((status, title) for kind, status, title in STATUSES if isinstance(error, kind))


def told(status: int, title: str, detail: str, **more: Any) -> dict[str, Any]:
    """A problem as JSON values."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    known = body | {name: value for name, value in more.items() if value is not None}
    return {name: _readable(value) if isinstance(value, str) else value for name, value in known.items()}


def told_of(error: Exception) -> dict[str, Any]:
    """A failure as JSON values; one that is not ours says nothing of itself."""
    if not isinstance(error, RicordoError):
        return told(500, "Something failed", "something failed that should not; the log has the cause")
    status, title = status_of(error)
    detail = str(error)
    if isinstance(error, StoreError):  # its words may name hosts and rows: they are for the log
        away = isinstance(error, StoreUnavailable)
        detail = "the database is away; the same request may work later" if away else "the log has the cause"
    return told(status, title, detail, field=getattr(error, "field", None))


def problem(status: int, title: str, detail: str, request: Request | None = None, **more: Any) -> JSONResponse:
    """A problem as a response."""
    instance = None if request is None else request.url.path
    return answered(told(status, title, detail, instance=instance, **more))


def answered(body: dict[str, Any]) -> JSONResponse:
    """A problem that was told, as a response."""
    status = int(body["status"])
    if str(body.get("instance", "")).startswith("/v1/"):  # whose clients expect another shape
        return JSONResponse(as_openai(body), status, _headers(status))
    return JSONResponse(body, status, _headers(status), MEDIA_TYPE)


def _headers(status: int) -> dict[str, str]:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status in (429, 503):
        headers["Retry-After"] = "1"
    return headers


def from_error(error: Exception, request: Request | None = None) -> JSONResponse:
    """The problem that an error is."""
    instance = {} if request is None else {"instance": _readable(request.url.path)}
    return answered(told_of(error) | instance)


def as_openai(body: dict[str, Any]) -> dict[str, Any]:
    """A problem in OpenAI's shape."""
    status = body["status"]
    kind = "invalid_request_error" if status < 500 else "server_error"
    code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status)
    return {"error": {"message": body["detail"], "type": kind, "param": body.get("field"), "code": code}}


def add_problems(app: FastAPI) -> None:
    """Have every failure of an application told as a problem."""

    @app.exception_handler(RicordoError)
    def ours(request: Request, error: RicordoError) -> Response:
        return from_error(error, request)

    @app.exception_handler(RequestValidationError)
    def unreadable(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0] if error.errors() else {}
        unread = first.get("type") == "json_invalid"  # then the place is a number of characters
        field = ("" if unread else ".".join(str(part) for part in first.get("loc", ())[1:])) or "body"
        why = "is not JSON; send a JSON object" if unread else first.get("msg", "not valid")
        return problem(422, "The input was refused", f"{field}: {why}", request, field=field)

    @app.exception_handler(HTTPException)
    def routed(request: Request, error: HTTPException) -> Response:
        detail = _ROUTED.get(error.status_code, str(error.detail))
        headers = dict(error.headers or {})
        if error.status_code == 405:  # the framework names those of one route, and each of ours has one method
            headers["Allow"] = ", ".join(sorted(_methods(request)))
            detail = f"{detail}: {headers['Allow']}"
        response = problem(error.status_code, str(error.detail), detail, request)
        response.headers.update(headers)
        return response


def _methods(request: Request) -> set[str]:
    """The methods that an address takes."""
    routes = [route for route in request.app.routes if not isinstance(route, Mount)]  # files answer for themselves
    asked = {method: {**request.scope, "method": method} for method in ("GET", "POST", "PATCH", "DELETE")}
    found = {name for name, scope in asked.items() if any(each.matches(scope)[0] is Match.FULL for each in routes)}
    return (found | {"HEAD"} if "GET" in found else found) or {"GET", "HEAD"}


def _readable(text: str) -> str:
    """Text that can be written as UTF-8, whatever somebody sent."""
    return text.encode("utf-8", "replace").decode()
