"""The filter function for Open WebUI, loaded from its one file as Open WebUI does, against a running server."""

import asyncio
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server_samples import a_key, an_empty_store, live, service

SOURCE = Path(__file__).parents[2] / "deploy" / "open_webui_filter.py"
ANNA = {"id": "u-anna", "name": "Anna", "email": "anna@example.org", "role": "user"}


def loaded(**valves: Any) -> Any:
    """A filter from the source text, in a module of its own, with the valves that an administrator saved."""
    module = types.ModuleType("function_ricordo")
    sys.modules[module.__name__] = module
    exec(SOURCE.read_text(encoding="utf-8"), module.__dict__)
    made = module.Filter()
    made.valves = made.Valves(**{"timeout": 60.0, **valves})
    return made


@pytest.fixture
def address() -> Iterator[str]:
    with live(service(port=0)) as port:
        yield f"http://127.0.0.1:{port}"


def asked(question: Any, system: str | None = None) -> dict[str, Any]:
    """What `inlet` receives."""
    first = [{"role": "system", "content": system}] if system else []
    return {"model": "llama", "stream": True, "messages": [*first, {"role": "user", "content": question}]}


def answered(question: str, answer: str, chat: str) -> dict[str, Any]:
    """What `outlet` receives: the messages with their ids, and the chat."""
    messages = [
        {"id": "m1", "role": "user", "content": question, "timestamp": 1_700_000_000},
        {"id": "m2", "role": "assistant", "content": answer, "timestamp": 1_700_000_001},
    ]
    return {"model": "llama", "messages": messages, "chat_id": chat, "session_id": "socket", "id": "m2"}


def inlet(given: Any, body: dict[str, Any], chat: str = "c2", user: dict[str, Any] | None = None) -> dict[str, Any]:
    return asyncio.run(given.inlet(body, __user__=user or ANNA, __metadata__={"chat_id": chat}))  # type: ignore[no-any-return]


def outlet(given: Any, body: dict[str, Any], user: dict[str, Any] | None = None) -> dict[str, Any]:
    return asyncio.run(given.outlet(body, __user__=user or ANNA))  # type: ignore[no-any-return]


def test_what_was_said_in_one_chat_is_known_in_the_next(address: str) -> None:
    """A turn is kept after the answer, and given to the model before the next one, in another chat and process."""
    kept = answered("My cat is called Moon.", "<think>a cat</think>What a name!", "c1")
    assert outlet(loaded(server=address), kept) is kept
    body = inlet(loaded(server=address), asked("What is my cat called?", "Be kind."))
    system, question = body["messages"]
    assert system["content"].startswith("Be kind.\n\n")
    assert "My cat is called Moon." in system["content"]
    assert "<think>" not in system["content"]
    assert question == {"role": "user", "content": "What is my cat called?"}


def test_a_turn_is_kept_once(address: str) -> None:
    """The same outlet again, also after a restart, keeps nothing twice, and a chat is one session."""
    for _ in range(2):
        outlet(loaded(server=address), answered("My cat is called Moon.", "What a name!", "c1"))
    given = loaded(server=address)
    outlet(given, answered("And my dog is Sun.", "Two lights!", "c1"))
    (session,) = given._call("GET", "/sessions", "u-anna")["items"]
    assert session["turn_count"] == 2


def test_words_of_this_chat_are_not_told_twice(address: str) -> None:
    """What Open WebUI sends itself, the history of the chat, is not recalled from the same chat."""
    given = loaded(server=address)
    outlet(given, answered("My cat is called Moon.", "What a name!", "c1"))
    body = inlet(given, asked("What is my cat called?"), chat="c1")
    assert all("- 20" not in message["content"] for message in body["messages"])


def test_users_are_apart(address: str) -> None:
    """Another user of the same Open WebUI gets nothing of it."""
    given = loaded(server=address)
    outlet(given, answered("My cat is called Moon.", "What a name!", "c1"))
    body = inlet(given, asked("What is my cat called?"), user={"id": "u-bob"})
    assert body == asked("What is my cat called?")


def test_a_user_can_turn_it_off(address: str) -> None:
    """Who does not want to be remembered is not, and nothing is given."""
    given = loaded(server=address)
    silent = {**ANNA, "valves": given.UserValves(remember=False)}
    outlet(given, answered("My cat is called Moon.", "What a name!", "c1"), user=silent)
    assert given._call("GET", "/sessions", "u-anna")["items"] == []
    assert inlet(given, asked("Hi"), user=silent) == asked("Hi")


def test_temporary_chats_and_tasks_leave_no_trace(address: str) -> None:
    """A temporary chat is not kept; titles and tags that Open WebUI asks for get no memory."""
    given = loaded(server=address)
    outlet(given, answered("My cat is called Moon.", "What a name!", "local:socket"))
    assert given._call("GET", "/sessions", "u-anna")["items"] == []
    outlet(given, answered("My cat is called Moon.", "What a name!", "c1"))
    body = asked("Give the cat chat a title")
    assert asyncio.run(given.inlet(body, __user__=ANNA, __task__="title_generation")) == asked(
        "Give the cat chat a title"
    )


def test_a_picture_beside_the_words(address: str) -> None:
    """A question in parts is searched by its text."""
    given = loaded(server=address)
    outlet(given, answered("My cat is called Moon.", "What a name!", "c1"))
    parts = [{"type": "text", "text": "Is this my cat?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]
    assert "Moon" in inlet(given, asked(parts))["messages"][0]["content"]


def test_without_a_server_the_chat_goes_on() -> None:
    """An address where nothing answers changes no message and raises nothing."""
    given = loaded(server="http://127.0.0.1:9", timeout=0.5)
    assert inlet(given, asked("Hi")) == asked("Hi")
    assert outlet(given, answered("Hi", "Hello!", "c1")) == answered("Hi", "Hello!", "c1")


def test_with_a_key_of_the_tenant() -> None:
    """A server with keys takes the filter's key, which speaks for every user; a wrong one means no memory."""
    store = an_empty_store()
    with live(service(store, auth=True, port=0)) as port:
        address = f"http://127.0.0.1:{port}"
        given = loaded(server=address, key=a_key(store))
        outlet(given, answered("My cat is called Moon.", "What a name!", "c1"))
        assert "Moon" in inlet(given, asked("What is my cat called?"))["messages"][0]["content"]
        assert inlet(loaded(server=address, key="rk_wrong"), asked("My cat?")) == asked("My cat?")


def test_the_file_says_what_open_webui_reads() -> None:
    """The first lines are the front matter with title and version, and no package has to be installed."""
    front = SOURCE.read_text(encoding="utf-8").split('"""')[1]
    assert re.search(r"^title: \S", front, re.MULTILINE)
    assert re.search(r"^version: \d", front, re.MULTILINE)
    assert "requirements:" not in front
