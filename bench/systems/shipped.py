"""Ricordo as it is opened by default, with recall and topics, and an embedder that takes next to no time.

What is measured is all but the embedder's own time, which depends on the model. Every session has its own user, so
that the index of a context is as large as the session's size says.
"""

from collections.abc import Iterable
from pathlib import Path

import ricordo
from bench.sample_turns import SYSTEM_PROMPT
from bench.systems import ours
from bench.systems.trim import Said

PATIENCE = 600.0


class System(ours.System):
    """The measured verbs on a memory in `folder`, and `settle`."""

    def __init__(self, folder: Path) -> None:
        self.memory = ricordo.open(folder / "ricordo.db", system_prompt=SYSTEM_PROMPT, embedder="deterministic")
        self._sessions: dict[str, ricordo.Session] = {}

    def load(self, session: str, turns: Iterable[Said]) -> None:
        ours.load(self.memory, session, turns, user=_user(session))

    def settle(self, session: str) -> None:
        """Have everything of a session in the index, as it is when a talk goes on."""
        self.memory.search("anything", user_id=_user(session))
        self._session(session).topics()

    def _session(self, name: str) -> ricordo.Session:
        if name not in self._sessions:
            self._sessions[name] = self.memory.session(name, user_id=_user(name))
        return self._sessions[name]


def _user(session: str) -> str:
    return f"user of {session}"
