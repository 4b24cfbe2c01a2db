"""The sample data of the demo and of some benchmarks, read from the files in `sample/`.

`<language>/story.json` is the conversation of `ricordo demo --terminal`; `past_sessions.json` is what `ricordo demo`
seeds its database with; `<language>/*.md` are the lessons of a small course, `questions.jsonl` labelled questions.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from ricordo.records.turns import Chunk

Language = Literal["it", "en"]

_FOLDER = files("ricordo.cli").joinpath("sample")
_LESSONS: dict[Language, tuple[str, ...]] = {
    "it": ("ustioni", "fotosintesi", "chimica-in-cucina"),
    "en": ("sleep-and-memory", "bread", "back-pain"),
}
LANGUAGES = sorted(_LESSONS)


@dataclass(frozen=True, slots=True)
class SampleTurn:
    """A question, its answer, what the answer cites, and its age. Without a response the reader answers it."""

    query: str
    response: str = ""
    chunk_ids: tuple[str, ...] = ()
    days_ago: int = 0


@dataclass(frozen=True, slots=True)
class SampleStory:
    """A conversation about a course, and questions that only make sense after it."""

    title: str
    safety: str
    system: str
    earlier: SampleTurn  # in another session
    talk: tuple[SampleTurn, ...]
    follow_up: SampleTurn
    found: tuple[Chunk, ...]  # chunks for the follow-up, best first
    remember: SampleTurn  # needs what was said in the other session
    choice: SampleTurn
    unclear: str  # after `choice`, refers to either of two things
    which: str  # answers the clarification
    another: str  # a follow-up for the reader to try


@dataclass(frozen=True, slots=True)
class PastSession:
    """A session that began some days ago."""

    days_ago: int
    turns: tuple[SampleTurn, ...]


@dataclass(frozen=True, slots=True)
class Lesson:
    """One document of the course: `id` is the name of its file, `text` is Markdown."""

    id: str
    language: Language
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class SampleQuestion:
    """A labelled question: an answer must contain all of `says`; without `says` the course holds no answer.

    An `unseen` question was set aside while the rules were written.
    """

    language: Language
    text: str
    says: tuple[str, ...]
    lesson: str = ""
    unseen: bool = False

    @property
    def answerable(self) -> bool:
        """Whether the course holds an answer."""
        return bool(self.says)


@cache
def story(language: str) -> SampleStory:
    """The story of the terminal demo in one language."""
    found = json.loads(_read(language, "story.json"))
    turns = {name: _turn(found[name]) for name in ("earlier", "follow_up", "remember", "choice")}
    talk = tuple(_turn(each) for each in found["talk"])
    return SampleStory(**{**found, **turns, "talk": talk, "found": tuple(Chunk(**each) for each in found["found"])})


@cache
def past_sessions() -> tuple[PastSession, ...]:
    """The sessions that the served demo starts with, oldest first."""
    listed = json.loads(_read("past_sessions.json"))["sessions"]
    return tuple(PastSession(each["days_ago"], tuple(_turn(turn) for turn in each["turns"])) for each in listed)


@cache
def suggestions() -> tuple[str, ...]:
    """Questions to try in the last of the past sessions."""
    return tuple(json.loads(_read("past_sessions.json"))["suggestions"])


@cache
def lessons(language: Language | None = None) -> tuple[Lesson, ...]:
    """The lessons of one language, or all of them, always in the same order."""
    return tuple(_lesson(code, name) for code, names in _LESSONS.items() if language in (code, None) for name in names)


@cache
def questions() -> tuple[SampleQuestion, ...]:
    """The labelled questions, answerable or not."""
    rows = [json.loads(line) for line in _read("questions.jsonl").splitlines() if line.strip()]
    return tuple(SampleQuestion(**{**row, "says": tuple(row["says"])}) for row in rows)


def _lesson(code: Language, name: str) -> Lesson:
    text = _read(code, f"{name}.md")
    return Lesson(name, code, text.partition("\n")[0].lstrip("# ").strip(), text)


def _turn(found: dict[str, Any]) -> SampleTurn:
    return SampleTurn(**{**found, "chunk_ids": tuple(found.get("chunk_ids", ()))})


def _read(*path: str) -> str:
    return _FOLDER.joinpath(*path).read_text("utf-8")
