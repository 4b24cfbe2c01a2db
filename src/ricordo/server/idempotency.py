"""Idempotency keys: a POST that is sent again with the same `Idempotency-Key` gets the first response again.

Successful responses are kept in this process for a day, in a bounded cache by credential, scopes, user and key. A
second request that arrives while the first runs waits for it. The same key with another body is refused. Streams are
not cached: the key determines the turn id (`turn_id_for`), and the stream of a turn can be read again. Responses with a
secret (`Cache-Control: no-store`) are not cached either: they are shown once.
"""

import asyncio
import hashlib
import threading
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING
from uuid import UUID, uuid5

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ricordo.engine.core import LRU
from ricordo.errors import RicordoError
from ricordo.server.credentials import bearer_token
from ricordo.server.problems import problem_response

if TYPE_CHECKING:
    from ricordo.records.turns import Owner
    from ricordo.server.service import Service

KEEP_SECONDS = 24 * 3_600.0
MAX_RESPONSES = 10_000
MAX_BYTES = 64 * 1024 * 1024
MAX_RESPONSE_BYTES = 256 * 1024
MAX_KEY_LENGTH = 255
_TURNS = UUID("0a4d7a5e-52a1-5d0c-8a0b-1f6f0f1c9b55")


def turn_id_for(owner: "Owner", key: str) -> str:
    """The turn id that a key determines, the same in every process."""
    return str(uuid5(_TURNS, f"{owner.key}/{key}"))


def id_for(owner: "Owner", what: str, key: str) -> str:
    """The id of what a request with this key creates, the same in every process."""
    return turn_id_for(owner, f"{what}/{key}")


@dataclass
class StoredResponse:
    """The digest of a request and its response; `messages` stay empty if the response is not cached.

    A response that was `secret` cannot be given again.
    """

    digest: str
    started_at: float
    owner: "Owner | None" = None
    messages: list[Message] = field(default_factory=list)
    secret: bool = False
    done: asyncio.Event = field(default_factory=asyncio.Event)


class IdempotencyMiddleware:
    """Answers a repeated POST with the cached response. For one event loop."""

    def __init__(self, app: ASGIApp, service: "Service") -> None:
        self._app = app
        self._service = service
        self._responses: LRU[tuple[str, ...], StoredResponse] = LRU(MAX_RESPONSES, MAX_BYTES)
        self._lock = threading.Lock()
        service.on_forget(self._forget)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        key = headers.get("idempotency-key", "")
        if scope["type"] != "http" or scope["method"] != "POST" or not key:
            await self._app(scope, receive, send)
            return
        if len(key) > MAX_KEY_LENGTH:
            await _unprocessable(scope, f"at most {MAX_KEY_LENGTH} characters")(scope, receive, send)
            return
        identity = await self._identity(scope, headers)
        if identity is None:  # the routes answer with 401
            await self._app(scope, receive, send)
            return
        body = await _read_body(receive)
        digest = _digest(scope, body)
        name = (*identity, key)
        while (kept := self._find(name)) is not None:
            await kept.done.wait()
            if kept.digest != digest:
                response = _unprocessable(scope, "was used for another request; give each request its own")
                await response(scope, receive, send)
                return
            if kept.secret:
                detail = "this was done already; its response contained a secret and is shown only once"
                await problem_response(409, detail, Request(scope))(scope, receive, send)
                return
            if kept.messages:
                for message in kept.messages:
                    await send(_copy(message))
                return
            if self._find(name) is kept:  # not cached (a stream, or too large): the routes answer it again, by its id
                await self._app(scope, _replay(body, receive), send)
                return
        await self._respond(name, StoredResponse(digest, monotonic()), scope, body, receive, send)

    async def _identity(self, scope: Scope, headers: Headers) -> tuple[str, ...] | None:
        """Credential and user, as far as known before the body is read; None for an invalid credential."""
        try:
            caller = await run_in_threadpool(self._service.caller, bearer_token(headers.get("authorization")))
        except RicordoError:
            return None
        named = QueryParams(scope["query_string"]).get("user_id") or headers.get("x-ricordo-user", "")
        return (*caller.identity, named)

    def _find(self, name: tuple[str, ...]) -> StoredResponse | None:
        with self._lock:
            kept = self._responses.peek(name)
            if kept is not None and monotonic() - kept.started_at > KEEP_SECONDS:
                self._responses.pop(name)
                return None
            return kept

    async def _respond(
        self, name: tuple[str, ...], kept: StoredResponse, scope: Scope, body: bytes, receive: Receive, send: Send
    ) -> None:
        """Pass the request on, and cache its response."""
        with self._lock:
            self._responses.put(name, kept)
        messages: list[Message] = []
        status, size = 500, 0

        async def send_copied(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            size += len(message.get("body", b""))
            if size <= MAX_RESPONSE_BYTES:
                messages.append(_copy(message))
            await send(message)

        try:
            await self._app(scope, _replay(body, receive), send_copied)
        finally:
            with self._lock:
                self._store(name, kept, scope, messages, status, size)
            kept.done.set()

    def _store(
        self, name: tuple[str, ...], kept: StoredResponse, scope: Scope, messages: list[Message], status: int, size: int
    ) -> None:
        if status >= 400:  # nothing was changed, and the same request may succeed later
            self._responses.pop(name)
            return
        kept.owner = scope["state"].get("owner")
        headers = Headers(raw=messages[0]["headers"]) if messages else Headers()
        kept.secret = headers.get("cache-control") == "no-store"
        is_stream = headers.get("content-type", "").startswith("text/event-stream")
        if size <= MAX_RESPONSE_BYTES and not is_stream and not kept.secret:
            kept.messages = messages
            if self._responses.peek(name) is kept:  # it was not forgotten meanwhile
                self._responses.put(name, kept, size)

    def _forget(self, owner: "Owner") -> None:
        """Drop the responses of an owner whose data is deleted."""
        with self._lock:
            theirs = {name for name in self._responses if (kept := self._responses.peek(name)) and kept.owner == owner}
            self._responses.remove_where(theirs.__contains__)


def _unprocessable(scope: Scope, reason: str) -> Response:
    return problem_response(422, f"Idempotency-Key: {reason}", Request(scope), field="Idempotency-Key")


def _copy(message: Message) -> Message:
    """A copy, because other middleware changes the headers in place."""
    return {**message, "headers": list(message["headers"])} if "headers" in message else {**message}


def _digest(scope: Scope, body: bytes) -> str:
    parts = (scope["path"].encode(errors="replace"), scope["query_string"], body)
    return hashlib.sha256(b"\x00".join(parts)).hexdigest()


async def _read_body(receive: Receive) -> bytes:
    """The whole body; ClientDisconnect if it ends early, because half of it would be another request."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _replay(body: bytes, receive: Receive) -> Receive:
    """Give the body to the routes again, followed by the messages that still arrive."""
    replayed = False

    async def receive_again() -> Message:
        nonlocal replayed
        if replayed:
            return await receive()
        replayed = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receive_again
