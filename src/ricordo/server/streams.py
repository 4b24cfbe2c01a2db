"""Running answers, and their events as server-sent events (SSE).

Each answer is written by its own thread and read by any number of clients, each from any event. A client that
disconnects stops nothing. The events stay for ten minutes after the end, within a bound on number and size, so that a
reloaded page can resume the stream and a repeated request is answered once. Deleted data is dropped here too.
"""

import asyncio
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from concurrent.futures import Executor
from contextvars import copy_context
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from fastapi.responses import StreamingResponse

from ricordo.chat.response import NAMES, Delta, Done, Event, as_json
from ricordo.errors import ConflictError, RicordoError
from ricordo.records.turns import Owner
from ricordo.server.logging import failure_fields

log = logging.getLogger("ricordo.server")

KEEP_SECONDS = 600.0
MAX_FINISHED = 2_000
MAX_FINISHED_BYTES = 32 * 1024 * 1024
SSE_MEDIA_TYPE = "text/event-stream"
SSE_HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
KEEPALIVE_SECONDS = 15.0  # without an event, after which a comment is sent so that no proxy closes the stream
_OVERHEAD = 64  # bytes of a value in addition to its characters
_DELTA = NAMES[Delta]
_EVENT = {
    "type": "object",
    "description": "One event; its data is JSON",
    "required": ["data"],
    "properties": {"id": {"type": "string"}, "event": {"type": "string"}, "data": {"type": "string"}},
}
SSE_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {SSE_MEDIA_TYPE: {"schema": _EVENT}}, "description": "The answer, or its events"}
}

Work = Callable[[Callable[[], bool]], Generator[Event, None, None]]


class TooManyAnswers(RicordoError):  # noqa: N818 - a state of the server, not a mistake of the caller
    """The limit on running answers is reached; the same request may work in a moment."""


@dataclass(frozen=True, slots=True)
class StreamEvent:
    """One event of an answer; `number` counts from 1."""

    number: int
    name: str
    data: dict[str, Any]


KEEPALIVE = StreamEvent(0, "", {})


@dataclass(slots=True)
class AnswerStream:
    """A running or finished answer. Created on the event loop of its readers; written by any thread.

    `digest` identifies the request: another one for the same turn must have the same. Pieces of text are by far the
    most frequent events, so they are kept as strings and become events when they are read. `size` is approximate.
    """

    owner: Owner
    turn_id: str
    digest: str = ""
    session_id: str = ""
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    events: list[str | StreamEvent] = field(default_factory=list)
    size: int = 0
    finished: bool = False
    stopping: bool = False
    ended_at: float = 0.0
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    followers: int = 0

    def add(self, name: str, data: dict[str, Any]) -> None:
        """Add an event, from any thread, and wake the readers."""
        self.session_id = str(data.get("session_id") or self.session_id)
        self._append(StreamEvent(len(self.events) + 1, name, data), _size(data))

    def add_text(self, text: str) -> None:
        """Add a piece of the answer's text."""
        self._append(text, _size(text))

    def _append(self, event: str | StreamEvent, size: int) -> None:
        self.events.append(event)
        self.size += size
        if self.followers:  # readers in `last` only wait for the end
            self._wake()

    def finish(self) -> None:
        """Mark the end: no event follows."""
        self.ended_at = monotonic()
        self.finished = True
        self._wake()

    @property
    def has_text(self) -> bool:
        """Whether there is any text yet."""
        return any(isinstance(each, str) and each.strip() for each in self.events)

    @property
    def succeeded(self) -> bool:
        """Whether it ended with `done`."""
        return self.finished and bool(self.events) and self._event(len(self.events)).name == "done"

    def _event(self, number: int) -> StreamEvent:
        event = self.events[number - 1]
        return StreamEvent(number, _DELTA, {"text": event}) if isinstance(event, str) else event

    def _wake(self) -> None:
        try:
            self.loop.call_soon_threadsafe(self.changed.set)
        except RuntimeError:  # the loop is closed: there are no readers, and the answer is stored all the same
            return

    async def follow(self, after: int = 0, keepalive: float | None = None) -> AsyncIterator[StreamEvent]:
        """The events after a number, to the end; `KEEPALIVE` after every `keepalive` seconds of silence."""
        self.followers += 1
        try:
            async for event in self._follow(after, keepalive):
                yield event
        finally:
            self.followers -= 1

    async def first(self) -> StreamEvent | None:
        """The first event, once it is there; None if the answer ends without one."""
        async for event in self.follow():
            return event
        return None

    async def last(self) -> StreamEvent:
        """The last event, once the answer is finished."""
        while not self.finished:
            self.changed.clear()
            if not self.finished:
                await self.changed.wait()
        return self._event(len(self.events)) if self.events else KEEPALIVE

    async def _follow(self, after: int, keepalive: float | None) -> AsyncIterator[StreamEvent]:
        while True:
            finished = self.finished  # read before the events, so that none is missed
            while after < len(self.events):
                after += 1
                yield self._event(after)
            if finished:
                return
            # There is no await between `clear` and the check, so that no event is missed; readers that wait already
            # were woken before.
            self.changed.clear()
            if after >= len(self.events) and not self.finished:
                try:
                    await asyncio.wait_for(self.changed.wait(), keepalive)
                except TimeoutError:
                    yield KEEPALIVE


