"""A small course to try things on: six short lessons, three in Italian and three in English, and questions about them.

The lessons are Markdown files beside this one; `lessons()` reads them, `questions()` reads what is asked of them and
what an answer must say. They serve the demonstration, the benchmark of the reader and anyone's first experiment.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Literal

_NAMES = {
    "it": ("ustioni", "fotosintesi", "chimica-in-cucina"),
    "en": ("sleep-and-memory", "bread", "back-pain"),
}


@dataclass(frozen=True, slots=True)
class Lesson:
    """One document of the course: `id` is the name of its file, `text` is Markdown."""

    id: str
    language: Literal["it", "en"]
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """Something asked of the course: an answer must say all of `says`; one without it is not in the material.

    An `unseen` question was kept aside while the rules were written.
    """

    language: Literal["it", "en"]
    text: str
    says: tuple[str, ...]
    lesson: str = ""
    unseen: bool = False

    @property
    def answerable(self) -> bool:
        """Whether the course holds an answer."""
        return bool(self.says)


@cache
def lessons(language: Literal["it", "en"] | None = None) -> tuple[Lesson, ...]:
    """The lessons of one language, or all of them, always in the same order."""
    return tuple(_lesson(code, name) for code in ("it", "en") if language in (code, None) for name in _NAMES[code])


@cache
def questions() -> tuple[Question, ...]:
    """The labelled questions, answerable or not."""
    lines = files(__name__).joinpath("questions.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return tuple(Question(**{**row, "says": tuple(row["says"])}) for row in rows)


def _lesson(code: Literal["it", "en"], name: str) -> Lesson:
    text = files(__name__).joinpath(code, f"{name}.md").read_text("utf-8")
    return Lesson(name, code, text.partition("\n")[0].lstrip("# ").strip(), text)
