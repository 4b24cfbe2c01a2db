"""What tests of the page share: a live server whose answers are told in advance, a browser that minds its errors."""

import re
import shutil
import threading
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from page_languages import ENGLISH, Translation
from playwright.sync_api import Browser, BrowserContext, Page, expect

from ricordo.chat.answerers import Answered, Reader, Task
from ricordo.errors import StoreUnavailable
from ricordo.memory import Memory
from ricordo.presets import settings_from
from ricordo.server.app import Server, uvicorn_config
from ricordo.server.options import ServerOptions
from ricordo.server.service import Service
from ricordo.stores.memory import MemoryStore
from ricordo.testing.fakes import StoreProxy

HOLD = "\0"  # a piece that waits until the test lets it go
SILENT = "\1"  # the same, without a sign of life meanwhile, as a model that thinks
TENANT = "default"
PATIENCE = 30_000.0  # milliseconds: on a busy machine a page takes its time
BURNS = """# Ustioni

## Gradi

Le ustioni si dividono in tre gradi. Il primo grado arrossa la pelle. Il secondo grado forma vesciche.

## Cause

Le cause sono il fuoco, i liquidi bollenti, la corrente elettrica e le sostanze chimiche.
"""

expect.set_options(timeout=PATIENCE)

_IGNORED = re.compile(r"Failed to load resource")  # a refused request is the page's to explain, and tests look at that


class Told:
    """Answers questions as it was told to, piece by piece, and everything else as the reader does."""

    name = "told"

    def __init__(self) -> None:
        self._answers: dict[str, tuple[str | Exception, ...]] = {}
        self._go: dict[str, threading.Event] = {}

    def tell(self, question: str, *pieces: str | Exception) -> None:
        """Answer a question so; a `HOLD` among the pieces waits for `let_go`, an exception is raised."""
        self._answers[question] = pieces
        self._go[question] = threading.Event()

    def let_go(self, question: str) -> None:
        """Go on with an answer that waits."""
        self._go[question].set()

    def let_all_go(self) -> None:
        """Nobody waits any more."""
        for event in self._go.values():
            event.set()

    def answer(self, task: Task) -> Generator[str, None, Answered]:
        """The pieces, or the reader's answer."""
        pieces = self._answers.get(task.question)
        if pieces is None:
            return (yield from Reader().answer(task))
        for piece in pieces:
            if isinstance(piece, Exception):
                raise piece
            if piece == SILENT:
                self._go[task.question].wait(PATIENCE / 1000)
            elif piece == HOLD:
                # A stopped answer is only stopped between two pieces, so a waiting one gives empty ones.
                while not self._go[task.question].wait(0.02):
                    yield ""
            else:
                yield piece
        text = "".join(piece for piece in pieces if isinstance(piece, str) and piece not in (HOLD, SILENT))
        cited = tuple(chunk.id for chunk in task.chunks if f"[{chunk.id}]" in text)
        return Answered(text, cited, (), 0.9, self.name)


class Switched(StoreProxy):
    """A store that can be away."""

    def __init__(self, store: Any) -> None:
        super().__init__(store)
        self.up = True

    def close(self) -> None:
        """What is kept stays."""

    def through(self, call: str, method: Any) -> Any:
        def called(*args: Any, **kwargs: Any) -> Any:
            if not self.up:
                raise StoreUnavailable("switched off")
            return method(*args, **kwargs)

        return called


class Site:
    """A running server and all that a test does to it behind the page's back."""

    def __init__(self, service: Service, port: int) -> None:
        self.service = service
        self.told = Told()
        self.url = f"http://127.0.0.1:{port}/"
        service.chat(TENANT).answerer = self.told

    @property
    def memory(self) -> Memory:
        """The tenant's memory."""
        return self.service.memory(TENANT)

    def session(
        self, user: str, session_id: str, turns: list[tuple[str, str]], *, title: str = "", days_ago: float = 0.0
    ) -> str:
        """A session with these turns, some days old; gives its id."""
        session = self.memory.session(session_id, user_id=user)
        first = datetime.now(UTC) - timedelta(days=days_ago, minutes=len(turns))
        for minute, (query, response) in enumerate(turns):
            session.add_turn(query, response, created_at=first + timedelta(minutes=minute))
        if title:
            session.update(title=title)
        return session_id

    def document(self, user: str, title: str = "Ustioni", text: str = BURNS) -> None:
        """A document that a user may quote."""
        from ricordo.records.turns import Owner

        self.service.library(TENANT).add(Owner(TENANT, user), title, text)


@contextmanager
def site(store: Any = None, **options: Any) -> Iterator[Site]:
    """A server behind a real socket."""
    given = ServerOptions(**{"auth": False, "port": 0, "requests_per_minute": 100_000, "threads": 16, **options})
    settings = settings_from({"embedder": "light", "locale": "it"}, {})
    service = Service(store or MemoryStore(), settings, given)
    ports: list[int] = []
    started = threading.Event()

    def tell(port: int) -> None:
        ports.append(port)
        started.set()

    server = Server(uvicorn_config(service), tell)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    assert started.wait(20)
    running = Site(service, ports[0])
    yield running
    running.told.let_all_go()
    server.should_exit = True
    thread.join(30)
    assert not thread.is_alive()


def chromium() -> str | None:
    """Where the browser is."""
    names = ("chromium", "chromium-browser", "google-chrome-stable", "google-chrome")
    return next((found for found in map(shutil.which, names) if found), None)


class Visitor:
    """Somebody at the page: one browser context, in which every tab belongs to the same user."""

    def __init__(self, browser: Browser, at: Site, user: str, **look: Any) -> None:
        self.at = at
        self.user = user
        self.complaints: list[str] = []
        Translation.active = ENGLISH and "locale" not in look
        self.context: BrowserContext = browser.new_context(
            **{
                "viewport": {"width": 1280, "height": 800},
                "locale": "en-GB" if ENGLISH else "it-IT",
                "reduced_motion": "reduce",
                **look,
            }
        )
        prefs = f'{{"user": "{user}"}}'
        self.context.add_init_script(
            "if (location.protocol === 'http:' && !localStorage.getItem('ricordo'))"
            f" localStorage.setItem('ricordo', '{prefs}')"
        )
        self.context.set_default_timeout(PATIENCE)

    def open(self, place: str = "#/") -> Page:
        """A tab at a place of the page."""
        page = self.context.new_page()
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("console", self._heard)
        page.goto(self.at.url + place)
        return page

    def _heard(self, message: Any) -> None:
        if message.type in ("error", "warning") and not _IGNORED.search(message.text):
            self.complaints.append(f"{message.type}: {message.text}")

    def close(self) -> None:
        """Leave; nothing must have gone wrong on the way, and no policy must have been broken."""
        self.context.close()
        assert not self.complaints, self.complaints


def ask(page: Page, question: str) -> None:
    """Write a question and send it."""
    field = page.get_by_role("textbox", name=re.compile("Scrivi un messaggio|Write a message"))
    field.fill(question)
    field.press("Enter")


def answers(page: Page) -> Any:
    """The answers in view, in order."""
    return page.locator("div.answer")


def answered(page: Page, count: int) -> None:
    """Wait for so many whole answers."""
    expect(page.locator("div.answer[aria-busy=false]")).to_have_count(count)


def tab(page: Page, name: str) -> None:
    """Show a part of the memory."""
    memory = page.get_by_role("button", name="Memoria", exact=True)
    if memory.get_attribute("aria-pressed") != "true":
        memory.click()
    page.get_by_role("tab", name=name).click()


HERE = Path(__file__).parent