class AnswerRegistry:
    """All running answers of this process, at most `limit`, and recently finished ones. Thread-safe."""

    def __init__(self, executor: Executor, error_body: Callable[[Exception], dict[str, Any]], limit: int = 256) -> None:
        self._executor = executor
        self._error_body = error_body
        self._limit = limit
        self._running: dict[tuple[Owner, str], AnswerStream] = {}
        self._finished: OrderedDict[tuple[Owner, str], AnswerStream] = OrderedDict()  # in the order of their ends
        self.size = 0  # bytes of the finished answers
        self._lock = threading.Lock()
        self.running = 0

    def begin(self, owner: Owner, turn_id: str, work: Work, digest: str = "") -> AnswerStream:
        """Start an answer, or join the running or finished one of this turn.

        ConflictError if that one belongs to another request, TooManyAnswers if the limit is reached.
        """
        with self._lock:
            self._evict_finished()
            known = self._known(owner, turn_id)
            if known is not None and (not known.finished or known.succeeded):
                if known.digest != digest:
                    raise ConflictError(f"turn {turn_id!r} belongs to another question; give each its own id")
                return known
            if self.running >= self._limit:
                raise TooManyAnswers("too many answers are running; try again in a moment")
            answer = AnswerStream(owner, turn_id, digest)
            self._running[owner, turn_id] = answer
        self.write(answer, work)
        return answer

    def write(self, answer: AnswerStream, work: Work) -> None:
        """Have a thread write an answer, with the log context of the request."""
        with self._lock:
            self.running += 1
        try:
            self._executor.submit(copy_context().run, self._run, answer, work)
        except RuntimeError as error:  # the executor is shut down
            self._finish(answer)
            raise TooManyAnswers("the server is shutting down; try again in a moment") from error

    def find(self, owner: Owner, turn_id: str) -> AnswerStream | None:
        """The running or recently finished answer of a turn."""
        with self._lock:
            self._evict_finished()
            return self._known(owner, turn_id)

    def stop(self, owner: Owner, turn_id: str) -> bool:
        """Ask a running answer to end now; False if none is running."""
        answer = self.find(owner, turn_id)
        if answer is None or answer.finished:
            return False
        answer.stopping = True
        return True

    def abandon(self, answer: AnswerStream, error: Exception) -> None:
        """End an answer that has no text yet: its readers get the error now, and later events are dropped."""
        key = answer.owner, answer.turn_id
        with self._lock:
            if self._running.get(key) is answer and not answer.has_text:
                del self._running[key]
                answer.add("error", self._error_body(error))
                answer.finish()
                self._keep(key, answer)

    def running_in(self, owner: Owner, session_id: str) -> AnswerStream | None:
        with self._lock:
            found = [each for each in self._running.values() if each.owner == owner and each.session_id == session_id]
        return found[-1] if found else None

    def forget(self, owner: Owner, session_id: str | None = None) -> None:
        """Drop the finished answers of an owner, or of one session, and stop the running ones."""

        def matches(answer: AnswerStream) -> bool:
            return answer.owner == owner and (session_id is None or answer.session_id == session_id)

        with self._lock:
            for key in [key for key, answer in self._running.items() if matches(answer)]:
                self._running.pop(key).stopping = True
            for key in [key for key, answer in self._finished.items() if matches(answer)]:
                self._drop(key)

    def _run(self, answer: AnswerStream, work: Work) -> None:
        try:
            for event in work(lambda: answer.stopping):
                if answer.finished:  # it was abandoned
                    break
                if isinstance(event, Delta):
                    answer.add_text(event.text)
                    continue
                answer.add(NAMES[type(event)], as_json(event))
                if isinstance(event, Done):
                    break
        except Exception as error:
            if not answer.finished:
                answer.add("error", self._error_body(error))
            if not isinstance(error, RicordoError):
                about = {"operation": "chat", "tenant_id": answer.owner.tenant_id, "user_id": answer.owner.user_id}
                log.error("an answer failed", extra={**about, "turn_id": answer.turn_id, **failure_fields(error)})
        finally:
            self._finish(answer)

    def _finish(self, answer: AnswerStream) -> None:
        key = answer.owner, answer.turn_id
        with self._lock:
            self.running -= 1
            answer.finish()
            if self._running.get(key) is answer:  # it was not dropped by `forget` or `abandon`
                del self._running[key]
                self._keep(key, answer)

    def _keep(self, key: tuple[Owner, str], answer: AnswerStream) -> None:
        self._drop(key)  # an earlier attempt
        self._finished[key] = answer
        self.size += answer.size

    def _known(self, owner: Owner, turn_id: str) -> AnswerStream | None:
        return self._running.get((owner, turn_id)) or self._finished.get((owner, turn_id))

    def _drop(self, key: tuple[Owner, str]) -> None:
        dropped = self._finished.pop(key, None)
        self.size -= dropped.size if dropped else 0

    def _evict_finished(self) -> None:
        """Evict the answers that ended first while they are too old, too many or too large; the lock is held."""
        expired = monotonic() - KEEP_SECONDS
        while self._finished:
            key, oldest = next(iter(self._finished.items()))
            if oldest.ended_at > expired and len(self._finished) <= MAX_FINISHED and self.size <= MAX_FINISHED_BYTES:
                return
            self._drop(key)


