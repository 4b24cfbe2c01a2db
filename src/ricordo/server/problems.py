"""Errors as `application/problem+json`: one table from the error tree to statuses, and one way to write them."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException

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

MEDIA_TYPE = "application/problem+json"

# The first class that fits decides.
STATUSES: tuple[tuple[type[RicordoError], int, str], ...] = (
    (ValidationError, 422, "The input was refused"),
    (NotFoundError, 404, "There is no such thing"),
    (ConflictError, 409, "The id already holds other content"),
    (ReceiptError, 409, "The context cannot be rebuilt"),
    (BudgetError, 422, "The budget is too small"),
    (SettingsError, 422, "A setting was refused"),
    (LLMError, 502, "The model did not answer"),
    (StoreUnavailable, 503, "The database is away"),
    (StoreError, 500, "The database failed"),
    (RicordoError, 500, "Something failed"),
)


def problem(status: int, title: str, detail: str, request: Request | None = None, **more: Any) -> JSONResponse:
    """A problem as a response."""
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail}
    if request is not None:
        body["instance"] = request.url.path
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status in (429, 503):
        headers["Retry-After"] = "1"
    content = body | {name: value for name, value in more.items() if value is not None}
    return JSONResponse(content, status, headers, MEDIA_TYPE)


def from_error(error: RicordoError, request: Request | None = None) -> JSONResponse:
    """The problem that an error of ours is."""
    if isinstance(error, NotAllowed):
        title = "Not allowed" if error.status == 403 else "Who are you?"
        return problem(error.status, title, str(error), request)
    status, title = next((status, title) for kind, status, title in STATUSES if isinstance(error, kind))
    return problem(status, title, str(error), request, field=getattr(error, "field", None))


def add_problems(app: FastAPI) -> None:
    """Have every failure of an application told as a problem."""

    @app.exception_handler(RicordoError)
    def ours(request: Request, error: RicordoError) -> Response:
        return from_error(error, request)

    @app.exception_handler(RequestValidationError)
    def unreadable(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0] if error.errors() else {}
        field = ".".join(str(part) for part in first.get("loc", ())[1:]) or "body"
        return problem(422, "The input was refused", f"{field}: {first.get('msg', 'not valid')}", request, field=field)

    @app.exception_handler(HTTPException)
    def routed(request: Request, error: HTTPException) -> Response:
        response = problem(error.status_code, str(error.detail), str(error.detail), request)
        response.headers.update(error.headers or {})
        return response
