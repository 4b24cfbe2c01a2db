"""Errors as `application/problem+json` (RFC 9457): one table from exceptions to statuses, with standard titles.

The `detail` says what is wrong and how to correct it; the `code` names the kind of problem and stays the same. Paths
under `/v1/` get errors in OpenAI's format instead.
"""

import re
from http import HTTPStatus
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
from ricordo.server.credentials import AuthError
from ricordo.server.streams import TooManyAnswers

MEDIA_TYPE = "application/problem+json"


class ObjectNotFound(NotFoundError):  # noqa: N818 - the usual name
    """A request names something that does not exist; `field` is the parameter that names it."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.code = f"{field}_not_found"


_TITLES = {413: "Content Too Large", 422: "Unprocessable Content"}  # other names in Python before 3.13
_CODES = {413: "too_large", 422: "invalid", 429: "rate_limited", 500: "internal"}  # else the name of the status
_ROUTING_DETAILS = {  # for requests that reach no route
    400: "the body cannot be read; send JSON as UTF-8 text, not too deeply nested",
    404: "there is nothing at this address",
    405: "this address takes other methods",
}
_INDEX = re.compile(r"\.(\d+)(?=\.|$)")
_FRAMEWORK_DETAIL = "There was an error parsing the body"

# The first class that matches decides; without a code of its own it has that of the status.
STATUSES: tuple[tuple[type[RicordoError], int, str], ...] = (
    (ValidationError, 422, ""),
    (NotFoundError, 404, ""),
    (ConflictError, 409, ""),
    (ReceiptError, 409, "receipt_lost"),
    (BudgetError, 422, "limit_too_small"),
    (SettingsError, 422, ""),
    (TooManyAnswers, 503, "too_many_answers"),
    (LLMError, 502, "model_failed"),
    (StoreUnavailable, 503, "database_unavailable"),
    (StoreError, 500, "database_failed"),
    (RicordoError, 500, ""),
)


def _case(error: RicordoError) -> tuple[int, str]:
    """The HTTP status of one of our errors, and its code; none: the one of the status."""
    if isinstance(error, AuthError):
        return error.status, ""
    return next((status, error.code or code) for kind, status, code in STATUSES if isinstance(error, kind))


def problem_body(status: int, detail: str, code: str = "", **more: Any) -> dict[str, Any]:
    """A problem as JSON values, with the standard title of its status."""
    title = _TITLES.get(status) or HTTPStatus(status).phrase
    code = code or _CODES.get(status) or HTTPStatus(status).name.lower()
    body = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
    known = body | {name: value for name, value in more.items() if value is not None}
    return {name: _valid_utf8(value) if isinstance(value, str) else value for name, value in known.items()}


def error_body(error: Exception) -> dict[str, Any]:
    """An exception as a problem. One that is not Ricordo's own gives no details."""
    if not isinstance(error, RicordoError):
        return problem_body(500, "an internal error occurred; see the server log")
    detail, (status, code) = str(error), _case(error)
    if isinstance(error, StoreUnavailable):  # the message may name hosts and rows, which belong in the log
        detail = "the database is unavailable; try again later"
    elif isinstance(error, LLMError):  # the message may name the address of the model
        detail = error.shown or "the model did not answer; the question is kept, ask again; the log has the cause"
        return problem_body(status, detail, code, cause=error.cause, upstream_status=error.status)
    elif isinstance(error, StoreError):
        detail = "the database failed; see the server log"
    return problem_body(status, detail, code, field=getattr(error, "field", None))


def problem_response(status: int, detail: str, request: Request | None = None, **more: Any) -> JSONResponse:
    instance = None if request is None else request.scope["path"]  # not its URL: that holds the Host header
    return body_response(problem_body(status, detail, instance=instance, **more))


def error_response(error: Exception, request: Request | None = None) -> JSONResponse:
    instance = {} if request is None else {"instance": _valid_utf8(request.scope["path"])}
    return body_response(error_body(error) | instance)


def body_response(body: dict[str, Any]) -> JSONResponse:
    is_openai = str(body.get("instance", "")).startswith("/v1/")
    status = openai_status(body) if is_openai else int(body["status"])
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else {}
    if status in (429, 503):
        headers["Retry-After"] = "1"
    if is_openai:
        return JSONResponse(openai_error(body), status, headers)
    return JSONResponse(body, status, headers, MEDIA_TYPE)


def openai_status(body: dict[str, Any]) -> int:
    """The status of a problem for OpenAI's clients: 400 for bad input; that of the model's server if it sent one."""
    upstream = body.get("upstream_status")
    if body["status"] == 422 and body.get("field") != "Idempotency-Key":
        return 400
    return int(upstream if upstream and upstream >= 400 else 504 if body.get("cause") == "timeout" else body["status"])


def openai_error(body: dict[str, Any]) -> dict[str, Any]:
    """A problem in OpenAI's format, with a code that its clients know, or none."""
    status = openai_status(body)
    kind = "invalid_request_error" if status < 500 else "server_error"
    missing = body["code"] if body["code"].endswith("_not_found") else None
    code = {401: "invalid_api_key", 429: "rate_limit_exceeded"}.get(status) or missing or body.get("cause")
    param = _INDEX.sub(r"[\1]", body["field"]) if body.get("field") else None  # messages.0.role is messages[0].role
    return {"error": {"message": body["detail"], "type": kind, "param": param, "code": code}}


def add_exception_handlers(app: FastAPI) -> None:
    """Answer every exception of an application with a problem."""

    @app.exception_handler(RicordoError)
    def ricordo_error(request: Request, error: RicordoError) -> Response:
        return error_response(error, request)

    @app.exception_handler(RequestValidationError)
    def invalid_request(request: Request, error: RequestValidationError) -> Response:
        first = error.errors()[0] if error.errors() else {}
        not_json = first.get("type") == "json_invalid"  # then `loc` is a character offset
        field = ("" if not_json else ".".join(str(part) for part in first.get("loc", ())[1:])) or "body"
        reason = "is not JSON; send a JSON object" if not_json else first.get("msg", "not valid")
        return problem_response(422, f"{field}: {reason}", request, field=field)

    @app.exception_handler(HTTPException)
    def http_exception(request: Request, error: HTTPException) -> Response:
        ours = error.status_code == 400 and error.detail != _FRAMEWORK_DETAIL
        detail = str(error.detail) if ours else _ROUTING_DETAILS.get(error.status_code, str(error.detail))
        headers = dict(error.headers or {})
        if error.status_code == 405:  # the framework lists the methods of one route, and each of ours has one
            headers["Allow"] = ", ".join(sorted(_allowed_methods(request)))
            detail = f"{detail}: {headers['Allow']}"
        response = problem_response(error.status_code, detail, request)
        response.headers.update(headers)
        return response


def _allowed_methods(request: Request) -> set[str]:
    """The methods of all routes at an address."""
    routes = [route for route in request.app.routes if not isinstance(route, Mount)]  # static files answer themselves
    scopes = {method: {**request.scope, "method": method} for method in ("GET", "POST", "PATCH", "DELETE")}
    found = {name for name, scope in scopes.items() if any(each.matches(scope)[0] is Match.FULL for each in routes)}
    return (found | {"HEAD"} if "GET" in found else found) or {"GET", "HEAD"}


def _valid_utf8(text: str) -> str:
    """Text that can be encoded as UTF-8; lone surrogates are replaced."""
    return text.encode("utf-8", "replace").decode()
