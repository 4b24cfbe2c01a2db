"""Requests that are sent twice: with an `Idempotency-Key` the first answer is given again, and nothing is done twice.

Answers are kept in this process for a day, a bounded number of them, by credential, user and key. A second request that
comes while the first is under way waits for it. The same key with another body is refused. Streams are not kept here:
the turn that a key stands for is (`turn_id_of`), and its stream can be read again.
"""

import asyncio
import hashlib
import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from time import monotonic
from uuid import UUID, uuid5

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, QueryParams
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ricordo.errors import RicordoError
from ricordo.records.turns import Owner
from ricordo.server.dependencies import credential_of
from ricordo.server.problems import problem
from ricordo.server.service import Service

KEPT_SECONDS = 24 * 3_600.0
MOST = 10_000
MOST_BYTES = 64 * 1024 * 1024
LARGEST = 256 * 1024
LONGEST_KEY = 255
_TURNS = UUID("0a4d7a5e-52a1-5d0c-8a0b-1f6f0f1c9b55")


def turn_id_of(owner: Owner, key: str) -> str:
    """The turn that a key stands for: the same again, in every process."""
    return str(uuid5(_TURNS, f"{owner.key}/{key}"))


def id_of(owner: Owner, what: str, key: str) -> str:
    """The id of what a key makes: sent to another process, the request finds it there already."""
    return turn_id_of(owner, f"{what}/{key}")


@dataclass
class StoredResponse:
    """A request by its digest, and what it was answered; `messages` stay empty for an answer that is not kept."""

    digest: str
    begun: float
    owner: Owner | None = None
    messages: list[Message] = field(default_factory=list)
    size: int = 0
    done: asyncio.Event = field(default_factory=asyncio.Event)


class Repeats:
    """Answers a POST that was answered before as it was then. Lives on the server's loop."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._service = service
        self._kept: OrderedDict[tuple[str, ...], StoredResponse] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        service.on_forget(self._forget)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope) if scope["type"] == "http" else Headers()
        key = headers.get("idempotency-key", "")
        if scope["type"] != "http" or scope["method"] != "POST" or not key:
            await self._app(scope, receive, send)
            return
        if len(key) > LONGEST_KEY:
            await _refused(scope, f"at most {LONGEST_KEY} characters")(scope, receive, send)
            return
        who = await self._who(scope, headers)
        if who is None:  # the routes say why
            await self._app(scope, receive, send)
            return
        body = await _whole(receive)
        digest = _digest(scope, body)
        name = (*who, key)
        while (kept := self._known(name)) is not None:
            await kept.done.wait()
            if kept.digest != digest:
                refused = _refused(scope, "was used for another request; give each request its own")
                await refused(scope, receive, send)
                return
            if kept.messages:
                for message in kept.messages:
                    await send(_copy(message))
                return
            if self._known(name) is kept:  # a stream, or too large to be kept: asked again, which changes nothing
                await self._app(scope, _again(body, receive), send)
                return
        await self._first(name, StoredResponse(digest, monotonic()), scope, body, receive, send)

    async def _who(self, scope: Scope, headers: Headers) -> tuple[str, ...] | None:
        """Tenant and user, as far as they are known before the body is read; None for a credential that is not good."""
        try:
            caller = await run_in_threadpool(self._service.caller, credential_of(headers.get("authorization")))
        except RicordoError:
            return None
        named = QueryParams(scope["query_string"]).get("user_id") or headers.get("x-ricordo-user", "")
        return (caller.tenant_id, caller.user_id or named)

    def _known(self, name: tuple[str, ...]) -> StoredResponse | None:
        with self._lock:
            kept = self._kept.get(name)
            if kept is not None and monotonic() - kept.begun > KEPT_SECONDS:
                self._drop(name)
                return None
            return kept

    def _drop(self, name: tuple[str, ...]) -> None:
        gone = self._kept.pop(name, None)
        self._bytes -= gone.size if gone else 0

    async def _first(
        self, name: tuple[str, ...], kept: StoredResponse, scope: Scope, body: bytes, receive: Receive, send: Send
    ) -> None:
        """Do what is asked, and keep the answer if it is one to keep."""
        with self._lock:
            self._kept[name] = kept
        told: list[Message] = []
        status, size = 500, 0

        async def sending(message: Message) -> None:
            nonlocal status, size
            if message["type"] == "http.response.start":
                status = message["status"]
            size += len(message.get("body", b""))
            if size <= LARGEST:
                told.append(_copy(message))
            await send(message)

        try:
            await self._app(scope, _again(body, receive), sending)
        finally:
            with self._lock:
                self._keep(name, kept, scope, told, status, size)
            kept.done.set()

    def _keep(
        self, name: tuple[str, ...], kept: StoredResponse, scope: Scope, told: list[Message], status: int, size: int
    ) -> None:
        if status >= 500 or status == 429:  # the same request may work later
            self._drop(name)
            return
        kept.owner = scope["state"].get("owner")
        headers = Headers(raw=told[0]["headers"]) if told else Headers()
        if size <= LARGEST and not headers.get("content-type", "").startswith("text/event-stream"):
            kept.messages, kept.size = told, size
            self._bytes += size
        while self._kept and (len(self._kept) > MOST or self._bytes > MOST_BYTES):
            self._drop(next(iter(self._kept)))

    def _forget(self, owner: Owner) -> None:
        """What is forgotten is not said again."""
        with self._lock:
            for name in [name for name, kept in self._kept.items() if kept.owner == owner]:
                self._drop(name)


def _refused(scope: Scope, why: str) -> Response:
    detail = f"Idempotency-Key: {why}"
    return problem(422, "The input was refused", detail, Request(scope), field="Idempotency-Key")


def _copy(message: Message) -> Message:
    """A message that others may change."""
    return {**message, "headers": list(message["headers"])} if "headers" in message else {**message}


def _digest(scope: Scope, body: bytes) -> str:
    parts = (scope["path"].encode(errors="replace"), scope["query_string"], body)
    return hashlib.sha256(b"\x00".join(parts)).hexdigest()


async def _whole(receive: Receive) -> bytes:
    """The body; ClientDisconnect where its sender went away before the end, for half of it is another request."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(parts)


def _again(body: bytes, receive: Receive) -> Receive:
    """The body once more for the routes, and after it whatever else comes."""
    given = False

    async def receiving() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return receiving
