"""Ricordo's core: exact token counts, checks, checksums and all indexes of the store are in every figure.

Nothing is done beside the chat here (no recall, no topics, nothing learned): that work would take processor time from
whichever system is measured next. `shipped` measures it.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from itertools import islice
from pathlib import Path

import ricordo
from bench.sample_turns import SYSTEM_PROMPT
from bench.systems.trim import Said
from ricordo.engine.core import new_id
from ricordo.records.turns import Message, Owner, SessionInfo, Turn, message_id

USER = "anna"
TODAY = datetime(2020, 1, 1, tzinfo=UTC)  # fixed, so that a stored file serves every later run
BATCH = 20_000
ALONE = {"recall_messages": 0, "organise": "off", "remember_person": "off", "condense": "off", "titles": "off"}


class System:
    """The measured verbs on a memory in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.memory = ricordo.open(folder / "ricordo.db", system_prompt=SYSTEM_PROMPT, **ALONE)
        self._sessions: dict[str, ricordo.Session] = {}

    def append(self, session: str, query: str, response: str) -> None:
        self._session(session).add_turn(query, response)

    def window(self, session: str) -> list[Said]:
        return [(each.role, each.content) for each in self._session(session).window().messages]

    def context(self, session: str, question: str, chunks: list[tuple[str, str]]) -> int:
        return self._session(session).context(question, chunks=chunks).receipt.total_tokens

    def append_explained(self, session: str, query: str, response: str, chunks: list[tuple[str, str]]) -> None:
        """A whole exchange: the context is built for the question and its receipt is kept with the turn."""
        handle = self._session(session)
        handle.context(query, chunks=chunks)
        handle.add_turn(query, response)

    def history(self, session: str) -> list[Said]:
        return [(each.role, each.content) for turn in self._session(session).history() for each in turn.messages]

    def numbers(self, session: str) -> list[int]:
        """Turn numbers, for systems that promise them without a gap."""
        return [turn.turn_number for turn in self._session(session).history()]

    def load(self, session: str, turns: Iterable[Said]) -> None:
        load(self.memory, session, turns)

    def close(self) -> None:
        self.memory.close()

    def _session(self, name: str) -> ricordo.Session:
        if name not in self._sessions:
            self._sessions[name] = self.memory.session(name, user_id=USER)
        return self._sessions[name]


def load(
    memory: ricordo.Memory,
    session: str,
    turns: Iterable[Said],
    *,
    user: str = USER,
    dates: Iterable[datetime] | None = None,
) -> None:
    """Bring a session in by the batch, as an import does."""
    owner = Owner(memory.settings.tenant_id, user)
    count, moments = memory.counter.count, iter(dates or ())

    def record(number: int, query: str, response: str) -> Turn:
        moment = next(moments, TODAY + timedelta(seconds=number))
        name = new_id(moment)
        return Turn(
            id=name,
            owner=owner,
            agent_id="default",
            session_id=session,
            turn_number=number,
            created_at=moment,
            question=Message(message_id(name, "query"), "user", query, moment, count(query)),
            answer=Message(message_id(name, "response"), "assistant", response, moment, count(response)),
            counter=memory.counter.name,
        )

    records = (record(number, *turn) for number, turn in enumerate(turns, start=1))
    while batch := list(islice(records, BATCH)):
        first = batch[0].created_at
        memory.store.turns.load(SessionInfo(session, owner, "default", created_at=first, last_active_at=first), batch)
