"""What running the command line gives, for the tests of it."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Ran:
    """What a command did."""

    code: int
    out: str
    err: str

    @property
    def document(self) -> Any:
        """The one JSON document that was printed."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """The JSON lines that were printed."""
        return [json.loads(line) for line in self.out.splitlines()]


Cli = Callable[..., Ran]


RICORDO = [sys.executable, "-c", "import sys; from ricordo.cli import main; sys.exit(main())"]


class Served:
    """A server in a process of its own, from the line in which it says its address until it is told to stop."""

    def __init__(self, arguments: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [*RICORDO, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=dict(environment)
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise AssertionError(f"no address: {self._process.communicate(timeout=60)[1]}")
        self.told = json.loads(line)
        self.code: int | None = None
        self.left = ""
        self.log = ""

    def get(self, path: str, **headers: str) -> Any:
        """What a path answers."""
        return self._ask(urllib.request.Request(self.told["url"] + path, headers=headers))

    def post(self, path: str, body: Any, **headers: str) -> Any:
        """What a path answers to a JSON body."""
        sent = json.dumps(body).encode()
        given = {"content-type": "application/json", **headers}
        return self._ask(urllib.request.Request(self.told["url"] + path, data=sent, headers=given))

    def stop(self, number: int = signal.SIGTERM) -> None:
        """Tell it to stop, and wait for it."""
        if self.code is None:
            self._process.send_signal(number)
            self.left, self.log = self._process.communicate(timeout=60)
            self.code = self._process.returncode

    @staticmethod
    def _ask(request: urllib.request.Request) -> Any:
        with urllib.request.urlopen(request, timeout=60) as answer:
            return json.loads(answer.read())


class Running(Protocol):
    """Starts a server with arguments and variables; it is stopped when the block ends."""

    def __call__(self, *arguments: str, **variables: str) -> AbstractContextManager[Served]: ...
