"""What all reads share: an ETag over what they answer, 304 where the reader has it already, and HEAD.

Plain ASGI. Only whole JSON answers are held back to be tagged; streams and files pass as they come.
"""

import hashlib

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class Tagged:
    """Gives reads an ETag, and answers 304 where the reader has it already."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "GET":
            await self._app(scope, receive, send)
            return
        start: Message | None = None
        body = b""
        known = Headers(scope=scope).get("if-none-match", "")

        async def sending(message: Message) -> None:
            nonlocal start, body
            if message["type"] == "http.response.start":
                kind = Headers(raw=message["headers"]).get("content-type", "")
                if message["status"] == 200 and kind.startswith("application/json"):
                    start = message
                    return
            elif start is not None and message["type"] == "http.response.body":
                body += message.get("body", b"")
                if message.get("more_body"):
                    return
                tag = f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"'
                headers = MutableHeaders(scope=start)
                headers["ETag"] = tag
                if known.strip() == "*" or tag in {each.strip().removeprefix("W/") for each in known.split(",")}:
                    start["status"] = 304
                    body = b""
                    del headers["content-length"]
                    del headers["content-type"]
                await send(start)
                message = {"type": "http.response.body", "body": body}
            await send(message)

        await self._app(scope, receive, sending)


class Headed:
    """Answers HEAD as GET, without the body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self._app(scope, receive, send)
            return
        ended = False

        async def sending(message: Message) -> None:
            nonlocal ended
            if message["type"] == "http.response.start":
                await send(message)
            elif not ended:
                ended = True
                await send({"type": "http.response.body", "body": b""})

        await self._app({**scope, "method": "GET"}, receive, sending)
