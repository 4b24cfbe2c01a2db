"""Whose memory a call is about: one user of one tenant, and the agent that remembers. Made by whoever lets them in.

Nothing here comes from an argument of a tool. A user id that a model names all the same is compared, never followed.
"""

from ricordo.errors import NotFoundError, ValidationError
from ricordo.limits import check_id
from ricordo.memory import DEFAULT_AGENT, Memory
from ricordo.records.turns import Owner, SessionInfo, Turn
from ricordo.session import Session

NOTES = "notes"


class McpUser:
    """A user with the memory that is theirs. A server that holds more of them than a memory does overrides the last."""

    def __init__(self, memory: Memory, user_id: str, agent_id: str = DEFAULT_AGENT) -> None:
        self.memory = memory
        self.user_id = user_id
        self.agent_id = agent_id
        self.owner = Owner(memory.settings.tenant_id, user_id)

    def must_be(self, field: str, named: object) -> None:
        """Refuse a call that names another user."""
        if named is not None and named != self.user_id:
            raise ValidationError(field, f"these are the memories of {self.user_id!r}; leave the field out")

    def agent(self, named: str | None) -> str:
        """The agent that a call names, or the usual one. Agents of one user are no wall between each other."""
        return self.agent_id if named is None else check_id("agent_id", named)

    def notes(self, agent_id: str) -> str:
        """The session that an agent's notes are kept in; each agent learns from its own."""
        return NOTES if agent_id == DEFAULT_AGENT else f"{NOTES}-{agent_id}"

    def info(self, session_id: str, field: str = "session_id") -> SessionInfo:
        """A session of this user, or NotFoundError."""
        found = self.memory.store.sessions.get(self.owner, check_id(field, session_id))
        if found is None:
            raise NotFoundError(f"{field}: there is no session {session_id!r} for this user; see list_sessions")
        return found

    def session(self, session_id: str, field: str = "session_id") -> Session:
        """A session of this user to work with, or NotFoundError."""
        info = self.info(session_id, field)
        return self.memory.session(info.id, user_id=self.user_id, agent_id=info.agent_id)

    def opened(self, session_id: str | None, agent_id: str) -> Session:
        """A session to write to: the one that is there, with the agent it has; else a new one of this agent."""
        if session_id is not None:
            info = self.memory.store.sessions.get(self.owner, check_id("session_id", session_id))
            agent_id = info.agent_id if info else agent_id
        return self.memory.session(session_id, user_id=self.user_id, agent_id=agent_id)

    def turn(self, turn_id: str) -> Turn | None:
        """A turn of this user."""
        return self.memory.store.turns.get(self.owner, turn_id)

    def withheld(self) -> frozenset[str]:
        """The ids of messages and facts in quarantine: what goes to a model goes without them."""
        return frozenset(flag.subject_id for flag in self.memory.flags(self.user_id, state="quarantined"))

    def said(self, session_id: str) -> None:
        """Something was said in a session."""

    def forgets(self, session_id: str | None = None) -> None:
        """A session is let go of, or everything."""
