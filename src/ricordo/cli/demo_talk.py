"""The demo's talk: a student and a tutor over some days, about the sample course, in Italian and in English.

Answers that are written out here were the tutor's own; all others are given by the pipeline itself from the lessons,
as it gives them to anybody, at the time when they were asked.
"""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from ricordo.memory import Memory
from ricordo.records.turns import library_of

if TYPE_CHECKING:
    from ricordo.cli.output import Step
    from ricordo.settings import Settings
    from ricordo.stores.protocols import Store

MINUTES = 3  # between two questions
LATEST = 25  # minutes ago that the last talk began: it is still going on
PATIENCE = 120.0  # seconds for what is done beside the chat; it takes a few


@dataclass(frozen=True, slots=True)
class DemoSession:
    """A session some days ago: each question, with the answer where it is not for the reader to give."""

    days_ago: int
    said: tuple[tuple[str, str], ...]


TALKS = (
    DemoSession(
        6,
        (
            (
                "Ciao! Mi chiamo Anna e ho l'esame di biologia il 12 giugno.",
                "Ciao Anna! Allora partiamo dalla biologia: da dove vuoi cominciare?",
            ),
            ("Quali sono le fasi della fotosintesi?", ""),
            ("Approfondisci il punto 2", ""),
            ("Faccio fatica con il ciclo di Calvin.", "Lo riprendiamo con calma, un passo alla volta."),
            ("Perché in autunno le foglie diventano gialle?", ""),
        ),
    ),
    DemoSession(
        2,
        (
            ("What are the stages of sleep?", ""),
            ("Tell me more about the third one", ""),
            ("I prefer short answers.", "Short it is, then."),
            ("Why does coffee keep you awake?", ""),
            ("How long should a nap be?", ""),
        ),
    ),
    DemoSession(
        0,
        (
            ("Che cos'è un'ustione?", ""),
            ("Quali sono i gradi delle ustioni?", ""),
            ("Approfondisci il punto 2", ""),
            ("Come si tratta un'ustione?", ""),
        ),
    ),
)

TO_TRY = (
    "E nei bambini?",
    "Parlami del punto 3",
    "Dove avviene il ciclo di Calvin?",
    "Why does bread go stale?",
)


class _Then:
    """A clock that stands at the moment that is being lived again."""

    def __init__(self, moment: datetime) -> None:
        self.moment = moment

    def now(self) -> datetime:
        return self.moment


def live(store: "Store", settings: "Settings", user_id: str, step: "Step") -> int:
    """Add the lessons and live the talks, unless this user has talked here before; how many turns were kept."""
    from ricordo.chat import Chat, ChatRequest
    from ricordo.cli.demo_course import lessons
    from ricordo.documents.library import Library

    began = datetime.now(UTC)
    clock = _Then(began)
    memory = Memory(store, settings, clock=clock)
    try:
        library = Library(memory, store.documents)
        for lesson in lessons():
            library.add(library_of(settings.tenant_id), lesson.title, lesson.text, "markdown", lesson.id)
        if memory.sessions(user_id=user_id, limit=1):
            return 0
        chat = Chat(memory, passages=library)
        done, total = 0, sum(len(talk.said) for talk in TALKS)
        for talk in TALKS:
            first = clock.moment = began - timedelta(days=talk.days_ago, minutes=LATEST)
            session = memory.session(user_id=user_id)
            session.create()
            for number, (query, response) in enumerate(talk.said):
                clock.moment = first + timedelta(minutes=MINUTES * number)
                if response:
                    session.add_turn(query, response)
                else:
                    chat.ask(ChatRequest(query, user_id, session_id=session.id))
                done += 1
                step(done, total)
            memory.settle(PATIENCE)
        clock.moment = began
        memory.end_idle(user_id=user_id)
        return done
    finally:
        memory.rest()
