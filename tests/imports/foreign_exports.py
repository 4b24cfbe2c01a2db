"""Exports of other programs in small, made here: each function gives what such a program would write."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

NOON = 1_700_000_000.0


def node(
    name: str, parent: str | None, role: str, content: Any, at: float | None = None, **more: Any
) -> dict[str, Any]:
    """A node of a ChatGPT tree; `content` is text or a content object."""
    words = {"content_type": "text", "parts": [content]} if isinstance(content, str) else content
    author = {"role": role, **({"name": more.pop("author")} if "author" in more else {})}
    message = {"id": name, "author": author, "create_time": at, "content": words, "recipient": "all", **more}
    return {"id": name, "parent": parent, "children": [], "message": message}


def chatgpt_talk(name: str = "c1", turns: int = 2, **more: Any) -> dict[str, Any]:
    """A ChatGPT conversation of one branch, a minute between messages."""
    nodes: dict[str, Any] = {"root": {"id": "root", "parent": None, "children": [], "message": None}}
    above = "root"
    for n in range(turns):
        at = NOON + 120 * n
        nodes[f"q{n}"] = node(f"q{n}", above, "user", f"question {n} of {name}", at)
        nodes[f"a{n}"] = node(f"a{n}", f"q{n}", "assistant", f"answer {n} of {name}", at + 60)
        above = f"a{n}"
    talk = {"conversation_id": name, "title": f"Talk {name}", "create_time": NOON, "update_time": NOON + 120 * turns}
    return {**talk, "mapping": nodes, "current_node": above, **more}


def claude_message(
    name: str, sender: str, words: str, at: str, parent: str | None = None, **more: Any
) -> dict[str, Any]:
    """A message of Claude's export."""
    told = {"parent_message_uuid": parent} if parent is not None else {}
    return {"uuid": name, "sender": sender, "text": words, "created_at": at, **told, **more}


def claude_talk(messages: list[dict[str, Any]], name: str = "k1") -> dict[str, Any]:
    """A conversation of Claude's export."""
    times = {"created_at": "2025-03-01T09:00:00.000000Z", "updated_at": "2025-03-01T10:00:00.000000Z"}
    return {"uuid": name, "name": "On tides", **times, "account": {"uuid": "acc"}, "chat_messages": messages}


def webui_talk() -> dict[str, Any]:
    """A chat of Open WebUI whose answer was asked for twice."""
    messages = {
        "u1": {"id": "u1", "parentId": None, "childrenIds": ["a1", "b1"], "role": "user", "content": "Which sail?",
               "timestamp": 1_700_000_000},
        "a1": {"id": "a1", "parentId": "u1", "childrenIds": [], "role": "assistant", "content": "The jib.",
               "model": "qwen", "timestamp": 1_700_000_010, "done": True},
        "b1": {"id": "b1", "parentId": "u1", "childrenIds": [], "role": "assistant", "content": "The genoa.",
               "model": "llama", "timestamp": 1_700_000_020, "done": True},
    }  # fmt: skip
    chat = {"title": "Sails", "models": ["qwen"], "history": {"currentId": "a1", "messages": messages}, "tags": []}
    times = {"created_at": 1_700_000_000, "updated_at": 1_700_000_020}
    return {"id": "w1", "user_id": "u", "title": "Sails", "chat": chat, **times, "meta": {"tags": ["sea"]}}


def libre_message(name: str, parent: str | None, words: str, at: str, *, user: bool, **more: Any) -> dict[str, Any]:
    """A message of LibreChat's export."""
    above = parent or "00000000-0000-0000-0000-000000000000"
    who = {"sender": "User" if user else "GPT-4", "isCreatedByUser": user}
    return {"messageId": name, "parentMessageId": above, **who, "text": words, "createdAt": at, **more}


def libre_talk(*, recursive: bool) -> dict[str, Any]:
    """A LibreChat conversation of two turns, flat or with messages inside each other."""
    times = [f"2025-04-0{day}T08:00:00.000Z" for day in (1, 2, 3, 4)]
    flat = [
        libre_message("m1", None, "What is a tide?", times[0], user=True),
        libre_message("m2", "m1", "The sea's rise and fall.", times[1], user=False, model="gpt-4"),
        libre_message("m3", "m2", "Who pulls it?", times[2], user=True),
        libre_message("m4", "m3", "The moon.", times[3], user=False, model="gpt-4"),
    ]
    base = {"conversationId": "l1", "endpoint": "openAI", "title": "Tides", "exportAt": "11:00", "branches": False}
    if not recursive:
        return {**base, "recursive": False, "messages": flat}
    tree: list[dict[str, Any]] = []
    for message in reversed(flat):
        tree = [{**message, "children": tree}]
    return {**base, "recursive": True, "messagesTree": tree}


