"""A chat page for Streamlit: the conversation, and one user's sessions in the sidebar.

In: a memory, a user, and a function that answers a context. Out: a page that survives reruns and reloads: the session
id is in the address, every question is stored before it is answered, and an open question is answered when the page is
opened again.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

import streamlit as st

from ricordo.errors import ConflictError, ValidationError
from ricordo.memory import Memory
from ricordo.prompt.context import Context
from ricordo.records.turns import DEFAULT_AGENT, Turn
from ricordo.safety.crisis import crisis_reply
from ricordo.session import Session

Answer = Callable[[Context], str | Iterable[str]]
PARAMETER = "session"
FAILED = "ricordo_failed"


@dataclass(frozen=True, slots=True)
class Labels:
    """The texts of the page."""

    sessions: str = "Conversations"
    new: str = "New conversation"
    untitled: str = "Untitled"
    download: str = "Download as Markdown"
    delete: str = "Delete conversation"
    ask: str = "Ask something…"
    failed: str = "The answer did not come. Your question is kept."
    again: str = "Try again"


def chat(
    memory: Memory, *, user_id: str, answer: Answer, agent_id: str = DEFAULT_AGENT, labels: Labels | None = None
) -> Session:
    """The whole page: sidebar, conversation, input. `answer` returns the text, whole or in pieces."""
    words = labels or Labels()
    session = current_session(memory, user_id=user_id, agent_id=agent_id)
    sidebar(memory, session, words)
    waiting = show(session)
    has_failed = waiting is not None and st.session_state.get(FAILED) == waiting.id
    asked = st.chat_input(words.ask, disabled=waiting is not None and not has_failed)
    if asked and asked.strip():
        try:
            session.ask(asked)
        except ValidationError as error:  # too long, or characters that no store accepts
            st.error(str(error))
            return session
        st.rerun()
    if waiting is not None:
        _answer(session, waiting, answer, words, has_failed=has_failed)
    return session


def current_session(memory: Memory, *, user_id: str, agent_id: str = DEFAULT_AGENT) -> Session:
    """The session in the address if it is this user's; else a new one, which is put into the address."""
    named = st.query_params.get(PARAMETER)
    mine = (user_id, named)
    if st.session_state.get(PARAMETER) == mine and named:  # created in this tab, perhaps still empty
        return memory.session(named, user_id=user_id, agent_id=agent_id)
    session = memory.resume(named, user_id=user_id, agent_id=agent_id)
    _open(session.id, user_id)
    return session


def sidebar(memory: Memory, session: Session, labels: Labels) -> None:
    """Buttons for recent sessions and a new one, to download the current one, and to delete it."""
    known = memory.sessions(user_id=session.user_id, agent_id=session.agent_id)
    with st.sidebar:
        st.subheader(labels.sessions)
        if st.button(labels.new, width="stretch", key="ricordo_new"):
            _open(memory.session(user_id=session.user_id, agent_id=session.agent_id).id, session.user_id)
            st.rerun()
        for each in known:
            kind: Literal["primary", "secondary"] = "primary" if each.id == session.id else "secondary"
            title = f"{each.title or labels.untitled} ({each.turn_count})"
            if st.button(title, key=f"ricordo_open_{each.id}", type=kind, width="stretch"):
                _open(each.id, session.user_id)
                st.rerun()
        if any(each.id == session.id for each in known):
            text = session.export("markdown")
            st.download_button(labels.download, text, f"{session.id}.md", "text/markdown", key="ricordo_download")
            if st.button(labels.delete, key="ricordo_delete"):
                memory.delete_session(session.id, user_id=session.user_id)
                _open(memory.session(user_id=session.user_id).id, session.user_id)
                st.rerun()


def show(session: Session, limit: int | None = None) -> Turn | None:
    """Draw the conversation and return the last turn if it is open."""
    turns = session.history(limit)
    for turn in turns:
        if turn.question:
            st.chat_message("user").markdown(turn.query)
        if turn.answer:
            st.chat_message("assistant").markdown(turn.answer.content)
    return turns[-1] if turns and turns[-1].is_open else None


def _answer(session: Session, turn: Turn, answer: Answer, labels: Labels, *, has_failed: bool) -> None:
    if has_failed:
        st.error(labels.failed)
        if st.button(labels.again, key="ricordo_again"):
            del st.session_state[FAILED]
            st.rerun()
        return
    context = session.context(turn.query)
    with st.chat_message("assistant"):
        try:
            said = crisis_reply(context.crisis) if context.crisis else answer(context)
            text = said if isinstance(said, str) else "".join(map(str, st.write_stream(said)))
            session.answer(turn, text, receipt=context.receipt)
        except ConflictError:
            pass  # another tab has answered it
        except Exception:
            st.session_state[FAILED] = turn.id
    st.rerun()


def _open(session_id: str, user_id: str) -> None:
    st.query_params[PARAMETER] = session_id
    st.session_state[PARAMETER] = (user_id, session_id)
