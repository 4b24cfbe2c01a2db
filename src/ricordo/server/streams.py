"""Answers under way: each is written by a thread of its own and read by whoever follows, from wherever they left off.

A reader that goes away stops nothing: the answer is finished and kept. Events stay at hand for ten minutes after the
end, so that a page that was reloaded takes up the stream where it was.
"""

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Generator
from concurrent.futures import Executor
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from ricordo.chat.events import NAMES, Done, Event, as_json
from ricordo.records import Owner

KEPT_SECONDS = 600.0
MOST_KEPT = 2_000

Work = Callable[[Callable[[], bool]], Generator[Event, None, None]]


@dataclass(frozen=True, slots=True)
class Sent:
    """One event as it goes out; `number` counts from 1 within its answer."""

    number: int
    name: str
    data: dict[str, Any]


@dataclass
class Answer:
    """An answer under way or just given."""

    owner: Owner
    turn_id: str
    loop: asyncio.AbstractEventLoop
    events: list[Sent] = field(default_factory=list)
    finished: bool = False
    stopping: bool = False
    ended_at: float = 0.0
    news: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, name: str, data: dict[str, Any]) -> None:
        """Add an event, from any thread, and wake those who follow."""
        self.events.append(Sent(len(self.events) + 1, name, data))
        self._wake()

    def finish(self) -> None:
        """Nothing more will come."""
        self.ended_at = monotonic()
        self.finished = True
        self._wake()

    def _wake(self) -> None:
        try:
            self.loop.call_soon_threadsafe(self.news.set)
        except RuntimeError:  # the loop is closed: nobody follows any more, the answer is kept all the same
            return

    async def follow(self, after: int = 0) -> AsyncIterator[Sent]:
        """Events after a number, until the last."""
        while True:
            self.news.clear()
            ended = self.finished
            while after < len(self.events):
                after += 1
                yield self.events[after - 1]
            if ended:
                return
            if not self.news.is_set():
                await self.news.wait()


class Answers:
    """Every answer under way in this process. Thread-safe."""

    def __init__(self, executor: Executor, failed: Callable[[Exception], dict[str, Any]]) -> None:
        self._executor = executor
        self._failed = failed
        self._answers: OrderedDict[tuple[Owner, str], Answer] = OrderedDict()
        self._lock = threading.Lock()

    @property
    def running(self) -> int:
        """How many are under way."""
        with self._lock:
            return sum(not answer.finished for answer in self._answers.values())

    def begin(self, owner: Owner, turn_id: str, work: Work) -> Answer:
        """Begin an answer, or join the one that is under way for this turn."""
        with self._lock:
            self._tidy()
            known = self._answers.get((owner, turn_id))
            if known is not None and not known.finished:
                return known
            answer = Answer(owner, turn_id, asyncio.get_running_loop())
            self._answers[owner, turn_id] = answer
        self._executor.submit(self._run, answer, work)
        return answer

    def find(self, owner: Owner, turn_id: str) -> Answer | None:
        """The answer to a turn, if it is under way or was given in the last minutes."""
        with self._lock:
            self._tidy()
            return self._answers.get((owner, turn_id))

    def stop(self, owner: Owner, turn_id: str) -> bool:
        """Ask an answer to end where it is; whether one was under way."""
        answer = self.find(owner, turn_id)
        if answer is None or answer.finished:
            return False
        answer.stopping = True
        return True

    def _run(self, answer: Answer, work: Work) -> None:
        try:
            for event in work(lambda: answer.stopping):
                answer.add(NAMES[type(event)], as_json(event))
                if isinstance(event, Done):
                    break
        except Exception as error:
            answer.add("error", self._failed(error))
        finally:
            answer.finish()

    def _tidy(self) -> None:
        """Let go of answers that ended long ago; the caller holds the lock."""
        before = monotonic() - KEPT_SECONDS
        for key, answer in list(self._answers.items()):
            if not answer.finished or (answer.ended_at > before and len(self._answers) <= MOST_KEPT):
                continue
            del self._answers[key]
