"""A chat with memory: `streamlit run examples/streamlit_app.py`. Without a model it answers with what it recalls."""

import os
from collections.abc import Iterator

import streamlit as st

import ricordo
from ricordo.contrib.streamlit_chat import chat
from ricordo.prompt.context import Context


@st.cache_resource
def open_memory(place: str) -> ricordo.Memory:
    """One memory for all tabs and users of this server."""
    return ricordo.open(place)


def answer(context: Context) -> Iterator[str]:
    """Stands in for a language model: send `context.messages` to yours and yield its pieces."""
    past = [message["content"] for message in context.messages[:-1] if message["role"] == "user"]
    yield f"You asked: {context.question} "
    yield f"Before that you said: {past[-1]}" if past else "This is our first turn."


st.set_page_config("Ricordo", "💬")
st.title("Ricordo")
user = st.sidebar.text_input("Who are you?", "ada")  # in your application: the signed-in user
if user:
    chat(open_memory(os.environ.get("RICORDO_URL", "ricordo.db")), user_id=user, answer=answer)
