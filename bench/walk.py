"""How many source files one context and one chat run through: what a reader opens to follow a call from end to end.

A warm memory (history, topics, facts and recall in use) answers one `session.context(question)`; then the HTTP
application answers one `POST /chat` from documents, with the reader as answerer. A profiler notes every function of
`src/ricordo` that is entered in the threads of the call; background threads are left out.
"""

import argparse
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any, cast

from rich.console import Console
from rich.text import Text

import ricordo
from ricordo.cli.story import lessons
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.server.app import create_app
from ricordo.server.options import ServerOptions
from ricordo.server.service import Service
from ricordo.stores.open import store_for

if TYPE_CHECKING:
    from ricordo.settings import Settings
    from ricordo.stores.protocols import Store

PACKAGE = Path(ricordo.__file__).resolve().parent
MOST_FILES = {"context": 40, "chat": 65}
SETTLE_SECONDS = 60.0
USER = "anna"
TURNS = (
    ("Mi chiamo Anna e ho l'esame di biologia il 12 giugno.", "Ciao Anna! Partiamo dalla biologia."),
    ("Quali sono le fasi della fotosintesi?", "Sono due:\n1. la fase luminosa\n2. il ciclo di Calvin"),
    ("Perché in autunno le foglie diventano gialle?", "La clorofilla si degrada e restano i carotenoidi."),
    ("Quali sono i gradi delle ustioni?", "Sono tre:\n1. primo grado\n2. secondo grado\n3. terzo grado"),
    ("Quando si va al pronto soccorso?", "Con un'ustione estesa o di terzo grado."),
    ("Quanto dura il sonno profondo?", "Da venti a quaranta minuti per ciclo."),
)
QUESTION = "Che cos'è la fotosintesi?"


@dataclass(frozen=True, slots=True)
class Walk:
    """One call: the files it ran through, relative to the package, and how many named functions it entered."""

    call: str
    most_files: int
    files: tuple[str, ...]
    functions: int


class Recorder:
    """A profiler of this thread and of all threads that start after it; it notes code only while a call is recorded."""

    def __init__(self) -> None:
        self._recording = False
        self._entered: set[CodeType] = set()

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Profile this thread and those that start from now on."""
        threading.setprofile(self._notice)
        sys.setprofile(self._notice)
        try:
            yield
        finally:
            sys.setprofile(None)
            threading.setprofile(cast(Any, None))

    def record(self, call: str, run: Callable[[], object]) -> Walk:
        """Run a call and give back the source files that it entered."""
        self._entered, self._recording = set(), True
        try:
            run()
        finally:
            self._recording = False
        named = [code for code in self._entered if not code.co_name.startswith("<")]  # no lambdas, no comprehensions
        paths = {code: Path(code.co_filename) for code in named}
        ours = {code: path.relative_to(PACKAGE) for code, path in paths.items() if path.is_relative_to(PACKAGE)}
        return Walk(call, MOST_FILES[call], tuple(sorted({path.as_posix() for path in ours.values()})), len(ours))

    def _notice(self, frame: FrameType, event: str, argument: object) -> None:
        if self._recording and event == "call" and not _in_background():
            self._entered.add(frame.f_code)


def _in_background() -> bool:
    """Whether this thread works for no request; threads that answer chats have names of their own."""
    name = threading.current_thread().name
    return name.startswith("ricordo-") and not name.startswith("ricordo-chat")


def run(place: str) -> tuple[Walk, Walk]:
    """Fill a store, then record one context and one chat."""
    recorder = Recorder()
    settings = settings_from({"embedder": "light", "locale": "it"}, {})
    store = store_for(place)
    with recorder.installed():
        context = _context(recorder, store, settings)
        return context, _chat(recorder, store, settings)


def _context(recorder: Recorder, store: "Store", settings: "Settings") -> Walk:
    memory = Memory(store, settings)
    try:
        earlier, session = (memory.session(user_id=USER) for _ in range(2))
        for number, turn in enumerate(TURNS):
            (earlier if number < 2 else session).add_turn(*turn)
        memory.settle(SETTLE_SECONDS)
        session.context(QUESTION)
        return recorder.record("context", lambda: session.context(QUESTION))
    finally:
        memory.rest()


def _chat(recorder: Recorder, store: "Store", settings: "Settings") -> Walk:
    from starlette.testclient import TestClient

    service = Service(store, settings, ServerOptions(auth=False, requests_per_minute=100_000))
    with TestClient(create_app(service)) as client:

        def ask(session_id: str | None = None) -> str:
            body = {"query": QUESTION, "user_id": USER, "session_id": session_id}
            return str(client.post("/chat", json=body).raise_for_status().json()["session_id"])

        for lesson in lessons():
            body = {"title": lesson.title, "text": lesson.text, "kind": "markdown", "id": lesson.id}
            client.post("/documents?shared=1", json=body).raise_for_status()
        session_id = ask()
        ask(session_id)
        service.memory(settings.tenant_id).settle(SETTLE_SECONDS)
        return recorder.record("chat", lambda: ask(session_id))


def main(argv: Sequence[str] | None = None) -> int:
    """`ricordo bench walk`: both figures and their files; exit code 1 if either is above its target."""
    parser = argparse.ArgumentParser(prog="ricordo bench walk", description=__doc__.split("\n")[0])
    parser.add_argument("--store", choices=("memory", "sqlite"), default="memory", help="default: %(default)s")
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    options = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="ricordo-walk-") as folder:
        walks = run("memory:" if options.store == "memory" else str(Path(folder) / "walk.db"))
    if options.json:
        print(json.dumps([asdict(walk) for walk in walks]))
    else:
        _print(walks)
    return int(any(len(walk.files) > walk.most_files for walk in walks))


def _print(walks: Sequence[Walk]) -> None:
    console = Console(highlight=False)
    names = {"context": "session.context(question)", "chat": "POST /chat"}
    for walk in walks:
        figures = f"{len(walk.files)} files (target: at most {walk.most_files}), {walk.functions} functions"
        console.print(Text(f"{names[walk.call]}: {figures}", "bold"))
        for name in walk.files:
            console.print(Text(f"  {name}"))


if __name__ == "__main__":
    raise SystemExit(main())
