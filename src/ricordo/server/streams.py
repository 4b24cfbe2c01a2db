"""Answers under way: each is written by a thread of its own and read by whoever follows, from wherever they left off.

A reader that goes away stops nothing: the answer is finished and kept. Events stay at hand for ten minutes after the
end, within a bound on their number and size, so that a page that was reloaded takes up the stream where it was, and a
request that is sent twice is answered once. What is forgotten by its owner is let go of here too.
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

from ricordo.chat.events import NAMES, Delta, Done, Event, as_json
from ricordo.errors import ConflictError, RicordoError
from ricordo.records.turns import Owner
from ricordo.server.logging import failure_of

log = logging.getLogger("ricordo.server")

KEPT_SECONDS = 600.0
MOST_KEPT = 2_000  # finished answers,
MOST_BYTES = 32 * 1024 * 1024  # and about so much memory for all of them
_EACH = 64  # bytes that a value takes beside its characters
_DELTA = NAMES[Delta]

Work = Callable[[Callable[[], bool]], Generator[Event, None, None]]


class Crowded(RicordoError):  # noqa: N818 - a state, not a fault of the caller
    """As many answers as allowed are under way; the same request may work in a moment."""


@dataclass(frozen=True, slots=True)
class Sent:
    """One event as it goes out; `number` counts from 1 within its answer."""

    number: int
    name: str
    data: dict[str, Any]


NOTHING = Sent(0, "", {})


@dataclass(slots=True)
class AnswerStream:
    """An answer under way or just given. Made on the loop that its readers run on; written by any thread.

    `asked` tells whether another request for the same turn asks the same. There are many more pieces of text than other
    events, so they are kept as they are and become events when they are read. `size` is about what all of it takes.
    """

    owner: Owner
    turn_id: str
    asked: str = ""
    session_id: str = ""
    loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.get_running_loop)
    said: list[str | Sent] = field(default_factory=list)
    size: int = 0
    finished: bool = False
    stopping: bool = False
    ended_at: float = 0.0
    news: asyncio.Event = field(default_factory=asyncio.Event)
    followers: int = 0

    def add(self, name: str, data: dict[str, Any]) -> None:
        """Add an event, from any thread, and wake those who follow."""
        self.session_id = str(data.get("session_id") or self.session_id)
        self._keep(Sent(len(self.said) + 1, name, data), _size(data))

    def say(self, text: str) -> None:
        """Add a piece of the answer's text."""
        self._keep(text, _size(text))

    def _keep(self, event: str | Sent, size: int) -> None:
        self.said.append(event)
        self.size += size
        if self.followers:  # whoever waits for the end alone is not woken for every word
            self._wake()

    def finish(self) -> None:
        """Nothing more will come."""
        self.ended_at = monotonic()
        self.finished = True
        self._wake()

    @property
    def was_given(self) -> bool:
        """Whether it came to its proper end."""
        return self.finished and bool(self.said) and self._sent(len(self.said)).name == "done"

    def _sent(self, number: int) -> Sent:
        event = self.said[number - 1]
        return Sent(number, _DELTA, {"text": event}) if isinstance(event, str) else event

    def _wake(self) -> None:
        try:
            self.loop.call_soon_threadsafe(self.news.set)
        except RuntimeError:  # the loop is closed: nobody follows any more, the answer is kept all the same
            return

    async def follow(self, after: int = 0, pulse: float | None = None) -> AsyncIterator[Sent]:
        """Events after a number, until the last; `NOTHING` after every `pulse` seconds of silence.

        Any number may follow at once.
        """
        self.followers += 1
        try:
            async for sent in self._following(after, pulse):
                yield sent
        finally:
            self.followers -= 1

    async def last(self) -> Sent:
        """The event that it ends with."""
        while not self.finished:
            self.news.clear()
            if not self.finished:
                await self.news.wait()
        return self._sent(len(self.said)) if self.said else NOTHING

    async def _following(self, after: int, pulse: float | None) -> AsyncIterator[Sent]:
        while True:
            ended = self.finished  # read before the events: whatever came before the end is among them
            while after < len(self.said):
                after += 1
                yield self._sent(after)
            if ended:
                return
            # Nothing is awaited between forgetting old news and looking for new ones, so that none is missed; those
            # who wait already were woken by the news that is forgotten here.
            self.news.clear()
            if after >= len(self.said) and not self.finished:
                try:
                    await asyncio.wait_for(self.news.wait(), pulse)
                except TimeoutError:
                    yield NOTHING


