"""Asking an endpoint until it answers: bodies go in, answers come out, or one error that says what to do.

A server that is busy, failing or not reached is asked again after the wait that `retry` decides; one that reads the
request and falls silent is not, because asking again would multiply the longest wait there is. Errors name status
and error code, never the key and never the words that a server echoes.
"""

import http.client
import json
import logging
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, TypeVar

from ricordo.errors import LLMError
from ricordo.llms.endpoint import Endpoint
from ricordo.llms.retry import RETRIED, asked_for, wait
from ricordo.llms.wire import NoConnectionError, Reply, TooMuchError, post

log = logging.getLogger("ricordo.llms")

T = TypeVar("T")

LOST = (OSError, http.client.HTTPException)
_CODE = re.compile(r"[A-Za-z_]{1,60}")
_REMEDIES = {
    401: "check the key (RICORDO_LLM_KEY)",
    403: "check the key (RICORDO_LLM_KEY) and what it allows",
    404: "check the address, which ends before /chat/completions, and the name of the model",
    413: "ask with fewer messages",
    429: "wait, or raise the limit of the key",
}


class Refusal(LLMError):  # noqa: N818 - an answer, not a fault
    """The server understood the connection and refused the request; `complaint` is only for choosing a dialect."""

    def __init__(self, message: str, status: int, complaint: str) -> None:
        super().__init__(message)
        self.status = status
        self.complaint = complaint


class Asking:
    """Requests to one endpoint."""

    def __init__(self, endpoint: Endpoint, sleep: Callable[[float], None], chance: Callable[[], float]) -> None:
        self._endpoint = endpoint
        self._sleep = sleep
        self._chance = chance

    def whole(self, body: dict[str, Any]) -> bytes:
        """The whole answer to a request; one that breaks off is asked for again, since nobody has seen it."""
        return self._until_answered(body, "application/json", self._read)

    def begun(self, body: dict[str, Any]) -> Reply:
        """The reply to a request whose answer begins to come; to be closed by the caller."""
        return self._until_answered(body, "text/event-stream", lambda reply: reply)

    def rest(self, reply: Reply) -> bytes:
        """What is left of a reply that is not asked for again."""
        try:
            return reply.body(time.monotonic() + self._endpoint.patience.whole)
        except LOST as cause:
            raise LLMError(f"{self._endpoint.where} broke off in the middle of its answer: ask again") from cause

    def refuse_failure(self, answer: object) -> None:
        """Some servers tell of a failure where an answer should be."""
        if isinstance(answer, dict) and answer.get("error"):
            raise LLMError(f"{self._endpoint.where} failed while answering{self._code(answer)}: ask again")

    def _read(self, reply: Reply) -> bytes:
        with reply:
            return reply.body(time.monotonic() + self._endpoint.patience.whole)

    def _until_answered(self, body: dict[str, Any], accept: str, read: Callable[[Reply], T]) -> T:
        sent = {"model": self._endpoint.model, **self._endpoint.extra, **body}
        data = json.dumps(sent).encode("utf-8", "replace")
        attempt = 0
        while True:
            attempt += 1
            asked = None
            try:
                reply = post(self._endpoint, data, accept=accept)
                if reply.status == 200:
                    return read(reply)
                failure: LLMError = self._refusal(reply)
                asked = asked_for(reply.headers, datetime.now(UTC))
                cause: Exception | None = None
                again = reply.status in RETRIED
            except LOST as lost:
                failure, cause = self._lost(lost), lost
                again = isinstance(lost, NoConnectionError) or not isinstance(lost, TimeoutError | TooMuchError)
            pause = wait(attempt, self._endpoint.patience, chance=self._chance(), asked=asked) if again else None
            if pause is None:
                raise failure from cause
            log.info("%s; asking again in %.1f s", failure, pause)
            self._sleep(pause)

    def _refusal(self, reply: Reply) -> Refusal:
        with reply:
            try:
                raw = reply.body(time.monotonic() + self._endpoint.patience.read)[:65_536]
            except LOST:
                raw = b""
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError):
            answer = None
        remedy = _REMEDIES.get(reply.status, "try again later" if reply.status >= 500 else "check the request")
        message = f"{self._endpoint.where} answered {reply.status}{self._code(answer)}: {remedy}"
        return Refusal(message, reply.status, raw.decode("utf-8", "replace"))

    def _lost(self, cause: Exception) -> LLMError:
        where = self._endpoint.where
        if isinstance(cause, NoConnectionError):
            return LLMError(f"{where} cannot be reached ({cause}): check the address and the network")
        if isinstance(cause, TimeoutError):
            silence = self._endpoint.patience.read
            return LLMError(f"{where} was silent for {silence:g} s: give it more time or less text")
        if isinstance(cause, TooMuchError):
            return LLMError(f"{where} sends without end ({cause}): check that it is a chat endpoint")
        return LLMError(f"{where} broke off ({type(cause).__name__}): try again later")

    def _code(self, answer: object) -> str:
        """The error's code or type, if it is a name: texts echo what was said, and digits may be of a key."""
        error = answer.get("error") if isinstance(answer, dict) else None
        told = [error.get(key) for key in ("code", "type")] if isinstance(error, dict) else []
        named = [
            code for code in told if isinstance(code, str) and _CODE.fullmatch(code) and code != self._endpoint.key
        ]
        return f" ({named[0]})" if named else ""