def _size(value: object) -> int:
    """Approximate memory of a JSON value in bytes."""
    if isinstance(value, str):
        return _OVERHEAD + len(value)
    if isinstance(value, Mapping):
        return _OVERHEAD + sum(_OVERHEAD + _size(inner) for inner in value.values())
    return _OVERHEAD + (sum(map(_size, value)) if isinstance(value, (list, tuple)) else 0)


def sse_response(answer: AnswerStream, after: int = 0) -> StreamingResponse:
    """The events of an answer after a number, as server-sent events."""
    return StreamingResponse(sse_lines(answer, after), media_type=SSE_MEDIA_TYPE, headers=SSE_HEADERS)


async def sse_lines(answer: AnswerStream, after: int = 0) -> AsyncIterator[str]:
    """The events as text."""
    async for event in answer.follow(after, KEEPALIVE_SECONDS):
        yield sse_line(answer.turn_id, event)


def sse_line(turn_id: str, event: StreamEvent) -> str:
    """One event as text; its id has the number, with which a reader can resume."""
    if not event.name:
        return ":\n\n"
    # Clients choose turn ids: a line break would end the field, and a NUL would make readers ignore the id.
    name = "".join(character for character in turn_id if character.isprintable())
    return f"id: {name}:{event.number}\nevent: {event.name}\ndata: {json_text(event.data)}\n\n"


def json_text(data: object) -> str:
    return json.dumps(data, ensure_ascii=False, default=str)
