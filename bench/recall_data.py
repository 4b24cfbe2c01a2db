"""Labelled conversations for measuring recall: files of JSON lines go in, conversations with questions come out.

One object a line: conv_id, units (id, role, session, time, text) and queries (id, text, cat, gold). A role that is
not a chat role is a speaker's name. A unit without a time has the time of the one before it.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ricordo.cli.evaluate import BETWEEN_MESSAGES, moment_of
from ricordo.recall.index_state import indexed_text
from ricordo.records.turns import ROLES


@dataclass(frozen=True, slots=True)
class Unit:
    """One message as the product would see it; `text` is what is indexed, with the speaker's name if there is one."""

    session: str
    number: int
    role: str
    speaker: str | None
    created_at: datetime
    text: str


@dataclass(frozen=True, slots=True)
class LabelledQuestion:
    """A question, its category, and the positions of the units that hold the evidence."""

    id: str
    text: str
    category: str
    gold: frozenset[int]


@dataclass(frozen=True, slots=True)
class Conversation:
    """One owner's past with questions about it, asked a day after its last message."""

    id: str
    units: tuple[Unit, ...]
    questions: tuple[LabelledQuestion, ...]

    @property
    def now(self) -> datetime:
        """When the questions are asked."""
        return max(unit.created_at for unit in self.units) + timedelta(days=1)


def read_conversations(path: Path) -> Iterator[Conversation]:
    """The conversations of a file; questions without evidence are left out."""
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield _conversation(json.loads(line))


def _conversation(found: dict[str, Any]) -> Conversation:
    units: list[Unit] = []
    moment = datetime(2000, 1, 1, tzinfo=UTC)
    for number, unit in enumerate(found["units"]):
        said = moment_of(unit.get("time"))
        in_session = bool(units) and units[-1].session == str(unit["session"])
        moment = moment + BETWEEN_MESSAGES if said is None or (in_session and said <= moment) else said
        role = str(unit["role"])
        speaker = None if role in ROLES else role
        text = indexed_text(unit["text"], speaker)
        chat_role = "user" if speaker else role
        units.append(Unit(str(unit["session"]), number, chat_role, speaker, moment, text))
    place = {unit["id"]: number for number, unit in enumerate(found["units"])}
    questions = (
        LabelledQuestion(
            str(query["id"]),
            query["text"],
            query["cat"],
            frozenset(place[gold] for gold in query["gold"] if gold in place),
        )
        for query in found["queries"]
    )
    return Conversation(str(found["conv_id"]), tuple(units), tuple(each for each in questions if each.gold))
