"""Starts a worker process for a system, sends it orders and reads its figures."""

import json
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from bench.systems import Entry

ROOT = Path(__file__).resolve().parent.parent


class WorkerError(Exception):
    """A system refused an order or its process ended."""


class Child:
    """A worker process. `tell` sends an order without waiting; `hear` waits for its answer."""

    def __init__(self, python: Path, entry: Entry, folder: Path) -> None:
        self.entry = entry
        self._begun = time.perf_counter()
        self._process = subprocess.Popen(
            [python, "-m", "bench.worker", entry.name, folder],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def age(self) -> float:
        """Seconds since the process was started."""
        return time.perf_counter() - self._begun

    def tell(self, verb: str, **arguments: Any) -> None:
        """Send an order."""
        assert self._process.stdin
        try:
            self._process.stdin.write(json.dumps({"do": verb, **arguments}) + "\n")
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise WorkerError(f"the worker of {self.entry.title} ended early") from error

    def hear(self) -> dict[str, Any]:
        """Wait for the answer to the oldest order."""
        assert self._process.stdout
        line = self._process.stdout.readline()
        if not line:
            raise WorkerError(f"the worker of {self.entry.title} ended early")
        answer: dict[str, Any] = json.loads(line)
        if "failed" in answer:
            raise WorkerError(f"{self.entry.title}: {answer['failed']}")
        return answer

    def ask(self, verb: str, **arguments: Any) -> dict[str, Any]:
        """Send an order and wait for its answer."""
        self.tell(verb, **arguments)
        return self.hear()

    def close(self) -> None:
        """Close the system and end the process. Safe to repeat."""
        if self._process.poll() is None:
            try:
                self.ask("close")
                self._process.wait(10)
            except (WorkerError, subprocess.TimeoutExpired):
                self._process.kill()
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream:
                stream.close()