CALL = {"id": "t1", "type": "function", "function": {"name": "tide_table", "arguments": '{"port": "Genova"}'}}
API_TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "You are brief."},
    {"role": "user", "content": "When is high water?"},
    {"role": "assistant", "content": None, "tool_calls": [CALL]},
    {"role": "tool", "content": "06:12", "tool_call_id": "t1"},
    {"role": "assistant", "content": [{"type": "text", "text": "At 06:12."}], "model": "gpt-4o"},
]


def write(path: Path, value: Any) -> Path:
    """A value as a JSON file."""
    path.write_text(json.dumps(value), encoding="utf-8")
    return path


def write_lines(path: Path, values: list[Any]) -> Path:
    """Values as JSON lines."""
    path.write_text("".join(json.dumps(value) + "\n" for value in values), encoding="utf-8")
    return path


def llama_store() -> dict[str, Any]:
    """A LlamaIndex chat store: today's blocks, and yesterday's plain content."""
    extra = {"tool_calls": [CALL]}
    return {
        "store": {
            "anna": [
                {"role": "user", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "When?"}]},
                {"role": "assistant", "additional_kwargs": extra, "blocks": []},
                {"role": "tool", "additional_kwargs": {"tool_call_id": "t1", "name": "tide_table"},
                 "blocks": [{"block_type": "text", "text": "06:12"}]},
                {"role": "assistant", "additional_kwargs": {}, "blocks": [{"block_type": "text", "text": "At six."}]},
            ],
            "bruno": [{"role": "user", "content": "Ciao", "additional_kwargs": {}}],
        },
        "class_name": "SimpleChatStore",
    }  # fmt: skip


def langchain_database(path: Path, table: str = "message_store") -> Path:
    """LangChain's SQL history of two sessions, their rows mixed."""
    call = {"name": "tide_table", "args": {"port": "Genova"}, "id": "t1", "type": "tool_call"}
    rows = [
        ("s1", {"type": "human", "data": {"content": "When?", "type": "human", "name": None}}),
        ("s2", {"type": "human", "data": {"content": "Ciao", "type": "human"}}),
        ("s1", {"type": "ai", "data": {"content": "", "type": "ai", "tool_calls": [call]}}),
        ("s1", {"type": "tool", "data": {"content": "06:12", "type": "tool", "tool_call_id": "t1"}}),
        ("s1", {"type": "ai", "data": {"content": [{"type": "text", "text": "At six."}], "type": "ai"}}),
    ]
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE {table} (id INTEGER PRIMARY KEY, session_id TEXT, message TEXT)")
        insert = f"INSERT INTO {table} (session_id, message) VALUES (?, ?)"
        database.executemany(insert, [(session, json.dumps(message)) for session, message in rows])
    return path


def agents_database(path: Path) -> Path:
    """A session of OpenAI Agents, with a reasoning item that nobody said."""
    items: list[dict[str, Any]] = [
        {"role": "user", "content": "When?"},
        {"type": "reasoning", "id": "r1", "summary": []},
        {"type": "function_call", "call_id": "t1", "name": "tide_table", "arguments": "{}", "id": "f1"},
        {"type": "function_call_output", "call_id": "t1", "output": "06:12"},
        {"type": "message", "role": "assistant", "status": "completed", "id": "m1",
         "content": [{"type": "output_text", "text": "At six.", "annotations": []}]},
    ]  # fmt: skip
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TEXT, updated_at TEXT)")
        database.execute(
            "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY, session_id TEXT, message_data TEXT, created_at TEXT)"
        )
        database.execute("INSERT INTO agent_sessions VALUES ('s1', '2025-05-01 08:00:00', '2025-05-01 09:00:00')")
        insert = "INSERT INTO agent_messages (session_id, message_data, created_at) VALUES ('s1', ?, ?)"
        database.executemany(insert, [(json.dumps(item), f"2025-05-01 08:0{n}:00") for n, item in enumerate(items)])
    return path


def mem0_database(path: Path) -> Path:
    """mem0's history: one memory changed, one deleted."""
    rows = [
        ("h1", "m1", None, "Likes tea", "ADD", "2025-01-01T00:00:00-08:00", None, 0),
        ("h2", "m2", None, "Has a boat", "ADD", "2025-01-02T00:00:00-08:00", None, 0),
        (
            "h3",
            "m1",
            "Likes tea",
            "Likes coffee",
            "UPDATE",
            "2025-01-01T00:00:00-08:00",
            "2025-02-01T00:00:00-08:00",
            0,
        ),
        ("h4", "m3", None, "Lives in Rome", "ADD", "2025-01-03T00:00:00-08:00", None, 0),
        ("h5", "m3", "Lives in Rome", None, "DELETE", None, None, 1),
    ]
    columns = "id TEXT, memory_id TEXT, old_memory TEXT, new_memory TEXT, event, created_at, updated_at, is_deleted"
    with closing(sqlite3.connect(path)) as database, database:
        database.execute(f"CREATE TABLE history ({columns})")
        database.executemany("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    return path
