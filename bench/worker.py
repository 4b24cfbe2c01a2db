"""One system in a process of its own: orders come in as lines of JSON, figures go out as lines of JSON.

Every system is driven by this same loop in its own virtual environment, so it needs nothing but the standard library.
Texts are made before the clock starts. Usage: python -m bench.worker SYSTEM FOLDER
"""

import asyncio
import importlib
import json
import os
import sys
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any

from bench import sample_turns
from bench.systems import ALL

CAP = 0.5  # seconds: a batch of a slow system ends early, after at least one call


class Worker:
    """The orders that a worker understands; each gives back a mapping."""

    def __init__(self, name: str, folder: Path) -> None:
        self._asynchronous = ALL[name].asynchronous
        begun = time.perf_counter()
        module = importlib.import_module(f"bench.systems.{name}")
        imported = time.perf_counter()
        self._system: Any = module.System(folder)
        self._last: Any = None
        self._opened = {"import_s": imported - begun, "open_s": time.perf_counter() - imported}

    async def about(self) -> dict[str, Any]:
        """How long importing and opening took, and the memory held now."""
        status = Path("/proc/self/status").read_text() if Path("/proc/self/status").exists() else ""
        kilobytes = next((line.split()[1] for line in status.splitlines() if line.startswith("VmRSS")), "0")
        return {**self._opened, "rss_mb": int(kilobytes) / 1024}

    async def append(self, session: str, start: int, count: int) -> dict[str, Any]:
        """Append turns one by one; session `new` stands for a fresh session for every turn."""
        names = [f"new-{start + n}" if session == "new" else session for n in range(count)]
        calls = [(name, *sample_turns.turn(name, start + n)) for n, name in enumerate(names)]
        return await self._timed(self._system.append, calls)

    async def append_explained(self, session: str, start: int, count: int) -> dict[str, Any]:
        """Append turns with the receipts of their contexts."""
        calls = [(session, *sample_turns.turn(session, n), sample_turns.chunks(n)) for n in range(start, start + count)]
        return await self._timed(self._system.append_explained, calls)

    async def window(self, session: str, count: int) -> dict[str, Any]:
        """Build the window again and again."""
        timed = await self._timed(self._system.window, [(session,)] * count)
        return {**timed, "window": self._last}

    async def context(self, session: str, start: int, count: int) -> dict[str, Any]:
        """Build whole contexts, each for another question with eight other chunks."""
        calls = [(session, sample_turns.turn("ask", n)[0], sample_turns.chunks(n)) for n in range(start, start + count)]
        return await self._timed(self._system.context, calls)

    async def load(self, session: str, count: int) -> dict[str, Any]:
        """Bring a session of `count` turns in."""
        await self._settled(self._system.load(session, sample_turns.turns(session, count)))
        return {}

    async def settle(self, session: str) -> dict[str, Any]:
        """Finish what is done beside the chat of a session."""
        await self._settled(self._system.settle(session))
        return {}

    async def writers(self, sessions: list[str], start: int, count: int) -> dict[str, Any]:
        """One writer per named session, all at once; a session may be named more than once."""
        work = [
            [(session, *sample_turns.turn(session, start + writer * count + n)) for n in range(count)]
            for writer, session in enumerate(sessions)
        ]
        errors: Counter[str] = Counter()
        kept: list[str] = []
        begun = time.monotonic()
        if self._asynchronous:
            await asyncio.gather(*(self._write_task(calls, kept, errors) for calls in work))
        else:
            threads = [threading.Thread(target=self._write, args=(calls, kept, errors)) for calls in work]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        return {"begun": begun, "ended": time.monotonic(), "kept": kept, "errors": dict(errors)}

    async def paced(self, session: str, until: str, pause: float) -> dict[str, Any]:
        """Append a turn every `pause` seconds until the file `until` exists."""
        return {"seconds": write_paced(self._system.append, session, pause, Path(until).exists)}

    async def marks(self, session: str) -> dict[str, Any]:
        """Where every stored message belongs, in order; turn numbers too where the system has them."""
        said = await self._settled(self._system.history(session))
        numbers = self._system.numbers(session) if hasattr(self._system, "numbers") else None
        return {"marks": [sample_turns.mark(content) for _, content in said], "numbers": numbers}

    async def close(self) -> dict[str, Any]:
        """Close the system; the worker ends."""
        await self._settled(self._system.close())
        return {}

    async def _timed(self, call: Callable[..., Any], calls: Iterable[tuple[Any, ...]]) -> dict[str, Any]:
        """Seconds of every call, and the processor time of all: what other programs on the machine change least."""
        seconds: list[float] = []
        processor = time.process_time()
        clock, asynchronous, end = time.perf_counter, self._asynchronous, time.perf_counter() + CAP
        for arguments in calls:
            begun = clock()
            result = call(*arguments)
            if asynchronous:
                result = await result
            ended = clock()
            seconds.append(ended - begun)
            if ended > end:
                break
        self._last = result
        return {"seconds": seconds, "processor": time.process_time() - processor}

    async def _settled(self, result: Any) -> Any:
        return await result if isinstance(result, Awaitable) else result

    def _write(self, calls: list[tuple[str, str, str]], kept: list[str], errors: Counter[str]) -> None:
        for call in calls:
            try:
                self._system.append(*call)
                kept.append(sample_turns.mark(call[1]))
            except Exception as error:
                errors[_said(error)] += 1

    async def _write_task(self, calls: list[tuple[str, str, str]], kept: list[str], errors: Counter[str]) -> None:
        for call in calls:
            try:
                await self._system.append(*call)
                kept.append(sample_turns.mark(call[1]))
            except Exception as error:
                errors[_said(error)] += 1


def write_paced(
    append: Callable[[str, str, str], object], session: str, pause: float, done: Callable[[], bool]
) -> list[float]:
    """Append a turn every `pause` seconds until `done`; how long each one took."""
    seconds: list[float] = []
    while not done():
        query, response = sample_turns.turn(session, len(seconds))
        begun = time.perf_counter()
        append(session, query, response)
        seconds.append(time.perf_counter() - begun)
        time.sleep(pause)
    return seconds


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"[:120]


async def serve(name: str, folder: Path) -> None:
    """Answer orders until told to close. Whatever a system prints goes to standard error."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    worker = Worker(name, folder)
    for line in sys.stdin:
        order: dict[str, Any] = json.loads(line)
        verb = order.pop("do")
        try:
            answer = await getattr(worker, verb)(**order)
        except Exception as error:
            answer = {"failed": _said(error)}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()
        if verb == "close":
            return


if __name__ == "__main__":
    asyncio.run(serve(sys.argv[1], Path(sys.argv[2])))