class Answers:
    """Every answer under way in this process, `most` at a time. Thread-safe."""

    def __init__(self, executor: Executor, failed: Callable[[Exception], dict[str, Any]], most: int = 256) -> None:
        self._executor = executor
        self._failed = failed
        self._most = most
        self._under_way: dict[tuple[Owner, str], AnswerStream] = {}
        self._given: OrderedDict[tuple[Owner, str], AnswerStream] = OrderedDict()  # in the order in which they ended
        self.size = 0  # of those that are given, in bytes
        self._lock = threading.Lock()
        self.running = 0  # how many are under way

    def begin(self, owner: Owner, turn_id: str, work: Work, asked: str = "") -> AnswerStream:
        """Begin an answer, or join the one that is under way or was just given for this turn.

        ConflictError if that one was asked something else, Crowded if too many are under way.
        """
        with self._lock:
            self._tidy()
            known = self._known(owner, turn_id)
            if known is not None and (not known.finished or known.was_given):
                if known.asked != asked:
                    raise ConflictError(f"turn {turn_id!r} was asked something else; give each question its own id")
                return known
            if self.running >= self._most:
                raise Crowded("as many answers as allowed are under way; try again in a moment")
            answer = AnswerStream(owner, turn_id, asked)
            self._under_way[owner, turn_id] = answer
        self.write(answer, work)
        return answer

    def write(self, answer: AnswerStream, work: Work) -> None:
        """Have a thread write an answer, its log lines marked as the request's."""
        with self._lock:
            self.running += 1
        try:
            self._executor.submit(copy_context().run, self._run, answer, work)
        except RuntimeError as error:  # the server is closing
            self._finish(answer)
            raise Crowded("the server is about to stop; try again in a moment") from error

    def find(self, owner: Owner, turn_id: str) -> AnswerStream | None:
        """The answer to a turn, if it is under way or was given in the last minutes."""
        with self._lock:
            self._tidy()
            return self._known(owner, turn_id)

    def stop(self, owner: Owner, turn_id: str) -> bool:
        """Ask an answer to end where it is; whether one was under way."""
        answer = self.find(owner, turn_id)
        if answer is None or answer.finished:
            return False
        answer.stopping = True
        return True

    def under_way(self, owner: Owner, session_id: str) -> AnswerStream | None:
        """The latest answer in a session that is not finished yet."""
        with self._lock:
            found = [each for each in self._under_way.values() if each.owner == owner and each.session_id == session_id]
        return found[-1] if found else None

    def forget(self, owner: Owner, session_id: str | None = None) -> None:
        """Let go of the finished answers of an owner, or of one of their sessions, and end those under way."""

        def is_meant(answer: AnswerStream) -> bool:
            return answer.owner == owner and (session_id is None or answer.session_id == session_id)

        with self._lock:
            for key in [key for key, answer in self._under_way.items() if is_meant(answer)]:
                self._under_way.pop(key).stopping = True
            for key in [key for key, answer in self._given.items() if is_meant(answer)]:
                self._let_go(key)

    def _run(self, answer: AnswerStream, work: Work) -> None:
        try:
            for event in work(lambda: answer.stopping):
                if isinstance(event, Delta):
                    answer.say(event.text)
                    continue
                answer.add(NAMES[type(event)], as_json(event))
                if isinstance(event, Done):
                    break
        except Exception as error:
            answer.add("error", self._failed(error))
            if not isinstance(error, RicordoError):
                about = {"operation": "chat", "tenant_id": answer.owner.tenant_id, "user_id": answer.owner.user_id}
                log.error("an answer failed", extra={**about, "turn_id": answer.turn_id, **failure_of(error)})
        finally:
            self._finish(answer)

    def _finish(self, answer: AnswerStream) -> None:
        key = answer.owner, answer.turn_id
        with self._lock:
            self.running -= 1
            answer.finish()
            if self._under_way.get(key) is answer:  # nobody had it forgotten
                del self._under_way[key]
                self._let_go(key)  # an earlier try
                self._given[key] = answer
                self.size += answer.size

    def _known(self, owner: Owner, turn_id: str) -> AnswerStream | None:
        return self._under_way.get((owner, turn_id)) or self._given.get((owner, turn_id))

    def _let_go(self, key: tuple[Owner, str]) -> None:
        gone = self._given.pop(key, None)
        self.size -= gone.size if gone else 0

    def _tidy(self) -> None:
        """Let go of the answers that ended first, once that is long ago or there are too many; the lock is held."""
        before = monotonic() - KEPT_SECONDS
        while self._given:
            key, oldest = next(iter(self._given.items()))
            if oldest.ended_at > before and len(self._given) <= MOST_KEPT and self.size <= MOST_BYTES:
                return
            self._let_go(key)


def _size(value: object) -> int:
    """About how many bytes a value of plain JSON takes."""
    if isinstance(value, str):
        return _EACH + len(value)
    if isinstance(value, Mapping):
        return _EACH + sum(_EACH + _size(inner) for inner in value.values())
    return _EACH + (sum(map(_size, value)) if isinstance(value, (list, tuple)) else 0)


# Server-sent events as text: one line format for every stream, numbered so that a reader can take it up again.

STREAM = "text/event-stream"
HEADERS = {"Cache-Control": "no-cache", "X-Accel-Buffering": "no"}
PULSE = 15.0  # seconds of silence after which a comment is sent, so that nobody between takes the stream for dead
_EVENT = {
    "type": "object",
    "description": "One event; its data is JSON",
    "required": ["data"],
    "properties": {"id": {"type": "string"}, "event": {"type": "string"}, "data": {"type": "string"}},
}
SHOWN: dict[int | str, dict[str, Any]] = {
    200: {"content": {STREAM: {"schema": _EVENT}}, "description": "The answer, or its events"}
}


def streamed(answer: AnswerStream, after: int = 0) -> StreamingResponse:
    """The events of an answer after a number, as they come."""
    return StreamingResponse(lines(answer, after), media_type=STREAM, headers=HEADERS)


async def lines(answer: AnswerStream, after: int = 0) -> AsyncIterator[str]:
    """The events as text."""
    async for sent in answer.follow(after, PULSE):
        yield line(answer.turn_id, sent)


def line(turn_id: str, sent: Sent) -> str:
    """One event."""
    if not sent.name:
        return ":\n\n"
    # An id ends with its line, and a NUL in it would make readers ignore it; clients choose turn ids.
    name = "".join(character for character in turn_id if character.isprintable())
    return f"id: {name}:{sent.number}\nevent: {sent.name}\ndata: {dumped(sent.data)}\n\n"


def dumped(data: object) -> str:
    """JSON on one line."""
    return json.dumps(data, ensure_ascii=False, default=str)
