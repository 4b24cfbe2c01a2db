"""What the database last told of things that are derived: a chat goes on with it while the database is away.

In: answers to small questions about an owner (what is known of them, their summaries, which documents there are). Out:
the same answer to the same question. Bounded by owners and by answers of each; those used longest ago go first.
"""

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass, field
from threading import Lock
from typing import Any
from uuid import UUID

from ricordo.records import Owner

OWNERS = 1_000
ANSWERS = 32


@dataclass
class _Shelf:
    """The answers about an owner, and when the last were forgotten."""

    forgotten: int = 0
    answers: OrderedDict[Hashable, Any] = field(default_factory=OrderedDict)


class Told:
    """Answers by question. Whoever asks takes the `moment` before, so that nothing comes back that was forgotten."""

    def __init__(self, owners: int = OWNERS, answers: int = ANSWERS) -> None:
        self._owners, self._most = owners, answers
        self._shelves: OrderedDict[UUID, _Shelf] = OrderedDict()
        self._lost = 0  # when anything was last forgotten of an owner who is no longer at hand
        self._moment = 0
        self._lock = Lock()

    @property
    def moment(self) -> int:
        """Now, counted in what was forgotten."""
        return self._moment

    def get(self, owner: Owner, question: Hashable) -> tuple[Any, ...]:
        """The answer alone in a tuple; an empty one if it is not at hand."""
        with self._lock:
            shelf = self._shelves.get(owner.key)
            return (shelf.answers[question],) if shelf and question in shelf.answers else ()

    def note(self, owner: Owner, question: Hashable, answer: Any, *, since: int) -> None:
        """An answer to what was asked at the moment `since`."""
        with self._lock:
            shelf = self._shelf(owner)
            if shelf.forgotten <= since:
                shelf.answers[question] = answer
                shelf.answers.move_to_end(question)
                while len(shelf.answers) > self._most:
                    shelf.answers.popitem(last=False)

    def knows(self, owner: Owner) -> bool:
        """Whether anything is at hand of an owner."""
        with self._lock:
            shelf = self._shelves.get(owner.key)
            return shelf is not None and bool(shelf.answers)

    def forget(self, owner: Owner, question: Hashable | None = None) -> None:
        """Let go of an owner, or of one answer, and of what was asked about them and is still on its way."""
        with self._lock:
            self._moment += 1
            shelf = self._shelf(owner)
            shelf.forgotten = self._moment
            if question is None:
                shelf.answers.clear()
            else:
                shelf.answers.pop(question, None)

    def _shelf(self, owner: Owner) -> _Shelf:
        shelf = self._shelves.setdefault(owner.key, _Shelf(self._lost))
        self._shelves.move_to_end(owner.key)
        while len(self._shelves) > self._owners:
            self._lost = max(self._lost, self._shelves.popitem(last=False)[1].forgotten)
        return shelf
